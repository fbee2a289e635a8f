"""Specifications of studies: parts and claims of all sources."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from gardenpath.errors import ConfigError
from gardenpath.eval.statistics.analysis import AnalysisResult, make_analysis
from gardenpath.studies.replicate import STUDIES, study_spec
from gardenpath.studies.study import Evidence, mean_cell, names_or_none, short_count, significant
from tests.eval.studies.small_study import SMALL, data


def _result(name: str, estimates: pd.DataFrame | None, skipped: tuple[str, ...]) -> AnalysisResult:
    analysis = make_analysis(
        {"title": "t", "test": "t_test", "response": "value_bits", "table": "effects"}, name=name
    )
    return AnalysisResult(
        analysis=analysis,
        data=pd.DataFrame(),
        tables={} if estimates is None else {"estimates": estimates},
        sentences=(),
        skipped=skipped,
    )


def test_parts_have_the_cells_of_all_sources_and_say_what_lacks() -> None:
    sources = [Evidence(data({"lstm": [1, 1, 0]})), Evidence(data({"lstm": [0, 1]}, "runs"))]
    figure, table, texts = SMALL.result(sources).parts
    assert (figure.kind, table.kind) == ("figure", "table")
    assert [(c.source, c.n) for c in figure.cells] == [("files", 3), ("runs", 2)]
    assert all(math.isfinite(cell.low) for cell in figure.cells)
    assert all(math.isnan(cell.low) for cell in table.cells)  # means alone
    assert [cell.source for cell in texts.cells] == ["files"]
    assert texts.missing == ["Not computed from runs: it is secret."]
    assert figure.labels["lstm"] == "lstm of runs" and figure.labels["accuracy"] == "mean accuracy"


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ({"lstm": [1.0, 1], "ngram": [1, 0]}, "reproduced"),
        ({"lstm": [0.0, 0], "ngram": [1, 0]}, "not reproduced"),
        ({"lstm": [0.0, 1], "ngram": [1, 0]}, "depends"),
        ({"lstm": [1.0]}, "not tested"),
    ],
)
def test_claims_have_a_verdict_and_a_reason(outcomes: dict[str, list[float]], verdict: str) -> None:
    (claim,) = SMALL.result([Evidence(data(outcomes))]).claims
    assert claim.verdict == verdict and claim.reason and claim.source == "files"


def test_evidence_finds_estimates_by_their_columns() -> None:
    table = pd.DataFrame({"model": ["a", "a", "b"], "seed": [1, 2, 1], "p": [0.1, 0.2, 0.3]})
    results = {
        "q": _result("q", table, ()),
        "none": _result("none", None, ("too few items", "no seeds")),
    }
    one = Evidence(data({"a": [1]}), results)
    assert [row["p"] for row in one.estimates("q", model="a")] == [0.1, 0.2]
    found = one.estimate("q", model="a", seed=2)
    assert found is not None and found["p"] == 0.2
    assert one.estimate("q", model="a") is None  # not the only one
    assert one.estimates("none") == [] and one.estimates("other") == []
    assert one.why_not("none") == "too few items; no seeds"
    assert one.why_not("other") == "the analysis was not run"


def test_failed_fits_are_no_estimates() -> None:
    """Their p values are those of other tests, which have no direction."""
    table = pd.DataFrame(
        {
            "term": ["CTB · verb-noun · syntax", "CTB · subordination · syntax"],
            "estimate": [0.5, math.nan],
            "p": [0.2, 0.001],
            "remark": ["", "complete separation"],
        }
    )
    one = Evidence(data({"lstm": [1]}), {"q": _result("q", table, ())})
    assert [row["p"] for row in one.estimates("q")] == [0.2]
    assert one.skipped("q") == ["complete separation (CTB · subordination · syntax)"]


def test_skipped_parts_of_an_analysis_are_said_once_per_reason() -> None:
    exact = "the model fits the responses exactly"
    skipped = (
        *(f"LSTM · missing object · {seed}: {exact}" for seed in range(4)),
        f"LSTM · verb-noun · 1: {exact}",
        "LSTM · missing object · 5: too few: 1 row",
        "no table",
    )
    one = Evidence(data({"lstm": [1]}), {"q": _result("q", None, skipped)})
    places = "; ".join(f"LSTM · missing object · {seed}" for seed in range(3))
    assert one.skipped("q", "missing_object") == [
        f"{exact} ({places} and 1 more)",
        "too few: 1 row (LSTM · missing object · 5)",
        "no table",
    ]
    assert one.skipped("q")[0] == f"{exact} ({places} and 2 more)"
    assert one.skipped("other") == []
    # A part of the study says it, with and without other cells.
    spec = replace(SMALL.parts[0], analysis=["q", "missing_object"])
    said = spec.part([one], {}).missing
    assert said[2] == "Some cells are not computed from files: no table."
    empty = replace(spec, cells=lambda _: ())
    assert empty.part([one], {}).missing[0].startswith(f"Not computed from files: {exact}")


def test_significance_has_a_direction() -> None:
    assert significant({"p": 0.04, "estimate": 1.0}, 1)
    assert not significant({"p": 0.04, "estimate": 1.0}, -1)
    assert not significant({"p": 0.06, "estimate": 1.0}, 1)
    assert (names_or_none([]), names_or_none(["a", "b"])) == ("none", "a, b")


def test_mean_cells_leave_out_missing_values() -> None:
    cell = mean_cell([1.0, math.nan, 3.0], source="s", row="r", column="c")
    assert (cell.value, cell.n) == (2.0, 2)
    assert cell.high - cell.value == pytest.approx(1.96 * math.sqrt(2.0) / math.sqrt(2.0))
    assert math.isnan(mean_cell([1.0], source="s", row="r", column="c").low)
    assert mean_cell([], source="s", row="r", column="c").n == 0


def test_counts_are_as_papers_print_them() -> None:
    assert [short_count(n) for n in (12, 974_400, 7_100_000)] == ["12", "974K", "7M"]


def test_studies_have_their_names() -> None:
    assert all(study_spec(name).name == name for name in STUDIES)
    assert set(STUDIES) == {"mandarin", "reflexives", "suppression", "filler_gap"}
    with pytest.raises(ConfigError, match=r"unknown study 'mandarine'.*mandarin"):
        study_spec("mandarine")
    notes = [study_spec("reflexives", items=items).parts[1].note for items in ("paper", "all")]
    assert "60 of 75" in notes[0] and "all released items" in notes[1]
