"""N-gram models: the add-one unigram, scoring, and files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.errors import RunError
from gardenpath.models.ngram.model import NgramModel, train_ngram, train_unigram
from tests.models.samples import make_split, random_sentences

SIZE = 9


def _model(order: int = 4) -> NgramModel:
    split = make_split(random_sentences(1, count=50, vocabulary_size=SIZE))
    return train_ngram(split, vocabulary_size=SIZE, order=order)


def test_unigram_adds_one_to_each_count() -> None:
    # Words 4 (three times) and 5 (once), two ends; unknown and word 6 never.
    model = train_unigram(make_split([[4, 4], [4, 5]]), vocabulary_size=7)
    total = (3 + 1) + (1 + 1) + (2 + 1) + 1 + 1
    expected = [0, 0, 3 / total, 1 / total, 4 / total, 2 / total, 1 / total]
    np.testing.assert_allclose(np.exp(model.next_log_probs([])), expected, rtol=1e-14)


def test_unigram_forgets_the_context() -> None:
    model = train_unigram(make_split([[4, 4], [4, 5]]), vocabulary_size=7)
    assert model.order == 1
    np.testing.assert_array_equal(model.next_log_probs([]), model.next_log_probs([5, 6]))


def test_unigram_never_predicts_padding_or_the_begin_symbol() -> None:
    log_probs = train_unigram(make_split([[4]]), vocabulary_size=7).next_log_probs([])
    assert log_probs[[PAD_ID, BEGIN_ID]].tolist() == [-math.inf, -math.inf]


def test_default_order_is_five() -> None:
    assert train_ngram(make_split([[4]]), vocabulary_size=SIZE).order == 5


@pytest.mark.parametrize("order", [1, 2, 5])
def test_score_is_the_sum_of_next_word_probabilities(order: int) -> None:
    model = _model(order)
    sentence = [4, 6, 3, 8]
    (scores,) = model.score([np.array(sentence)])
    expected = [
        model.next_log_probs(sentence[:position])[word]
        for position, word in enumerate([*sentence, END_ID])
    ]
    np.testing.assert_array_equal(scores, expected)


def test_sentences_are_scored_alone_or_together_alike() -> None:
    model = _model()
    sentences = [np.array(s) for s in random_sentences(2, count=12, vocabulary_size=SIZE)]
    for sentence, together in zip(sentences, model.score(sentences), strict=True):
        np.testing.assert_array_equal(model.score([sentence])[0], together)


def test_no_sentences_no_scores() -> None:
    assert _model().score([]) == []


def test_an_empty_sentence_has_an_end() -> None:
    model = _model()
    (scores,) = model.score([np.zeros(0, dtype=np.int64)])
    np.testing.assert_array_equal(scores, model.next_log_probs([])[[END_ID]])


def test_save_and_load_keep_every_bit(tmp_path: Path) -> None:
    model = _model()
    model.save(tmp_path / "weights.safetensors")
    loaded = NgramModel.load(tmp_path / "weights.safetensors")
    assert (loaded.order, loaded.vocabulary_size) == (model.order, model.vocabulary_size)
    for context in ([], [4, 5], [8, 8, 8, 8]):
        np.testing.assert_array_equal(loaded.next_log_probs(context), model.next_log_probs(context))


@pytest.mark.parametrize("kept", [0, 5, 100, 0.5, 0.99])
def test_a_truncated_file_is_named(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "weights.safetensors"
    _model().save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    with pytest.raises(RunError, match="cannot be read") as caught:
        NgramModel.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"absent\.safetensors"):
        NgramModel.load(tmp_path / "absent.safetensors")
