"""Perplexities of several models on one corpus, with the exact value if it is known."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity.measure import Perplexity
from gardenpath.fitted_table import FittedTable
from gardenpath.store.tables import PERPLEXITY

if TYPE_CHECKING:
    import pandas as pd

# Suffixes for syntactic models: words with their gold trees, or summed over the trees of a search.
JOINT, MARGINAL = " (joint)", " (marginal)"

_TRAINED_ON, _WITHOUT_END, _PER_SENTENCE = "trained on", "without end", "bits per sentence"
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
    given, known = list(models), exact or {}
    counts = {one.result.sentences for one in given} & known.keys()
    yardsticks = [
        ModelPerplexity(model=EXACT, seed=None, result=known[count])
        for count in counts or sorted(known)[-1:]
    ]
    measured = sorted(
        [*given, *yardsticks],
        key=lambda one: (
            -one.result.sentences,
            -one.result.words,
            not one.model.endswith(JOINT),
            one.model == EXACT,
            -one.result.with_end,
        ),
    )
    return [
        PerplexityRow(
            corpus=corpus,
            model=one.model,
            seed=one.seed,
            sentences=one.result.sentences,
            words=one.result.words,
            perplexity=one.result.with_end,
            perplexity_without_end=one.result.without_end,
            bits_per_sentence=one.result.bits_per_sentence,
            excess_bits_per_word=_excess(one.result, known),
            trained_on=one.trained_on,
            vocabulary=one.vocabulary,
            unknown_rate=one.unknown_rate,
            shared_perplexity=one.shared_perplexity,
            search=one.search,
            perplexity_se=one.result.with_end_se,
            bits_per_word_se=one.result.bits_per_word_se,
            bias_bits_per_word=one.result.bias_bits_per_word,
        )
        for one in measured
    ]


def _excess(result: Perplexity, exact: Mapping[int, Perplexity]) -> float | None:
    """Return the excess over the exact value; None if sentences failed or no value is known."""
    same = None if result.failed else exact.get(result.sentences)
    return None if same is None else result.bits_per_word - same.bits_per_word


def error_notes(measured: Sequence[ModelPerplexity]) -> list[str]:
    """Say what the errors of estimated perplexities contain, and what they do not."""
    biases = [
        f"{one.model} {bias:+.4f}"
        for one in measured
        if (bias := one.result.bias_bits_per_word) is not None
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
        [{name: value for name, value in one.items() if name not in unused} for one in records]
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
    """Return headings and what they show."""
    errors: dict[str, Callable[[PerplexityRow], str]] = {}
    if any(row.perplexity_se is not None for row in rows):
        errors["std. error"] = lambda row: _number(row.perplexity_se, 2)
    is_elsewhere = any(row.is_from_elsewhere for row in rows)
    always: dict[str, Callable[[PerplexityRow], str]] = {
        "seed": lambda row: "" if row.seed is None else str(row.seed),
        "sentences": lambda row: f"{row.sentences:,}",
        "perplexity": lambda row: f"{row.perplexity:.2f}",
        **errors,
        _WITHOUT_END: lambda row: _number(row.perplexity_without_end, 2),
    }
    if is_elsewhere:
        return {
            _TRAINED_ON: lambda row: row.trained_on,
            "seed": always["seed"],
            "sentences": always["sentences"],
            "perplexity": always["perplexity"],
            **errors,
            "unknown words": lambda row: (
                "" if row.unknown_rate is None else f"{row.unknown_rate:.1%}"
            ),
            "shared words": lambda row: _number(row.shared_perplexity, 2),
        }
    return {
        **always,
        _PER_SENTENCE: lambda row: f"{row.bits_per_sentence:.2f}",
        "excess bits/word": lambda row: _number(row.excess_bits_per_word, 3),
    }


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
