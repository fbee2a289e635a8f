"""What a published study is made of: its specification, the data of its sources, and its result.

The modules of the studies write specifications (``StudySpec``: how each table, figure and claim of
a paper is computed from an ``Evidence``), ``replicate`` computes a ``StudyResult`` from them, and
``compared`` and ``report`` show it. A cell of a table belongs to a *source*, such as the released
surprisals or the user's own runs, so that several sources stand side by side. Nothing here reads
files or knows a certain paper.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from gardenpath.eval.display import family_rank
from gardenpath.eval.means import Interval, normal_interval
from gardenpath.eval.statistics.analysis import AnalysisResult
from gardenpath.eval.statistics.answers import ALPHA, prose_name

# Names of the two kinds of sources.
RELEASED = "released surprisals"
OWN = "own runs"

Verdict = Literal["reproduced", "not reproduced", "depends", "not tested"]
# Which of the released items count: those that the paper used, or all.


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCell:
    """One value of a table or figure; ``row``, ``column`` and ``panel`` are keys, not labels.

    ``text`` is shown instead of the number; ``stars`` are the significance stars, None if the
    published cell has none to compare with. ``low`` and ``high`` bound a 95 % interval. ``source``
    is filled in by ``PartSpec.part``.
    """

    row: str
    column: str
    panel: str = ""
    source: str = ""
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


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A table or, with a ``style``, a figure of a paper; ``digits``: number of decimals shown."""

    number: str
    title: str
    style: FigureStyle | None = None
    digits: int = 3
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class StudyPart(_Part):
    """A computed table or figure; ``labels`` map keys of rows, columns and panels to labels.

    ``missing`` says why a part has no cells, or why some of its cells are empty.
    """

    cells: Sequence[StudyCell] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()

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
    """A claim at a place (section, table, figure) of a paper, and what a source says about it."""

    place: str
    text: str
    source: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class CorpusTables:
    """What a source says about corpora and networks; None if it was not computed.

    ``perplexity`` are perplexities of runs on one corpus (``PERPLEXITY`` in
    ``gardenpath.store.tables``), ``corpora`` and ``lengths`` describe training corpora
    (``CORPUS_STATISTICS``, ``LENGTHS``), ``constructions`` counts the constructions in treebanks,
    and ``networks`` has model, corpus, layers, hidden and embedding (widths) of each neural run.
    """

    perplexity: pd.DataFrame | None = None
    corpora: pd.DataFrame | None = None
    lengths: pd.DataFrame | None = None
    constructions: pd.DataFrame | None = None
    networks: pd.DataFrame | None = None


@dataclass(frozen=True, kw_only=True)
class StudyData(CorpusTables):
    """The scored suites of one source; columns as in ``gardenpath.store.tables``."""

    source: str
    items: pd.DataFrame
    effects: pd.DataFrame
    sentences: pd.DataFrame
    surprisals: pd.DataFrame


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


# Means with intervals, and the cells made of them.


_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def stars(p: float) -> str:
    return next((mark for limit, mark in _STARS if p <= limit), "")


def mean_cell(values: Sequence[float] | pd.Series, **keys: Any) -> StudyCell:
    """Return a cell with the mean of the values and 1.96·SD/√n around it; NaN values are left out.

    ``keys`` are further fields of the cell: row, column and so on.
    """
    if np.isnan(values).all():
        return StudyCell(n=0, **keys)
    return interval_cell(normal_interval(values), **keys)


def interval_cell(interval: Interval, **keys: Any) -> StudyCell:
    """Return a cell with a mean and its interval."""
    return StudyCell(
        value=interval.mean, low=interval.low, high=interval.high, n=interval.n, **keys
    )


