"""Records of a study: the cells of its tables and figures, its claims, and its whole result.

Tables and figures have the numbers of the paper. A cell belongs to a *source*, such as the released
surprisals or the user's own runs, so that several sources stand side by side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from gardenpath.errors import GardenpathError
from gardenpath.eval.display import family_rank
from gardenpath.eval.means import normal_interval
from gardenpath.eval.statistics.analysis import AnalysisResult
from gardenpath.eval.statistics.wording import ALPHA, prose_name

# Names of the two kinds of sources.
RELEASED = "released surprisals"
OWN = "own runs"

Verdict = Literal["reproduced", "not reproduced", "depends", "not tested"]
PartKind = Literal["table", "figure"]
# Which of the released items count: those that the paper used, or all.


class StudyError(GardenpathError):
    """A study cannot be computed from what was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCell:
    """One value of a table or figure; ``row``, ``column`` and ``panel`` are keys, not labels.

    ``text`` is shown instead of the number; ``stars`` are the significance stars, None if the
    published cell has none to compare with. ``low`` and ``high`` bound a 95 % interval.
    """

    source: str
    row: str
    column: str
    panel: str = ""
    value: float = math.nan
    text: str = ""
    stars: str | None = None
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureStyle:
    """How a figure is drawn: points with intervals, series side by side at each position.

    Without ``same_scale``, each panel has its own axis, for panels in different units.
    """

    y_label: str = ""
    same_scale: bool = True
    connected: bool = False
    reference: float | None = None
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPart:
    """A table or figure of a paper.

    ``digits`` is the number of decimals shown. ``labels`` map keys of rows, columns and panels to
    labels. ``missing`` says why a part has no cells, or why some of its cells are empty.
    """

    number: str
    title: str
    cells: Sequence[StudyCell] = ()
    kind: PartKind = "table"
    digits: int = 3
    labels: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    missing: Sequence[str] = ()
    style: FigureStyle = FigureStyle()

    @property
    def name(self) -> str:
        """The name of the part's files: ``table_3b``."""
        return self.number.lower().replace(" ", "_").replace(".", "")

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the cells, in order of appearance."""
        return tuple(dict.fromkeys(cell.source for cell in self.cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyClaim:
    """A claim of the paper and what a source says about it.

    ``place`` is the section, table or figure of the paper.
    """

    place: str
    text: str
    source: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class StudyData:
    """The scored suites of one source.

    The tables have the columns of ``ITEMS``, ``EFFECTS``, ``SENTENCES`` and ``SURPRISALS`` in
    ``gardenpath.store.tables``; ``perplexity``, ``corpora`` and ``lengths`` those of
    ``PERPLEXITY``, ``CORPUS_STATISTICS`` and ``LENGTHS``, None if they are unknown. ``networks``
    has model, corpus, layers, hidden and embedding (widths) of each neural run.
    """

    source: str
    items: pd.DataFrame
    effects: pd.DataFrame
    sentences: pd.DataFrame
    surprisals: pd.DataFrame
    perplexity: pd.DataFrame | None = None
    corpora: pd.DataFrame | None = None
    lengths: pd.DataFrame | None = None
    constructions: pd.DataFrame | None = None
    networks: pd.DataFrame | None = None


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """All tables, figures, claims and analyses of a study, for all sources."""

    name: str
    title: str
    reference: str
    parts: Sequence[StudyPart]
    claims: Sequence[StudyClaim]
    analyses: Mapping[str, Sequence[AnalysisResult]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


# ----------------------------------------------------------------------------
# Means with intervals, and the cells made of them.


_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))

_RUN = ["model", "corpus", "seed", "run"]


def stars(p: float) -> str:
    """Return the significance stars of a p value."""
    return next((mark for limit, mark in _STARS if p <= limit), "")


def mean_cell(values: Sequence[float] | pd.Series, **keys: Any) -> StudyCell:
    """Return a cell with the mean of the values and 1.96·SD/√n around it; NaN values are left out.

    ``keys`` are further fields of the cell: source, row, column and so on.
    """
    if np.isnan(values).all():
        return StudyCell(n=0, **keys)
    found = normal_interval(values)
    return StudyCell(value=found.mean, low=found.low, high=found.high, n=found.n, **keys)


def suite_accuracies(items: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of every run on every suite: the mean over predictions and items."""
    keys = [*_RUN, "class", "modifier"]
    per_item = items.groupby([*keys, "suite", "item"], dropna=False, sort=False)["outcome"].mean()
    found = per_item.groupby(keys, dropna=False, sort=False).mean()
    return found.rename("accuracy").reset_index()


