"""The table of suites, and suites written to files."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from gardenpath.errors import InputError
from gardenpath.eval.report.content import ranked
from gardenpath.eval.statistics.analysis import load_analyses
from gardenpath.eval.suites import library as collection
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.library import (
    Chain,
    ExportFormat,
    described_suite,
    example_sentences,
    export,
    load_suite_file,
    load_suites,
    modifier_orders,
    suite_names,
    suite_table,
)
from gardenpath.eval.suites.suite import Item, Prediction, Suite, SuiteError, Variant
from gardenpath.eval.suites.syntaxgym import dump_syntaxgym, load_syntaxgym
from gardenpath.eval.suites.yaml_suites import dump_compact, load_compact
from gardenpath.studies import mandarin_files as mandarin
from gardenpath.util import CONFIG_DIR
from tests.eval.suites.suite_samples import small_suite


def test_a_suite_in_full() -> None:
    suite = small_suite()
    assert described_suite(suite) == [
        f"{suite.name} (zh)",
        "class classifier_noun, modifier none",
        "2 items, 4 sentences, 2 conditions: match, mismatch",
        "prediction: (noun;%mismatch%) > (noun;%match%)",
        "first item:",
        "  match: 他有一只猫。",
        "  mismatch: 他有一本猫。",
    ]
    assert described_suite(replace(suite, items=()))[-1] == "first item:"


def test_an_example_has_one_sentence_per_condition() -> None:
    suite = small_suite()
    item = replace(suite.items[0], variants=suite.items[0].variants * 2)
    assert len(example_sentences(replace(suite, items=(item,)))) == 2


def test_an_example_is_glossed_and_translated() -> None:
    suite = small_suite()
    gloss = (("he", "have", "one"), ("CL",), ("cat",), (".",))
    first = replace(suite.items[0], gloss=gloss, translation="He has a cat.")
    notes = example_sentences(replace(suite, items=(first,)))[2:]
    assert notes == (("gloss", "he have one CL cat ."), ("translation", "He has a cat."))


def printed(*, examples: bool) -> str:
    suite = small_suite()
    item = Item(1, (Variant("match", (("a",), ("[b]",), ("c",))),))
    bracketed = replace(suite, name="x/[bold]y", spaced=True, items=(item,))
    out = StringIO()
    Console(file=out, width=120).print(suite_table([bracketed], examples=examples))
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


# ----------------------------------------------------------------------------
# All suites, by name, by pattern and from files.


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two authored suites and a generated one, beside a template that is none."""
    monkeypatch.setattr(collection, "MATERIALS", tmp_path)
    monkeypatch.setattr(collection, "TEMPLATES", tmp_path / "templates")
    monkeypatch.setattr(collection, "GENERATORS", {"made/one": lambda: named("made/one")})
    for name in ("mandarin/verb_noun/none", "mandarin/verb_noun/adjective"):
        write(tmp_path / "mandarin" / f"{name.split('/')[-1]}.yaml", named(name))
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "x.yaml").write_text("designs: []\n", encoding="utf-8")
    return tmp_path


def named(name: str) -> Suite:
    return replace(small_suite(), name=name)


def write(path: Path, suite: Suite) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(dump_compact(suite), encoding="utf-8")
    return path