def short_count(count: int) -> str:
    """Return a count as papers print it: 974K, 7M."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.0f}M"
    return f"{count / 1_000:.0f}K" if count >= 1_000 else str(count)


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
        return self.data.source

    @cached_property
    def accuracies(self) -> pd.DataFrame:
        """The accuracy of every run on every suite: the mean over predictions and items."""
        keys = ["model", "corpus", "seed", "run", "class", "modifier"]
        groups = self.data.items.groupby([*keys, "suite", "item"], dropna=False, sort=False)
        means = groups["outcome"].mean().groupby(keys, dropna=False, sort=False).mean()
        return means.rename("accuracy").reset_index()

    def mean_accuracies(self, *keys: str) -> pd.Series:
        """Return mean accuracies over suites and runs, by these columns."""
        return self.accuracies.groupby(list(keys), sort=False)["accuracy"].mean()

    def estimates(
        self, analysis: str, *, table: str = "estimates", **wanted: Any
    ) -> list[Mapping[str, Any]]:
        """Return the estimates of an analysis whose columns have the wanted values.

        Failed fits have none: ``skipped`` names them. The table ``coefficients`` of mixed models
        has all their effects, which are named by ``term``.
        """
        if analysis not in self.results or table not in self.results[analysis].tables:
            return []
        rows = self.results[analysis].tables[table]
        if "estimate" in rows:
            # A fit that failed has at most a p value of another test, without a direction.
            rows = rows[rows["estimate"].notna()]
        for column, value in wanted.items():
            rows = rows[rows[column].astype(str) == str(value)]
        return list(rows.to_dict("records"))

    def estimate(self, analysis: str, **wanted: Any) -> Mapping[str, Any] | None:
        """Return the only such estimate; None if there is none."""
        rows = self.estimates(analysis, **wanted)
        return rows[0] if len(rows) == 1 else None

    def skipped(self, analysis: str, *names: str) -> list[str]:
        """Return why parts of an analysis have no estimates, each reason once.

        ``names`` are values such as a class or a metric: parts of other ones do not count. A
        reason names the first of the parts that it concerns.
        """
        result = self.results.get(analysis)
        if result is None:
            return []
        wanted = {prose_name(name) for name in names}
        places: dict[str, list[str]] = {}
        for text in (*result.skipped, *_failed(result)):
            # ``CTB · LSTM: too few rows``; a text without a place is a reason as a whole.
            place, colon, reason = text.partition(": ")
            if not (colon and _SEP in place):
                places.setdefault(text, [])
            elif wanted <= set(place.split(_SEP)):
                places.setdefault(reason, []).append(place)
        return [
            f"{reason} ({first_names(skipped, _SHOWN)})" if skipped else reason
            for reason, skipped in places.items()
        ]

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


def first_names(names: Sequence[str], count: int) -> str:
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return "; ".join(names[:count]) + more


def significant(estimate: Mapping[str, Any], direction: int) -> bool:
    """Whether an estimate is significant (p < .05) in a direction, 1 or −1."""
    return bool(estimate["p"] < ALPHA and estimate["estimate"] * direction > 0)


def names_or_none(names: Sequence[str]) -> str:
    """Return names for a sentence; ``none`` if there are none."""
    return ", ".join(names) or "none"


# How each table, figure and claim of a study is computed.

# What a source says about a claim: the verdict and its reason.
Judgement = tuple[Verdict, str]


@dataclass(frozen=True, kw_only=True)
class PartSpec(_Part):
    """A table or figure; ``cells`` computes the cells of one source.

    ``lacking`` says what a source without cells lacks. ``analysis`` is the analysis whose estimates
    the cells are, and the values of its columns that they have, such as class and metric: what it
    skipped is said. Without ``intervals``, means are shown alone, as the paper prints them.
    """

    cells: Callable[[Evidence], Iterable[StudyCell]]
    lacking: str
    analysis: Sequence[str] = ()
    intervals: bool = True

    def part(self, sources: Sequence[Evidence], labels: Mapping[str, str]) -> StudyPart:
        """Return the table or figure with the cells of all sources."""
        cells: list[StudyCell] = []
        missing: list[str] = []
        for evidence in sources:
            computed = [replace(cell, source=evidence.source) for cell in self.cells(evidence)]
            reasons = evidence.skipped(*self.analysis) if self.analysis else []
            if computed:
                some = f"Some cells are not computed from {evidence.source}"
                missing += [f"{some}: {reason}." for reason in reasons]
            else:
                why = "; ".join(reasons) or self.lacking
                missing.append(f"Not computed from {evidence.source}: {why}.")
            cells += computed
        if not self.intervals:
            cells = [replace(cell, low=math.nan, high=math.nan) for cell in cells]
        head = {name: getattr(self, name) for name in _Part.__dataclass_fields__}
        return StudyPart(**head, cells=cells, labels=labels, missing=missing)


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """A claim of the paper, the place where it is made, and how a source judges it."""

    place: str
    text: str
    judge: Callable[[Evidence], Judgement]


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

    def result(self, sources: Sequence[Evidence]) -> StudyResult:
        """Compute all parts and claims from the data of all sources."""
        labels = dict(self.labels)
        for evidence in sources:
            labels.update(self.row_labels(evidence))
        claims = []
        for spec, evidence in itertools.product(self.claims, sources):
            verdict, reason = spec.judge(evidence)
            place, text, source = spec.place, spec.text, evidence.source
            claims.append(
                StudyClaim(place=place, text=text, source=source, verdict=verdict, reason=reason)
            )
        return StudyResult(
            name=self.name, title=self.title, reference=self.reference,
            parts=[spec.part(sources, labels) for spec in self.parts], claims=claims,
            analyses={evidence.source: [*evidence.results.values()] for evidence in sources},
        )  # fmt: skip


def judged(is_true: bool, reason: str) -> Judgement:
    """Judge a claim that is either true or false of the data."""
    return ("reproduced" if is_true else "not reproduced"), reason


def depends(on: str) -> Judgement:
    """Judge a claim that is true under some choice of the analysis only."""
    return "depends", f"on {on}"


def untested(reason: str) -> Judgement:
    """Judge a claim that the data say nothing about."""
    return "not tested", reason


# The rows of a table by model, with the keys and labels that models have in a study.


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRows:
    """The rows of a model that was trained on one corpus; ``key`` has the corpus if needed."""

    key: str
    label: str
    model: str
    corpus: str
    rows: pd.DataFrame


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
        return self.labels.get(key) or prose_name(key)

    def lacking(self, known: Iterable[str], wanted: Sequence[str]) -> str:
        """Return which of the wanted models are not among the known ones, in parentheses."""
        known = set(known)
        lacking = [self.label(name) for name in wanted if name not in known]
        return f" (not in this source: {names_or_none(lacking)})" if lacking else ""

    def rows(self, table: pd.DataFrame, evidence: Evidence) -> list[ModelRows]:
        """Return the rows of each model and corpus, in the paper's order.

        If the source has several corpora, keys and labels name the corpus. Models whose names are
        spellings of one key stay apart, under their own names.
        """
        tables = (evidence.data.items, evidence.data.effects)
        corpora = {str(name) for rows in tables for name in rows.get("corpus", ())}
        keys = {name: self.key(str(name)) for name in table["model"].unique()}
        shared = {key for key, count in Counter(keys.values()).items() if count > 1}
        names = table["model"].map({n: str(n) if key in shared else key for n, key in keys.items()})
        models = []
        groups = table.groupby([names, table["corpus"]], sort=False, dropna=False)
        for (model, corpus), rows in groups:
            key, label, has_corpus = str(model), self.label(model), len(corpora) > 1 and corpus
            if has_corpus:
                key, label = f"{model} {corpus}", f"{label} ({prose_name(corpus)})"
            models.append(
                ModelRows(key=key, label=label, model=str(model), corpus=str(corpus), rows=rows)
            )
        # The paper's order, others after it from simple ones on.
        places = {key: place for place, key in enumerate(self.labels)}

        def place(row: ModelRows) -> tuple[int, int, str, str]:
            rank = places.get(row.model, len(places))
            return rank, family_rank(row.model), row.model, row.corpus

        return sorted(models, key=place)
