"""``task=rescore``: surprisals from files, with no model at all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.errors import ConfigError, InputError
from gardenpath.settings.compose import load_settings
from gardenpath.tasks import run_task
from tests.toy_runs import evaluate, run_of

OWN = ("suite=toy_english", "suite.suites=[islands/toy]", "task.report=false")


def _exported(folder: Path, tmp_path: Path) -> Path:
    """A suite as plain text, and the table of its surprisals where a rescoring looks for it."""
    evaluate(folder, tmp_path, "task=suites", *OWN[:2], "task.examples=false", "task.export=text")
    text = tmp_path / "suites" / "islands_toy.txt"
    table = tmp_path / "tables" / "islands_toy.tsv"
    options = ("task=surprisal", f"input={text}", f"task.file={table}")
    evaluate(folder, tmp_path, *options, model="rnng")
    return table.parent


def test_the_tables_of_surprisal_score_as_the_models_themselves(
    folder: Path, tmp_path: Path
) -> None:
    """All the way round: a suite exported, scored as sentences, and rescored."""
    tables = _exported(folder, tmp_path)
    evaluate(folder, tmp_path / "re", "task=rescore", *OWN, f"surprisals={tables}")
    chosen = (*OWN, "suite.in_vocabulary=false", "task.parsed_items=0", "task.ties=exact")
    evaluate(folder, tmp_path, *chosen, model="rnng")
    keys = ["model", "item", "prediction"]
    found = pd.read_csv(tmp_path / "re" / "toy_english_rescored" / "items.csv")
    found["model"] = found["model"].str.split("/").str[-1]
    expected = pd.read_csv(tmp_path / "toy_english" / "items.csv")
    columns = [*keys, "outcome", "tie"]
    pd.testing.assert_frame_equal(
        found[columns].sort_values(keys, ignore_index=True),
        expected[columns].sort_values(keys, ignore_index=True),
        check_dtype=False,
    )
    assert set(found["model"]) == {"rnng"}
    assert (found["seed"] == 1).all()
    assert (tmp_path / "re" / "toy_english_rescored" / "summary.csv").is_file()


def test_the_report_has_every_word_in_its_explorer(folder: Path, tmp_path: Path) -> None:
    tables = _exported(folder, tmp_path)
    evaluate(folder, tmp_path / "re", "task=rescore", *OWN[:2], f"surprisals={tables}")
    report = (tmp_path / "re" / "toy_english_rescored" / "report.html").read_text(encoding="utf-8")
    assert "<title>Toy english: given surprisals of 1 model</title>" in report
    assert 'id="explorer-root"' in report and "Surprisal by word: item" in report
    found = re.search(r'id="explorer-data">(.*?)</script>', report, flags=re.DOTALL)
    assert found
    data = json.loads(found[1])
    (suite,) = data["suites"]
    rows = pd.read_csv(tables / "islands_toy.tsv", sep="\t", quoting=3, comment="#")
    first = rows[(rows["sentence_id"] == 1) & (rows["word"] != "</s>")]
    variant, (values, *_) = suite["items"][0]["variants"][0], suite["items"][0]["s"]["0"]
    assert [data["words"][n] for n in variant["w"]] == first["word"].tolist()
    assert values == pytest.approx(first["surprisal_bits"].tolist(), abs=0.006)
    assert suite["critical"], "the critical region is marked"


def test_results_of_regions_all_the_way_round(folder: Path, tmp_path: Path) -> None:
    """Surprisals of a run as LM Zoo's table, and its results as SyntaxGym's: both rescored."""
    tables = _exported(folder, tmp_path)
    zoo = tmp_path / "zoo" / "islands_toy.tsv"
    text = tmp_path / "suites" / "islands_toy.txt"
    evaluate(folder, tmp_path, "task=surprisal", f"input={text}", "form=lm_zoo",
             f"task.file={zoo}", model="rnng")  # fmt: skip
    options = ("task=rescore", *OWN)
    own, again = tmp_path / "own", tmp_path / "again"
    evaluate(folder, own, *options, f"surprisals={tables}", "task.also=[syntaxgym]")
    evaluate(folder, tmp_path / "zoo_out", *options, f"surprisals={zoo}", "form=lm_zoo")
    (regions,) = (own / "toy_english_rescored" / "syntaxgym").rglob("*.json")
    evaluate(folder, again, *options, f"surprisals={regions}")
    expected = pd.read_csv(own / "toy_english_rescored" / "items.csv")
    for place in (again, tmp_path / "zoo_out"):
        found = pd.read_csv(place / "toy_english_rescored" / "items.csv")
        assert found["outcome"].tolist() == expected["outcome"].tolist()
        assert found["difference_bits"].tolist() == pytest.approx(
            expected["difference_bits"].tolist()
        )


def test_a_folder_without_tables(folder: Path, tmp_path: Path) -> None:
    empty = run_of(folder, "ngram").path
    with pytest.raises(InputError, match=r"contains no surprisals.*tables such as"):
        evaluate(folder, tmp_path, "task=rescore", *OWN, f"surprisals={empty}")
    assert list(tmp_path.iterdir()) == []


def test_materials_are_for_published_layouts(tmp_path: Path) -> None:
    chosen = load_settings(
        "evaluate",
        ["task=rescore", "suite=filler_gap", f"surprisals={tmp_path}", f"materials={tmp_path}"],
    )
    with pytest.raises(ConfigError, match="filler_gap: materials= is for the published"):
        run_task(chosen)
