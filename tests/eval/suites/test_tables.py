"""Tables of items with criteria from the command line."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from gardenpath.errors import ConfigError, GardenpathError, InputError
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.tables import GivenCriteria, is_table_suite, load_table_suite
from gardenpath.settings.compose import CommandLine, ConfigSource
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


# ----------------------------------------------------------------------------
# Suites whose items are in a table, described by a YAML file.


YAML = """\
name: agreement
language: en
table: items.csv
{}
predictions:
  agreement: (verb;%mismatch%) > (verb;%match%)
"""

WIDE = """\
item,condition,subject,verb,rest
1,match,The cat,sleeps,all day . <eos>
1,mismatch,The cat,sleep,all day .
2,match,"The dog ,",barks,
2,mismatch,"The dog ,",bark,
"""


def _load(folder: Path, table: str, more: str = "regions: [subject, verb, rest]") -> Suite:
    (folder / "items.csv").write_text(table, encoding="utf-8-sig")
    path = folder / "mine.yaml"
    path.write_text(YAML.format(more), encoding="utf-8")
    assert is_table_suite(path)
    (suite,) = load_suites(str(path))
    return suite


def _variants(suite: Suite) -> list[tuple[int, str, str]]:
    return [
        (item.number, v.condition, " | ".join(map(" ".join, v.regions)))
        for item in suite.items
        for v in item.variants
    ]


EXPECTED = [
    (1, "match", "The cat | sleeps | all day ."),
    (1, "mismatch", "The cat | sleep | all day ."),
    (2, "match", "The dog , | barks | "),
    (2, "mismatch", "The dog , | bark | "),
]


def test_a_column_for_each_region(tmp_path: Path) -> None:
    suite = _load(tmp_path, WIDE)
    assert _variants(suite) == EXPECTED
    assert (suite.name, suite.regions) == ("agreement", ("subject", "verb", "rest"))
    assert (suite.conditions, suite.critical) == (("match", "mismatch"), ("verb",))
    assert suite.differing == ("verb",)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_own_names_of_columns_and_conditions(tmp_path: Path, separator: str) -> None:
    table = WIDE.replace('"The dog ,"', "The dog COMMA").replace(",", separator)
    table = table.replace("COMMA", ",").replace("item", "nr").replace("mismatch", "B")
    table = table.replace("match", "A").replace("subject", "r1")
    more = (
        "regions: {subject: r1, verb: verb, rest: rest}\n"
        "columns: {item: nr}\nconditions: {A: match, B: mismatch}"
    )
    suite = _load(tmp_path, table, more)
    assert _variants(suite) == EXPECTED
    assert suite.meta["table"]["conditions"] == {"A": "match", "B": "mismatch"}
    assert suite.meta["table"]["lines"] == [2, 3, 4, 5]


def _long(column: str) -> str:
    lines = [f"suite,item,condition,region,{column},surprisal"]
    for number, condition, text in EXPECTED:
        for name, words in zip(("subject", "verb", "rest"), text.split(" | "), strict=True):
            parts = words.split() if column == "word" else [words.strip()]
            lines += [f'a,{number},{condition},{name},"{part}",1' for part in parts if part]
    return "\n".join([*lines, 'b,1,match,subject,"No",1']) + "\n"


@pytest.mark.parametrize("column", ["word", "content"])
def test_a_row_for_each_word_or_region(tmp_path: Path, column: str) -> None:
    suite = _load(tmp_path, _long(column), "only: {suite: a}")
    assert _variants(suite) == EXPECTED
    ordered = "only: {suite: a}\nregions: [verb, subject, rest]"
    with pytest.raises(InputError, match="region 'verb' is unknown or out of order"):
        _load(tmp_path, _long(column), ordered)


def test_regions_are_ordered_so_that_every_sentence_fits(tmp_path: Path) -> None:
    table = (
        "item,condition,region,word\n"
        "1,match,subject,A\n1,match,end,.\n"
        "1,mismatch,subject,A\n1,mismatch,verb,b\n1,mismatch,end,.\n"
    )
    more = "critical: [end]"
    text = YAML.replace("(verb;%mismatch%) > (verb;%match%)", "(end;%mismatch%) > (end;%match%)")
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text(text.format(more), encoding="utf-8")
    assert load_table_suite(path).regions == ("subject", "verb", "end")


def test_whole_sentences_and_several_variants(tmp_path: Path) -> None:
    table = "item,condition,sentence\n1,match,A cat .\n1,match,A dog .\n1,mismatch,A cats .\n"
    (tmp_path / "items.csv").write_text(table, encoding="utf-8")
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: x\nlanguage: en\ntable: items.csv\nties: complete\nchance: 1/3\n"
        "predictions: {whole: (*;%mismatch%) > (*;%match%)}\n",
        encoding="utf-8",
    )
    suite = load_table_suite(path)
    assert (suite.regions, suite.ties, suite.critical) == (("sentence",), "complete", ("sentence",))
    assert len(suite.items[0].of_condition("match")) == 2
    assert suite.chance == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("table", "more", "problem"),
    [
        (WIDE, "region: [verb]", r"mine.yaml:4: unknown entry 'region'.*'regions'"),
        (WIDE, "regions: [subject]", "prediction agreement: region 'verb' is unknown"),
        (WIDE, "regions: {verb: verbs}", "items.csv:1: has no column 'verbs'.*its columns: item"),
        (WIDE, "regions: [verb]\nonly: {x: y}", "has no column 'x'"),
        (WIDE, "regions: [verb]\nonly: {verb: y}", "has no rows with verb 'y'"),
        (WIDE, "regions: [verb]\ncolumns: {item: nr}", "has no column 'nr'"),
        (
            WIDE.replace("item", "x"),
            "regions: [verb]",
            "has no column 'item'.*'columns: {item: …}'",
        ),
        (WIDE.replace("\n1,", "\n,"), "regions: [verb]", ":2: the item is missing"),
        (WIDE.replace("sleeps", ""), "regions: [verb]", ":2: the sentence is empty"),
        (WIDE.replace("mismatch", "bad"), "regions: [verb]", "condition 'mismatch' is unknown"),
        (WIDE, "regions: [verb]\nties: some", "ties: unknown value 'some'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, table: str, more: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        _load(tmp_path, table, more)


def test_a_table_alone_has_no_predictions(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text(WIDE, encoding="utf-8")
    with pytest.raises(InputError, match=r"without predictions.*'table: items.csv'"):
        load_suites(str(path))