def test_names(own: Path) -> None:
    assert suite_names() == [
        "made/one",
        "mandarin/verb_noun/adjective",
        "mandarin/verb_noun/none",
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("mandarin/verb_noun/none", ["mandarin/verb_noun/none"]),
        ("mandarin", ["mandarin/verb_noun/adjective", "mandarin/verb_noun/none"]),
        ("mandarin/", ["mandarin/verb_noun/adjective", "mandarin/verb_noun/none"]),
        ("mandarin/*", ["mandarin/verb_noun/adjective", "mandarin/verb_noun/none"]),
        ("*/none", ["mandarin/verb_noun/none"]),
        (
            ["made/one", "*/none", "m*", "mandarin"],
            ["made/one", "mandarin/verb_noun/none", "mandarin/verb_noun/adjective"],
        ),
    ],
)
def test_patterns(own: Path, pattern: str | list[str], expected: list[str]) -> None:
    suites = load_suites(pattern)
    assert [suite.name for suite in suites] == expected
    assert suites == [named(name) for name in expected]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("mandrin", "did you mean 'mandarin'?"),
        ("mandarin/verb_noun/non", "did you mean 'mandarin/verb_noun/none'?"),
        ("qqq", "valid: made, mandarin"),
    ],
)
def test_no_such_suite(own: Path, pattern: str, message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suites(pattern)
    assert message in str(caught.value)


def test_files(own: Path, tmp_path: Path) -> None:
    suite = named("somebody's")
    yaml = write(tmp_path / "suite.yaml", suite)
    other = tmp_path / "suite.json"
    other.write_text(dump_syntaxgym(suite), encoding="utf-8")
    assert load_suites([str(yaml), str(other)]) == [suite, suite]
    pairs = tmp_path / "pairs.jsonl"
    line = {"sentence_good": "He left.", "sentence_bad": "Him left.", "UID": "case"}
    pairs.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert [suite.name for suite in load_suites(str(pairs))] == ["case"]
    climp, long = tmp_path / "climp.csv", tmp_path / "long.csv"
    climp.write_text("sentence,label\n他来了,1\n来他了,0\n", encoding="utf-8")
    header = "item_number,condition_name,region_number,content\n"
    long.write_text(f"{header}1,a,1,He left\n", encoding="utf-8")
    assert [suite.conditions for suite in load_suites([str(climp), str(long)])] == [
        ("good", "bad"),
        ("a",),
    ]
    for name in ("none.yaml", "none.json", "none.jsonl", "none.csv"):
        with pytest.raises(InputError, match="No such file"):
            load_suites(name)


def test_errors_refuse_and_warnings_are_logged(
    own: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    suite = small_suite()
    with caplog.at_level(logging.WARNING):
        load_suites(str(write(tmp_path / "a.yaml", replace(suite, differing=()))))
    assert "item 1, classifier: differs between variants: 只 / 本; if" in caplog.text
    assert "list the region in differing:; 1 more" in caplog.text
    formula = Formula.parse("(noun;%other%) > 0")
    broken = tmp_path / "broken.json"
    text = dump_syntaxgym(replace(suite, predictions=(Prediction("p", formula),)))
    broken.write_text(text, encoding="utf-8")
    with pytest.raises(SuiteError, match="refers to an unknown condition"):
        load_suites(str(broken))


def test_names_must_differ(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "GENERATORS", {"mandarin/verb_noun/none": small_suite})
    with pytest.raises(SuiteError, match="both in a file and generated"):
        load_suites("mandarin")
    write(own / "again.yaml", named("mandarin/verb_noun/none"))
    with pytest.raises(SuiteError, match="the same name"):
        suite_names()


def test_every_suite_of_the_project_has_a_name() -> None:
    """Without generating any: the files themselves are checked where they are authored."""
    names = suite_names()
    assert len(names) == len(set(names)) > 0
    assert all(name == name.strip("/") and " " not in name for name in names)
    for path in collection.MATERIALS.glob("mandarin/*.yaml"):
        suites = load_suites(str(path))
        assert [suite.name for suite in suites] == [
            f"mandarin/{path.stem}/{suite.modifier}" for suite in suites
        ]
        assert len(suites) == 4 and {suite.name for suite in suites} <= set(names)


def test_framed_files(own: Path) -> None:
    """A file with several modifiers is several suites, by name and together."""
    text = dump_compact(named("framed")).replace(
        "modifier: none", "modifiers: {a: first, b: other}"
    )
    text = re.sub(
        r"(    match: .*\n    mismatch: .*\n)", r"\1    modifiers: {a: {}, b: {}}\n", text
    )
    path = own / "framed.yaml"
    path.write_text(text.replace("| 。", "| {modifier} 。"), encoding="utf-8")
    assert [name for name in suite_names() if "framed" in name] == ["framed/a", "framed/b"]
    both = load_suites(str(path))
    assert [suite.modifier for suite in both] == ["a", "b"]
    assert load_suites("framed") == both and load_suites("framed/b") == both[1:]
    assert both[0].items == small_suite().items
    with pytest.raises(InputError, match="has 2 suites, not one"):
        load_suite_file(path)
    assert load_suite_file(write(own / "one.yaml", named("one"))) == named("one")


# ----------------------------------------------------------------------------
# The order of modifiers, and that everything else agrees with it.


def _ranked_by_analyses() -> Iterator[tuple[str, Chain]]:
    """The orders that analyses of ``conf/analysis`` imply: codes of modifiers, or their levels."""
    for analysis in load_analyses(CONFIG_DIR / "analysis"):
        for rule in analysis.derive.values():
            values = rule["values"]
            if rule["from"] == "modifier" and not any(isinstance(v, str) for v in values.values()):
                yield analysis.name, tuple(sorted(map(str, values), key=values.__getitem__))
        if levels := analysis.codings.get("modifier", {}).get("levels"):
            yield analysis.name, tuple(map(str, levels))


def test_analyses_agree_with_the_order_of_the_materials() -> None:
    found = list(_ranked_by_analyses())
    assert {name for name, _ in found} == {"modifier_trend", "modifier_effects"}
    for name, chain in found:
        assert chain in modifier_orders(), name


def test_the_orders_do_not_contradict_each_other() -> None:
    names = list(dict.fromkeys(name for chain in modifier_orders() for name in reversed(chain)))
    order = ranked(names, modifier_orders())
    for chain in modifier_orders():
        assert all(order.index(one) < order.index(other) for one, other in pairwise(chain))


def test_the_orders_name_modifiers_that_suites_have() -> None:
    known = {suite.modifier for suite in load_suites(suite_names())}
    assert {name for chain in modifier_orders() for name in chain} <= known
    ordered = {name for chain in modifier_orders()[:2] for name in chain}
    assert set(mandarin._MODIFIERS.values()) == ordered


@pytest.mark.parametrize("text", ["", "orders: []", "order: 3", "order: [[a], 3]"])
def test_a_file_without_orders_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "order.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"order\.yaml: contains no orders"):
        modifier_orders(path)
