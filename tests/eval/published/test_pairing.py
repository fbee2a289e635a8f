"""Sentences of a file meet the sentences of the materials, as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, ScoredSentence
from gardenpath.eval.published.pairing import (
    Materials,
    Paired,
    in_file_order,
    joined_variant,
    pair,
    reworded_variant,
    wording_digest,
)
from gardenpath.eval.suites.suite import Item, Suite, Variant
from tests.eval.suites.suite_samples import cats_suite

PATH = Path("table.tsv")

# Regions of the sentences of the classifier suite: classifier (two words), noun, end.
SENTENCES = ("一 只 猫1 。", "一 本 猫1 。", "一 只 猫2 。", "一 本 猫2 。")


def _pair(
    *texts: str, materials: Materials | None = None, rules: PairingRules | None = None
) -> Paired:
    sentences = [
        ScoredSentence(words, tuple(map(float, range(1, len(words) + 1))), 10 * number)
        for number, words in enumerate((tuple(text.split()) for text in texts), start=1)
    ]
    chosen = materials or in_file_order(Path("suite.txt"), cats_suite(items=2))
    return pair(chosen, sentences, rules or PairingRules(), PATH)


def test_equal_sentences() -> None:
    paired = _pair(*SENTENCES)
    assert paired.rows == ((1, 2, 3, 4),) * 4
    assert (paired.equal, paired.respelt, paired.joined, paired.accepted) == (4, 0, 0, ())


def test_case_unknown_words_and_other_tokens() -> None:
    paired = _pair("一 只 <unk> 。", "一 本 猫1 。", "一 只 猫 2 。", SENTENCES[3])
    assert (paired.equal, paired.respelt, paired.joined) == (2, 1, 1)
    assert paired.unknown == {"猫1"}
    assert paired.rows[2] == (1, 2, 3 + 4, 5)
    suite = replace(
        cats_suite(items=1), items=(Item(1, (Variant("match", (("The",), ("Cat",), (".",))),)),)
    )
    upper = in_file_order(Path("suite.txt"), suite)
    assert _pair("the cat .", materials=upper).respelt == 1


def test_places_may_differ_from_the_order_of_the_suite() -> None:
    """Rows of an item need not be contiguous in a file."""
    materials = Materials(Path("s"), cats_suite(items=2), (0, 2, 1, 3), (1, 2, 3, 4))
    with pytest.raises(InputError, match="2 sentences misplaced"):
        _pair(*SENTENCES, materials=materials)
    first, second, third, fourth = SENTENCES
    sentences = [
        ScoredSentence(tuple(text.split()), (float(n), 0.5, 0.5, 0.5), n)
        for n, text in enumerate((first, third, second, fourth), start=1)
    ]
    paired = pair(materials, sentences, PairingRules(), PATH)
    assert [row[0] for row in paired.rows] == [1, 3, 2, 4]


def test_misplaced_sentences_are_refused_and_three_are_shown() -> None:
    with pytest.raises(InputError) as caught:
        _pair(*reversed(SENTENCES))
    shown = str(caught.value)
    assert shown.startswith("table.tsv:10: 4 sentences misplaced")
    assert (
        "line 10: expected '一 只 猫1 。' (suite.txt:1), found '一 本 猫2 。', line 4 of it"
        in shown
    )
    assert shown.count("expected '") == 3 and "and 1 more" in shown


def test_one_misplaced_sentence_needs_a_setting_and_the_same_condition() -> None:
    doubled = (SENTENCES[0], SENTENCES[1], SENTENCES[0], SENTENCES[3])
    with pytest.raises(InputError, match="1 sentence misplaced"):
        _pair(*doubled)
    # Its noun, the critical region, is that of another item.
    with pytest.raises(InputError, match="1 sentence with another critical region"):
        _pair(*doubled, rules=PairingRules(misplaced=1))
    exchanged = (SENTENCES[1], SENTENCES[1], *SENTENCES[2:])
    with pytest.raises(InputError, match="a sentence is that of another condition"):
        _pair(*exchanged, rules=PairingRules(misplaced=1))


def test_rewording_is_refused_unless_a_setting_accepts_it() -> None:
    other = ("一 条 猫1 。", *SENTENCES[1:])
    with pytest.raises(InputError, match=r"1 sentence reworded[\s\S]*reworded=0\.2 accepts"):
        _pair(*other)
    with pytest.raises(InputError, match="1 sentence reworded"):
        _pair(*other, rules=PairingRules(reworded=0.24))
    paired = _pair(*other, rules=PairingRules(reworded=0.25))
    assert paired.suite.items[0].variants[0].words == ("一", "条", "猫1", "。")
    assert paired.rows[0] == (1, 2, 3, 4) and paired.suite.items[1] == cats_suite().items[1]
    (difference,) = paired.accepted
    assert (difference.kind, difference.line, difference.materials_line) == ("reworded", 10, 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("一 只 狗 。", "1 sentence with another critical region"),
        ("一 只 大 猫1 。", "1 sentence of another length"),
        ("两 条 猫1 。", "1 sentence with several other words"),
        ("一 只 猫1", "1 sentence of another length"),
    ],
)
def test_no_setting_accepts_more_than_one_word_outside_the_critical_region(
    text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        _pair(text, *SENTENCES[1:], rules=PairingRules(reworded=1.0, misplaced=9))


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (SENTENCES[:3], "table.tsv: has 3 sentences, but suite.txt has 4"),
        ((*SENTENCES, SENTENCES[3]), "table.tsv: has 5 sentences, but suite.txt has 4"),
        (SENTENCES[1:], "table.tsv:10: has 3 sentences, but suite.txt has 4"),
    ],
)
def test_counts_must_fit(texts: tuple[str, ...], first: str) -> None:
    with pytest.raises(InputError) as caught:
        _pair(*texts, rules=PairingRules(reworded=1.0, misplaced=9))
    assert str(caught.value).startswith(first)


def test_wordings_that_the_materials_state_are_accepted() -> None:
    given = ("一 条 猫1 。", *SENTENCES[1:])
    stated = replace(
        in_file_order(Path("s"), cats_suite(items=2)), other={0: (("一", "条", "猫1", "。"),)}
    )
    assert _pair(*given, materials=stated).accepted[0].kind == "other stated wording"
    longer = ("一 只 大 猫1 。", *SENTENCES[1:])
    digest = wording_digest("cats", 0, tuple(longer[0].split()))
    known = replace(in_file_order(Path("s"), cats_suite(items=2)), known=frozenset({digest}))
    paired = _pair(*longer, materials=known)
    assert paired.accepted[0].kind == "known wording"
    assert paired.suite.items[0].variants[0].regions == (("一", "只", "大"), ("猫1",), ("。",))
    # The digest is of this sentence at this place only.
    with pytest.raises(InputError, match="1 sentence of another length"):
        _pair(SENTENCES[0], "一 本 大 猫1 。", *SENTENCES[2:], materials=known)


def test_only_one_region_may_differ() -> None:
    variant = Variant("x", (("a", "b"), ("c",), ("d",)))
    changed = reworded_variant(variant, ("a", "z", "y", "c", "d"), {1})
    assert changed == Variant("x", (("a", "z", "y"), ("c",), ("d",)))
    assert reworded_variant(variant, ("a", "z", "c", "e"), {1}) is None
    assert reworded_variant(variant, ("a", "b", "z", "d"), {1}) is None
    assert reworded_variant(variant, ("d",), {1}) is None


def test_labels_repeat_and_drop_variants() -> None:
    suite = cats_suite(items=1)
    labels = (("match", "mismatch"), ())
    materials = replace(in_file_order(Path("s"), suite), labels=labels)
    paired = _pair(*SENTENCES[:2], materials=materials)
    assert [v.condition for v in paired.suite.items[0].variants] == ["match", "mismatch"]
    assert {v.words for v in paired.suite.items[0].variants} == {("一", "只", "猫1", "。")}
    assert len(paired.rows) == 2


def test_an_unknown_word_does_not_hide_where_a_sentence_belongs() -> None:
    with pytest.raises(InputError, match="line 3 of it"):
        _pair("一 <unk> 猫2 。", *SENTENCES[1:])


def test_materials_without_items_have_no_sentences() -> None:
    suite = Suite("s", "en", ("r",), (), (), ())
    assert in_file_order(Path("s"), suite).located == ()


def test_words_add_up_their_tokens_and_merge_where_a_token_spans_them() -> None:
    suite = cats_suite(items=1)
    item = suite.items[0]
    variant = replace(item.variants[0], regions=(("a", "hungry", "cat"), ("is", "n't"), (".",)))
    tokens = ("<s>", "a", "Ġhung", "ry", "Ġcat", "Ġisn", "'t", ".", "</s>")
    values = (9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0)
    found = joined_variant(suite, item, variant, ScoredSentence(tokens, values, 1))
    assert found is not None
    assert found[0].regions == (("a", "hungry", "cat"), ("isn't",), (".",))
    assert found[1] == (1.0, 5.0, 4.0, 11.0, 7.0)
    crossing = ScoredSentence(("a", "hungry", "catis", "n't", "."), (1.0,) * 5, 1)
    assert joined_variant(suite, item, variant, crossing) is None
