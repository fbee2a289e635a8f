"""The checklist of the Mandarin suites finds what it is meant to find."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.pcfg.grammar import Grammar, read_grammar
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.library import load_suites, suite_names
from gardenpath.eval.suites.lint import (
    CLASSES,
    Complaint,
    check,
    checklist,
    countable,
    lint,
    lint_against,
    word_lists,
)
from gardenpath.eval.suites.suite import Glosses, Item, Prediction, Suite, SuiteError, Variant
from gardenpath.studies.mandarin_files import load_mandarin
from gardenpath.util import Words
from tests.data.pcfg_tools import SHIPPED
from tests.eval.suites.suite_samples import score_suite, small_suite, suites


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


def test_other_suites_are_left_alone() -> None:
    """Suites with other regions, such as published ones, or in another language."""
    assert checklist(small_suite()) == []
    assert checklist(replace(suite_of("subordination"), items=(), language="en")) == []
    assert checklist(replace(suite_of("subordination"), items=(), kind="mine")) == []


# ----------------------------------------------------------------------------
# What the linter finds, and what it leaves alone.


def changed(place: int, words: tuple[str, ...], *, condition: int = 1) -> Suite:
    """The small suite with other words in a region of a variant of item 1."""
    suite = small_suite()
    variants = list(suite.items[0].variants)
    regions = list(variants[condition].regions)
    regions[place] = words
    variants[condition] = replace(variants[condition], regions=tuple(regions))
    return replace(suite, items=(replace(suite.items[0], variants=tuple(variants)), suite.items[1]))


def predicting(*texts: str) -> Suite:
    predictions = tuple(Prediction(f"p{n}", Formula.parse(t)) for n, t in enumerate(texts))
    return replace(small_suite(), predictions=predictions)


def places(suite: Suite) -> list[tuple[str, int | None, str, str]]:
    return [(c.severity, c.item, c.condition, c.region) for c in lint(suite)]


def test_nothing_to_complain_about() -> None:
    assert lint(small_suite()) == []
    assert check(small_suite()) == []


def test_identical_variants() -> None:
    suite = changed(1, ("只",))
    assert places(suite) == [("warning", 1, "mismatch", "")]
    assert "the same sentence as match of this item" in str(lint(suite)[0])


def test_repetition_across_items() -> None:
    suite = small_suite()
    (complaint,) = lint(replace(suite, items=(*suite.items, replace(suite.items[0], number=3))))[:1]
    said = "warning: item 3, match: the same sentence as match of item 1; change or delete one"
    assert str(complaint) == said


def test_differences_outside_the_critical_region() -> None:
    suite = changed(0, ("她", "有", "一"))
    assert places(suite) == [("warning", 1, "", "context")]
    assert "他 有 一 / 她 有 一" in lint(suite)[0].message
    assert lint(changed(2, ("狗",))) == []  # critical
    assert lint(changed(1, ("张",))) == []  # differing
    assert lint(replace(suite, critical=(), differing=())) == []  # the suite says nothing


@pytest.mark.parametrize("word", ["猫\u3000", "\u00a0猫", "猫\u200b", "", "猫 狗", "\ufeff猫"])
def test_stray_blanks(word: str) -> None:
    assert places(changed(2, (word,))) == [("error", 1, "mismatch", "noun")]


def test_the_sign_is_named() -> None:
    assert "IDEOGRAPHIC SPACE" in lint(changed(2, ("猫\u3000",)))[0].message


def test_empty_targets() -> None:
    assert places(changed(2, ()))[0] == ("error", 1, "mismatch", "noun")
    assert places(changed(3, ()))[0] == ("warning", 1, "", "end")  # no prediction looks there
    both = predicting("(noun;%mismatch%) + (end;%mismatch%) > (noun;%match%)")
    emptied = replace(changed(2, ()), predictions=both.predictions)
    assert places(emptied) == [("warning", 1, "mismatch", "noun")]


def test_shapes() -> None:
    suite = small_suite()
    first, second = suite.items
    lacking = replace(suite, items=(first, replace(second, variants=second.variants[:1])))
    assert places(lacking) == [("error", 2, "mismatch", "")]
    unused = replace(lacking, predictions=predicting("(noun;%match%) > 0").predictions)
    assert places(unused) == [("warning", 2, "mismatch", "")]
    assert places(replace(suite, items=(first, replace(second, number=1)))) == [
        ("error", 1, "", "")
    ]
    assert places(replace(suite, items=())) == [("error", None, "", "")]
    short = replace(second, variants=(Variant("match", (("x",),)), second.variants[1]))
    assert places(replace(suite, items=(first, short))) == [("error", 2, "match", "")]


def test_unequal_numbers_of_variants() -> None:
    suite = small_suite()
    extra = Variant("match", (("他", "有", "一"), ("条",), ("猫",), ("。",)))
    third = Item(3, (extra, *suite.items[0].variants))
    found = lint(replace(suite, items=(*suite.items, third)))
    assert "2 variants, but most items have 1" in found[0].message


def test_strange_conditions() -> None:
    suite = replace(small_suite(), conditions=("match",))
    found = lint(replace(suite, predictions=predicting("(noun;%match%) > 0").predictions))
    assert [(c.severity, c.condition) for c in found] == [("warning", "mismatch")] * 2


def test_terms_that_do_not_exist() -> None:
    suite = predicting("(nuon;%match%) > (noun;%mach%)", "(5;%match%) > (4;%match%)")
    assert places(suite) == [
        ("error", None, "", "nuon"),
        ("error", None, "mach", ""),
        ("error", None, "", "5"),
    ]
    assert "did you mean 'noun'?" in lint(suite)[0].message
    with pytest.raises(SuiteError, match=r"classifier_noun/none cannot be used:\n  - error: nuon"):
        check(suite)


def test_many_errors_are_cut_short() -> None:
    suite = small_suite()
    empty = Variant("match", (("x",), (), (), ()))
    items = tuple(Item(n, (empty, Variant("mismatch", empty.regions))) for n in range(1, 30))
    with pytest.raises(SuiteError, match="and 48 more"):
        check(replace(suite, items=items))


def test_complaints_without_a_place() -> None:
    suite = replace(small_suite(), predictions=())
    assert [str(c).partition(";")[0] for c in lint(suite)] == ["warning: no predictions"]


@given(suites())
def test_no_suite_is_too_odd(suite: Suite) -> None:
    assert all(isinstance(complaint, Complaint) for complaint in lint(suite))
    check(suite) if not any(c.severity == "error" for c in lint(suite)) else None
    lint_against(suite, knows=str.isalpha, count=len)


def test_unknown_words_are_looked_for_in_critical_and_predicted_regions() -> None:
    def targets(suite: Suite) -> tuple[str, ...]:
        found = lint_against(suite, knows=lambda _: False, count=len)
        return tuple(dict.fromkeys(each.region for each in found.complaints))

    assert targets(small_suite()) == ("noun",)
    some = predicting("(4;%match%) > (classifier;%match%)")
    assert targets(some) == ("classifier", "noun", "end")
    assert targets(predicting("(*;%match%) > 0")) == small_suite().regions


def test_unknown_words() -> None:
    found = lint_against(small_suite(), knows=lambda word: word not in "猫只", count=len)
    # The classifier is unknown as well, but no prediction looks there.
    assert [(c.item, c.condition, c.region) for c in found.complaints] == [
        (1, "match", "noun"),
        (1, "mismatch", "noun"),
    ]
    assert "'猫'" in found.complaints[0].message


def test_frequencies_of_paired_words() -> None:
    counts = {"只": 50, "本": 200, "张": 0}
    suite = changed(1, ("张",), condition=0)  # 张 / 本 in item 1, 本 / 只 in item 2
    found = lint_against(suite, knows=lambda _: True, count=counts.__getitem__).pairs
    assert [(p.region, p.first, p.second, p.items, p.ratio) for p in found] == [
        ("classifier", "张", "本", 1, math.inf),
        ("classifier", "只", "本", 1, 4.0),
    ]
    both = lint_against(small_suite(), knows=lambda _: True, count=counts.__getitem__).pairs
    assert [(p.first_count, p.second_count, p.items) for p in both] == [(50, 200, 2)]
    unseen = lint_against(small_suite(), knows=lambda _: True, count=lambda _: 0).pairs
    assert unseen[0].ratio == 1.0


def test_regions_of_unequal_length_have_no_pairs() -> None:
    suite = changed(1, ("大", "本"))
    pairs = lint_against(suite, knows=lambda _: True, count=len).pairs
    assert [(pair.first, pair.items) for pair in pairs] == [("只" if "只" < "本" else "本", 1)]


# ----------------------------------------------------------------------------
# The Mandarin suites: the checklist, no copies of published sentences, and the toy grammar.


NAMES = [name for name in suite_names() if name.startswith("mandarin/")]
# Items of each suite that consist of words of the toy grammar, for small models.
TOY_ITEMS = 8
# Words that are in so many sentences that they do not make two of them similar.
FUNCTION_WORDS = frozenset(
    (*"了过着的那这一两三。，在就会也都很不我你他她它", "正在", "我们", "他们", "但是", "所以")
)


@cache
def suite_of_mandarin_materials(name: str) -> Suite:
    (suite,) = load_suites(name)
    return suite


@cache
def toy_grammar() -> Grammar:
    return read_grammar(SHIPPED / "mandarin.pcfg")


@cache
def exact_model() -> ExactModel:
    return ExactModel(toy_grammar())


def test_six_classes_with_four_modifiers() -> None:
    kinds = Counter(name.split("/")[1] for name in NAMES)
    assert kinds == dict.fromkeys(CLASSES, 4)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_complain_about_mandarin_materials(name: str) -> None:
    suite = suite_of_mandarin_materials(name)
    assert [str(one) for one in (*lint(suite), *checklist(suite))] == []
    # The checklist must have been applied: without its items a suite of a class is too small.
    assert len(suite.items) >= CLASSES[suite.kind].items
    assert suite.regions == CLASSES[suite.kind].regions


def _frame(suite: Suite, item: Item) -> list[tuple[str, tuple[Words, ...]]]:
    place = suite.region_index("modifier")
    return [
        (variant.condition, (*variant.regions[:place], *variant.regions[place + 1 :]))
        for variant in item.variants
    ]


@pytest.mark.parametrize("kind", CLASSES)
def test_only_the_modifier_differs_between_sister_suites(kind: str) -> None:
    sisters = [suite_of_mandarin_materials(name) for name in NAMES if name.split("/")[1] == kind]
    first, *others = [{item.number: _frame(one, item) for item in one.items} for one in sisters]
    assert others == [first] * 3
    assert len({suite.modifier for suite in sisters}) == 4


def test_the_lists_of_the_checklist_are_used() -> None:
    """A word that no item needs may be a slip; forbidden words are listed for their own sake."""
    suites = [suite_of_mandarin_materials(name) for name in NAMES]
    words = {word for suite in suites for sentence in suite.sentences for word in sentence}
    needed = ("plain_object_verbs", "transitive_verbs", "persons")
    assert {name: sorted(word_lists()[name] - words) for name in needed} == {
        name: [] for name in needed
    }
    assert sorted(set(countable()) - words) == []


def content(words: Words) -> Counter[str]:
    """Return the words that make a sentence what it is, without classifiers."""
    return Counter(word for word in words if word not in FUNCTION_WORDS and word not in countable())


def is_near_copy(ours: Counter[str], theirs: Counter[str]) -> bool:
    """Whether all content words but at most one of three or more are the same."""
    differing = max((ours - theirs).total(), (theirs - ours).total())
    return differing == 0 or (differing == 1 and min(ours.total(), theirs.total()) >= 3)


def test_near_copies_are_recognised() -> None:
    first = content(("他", "卖", "了", "那", "辆", "便宜", "的", "汽车", "。"))
    assert is_near_copy(first, content(("她", "卖", "过", "一", "辆", "便宜", "的", "卡车", "。")))
    assert not is_near_copy(first, content(("她", "买", "了", "便宜", "的", "卡车", "。")))
    assert not is_near_copy(content(("卖", "汽车")), content(("卖", "卡车")))


@pytest.mark.slow
def test_no_sentence_is_one_of_the_published(reference_data: Path) -> None:
    published = load_mandarin([reference_data / "published" / "mandarin" / "suites"]).values()
    theirs: dict[str, list[Counter[str]]] = {}
    for suite in (one.suite for one in published):
        theirs.setdefault(suite.kind, []).extend(map(content, suite.sentences))
    assert sum(map(len, theirs.values())) > 1000
    copies = [
        " ".join(sentence)
        for suite in map(suite_of_mandarin_materials, NAMES)
        for sentence in suite.sentences
        if any(is_near_copy(content(sentence), other) for other in theirs[suite.kind])
    ]
    assert copies == []


@pytest.mark.parametrize("name", NAMES)
def test_the_exact_grammar_gets_its_items_right(name: str) -> None:
    """Every prediction holds in the items that have only words of the grammar."""
    suite = suite_of_mandarin_materials(name)
    known = set(toy_grammar().words)
    in_toy = [
        item for item in suite.items if all(known >= {*variant.words} for variant in item.variants)
    ]
    assert len(in_toy) >= TOY_ITEMS
    sentences = [variant.words for item in in_toy for variant in item.variants]
    # The last value belongs to the end of the sentence; after an impossible word all are infinite.
    surprisals = {
        words: np.nan_to_num(values[:-1], nan=np.inf, posinf=np.inf).tolist()
        for words, values in zip(sentences, exact_model().surprisal_bits(sentences), strict=True)
    }
    scored = score_suite(replace(suite, items=tuple(in_toy)), surprisals)
    by_item = groupby(scored, key=lambda one: one.item)
    assert [number for number, ones in by_item if any(one.outcome != 1.0 for one in ones)] == []
