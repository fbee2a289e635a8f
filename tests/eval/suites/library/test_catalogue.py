"""The table of suites, and suites written to files."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from gardenpath.eval.suites.library import ExportFormat, export, suite_entries, suite_table
from gardenpath.eval.suites.suite import SuiteError
from gardenpath.eval.suites.syntaxgym import load_syntaxgym
from gardenpath.eval.suites.yaml_suites import load_compact
from tests.eval.suites.suite_samples import small_suite


def test_rows() -> None:
    suite = small_suite()
    (row, empty) = suite_entries([suite, replace(suite, items=())])
    assert (row.name, row.language, row.kind) == (suite.name, "zh", "classifier_noun")
    assert (row.items, row.sentences, row.conditions) == (2, 4, ("match", "mismatch"))
    assert row.example == (("match", "他有一只猫。"), ("mismatch", "他有一本猫。"))
    assert row.predictions == ("(noun;%mismatch%) > (noun;%match%)",)
    assert (empty.items, empty.example) == (0, ())


def test_an_example_has_one_sentence_per_condition() -> None:
    suite = small_suite()
    item = replace(suite.items[0], variants=suite.items[0].variants * 2)
    assert len(suite_entries([replace(suite, items=(item,))])[0].example) == 2


def test_an_example_is_glossed_and_translated() -> None:
    suite = small_suite()
    gloss = (("he", "have", "one"), ("CL",), ("cat",), (".",))
    first = replace(suite.items[0], gloss=gloss, translation="He has a cat.")
    (row,) = suite_entries([replace(suite, items=(first,))])
    assert row.example[2:] == (("gloss", "he have one CL cat ."), ("translation", "He has a cat."))


def printed(*, examples: bool) -> str:
    suite = small_suite()
    bracketed = replace(suite, name="x/[bold]y", spaced=True)
    out = StringIO()
    entries = suite_entries([bracketed])
    entries = [replace(entries[0], example=(("match", "a [b] c"),))]
    Console(file=out, width=120).print(suite_table(entries, examples=examples))
    return out.getvalue()


def test_table() -> None:
    text = printed(examples=True)
    assert "match: a [b] c" in text and "x/[bold]y" in text
    assert [word for word in ("items", "sentences", "conditions") if word not in text] == []
    assert "a [b] c" not in printed(examples=False)


def test_export(tmp_path: Path) -> None:
    suite = small_suite()
    paths = [export(suite, tmp_path, form) for form in ("syntaxgym", "compact", "text")]
    assert [path.name for path in paths] == [
        "mandarin_classifier_noun_none.json",
        "mandarin_classifier_noun_none.yaml",
        "mandarin_classifier_noun_none.txt",
    ]
    assert load_syntaxgym(paths[0]) == load_compact(paths[1]) == suite
    assert paths[2].read_text(encoding="utf-8").splitlines() == [
        "他 有 一 只 猫 。",
        "他 有 一 本 猫 。",
        "他 有 一 本 书 。",
        "他 有 一 只 书 。",
    ]


def test_names_do_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for name in ("../../evil", "/etc/evil", "..", "a\\..\\b"):
        path = export(replace(small_suite(), name=name), folder, "text")
        assert path.parent == folder and path.exists()


def test_unknown_form(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="did you mean 'syntaxgym'"):
        export(small_suite(), tmp_path, cast(ExportFormat, "syntaxgm"))
