"""Sentences of raw text: where they end, and that nothing is lost."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.annotate.raw import (
    Passage,
    SentenceSettings,
    passage_sentences,
    split_sentences,
    splitter_problem,
)
from gardenpath.data.words.vocabulary import Language
from gardenpath.errors import GardenpathError

LANGUAGES: tuple[Language, ...] = ("en", "zh")

# A bar stands where a sentence ends.
ENGLISH = [
    "The cat sleeps.| The dog barks!| Does it?| Yes.",
    "Mr. Smith met Dr. J. R. Brown in the U.S. Senate.| They talked.",
    "It rose 3.5 percent to $1.2 million.| No. 5 won.",
    '"Stop!" he said.| "I will not."| She left.',
    '"Where are you?" asked Ann.| (He laughed.)| Then he wept.',
    "Well... maybe.| Or not...| Who knows?!| I do.",
    "Hmm... I see it.",
    "See e.g. Chomsky and cf. Ross.| Others differ, i.e. they disagree.",
    "1. The first point.| 2. The second.",
    "John F. Kennedy spoke.| He won.",
    "The U.S. is large.| The U.K. is not.",
    "He cried “No!”| “Yes,” she said.",
    "He left . ''| She stayed .",
    "One sentence without an end",
    "He is here.So is she.",
    "Prices fell.| 12 shops closed.",
    "她 said so.| 他 left.",
]
CHINESE = [
    "他来了。|她走了！|真的吗？|是的。",
    "他说：“好。”|我走了。",
    "（他来了。）|她没来。",
    "“你好！”|他说。|“再见。”",
    "他说：\"好。\"|我走了。",
    "\"好。|我走了。\"|他说。",
    "什么？！|不会吧……|真的。",
    "他读《为什么？》这本书。|我没读。",
    "他吃了一半；她没吃。",
    "增长３．５％，达到1.2亿元。|完了。",
    "没有结尾的句子",
    "「好。」|『不好。』|完。",
]  # fmt: skip


def parts(marked: str) -> list[str]:
    return [one.strip() for one in marked.split("|")]


@pytest.mark.parametrize("marked", ENGLISH)
def test_english(marked: str) -> None:
    assert split_sentences(marked.replace("|", ""), language="en") == parts(marked)


@pytest.mark.parametrize(
    "marked",
    [
        "He left at 5 p.m.| The train was late.",
        "Acme Inc.| The firm grew.",
        "Acme Inc. Chairman Bell left.",
        "Apples, pears, etc.| He ate them all.",
        "It was vitamin C.| The doctor knew.",
        "Gen. Lee and Sen. Bell met.",
    ],
)
def test_abbreviations_that_may_end_a_sentence(marked: str) -> None:
    assert split_sentences(marked.replace("|", ""), language="en") == parts(marked)


@pytest.mark.parametrize("marked", CHINESE)
def test_chinese(marked: str) -> None:
    assert split_sentences(marked.replace("|", ""), language="zh") == parts(marked)


def test_ends_of_chinese_sentences_are_a_setting() -> None:
    text = "他来了；她走了……再见。"
    found = split_sentences(text, language="zh", settings=SentenceSettings(chinese_ends="。；"))
    assert found == ["他来了；", "她走了……再见。"]


def test_lines() -> None:
    chosen = SentenceSettings(splitter="lines")
    assert split_sentences(" A b. C d. ", language="en", settings=chosen) == ["A b. C d."]


def without_blanks(text: str) -> str:
    return "".join(text.split())


PIECES = st.sampled_from(
    [
        *"。！？…；”’」）》《“「（\"'.!?()[]aA1 ",
        "Mr.",
        "U.S.",
        "e.g.",
        "The",
        "he",
        "I",
        " ",
        "\n",
        "　",
        "''",
        "...",
        "3.5",
        "猫",
        "1.",
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=30).map("".join), st.text(max_size=40))


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=400)
@given(text=TEXTS)
def test_nothing_is_lost_and_sentences_stay_whole(language: Language, text: str) -> None:
    found = split_sentences(text, language=language)
    assert without_blanks("".join(found)) == without_blanks(text)
    assert all(one and one == one.strip() for one in found)
    for one in found:
        assert split_sentences(one, language=language) == [one]


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=200)
@given(lines=st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=5))
def test_passages_have_the_lines_of_their_sentences(language: Language, lines: list[str]) -> None:
    filled = tuple((n, one) for n, one in enumerate(lines, start=7) if one.strip())
    found = list(
        passage_sentences(Passage(filled, 7), language=language, settings=SentenceSettings())
    )
    assert without_blanks("".join(text for _, text in found)) == without_blanks("".join(lines))
    numbers = [number for number, _ in found]
    assert numbers == sorted(numbers) and set(numbers) <= {number for number, _ in filled}
    content = {number: without_blanks(line) for number, line in filled}
    for number, text in found:
        assert without_blanks(text)[0] in content[number]


def test_lines_of_a_passage_are_joined() -> None:
    english = Passage(((3, "The cat "), (4, "sleeps. The"), (5, "dog barks.")), 3)
    found = passage_sentences(english, language="en", settings=SentenceSettings())
    assert list(found) == [(3, "The cat sleeps."), (4, "The dog barks.")]
    chinese = Passage(((1, "　　他在北"), (2, "京。他用 IBM"), (3, "PC工作。")), 1)
    joined = passage_sentences(chinese, language="zh", settings=SentenceSettings())
    assert list(joined) == [(1, "他在北京。"), (2, "他用 IBM PC工作。")]


def test_long_text_takes_linear_time() -> None:
    for language in LANGUAGES:
        for piece in ("a.", "Mr. ", '"', "。", "《", ") ", "." * 50, "。 "):
            assert split_sentences(piece * 20_000, language=language)


def test_punkt_without_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    chosen = SentenceSettings(splitter="punkt")
    assert "punkt_tab" in splitter_problem("en", chosen)
    assert "for English" in splitter_problem("zh", chosen)
    with pytest.raises(GardenpathError, match="for English"):
        split_sentences("好。", language="zh", settings=chosen)


def test_punkt_with_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk

    class Tokenizer:
        def __init__(self, language: str) -> None:
            assert language == "english"

        def span_tokenize(self, text: str) -> list[tuple[int, int]]:
            middle = text.index("|") + 1
            return [(0, middle), (middle, len(text))]

    module: Any = ModuleType("nltk.tokenize.punkt")
    module.PunktTokenizer = Tokenizer
    monkeypatch.setitem(sys.modules, "nltk.tokenize.punkt", module)
    monkeypatch.setattr(nltk.data, "find", lambda name: SimpleNamespace(name=name))
    chosen = SentenceSettings(splitter="punkt")
    assert split_sentences("a b| c", language="en", settings=chosen) == ["a b|", "c"]
