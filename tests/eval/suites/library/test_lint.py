"""What the linter finds, and what it leaves alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given

from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.lint import Complaint, check, lint, lint_against, target_regions
from gardenpath.eval.suites.suite import Item, Prediction, Suite, SuiteError, Variant
from tests.eval.suites.suite_samples import small_suite, suites


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


def test_target_regions() -> None:
    assert target_regions(small_suite()) == ("noun",)
    assert target_regions(predicting("(4;%match%) > (classifier;%match%)")) == (
        "classifier",
        "noun",
        "end",
    )
    assert target_regions(predicting("(*;%match%) > 0")) == small_suite().regions


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
