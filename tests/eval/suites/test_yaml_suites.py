"""The YAML form of suites."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from gardenpath.errors import InputError
from gardenpath.eval.suites.suite import Item, Suite, SuiteError, Variant
from gardenpath.eval.suites.yaml_suites import (
    dump_compact,
    load_compact,
    load_framed_suite,
    load_yaml,
    names_in_head,
)
from tests.eval.suites.suite_samples import small_suite, suites

SAMPLE = """\
name: mandarin/classifier_noun/none
language: zh
version: "1"
kind: classifier_noun        # class of phenomenon
modifier: none
spaced: false
description: A classifier that does not fit its noun.
critical: [noun]
differing: [classifier]
regions: [context, classifier, noun, end]
predictions:
  mismatch: (noun;%mismatch%) > (noun;%match%)
items:
  1:
    match:    他 有 一 | 只 | 猫 | 。
    mismatch: 他 有 一 | 本 | 猫 | 。
  2:
    match:    他 有 一 | 本 | 书 | 。
    mismatch: 他 有 一 | 只 | 书 | 。
"""


def load(folder: Path, text: str) -> Suite:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_compact(path)


def test_the_sample(tmp_path: Path) -> None:
    assert load(tmp_path, SAMPLE) == small_suite()


@given(suites())
def test_what_is_written_is_read(suite: Suite) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = dump_compact(suite)
        assert load(Path(folder), text) == suite
        assert dump_compact(load(Path(folder), text)) == text


def test_several_lines_labels_and_empty_regions(tmp_path: Path) -> None:
    text = SAMPLE.replace(
        "    match:    他 有 一 | 只 | 猫 | 。\n",
        "    labels: {pronoun: himself, depth: 2}\n"
        "    match:\n      - 他 有 一 | 只 | 猫 | 。\n      - '| 只 | 猫 |'\n",
    )
    item = load(tmp_path, text).items[0]
    assert item.labels == {"pronoun": "himself", "depth": "2"}
    assert [variant.regions for variant in item.of_condition("match")] == [
        (("他", "有", "一"), ("只",), ("猫",), ("。",)),
        ((), ("只",), ("猫",), ()),
    ]


def test_glosses_of_other_words(tmp_path: Path) -> None:
    text = SAMPLE.replace("items:\n", "glosses: {本: CL.volume, '12': 'a: b'}\nitems:\n")
    suite = load(tmp_path, text)
    assert suite.glosses == {"本": "CL.volume", "12": "a: b"}
    again = tmp_path / "again.yaml"
    again.write_text(dump_compact(suite), encoding="utf-8")
    assert load_compact(again) == suite


def test_gloss_and_translation(tmp_path: Path) -> None:
    text = SAMPLE.replace(
        "  2:\n", "    gloss: he have one | CL | cat | .\n    translation: He has a cat.\n  2:\n"
    )
    first, second = load(tmp_path, text).items
    assert first.gloss == (("he", "have", "one"), ("CL",), ("cat",), (".",))
    assert first.translation == "He has a cat."
    assert (second.gloss, second.translation) == ((), "")
    assert first.variants == small_suite().items[0].variants


def test_what_else_is_said_about_a_suite(tmp_path: Path) -> None:
    text = SAMPLE.replace("kind:", "meta: {author: A. Writer, tags: [a, 'no'], year: 2001}\nkind:")
    suite = load(tmp_path, text)
    assert suite.meta == {"author": "A. Writer", "tags": ["a", "no"], "year": 2001}
    assert replace(suite, meta={}) == small_suite()


def test_a_suite_may_give_its_chance(tmp_path: Path) -> None:
    for text, expected in (("1/3", 1 / 3), ("0.25", 0.25), ("0", 0.0)):
        suite = load(tmp_path, SAMPLE.replace("kind:", f"chance: {text}\nkind:"))
        assert suite == replace(small_suite(), chance=expected)
        assert load(tmp_path, dump_compact(suite)) == suite
    assert "chance" not in dump_compact(small_suite())


def test_yes_and_no_are_words(tmp_path: Path) -> None:
    text = SAMPLE.replace("regions: [context, classifier, noun, end]", "regions: [no]").replace(
        "critical: [noun]\ndiffering: [classifier]\n", ""
    )
    text = text[: text.index("predictions")] + "predictions: {}\nitems: {1: {yes: no}}\n"
    suite = load(tmp_path, text)
    assert (suite.regions, suite.conditions) == (("no",), ("yes",))
    assert suite.sentences == (("no",),)


def test_numbers_in_predictions_become_names(tmp_path: Path) -> None:
    text = SAMPLE.replace("(noun;%mismatch%)", "(3;%mismatch%)")
    assert load(tmp_path, text) == small_suite()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("match:    他 有 一 | 只", "match:    他 有 一 只", 15, "3 regions, but the suite has 4"),
        ("(noun;%match%)", "(noun;%mach%)", 12, "condition 'mach' is unknown (did you mean"),
        ("> (noun;", "> (nuon;", 12, "region 'nuon' is unknown (did you mean 'noun'?)"),
        ("> (noun;", "> (9;", 12, "region '9' is unknown"),
        ("> (noun;%match%)", "> (noun;%match%", 12, "formula"),
        ("(noun;%mismatch%) >", "[(noun;%mismatch%)] >", 12, "quotation marks"),
        ("critical: [noun]", "critical: [non]", 8, "did you mean 'noun'?"),
        ("  2:\n", "  1:\n", 17, "'1' occurs twice in items (first in line 14)"),
        ("  2:\n", "  01:\n", 17, "item 1 occurs twice"),
        ("  2:\n", "  two:\n", 17, "the key must be a number"),
        ("mismatch: 他 有 一 | 本 | 猫", "match: 他 有 一 | 本 | 猫", 16, "occurs twice in item 1"),
        ("  2:\n", "    gloss: he | has\n  2:\n", 17, "gloss: 2 regions, but the suite has 4"),
        ("modifier: none", "modifyer: none", 5, "entry 'modifyer' (did you mean 'modifier'?)"),
        ("spaced: false", "spaced: maybe", 6, "spaced: unknown value 'maybe' (valid: true, false)"),
        ("spaced: false", "metric: summ", 6, "did you mean 'sum'?"),
        ("spaced: false", "chance: 4/3", 6, "chance: 4/3 is not a number in [0, 1]"),
        ("spaced: false", "chance: [a]", 6, "chance must be text"),
        ("spaced: false", "meta: Writer", 6, "meta must be lines of the form 'key: value'"),
        ("spaced: false", "meta: {spaced: false}", 6, "'spaced' must be an entry of the suite"),
        ("spaced: false", "meta: {year: 2001-01-02}", 6, "meta: year must be text, numbers or"),
        ("spaced: false", "meta: {a: &a [*a]}", 6, "the alias *a contains itself"),
        ("spaced: false", "meta: {a: !!python/name:os.system x}", 6, "meta: a must be text"),
        ("language: zh\n", "", 1, "missing: language"),
        ("regions: [context,", "regions: [end,", 10, "regions: 'end' occurs twice"),
        ("match:    他 有 一 | 只 | 猫 | 。", "match: | | |", 15, "quotation marks"),
        ("match:    他 有 一 | 只 | 猫 | 。", "match: '| | |'", 15, "no words"),
        ("match:    他 有 一 | 只 | 猫 | 。", "match: {a: b}", 15, "must be text"),
        ("modifier: none", "conditions: [match, other]", 16, "condition 'mismatch' is unknown"),
        ("description: A", "description: A: b\tA", 7, "quotation marks"),
    ],
)
def test_mistakes_have_a_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert old in SAMPLE
    with pytest.raises(InputError) as caught:
        load(tmp_path, SAMPLE.replace(old, new, 1))
    assert message in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path == str(tmp_path / "suite.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("- a\n- b\n", "'key: value'"),
        ("a: !!python/name:os.system x", "unknown entry"),
    ],
)
def test_files_that_are_no_suites(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(tmp_path, text)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_compact(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9")
    with pytest.raises(InputError, match="not UTF-8"):
        load_compact(tmp_path / "latin.yaml")


@pytest.mark.parametrize("word", ["a|b", "a b", ""])
def test_words_that_cannot_be_written(word: str) -> None:
    suite = small_suite()
    item = Item(1, (Variant("match", ((word,), (), ("x",), ())),))
    with pytest.raises(SuiteError, match="cannot be written to YAML"):
        dump_compact(replace(suite, items=(item,)))


@pytest.mark.parametrize("name", ["labels", "gloss", "translation"])
def test_names_that_no_condition_can_have(name: str) -> None:
    item = Item(1, (Variant(name, ((), (), ("x",), ())),))
    with pytest.raises(SuiteError, match=name):
        dump_compact(replace(small_suite(), items=(item,)))


# ----------------------------------------------------------------------------
# Framed files: one frame per item, one suite per modifier.


SAMPLE_FRAMED = """\
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


