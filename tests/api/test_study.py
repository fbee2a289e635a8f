"""``gp.study``: published studies from runs, with the numbers of evaluate.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gardenpath as gp
from tests.integration.commands import call
from tests.toy_runs import arguments, run_of


def test_tables_are_those_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    """Every table and verdict, digit for digit."""
    chosen = arguments(folder, tmp_path, "study=reflexives", "study.items=2", model="ngram")
    assert call("evaluate.py", *chosen) == 0
    study = gp.study("reflexives", runs=[run_of(folder, "ngram")], items=2)
    report = study.write(tmp_path / "mine")
    theirs = tmp_path / "reflexives_study"
    assert report == tmp_path / "mine" / "report.html" and report.is_file()
    names = sorted(one.relative_to(theirs) for one in theirs.rglob("*.[ct]sv"))
    assert Path("tables/table_3.csv") in names and Path("data/own_runs/items.csv") in names
    for name in names:
        assert (report.parent / name).read_bytes() == (theirs / name).read_bytes(), name
    manifest = json.loads((report.parent / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["about"]["title"] == study.result.title
    assert {"verdict", "reason", "source"} <= set(study.claims.columns)
    known = study.tables["Table 3"].dropna(subset="value")
    assert set(known["source"]) == {"own runs"} and set(known["column"]) == {"ngram"}


def test_the_search_is_named(folder: Path, tmp_path: Path) -> None:
    study = gp.study("reflexives", runs=[run_of(folder, "rnng")], items=1)
    search = study.sources["own runs"].search
    assert search is not None and study.result.facts["search"] == search
    manifest = study.write(tmp_path / "mine").parent / "manifest.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["about"]["search"] == search


def test_what_a_study_lacks_is_said() -> None:
    with pytest.raises(gp.ConfigError, match="did you mean 'mandarin'"):
        gp.study("mandarn", surprisals="there")
    with pytest.raises(gp.ConfigError, match="needs surprisals and materials, or runs"):
        gp.study("mandarin")
