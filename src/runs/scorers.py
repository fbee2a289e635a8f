"""Build the scorer of a run, which computes log probabilities with its model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.sentence import OnWords
from gardenpath.eval.parsing import partial_parses
from gardenpath.eval.search.replicates import standard_error
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import (
    StructuredScorer,
    word_columns_of,
    word_deviations_of,
    word_log_probs_of,
)
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.models.family import AdoptedModel, SyntacticFamily
from gardenpath.models.ngram.model import NgramModel, NgramScorer
from gardenpath.models.output import SequentialNetwork
from gardenpath.models.sequential.networks import SequentialScorer
from gardenpath.store.surprisals import Matters, Parses, Stored, places_of
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.util import Words

if TYPE_CHECKING:
    import torch

    from gardenpath.runs.model import TrainedModel
    from gardenpath.runs.run import Run

# A model of any family, with its weights.
LoadedScorer = SequentialScorer | NgramScorer | StructuredScorer | AdoptedModel

# Receives a sentence and its entry of the store.
OnStored = Callable[[Words, Stored], None]

# Number of partial parses kept for each word.
_KEPT_PARSES = 3


def make_scorer(
    trained: TrainedModel, search: SearchSettings, device: torch.device, *, on_words: OnWords
) -> SequentialScorer | NgramScorer | StructuredScorer:
    """Return a scorer with a trained model; a search calls ``on_words`` with words completed."""
    import torch

    model, family = trained.network(), trained.family
    if not isinstance(family, SyntacticFamily):
        if isinstance(model, NgramModel):
            return NgramScorer(
                model=model, vocabulary=trained.vocabulary, subwords=trained.subwords,
                boundary=trained.boundary,
            )  # fmt: skip
        assert isinstance(model, SequentialNetwork)
        return SequentialScorer(
            model=model,
            vocabulary=trained.vocabulary,
            subwords=trained.subwords,
            device=device,
            share_prefixes=search.share_prefixes,
            boundary=trained.boundary,
        )
    # Reading the number of live hypotheses is free on a CPU but synchronises a GPU.
    is_packed = device.type == "cpu" if search.fixed_shapes is None else not search.fixed_shapes
    with torch.inference_mode():
        searched = family.as_searched(model.to(device), search, is_packed=is_packed)
    return StructuredScorer(
        model=searched,
        vocabulary=trained.vocabulary,
        subwords=trained.subwords,
        settings=search,
        is_packed=is_packed,
        boundary=trained.boundary,
        on_words=on_words,
    )


@dataclass
class Computing:
    """Computes scores that are not in the store; loads the model when it is first needed.

    ``parsed`` are the sentences that need partial parses; ``matters`` are the positions whose
    standard error must reach the tolerance of the search (None: all). ``scorer`` is that of a model
    that is loaded already. A search calls ``on_stored`` with each sentence and its entry as soon as
    the end of the sentence is reached.
    """

    run: Run
    parsed: Collection[Words]
    on_words: OnWords = lambda _: None
    matters: Matters | None = None
    scorer: LoadedScorer | None = None
    on_stored: OnStored | None = None

    def __call__(self, sentences: Sequence[Words]) -> list[Stored]:
        if self.scorer is None:
            self.scorer = self.run.scorer(on_words=self.on_words)
        if isinstance(self.scorer, StructuredScorer):
            return self._searched(self.scorer, sentences)
        return [Stored(scores.tolist()) for scores in self.scorer.word_log_probs(sentences)]

    def _searched(self, scorer: StructuredScorer, sentences: Sequence[Words]) -> list[Stored]:
        keeps_history = any(words in self.parsed for words in sentences)
        places = None
        if self.matters is not None:
            places = [places_of(words, self.matters) for words in sentences]
        entries: dict[int, tuple[SentenceResult, Stored]] = {}

        def entry(split: EncodedSplit, number: int, result: SentenceResult) -> Stored:
            known, stored = entries.get(number, (None, None))
            if stored is None or known is not result:
                stored = self._entry(scorer, sentences[number], split, number, result)
                entries[number] = result, stored
            return stored

        def report(split: EncodedSplit, number: int, result: SentenceResult) -> None:
            if self.on_stored is not None:
                self.on_stored(sentences[number], entry(split, number, result))

        results, split = scorer.search(
            sentences, keeps_history=keeps_history, matters=places, on_searched=report
        )
        return [entry(split, number, result) for number, result in enumerate(results)]

    def _entry(
        self,
        scorer: StructuredScorer,
        words: Words,
        split: EncodedSplit,
        number: int,
        result: SentenceResult,
    ) -> Stored:
        """Return the entry of a sentence, with its partial parses if they are wanted."""
        parses = None
        if words in self.parsed:
            parses = partial_parses(
                result, words, labels=self.run.vocabulary.labels, k=_KEPT_PARSES,
                strategy=self.run.trained.strategy, starts_word=split.begins_word(number),
            )  # fmt: skip
        return as_stored(result, split, number, scorer, parses=parses)


def as_stored(
    result: SentenceResult,
    split: EncodedSplit,
    number: int,
    scorer: StructuredScorer,
    *,
    parses: Parses | None = None,
) -> Stored:
    """Return the entry of a searched sentence: the number ``number`` of a split."""
    boundary = scorer.boundary
    deviations = word_deviations_of(result, split, number, boundary=boundary)
    columns: dict[str, Floats] = {}
    if deviations is not None:
        # In the precision of the store, so that numbers are the same with and without it.
        deviations = deviations.astype(np.float32).astype(np.float64)
        columns[SURPRISAL_SE] = standard_error(deviations)
    columns = {**word_columns_of(result, split, number, boundary=boundary), **columns}
    return Stored(
        word_log_probs_of(result, split, number, boundary=boundary).tolist(),
        remedy=result.failure.remedy if result.failure is not None else None,
        parses=parses,
        columns={name: values.tolist() for name, values in columns.items()},
        deviations=None if deviations is None else deviations.tolist(),
    )
