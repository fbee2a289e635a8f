"""From a treebank to trained models and tables, as docs/replicate.md describes, in miniature."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gardenpath.runs.find import find
from gardenpath.studies.mandarin import MANDARIN_CLAIMS
from tests.integration.commands import call
from tests.integration.miniature import MINIATURE_RUNS, paths, train_miniature, trained_miniature

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def replication(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the corpora and the runs of the miniature."""
    return trained_miniature(tmp_path_factory)


def _evaluate(folder: Path, output: Path, *arguments: str) -> None:
    common = [
        f"output={output}",
        f"paths.surprisals={folder / 'surprisals.sqlite'}",
        *paths(folder),
    ]
    assert call("evaluate.py", *arguments, *common) == 0


def test_the_grid_is_trained_side_by_side(replication: Path) -> None:
    runs = find(replication / "runs" / "mandarin", device="cpu")
    names = {(run.name.corpus, run.name.model, run.name.seed) for run in runs}
    models = [
        ("ngram", 1),
        *((m, s) for m in ("lstm", "transformer", "plm", "rnng") for s in (1, 2)),
    ]
    assert names == {(c, m, s) for c in ("ctb", "xinhua") for m, s in models}
    assert len(runs) == MINIATURE_RUNS
    for run in runs:
        name = run.name
        place = f"{name.corpus}/{name.model}/seed{name.seed}"
        assert run.path == replication / "runs" / "mandarin" / place


def test_a_second_call_trains_nothing_again(
    replication: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = replication / "runs" / "mandarin" / "ctb" / "lstm" / "seed1" / "result.json"
    before = path.stat().st_mtime_ns
    train_miniature(replication, "model=lstm")
    assert path.stat().st_mtime_ns == before
    assert capsys.readouterr().out.count("is finished already") == 4


def test_both_corpora_are_tested_on_the_treebank(replication: Path, tmp_path: Path) -> None:
    """Table 3b: perplexities of models of both corpora on the test split of the treebank."""
    runs = ",".join(str(replication / "runs" / "mandarin" / name) for name in ("ctb", "xinhua"))
    limit = "task.marginal_sentences=0"
    _evaluate(replication, tmp_path, "task=perplexity", f"run={runs}", "data=ctb", limit)
    table = pd.read_csv(tmp_path / "perplexity.csv")
    assert set(table["corpus"]) == {"ctb"} and set(table["sentences"]) == {15}
    assert len(table) == MINIATURE_RUNS and table["words"].nunique() == 1
    counts = table.groupby("trained_on").size().to_dict()
    assert counts == {"ctb": 9, "xinhua": 9}
    unknown = table.groupby("trained_on")["unknown_rate"].first()
    assert unknown["xinhua"] <= unknown["ctb"]
    for run in find(*runs.split(","), device="cpu"):
        row = table[
            (table["trained_on"] == run.name.corpus)
            & (table["seed"] == run.name.seed)
            & (table["model"].str.replace(" (joint)", "") == run.name.model)
        ]
        name = "joint_perplexity" if run.is_syntactic else "perplexity"
        # The test split of both corpora is that of the treebank.
        assert row["perplexity"].item() == pytest.approx(run.metrics["test"][name], rel=1e-4)


def test_both_corpora_are_in_one_table(replication: Path, tmp_path: Path) -> None:
    """Table 4 and Figure 5: sizes and lengths, without a run."""
    none = f"run={tmp_path / 'none'}"
    _evaluate(replication, tmp_path, "task=corpus", "corpora=[ctb,xinhua]", none)
    table = pd.read_csv(tmp_path / "corpora" / "statistics.csv").set_index(["corpus", "split"])
    assert table["sentences"].to_dict() == {
        ("ctb", "train"): 60, ("ctb", "valid"): 15, ("ctb", "test"): 15,
        ("xinhua", "train"): 150, ("xinhua", "valid"): 15, ("xinhua", "test"): 15,
    }  # fmt: skip
    assert (tmp_path / "corpora" / "report.html").is_file()
    assert list((tmp_path / "corpora" / "figures").glob("sentence_lengths.*"))


def test_the_treebank_is_written_for_other_tools(replication: Path, tmp_path: Path) -> None:
    _evaluate(replication, tmp_path, "task=export", "data=xinhua")
    lines = (tmp_path / "xinhua" / "train.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 150 and all(line.startswith("(") for line in lines)


def test_the_tables_of_the_paper(replication: Path, tmp_path: Path) -> None:
    """``study=mandarin`` over the runs of both corpora, with tables of the corpora."""
    runs = ",".join(str(replication / "runs" / "mandarin" / name) for name in ("ctb", "xinhua"))
    narrow = ("search.action_beam=10", "search.word_beam=3", "task.marginal_sentences=2")
    few = ("study.items=2", "task.min_items=1", "corpora=[ctb,xinhua]")
    _evaluate(replication, tmp_path, "study=mandarin", f"run={runs}", *few, *narrow)
    folder = tmp_path / "mandarin_study"
    accuracies = pd.read_csv(folder / "tables" / "table_6.csv", keep_default_na=False)
    own = accuracies[accuracies["value"] != ""]
    # Five architectures on two corpora, each with the printed value beside it, on five classes: the
    # critical words of the sixth are not in the small corpora.
    assert len(own) == 50 and (own["printed"] != "").all()
    perplexity = pd.read_csv(folder / "tables" / "table_3b.csv", keep_default_na=False)
    assert (perplexity["value"] != "").sum() == 10
    corpora = pd.read_csv(folder / "tables" / "table_4.csv").set_index(["row", "column"])
    assert corpora.loc[("xinhua", "tokens"), "value"] > corpora.loc[("ctb", "tokens"), "value"]
    claims = pd.read_csv(folder / "claims.csv")
    assert set(claims["source"]) == {"own runs"} and len(claims) == len(MANDARIN_CLAIMS)
    assert (claims["verdict"] != "not tested").sum() > 10


def test_released_surprisals_and_own_runs_side_by_side(
    replication: Path, reference_data: Path, tmp_path: Path
) -> None:
    """Own runs are scored on the published materials, so that each cell has both."""
    published = reference_data / "published" / "mandarin"
    given = (
        f"surprisals={published / 'surprisals' / 'ngram_outputs'}",
        f"materials={published / 'suites'}",
        f"run={replication / 'runs' / 'mandarin' / 'ctb' / 'ngram'}",
    )
    _evaluate(replication, tmp_path, "study=mandarin", *given)
    folder = tmp_path / "mandarin_study"
    table = pd.read_csv(folder / "tables" / "table_6.csv", keep_default_na=False)
    known = table[(table["value"] != "") & (table["row"] == "ngram ctb")]
    classes = known.groupby("source")["column"].apply(set)
    # The small model does not know the critical words of most items of some classes.
    assert len(classes["released surprisals"]) == 6
    assert 0 < len(classes["own runs"]) < 6 and classes["own runs"] < classes["released surprisals"]
    items = pd.read_csv(folder / "tables" / "table_2.csv", keep_default_na=False)
    cells = items[items["value"] != ""].set_index(["source", "row", "column"])["value"]
    own, released = cells.loc["own runs"], cells.loc["released surprisals"]
    assert len(own) > 0 and own.to_dict().items() <= released.to_dict().items()
    assert (folder / "data" / "own_runs" / "items.csv").is_file()
