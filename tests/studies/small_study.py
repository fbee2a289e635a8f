"""A small made-up study, for tests of specifications, figures and pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from gardenpath.studies.study import (
    ClaimSpec,
    Evidence,
    FigureStyle,
    Judgement,
    PartSpec,
    StudyCell,
    StudyData,
    StudySpec,
    depends,
    judged,
    mean_cell,
    untested,
)

NASTY = "<b>&\"'{{ x }}"


def data(outcomes: dict[str, list[float]], source: str = "files") -> StudyData:
    """A source with one run per model on one suite."""
    rows: list[dict[str, Any]] = [
        {
            "run": model, "model": model, "corpus": "", "seed": pd.NA, "suite": "s", "class": "c",
            "modifier": "m", "item": item, "prediction": "p", "outcome": outcome,
        }
        for model, values in outcomes.items()
        for item, outcome in enumerate(values, start=1)
    ]  # fmt: skip
    nothing = pd.DataFrame()
    return StudyData(
        source=source, items=pd.DataFrame(rows), effects=nothing, sentences=nothing,
        surprisals=nothing,
    )  # fmt: skip


def _accuracies(one: Evidence) -> Iterator[StudyCell]:
    for model, rows in one.data.items.groupby("model", sort=False):
        yield mean_cell(rows["outcome"], source=one.source, row=str(model), column="accuracy")


def _only_of_files(one: Evidence) -> Iterator[StudyCell]:
    if one.source == "files":
        yield StudyCell(
            source=one.source, panel=NASTY, row=NASTY, column=NASTY, text=NASTY, note=NASTY
        )


def _lstm_is_better(one: Evidence) -> Judgement:
    means = one.data.items.groupby("model")["outcome"].mean()
    if "ngram" not in means:
        return untested("needs an n-gram model")
    if means["lstm"] == means["ngram"]:
        return depends("ties")
    return judged(means["lstm"] > means["ngram"], NASTY)


SMALL = StudySpec(
    name="small",
    title=NASTY,
    reference="Nobody 2000",
    labels={"accuracy": "mean accuracy"},
    row_labels=lambda one: {m: f"{m} of {one.source}" for m in one.data.items["model"].unique()},
    parts=(
        PartSpec(
            number="Figure 1", title="Accuracy", cells=_accuracies, lacking="no models",
            style=FigureStyle(y_label="accuracy", reference=0.5, limits=(0.0, 1.0)),
        ),
        PartSpec(
            number="Table 1", title="Accuracy again", cells=_accuracies, lacking="no models",
            intervals=False, digits=2, note=NASTY,
        ),
        PartSpec(number="Table 2", title="Texts", cells=_only_of_files, lacking="it is secret"),
    ),
    claims=(ClaimSpec("section 1", "LSTMs are better.", _lstm_is_better),),
)  # fmt: skip

VALUES = """\
Figure 1:
  digits: 2
  columns: [accuracy]
  released:
    lstm: [.75 ± .49]
Table 1:
  digits: 2
  columns: [accuracy]
  printed:
    ngram: [.40]
    lstm: [.75]
    rnng: [.90]
"""
