"""Sentences of a file meet the sentences of a suite."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.fitting import common_surprisals, fit, tokens_by_sentence
from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.eval.suites.design.suite import Item, Suite, Variant
from tests.eval.suites.samples import cats_suite

PATH = Path("table.tsv")


def _scored(text: str, first: float = 1.0) -> ScoredSentence:
    tokens = tuple(text.split())
    return ScoredSentence(
        run="",
        sentence_id="1",
        tokens=tokens,
        surprisal_bits=tuple(first + number for number in range(len(tokens))),
        seen=tuple(token != "<unk>" for token in tokens),
        line=1,
    )


def test_sentences_of_the_suite_are_taken_as_they_are() -> None:
    suite = cats_suite(items=1)
    fitted = fit(suite, [_scored("一 只 猫1 。 </s>"), _scored("一 本 <unk> 。")], path=PATH)
    assert fitted.rows == ((1, 2, 3, 4), (1, 2, 3, 4))
    assert fitted.unknown == {"猫1"} and fitted.reworded == 0


def test_other_cuttings_are_added_up() -> None:
    suite = cats_suite(items=1)
    fitted = fit(suite, [_scored("一 只 猫 1 。"), _scored("一 本 猫1 。")], path=PATH)
    assert fitted.rows[0] == (1, 2, 7, 5) and fitted.reworded == 0


def test_other_wordings_keep_what_is_common() -> None:
    suite = cats_suite(items=1)
    fitted = fit(suite, [_scored("一 条 大 猫1 。"), _scored("一 本 马 。")], path=PATH)
    assert fitted.reworded == 2
    assert fitted.rows[0][0] == 1 and math.isnan(fitted.rows[0][1])
    assert fitted.rows[0][2:] == (4, 5)  # counted from the end
    assert math.isnan(fitted.rows[1][2]) and fitted.rows[1][3] == 4


def test_common_beginning_and_end_never_overlap() -> None:
    values = common_surprisals(("a", "a", "b"), _scored("a b"))
    assert values[0] == 1 and math.isnan(values[1]) and values[2] == 2
    assert common_surprisals(("a", "b"), _scored("a c b")) == (1, 3)
    assert all(math.isnan(value) for value in common_surprisals(("a", "b"), _scored("c d")))


def test_sentences_may_be_listed_once_each() -> None:
    variants = (Variant("x", (("a",),)), Variant("y", (("a",),)), Variant("z", (("b",),)))
    suite = Suite("s", "en", ("r",), ("x", "y", "z"), (), (Item(1, variants),))
    fitted = fit(suite, [_scored("a", 5), _scored("b", 7)], path=PATH)
    assert fitted.rows == ((5,), (5,), (7,))
    with pytest.raises(InputError, match="has 1 sentences, but suite s has 3, 2 distinct"):
        fit(suite, [_scored("a")], path=PATH)


def test_tokens_keep_the_edges_of_sentences() -> None:
    suite = cats_suite(items=1)
    found = tokens_by_sentence(
        suite, [_scored("一只 猫1 。 <eos>"), _scored("一 本 猫1 。")], path=PATH
    )
    assert found["一", "只", "猫1", "。"] == (("一只", "猫1", "。", "<eos>"), (1, 2, 3, 4))
