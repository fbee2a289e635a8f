"""Wilcox et al. 2019: suppression and recovery of expectations, in embeddings and behind islands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from gardenpath.eval.statistics.inference.intervals import Interval, within_item_intervals
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.model_rows import corpora_of, rows_by_model
from gardenpath.eval.studies.papers.suppression_claims import (
    DESIGNS,
    SUPPRESSION_CLAIMS,
    SUPPRESSION_MODELS,
    VERBS,
)
from gardenpath.eval.studies.study_means import mean_cell
from gardenpath.eval.studies.study_parts import FigureStyle, StudyCell
from gardenpath.eval.studies.study_spec import PartSpec, StudySpec
from gardenpath.eval.suites.scoring.effects import ORDERING, WH_GAP, WH_NO_GAP

ISLANDS = ("object", "adjunct", "over_adjunct", "complex_np", "over_complex_np")
DISCHARGE = ("subject", "adjunct_discharge", "cnp_discharge")

_LABELS = {
    **SUPPRESSION_MODELS.labels,
    "sentence": "sentence",
    "embedding": "embedding",
    "long": "embedding, long",
    WH_GAP: "+gap",
    WH_NO_GAP: "−gap",
    "over_adjunct": "over-adjunct",
    "complex_np": "CNP",
    "over_complex_np": "over-CNP",
    "adjunct_discharge": "adjunct-discharge",
    "cnp_discharge": "CNP-discharge",
}


def _row_labels(one: Evidence) -> dict[str, str]:
    table = one.data.effects
    found = rows_by_model(table, SUPPRESSION_MODELS, corpora=corpora_of(table))
    return {rows.key: rows.label for rows in found}


def _figure(
    one: Evidence, table: pd.DataFrame, column: str, order: Sequence[str], panel: str = ""
) -> Iterator[StudyCell]:
    """Yield means with within-item intervals: models as rows, conditions as columns.

    Items are averaged over runs first.
    """
    corpora = corpora_of(one.data.effects)
    for found in rows_by_model(table, SUPPRESSION_MODELS, corpora=corpora):
        rows = found.rows[found.rows[column].isin(order) & np.isfinite(found.rows["value_bits"])]
        intervals = _intervals(rows, column)
        for condition in order:
            if condition in intervals:
                interval = intervals[condition]
                yield StudyCell(
                    source=one.source, panel=panel, row=found.key, column=condition,
                    value=interval.mean, low=interval.low, high=interval.high, n=interval.n,
                )  # fmt: skip


def _intervals(rows: pd.DataFrame, condition: str) -> dict[str, Interval]:
    try:
        return within_item_intervals(
            rows, value="value_bits", condition=condition, item="item", method="item_centred"
        )
    except StatisticsError:
        # One condition, or one item: there is no variance within items.
        means = rows.groupby([condition, "item"])["value_bits"].mean().groupby(condition)
        return {
            str(name): Interval(mean=float(mean), low=math.nan, high=math.nan, n=int(count))
            for (name, mean), count in zip(means.mean().items(), means.count(), strict=True)
        }


def _ordering(one: Evidence) -> Iterator[StudyCell]:
    table = one.data.effects
    designs = {f"{ORDERING}_{design}": design for design in DESIGNS}
    table = table[table["effect"].isin(designs)]
    return _figure(one, table.assign(design=table["effect"].map(designs)), "design", DESIGNS)


def _verbs(one: Evidence) -> Iterator[StudyCell]:
    table = one.data.effects
    corpora = corpora_of(table)
    for found in rows_by_model(table, SUPPRESSION_MODELS, corpora=corpora):
        for design in DESIGNS:
            for verb, label in VERBS.items():
                chosen = found.rows[found.rows["effect"] == f"{verb}_{design}"]
                values = chosen.groupby("item")["value_bits"].mean()
                if len(values):
                    yield mean_cell(
                        values, source=one.source, row=found.key, column=f"{design} {label}"
                    )


def _wh_effects(one: Evidence, *, kind: str, order: Sequence[str]) -> Iterator[StudyCell]:
    table = one.data.effects
    for effect in (WH_GAP, WH_NO_GAP):
        chosen = table[(table["class"] == kind) & (table["effect"] == effect)]
        yield from _figure(one, chosen, "modifier", order, panel=effect)


_BITS = FigureStyle(y_label="bits", reference=0.0)
_CENTRED = "Intervals after Masson and Loftus: 1.96·SD/√n of values minus the mean of their item"

SUPPRESSION = StudySpec(
    name="suppression",
    title="Suppression and recovery of expectations",
    reference="Wilcox, Levy and Futrell 2019",
    labels=_LABELS,
    row_labels=_row_labels,
    claims=SUPPRESSION_CLAIMS,
    parts=(
        PartSpec(
            number="Figure 2", title="Centre embedding: ordering effects", cells=_ordering,
            lacking="there are no models on centre embedding", style=_BITS,
            note="Surprisal of verbs that do not match their subjects minus that of matching verbs, "
            f"summed over both verbs. {_CENTRED}.",
        ),
        PartSpec(
            number="Figure 2 by verb", title="Centre embedding: ordering effects at each verb",
            cells=_verbs, lacking="there are no models on centre embedding", digits=2,
            note="VP1 is the verb of the relative clause, VP2 that of the main clause. The paper "
            "describes them in section 3 without numbers.",
        ),
        PartSpec(
            number="Figure 4", title="Wh-effects in islands and behind them",
            cells=partial(_wh_effects, kind="islands", order=ISLANDS),
            lacking="there are no models on islands", style=_BITS,
            note=f"{_CENTRED} over the conditions of the figure. The paper leaves the n-gram model "
            "out of its figure.",
        ),
        PartSpec(
            number="Figure 5", title="Wh-effects after a gap in subject or island position",
            cells=partial(_wh_effects, kind="wh_discharge", order=DISCHARGE),
            lacking="there are no models on wh-discharge", style=_BITS,
            note=f"{_CENTRED} over the conditions of the figure.",
        ),
    ),
)  # fmt: skip
