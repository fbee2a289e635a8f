"""Every model gives one log probability per word, and one for the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given

from gardenpath.data.sentence import Sharing
from gardenpath.data.words.pieces import SubwordSettings, subword_vocabulary, train_subwords
from gardenpath.data.words.vocabulary import END_ID, UNKNOWN_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.family import OutputKind
from gardenpath.models.ngram.model import NgramModel, NgramScorer, train_ngram
from gardenpath.models.output import SequentialNetwork
from gardenpath.models.sequential import networks as scoring
from gardenpath.models.sequential.family import DecoderSettings, LstmSettings
from gardenpath.models.sequential.networks import (
    LstmNetwork,
    PrefixBatch,
    SequentialScorer,
    TransformerNetwork,
)
from tests.data.test_sentence import JOBS, one_trie, prefixes_of
from tests.models.ngram.oracles import next_log_probs
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
    output: OutputKind = "factored" if "factored" in family else "full"
    if "lstm" in family:
        settings = LstmSettings(hidden=8, embedding=8, dropout=0.5, output=output)
        return LstmNetwork(settings, vocabulary_size=SIZE)
    if "transformer" in family:
        return TransformerNetwork(
            DecoderSettings(layers=2, hidden=8, heads=2, dropout=0.5, output=output),
            vocabulary_size=SIZE,
        )
    split = make_split(random_sentences(0, count=30, vocabulary_size=SIZE))
    return train_ngram(split, vocabulary_size=SIZE, order=3)


WordScorer = SequentialScorer | NgramScorer


def _scorer(
    model: SequentialNetwork | NgramModel, **settings: Any
) -> NgramScorer | SequentialScorer:
    settings = {"vocabulary": VOCABULARY, **settings}
    if isinstance(model, NgramModel):
        return NgramScorer(model=model, **settings)
    return SequentialScorer(model=model, **settings)


SHARING = ("lstm", "transformer", "factored lstm", "factored transformer")
FAMILIES = ("ngram", *SHARING)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_number_per_word_and_one_for_the_end(family: str) -> None:
    scores = _scorer(_model(family))
    found = scores.word_log_probs(SENTENCES)
    assert [len(numbers) for numbers in found] == [6, 2, 4, 31]
    assert all(numbers.dtype == np.float64 and (numbers < 0.0).all() for numbers in found)


@pytest.mark.parametrize("family", FAMILIES)
def test_sentences_keep_their_order_and_are_scored_alone_alike(family: str) -> None:
    scorer = _scorer(_model(family))
    for sentence, together in zip(SENTENCES, scorer.word_log_probs(SENTENCES), strict=True):
        np.testing.assert_allclose(scorer.word_log_probs([sentence])[0], together, rtol=1e-5)


@pytest.mark.parametrize("family", ["lstm", "transformer"])
def test_scores_are_those_of_the_network_without_dropout(family: str) -> None:
    network = _model(family)
    assert isinstance(network, SequentialNetwork)
    scorer = _scorer(network.train())
    ids = [VOCABULARY.encode(words) for words in SENTENCES]
    with torch.no_grad():
        expected = network.eval().log_prob(make_batch(ids)).numpy()
    for row, found in enumerate(scorer.word_log_probs(SENTENCES)):
        np.testing.assert_allclose(found, expected[row, : len(found)], rtol=1e-5)


def test_unknown_words_are_scored_as_their_class() -> None:
    model = _model("ngram")
    assert isinstance(model, NgramModel)
    scorer = _scorer(model)
    (found,) = scorer.word_log_probs([["zebra"]])
    assert found[0] == next_log_probs(model, [])[UNKNOWN_ID]
    assert found[1] == next_log_probs(model, [UNKNOWN_ID])[END_ID]


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
    scorer = _scorer(model, vocabulary=vocabulary, subwords=subwords)
    np.testing.assert_allclose(scorer.word_log_probs([words])[0], expected, rtol=1e-12)


# Minimal pairs: equal sentences, one that begins another, an empty one.
PAIRS = [
    words.split()
    for words in (
        "the cat sees the dog",
        "the dog sees the cat sleeps",
        "the cat sees the cat",
        "the cat sees",
        "",
        "the zebra sees the dog",
        "the cat sees the dog",
        "the cat sees the dog the dog",
        "the dog sees the dog sleeps",
    )
]


def _on_and_off(
    family: str, sentences: list[list[str]], dtype: torch.dtype
) -> tuple[list[np.ndarray], list[np.ndarray], WordScorer]:
    model = _model(family)
    if isinstance(model, SequentialNetwork):
        # Large weights, so that scores differ from each other by more than rounding.
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight), alpha=0.5)
        model = model.to(dtype)
    shared = _scorer(model)
    alone = _scorer(model, **({} if isinstance(model, NgramModel) else {"share_prefixes": False}))
    found, expected = shared.word_log_probs(sentences), alone.word_log_probs(sentences)
    total = sum(len(words) + 1 for words in sentences)
    assert alone.sharing == Sharing(total, total)
    assert shared.sharing.tokens == total
    return found, expected, shared


PRECISIONS = [(torch.float64, 1e-9), (torch.float32, 1e-5)]


@pytest.mark.parametrize("family", SHARING)
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
@pytest.mark.parametrize("most", [1, 12, 512])
def test_shared_prefixes_change_no_score(
    family: str, dtype: torch.dtype, tolerance: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LstmNetwork, "most_prefixes", most)
    monkeypatch.setattr(TransformerNetwork, "most_prefixes", most)
    monkeypatch.setattr(scoring, "_LEAST_SAVED", 0.0)
    found, expected, scorer = _on_and_off(family, PAIRS, dtype)
    assert [len(scores) for scores in found] == [len(words) + 1 for words in PAIRS]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    # Even the smallest trie holds sentences that are equal.
    assert scorer.sharing.computed < scorer.sharing.tokens


@pytest.mark.parametrize("family", SHARING)
@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_many_random_sentences_share_prefixes(
    family: str, dtype: torch.dtype, tolerance: float
) -> None:
    sentences = [
        [VOCABULARY.tokens[token] for token in tokens]
        for tokens in random_sentences(3, count=400, vocabulary_size=SIZE, longest=12)
    ]
    sentences += [[*words[:-1], "cat"] for words in sentences]
    found, expected, scorer = _on_and_off(family, sentences, dtype)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
    assert 0.3 < scorer.sharing.saved < 0.7


def test_ngrams_share_nothing() -> None:
    found, expected, scorer = _on_and_off("ngram", PAIRS, torch.float64)
    assert scorer.sharing.saved == 0.0
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_computed_is_each_distinct_prefix_with_what_follows() -> None:
    scorer = _scorer(_model("lstm"))
    scorer.word_log_probs([["the", "cat", "sleeps"], ["the", "cat"], ["the", "dog"]])
    # the; cat, sleeps, end; end after cat; dog, end
    assert scorer.sharing == Sharing(tokens=10, computed=7)
    assert scorer.word_log_probs([]) == []
    assert scorer.sharing == Sharing(tokens=0, computed=0)


@pytest.mark.parametrize("family", SHARING)
def test_sentences_that_share_little_are_scored_in_ordinary_batches(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = [["the", *["dog"] * 9], ["the", *["cat"] * 9]]
    shared_and_not, expected, scorer = _on_and_off(family, sentences, torch.float32)
    assert scorer.sharing.saved == 0.0
    for one, other in zip(shared_and_not, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(scoring, "_LEAST_SAVED", 0.0)
    scorer.word_log_probs(sentences)
    assert scorer.sharing == Sharing(tokens=22, computed=21)


@pytest.mark.parametrize("family", ["lstm", "transformer"])
@pytest.mark.parametrize("share_prefixes", [True, False])
def test_all_tensors_are_on_the_device_of_the_scorer(family: str, share_prefixes: bool) -> None:
    scorer = _scorer(_model(family), device="cpu", share_prefixes=share_prefixes)
    expected = scorer.word_log_probs(PAIRS)
    assert (scorer.sharing.saved > 0.2) == share_prefixes
    torch.set_default_device("meta")
    try:
        found = scorer.word_log_probs(PAIRS)
    finally:
        torch.set_default_device(None)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("share_prefixes", [True, False])
def test_sentences_beyond_the_positions_of_a_model_are_refused(share_prefixes: bool) -> None:
    model = TransformerNetwork(
        DecoderSettings(layers=1, hidden=4, heads=1, max_positions=5), vocabulary_size=SIZE
    )
    scorer = _scorer(model, share_prefixes=share_prefixes)
    # Together they have more prefixes than there are positions, but none is too long.
    pairs = [["the", "cat", "sees", "dog"], ["the", "cat", "sees", "cat"], ["the", "cat", "dog"]]
    assert len(scorer.word_log_probs(pairs)) == 3
    with pytest.raises(GardenpathError, match="has 5 symbols, but the model has positions for 4"):
        scorer.word_log_probs([[*words, "cat"] for words in pairs])


# ----------------------------------------------------------------------------
# Tries as tensors.


@given(JOBS)
def test_the_tensors_are_the_arrays(sentences: list[list[int]]) -> None:
    trie = one_trie(sentences)
    batch = PrefixBatch.of(trie)
    for name in ("tokens", "parents", "depths", "first", "last", "contexts", "targets"):
        assert getattr(batch, name).tolist() == getattr(trie, name).tolist()
    assert batch.sizes == tuple(np.bincount(trie.depths))


@given(JOBS)
def test_ancestors_are_the_beginnings_of_a_prefix(sentences: list[list[int]]) -> None:
    trie = one_trie(sentences)
    prefixes = prefixes_of(trie)
    expected = [[row[: len(column)] == column for column in prefixes] for row in prefixes]
    assert PrefixBatch.of(trie).is_ancestor().tolist() == expected
