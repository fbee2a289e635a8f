"""Tokens of word and subword models find their words and regions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.suites.regions import (
    AlignmentError,
    align_words,
    is_edge,
    is_unknown,
    region_tokens,
    token_spans,
)
from gardenpath.eval.suites.suite import Item, Suite, Variant


def _suite(*regions: tuple[str, ...], spaced: bool = True) -> tuple[Suite, Item, Variant]:
    variant = Variant("match", regions)
    item = Item(7, (variant,))
    suite = Suite(
        name="cats",
        language="en",
        regions=tuple(f"r{n}" for n in range(len(regions))),
        conditions=("match",),
        predictions=(),
        items=(item,),
        spaced=spaced,
    )
    return suite, item, variant


ENGLISH = _suite(("The", "hungry"), ("cat",), ("meows", "."))
MANDARIN = _suite(("一", "只"), ("饥饿", "的"), ("猫", "。"), spaced=False)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["The", "hungry", "cat", "meows", "."], [0, 1, 2, 3, 4]),
        (["the", "HUNGRY", "cat", "meows", ".", "<eos>"], [0, 1, 2, 3, 4, None]),
        (["The", "Ġhung", "ry", "Ġcat", "Ġme", "ows", "."], [0, 1, 1, 2, 3, 3, 4]),
        (["▁The", "▁hungry", "▁", "cat", "▁meows", "▁."], [0, 1, 2, 2, 3, 4]),
        (["[CLS]", "the", "hung", "##ry", "cat", "meows", ".", "[SEP]"],
         [None, 0, 1, 1, 2, 3, 4, None]),
        (["The", "hung@@", "ry", "cat", "meows", "."], [0, 1, 1, 2, 3, 4]),
        (["The", "<unk>", "cat", "<unk>", "."], [0, 1, 2, 3, 4]),
        (["<unk>", "<unk-lc-y>", "<unk>", "<unk>", "<unk-punct>", "</s>"],
         [0, 1, 2, 3, 4, None]),
        (["The", "▁hun", "<unk>", "▁cat", "▁meows", "."], [0, 1, 1, 2, 3, 4]),
        (["<s>", "The ", " hungry", " cat", " meows", "."], [None, 0, 1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_tokens_find_their_words(tokens: list[str], words: list[int | None]) -> None:
    expected = tuple(() if word is None else (word,) for word in words)
    assert align_words(*ENGLISH, tokens) == expected


@pytest.mark.parametrize(
    ("tokens", "regions"),
    [
        (["一", "只", "饥饿", "的", "猫", "。"], [[0, 1], [2, 3], [4, 5]]),
        (["一只", "饥", "饿的", "猫", "。"], [[0], [1, 2], [3, 4]]),
        (["▁", "一", "只", "<unk>", "的", "猫", "。", "</s>"], [[0, 1, 2], [3, 4], [5, 6]]),
        (["一", "只", "饥饿的", "<unk>"], [[0, 1], [2], [3]]),
    ],
)
def test_tokens_find_regions_where_nothing_separates_words(
    tokens: list[str], regions: list[list[int]]
) -> None:
    surprisals = [float(number) for number in range(len(tokens))]
    found = region_tokens(*MANDARIN, tokens, surprisals)
    assert [[int(value) for value in region] for region in found] == regions


def test_the_end_counts_only_where_asked() -> None:
    tokens = ["<s>", "The", "hungry", "cat", "meows", ".", "<eos>"]
    values = [8, 1, 2, 3, 4, 5, 9.0]
    assert region_tokens(*ENGLISH, tokens, values) == ((1, 2), (3,), (4, 5))
    assert region_tokens(*ENGLISH, tokens, values, end_counts=True) == ((1, 2), (3,), (4, 5, 9))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["The", "hungry", "dog", "meows", "."], "token 3, 'dog', does not continue"),
        (["The", "hungry", "cat"], "do not cover the sentence"),
        (["The", "hungry", "cat", "meows", ".", "."], "token 6, '.'"),
        ([], "do not cover the sentence"),
        (["The", "hungrycat", "meows", "."], "'hungrycat' spans the regions 'r0' and 'r1'"),
    ],
)
def test_errors_name_item_condition_and_token(tokens: list[str], message: str) -> None:
    with pytest.raises(AlignmentError) as caught:
        region_tokens(*ENGLISH, tokens, [1.0] * len(tokens))
    assert message in str(caught.value)
    assert "suite cats, item 7, condition match" in str(caught.value)


def test_a_token_of_two_words_has_a_region() -> None:
    tokens = ["一只", "饥饿", "的", "猫", "。"]
    assert region_tokens(*MANDARIN, tokens, [1.0] * 5)[0] == (1.0,)


def test_characters_that_are_marks_elsewhere_are_kept() -> None:
    suite = _suite(("##",), ("Ġ", "x"))
    assert align_words(*suite, ["##", "Ġ", "x"]) == ((0,), (1,), (2,))


def test_spans_are_offsets_on_the_written_sentence() -> None:
    spans = token_spans("ab cd", ["▁ab", "▁c", "d", "</s>"], word_ends=[2, 5], place="here")
    assert [(span.start, span.end) if span else None for span in spans] == [
        (0, 2), (3, 4), (4, 5), None,
    ]  # fmt: skip


def test_special_tokens_are_told_apart() -> None:
    assert is_edge("<EOS>") and is_edge("</s>") and not is_edge("<unk>")
    assert is_unknown("▁<unk>") and is_unknown("<unk-caps>") and not is_unknown("unk")


words = st.text(alphabet="abC只猫", min_size=1, max_size=4)


@given(
    regions=st.lists(st.lists(words, max_size=3).map(tuple), min_size=1, max_size=4),
    spaced=st.booleans(),
    data=st.data(),
)
def test_any_cutting_of_words_is_undone(
    regions: list[tuple[str, ...]], spaced: bool, data: st.DataObject
) -> None:
    suite = _suite(*regions, spaced=spaced)
    tokens, expected = [], []
    for number, word in enumerate(suite[2].words):
        cut = data.draw(st.integers(0, len(word)))
        pieces = [piece for piece in (word[:cut], word[cut:]) if piece]
        tokens += [f"▁{pieces[0]}", *(piece.lower() for piece in pieces[1:])]
        expected += [(number,)] * len(pieces)
    assert align_words(*suite, tokens) == tuple(expected)


@given(
    regions=st.lists(st.lists(words, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4),
    data=st.data(),
)
def test_unknown_words_keep_their_place(
    regions: list[tuple[str, ...]], data: st.DataObject
) -> None:
    suite = _suite(*regions, spaced=data.draw(st.booleans()))
    tokens = [data.draw(st.sampled_from([word, "<unk>"])) for word in suite[2].words]
    covered = align_words(*suite, tokens)
    assert len(covered) == len(tokens)
    if all(token == "<unk>" for token in tokens):
        assert covered == tuple((number,) for number in range(len(tokens)))
