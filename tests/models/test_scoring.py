"""Every model gives one log probability per word, and one for the end."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from src.data.subwords import SubwordSettings, subword_vocabulary, train_subwords
from src.data.vocabulary import END_ID, UNKNOWN_ID
from src.models.lstm import LstmNetwork
from src.models.ngram import NgramModel, train_ngram
from src.models.output import SequentialNetwork
from src.models.scoring import SequentialScorer
from src.models.transformer import TransformerNetwork
from tests.models.samples import make_batch, make_split, make_vocabulary, random_sentences

VOCABULARY = make_vocabulary("the", "cat", "dog", "sees", "sleeps")
SIZE = len(VOCABULARY)

SENTENCES = [
    ["the", "cat", "sees", "the", "dog"],
    ["sleeps"],
    ["the", "zebra", "sleeps"],
    ["dog"] * 30,
]


def _model(family: str) -> SequentialNetwork | NgramModel:
    torch.manual_seed(0)
    if family == "lstm":
        return LstmNetwork(vocabulary_size=SIZE, hidden=8, embedding=8, dropout=0.5)
    if family == "transformer":
        return TransformerNetwork(vocabulary_size=SIZE, layers=2, hidden=8, heads=2, dropout=0.5)
    split = make_split(random_sentences(0, count=30, vocabulary_size=SIZE))
    return train_ngram(split, vocabulary_size=SIZE, order=3)


FAMILIES = ("ngram", "lstm", "transformer")


@pytest.mark.parametrize("family", FAMILIES)
def test_one_number_per_word_and_one_for_the_end(family: str) -> None:
    scores = SequentialScorer(model=_model(family), vocabulary=VOCABULARY)
    found = scores.word_log_probs(SENTENCES)
    assert [len(numbers) for numbers in found] == [6, 2, 4, 31]
    assert all(numbers.dtype == np.float64 and (numbers < 0.0).all() for numbers in found)


@pytest.mark.parametrize("family", FAMILIES)
def test_sentences_keep_their_order_and_are_scored_alone_alike(family: str) -> None:
    scorer = SequentialScorer(model=_model(family), vocabulary=VOCABULARY)
    for sentence, together in zip(SENTENCES, scorer.word_log_probs(SENTENCES), strict=True):
        np.testing.assert_allclose(scorer.word_log_probs([sentence])[0], together, rtol=1e-5)


@pytest.mark.parametrize("family", ["lstm", "transformer"])
def test_scores_are_those_of_the_network_without_dropout(family: str) -> None:
    network = _model(family)
    assert isinstance(network, SequentialNetwork)
    scorer = SequentialScorer(model=network.train(), vocabulary=VOCABULARY)
    ids = [VOCABULARY.encode(words) for words in SENTENCES]
    with torch.no_grad():
        expected = network.eval().log_prob(make_batch(ids)).numpy()
    for row, found in enumerate(scorer.word_log_probs(SENTENCES)):
        np.testing.assert_allclose(found, expected[row, : len(found)], rtol=1e-5)


def test_unknown_words_are_scored_as_their_class() -> None:
    model = _model("ngram")
    assert isinstance(model, NgramModel)
    scorer = SequentialScorer(model=model, vocabulary=VOCABULARY)
    (found,) = scorer.word_log_probs([["zebra"]])
    assert found[0] == model.next_log_probs([])[UNKNOWN_ID]
    assert found[1] == model.next_log_probs([UNKNOWN_ID])[END_ID]


def test_a_word_is_the_sum_of_its_pieces() -> None:
    text = ["lower lowest newer newest wider widest"] * 20
    subwords = train_subwords(text, SubwordSettings(algorithm="bpe", pieces=20))
    vocabulary = subword_vocabulary(subwords, {}, labels=(), language="en")
    model = train_ngram(
        make_split(random_sentences(1, count=40, vocabulary_size=len(vocabulary))),
        vocabulary_size=len(vocabulary),
        order=3,
    )
    words = ["newest", "lower"]
    pieces = [subwords.encode(word, vocabulary) for word in words]
    assert max(len(piece) for piece in pieces) > 1
    per_piece = model.score([np.array([*pieces[0], *pieces[1]])])[0]
    first = len(pieces[0])
    expected = [per_piece[:first].sum(), per_piece[first:-1].sum(), per_piece[-1]]
    scorer = SequentialScorer(model=model, vocabulary=vocabulary, subwords=subwords)
    np.testing.assert_allclose(scorer.word_log_probs([words])[0], expected, rtol=1e-12)