def load_framed(folder: Path, text: str) -> list[Suite]:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_yaml(path)


def test_one_suite_per_modifier(tmp_path: Path) -> None:
    suites = load_framed(tmp_path, SAMPLE_FRAMED)
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
    none, adjective, _ = load_framed(tmp_path, SAMPLE_FRAMED)
    assert none.items[0].gloss == (("he", "have", "one"), ("CL.animal",), (), ("cat",), (".",))
    assert adjective.items[0].gloss[2] == ("cute", "DE")
    assert adjective.items[0].translation == "He has a cute cat."
    assert adjective.items[1].gloss == () and adjective.items[1].translation == ""


def test_lists_of_lines_and_clauses(tmp_path: Path) -> None:
    none, _, relative = load_framed(tmp_path, SAMPLE_FRAMED)
    assert [v.regions[2] for v in none.items[1].variants] == [("很",), (), ()]
    assert [v.regions[2] for v in relative.items[1].variants] == [
        ("很", "介绍", "画家", "的"),
        ("介绍", "画家"),
        ("介绍", "画家", "的"),
    ]


def test_each_suite_can_be_written_alone(tmp_path: Path) -> None:
    for suite in load_framed(tmp_path, SAMPLE_FRAMED):
        path = tmp_path / "alone.yaml"
        path.write_text(dump_compact(suite), encoding="utf-8")
        assert load_compact(path) == suite
        assert load_yaml(path) == [suite]


