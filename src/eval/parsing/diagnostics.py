"""Whether a search looked far enough.

Two signs: surprisals that hardly move when the beams grow, and how much of the probability is in
the best parse. The first says what the beam costs; the second how much rests on a single analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.table import Table

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.search_settings import WordSync
from gardenpath.units import bits

# For each sentence, the log probability (nats) of each word and, last, of its end.
Score = Callable[[WordSync], Sequence[Floats]]

FACTORS = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceRow:
    """Surprisals at one size of the beams, and how far they are from those one size below.

    ``events`` are words and ends of sentences; ``failed`` those of them that no hypothesis reached,
    which take no part in the rest. Changes are absolute, over the events that both sizes reached;
    ``NaN`` where there are none, ``None`` in the first row. The greatest is at ``sentence`` and
    ``word``, numbered from one; the end of a sentence has the number behind its last word.
    """

    factor: int
    action_beam: int
    word_beam: int
    fast_track: int
    events: int
    failed: int
    mean_surprisal_bits: float
    max_change_bits: float | None = None
    mean_change_bits: float | None = None
    sentence: int | None = None
    word: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MassRow:
    """The share of the best hypothesis after a word; ``None`` stands for the end of a sentence.

    Numbers are from one. The share is ``NaN`` where no hypothesis survived.
    """

    sentence: int
    word_id: int
    word: str | None
    best_share: float


def widened(settings: WordSync, factor: int) -> WordSync:
    """The same search with beams so many times as wide; fast-track stays."""
    return replace(
        settings,
        action_beam=settings.action_beam * factor,
        word_beam=settings.word_beam * factor,
    )


def convergence(
    score: Score, settings: WordSync, *, factors: Sequence[int] = FACTORS
) -> list[ConvergenceRow]:
    """Score at each size of the beams, in order; each row is compared with the one before."""
    rows: list[ConvergenceRow] = []
    before: list[Floats] | None = None
    for factor in factors:
        wide = widened(settings, factor)
        surprisals = [bits(np.asarray(s, dtype=np.float64)) for s in score(wide)]
        row = _row(factor, wide, surprisals)
        rows.append(row if before is None else _compared(row, surprisals, before))
        before = surprisals
    return rows


def _row(factor: int, settings: WordSync, surprisals: Sequence[Floats]) -> ConvergenceRow:
    flat = np.concatenate([*surprisals, np.zeros(0)])
    reached = flat[np.isfinite(flat)]
    return ConvergenceRow(
        factor=factor,
        action_beam=settings.action_beam,
        word_beam=settings.word_beam,
        fast_track=settings.fast_track,
        events=len(flat),
        failed=len(flat) - len(reached),
        mean_surprisal_bits=float(reached.mean()) if len(reached) else math.nan,
    )


def _compared(
    row: ConvergenceRow, surprisals: Sequence[Floats], before: Sequence[Floats]
) -> ConvergenceRow:
    if [len(one) for one in surprisals] != [len(one) for one in before]:
        raise ValueError("two searches scored different sentences")
    greatest, total, count = -1.0, 0.0, 0
    place: tuple[int, int] | None = None
    for sentence, (one, other) in enumerate(zip(surprisals, before, strict=True), start=1):
        change = np.abs(one - other)
        reached = np.flatnonzero(np.isfinite(change))
        if not len(reached):
            continue
        total, count = total + float(change[reached].sum()), count + len(reached)
        worst = int(reached[change[reached].argmax()])
        if change[worst] > greatest:
            greatest, place = float(change[worst]), (sentence, worst + 1)
    if place is None:
        return replace(row, max_change_bits=math.nan, mean_change_bits=math.nan)
    return replace(
        row,
        max_change_bits=greatest,
        mean_change_bits=total / count,
        sentence=place[0],
        word=place[1],
    )


def best_shares_of(result: SentenceResult, split: EncodedSplit, number: int) -> Floats:
    """``(words + 1,)``: the share of the best hypothesis after each word's last piece and, last,
    at the end of the sentence; NaN from a failure on.
    """
    shares = np.full(len(split.sentence(number)) + 1, np.nan)
    shares[: len(result.best_share)] = result.best_share
    found: Floats = shares[split.last_pieces(number)]
    return found


def mass_rows(
    sentences: Sequence[Sequence[str]], best_shares: Sequence[Sequence[float]]
) -> list[MassRow]:
    """One row for each word and each end of a sentence, from :func:`best_shares_of` each."""
    return [
        MassRow(sentence=number, word_id=place, word=word, best_share=float(share))
        for number, (words, shares) in enumerate(zip(sentences, best_shares, strict=True), start=1)
        for place, (word, share) in enumerate(zip([*words, None], shares, strict=True), start=1)
    ]


def convergence_table(rows: Sequence[ConvergenceRow], *, title: str = "Beam convergence") -> Table:
    """The rows for the terminal."""
    table = Table(title=title, caption="changes in bits, each against the row above")
    for name in ("beam", "action", "word", "fast-track", "bits/word", "max change"):
        table.add_column(name, justify="right")
    table.add_column("at")
    table.add_column("mean change", justify="right")
    table.add_column("failed", justify="right")
    for row in rows:
        table.add_row(
            f"{row.factor}×",
            str(row.action_beam),
            str(row.word_beam),
            str(row.fast_track),
            f"{row.mean_surprisal_bits:.3f}",
            _number(row.max_change_bits),
            "" if row.sentence is None else f"{row.sentence}:{row.word}",
            _number(row.mean_change_bits),
            f"{row.failed}/{row.events}" if row.failed else "",
        )
    return table


def mean_best_share(rows: Sequence[MassRow]) -> float:
    """The mean over words and ends that were reached; NaN where there are none."""
    shares = [row.best_share for row in rows if not math.isnan(row.best_share)]
    return sum(shares) / len(shares) if shares else math.nan


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
