"""Framed files: one frame per item, one suite per modifier."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.suites.suite import Suite, SuiteError
from gardenpath.eval.suites.yaml_suites import (
    dump_compact,
    load_compact,
    load_framed_suite,
    load_yaml,
    names_in_head,
)

SAMPLE = """\
name: mandarin/classifier_noun
language: zh
kind: classifier_noun
spaced: false
description: A classifier and a noun.
critical: [noun]
differing: [classifier]
regions: [context, classifier, modifier, noun, end]
modifiers:
  none: no modifier
  adjective: an adjective
  subject_rc: a relative clause
predictions:
  mismatch: (noun;%mismatch%) > (noun;%match%)
items:
  1:
    labels: {animal: cat}
    match:    他 有 一 | 只 | {modifier} | 猫 | 。
    mismatch: 他 有 一 | 本 | {modifier} | 猫 | 。
    gloss: he have one | CL.animal | {modifier} | cat | .
    modifiers:
      none: {translation: He has a cat.}
      adjective: {text: 可爱 的, gloss: cute DE, translation: He has a cute cat.}
      subject_rc: {text: 吃 鱼 的, gloss: eat fish DE, translation: He has a cat that eats fish.}
  2:
    match:
      - 她 有 一 | 本 | 很 {modifier} | 书 | 。
      - 我 有 一 | 本 | {clause} | 书 | 。
    mismatch: 她 有 一 | 只 | {modifier} | 书 | 。
    modifiers:
      none: {translation: She has a book.}
      adjective: {text: 厚 的}
      subject_rc: {text: 介绍 画家 的}
"""


def load(folder: Path, text: str) -> list[Suite]:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_yaml(path)


def test_one_suite_per_modifier(tmp_path: Path) -> None:
    suites = load(tmp_path, SAMPLE)
    assert [(suite.name, suite.modifier) for suite in suites] == [
        ("mandarin/classifier_noun/none", "none"),
        ("mandarin/classifier_noun/adjective", "adjective"),
        ("mandarin/classifier_noun/subject_rc", "subject_rc"),
    ]
    assert suites[1].description == "A classifier and a noun. Modifier: an adjective."
    assert [suite.text(suite.items[0].variants[0]) for suite in suites] == [
        "他有一只猫。",
        "他有一只可爱的猫。",
        "他有一只吃鱼的猫。",
    ]
    for suite in suites:
        assert (suite.kind, suite.critical, suite.spaced) == ("classifier_noun", ("noun",), False)
        assert [item.number for item in suite.items] == [1, 2]
        assert suite.items[0].labels == {"animal": "cat"}


def test_the_gloss_has_the_modifier_too(tmp_path: Path) -> None:
    none, adjective, _ = load(tmp_path, SAMPLE)
    assert none.items[0].gloss == (("he", "have", "one"), ("CL.animal",), (), ("cat",), (".",))
    assert adjective.items[0].gloss[2] == ("cute", "DE")
    assert adjective.items[0].translation == "He has a cute cat."
    assert adjective.items[1].gloss == () and adjective.items[1].translation == ""


def test_lists_of_lines_and_clauses(tmp_path: Path) -> None:
    none, _, relative = load(tmp_path, SAMPLE)
    assert [v.regions[2] for v in none.items[1].variants] == [("很",), (), ()]
    assert [v.regions[2] for v in relative.items[1].variants] == [
        ("很", "介绍", "画家", "的"),
        ("介绍", "画家"),
        ("介绍", "画家", "的"),
    ]


def test_each_suite_can_be_written_alone(tmp_path: Path) -> None:
    for suite in load(tmp_path, SAMPLE):
        path = tmp_path / "alone.yaml"
        path.write_text(dump_compact(suite), encoding="utf-8")
        assert load_compact(path) == suite
        assert load_yaml(path) == [suite]


def test_names_are_known_without_reading_items(tmp_path: Path) -> None:
    suites = load(tmp_path, SAMPLE)
    path = tmp_path / "suite.yaml"
    path.write_text(SAMPLE[: SAMPLE.index("  1:")] + "  [broken", encoding="utf-8")
    assert names_in_head(path) == {suite.name: suite.modifier for suite in suites}
    path.write_text(dump_compact(suites[0]), encoding="utf-8")
    assert names_in_head(path) == {"mandarin/classifier_noun/none": ""}
    path.write_text("language: zh\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="has no name"):
        names_in_head(path)


def test_one_of_the_suites(tmp_path: Path) -> None:
    suites = load(tmp_path, SAMPLE)
    path = tmp_path / "suite.yaml"
    assert [load_framed_suite(path, suite.modifier) for suite in suites] == suites
    with pytest.raises(InputError, match="did you mean 'adjective'"):
        load_framed_suite(path, "adjectiv")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("本 | {modifier} | 猫", "本 | 可爱 的 | 猫", 19, "item 1, mismatch: no placeholder"),
        ("本 | {modifier} | 猫", "本 | {modifer} | 猫", 19, "placeholder 'modifer' is unknown"),
        ("本 | {modifier} | 猫", "本 {modifier} | 猫", 19, "4 regions, but the suite has 5"),
        ("text: 可爱 的", "text: '可爱 | 的'", 23, "a modifier has no bars or braces"),
        ("text: 可爱 的", "words: 可爱 的", 23, "unknown entry 'words'"),
        ("      adjective: {text: 厚 的}\n", "", 30, "item 2: no modifier adjective"),
        ("      adjective: {text: 厚 的}", "      adj: {text: 厚 的}", 32, "'adj' is unknown"),
        ("。\n    modifiers:", "。\n    modified:", 25, "item 2: missing: modifiers"),
        ("kind: classifier_noun", "modifier: none", 1, "a framed file has no entry 'modifier'"),
        ("name: mandarin/classifier_noun\n", "", 1, "missing: name"),
        ("(noun;%match%)", "(noun;%mach%)", 14, "condition 'mach' is unknown"),
        ("    labels:", "    translation: He.\n    labels:", 17, "depends on the modifier"),
        ("gloss: he have one | CL", "gloss: he have one CL", 20, "4 regions, but the suite has 5"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in SAMPLE
    with pytest.raises(InputError) as caught:
        load(tmp_path, SAMPLE.replace(old, new, 1))
    assert message in str(caught.value)
    assert caught.value.line == line


def test_a_file_without_modifiers_to_list(tmp_path: Path) -> None:
    start, end = SAMPLE.index("modifiers:"), SAMPLE.index("predictions:")
    with pytest.raises(InputError, match="no modifiers"):
        load(tmp_path, SAMPLE[:start] + "modifiers: {}\n" + SAMPLE[end:])
