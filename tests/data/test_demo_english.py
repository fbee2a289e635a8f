"""The demo's English: small, unambiguous, with the dependencies that its suites ask about."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.pcfg.grammar import Grammar, Sampler, read_grammar
from gardenpath.data.readers.files import ToyTreebank
from gardenpath.settings.compose import load_settings
from gardenpath.settings.train import TrainSettings
from tests.data.pcfg_tools import SHIPPED, SlowModel, assert_one_tree_each, expected_word_counts

# A star stands before the critical word: what is good there, and what is not.
CRITICAL_WORDS = [
    ("the king hurt * himself .", "herself"),
    ("the women near the king hurt * themselves .", "himself"),
    ("the queen that the men blamed praised * herself .", "themselves"),
    ("the king that the man hurt praised * himself .", "themselves"),
    ("i know what the man found * yesterday .", "the"),
    ("we remember that the man found * the coin yesterday .", "."),
    ("while the man hunted the deer * ran .", "."),
    ("when the man hunted * , the deer ran .", "."),
    ("the horse that was raced past the barn * fell .", "."),
]
# Beginnings that mislead, and the same with a cue.
GARDEN_PATHS = [
    ("while the man hunted the deer ran", "while the man hunted , the deer ran"),
    ("when the women followed the fox fell", "when the women followed , the fox fell"),
    ("the horse raced past the barn fell", "the horse that was raced past the barn fell"),
    ("the dog walked through the garden ran", "the dog that was walked through the garden ran"),
]


@cache
def grammar() -> Grammar:
    return read_grammar(SHIPPED / "demo_english.pcfg")


@cache
def model() -> ExactModel:
    return ExactModel(grammar())


def surprisal_of_last(prefix: str) -> float:
    words = prefix.split()
    return float(model().surprisal_bits([words])[0][len(words) - 1])


def test_the_grammar_is_small() -> None:
    assert len(grammar().words) < 70
    assert len(grammar().categories) < 80
    assert 6 < grammar().expected_length < 10


def test_every_sentence_has_one_tree() -> None:
    assert_one_tree_each(grammar(), model(), seed=3, count=500)


def test_sentences_end_in_a_period_and_are_short() -> None:
    sampler = Sampler(grammar(), seed=4)
    trees = [sampler.draw() for _ in range(2000)]
    assert all(tree.label == "S" and tree.words()[-1] == "." for tree in trees)
    assert not any(label.startswith("_") for tree in trees for label in tree.labels())
    assert np.quantile([len(tree.words()) for tree in trees], 0.99) < 20


def test_every_word_is_learned_from_many_sentences() -> None:
    assert min(expected_word_counts(grammar()).values()) * 10_000 >= 100


@pytest.mark.parametrize(("marked", "bad_word"), CRITICAL_WORDS)
def test_critical_word(marked: str, bad_word: str) -> None:
    before, after = (part.split() for part in marked.split("*"))
    of_good, of_bad = model().surprisal_bits([[*before, *after], [*before, bad_word, *after[1:]]])
    assert {bad_word, *before, *after} <= set(grammar().words)
    assert np.isfinite(of_good).all() and np.isfinite(of_bad[: len(before)]).all()
    assert of_bad[len(before)] == math.inf


@pytest.mark.parametrize(("ambiguous", "clear"), GARDEN_PATHS)
def test_garden_paths_cost_three_to_six_bits(ambiguous: str, clear: str) -> None:
    assert 3.0 <= surprisal_of_last(ambiguous) - surprisal_of_last(clear) <= 6.5


@pytest.mark.parametrize("sentence", [one for pair in GARDEN_PATHS for one in pair])
def test_garden_paths_against_the_slow_model(sentence: str) -> None:
    words = sentence.split()
    slow = SlowModel(grammar(), words).prefix / SlowModel(grammar(), words[:-1]).prefix
    assert surprisal_of_last(sentence) == pytest.approx(-math.log2(slow), abs=1e-6)


def test_the_corpus_is_a_choice_of_its_own() -> None:
    settings: TrainSettings = load_settings("train", ["data=demo_english", "model=lstm"])
    assert settings.run_dir == "runs/demo_english/lstm/seed1"
    reader = settings.data.reader
    assert isinstance(reader, ToyTreebank)
    assert reader.path.samefile(SHIPPED / "demo_english.pcfg")
