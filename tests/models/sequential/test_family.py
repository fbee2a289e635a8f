"""Word probabilities from pieces: a distribution over words, for every sequential model."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from gardenpath.data.encoding import EncodedSplit, PieceSets
from gardenpath.data.words.pieces import (
    Boundary,
    Subwords,
    SubwordSettings,
    subword_vocabulary,
    train_subwords,
)
from gardenpath.data.words.vocabulary import END_ID, SPECIALS, UNKNOWN_ID, Vocabulary
from gardenpath.models.ngram.model import NgramModel, NgramScorer, masses_after, train_ngram
from gardenpath.models.output import SequentialNetwork
from gardenpath.models.sequential.family import DecoderSettings, LstmSettings
from gardenpath.models.sequential.networks import LstmNetwork, SequentialScorer, TransformerNetwork
from tests.models.samples import make_split, random_sentences

TEXT = ["lower lowest newer newest wider widest low new wide king kings"] * 20
FAMILIES = ("ngram", "lstm", "transformer")
BOUNDARIES: tuple[Boundary, ...] = ("none", "next", "leading")

# One word is a sequence of a beginning and any number of continuations.
SUBWORDS = train_subwords(["ab ba a b"] * 10, SubwordSettings(algorithm="bpe", pieces=5))
PIECES = Vocabulary(
    tokens=(*SPECIALS, "▁a", "▁b", "a", "ab", "b"),
    counts=(0,) * 9,
    labels=(),
    language="en",
    min_count=1,
    subword_hash="given",
)
BEGINNINGS, CONTINUATIONS = (4, 5), (UNKNOWN_ID, 6, 7, 8)


def _model(family: str, size: int) -> SequentialNetwork | NgramModel:
    torch.manual_seed(0)
    if family == "lstm":
        return LstmNetwork(LstmSettings(hidden=8, embedding=8), vocabulary_size=size).double()
    if family == "transformer":
        settings = DecoderSettings(layers=2, hidden=8, heads=2)
        return TransformerNetwork(settings, vocabulary_size=size).double()
    split = make_split(random_sentences(0, count=60, vocabulary_size=size))
    return train_ngram(split, vocabulary_size=size, order=3)


def _scorer(
    family: str,
    vocabulary: Vocabulary = PIECES,
    subwords: Subwords = SUBWORDS,
    *,
    boundary: Boundary = "next",
    share_prefixes: bool = True,
) -> SequentialScorer | NgramScorer:
    model = _model(family, len(vocabulary))
    if isinstance(model, NgramModel):
        return NgramScorer(model=model, vocabulary=vocabulary, subwords=subwords, boundary=boundary)
    return SequentialScorer(
        model=model,
        vocabulary=vocabulary,
        subwords=subwords,
        boundary=boundary,
        share_prefixes=share_prefixes,
    )


def _split(sentences: list[list[tuple[int, ...]]]) -> EncodedSplit:
    """Sentences as lists of words, which are given as pieces."""
    tokens = [piece for words in sentences for word in words for piece in word]
    starts = [n == 0 for words in sentences for word in words for n in range(len(word))]
    lengths = [sum(map(len, words)) for words in sentences]
    return EncodedSplit(
        tokens=np.array(tokens, dtype=np.int32),
        starts_word=np.array(starts, dtype=bool),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(len(sentences) + 1, dtype=np.int64),
    )


def _words(longest: int) -> list[tuple[int, ...]]:
    return [
        (first, *rest)
        for length in range(longest)
        for first in BEGINNINGS
        for rest in itertools.product(CONTINUATIONS, repeat=length)
    ]


PREFIXES: list[list[tuple[int, ...]]] = [[], [(4,)], [(5, 6), (4, 7, 8)]]


# "<unk>" begins no word here, and is no continuation, because "▁" is no piece of its own.
def test_pieces_that_can_follow_a_word() -> None:
    assert PieceSets(PIECES).follows_word.tolist() == [True] * 6 + [False] * 3
    marked = Vocabulary(
        tokens=(*PIECES.tokens, "▁"), counts=(0,) * 10, labels=(), language="en", min_count=1,
        subword_hash="given",
    )  # fmt: skip
    assert not PieceSets(marked).follows_word[UNKNOWN_ID]
    assert PieceSets(marked).follows_word[END_ID]


def test_whole_words_have_no_continuations() -> None:
    words = Vocabulary(
        tokens=(*SPECIALS, "a", "b"), counts=(0,) * 6, labels=(), language="en", min_count=1
    )
    assert PieceSets(words).follows_word.all()


def test_pieces_that_begin_alike() -> None:
    sets = PieceSets(PIECES)
    named = {
        PIECES.tokens[token]: {PIECES.tokens[one] for one in sets.alike(token).tolist()}
        for token in range(len(PIECES))
    }
    assert named["a"] == {"a", "ab"}
    assert named["▁a"] == {"▁a"}
    assert named["ab"] == {"ab"}
    assert named["</s>"] == {"</s>"}


@pytest.mark.parametrize("prefix", PREFIXES, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_probabilities_of_words_add_up_to_one(
    family: str, prefix: list[tuple[int, ...]]
) -> None:
    """Words of up to three pieces, all longer ones, and the end."""
    vocabulary = Vocabulary(
        tokens=(*PIECES.tokens, "▁"), counts=(0,) * 10, labels=(), language="en", min_count=1,
        subword_hash="given",
    )  # fmt: skip
    beginnings = (*BEGINNINGS, 9)
    words = [
        (first, *rest)
        for length in range(3)
        for first in beginnings
        for rest in itertools.product(CONTINUATIONS, repeat=length)
    ]
    scorer = _scorer(family, vocabulary)
    found = scorer.split_log_probs(_split([[*prefix, word] for word in words]))
    total = sum(math.exp(scores[len(prefix)]) for scores in found)
    total += math.exp(scorer.split_log_probs(_split([prefix]))[0][-1])
    longer = [(*word, one) for word in words if len(word) == 3 for one in CONTINUATIONS]
    # The beginnings of longer words, whatever follows.
    plain = _scorer(family, vocabulary, boundary="none")
    before = plain.split_log_probs(_split([[*prefix, word] for word in longer]))
    begins = _mass_of_beginnings(plain, prefix, beginnings)
    total += sum(math.exp(scores[len(prefix)]) for scores in before) / begins
    assert total == pytest.approx(1.0, abs=1e-12)


def _mass_of_beginnings(
    plain: SequentialScorer | NgramScorer,
    prefix: list[tuple[int, ...]],
    beginnings: tuple[int, ...],
) -> float:
    each = plain.split_log_probs(_split([[*prefix, (one,)] for one in beginnings]))
    end = plain.split_log_probs(_split([prefix]))[0][-1]
    return sum(math.exp(scores[len(prefix)]) for scores in each) + math.exp(end)


def _of_one_word(boundary: Boundary) -> NgramScorer:
    """A model of a language with one word, of the pieces ▁b, a and b."""
    split = make_split([[5, 6, 8, 5, 6, 8]] * 30)
    return NgramScorer(
        model=train_ngram(split, vocabulary_size=len(PIECES), order=3),
        vocabulary=PIECES,
        subwords=SUBWORDS,
        boundary=boundary,
    )


def test_a_word_can_lose_against_a_longer_one() -> None:
    """Its pieces alone are always at least as probable as with one more."""
    begun = _split([[(5,)], [(5, 6)], [(5, 6, 8)]])
    plain = [scores[0] for scores in _of_one_word("none").split_log_probs(begun)]
    assert plain[0] > plain[1] > plain[2]
    assert sum(map(math.exp, plain)) > 1.5
    corrected = [scores[0] for scores in _of_one_word("next").split_log_probs(begun)]
    assert corrected[0] < corrected[2] > corrected[1]
    assert 0.5 < math.exp(corrected[2]) < sum(map(math.exp, corrected)) <= 1.0


@pytest.mark.parametrize("family", FAMILIES)
def test_leading_sums_over_all_pieces_that_begin_alike(family: str) -> None:
    """One character after the other: the sum over what follows is the probability before."""
    scorer, plain = _scorer(family, boundary="leading"), _scorer(family, boundary="none")
    # After ▁b: "a" stands for a and ab.
    with_a = scorer.split_log_probs(_split([[(5, 6)]]))[0][0]
    single = plain.split_log_probs(_split([[(5, 6)], [(5, 7)]]))
    expected = math.log(sum(math.exp(scores[0]) for scores in single))
    assert with_a == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_words_add_up_to_the_sentence(family: str, boundary: Boundary) -> None:
    sentence: list[tuple[int, ...]] = [(4, 6), (5,), (5, 7, 8)]
    scorer = _scorer(family, boundary=boundary)
    plain = _scorer(family, boundary="none")
    found = scorer.split_log_probs(_split([sentence]))[0].sum()
    expected = plain.split_log_probs(_split([sentence]))[0].sum()
    if boundary == "next":  # sentences begin with a word
        expected -= math.log(_mass_of_beginnings(plain, [], BEGINNINGS) + _unknown(plain))
    assert found == pytest.approx(expected, abs=1e-12)


def _unknown(plain: SequentialScorer | NgramScorer) -> float:
    return math.exp(plain.split_log_probs(_split([[(UNKNOWN_ID,)]]))[0][0])


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_equal_beginnings_batches_and_order(family: str, boundary: Boundary) -> None:
    sentences: list[list[tuple[int, ...]]] = [
        [(4,), (5, 6)], [(4,), (5, 6), (4, 8)], [(5,)], [(4,), (5, 6), (5,)], [(4, 7)],
        [(4,), (5,)],
    ]  # fmt: skip
    scorer = _scorer(family, boundary=boundary)
    together = scorer.split_log_probs(_split(sentences))
    apart = _scorer(family, boundary=boundary, share_prefixes=False)
    for sentence, scores in zip(sentences, together, strict=True):
        np.testing.assert_allclose(
            scores, scorer.split_log_probs(_split([sentence]))[0], atol=1e-12
        )
    for scores, other in zip(together, apart.split_log_probs(_split(sentences)), strict=True):
        np.testing.assert_allclose(scores, other, atol=1e-12)
    np.testing.assert_allclose(together[0][:2], together[1][:2], atol=1e-12)
    turned = scorer.split_log_probs(_split(sentences[::-1]))[::-1]
    for scores, other in zip(together, turned, strict=True):
        np.testing.assert_allclose(scores, other, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_words_as_text(family: str) -> None:
    """The same through words and a trained segmentation; next is the correction, none the sum."""
    subwords = train_subwords(TEXT, SubwordSettings(algorithm="bpe", pieces=30))
    vocabulary = subword_vocabulary(subwords, {}, labels=(), language="en")
    words = [["king"], ["kings", "low"]]
    plain = _scorer(family, vocabulary, subwords, boundary="none").word_log_probs(words)
    corrected = _scorer(family, vocabulary, subwords).word_log_probs(words)
    assert [len(one) for one in corrected] == [2, 3]
    assert all((one < 0.0).all() for one in corrected)
    assert abs(corrected[1] - plain[1]).max() > 1e-3


def test_masses_of_ngrams_after_every_context() -> None:
    """Compared with the distribution after each context, which is summed."""
    model = _model("ngram", len(PIECES))
    assert isinstance(model, NgramModel)
    is_member = PieceSets(PIECES).follows_word
    masses = masses_after(model, is_member)
    for token in range(len(PIECES)):
        expected = np.exp(model.last_log_probs([([token], False, n) for n in range(9)]))
        assert masses[1][token] == pytest.approx(expected[is_member].sum(), abs=1e-12)
    table = model.tables[1]
    for row, (context, word) in enumerate(zip(table.contexts, table.words, strict=True)):
        history = [int(context), int(word)]
        expected = np.exp(model.last_log_probs([(history, False, n) for n in range(9)]))
        assert masses[2][row] == pytest.approx(expected[is_member].sum(), abs=1e-12)
