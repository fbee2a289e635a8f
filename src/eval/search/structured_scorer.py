"""Word scores of syntactic language models, through search."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding.encoded import EncodedSplit, encode_sentences
from gardenpath.data.prefixes import Sharing
from gardenpath.data.words.boundaries import Boundary
from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.expansion import BeamExpansion
from gardenpath.eval.search.particle import ParticleExpansion
from gardenpath.eval.search.protocol import TransitionModel
from gardenpath.eval.search.result import SearchFailure, SentenceResult
from gardenpath.eval.search.search_settings import SearchSettings, WordSync
from gardenpath.eval.search.sentences import SentenceSearch
from gardenpath.eval.search.work import Work
from gardenpath.eval.word_scorer import OnWords


class StructuredScorer:
    """Scores words with a syntactic language model, through search.

    ``boundary`` says how the pieces of a word make the probability of the word (:mod:`boundaries`);
    None stands for words, and for the product over pieces. After a call, ``failures`` maps the
    numbers of sentences without surviving hypotheses to the failure.
    """

    def __init__(
        self,
        *,
        model: TransitionModel,
        vocabulary: Vocabulary,
        subwords: Subwords | None,
        settings: SearchSettings,
        is_packed: bool,
        boundary: Boundary | None = None,
        on_words: OnWords = lambda _: None,
    ) -> None:
        if boundary == "leading":
            raise GardenpathError(
                "boundary=leading is not defined for syntactic models, whose tokens mark the "
                "beginnings of words: use boundary=next"
            )
        self.boundary = boundary
        self._model = model
        self._vocabulary = vocabulary
        self._subwords = subwords
        self.settings = settings
        self._is_packed = is_packed
        self._on_words = on_words
        self.work = Work()
        self.failures: dict[int, SearchFailure] = {}
        self.sharing = Sharing(0, 0)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        Values are NaN from the first word at which no hypothesis survived.
        """
        split = encode_sentences(sentences, self._vocabulary, self._subwords)
        return [
            word_log_probs_of(result, split, number, boundary=self.boundary)
            for number, result in enumerate(self._search(split, keeps_history=False))
        ]

    def search(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        keeps_history: bool,
        matters: Sequence[Collection[int]] | None = None,
    ) -> tuple[list[SentenceResult], EncodedSplit]:
        """Return the results of sentences and their encoding.

        ``matters``: for each sentence the positions (from 0; the number of words is the end) whose
        standard error must reach the tolerance of the search; None: all.
        """
        split = encode_sentences(sentences, self._vocabulary, self._subwords)
        return self._search(split, keeps_history=keeps_history), split

    def _search(self, split: EncodedSplit, *, keeps_history: bool) -> list[SentenceResult]:
        tokens = [split.sentence(number).tolist() for number in range(len(split))]
        results: dict[int, SentenceResult] = {}

        def keep(number: int, result: SentenceResult) -> None:
            results[number] = result
            self._on_words(len(tokens[number]))

        search = SentenceSearch(
            model=self._model, expansion=self._expansion(), work=self.work,
            budget=self.settings.memory_gb * 1e9, is_packed=self._is_packed,
            share_prefixes=self.settings.share_prefixes, keeps_history=keeps_history,
            finds_word_ends=self.boundary == "next",
        )  # fmt: skip
        before = self.work.words
        search.run(tokens, keep)
        self.failures = {n: r.failure for n, r in results.items() if r.failure is not None}
        self.sharing = Sharing(sum(len(t) + 1 for t in tokens), self.work.words - before)
        return [results[number] for number in range(len(split))]

    def _expansion(self) -> BeamExpansion | ParticleExpansion:
        if isinstance(self.settings, WordSync):
            return BeamExpansion(
                self._model, self.settings, is_packed=self._is_packed, work=self.work
            )
        return ParticleExpansion(
            self._model, self.settings, work=self.work, is_packed=self._is_packed
        )


def word_log_probs_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> Floats:
    """Return ``(words + 1,)`` log probabilities (nats) of the words of a sentence and its end.

    With ``boundary=next``, p(word) = Π p(pieces) · B(after the word) / B(before the word).
    """
    per_token = result.token_log_probs(
        len(split.sentence(number)), with_word_ends=boundary == "next"
    )
    return split.sum_to_words(number, per_token)


def word_columns_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> dict[str, Floats]:
    """Return ``(words + 1,)`` further numbers of words and end, by column; NaN if failed."""
    shares = np.full(len(split.sentence(number)) + 1, np.nan)
    shares[: len(result.best_share)] = result.best_share
    return {"best_share": shares[split.last_pieces(number)]}


def word_deviations_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> Floats | None:
    """Return ``(words + 1, replicates)`` deviations (bits); None without replicates."""
    return None
