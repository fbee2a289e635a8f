"""Compute what the store of a run lacks: log probabilities with partial parses, or the best trees.

The store calls :class:`Computing` and :class:`Parsing` with the sentences that it does not have;
runs, their processes and the playground make them, and the model is loaded for the first sentence.
This loads torch: what needs only tables and settings imports it inside functions. The numbers are
those of ``eval.search`` and ``models.sequential``; nothing here changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.sentence import OnWords
from gardenpath.data.trees.tree import Tree, Word, format_tree, from_events, parse_tree
from gardenpath.errors import RunError
from gardenpath.eval.parsing import best_shares_of, k_best, partial_parses
from gardenpath.eval.search.replicates import standard_error
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import (
    StructuredScorer,
    word_columns_of,
    word_deviations_of,
    word_log_probs_of,
)
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.models.family import OpenedModel, SyntacticFamily
from gardenpath.models.ngram.model import NgramModel, NgramScorer
from gardenpath.models.output import SequentialNetwork
from gardenpath.models.sequential.networks import SequentialScorer
from gardenpath.store.files import fingerprint
from gardenpath.store.surprisals import (
    Matters,
    Stored,
    first_call_of,
    places_of,
    score_through,
)
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.util import Words

if TYPE_CHECKING:
    import torch

    from gardenpath.runs.model import TrainedModel
    from gardenpath.runs.run import Run

# A model of any family, with its weights.
LoadedScorer = SequentialScorer | NgramScorer | StructuredScorer | OpenedModel

# Receives a sentence and its entry of the store.
OnStored = Callable[[Words, Stored], None]

# Number of partial parses kept for each word.
_KEPT_PARSES = 3

# Trees with their shares of the total probability of all trees found by the search.
Ranked = list[tuple[float, Tree]]

# Increment whenever the stored form of parses changes.
_PARSES_FORMAT = 1


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
        boundary = scorer.boundary
        columns = word_columns_of(result, split, number, boundary=boundary)
        deviations = word_deviations_of(result, split, number, boundary=boundary)
        if deviations is not None:
            # In the precision of the store, so that numbers are the same with and without it.
            deviations = deviations.astype(np.float32).astype(np.float64)
            columns = {**columns, SURPRISAL_SE: standard_error(deviations)}
        return Stored(
            word_log_probs_of(result, split, number, boundary=boundary).tolist(),
            remedy=result.failure.remedy if result.failure is not None else None,
            parses=parses,
            columns={name: values.tolist() for name, values in columns.items()},
            deviations=None if deviations is None else deviations.tolist(),
        )


# ----------------------------------------------------------------------------
# The best trees of sentences.


@dataclass(frozen=True)
class Parsed:
    """The best trees of a sentence; none if no hypothesis survived.

    ``best_shares`` contains, after each word and at the end, the share of the best hypothesis in
    the total probability of all survivors.
    """

    trees: Ranked
    best_shares: tuple[float, ...]


def parsed(
    run: Run,
    sentences: Sequence[Words],
    *,
    k: int,
    on_words: OnWords = lambda _: None,
) -> list[Parsed]:
    """Return the ``k`` best trees of each sentence; computed trees are kept in the run's store."""
    if not run.is_syntactic:
        raise RunError(
            f"{run.path}: model={run.settings.model.name} does not generate trees; parse with a "
            "syntactic model such as rnng or plm"
        )
    from gardenpath.runs.processes import ScoringJob, spread_jobs

    spread_jobs([ScoringJob(run, sentences, k_best=k)])
    stored = score_through(
        run.store,
        parses_key(run, k),
        sentences,
        Parsing(run, k, on_words),
        chunk=run.chunk,
        chunk_words=run.chunk_words,
        progress=first_call_of(on_words),
    )
    parses = []
    for words in sentences:
        entry = stored[tuple(words)].parses
        assert entry is not None
        shares, trees = entry
        ranked = [(share, with_words(parse_tree(text), words)) for share, text in trees]
        parses.append(Parsed(ranked, tuple(share for share, _ in shares)))
    return parses


def parses_key(run: Run, k: int) -> str:
    """Return the key under which the ``k`` best trees of a run are stored."""
    return fingerprint("parses", _PARSES_FORMAT, model=run.model_key, k=k)


@dataclass
class Parsing:
    """Searches sentences for their ``k`` best trees."""

    run: Run
    k: int
    on_words: OnWords
    scorer: LoadedScorer | None = None

    def __call__(self, sentences: Sequence[Words]) -> list[Stored]:
        """Return entries of the store: shares in the first list of parses, trees in the second."""
        if self.scorer is None:
            self.scorer = self.run.scorer(on_words=self.on_words)
        scorer = self.scorer
        assert isinstance(scorer, StructuredScorer)
        results, split = scorer.search(sentences, keeps_history=True)
        entries = []
        for number, (words, result) in enumerate(zip(sentences, results, strict=True)):
            trees = k_best(
                result, words, labels=self.run.vocabulary.labels,
                strategy=self.run.trained.strategy, k=self.k,
                starts_word=split.begins_word(number),
            )  # fmt: skip
            shares = [(float(share), "") for share in best_shares_of(result, split, number)]
            entries.append(
                Stored(
                    word_log_probs_of(result, split, number, boundary=scorer.boundary).tolist(),
                    remedy=result.failure.remedy if result.failure is not None else None,
                    parses=(shares, [(share, format_tree(tree)) for share, tree in trees]),
                )
            )
        return entries


def with_words(tree: Tree, words: Words) -> Tree:
    """Return a tree over the given words: brackets in text are ambiguous (``-LRB-``)."""
    following = iter(words)
    return from_events(
        Word(next(following)) if isinstance(event, Word) else event for event in tree.events()
    )


def trees_text(parses: Sequence[Ranked]) -> str:
    """Format one tree per line; several trees per sentence form a block, with their shares."""
    if all(len(best) <= 1 for best in parses):
        lines = [format_tree(best[0][1]) if best else "" for best in parses]
        return "\n".join(lines) + "\n"
    blocks = ["\n".join(f"{share:.4f}\t{format_tree(tree)}" for share, tree in b) for b in parses]
    return "\n\n".join(blocks) + "\n"