def short_count(count: int) -> str:
    """Return a count as papers print it: 974K, 7M."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.0f}M"
    return f"{count / 1_000:.0f}K" if count >= 1_000 else str(count)


# ----------------------------------------------------------------------------
# What a source says: its tables and its analyses, asked by claims and tables of a study.


# Values of the column ``gap`` of analyses that separate sentences with and without a gap.
WITH_GAP, WITHOUT_GAP = "with a gap", "without a gap"

# Between the values that name a part of an analysis.
_SEP = " · "
# Number of parts named for each reason.
_SHOWN = 3


@dataclass(frozen=True)
class Evidence:
    """The data of one source and the results of its analyses, by name."""

    data: StudyData
    results: Mapping[str, AnalysisResult] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The name of the source."""
        return self.data.source

    @cached_property
    def accuracies(self) -> pd.DataFrame:
        """The accuracy of every run on every suite."""
        return suite_accuracies(self.data.items)

    def mean_accuracies(self, *keys: str) -> pd.Series:
        """Return mean accuracies over suites and runs, by these columns."""
        return self.accuracies.groupby(list(keys), sort=False)["accuracy"].mean()

    def estimates(self, analysis: str, **wanted: Any) -> list[Mapping[str, Any]]:
        """Return the estimates of an analysis whose columns have the wanted values.

        Failed fits have none: ``skipped`` names them.
        """
        return self._rows(analysis, "estimates", wanted)

    def coefficients(self, analysis: str, **wanted: Any) -> list[Mapping[str, Any]]:
        """Return such coefficients of mixed models; ``term`` is the name of the effect."""
        return self._rows(analysis, "coefficients", wanted)

    def estimate(self, analysis: str, **wanted: Any) -> Mapping[str, Any] | None:
        """Return the only such estimate; None if there is none."""
        found = self.estimates(analysis, **wanted)
        return found[0] if len(found) == 1 else None

    def _rows(
        self, analysis: str, table: str, wanted: Mapping[str, Any]
    ) -> list[Mapping[str, Any]]:
        found = self.results.get(analysis)
        if found is None or table not in found.tables:
            return []
        rows = found.tables[table]
        if "estimate" in rows:
            # A fit that failed has at most a p value of another test, without a direction.
            rows = rows[rows["estimate"].notna()]
        for column, value in wanted.items():
            rows = rows[rows[column].astype(str) == str(value)]
        return list(rows.to_dict("records"))

    def skipped(self, analysis: str, *names: str) -> list[str]:
        """Return why parts of an analysis have no estimates, each reason once.

        ``names`` are values such as a class or a metric: parts of other ones do not count.
        """
        found = self.results.get(analysis)
        if found is None:
            return []
        wanted = {prose_name(name) for name in names}
        parts = [_place_and_reason(text) for text in (*found.skipped, *_failed(found))]
        return _grouped_reasons(
            [(place, why) for place, why in parts if not place or wanted <= set(place.split(_SEP))]
        )

    def why_not(self, analysis: str) -> str:
        """Return why an analysis has no estimates."""
        if analysis not in self.results:
            return "the analysis was not run"
        return "; ".join(self.skipped(analysis)) or "the analysis has no estimates"


