"""All suites, by name, by pattern and from files."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.suites import library as collection
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.library import load_suite_file, load_suites, suite_names
from gardenpath.eval.suites.suite import Prediction, Suite, SuiteError
from gardenpath.eval.suites.syntaxgym import dump_syntaxgym
from gardenpath.eval.suites.yaml_suites import dump_compact
from tests.eval.suites.suite_samples import small_suite


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
