"""Perplexity of any model that assigns a probability to each word."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.console import FittedTable
from gardenpath.data.arrays import Floats
from gardenpath.eval.display import EXACT
from gardenpath.eval.search.replicates import standard_error
from gardenpath.store.tables import PERPLEXITY
from gardenpath.util import NATS_PER_BIT, bits, perplexity_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Perplexity:
    """Negative log-likelihood of a set of sentences, and the perplexities derived from it.

    ``end_nats`` is None for models that have no separate event for the end of a sentence.
    ``failed`` counts sentences for which a search found no probability; all other values exclude
    them. ``error_nats`` and ``bias_nats`` are the standard error and the expected bias of the
    negative log-likelihood, if a search estimated it.
    """

    sentences: int
    words: int
    word_nats: float
    end_nats: float | None
    failed: int = 0
    error_nats: float | None = None
    bias_nats: float | None = None

    @property
    def nats(self) -> float:
        """Total negative log-likelihood of words and sentence ends, in nats."""
        return self.word_nats + (self.end_nats or 0.0)

    @property
    def with_end(self) -> float:
        """Perplexity per word, counting each sentence end as a word; NaN if nothing was scored."""
        return perplexity_of(self.nats / self.events) if self.words else math.nan

    @property
    def without_end(self) -> float | None:
        """Perplexity per word without sentence ends; None if they are not separate events."""
        if self.end_nats is None:
            return None
        return perplexity_of(self.word_nats / self.words) if self.words else math.nan

    @property
    def bits_per_sentence(self) -> float:
        """Mean surprisal of a whole sentence, including its end."""
        return bits(-self.nats / self.sentences) if self.sentences else math.nan

    @property
    def bits_per_word(self) -> float:
        """Mean surprisal of a word, counting each sentence end as a word."""
        return bits(-self.nats / self.events) if self.words else math.nan

    @property
    def events(self) -> int:
        """Number of words and sentence ends."""
        return self.words + self.sentences

    @property
    def with_end_se(self) -> float | None:
        """Standard error of the perplexity: its derivative times that of the log-likelihood."""
        if self.error_nats is None or not self.words:
            return None
        return self.with_end * self.error_nats / self.events

    @property
    def bits_per_word_se(self) -> float | None:
        """Standard error of the mean surprisal of a word."""
        if self.error_nats is None or not self.words:
            return None
        return bits(-self.error_nats / self.events)

    @property
    def bias_bits_per_word(self) -> float | None:
        """By how much the mean surprisal of a word is expected to be too large."""
        if self.bias_nats is None or not self.words:
            return None
        return bits(-self.bias_nats / self.events)


def measure(
    log_probs: Iterable[Floats],
    sentences: Sequence[Sequence[str]],
    *,
    is_counted: Callable[[str], bool] = lambda _: True,
) -> Perplexity:
    """Sum the negative log-likelihoods of the words and ends of sentences; NaN: it has none.

    Words that are not counted are context for the others, but not part of the sums.
    """
    scored = [
        (np.array([is_counted(word) for word in words], dtype=bool), nats)
        for words, nats in zip(sentences, log_probs, strict=True)
        if not np.isnan(nats).any()
    ]
    return Perplexity(
        sentences=len(scored),
        words=sum(int(counted.sum()) for counted, _ in scored),
        word_nats=-float(sum(nats[:-1][counted].sum() for counted, nats in scored)),
        end_nats=-float(sum(nats[-1] for _, nats in scored)),
        failed=len(sentences) - len(scored),
    )


# Perplexities of several models on one corpus, with the exact value if it is known.

# Suffixes for syntactic models: words with their gold trees, or summed over the trees of a search.
JOINT, MARGINAL = " (joint)", " (marginal)"

_TRAINED_ON, _WITHOUT_END, _PER_SENTENCE = "trained on", "without end", "bits per sentence"
# Values of a model that its row has under the same name.
_OF_MODEL = (
    *("model", "seed", "trained_on", "vocabulary", "unknown_rate", "shared_perplexity"),
    "search",
)
# Left out of narrow tables.
_NOT_NEEDED = (_WITHOUT_END, _PER_SENTENCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPerplexity:
    """The perplexity of a model, and what it depends on beside the sentences.

    ``trained_on`` is the corpus of the model, ``vocabulary`` the number of units that it predicts,
    and ``unknown_rate`` the fraction of words that it predicts as unknown-word classes.
    ``shared_perplexity`` is that of the words that all compared models know. ``search`` describes
    the search, if there was one.
    """

    model: str
    seed: int | None
    result: Perplexity
    trained_on: str = ""
    vocabulary: int | None = None
    unknown_rate: float | None = None
    shared_perplexity: float | None = None
    search: str = ""


@dataclass(frozen=True, slots=True)
class PerplexityRow:
    """One model on one corpus; the excess is relative to the exact grammar, in bits per word.

    The values from ``trained_on`` to ``search`` are those of :class:`ModelPerplexity`, the last
    three those of :class:`Perplexity`.
    """

    corpus: str
    model: str
    seed: int | None
    sentences: int
    words: int
    perplexity: float
    perplexity_without_end: float | None
    bits_per_sentence: float
    excess_bits_per_word: float | None
    trained_on: str = ""
    vocabulary: int | None = None
    unknown_rate: float | None = None
    shared_perplexity: float | None = None
    search: str = ""
    perplexity_se: float | None = None
    bits_per_word_se: float | None = None
    bias_bits_per_word: float | None = None

    @property
    def is_from_elsewhere(self) -> bool:
        """Whether the model was trained on another corpus."""
        return self.trained_on not in ("", self.corpus)

    @property
    def basis(self) -> tuple[str, int, int, bool]:
        """What rows must share to be ranked: corpus, sentences, words, and whether joint."""
        return self.corpus, self.sentences, self.words, self.model.endswith(JOINT)


def compare(
    corpus: str, models: Iterable[ModelPerplexity], exact: Mapping[int, Perplexity] | None
) -> list[PerplexityRow]:
    """Return the rows of one corpus; the exact grammar is below the models.

    Models are ranked among those with the same sentences only, and joint perplexities apart from
    others: most sentences first, joint ones before others, then the highest perplexity. ``exact``
    maps a number of sentences to the exact perplexity of that many sentences from the start of the
    corpus; each model is compared with the exact value for the same sentences.
    """
    own, known = list(models), exact or {}
    counts = {model.result.sentences for model in own} & known.keys()
    yardsticks = [
        ModelPerplexity(model=EXACT, seed=None, result=known[count])
        for count in counts or sorted(known)[-1:]
    ]
    measured = sorted(
        [*own, *yardsticks],
        key=lambda model: (
            -model.result.sentences,
            -model.result.words,
            not model.model.endswith(JOINT),
            model.model == EXACT,
            -model.result.with_end,
        ),
    )
    return [
        PerplexityRow(
            corpus=corpus,
            **{name: getattr(model, name) for name in _OF_MODEL},
            sentences=result.sentences,
            words=result.words,
            perplexity=result.with_end,
            perplexity_without_end=result.without_end,
            bits_per_sentence=result.bits_per_sentence,
            # Not known if sentences failed, or without an exact value for the same sentences.
            excess_bits_per_word=None
            if result.failed or result.sentences not in known
            else result.bits_per_word - known[result.sentences].bits_per_word,
            perplexity_se=result.with_end_se,
            bits_per_word_se=result.bits_per_word_se,
            bias_bits_per_word=result.bias_bits_per_word,
        )
        for model, result in ((model, model.result) for model in measured)
    ]


def error_notes(measured: Sequence[ModelPerplexity]) -> list[str]:
    """Say what the errors of estimated perplexities contain, and what they do not."""
    biases = [
        f"{model.model} {bias:+.4f}"
        for model in measured
        if (bias := model.result.bias_bits_per_word) is not None
    ]
    if not biases:
        return []
    return [
        "std. error: of the perplexity, from the spread of the search's replicates; it does not "
        "include the choice of sentences",
        "The log of an unbiased estimate is too small on average, by half its variance: bits per "
        f"word are expected to be too large by: {', '.join(biases)}",
    ]


def perplexity_frame(rows: Sequence[PerplexityRow]) -> pd.DataFrame:
    """Build the table of perplexities (see ``PERPLEXITY``).

    It has the columns of searches and of their errors only if a row has such values.
    """
    records = [asdict(row) for row in rows]
    unused = [
        column.name
        for column in PERPLEXITY.optional
        if all(record[column.name] in (None, "") for record in records)
    ]
    return PERPLEXITY.frame(
        [
            {name: value for name, value in record.items() if name not in unused}
            for record in records
        ]
    )


def as_table(rows: Sequence[PerplexityRow], *, title: str, caption: str = "") -> FittedTable:
    """Return the rows of one corpus as a table for the terminal.

    A line separates rows that are not comparable (:attr:`PerplexityRow.basis`).
    """
    columns = _columns(rows)
    table = FittedTable(title, caption, elsewhere=PERPLEXITY.file)
    table.column("model")
    for name in columns:
        table.column(name, right=name != _TRAINED_ON, needed=name not in _NOT_NEEDED)
    for row, after in itertools.zip_longest(rows, rows[1:]):
        ends = after is not None and row.basis != after.basis
        table.add_row(
            row.model,
            *(show(row) for show in columns.values()),
            style="bold" if row.model == EXACT else "",
            end_section=ends,
        )
    return table


def _columns(rows: Sequence[PerplexityRow]) -> dict[str, Callable[[PerplexityRow], str]]:
    shown: dict[str, Callable[[PerplexityRow], str]] = {
        _TRAINED_ON: lambda row: row.trained_on,
        "seed": lambda row: "" if row.seed is None else str(row.seed),
        "sentences": lambda row: f"{row.sentences:,}",
        "perplexity": lambda row: f"{row.perplexity:.2f}",
        "std. error": lambda row: _number(row.perplexity_se, 2),
        _WITHOUT_END: lambda row: _number(row.perplexity_without_end, 2),
        _PER_SENTENCE: lambda row: f"{row.bits_per_sentence:.2f}",
        "excess bits/word": lambda row: _number(row.excess_bits_per_word, 3),
        "unknown words": lambda row: "" if row.unknown_rate is None else f"{row.unknown_rate:.1%}",
        "shared words": lambda row: _number(row.shared_perplexity, 2),
    }
    elsewhere, usual = {_TRAINED_ON, "unknown words", "shared words"}, {_WITHOUT_END}
    usual |= {_PER_SENTENCE, "excess bits/word"}
    left_out = usual if any(row.is_from_elsewhere for row in rows) else elsewhere
    if all(row.perplexity_se is None for row in rows):
        left_out |= {"std. error"}
    return {name: show for name, show in shown.items() if name not in left_out}


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


# How far the log probability of a corpus may be off, if it is estimated with replicates.
#
# The estimate of a sentence has the variance v, the square of the standard error of the sum of its
# surprisals. Two sentences that begin alike share the estimates of their common prefix, so that
# the covariance of their log probabilities is the variance of that of the prefix. Let v(p) be the
# variance at a prefix p, q the prefix one word shorter, and n(p) the number of sentences that
# begin with p. The variance of the sum over all sentences is
#
#     Σ over pairs of sentences of v(longest common prefix) = Σ over p of n(p)² (v(p) - v(q))
#
# For sentences with nothing in common it is the sum of their variances; a sentence that occurs
# twice counts four times.
#
# The log of an unbiased estimate is biased (Jensen's inequality): its mean is below the log of the
# probability by v / 2, to second order.


@dataclass(frozen=True, slots=True)
class EstimateErrors:
    """Standard error and expected bias of the negative log-likelihood of a corpus, in nats."""

    error_nats: float
    bias_nats: float


def estimate_errors(
    sentences: Sequence[Sequence[str]], deviations_bits: Sequence[Floats]
) -> EstimateErrors:
    """Return the errors of the sum of the log probabilities of sentences and their ends.

    ``deviations_bits``: for each sentence, ``(words + 1, replicates)`` deviations of surprisals.
    """
    paths = list(_paths(sentences))
    passing = Counter(node for path in paths for node in path)
    variance = bias = 0.0
    for path, deviations in zip(paths, deviations_bits, strict=True):
        errors = standard_error(np.cumsum(deviations, axis=0)) * NATS_PER_BIT
        gained = np.diff(errors**2, prepend=0.0)
        # Each of the n(p) sentences adds n(p) times what its own estimate says.
        variance += float(np.dot(gained, [passing[node] for node in path]))
        bias += float(errors[-1] ** 2) / 2
    # An estimated variance may decrease from word to word, but no variance is negative.
    return EstimateErrors(error_nats=math.sqrt(max(variance, 0.0)), bias_nats=bias)


def _paths(sentences: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Yield the numbers of the prefixes of each sentence; the last includes its end."""
    numbers: dict[tuple[int, str | None], int] = {}
    for words in sentences:
        node, path = 0, []
        for word in (*words, None):
            node = numbers.setdefault((node, word), len(numbers) + 1)
            path.append(node)
        yield path
