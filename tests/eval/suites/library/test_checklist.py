"""The checklist of the Mandarin suites finds what it is meant to find."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.lint import checklist, compare_sisters, countable
from gardenpath.eval.suites.suite import Glosses, Item, Suite
from tests.eval.suites.suite_samples import small_suite


def suite_of(kind: str, modifier: str = "none") -> Suite:
    (suite,) = load_suites(f"mandarin/{kind}/{modifier}")
    return suite


def with_first(suite: Suite, item: Item) -> Suite:
    return replace(suite, items=(item, *suite.items[1:]))


def altered(suite: Suite, condition: str, region: str, text: str) -> Suite:
    """The suite with other words in a region of its first item; ``*`` means every condition."""
    place = suite.region_index(region)
    variants = tuple(
        replace(v, regions=(*v.regions[:place], tuple(text.split()), *v.regions[place + 1 :]))
        if condition in ("*", v.condition)
        else v
        for v in suite.items[0].variants
    )
    return with_first(suite, replace(suite.items[0], variants=variants))


def complaints(suite: Suite) -> list[str]:
    return [str(one) for one in checklist(suite)]


@pytest.mark.parametrize(
    ("name", "condition", "region", "text", "message"),
    [
        ("classifier_noun/none", "*", "end", "！", "end: must be 。"),
        ("classifier_noun/none", "match_a", "noun", "大 书", "noun: must be one word"),
        ("classifier_noun/none", "match_a", "modifier", "新 的", "does not suit the suite"),
        ("classifier_noun/adjective", "*", "modifier", "", "does not suit the suite"),
        ("classifier_noun/adjective", "*", "modifier", "新 书", "modifier: must end in 的"),
        ("classifier_noun/none", "mismatch_a", "classifier", "头", "classifier of noun b"),
        ("classifier_noun/none", "match_a", "classifier", "个", "个 counts almost anything"),
        ("classifier_noun/none", "match_a", "classifier", "匹", "匹 is not listed for"),
        ("verb_noun/none", "incompatible", "verb", "发表", "must differ from the compatible verb"),
        ("verb_noun/none", "compatible", "verb", "听", "听 is not compatible as often"),
        ("garden_path_object/none", "general", "classifier", "位", "classifier: must be 个"),
        ("garden_path_object/none", "specific", "classifier", "位", "位 counts persons"),
        ("garden_path_object/none", "*", "subject", "桌子", "桌子 is not listed as a person"),
        ("garden_path_object/none", "*", "context", "他 看见 了 那", "看见 may take a clause"),
        ("garden_path_object/none", "*", "context", "他 买 了 那", "known to take only nouns"),
        ("garden_path_object/none", "*", "context", "他 拦住 了", "must end in 那 or 这"),
        ("garden_path_object/none", "*", "de", "了", "de: must be 的"),
        ("garden_path_subject/none", "*", "verb", "", "no verb"),
        ("garden_path_subject/none", "*", "predicate", "", "no predicate"),
        ("missing_object/none", "*", "verb", "休息 了", "休息 is not listed as a verb"),
        ("missing_object/none", "present", "object", "", "object: no object"),
        ("missing_object/none", "missing", "object", "学生", "missing, object: must be empty"),
        ("missing_object/subject_rc", "missing", "modifier", "唱 歌 的", "the modifier without 的"),
        ("missing_object/subject_rc", "present", "modifier", "唱 歌 并且 写 书 的", "conjunction"),
        ("missing_object/coordinated_rc", "present", "modifier", "唱 歌 的", "conjunction"),
        ("missing_object/embedded_rc", "present", "modifier", "唱 歌 的", "的 twice"),
        ("subordination/none", "*", "subordinator", "为了", "为了 is a preposition"),
        ("subordination/none", "*", "subordinator", "昨天", "昨天 is not listed as a subordinator"),
        ("subordination/none", "*", "subject", "", "the subordinate clause is not complete"),
        ("subordination/none", "with_main", "main", "他 走 了", "must be ， and a main clause"),
        ("subordination/none", "without_main", "main", "， 他 走", "main: must be empty"),
    ],
)
def test_mistakes_are_found(
    name: str, condition: str, region: str, text: str, message: str
) -> None:
    suite = suite_of(*name.split("/"))
    assert complaints(suite) == []
    found = complaints(altered(suite, condition, region, text))
    assert any(message in one for one in found), found


def test_an_acceptable_mismatch_is_found() -> None:
    """歌 is counted by both 首 and 支, so neither is a mismatch."""
    assert "歌" in countable()["首"] & countable()["支"]
    suite = suite_of("classifier_noun")
    for condition, classifier, noun in (
        ("match_a", "首", "歌"),
        ("mismatch_a", "支", "歌"),
        ("match_b", "支", "毛笔"),
        ("mismatch_b", "首", "毛笔"),
    ):
        suite = altered(suite, condition, "classifier", classifier)
        suite = altered(suite, condition, "noun", noun)
    assert complaints(suite) == ["warning: item 1, mismatch_a, noun: 支 can count 歌"]


def test_gloss_and_translation_are_required() -> None:
    suite = suite_of("subordination")
    bare = replace(suite.items[0], gloss=(), translation="")
    assert complaints(with_first(suite, bare)) == [
        "warning: item 1, with_main: no gloss",
        "warning: item 1, with_main: no translation",
    ]


def test_words_of_all_lines_need_a_gloss() -> None:
    suite = replace(suite_of("classifier_noun"), glosses={})
    assert "item 1, match_b: no gloss of 歌; add it to 'glosses' of the suite" in " ".join(
        complaints(suite)
    )


def test_every_word_of_the_mandarin_suites_has_a_gloss_and_every_item_a_translation() -> None:
    suites = load_suites("mandarin/*")
    assert len(suites) == 24
    for suite in suites:
        glosses = Glosses(suite)
        for item in suite.items:
            assert item.translation.endswith((".", "!", "?")), (suite.name, item.number)
            for number, variant in item.numbered_variants():
                found = glosses.of(item)[variant.condition, number]
                assert len(found) == len(variant.words) and all(found), (suite.name, item.number)


def test_number_and_variety_of_items() -> None:
    suite = suite_of("missing_object")
    few = complaints(replace(suite, items=suite.items[:29]))
    assert few == ["warning: 29 items; the class needs at least 30"]
    again = replace(suite.items[0], number=99)
    assert complaints(replace(suite, items=(*suite.items, again))) == [
        "warning: item 99: repeats subject, verb of item 1"
    ]


def test_conditions_have_an_order() -> None:
    suite = suite_of("subordination")
    turned = replace(suite, conditions=suite.conditions[::-1])
    assert complaints(turned) == [
        "warning: conditions must be with_main, without_main, in this order"
    ]
    item = replace(suite.items[0], variants=suite.items[0].variants[:1])
    assert "item 1: needs one sentence in each condition" in complaints(with_first(suite, item))[0]


def test_sister_suites_must_share_their_frames() -> None:
    none, adjective = suite_of("verb_noun"), suite_of("verb_noun", "adjective")
    assert compare_sisters([none, adjective]) == []
    other = altered(adjective, "*", "noun", "石头")
    (found,) = compare_sisters([none, other])
    assert (found.item, "not the frame that it has in mandarin/verb_noun/none" in str(found)) == (
        1,
        True,
    )
    assert len(compare_sisters([none, replace(adjective, items=adjective.items[:-2])])) == 2


def test_other_suites_are_left_alone() -> None:
    """Suites with other regions, such as published ones, or in another language."""
    assert checklist(small_suite()) == []
    assert checklist(replace(suite_of("subordination"), items=(), language="en")) == []
    assert checklist(replace(suite_of("subordination"), items=(), kind="mine")) == []
