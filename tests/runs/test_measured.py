"""Surprisals of any model on the sentences of suites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.display import EXACT
from gardenpath.runs.scoring import exact_grammars, measured_run, measured_scorer
from gardenpath.util import Words
from tests.toy_runs import run_of

OLD, NEW = ("the", "boys", "knew", "."), ("the", "man", "knew", ".")
# No sentence of the toy grammar goes on like this.
IMPOSSIBLE = ("the", "the", "boys", "knew")


class Lengths:
    """The surprisal of a word is the number of its letters, in bits."""

    def __init__(self, *, end: bool = True, **attributes: Any) -> None:
        self._end = end
        self.asked: list[Words] = []
        for name, value in attributes.items():
            setattr(self, name, value)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        self.asked += [tuple(words) for words in sentences]
        return [
            -math.log(2) * np.array([*map(len, words), *([9] if self._end else [])])
            for words in sentences
        ]


@pytest.mark.parametrize("model", ["ngram", "lstm", "rnng", "plm"])
def test_a_run_is_measured_word_by_word(folder: Path, model: str) -> None:
    run = run_of(folder, model)
    words: list[int] = []
    found = measured_run(run, [OLD, NEW], parsed=[OLD], on_words=words.append)
    assert (found.name, found.language, sum(words)) == (run.name, "en", 8)
    for sentence, log_probs in zip([OLD, NEW], run.word_log_probs([OLD, NEW]), strict=True):
        assert len(found.surprisal_bits[sentence]) == 4
        expected = (log_probs[:4] / -math.log(2)).tolist()
        assert found.surprisal_bits[sentence] == pytest.approx(expected, abs=1e-6)
    assert found.knows("boys") and not found.knows("zebras")
    assert found.unigram_log_prob is not None and found.remedies == {}
    assert list(found.parses) == ([OLD] if run.is_syntactic else [])


@pytest.mark.parametrize("end", [True, False])
def test_anybody_s_model(end: bool) -> None:
    found = measured_scorer(Lengths(end=end, name="mine", language="en"), [OLD, NEW])
    assert found.surprisal_bits[OLD] == pytest.approx([3, 4, 4, 1])
    assert (found.name.run, found.name.model, found.language) == ("mine", "mine", "en")
    assert found.knows("zebras") and found.unigram_log_prob is None


def test_without_attributes_a_model_is_called_like_its_class_and_fits_every_language() -> None:
    found = measured_scorer(Lengths(), [OLD])
    assert (found.name.model, found.language) == ("Lengths", None)
    assert found.fits("en") and found.fits("zh")
    assert not measured_scorer(Lengths(language="zh"), [OLD]).fits("en")
    assert not measured_scorer(Lengths(knows="the".__eq__), [OLD]).knows("boys")


class _Wrong:
    """Returns what it was told to."""

    def __init__(self, log_probs: Any) -> None:
        self._log_probs = log_probs

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        found: list[Any] = self._log_probs
        return found


@pytest.mark.parametrize(
    ("log_probs", "problem"),
    [
        ([], "_Wrong: word_log_probs returned scores of 0 sentences for 1"),
        ([[-1.0], [-1.0]], "returned scores of 2 sentences for 1"),
        ([[-1.0] * 3], "3 log probabilities for the 4 words of 'the boys knew .'"),
        ([[-1.0] * 6], "6 log probabilities for the 4 words of 'the boys knew .'"),
        ([np.zeros((2, 4))], "8 log probabilities for the 4 words of 'the boys knew .'"),
        ([[3.0, 4.0, 4.0, 1.0]], "negative surprisals for 'the boys knew .'"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(log_probs: Any, problem: str) -> None:
    with pytest.raises(GardenpathError) as caught:
        measured_scorer(_Wrong(log_probs), [OLD])
    assert problem in str(caught.value)


def test_undefined_and_impossible_words_are_kept() -> None:
    found = measured_scorer(_Wrong([[-1.0, -math.inf, math.nan, math.nan]]), [OLD])
    first, second, *others = found.surprisal_bits[OLD]
    assert first == pytest.approx(1 / math.log(2)) and second == math.inf
    assert all(map(math.isnan, others))


def test_the_grammar_of_a_corpus_is_measured_once(folder: Path) -> None:
    runs = [run_of(folder, "ngram"), run_of(folder, "lstm")]
    possible = next(iter(runs[0].settings.data.reader.read("test"))).words
    (found,) = exact_grammars(runs, lambda _: [possible, IMPOSSIBLE])
    assert (found.name.model, found.name.corpus, found.name.seed) == (EXACT, "toy_english", None)
    assert all(0 <= value < math.inf for value in found.surprisal_bits[possible])
    # What follows an impossible word is as impossible, and not undefined.
    assert found.surprisal_bits[IMPOSSIBLE][1:] == [math.inf] * 3


def test_a_grammar_is_asked_in_its_own_language(folder: Path) -> None:
    asked: list[str] = []

    def sentences(language: str) -> list[Words]:
        asked.append(language)
        return [OLD]

    exact_grammars([run_of(folder, "ngram"), run_of(folder, "rnng")], sentences)
    assert asked == ["en"]
