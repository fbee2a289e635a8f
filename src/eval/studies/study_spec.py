"""Specification of a study: how each of its tables, figures and claims is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.study_parts import (
    FigureStyle,
    StudyCell,
    StudyClaim,
    StudyPart,
    StudyResult,
    Verdict,
)

# What a source says about a claim: the verdict and its reason.
Judgement = tuple[Verdict, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSpec:
    """A table or, with a ``style``, a figure; ``cells`` computes the cells of one source.

    ``lacking`` says what a source without cells lacks. ``analysis`` is the analysis whose estimates
    the cells are, and the values of its columns that they have, such as class and metric: what it
    skipped is said. Without ``intervals``, means are shown alone, as the paper prints them.
    """

    number: str
    title: str
    cells: Callable[[Evidence], Iterable[StudyCell]]
    lacking: str
    analysis: Sequence[str] = ()
    style: FigureStyle | None = None
    digits: int = 3
    intervals: bool = True
    note: str = ""

    def part(self, evidence: Sequence[Evidence], labels: Mapping[str, str]) -> StudyPart:
        """Return the table or figure with the cells of all sources."""
        found = [(one, list(self.cells(one))) for one in evidence]
        cells = [cell for _, given in found for cell in given]
        if not self.intervals:
            cells = [replace(cell, low=math.nan, high=math.nan) for cell in cells]
        return StudyPart(
            number=self.number,
            title=self.title,
            kind="table" if self.style is None else "figure",
            cells=cells,
            digits=self.digits,
            labels=labels,
            note=self.note,
            missing=[said for one, given in found for said in self._missing(one, bool(given))],
            style=self.style or FigureStyle(),
        )

    def _missing(self, one: Evidence, has_cells: bool) -> list[str]:
        """Say why a source has no cells, or why some are missing."""
        reasons = one.skipped(*self.analysis) if self.analysis else []
        if not has_cells:
            return [f"Not computed from {one.source}: {'; '.join(reasons) or self.lacking}."]
        return [f"Some cells are not computed from {one.source}: {why}." for why in reasons]


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """A claim of the paper, the place where it is made, and how a source judges it."""

    place: str
    text: str
    judge: Callable[[Evidence], Judgement]

    def claim(self, one: Evidence) -> StudyClaim:
        """Return the claim with the verdict of a source."""
        verdict, reason = self.judge(one)
        return StudyClaim(
            place=self.place, text=self.text, source=one.source, verdict=verdict, reason=reason
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpec:
    """A study: parts and claims in the paper's order, and labels of keys.

    ``row_labels`` returns further labels, of the models that the sources contain. ``perplexity``:
    whether a table has perplexities of runs on a corpus.
    """

    name: str
    title: str
    reference: str
    parts: Sequence[PartSpec]
    claims: Sequence[ClaimSpec]
    labels: Mapping[str, str] = field(default_factory=dict)
    row_labels: Callable[[Evidence], Mapping[str, str]] = lambda _: {}
    perplexity: bool = False

    def result(self, evidence: Sequence[Evidence]) -> StudyResult:
        """Compute all parts and claims from the data of all sources."""
        labels = dict(self.labels)
        for one in evidence:
            labels.update(self.row_labels(one))
        return StudyResult(
            name=self.name,
            title=self.title,
            reference=self.reference,
            parts=[spec.part(evidence, labels) for spec in self.parts],
            claims=[spec.claim(one) for spec in self.claims for one in evidence],
            analyses={one.source: list(one.results.values()) for one in evidence},
        )


def judged(is_true: bool, reason: str) -> Judgement:
    """Judge a claim that is either true or false of the data."""
    return ("reproduced" if is_true else "not reproduced"), reason


def depends(on: str) -> Judgement:
    """Judge a claim that is true under some choice of the analysis only."""
    return "depends", f"on {on}"


def untested(reason: str) -> Judgement:
    """Judge a claim that the data say nothing about."""
    return "not tested", reason
