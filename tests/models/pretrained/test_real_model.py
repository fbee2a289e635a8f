"""A real pretrained model has the preferences that speakers have, in English and Mandarin.

``python -m tests.real_model FOLDER`` makes the model; ``GARDENPATH_REAL_MODEL`` names the folder.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gardenpath as gp
from gardenpath.adopted import checkpoints as hf_files
from gardenpath.adopted.families import Bos, HfFamily, HfModel, HfSettings
from gardenpath.adopted.hf import CausalScorer
from gardenpath.data.arrays import Floats
from gardenpath.data.words.pieces import Boundary
from gardenpath.util import bits
from tests.models import scorer_contract as contract
from tests.no_skips import NEEDS_REAL_MODEL

FOLDER = os.environ.get("GARDENPATH_REAL_MODEL", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)


@cache
def _parts() -> tuple[Any, Any, Any]:
    """Configuration, tokeniser and weights, which take long to load."""
    folder = Path(FOLDER)
    model = hf_files.load_causal(folder, "fp32", "cpu")
    return hf_files.load_config(folder), hf_files.load_tokeniser(folder), model


def _opened(boundary: Boundary = "next", bos: Bos = "required") -> CausalScorer:
    config, tokeniser, model = _parts()
    return CausalScorer(
        load=lambda: model, config=config, tokeniser=tokeniser, settings=HfSettings(bos=bos),
        boundary=boundary,
    )  # fmt: skip


@pytest.fixture(scope="module")
def real() -> CausalScorer:
    """The model as it is adopted."""
    adopted = HfFamily().adopt(HfModel(name="real"), FOLDER, Path(FOLDER))
    return HfFamily().open(adopted, Path(FOLDER), device="cpu", boundary="next")


def _bits(scorer: CausalScorer, context: str, continuations: list[str]) -> list[float]:
    """Surprisal of each continuation of a context."""
    sentences = [f"{context} {one}".split() for one in continuations]
    begin = len(context.split())
    found = scorer.word_log_probs(sentences)
    return [bits(float(one[begin:-1].sum())) for one in found]


@pytest.mark.parametrize(
    ("context", "better", "worse"),
    [
        ("The keys to the cabinet", "are", "is"),
        ("The author near the senators", "is", "are"),
        ("The queen said that the king hurt", "himself", "herself"),
        ("The women in the village saw", "themselves", "himself"),
        ("No student in this class has", "ever", "never"),
        ("I know what the boy", "ate .", "ate it ."),
        ("She has three", "children", "child"),
        ("Yesterday she", "went", "goes"),
        ("The children have", "eaten", "ate"),
        ("My sister is taller", "than", "then"),
        ("我 买 了 一 本", "书", "桌子"),
        ("他 养 了 一 条", "狗", "书"),
        ("桌子 上 有 一 张", "纸", "人"),
        ("他 骑 了 一 匹", "马", "狗"),
        ("门口 停 着 一 辆", "车", "鸟"),
        ("虽然 下雨 ，", "但是", "因为"),
        ("他 把 门", "关上", "喜欢"),
        ("天空 中 飞 过 一 只", "鸟", "车"),
    ],
)
def test_known_preferences(real: CausalScorer, context: str, better: str, worse: str) -> None:
    good, bad = _bits(real, context, [better, worse])
    assert good < bad - 1.0


@pytest.mark.parametrize(
    ("ambiguous", "clear", "word"),
    [
        ("The horse raced past the barn", "The horse that was raced past the barn", "fell"),
        ("While the man hunted the deer", "While the man hunted , the deer", "ran"),
    ],
)
def test_garden_paths(real: CausalScorer, ambiguous: str, clear: str, word: str) -> None:
    (surprised,), (expecting,) = _bits(real, ambiguous, [word]), _bits(real, clear, [word])
    assert surprised > expecting + 2.0


def test_a_missing_begin_reverses_a_preference() -> None:
    """Why exactly one BOS is the default."""
    good, bad = _bits(_opened(), "The keys to the cabinet", ["are", "is"])
    without = _opened(bos="none")
    wrong_good, wrong_bad = _bits(without, "The keys to the cabinet", ["are", "is"])
    assert good < bad and wrong_good > wrong_bad
    assert "NaN" in without.notes[0]


def test_words_are_probabilities_of_words(real: CausalScorer) -> None:
    """Words of which others are beginnings: un goes on, and then it is another word."""
    words = ["king", "kings", "kingdom", "kingdoms", "kin", "ki", "k", "queen", "keys", "key"]
    assert contract.sum_of_probabilities(real, ["Long", "live", "the"], words) <= 1.0
    (word,), (pieces,) = (
        _bits(_opened(boundary), "It was an", ["un"]) for boundary in ("next", "none")
    )
    assert word > pieces + 3.0


SENTENCES = [
    ["The", "keys", "to", "the", "cabinet", "are", "n't", "here", "."],
    ["The", "keys", "to", "the", "cabinet", "is", "n't", "here", "."],
    ["The", "king", "'s", "friends", "-LRB-", "all", "of", "them", "-RRB-", "slept", "."],
    ["他", "喜欢", "读书", "。"],
    ["他", "喜欢", "研究", "生命", "。"],
    ["他", "喜欢", "研究生", "𠮷", "。"],
]


def test_the_contract_holds(real: CausalScorer) -> None:
    contract.check_form(real, SENTENCES)
    contract.check_single(real, SENTENCES, atol=2e-3)
    contract.check_order(real, SENTENCES, atol=2e-3)
    assert contract.check_prefixes(real, SENTENCES, atol=2e-3) >= 8


def test_tokens_are_those_of_sentencepiece(real: CausalScorer) -> None:
    """The tokeniser was converted; these divisions are known."""
    assert real.seen_as(["The", "keys", "to", "the", "cabinet"]) == [
        "The", "▁keys", "▁to", "▁the", "▁cabinet"
    ]  # fmt: skip
    assert real.seen_as(["𠮷", "野", "家"])[0] == "<0xF0> <0xA0> <0xAE> <0xB7>"


def test_mandarin_suites_end_to_end(real: CausalScorer) -> None:
    suites = gp.suites("mandarin/classifier_noun/none", "mandarin/verb_noun/none")
    results = gp.evaluate(real, suites, items=12)
    accuracy = results.summary.set_index("class")["accuracy"]
    assert accuracy["classifier_noun"] > 0.7 and accuracy["verb_noun"] > 0.7


def test_characters_add_up_to_words(real: CausalScorer) -> None:
    text = "研究生命"
    found: Floats = real.prefix_log_probs(text, range(5)).log_probs
    (words,) = real.word_log_probs([["研究", "生命"]])
    np.testing.assert_allclose(np.diff(found[[0, 2, 4]]), words[:2], atol=2e-3)
    assert (np.diff(found) <= 1e-6).all()
