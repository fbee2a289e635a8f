"""The object that all forms of a suite load to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.suite import Item, SuiteError, Variant, named, split_words
from tests.eval.suites.suite_samples import small_suite


def test_sentences_stand_once_in_order() -> None:
    suite = small_suite()
    assert suite.sentences[0] == ("他", "有", "一", "只", "猫", "。")
    assert len(suite.sentences) == 4
    assert replace(suite, items=suite.items * 2).sentences == suite.sentences


def test_text_follows_the_language() -> None:
    suite = small_suite()
    variant = suite.items[0].variants[0]
    assert suite.text(variant) == "他有一只猫。"
    assert replace(suite, spaced=True).text(variant) == "他 有 一 只 猫 。"


def test_regions_by_name_and_number() -> None:
    suite = small_suite()
    assert suite.region_index("noun") == suite.region_index("3") == 2
    for name in ("nuon", "0", "5"):
        with pytest.raises(SuiteError, match=f"no region '{name}'"):
            suite.region_index(name)


def test_variants_of_a_condition() -> None:
    one, two = Variant("a", (("x",),)), Variant("a", (("y",),))
    item = Item(1, (one, Variant("b", (("z",),)), two))
    assert item.of_condition("a") == (one, two)
    assert item.of_condition("c") == ()


def test_only_blanks_separate_words() -> None:
    assert split_words("  the \t big\ncat ") == ("the", "big", "cat")
    assert split_words("猫\u3000狗 \u00a0x") == ("猫\u3000狗", "\u00a0x")


def test_numbers_become_names() -> None:
    formula = Formula.parse("(1;%a%) + (*;%a%) > (b;%a%) + (3;%a%) - 2")
    assert str(named(formula, ["x", "b"])) == "(x;%a%) + (*;%a%) > (b;%a%) + (3;%a%) - 2"
