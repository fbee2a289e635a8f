"""What a source says: its tables and its analyses, asked by claims and tables of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from gardenpath.eval.statistics.questions.analysis import AnalysisResult
from gardenpath.eval.statistics.questions.wording import ALPHA, prose_name
from gardenpath.eval.studies.study_means import suite_accuracies
from gardenpath.eval.studies.study_parts import StudyData

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
