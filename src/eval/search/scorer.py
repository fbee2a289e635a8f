"""Word scores of syntactic language models, through search.

Runs and suites call :class:`StructuredScorer` with words, and the functions below it turn results
over tokens into values of words. Nothing is stored here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import EncodedSplit, encode_sentences
from gardenpath.data.sentence import OnWords, Sharing
from gardenpath.data.words.pieces import Boundary, Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.expansion import BeamExpansion, Expansion
from gardenpath.eval.search.protocol import TransitionModel, Work
from gardenpath.eval.search.replicates import standard_error
from gardenpath.eval.search.result import AFTER_TOKEN, SearchFailure, SentenceResult
from gardenpath.eval.search.sentences import SentenceSearch
from gardenpath.eval.search.settings import SearchSettings, Unbiased
from gardenpath.eval.search.unbiased import UnbiasedExpansion, until_tolerance
from gardenpath.util import bits

# Receives the result of a sentence as soon as its end is reached: the number of the sentence in
# the encoded sentences.
OnSearched = Callable[[EncodedSplit, int, SentenceResult], None]


class StructuredScorer:
    """Scores words with a syntactic language model, through search.

    ``boundary`` says how the pieces of a word make the probability of the word (``words.pieces``);
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
        matters: Sequence[Collection[int] | None] | None = None,
        on_searched: OnSearched | None = None,
    ) -> tuple[list[SentenceResult], EncodedSplit]:
        """Return the results of sentences and their encoding.

        ``matters`` are, for each sentence, the positions of words (that of the end is the number of
        words) whose standard error must not exceed the tolerance of an unbiased search; None
        stands for all. ``on_searched`` is called with each sentence whose end is reached; of an
        unbiased search that adds replicates, it sees the first ones only.
        """
        split = encode_sentences(sentences, self._vocabulary, self._subwords)
        results = self._search(
            split, keeps_history=keeps_history, matters=matters, on_searched=on_searched
        )
        return results, split

    def _search(
        self,
        split: EncodedSplit,
        *,
        keeps_history: bool,
        matters: Sequence[Collection[int] | None] | None = None,
        on_searched: OnSearched | None = None,
    ) -> list[SentenceResult]:
        tokens = [split.sentence(number).tolist() for number in range(len(split))]
        before = self.work.words

        def run(numbers: Sequence[int], replicates: range) -> Mapping[int, SentenceResult]:
            results: dict[int, SentenceResult] = {}

            def keep(place: int, result: SentenceResult) -> None:
                number = numbers[place]
                results[number] = result
                if replicates.start == 0:
                    self._on_words(len(tokens[number]))
                    if on_searched is not None:
                        on_searched(split, number, result)

            SentenceSearch(
                model=self._model, expansion=self._expansion(replicates), work=self.work,
                budget=self.settings.memory_gb * 1e9, is_packed=self._is_packed,
                share_prefixes=self.settings.share_prefixes, keeps_history=keeps_history,
                finds_word_ends=self.boundary == "next",
            ).run([tokens[number] for number in numbers], keep)  # fmt: skip
            return results

        def deviations(number: int, result: SentenceResult) -> Floats:
            of_words = word_deviations_of(result, split, number, boundary=self.boundary)
            assert of_words is not None
            return of_words

        numbers = range(len(split))
        settings = self.settings
        if isinstance(settings, Unbiased):
            positions = [None] * len(split) if matters is None else matters
            results = until_tolerance(run, deviations, numbers, settings, positions)
        else:
            results = dict(run(numbers, range(1)))
        self.failures = {n: r.failure for n, r in results.items() if r.failure is not None}
        self.sharing = Sharing(sum(len(t) + 1 for t in tokens), self.work.words - before)
        return [results[number] for number in numbers]

    def _expansion(self, replicates: range) -> Expansion:
        settings, work, is_packed = self.settings, self.work, self._is_packed
        if isinstance(settings, Unbiased):
            return UnbiasedExpansion(
                self._model, settings, is_packed=is_packed, work=work, replicates=replicates
            )
        return BeamExpansion(self._model, settings, is_packed=is_packed, work=work)


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


def word_deviations_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> Floats | None:
    """Return ``(words + 1, replicates)`` deviations (bits); None without replicates."""
    per_token = result.token_deviations(
        len(split.sentence(number)), with_word_ends=boundary == "next"
    )
    if per_token is None:
        return None
    return np.stack([split.sum_to_words(number, column) for column in per_token.T], axis=1)


def word_columns_of(
    result: SentenceResult, split: EncodedSplit, number: int, *, boundary: Boundary | None = None
) -> dict[str, Floats]:
    """Return what the search knows about each word and the end: ``(words + 1,)`` each, by name.

    The names are those of ``SEARCH_COLUMNS`` (:mod:`gardenpath.store.tables`).
    """
    tokens = len(split.sentence(number))
    measures = result.measures
    last = split.last_pieces(number)
    columns = {name: result.padded(getattr(measures, name), tokens)[last] for name in AFTER_TOKEN}
    entropy = columns["entropy_bits"]
    # At the beginning there is one analysis: nothing has been read.
    columns["entropy_reduction_bits"] = -np.diff(entropy, prepend=0.0)
    surprisal = bits(word_log_probs_of(result, split, number, boundary=boundary))
    word_bits = split.sum_to_words(number, result.padded(measures.word_bits, tokens))
    columns["word_bits"] = word_bits
    columns["structure_bits"] = surprisal - word_bits
    deviations = word_deviations_of(result, split, number, boundary=boundary)
    if deviations is not None:
        columns["surprisal_se"] = standard_error(deviations)
    return columns
