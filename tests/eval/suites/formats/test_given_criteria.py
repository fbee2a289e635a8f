"""Tables of items with criteria from the command line."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from gardenpath.errors import ConfigError, GardenpathError, InputError
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.tables import GivenCriteria
from gardenpath.settings.command_line import CommandLine
from gardenpath.settings.compose import ConfigSource
from gardenpath.settings.evaluate import EvaluateSettings, SuiteSettings

ROWS = [("item", "condition", "subject", "verb", "rest"), ("1", "a", "the boys", "know", "him ."),
        ("1", "b", "the boys", "knows", "him ."), ("2", "a", "the men", "see", "him ."),
        ("2", "b", "the men", "sees", "him .")]  # fmt: skip
DIFFERENCE = "(verb;%b%) - (verb;%a%)"
REGIONS = ["subject", "verb", "rest"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "items.csv"
    path.write_text("".join(",".join(row) + "\n" for row in ROWS))
    return path


def _settings(*arguments: str) -> SuiteSettings:
    settings = CommandLine(ConfigSource("evaluate"), list(arguments)).settings()
    assert isinstance(settings, EvaluateSettings)
    return settings.suites


def test_formulas_of_the_command_line(table: Path) -> None:
    given = _settings(
        f"suite={table}",
        "regions=[subject,verb,rest]",
        "predictions=agreement: (verb;%b%) > (verb;%a%)",
        "effects=[(verb;%b%) - (verb;%a%)] - [(rest;%b%) - (rest;%a%)]",
    )
    (suite,) = load_suites(given.suites, criteria=given.criteria)
    assert (suite.name, suite.language, suite.regions) == ("items", "en", tuple(REGIONS))
    assert [one.name for one in suite.predictions] == ["agreement"]
    assert [one.name for one in suite.effects] == ["effect"]
    assert len(suite.items) == 2
    both = _settings(
        f"suite={table}", "regions=[verb]", f'effects=["{DIFFERENCE}","x: {DIFFERENCE}"]'
    )
    (suite,) = load_suites(both.suites, criteria=both.criteria)
    assert [one.name for one in suite.predictions] == ["effect_1", "x"]


def test_a_row_per_region_and_a_sheet_are_the_same_suite(table: Path, tmp_path: Path) -> None:
    criteria = GivenCriteria(effects=[DIFFERENCE], regions=REGIONS)
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in ROWS:
        book.active.append(row)
    book.save(tmp_path / "items.xlsx")
    lines = ["item,condition,region,content"]
    for item, condition, *cells in ROWS[1:]:
        lines += [f"{item},{condition},{n},{c}" for n, c in zip(REGIONS, cells, strict=True)]
    (tmp_path / "long.csv").write_text("\n".join(lines) + "\n")
    (wide,) = load_suites(str(table), criteria=criteria)
    (sheet,) = load_suites(str(tmp_path / "items.xlsx"), criteria=criteria)
    (long,) = load_suites(str(tmp_path / "long.csv"), criteria=GivenCriteria(effects=[DIFFERENCE]))
    assert wide.items == sheet.items == long.items
    assert wide.regions == long.regions


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        (GivenCriteria(), "without predictions.*add them, as in predictions=.*task=new_suite"),
        (GivenCriteria(predictions=["(verb;%b%) > (verb;%a%)"]), r"regions: \[subject, verb\]"),
        (GivenCriteria(predictions=[DIFFERENCE], regions=REGIONS), "compares nothing"),
        (GivenCriteria(effects=["(vreb;%a%)"], regions=REGIONS), "'vreb' is unknown.*'verb'"),
        (GivenCriteria(effects=[DIFFERENCE], regions=["vreb"]), "no column 'vreb'.*its columns"),
        (GivenCriteria(effects=["x: (verb;%a%)"] * 2, regions=REGIONS), "two effects are called"),
    ],
)
def test_mistakes(table: Path, criteria: GivenCriteria, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_suites(str(table), criteria=criteria)


def test_criteria_and_formulas_that_have_no_place() -> None:
    with pytest.raises(ConfigError, match="are for tables of items"):
        _settings("suite=mine.yaml", f"effects={DIFFERENCE}")
    with pytest.raises(GardenpathError, match="'local_bit' is unknown; did you mean 'local_bits'"):
        _settings("suite=mine.yaml", "formula=local_bit ~ condition + (1 | item)")
    with pytest.raises(ConfigError, match="invalid at its end"):
        _settings("suite=mine.yaml", "formula=local_bits ~ condition + (1 | item")


def test_names_in_any_script() -> None:
    assert list(_settings("suite=我的.yaml", "output=结果").suites) == ["我的.yaml"]
    two = _settings("suite=file", "suite.suites=[我的.yaml,b.yaml]").suites
    assert list(two) == ["我的.yaml", "b.yaml"]