def test_names_are_known_without_reading_items(tmp_path: Path) -> None:
    suites = load_framed(tmp_path, SAMPLE_FRAMED)
    path = tmp_path / "suite.yaml"
    path.write_text(SAMPLE_FRAMED[: SAMPLE_FRAMED.index("  1:")] + "  [broken", encoding="utf-8")
    assert names_in_head(path) == {suite.name: suite.modifier for suite in suites}
    path.write_text(dump_compact(suites[0]), encoding="utf-8")
    assert names_in_head(path) == {"mandarin/classifier_noun/none": ""}
    path.write_text("language: zh\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="has no name"):
        names_in_head(path)


def test_one_of_the_suites(tmp_path: Path) -> None:
    suites = load_framed(tmp_path, SAMPLE_FRAMED)
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
def test_mistakes_have_a_line_framed(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in SAMPLE_FRAMED
    with pytest.raises(InputError) as caught:
        load_framed(tmp_path, SAMPLE_FRAMED.replace(old, new, 1))
    assert message in str(caught.value)
    assert caught.value.line == line


def test_a_file_without_modifiers_to_list(tmp_path: Path) -> None:
    start, end = SAMPLE_FRAMED.index("modifiers:"), SAMPLE_FRAMED.index("predictions:")
    with pytest.raises(InputError, match="no modifiers"):
        load_framed(tmp_path, SAMPLE_FRAMED[:start] + "modifiers: {}\n" + SAMPLE_FRAMED[end:])
