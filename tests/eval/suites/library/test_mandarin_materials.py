"""The Mandarin suites: the checklist, no copies of published sentences, and the toy grammar."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.pcfg.grammar import Grammar, read_grammar
from gardenpath.eval.suites.library import load_suites, suite_names
from gardenpath.eval.suites.lint import (
    CLASSES,
    checklist,
    compare_sisters,
    countable,
    lint,
    word_lists,
)
from gardenpath.eval.suites.outcomes import score_suite
from gardenpath.eval.suites.suite import Suite
from gardenpath.studies.mandarin_files import load_mandarin
from gardenpath.util import Words
from tests.data.pcfg_tools import SHIPPED

NAMES = [name for name in suite_names() if name.startswith("mandarin/")]
# Items of each suite that consist of words of the toy grammar, for small models.
TOY_ITEMS = 8
# Words that are in so many sentences that they do not make two of them similar.
FUNCTION_WORDS = frozenset(
    (*"了过着的那这一两三。，在就会也都很不我你他她它", "正在", "我们", "他们", "但是", "所以")
)


@cache
def suite_of(name: str) -> Suite:
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
def test_nothing_to_complain_about(name: str) -> None:
    suite = suite_of(name)
    assert [str(one) for one in (*lint(suite), *checklist(suite))] == []
    # The checklist must have been applied: without its items a suite of a class is too small.
    assert len(suite.items) >= CLASSES[suite.kind].items
    assert suite.regions == CLASSES[suite.kind].regions


@pytest.mark.parametrize("kind", CLASSES)
def test_only_the_modifier_differs_between_sister_suites(kind: str) -> None:
    sisters = [suite_of(name) for name in NAMES if name.split("/")[1] == kind]
    assert [str(one) for one in compare_sisters(sisters)] == []
    assert len({suite.modifier for suite in sisters}) == 4


def test_the_lists_of_the_checklist_are_used() -> None:
    """A word that no item needs may be a slip; forbidden words are listed for their own sake."""
    suites = [suite_of(name) for name in NAMES]
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


def test_no_sentence_is_one_of_the_published(reference_data: Path) -> None:
    published = load_mandarin([reference_data / "published" / "mandarin" / "suites"]).values()
    theirs: dict[str, list[Counter[str]]] = {}
    for suite in (one.suite for one in published):
        theirs.setdefault(suite.kind, []).extend(map(content, suite.sentences))
    assert sum(map(len, theirs.values())) > 1000
    copies = [
        " ".join(sentence)
        for suite in map(suite_of, NAMES)
        for sentence in suite.sentences
        if any(is_near_copy(content(sentence), other) for other in theirs[suite.kind])
    ]
    assert copies == []


@pytest.mark.parametrize("name", NAMES)
def test_the_exact_grammar_gets_its_items_right(name: str) -> None:
    """Every prediction holds in the items that have only words of the grammar."""
    suite = suite_of(name)
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
