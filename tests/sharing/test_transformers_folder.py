"""A Transformer rewritten as a GPT-2 computes the same function, in float64."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Config, GPT2LMHeadModel

from gardenpath.data.words.pieces import SubwordSettings, subword_vocabulary, train_subwords
from gardenpath.data.words.vocabulary import build_vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.models.sequential.family import DecoderSettings
from gardenpath.models.sequential.networks import TransformerNetwork
from gardenpath.sharing.transformers_folder import (
    EXCLUDED_IDS,
    Gpt2Weights,
    invented_words,
    shared_tokenizer,
)

VOCABULARY = 23


def _network(settings: DecoderSettings, scale: float) -> TransformerNetwork:
    """Weights at random, as large as ``scale`` says: also biases and norms."""
    torch.manual_seed(1)
    network = TransformerNetwork(settings, vocabulary_size=VOCABULARY).double().eval()
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=scale)
    return network


def _gpt2(weights: Gpt2Weights) -> Any:
    model = GPT2LMHeadModel(GPT2Config(**weights.config())).double().eval()
    model.load_state_dict(weights.state())
    return model


@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("scale", [1e-4, 0.3, 3.0])
def test_log_probabilities_are_the_same(heads: int, scale: float) -> None:
    """Also if states are so small that the norms' ε matters."""
    settings = DecoderSettings(layers=2, hidden=12, heads=heads, max_positions=10)
    network = _network(settings, scale)
    model = _gpt2(Gpt2Weights(network, settings))
    tokens = torch.randint(0, VOCABULARY, (4, 10))
    with torch.inference_mode():
        expected = network.output.logits(network.decoder(tokens)).log_softmax(-1)
        found = model(tokens).logits.log_softmax(-1)
    others = [one for one in range(VOCABULARY) if one not in EXCLUDED_IDS]
    assert torch.allclose(found[..., others], expected[..., others], rtol=1e-9, atol=1e-9)
    assert (found[..., list(EXCLUDED_IDS)].exp() == 0).all()
    assert torch.allclose(found[..., others].exp().sum(-1), torch.ones(4, 10).double())


def test_without_the_rewriting_the_numbers_differ() -> None:
    """The rows of excluded tokens, as they were trained, would take part of the probability."""
    settings = DecoderSettings(layers=1, hidden=12, heads=3, max_positions=10)
    network = _network(settings, 0.3)
    weights = Gpt2Weights(network, settings)
    model = _gpt2(weights)
    tokens = torch.randint(0, VOCABULARY, (1, 5))
    with torch.inference_mode():
        old = model.lm_head.weight.shape[1] - 3
        for number in EXCLUDED_IDS:
            model.lm_head.weight[number] = 0.0
            model.lm_head.weight[number, :old] = network.output.linear.weight[number]
        found = model(tokens).logits.softmax(-1)
    assert (found[..., list(EXCLUDED_IDS)].sum(-1) > 1e-3).all()


# ----------------------------------------------------------------------------
# Tokenisers of shared runs give the ids of the run.


TEXT = [
    "the king hears the kings and the singer sings .",
    "an old queen that the kings see is singing kindly .",
    "the queens were older , and the king was kinder than the singers .",
    "国王 看见 了 我们 的 歌 。",
    "3 . 5 % of it 's 1,000 don't well-known",
]
SUBWORDS = {
    "unigram": train_subwords(TEXT * 3, SubwordSettings(algorithm="unigram", pieces=60)),
    "bpe": train_subwords(TEXT * 3, SubwordSettings(algorithm="bpe", pieces=90)),
}
VOCABULARIES = {
    name: subword_vocabulary(one, Counter(), labels=[], language="en")
    for name, one in SUBWORDS.items()
}
TOKENIZERS = {
    name: shared_tokenizer(VOCABULARIES[name], SUBWORDS[name], lowercase=False, most=None)[0]
    for name in SUBWORDS
}


@given(
    words=st.lists(
        st.text(alphabet="thekingsqurodl,.'1国王的Ωß\u00a0", min_size=1, max_size=12), max_size=5
    )
)
def test_pieces_are_those_of_sentencepiece(words: list[str]) -> None:
    subwords, vocabulary = SUBWORDS["bpe"], VOCABULARIES["bpe"]
    expected = [number for word in words for number in subwords.encode(word, vocabulary)]
    found = TOKENIZERS["bpe"](" ".join(words), add_special_tokens=False)["input_ids"]
    assert found == expected


@given(word=st.text(alphabet="thekingsqurodl,.'10国王的Ωß\u00a0", min_size=1, max_size=12))
def test_unigram_pieces_are_those_of_sentencepiece_or_equally_good(word: str) -> None:
    subwords, vocabulary = SUBWORDS["unigram"], VOCABULARIES["unigram"]
    expected = subwords.encode(word, vocabulary)
    found = TOKENIZERS["unigram"](word, add_special_tokens=False)["input_ids"]
    assert found == expected or sorted(found) == sorted(expected)


@pytest.mark.slow
def test_words_that_can_be_divided_in_two_ways_are_counted() -> None:
    """*000* is *0 00* and *00 0*; BPE has no such words."""
    for algorithm, expected in (("unigram", True), ("bpe", False)):
        vocabulary, subwords = VOCABULARIES[algorithm], SUBWORDS[algorithm]
        _, ties = shared_tokenizer(vocabulary, subwords, lowercase=False, most=None)
        assert (0 < ties < 0.2) == expected and (ties == 0) != expected


@pytest.mark.parametrize("algorithm", ["unigram", "bpe"])
def test_sentences_begin_with_one_symbol_and_can_be_read_again(algorithm: str) -> None:
    tokenizer = TOKENIZERS[algorithm]
    for text in TEXT:
        ids = tokenizer(text)["input_ids"]
        assert ids[0] == 1 and ids.count(1) == 1
        assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_words_of_the_vocabulary_keep_their_ids() -> None:
    counts = {(word, False): 2 for text in TEXT for word in text.split()}
    vocabulary = build_vocabulary(
        {**counts, ("o\u00a0k", False): 2, ("zebra", False): 1},
        labels=[], language="en", min_count=2,
    )  # fmt: skip
    tokenizer, ties = shared_tokenizer(vocabulary, None, lowercase=False, most=40)
    assert ties == 0
    for text in [*TEXT, "the o\u00a0k king"]:
        ids = tokenizer(text)["input_ids"]
        assert ids == [1, *vocabulary.encode(text.split(" "))]
    assert tokenizer.model_max_length == 40
    assert tokenizer("<unk-lc> king").tokens() == ["<s>", "<unk-lc>", "king"]


def test_a_word_that_the_tokeniser_would_divide_is_refused() -> None:
    vocabulary = build_vocabulary({("a b", False): 1}, labels=[], language="en", min_count=1)
    with pytest.raises(GardenpathError, match="the word 'a b' has the ids"):
        shared_tokenizer(vocabulary, None, lowercase=False, most=None)


def test_invented_words_are_the_same_every_time() -> None:
    subwords, vocabulary = SUBWORDS["bpe"], VOCABULARIES["bpe"]
    words = invented_words(vocabulary, subwords, 50)
    assert words == invented_words(vocabulary, subwords, 50)
    assert len(set(words)) > 40 and all(word and "▁" not in word for word in words)
