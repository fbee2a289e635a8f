"""Suites whose items are in a table, described by a YAML file."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.tables import is_table_suite, load_table_suite

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
