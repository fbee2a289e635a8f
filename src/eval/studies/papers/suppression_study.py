"""Wilcox et al. 2019: suppression and recovery of expectations, in embeddings and islands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from gardenpath.eval.statistics.inference.intervals import Interval
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.papers.suppression_claims import SUPPRESSION_CLAIMS
from gardenpath.eval.studies.papers.suppression_measures import (
    DESIGNS,
    SUPPRESSION_MODELS,
    VERBS,
    condition_means,
    embeddings,
    ordering_means,
    suppression_models,
)
from gardenpath.eval.studies.study_means import mean_cell
from gardenpath.eval.studies.study_parts import FigureStyle, StudyCell
from gardenpath.eval.studies.study_spec import PartSpec, StudySpec
from gardenpath.eval.suites.scoring.effects import WH_GAP, WH_NO_GAP

ISLANDS = ("object", "adjunct", "over_adjunct", "complex_np", "over_complex_np")
DISCHARGE = ("subject", "adjunct_discharge", "cnp_discharge")

_LABELS = {
    **SUPPRESSION_MODELS.labels,
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
    return {rows.key: rows.label for rows in suppression_models(one, one.data.effects)}


def _cells(means: Mapping[str, Interval], order: Sequence[str], **keys: str) -> Iterator[StudyCell]:
    """Yield the cells of a model: conditions in this order as columns."""
    for condition in order:
        if condition in means:
            mean = means[condition]
            yield StudyCell(
                column=condition, value=mean.mean, low=mean.low, high=mean.high, n=mean.n, **keys
            )


def _ordering_cells(one: Evidence) -> Iterator[StudyCell]:
    for found, means in ordering_means(one):
        yield from _cells(means, DESIGNS, source=one.source, row=found.key)


def _verbs(one: Evidence) -> Iterator[StudyCell]:
    for found in suppression_models(one, embeddings(one)):
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
        for found in suppression_models(one, chosen):
            means = condition_means(found.rows, "modifier", order)
            yield from _cells(means, order, source=one.source, panel=effect, row=found.key)


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
            number="Figure 2", title="Centre embedding: ordering effects", cells=_ordering_cells,
            lacking="there are no models on centre embedding", style=_BITS,
            note="Surprisal of verbs that do not match their subjects minus that of verbs that do, "
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
