"""Items from templates: against enumeration, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.suites.generated import (
    Cell,
    Lexeme,
    Lexicon,
    Slot,
    Template,
    TemplateError,
    TemplateLine,
    choose_words,
)
from gardenpath.eval.suites.suite import Item

PATH = Path("somewhere.yaml")
FAMILY: Mapping[str, object] = {
    "forms": {"men": ["sg", "pl"]},
    "classes": {
        "men": ["man / men", "boy / boys", "son / sons"],
        "prepositions": ["near", "in front of"],
    },
    "scenes": {
        "meals": [
            {"agents": ["cook", "baker"], "dishes": ["cake", "soup"]},
            {"agents": ["vet", "groom"], "dishes": ["hay"]},
        ]
    },
}


def template(
    *lines: str,
    slots: Mapping[str, str],
    items: int,
    seed: int = 0,
    scenes: str = "",
    cross: tuple[str, ...] = (),
    content: Mapping[str, object] = FAMILY,
) -> Template:
    cell = Cell(tuple(TemplateLine.parse("only", line) for line in lines), items, {"kind": "test"})
    lexicon = Lexicon.from_mapping(content, PATH)
    return Template("test", PATH, lexicon, slots, (cell,), seed, scenes, cross)


def items_of(made: Template) -> tuple[Item, ...]:
    return made.items(choose_words([made]))


def texts(items: tuple[Item, ...]) -> list[str]:
    return [" ".join(variant.words) for item in items for variant in item.variants]


def test_lines_are_cut_into_regions_and_slots() -> None:
    line = TemplateLine.parse("base", "The | {x.pl} | | {near} the | .")
    assert line.regions == (("The",), (Slot("x", "pl"),), (), (Slot("near", ""), "the"), (".",))


def test_words_of_several_words_and_forms() -> None:
    line = TemplateLine.parse("base", "The {x.pl} | {near} the {x.sg}")
    words: dict[str, Lexeme] = {
        "x": {"sg": ("man",), "pl": ("men",)},
        "near": {"": ("in", "front", "of")},
    }
    assert line.fill(words).regions == (("The", "men"), ("in", "front", "of", "the", "man"))


def test_the_same_seed_gives_the_same_items_and_another_seed_others() -> None:
    def made(seed: int) -> list[str]:
        slots = {"x": "men", "y": "men", "near": "prepositions"}
        return texts(items_of(template("{x.sg} {near} {y.pl}", slots=slots, items=6, seed=seed)))

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_items_are_numbered_and_labelled() -> None:
    items = items_of(template("{x.sg}", slots={"x": "men"}, items=3))
    assert [item.number for item in items] == [1, 2, 3]
    assert {item.labels["kind"] for item in items} == {"test"}


@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 100))
def test_all_items_that_there_are_and_no_more(words: int, others: int, seed: int) -> None:
    content = {
        "classes": {
            "letters": [f"a{n}" for n in range(words)],
            "others": [f"b{n}" for n in range(others)],
        }
    }
    slots = {"x": "letters", "y": "letters", "z": "others"}
    possible = {
        f"{x} {y} {z}"
        for x, y in itertools.permutations(content["classes"]["letters"], 2)
        for z in content["classes"]["others"]
    }

    def wanted(items: int) -> Template:
        return template("{x} {y} {z}", slots=slots, items=items, seed=seed, content=content)

    assert set(texts(items_of(wanted(len(possible))))) == possible
    with pytest.raises(TemplateError, match=f"allow {len(possible)} different items"):
        items_of(wanted(len(possible) + 1))


def test_no_sentence_stands_in_two_items() -> None:
    """Two orders of the same two nouns are one item, not two."""
    slots = {"x": "men", "y": "men"}
    items = items_of(template("{x.sg} and {y.sg}", "{y.sg} and {x.sg}", slots=slots, items=3))
    assert len(set(texts(items))) == 6
    with pytest.raises(TemplateError, match="allow 3 different items"):
        items_of(template("{x.sg} and {y.sg}", "{y.sg} and {x.sg}", slots=slots, items=4))


def test_scenes_do_not_mix_and_take_turns() -> None:
    slots = {"a": "agents", "d": "dishes", "p": "prepositions"}
    items = items_of(template("{a} {d} {p}", slots=slots, items=8, scenes="meals"))
    kinds = [("vet" in text or "groom" in text, "hay" in text) for text in texts(items)]
    assert all(agent == dish for agent, dish in kinds)
    assert 2 <= sum(agent for agent, _ in kinds) <= 4  # there are no more than four with hay


@given(st.integers(2, 6), st.integers(1, 5), st.integers(1, 4))
def test_crossing_is_complete_and_balanced(nouns: int, verbs: int, others: int) -> None:
    content = {
        "classes": {
            "nouns": [f"n{n}" for n in range(nouns)],
            "verbs": [f"v{n}" for n in range(verbs)],
            "others": [f"o{n}" for n in range(others)],
        }
    }
    slots = {"x": "nouns", "y": "nouns", "v": "verbs", "o": "others"}
    made = template(
        "{x} {v} {y} {o}", slots=slots, items=nouns * verbs, cross=("x", "v"), content=content
    )
    rows = [text.split() for text in texts(items_of(made))]
    pairs = set(itertools.product(content["classes"]["nouns"], content["classes"]["verbs"]))
    assert [len(rows), {(x, v) for x, v, _, _ in rows}] == [len(pairs), pairs]
    assert {(y, v) for _, v, y, _ in rows} == pairs
    assert all(x != y for x, _, y, _ in rows)


@pytest.mark.parametrize(
    ("slots", "cross", "scenes", "items", "message"),
    [
        ({"x": "men", "p": "prepositions"}, ("x", "p"), "", 5, "gives 6 items, but 5 are"),
        ({"x": "men"}, ("x", "p"), "", 3, "'cross' names unknown slots: p"),
        ({"x": "men", "y": "men"}, ("x", "y"), "", 9, "slots of different classes"),
        ({"x": "dishes"}, ("x",), "meals", 2, "and no scenes"),
    ],
)
def test_crossings_that_cannot_be_made(
    slots: Mapping[str, str], cross: tuple[str, ...], scenes: str, items: int, message: str
) -> None:
    made = template("word", slots=slots, items=items, scenes=scenes, cross=cross)
    with pytest.raises(TemplateError, match=message):
        items_of(made)


@pytest.mark.parametrize(
    ("line", "slots", "scenes", "message"),
    [
        ("{x.sg}", {}, "", "unknown slot 'x'"),
        ("{x}", {"x": "men"}, "", "has no form ''"),
        ("{x.dual}", {"x": "men"}, "", "has no form 'dual'"),
        ("{x}", {"x": "women"}, "", "class 'women', which has only 0 words"),
        ("{x}", {"x": "dishes", "y": "dishes"}, "meals", "which has only 1 words in some scene"),
        ("{x}", {"x": "dishes"}, "wars", "unknown scenes 'wars'"),
    ],
)
def test_what_does_not_fit_is_refused(
    line: str, slots: Mapping[str, str], scenes: str, message: str
) -> None:
    with pytest.raises(TemplateError, match=message):
        items_of(template(line, slots=slots, items=1, scenes=scenes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"classes": {"adjectives": ["clear", True]}}, "put quotation marks around"),
        ({"forms": {"men": ["sg", "pl"]}, "classes": {"men": ["man"]}}, "has 1 forms, not 2"),
        ({"classes": ["man"]}, "'classes' is not a mapping"),
        ({"scenes": {"meals": {"agents": ["cook"]}}}, "is not a list"),
        ({"scenes": {"meals": ["cook"]}}, "classes of words must be a mapping"),
    ],
)
def test_lexica_that_cannot_be_read(content: Mapping[str, object], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Lexicon.from_mapping(content, PATH)
