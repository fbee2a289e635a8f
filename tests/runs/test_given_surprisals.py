"""Surprisals that a user gives: complete and of one mind, or an error that names the sentence."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import GardenpathError
from gardenpath.runs.scoring import Measured, measured_table
from gardenpath.util import Words

Values = dict[Words, list[float]]

ONE: Words = ("the", "cat", "sat")
TWO: Words = ("the", "sat", "cat")
SENTENCES = [ONE, TWO]
VALUES: Values = {ONE: [1.0, 2.0, 3.0], TWO: [1.5, 2.5, 3.5]}


def frame(values: Values = VALUES, **columns: Any) -> pd.DataFrame:
    """The sentences with their surprisals, a row for each word."""
    rows = [
        {"sentence_id": number, "word_id": place, "word": word, "surprisal_bits": bits}
        for number, (words, surprisals) in enumerate(values.items(), start=1)
        for place, (word, bits) in enumerate(zip(words, surprisals, strict=True), start=1)
    ]
    return pd.DataFrame(rows).assign(**columns)


def _one(table: Any) -> Measured:
    (found,) = measured_table(table, SENTENCES)
    return found


def _refuses(table: Any, *parts: str) -> None:
    with pytest.raises(GardenpathError, match=".*".join(map(re.escape, parts))):
        measured_table(table, SENTENCES)


def test_a_table_of_one_model() -> None:
    found = _one(frame())
    assert found.surprisal_bits == VALUES and found.language is None
    assert found.name.run == found.name.model == "model"


def test_numbers_of_a_search_tell_that_surprisals_were_searched() -> None:
    """Their near ties are those of a search."""
    assert not _one(frame()).is_searched
    assert _one(frame(entropy_bits=0.5)).is_searched
    runs = pd.concat([frame(run="a", entropy_bits=0.5), frame(run="b")])
    found = measured_table(runs, SENTENCES)
    assert [(one.name.run, one.is_searched) for one in found] == [("a", True), ("b", False)]


def test_ends_are_left_out_and_more_sentences_do_no_harm() -> None:
    ended: Values = {(*words, "</s>"): [*bits, 9.0] for words, bits in VALUES.items()}
    assert _one(frame({**ended, ("else",): [4.0]})).surprisal_bits == VALUES


@pytest.mark.parametrize("columns", [("model",), ("run",), ("model", "seed"), ("run", "model")])
def test_several_models(columns: tuple[str, ...]) -> None:
    louder = {words: [bits + 1 for bits in values] for words, values in VALUES.items()}
    named = [{"model": "a", "run": "r1", "seed": 1}, {"model": "b", "run": "r2", "seed": 2}]
    parts = [
        frame(values, **{name: who[name] for name in columns})
        for values, who in zip((VALUES, louder), named, strict=True)
    ]
    first, second = measured_table(pd.concat(parts), SENTENCES)
    assert (first.surprisal_bits, second.surprisal_bits) == (VALUES, louder)
    assert first.name.run != second.name.run
    if "model" in columns:
        assert (first.name.model, second.name.model) == ("a", "b")
    if "seed" in columns:
        assert (first.name.seed, second.name.seed) == (1, 2)
        assert first.name.run == "a/seed1"


def test_seeds_may_be_missing_for_some() -> None:
    table = pd.concat([frame(model="a", seed=1), frame(model="b", seed=None)])
    first, second = measured_table(table, SENTENCES)
    assert (first.name.run, first.name.seed) == ("a/seed1", 1)
    assert (second.name.run, second.name.seed) == ("b", None)


def test_a_mapping_of_models() -> None:
    keys: dict[Any, list[float]] = {"the cat sat": VALUES[ONE], TWO: [*VALUES[TWO], 7.0]}
    found = _one({"mine": keys})
    assert found.surprisal_bits == VALUES and found.name.model == "mine"
    arrays = {"mine": {words: np.array(values) for words, values in VALUES.items()}}
    assert _one(arrays).surprisal_bits == VALUES


def test_rows_may_be_in_any_order_if_words_are_numbered() -> None:
    shuffled = frame().sample(frac=1.0, random_state=3)
    assert shuffled["word_id"].tolist() != frame()["word_id"].tolist()
    assert _one(shuffled).surprisal_bits == VALUES


def test_a_missing_sentence_is_named() -> None:
    _refuses(frame({ONE: VALUES[ONE]}), "1 of 2 sentences", "'the sat cat'", "word by word")
    _refuses({"mine": {"the cat sat": [1, 2, 3]}}, "mine: no surprisals", "'the sat cat'")


def test_a_model_that_lacks_a_sentence_is_named_beside_one_that_has_all() -> None:
    table = pd.concat([frame(model="whole"), frame({ONE: VALUES[ONE]}, model="half")])
    _refuses(table, "half: no surprisals for 1 of 2", "'the sat cat'")


@pytest.mark.parametrize("drop", [0, 1, 2])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_missing_word_is_never_a_number(drop: int, is_numbered: bool) -> None:
    table = frame().drop(index=drop)
    with pytest.raises(GardenpathError, match=r"the|cat|sat"):
        measured_table(table if is_numbered else table.drop(columns="word_id"), SENTENCES)


@pytest.mark.parametrize("twice", [0, 1, 2])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_word_given_twice_is_never_a_number(twice: int, is_numbered: bool) -> None:
    whole = frame()
    table = pd.concat([whole[: twice + 1], whole[twice:]])
    assert len(table) == len(whole) + 1
    with pytest.raises(GardenpathError, match=r"the|cat|sat"):
        measured_table(table if is_numbered else table.drop(columns="word_id"), SENTENCES)


def test_a_doubled_word_that_makes_another_sentence_is_found_by_its_number() -> None:
    """'a b b' is a sentence of the suites too; its values must not come from 'a b'."""
    sentences = [("a", "b"), ("a", "b", "b")]
    table = frame({sentences[0]: [1.0, 2.0], sentences[1]: [1.0, 2.0, 9.0]})
    doubled = pd.concat([table[:2], table[1:]])
    with pytest.raises(GardenpathError, match=r"numbered 1, 2, 2.* each word of a sentence once"):
        measured_table(doubled, sentences)


@given(st.permutations(range(3)))
def test_words_in_the_wrong_order_are_never_a_plausible_number(order: list[int]) -> None:
    """Without numbers the order of the rows counts; a mixed-up sentence is a missing one."""
    whole = frame().drop(columns="word_id")
    table = pd.concat([whole.iloc[order], whole.iloc[3:]])
    if order == [0, 1, 2]:
        assert _one(table).surprisal_bits == VALUES
        return
    with pytest.raises(GardenpathError, match=r"the (cat sat|sat cat)"):
        measured_table(table, SENTENCES)


@given(st.permutations(range(6)))
def test_any_order_of_numbered_rows_gives_the_same(order: list[int]) -> None:
    assert _one(frame().iloc[order]).surprisal_bits == VALUES


def test_a_sentence_with_two_different_surprisals_is_named() -> None:
    again = frame({ONE: [1.0, 2.0, 3.1]})
    again["sentence_id"] = 9
    _refuses(pd.concat([frame(), again]), "two different surprisals", "'the cat sat'")
    _refuses(
        {"mine": {"the cat sat": [1, 2, 3], ONE: [1, 2, 4], TWO: [1, 2, 3]}},
        "mine: two different surprisals", "'the cat sat'",
    )  # fmt: skip


def test_a_sentence_may_occur_again_with_the_same_surprisals() -> None:
    again = frame({ONE: [1.0, 2.0, 3.0 + 1e-7]})
    again["sentence_id"] = 9
    assert _one(pd.concat([frame(), again])).surprisal_bits == VALUES


def test_two_runs_in_one_table_without_a_name_are_refused() -> None:
    other = frame({ONE: [4.0, 5.0, 6.0], TWO: [4.0, 5.0, 6.0]})
    with pytest.raises(GardenpathError, match=r"the (cat sat|sat cat|the cat)"):
        measured_table(pd.concat([frame(), other]), SENTENCES)


def test_two_models_under_one_run_are_refused() -> None:
    table = pd.concat([frame(run="r", model="a"), frame(run="r", model="b")])
    _refuses(table, "r: the rows of this run are of several models", "a and b")


@pytest.mark.parametrize("count", [1, 2, 5])
def test_wrong_lengths_name_the_sentence(count: int) -> None:
    values = {"mine": {"the cat sat": [1.0] * count, TWO: [1.0] * 3}}
    _refuses(values, f"mine: {count} surprisals for the 3 words of 'the cat sat'")


def test_log_probabilities_are_not_surprisals() -> None:
    negative = {words: [-bits for bits in values] for words, values in VALUES.items()}
    _refuses(frame(negative), "negative surprisals for 'the cat sat'", "-log2 p")
    _refuses({"mine": negative}, "mine: negative surprisals for 'the cat sat'")
    zero = {ONE: [0.0, -0.0, -1e-4], TWO: [0.0, math.inf, 1.0]}
    assert _one(frame(zero)).surprisal_bits == zero


def test_undefined_surprisals_are_kept() -> None:
    undefined = {**VALUES, TWO: [1.0, math.nan, math.nan]}
    found = _one(frame(undefined)).surprisal_bits[TWO]
    assert found[0] == 1.0 and math.isnan(found[1]) and math.isnan(found[2])


@pytest.mark.parametrize("name", ["sentence_id", "word", "surprisal_bits"])
def test_a_missing_column_is_named(name: str) -> None:
    _refuses(frame().drop(columns=name), f"no column {name}", "model or run")


def test_other_mistakes_are_explained() -> None:
    _refuses(frame(seed="first"), "column seed: 'first' is not a whole number")
    _refuses({"the cat sat": [1, 2, 3]}, "the cat sat: not a mapping", "{model: {sentence:")
    with pytest.raises(TypeError, match="a DataFrame, or a mapping"):
        measured_table([1.0, 2.0], SENTENCES)
