"""What a study says about itself."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.display import EXACT, models_in_order
from gardenpath.eval.report.content import Curve, Shown, Study, corpus_groups
from gardenpath.eval.suites.summary import RunName
from gardenpath.store.tables import ITEMS
from tests.eval.report.samples import ISLANDS


def test_a_table_without_a_column_is_refused_by_name() -> None:
    with pytest.raises(GardenpathError, match=r"'items'.*outcome"):
        Study(title="x", items=ITEMS.frame([]).drop(columns="outcome"))


def test_models_stand_in_the_order_of_their_families() -> None:
    models = [EXACT, "gpt2", "plm", "lstm", "ngram", "rnng", "trans", "lstm"]
    assert models_in_order(models) == ["ngram", "lstm", "rnng", "trans", "plm", "gpt2", EXACT]


def test_corpora_are_together_where_they_share_suites() -> None:
    pairs = [("a", "s1"), ("b", "s2"), ("c", "s3"), ("c", "s1"), ("d", "s4"), ("d", "s2")]
    table = pd.DataFrame(pairs, columns=["corpus", "suite"])
    assert sorted(map(sorted, corpus_groups(table))) == [["a", "c"], ["b", "d"]]


def test_a_corpus_can_join_two_groups() -> None:
    pairs = [("a", "s1"), ("b", "s2"), ("c", "s1"), ("c", "s2")]
    table = pd.DataFrame(pairs, columns=["corpus", "suite"])
    assert [set(group) for group in corpus_groups(table)] == [{"a", "b", "c"}]


def test_suites_stand_together_from_plain_to_complex(study: Study) -> None:
    assert study.suites() == [
        *(f"classifier_noun_{name}" for name in ("none", "adjective", "subject_rc", "object_rc")),
        *(f"missing_object_{name}" for name in ("none", "subject_rc")),
        *(f"missing_object_{name}" for name in ("coordinated_rc", "embedded_rc")),
        *(f"islands_{name}" for name in ISLANDS),
    ]


def test_what_was_found_is_told_first() -> None:
    analysis = Shown(title="x", sentences=("a", "b", "c"), found=(False, True, False))
    assert analysis.told() == (["b"], ["a", "c"])
    assert analysis.line == "1 of 3 comparisons differs significantly from zero (p < .05)."
    unknown = Shown(title="x", sentences=("a", "b"))
    assert unknown.told() == (["a", "b"], []) and unknown.line == "2 results."
    assert Shown(title="x", sentences=("a",), found=(False,)).line == "a"
    assert Shown(title="x", skipped=("a", "b")).line == "Not tested in 2 cases."


def test_curves_are_read_from_metrics(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    name = RunName(run="r", model="rnng", corpus="toy", seed=2)
    assert Curve.read(path, name) is None
    path.write_text("epoch,train/loss,valid/joint_perplexity\n0,2.5,\n1,nan,7\n", encoding="utf-8")
    curve = Curve.read(path, name)
    assert curve is not None and curve.is_joint
    assert (curve.model, curve.corpus, curve.seed) == ("rnng", "toy", 2)
    assert curve.metrics["epoch"].tolist() == [0, 1]
    assert curve.metrics["train/loss"].dropna().tolist() == [2.5]
    path.write_text("", encoding="utf-8")
    assert Curve.read(path, name) is None


def test_runs_are_listed_once(study: Study) -> None:
    runs = study.runs()
    assert runs["run"].is_unique and len(runs) == 14
    assert runs[runs["model"] == EXACT]["seed"].isna().all()
