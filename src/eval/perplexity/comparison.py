"""Perplexities of several models on one corpus, with the exact value if it is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.table import Table

from gardenpath.eval.perplexity.measure import Perplexity
from gardenpath.store.tables import PERPLEXITY

if TYPE_CHECKING:
    import pandas as pd

EXACT = "exact grammar"
# Suffixes for syntactic models: words with their gold trees, or summed over the trees of a search.
JOINT, MARGINAL = " (joint)", " (marginal)"

# Headings are broken into lines so that the table fits 80 columns without truncation.
_COLUMNS = (
    "seed",
    "sentences",
    "perplexity",
    "without\nend",
    "bits/\nsent.",
    "excess\nbits/\nword",
)


@dataclass(frozen=True, slots=True)
class PerplexityRow:
    """One model on one corpus; the excess is relative to the exact grammar, in bits per word."""

    corpus: str
    model: str
    seed: int | None
    sentences: int
    words: int
    perplexity: float
    perplexity_without_end: float | None
    bits_per_sentence: float
    excess_bits_per_word: float | None


def compare(
    corpus: str,
    models: Iterable[tuple[str, int | None, Perplexity]],
    exact: Mapping[int, Perplexity] | None,
) -> list[PerplexityRow]:
    """Return the rows of one corpus: models in the given order, then the exact grammar.

    ``exact`` maps a number of sentences to the exact perplexity of that many sentences from the
    start of the corpus; each model is compared with the exact value for the same sentences.
    """
    measured = list(models)
    if exact:
        measured.append((EXACT, None, exact[max(exact)]))
    return [
        PerplexityRow(
            corpus=corpus,
            model=model,
            seed=seed,
            sentences=result.sentences,
            words=result.words,
            perplexity=result.with_end,
            perplexity_without_end=result.without_end,
            bits_per_sentence=result.bits_per_sentence,
            excess_bits_per_word=_excess(result, exact or {}),
        )
        for model, seed, result in measured
    ]


def _excess(result: Perplexity, exact: Mapping[int, Perplexity]) -> float | None:
    """Return the excess over the exact value; None if sentences failed or no value is known."""
    same = None if result.failed else exact.get(result.sentences)
    return None if same is None else result.bits_per_word - same.bits_per_word


def perplexity_frame(rows: Sequence[PerplexityRow]) -> pd.DataFrame:
    """Build the table of perplexities (see ``PERPLEXITY``)."""
    return PERPLEXITY.frame([asdict(row) for row in rows])


def as_table(rows: Sequence[PerplexityRow], *, title: str, caption: str = "") -> Table:
    """Return the rows of one corpus as a table for the terminal."""
    table = Table(title=title, caption=caption or None)
    table.add_column("model", no_wrap=True)
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row.model,
            "" if row.seed is None else str(row.seed),
            f"{row.sentences:,}",
            f"{row.perplexity:.2f}",
            _number(row.perplexity_without_end, 2),
            f"{row.bits_per_sentence:.2f}",
            _number(row.excess_bits_per_word, 3),
            style="bold" if row.model == EXACT else "",
        )
    return table


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
