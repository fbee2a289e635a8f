"""Diagnostics of a search: is the beam wide enough?

Two measures are available: the change of surprisals when the beams are widened, which estimates the
error of the beam, and the posterior probability of the best parse, which shows how much a
surprisal depends on a single analysis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.search_settings import WordSync
from gardenpath.fitted_table import FittedTable
from gardenpath.units import bits

# For each sentence, the log probability (nats) of each word, then its end.
Score = Callable[[WordSync], Sequence[Floats]]

FACTORS = (1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvergenceRow:
    """Surprisals at one beam width, and their change from the previous, smaller width.

    ``events`` counts words and sentence ends; ``failed`` counts events that no hypothesis reached,
    which are excluded from all other values. Changes are absolute differences over the events that
    were reached at both widths: ``NaN`` if there are none, ``None`` in the first row. The largest
    change is at ``sentence`` and ``word``, counted from one; the end of a sentence is numbered
    after its last word.
    """

    factor: int
    action_beam: int
    word_beam: int
    fast_track: int | Literal["word_beam"]
    events: int
    failed: int
    mean_surprisal_bits: float
    max_change_bits: float | None = None
    mean_change_bits: float | None = None
    sentence: int | None = None
    word: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MassRow:
    """Posterior probability of the best hypothesis after a word (``None``: end of the sentence).

    ``sentence`` and ``word_id`` count from one. ``best_share`` is ``NaN`` if no hypothesis
    survived.
    """

    sentence: int
    word_id: int
    word: str | None
    best_share: float


def widened(settings: WordSync, factor: int) -> WordSync:
    """Return the settings with both beam widths, and the margin, multiplied by ``factor``."""
    margin = settings.margin_bits
    return replace(
        settings,
        action_beam=settings.action_beam * factor,
        word_beam=settings.word_beam * factor,
        margin_bits=None if margin is None else margin * factor,
    )


def convergence(
    score: Score, settings: WordSync, *, factors: Sequence[int] = FACTORS
) -> list[ConvergenceRow]:
    """Score at each beam width, in order; each row is compared with the previous one."""
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
    """Return ``(words + 1,)`` posterior probabilities of the best hypothesis.

    The values are those after the last piece of each word and at the end of the sentence; they are
    NaN from a failure onwards.
    """
    shares = np.full(len(split.sentence(number)) + 1, np.nan)
    shares[: len(result.best_share)] = result.best_share
    found: Floats = shares[split.last_pieces(number)]
    return found


def mass_rows(
    sentences: Sequence[Sequence[str]], best_shares: Sequence[Sequence[float]]
) -> list[MassRow]:
    """Return one row per word and sentence end, from :func:`best_shares_of` each sentence."""
    return [
        MassRow(sentence=number, word_id=place, word=word, best_share=float(share))
        for number, (words, shares) in enumerate(zip(sentences, best_shares, strict=True), start=1)
        for place, (word, share) in enumerate(zip([*words, None], shares, strict=True), start=1)
    ]


def convergence_table(
    rows: Sequence[ConvergenceRow], *, title: str = "Beam convergence"
) -> FittedTable:
    """Return the rows as a table for the terminal."""
    table = FittedTable(title, "changes in bits, relative to the row above")
    for name in ("beam", "action", "word", "fast-track", "bits/word", "max change"):
        table.column(name, right=True)
    table.column("at")
    table.column("mean change", right=True)
    table.column("failed", right=True)
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
    """Return the mean over the words and sentence ends that were reached; NaN if none were."""
    shares = [row.best_share for row in rows if not math.isnan(row.best_share)]
    return sum(shares) / len(shares) if shares else math.nan


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