def _failed(result: AnalysisResult) -> list[str]:
    """Return the parts of an analysis whose fit failed, with the reason."""
    table = result.tables.get("estimates")
    if table is None or not {"estimate", "term", "remark"} <= set(table.columns):
        return []
    rows = table[table["estimate"].isna()]
    return [f"{row['term']}: {row['remark']}" for row in rows.to_dict("records")]


def _place_and_reason(text: str) -> tuple[str, str]:
    """Separate ``CTB · LSTM: too few rows``; the part is empty if there is none."""
    place, colon, reason = text.partition(": ")
    return (place, reason) if colon and _SEP in place else ("", text)


def _grouped_reasons(skipped: Sequence[tuple[str, str]]) -> list[str]:
    """Return each reason once, with the first of the parts that it concerns."""
    groups: dict[str, list[str]] = {}
    for place, reason in skipped:
        groups.setdefault(reason, []).append(place)
    return [
        _reason(reason, [place for place in places if place]) for reason, places in groups.items()
    ]


def _reason(reason: str, places: Sequence[str]) -> str:
    if not places:
        return reason
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return f"{reason} ({'; '.join(places[:_SHOWN])}{more})"


def significant(estimate: Mapping[str, Any], direction: int) -> bool:
    """Whether an estimate is significant (p < .05) in a direction, 1 or −1."""
    return bool(estimate["p"] < ALPHA and estimate["estimate"] * direction > 0)


def names_or_none(names: Sequence[str]) -> str:
    """Return names for a sentence; ``none`` if there are none."""
    return ", ".join(names) or "none"


# ----------------------------------------------------------------------------
# Specification of a study: how each of its tables, figures and claims is computed.


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


# ----------------------------------------------------------------------------
# The rows of a table by model, with the keys and labels that models have in a study.


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyModels:
    """The models of a paper: labels by key, in the paper's order, and keys by other spellings.

    Spellings are compared without case, hyphens, underscores and blanks.
    """

    labels: Mapping[str, str]
    spellings: Mapping[str, str]

    def key(self, model: str) -> str:
        """Return the key of a model; a model that the paper does not have keeps its name."""
        plain = model.lower().replace("-", "").replace("_", "").replace(" ", "")
        return self.spellings.get(plain, plain if plain in self.labels else model)

    def label(self, key: str) -> str:
        """Return the label of a model."""
        return self.labels.get(key) or prose_name(key)

    def rank(self, key: str) -> tuple[int, int, str]:
        """Return the place of a model: the paper's order, others after it from simple ones on."""
        order = list(self.labels)
        place = order.index(key) if key in order else len(order)
        return place, family_rank(key), key


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRows:
    """The rows of a model that was trained on one corpus; ``key`` has the corpus if needed."""

    key: str
    label: str
    model: str
    corpus: str
    rows: pd.DataFrame


def rows_by_model(
    table: pd.DataFrame, models: StudyModels, *, corpora: Sequence[str]
) -> list[ModelRows]:
    """Return the rows of each model and corpus, in the paper's order.

    ``corpora`` are all corpora of the source: with several, keys and labels name the corpus. Models
    whose names are spellings of one key stay apart, under their own names.
    """
    found = []
    keys = {name: models.key(str(name)) for name in table["model"].unique()}
    shared = {key for key, count in Counter(keys.values()).items() if count > 1}
    names = table["model"].map({n: str(n) if key in shared else key for n, key in keys.items()})
    for (model, corpus), rows in table.groupby([names, table["corpus"]], sort=False, dropna=False):
        has_corpus = len(set(corpora)) > 1 and bool(corpus)
        found.append(
            ModelRows(
                key=f"{model} {corpus}" if has_corpus else str(model),
                label=models.label(model) + (f" ({prose_name(corpus)})" if has_corpus else ""),
                model=str(model),
                corpus=str(corpus),
                rows=rows,
            )
        )
    return sorted(found, key=lambda one: (*models.rank(one.model), one.corpus))


def corpora_of(*tables: pd.DataFrame) -> list[str]:
    """Return the training corpora in tables of a source."""
    return sorted({str(name) for table in tables for name in table.get("corpus", ())})
