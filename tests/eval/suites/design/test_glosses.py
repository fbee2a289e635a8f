"""Glosses of the words of all variants."""

from __future__ import annotations

from dataclasses import replace

from gardenpath.eval.suites.suite import Glosses, Item, Suite, Variant


def suite_of(*items: Item, **glosses: str) -> Suite:
    return Suite(
        name="s", language="zh", regions=("a", "b"), conditions=("x", "y"), predictions=(),
        items=items, glosses=glosses,
    )  # fmt: skip


def item_of(number: int, gloss: str, *lines: str) -> Item:
    regions = [tuple(tuple(part.split()) for part in line.split("|")) for line in (gloss, *lines)]
    variants = (Variant(name, words) for name, words in zip("xxyy", regions[1:], strict=False))
    return Item(number, tuple(variants), gloss=regions[0] if gloss else ())


def test_the_place_comes_before_the_sentence_and_the_sentence_before_the_suite() -> None:
    first = item_of(1, "open | door drive", "开 | 门 开", "开 | 开 书 车")
    suite = suite_of(first, item_of(2, "see | book", "看 | 书"), 门="gate", 车="car")
    found = Glosses(suite).of(first)
    assert found["x", 1] == ("open", "door", "drive")
    assert found["x", 2] == ("open", "drive", "book", "car")


def test_a_word_with_two_glosses_elsewhere_has_none() -> None:
    items = (
        item_of(1, "a | b", "甲 | 乙", "甲 | 开"),
        item_of(2, "open | b", "开 | 乙"),
        item_of(3, "drive | b", "开 | 乙"),
    )
    suite = suite_of(*items)
    assert Glosses(suite).of(items[0])["x", 2] == ("a", "")
    assert Glosses(replace(suite, glosses={"开": "drive"})).of(items[0])["x", 2] == ("a", "drive")


def test_a_region_whose_gloss_does_not_fit_has_none() -> None:
    item = item_of(1, "a b | c", "甲 | 乙", "甲 | 乙")
    found = Glosses(suite_of(item)).of(item)
    assert found == {("x", 1): ("", "c"), ("x", 2): ("", "c")}


def test_an_item_without_a_gloss_has_none() -> None:
    item = item_of(1, "", "甲 | 乙")
    assert Glosses(suite_of(item, 甲="a")).of(item) == {}
