"""``gp.suites`` and ``gp.read_suite``."""

from __future__ import annotations

from pathlib import Path

import pytest

import gardenpath as gp
from gardenpath.eval.suites.library import export, load_suites, suite_names
from gardenpath.settings.compose import load_settings
from tests.runs.own_suite import agreement


def _names(*patterns: str) -> list[str]:
    return [suite.name for suite in gp.suites(*patterns)]


def test_by_name_by_pattern_and_by_the_beginning_of_names() -> None:
    assert _names("reflexives/toy") == ["reflexives/toy"]
    assert _names("reflexives/toy", "filler_gap/toy") == ["reflexives/toy", "filler_gap/toy"]
    several = _names("*/toy")
    assert several == sorted(name for name in suite_names() if name.endswith("/toy"))
    assert len(_names("mandarin/verb_noun")) > 1
    assert _names("reflexives/toy", "*/toy") == ["reflexives/toy", *(
        name for name in several if name != "reflexives/toy"
    )]  # fmt: skip


@pytest.mark.parametrize("name", ["reflexives", "toy_english", "islands", "wh_discharge"])
def test_sets_have_the_names_of_the_command_line(name: str) -> None:
    chosen = load_settings("evaluate", [f"suite={name}", "task=suite"]).suites.suites
    assert gp.suites(name) == load_suites(chosen) != []


def test_all_of_them() -> None:
    suites = gp.suites()
    assert [suite.name for suite in suites] == suite_names()
    assert all(isinstance(suite, gp.Suite) and suite.items for suite in suites)
    assert isinstance(suites[0].items[0], gp.Item)
    assert isinstance(suites[0].predictions[0].formula, gp.Formula)


@pytest.mark.parametrize("name", ["reflexives/toi", "file", "no/such/suite"])
def test_an_unknown_name_is_an_error(name: str) -> None:
    with pytest.raises(gp.GardenpathError, match=f"unknown suite '{name}'"):
        gp.suites("reflexives/toy", name)


@pytest.mark.parametrize("form", ["compact", "syntaxgym"])
def test_a_suite_from_a_file(tmp_path: Path, form: str) -> None:
    path = export(agreement(), tmp_path, form)  # type: ignore[arg-type]
    for suite in (gp.read_suite(path), gp.read_suite(str(path)), *gp.suites(str(path))):
        assert suite.sentences == agreement().sentences
        assert len(suite.items) == 2 and suite.name == "agreement"


def test_what_is_not_a_file_of_a_suite_is_named(tmp_path: Path) -> None:
    for name in ("mandarin", "reflexives/toy", "notes.txt"):
        with pytest.raises(gp.InputError, match=rf"{name}: is not a file .*\.yaml, .*\.json"):
            gp.read_suite(name)
    with pytest.raises(gp.InputError, match=r"absent\.yaml"):
        gp.read_suite(tmp_path / "absent.yaml")
    (tmp_path / "broken.yaml").write_text("name: [", encoding="utf-8")
    with pytest.raises(gp.GardenpathError, match=r"broken\.yaml"):
        gp.read_suite(tmp_path / "broken.yaml")
