"""N-gram models against the most obvious way: dictionaries and recursion."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.arrays import Bools, Ints
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.errors import RunError
from gardenpath.models.ngram.model import (
    ABSENT,
    FALLBACK_DISCOUNTS,
    NgramModel,
    NgramTable,
    count_ngrams,
    estimate_discounts,
    find_all,
    suffix_rows,
    train_ngram,
    train_unigram,
    with_boundaries,
)
from tests.models.ngram.oracles import next_log_probs
from tests.models.samples import make_split, random_sentences

BEGIN, END = 1, 2
NOT_PREDICTED = (0, BEGIN)

Gram = tuple[int, ...]


class SlowKneserNey:
    """The equations of Chen and Goodman (1998), one n-gram at a time."""

    def __init__(
        self, sentences: Sequence[Sequence[int]], *, order: int, vocabulary_size: int
    ) -> None:
        self._order = order
        self._size = vocabulary_size
        counts = [_count(sentences, length) for length in range(1, order + 1)]
        self._adjusted = [
            counts[-1] if length == order else _preceded(counts[length - 1], counts[length])
            for length in range(1, order + 1)
        ]
        for symbol in NOT_PREDICTED:
            self._adjusted[0].pop((symbol,), None)
        self._discounts = [discounts(list(level.values())) for level in self._adjusted]

    def probability(self, word: int, history: Sequence[int]) -> float:
        """Of a word after the begin symbol and a history."""
        padded = (BEGIN, *history)
        return self._interpolated(word, padded[-(self._order - 1) :] if self._order > 1 else ())

    def _interpolated(self, word: int, context: Gram) -> float:
        level = len(context)
        followers = {
            gram: count for gram, count in self._adjusted[level].items() if gram[:-1] == context
        }
        lower = self._lower(word, context)
        if not followers:
            return lower
        total = sum(followers.values())
        kept = sum(self._discount(level, count) for count in followers.values())
        count = followers.get((*context, word), 0)
        return (count - self._discount(level, count) + kept * lower) / total

    def _lower(self, word: int, context: Gram) -> float:
        if context:
            return self._interpolated(word, context[1:])
        return 0.0 if word in NOT_PREDICTED else 1.0 / (self._size - len(NOT_PREDICTED))

    def _discount(self, level: int, count: int) -> float:
        return 0.0 if count == 0 else self._discounts[level][min(count, 3) - 1]


def _count(sentences: Sequence[Sequence[int]], length: int) -> Counter[Gram]:
    counts: Counter[Gram] = Counter()
    for sentence in sentences:
        padded = (BEGIN, *sentence, END)
        for begin in range(len(padded) - length + 1):
            counts[padded[begin : begin + length]] += 1
    return counts


def _preceded(counts: Counter[Gram], longer: Counter[Gram]) -> Counter[Gram]:
    """How many different words precede each n-gram; counts where a sentence begins."""
    adjusted: Counter[Gram] = Counter()
    for gram, count in counts.items():
        precedes = sum(1 for candidate in longer if candidate[1:] == gram)
        adjusted[gram] = count if gram[0] == BEGIN else precedes
    return adjusted


def discounts(counts: Sequence[int]) -> tuple[float, float, float]:
    """D1, D2 and D3+ from counts of counts, or fixed ones where these do not allow it."""
    n1, n2, n3, n4 = (sum(1 for count in counts if count == k) for k in (1, 2, 3, 4))
    fallback = (0.5, 1.0, 1.5)
    if 0 in (n1, n2, n3, n4):
        return fallback
    y = n1 / (n1 + 2 * n2)
    d1, d2, d3 = 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3
    return (d1, d2, d3) if 0 < d1 <= 1 and 0 < d2 <= 2 and 0 < d3 <= 3 else fallback


# ----------------------------------------------------------------------------
# Kneser-Ney against a slow oracle, and the properties that every model must have.


SIZE = 8

corpora = st.lists(st.lists(st.integers(3, SIZE - 1), max_size=5), min_size=1, max_size=14)
contexts = st.lists(st.integers(3, SIZE - 1), max_size=5)


def _train(sentences: list[list[int]], *, order: int, size: int = SIZE) -> NgramModel:
    return train_ngram(make_split(sentences), vocabulary_size=size, order=order)


def _require_equal(
    model: NgramModel, oracle: SlowKneserNey, context: list[int], size: int = SIZE
) -> None:
    expected = [oracle.probability(word, context) for word in range(size)]
    found = np.exp(next_log_probs(model, context))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(sentences=corpora, context=contexts, order=st.integers(1, 5))
def test_probabilities_equal_those_of_the_oracle(
    sentences: list[list[int]], context: list[int], order: int
) -> None:
    model = _train(sentences, order=order)
    oracle = SlowKneserNey(sentences, order=order, vocabulary_size=SIZE)
    _require_equal(model, oracle, context)
    for length in range(len(sentences[0]) + 1):
        _require_equal(model, oracle, sentences[0][:length])


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_estimated_discounts_give_the_probabilities_of_the_oracle(order: int) -> None:
    """On a skewed corpus, where all counts of counts are there and no discount is a fallback."""
    generator = np.random.default_rng(order)
    size = 40
    sentences = [
        np.minimum(3 + generator.geometric(0.12, size=6), size - 1).tolist() for _ in range(120)
    ]
    model = _train(sentences, order=order, size=size)
    oracle = SlowKneserNey(sentences, order=order, vocabulary_size=size)
    for context in ([], sentences[0][:1], sentences[1][:3], sentences[2], [3, 3, 3, 3]):
        _require_equal(model, oracle, context, size)
    assert oracle._discounts[0] != FALLBACK_DISCOUNTS


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_scores_of_sentences_equal_those_of_the_oracle(order: int) -> None:
    sentences = random_sentences(order, count=30, vocabulary_size=SIZE)
    model = _train(sentences, order=order)
    oracle = SlowKneserNey(sentences, order=order, vocabulary_size=SIZE)
    unseen = random_sentences(99, count=6, vocabulary_size=SIZE)
    for sentence, scores in zip(unseen, model.score([np.array(s) for s in unseen]), strict=True):
        expected = [
            math.log(oracle.probability(word, sentence[:position]))
            for position, word in enumerate([*sentence, END_ID])
        ]
        np.testing.assert_allclose(scores, expected, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(sentences=corpora, context=contexts, order=st.integers(1, 5))
def test_probabilities_sum_to_one_after_any_context(
    sentences: list[list[int]], context: list[int], order: int
) -> None:
    probabilities = np.exp(next_log_probs(_train(sentences, order=order), context))
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    assert probabilities[[PAD_ID, BEGIN_ID]].tolist() == [0.0, 0.0]
    possible = np.delete(probabilities, [PAD_ID, BEGIN_ID])
    assert (possible > 0.0).all()


def test_discounts_by_hand() -> None:
    # n1 = 6, n2 = 3, n3 = 2, n4 = 1: Y = 6 / (6 + 2 · 3) = 1/2
    counts = np.array([1] * 6 + [2] * 3 + [3] * 2 + [4] + [9] * 5)
    expected = (1 - 2 * 0.5 * 3 / 6, 2 - 3 * 0.5 * 2 / 3, 3 - 4 * 0.5 * 1 / 2)
    assert estimate_discounts(counts) == pytest.approx(expected)
    assert expected == pytest.approx((0.5, 1.0, 2.0))


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ([1, 1, 2, 3], "no n-gram occurs four times"),
        ([], "there are no n-grams"),
        ([1, 1, 1, 1, 2, 3, 4], "D2 would be zero and leave nothing for unseen words"),
        ([1] * 10 + [2] + [3] * 5 + [4], "D2 would be negative"),
    ],
)
def test_fallback_discounts_where_no_estimate_is_possible(counts: list[int], why: str) -> None:
    assert estimate_discounts(np.array(counts, dtype=np.int64)) == FALLBACK_DISCOUNTS, why


def test_bigrams_by_hand() -> None:
    """One sentence, 'a b': all counts are one, so D1 = 1/2 throughout."""
    a, b = 4, 5
    model = _train([[a, b]], order=2, size=6)
    # Unigrams a, b and the end: each is preceded by one word; 4 words can be predicted.
    unigram = 0.5 / 3 + 0.5 * (1 / 4)
    unknown = 0.5 * (1 / 4)
    np.testing.assert_allclose(
        np.exp(next_log_probs(model, [])),
        [0, 0, 0.5 * unigram, 0.5 * unknown, 0.5 + 0.5 * unigram, 0.5 * unigram],
        rtol=1e-12,
    )


def test_ngrams_at_the_beginning_keep_their_counts() -> None:
    """'a' begins three sentences and 'b' one: p(a | <s>) must reflect 3 : 1, not 1 : 1."""
    a, b = 4, 5
    model = _train([[a], [a], [a], [b]], order=3, size=6)
    probabilities = np.exp(next_log_probs(model, []))
    oracle = SlowKneserNey([[a], [a], [a], [b]], order=3, vocabulary_size=6)
    # (3 - 1.5) / 4 and (1 - 0.5) / 4, and each its share of the rest.
    direct = probabilities[a] - probabilities[b]
    rest = (1.5 + 0.5) / 4 * (oracle._interpolated(a, ()) - oracle._interpolated(b, ()))
    assert direct == pytest.approx((3 - 1.5) / 4 - (1 - 0.5) / 4 + rest, rel=1e-12)


def test_a_corpus_of_one_empty_sentence() -> None:
    model = _train([[]], order=5)
    assert np.exp(next_log_probs(model, [])).sum() == pytest.approx(1.0)
    assert next_log_probs(model, []).argmax() == END_ID


# ----------------------------------------------------------------------------
# N-gram models: the add-one unigram, scoring, and files.


SIZE_NGRAM = 9


def _model(order: int = 4) -> NgramModel:
    split = make_split(random_sentences(1, count=50, vocabulary_size=SIZE_NGRAM))
    return train_ngram(split, vocabulary_size=SIZE_NGRAM, order=order)


def test_unigram_adds_one_to_each_count() -> None:
    # Words 4 (three times) and 5 (once), two ends; unknown and word 6 never.
    model = train_unigram(make_split([[4, 4], [4, 5]]), vocabulary_size=7)
    total = (3 + 1) + (1 + 1) + (2 + 1) + 1 + 1
    expected = [0, 0, 3 / total, 1 / total, 4 / total, 2 / total, 1 / total]
    np.testing.assert_allclose(np.exp(next_log_probs(model, [])), expected, rtol=1e-14)


def test_unigram_forgets_the_context() -> None:
    model = train_unigram(make_split([[4, 4], [4, 5]]), vocabulary_size=7)
    assert model.order == 1
    np.testing.assert_array_equal(next_log_probs(model, []), next_log_probs(model, [5, 6]))


def test_unigram_never_predicts_padding_or_the_begin_symbol() -> None:
    log_probs = next_log_probs(train_unigram(make_split([[4]]), vocabulary_size=7), [])
    assert log_probs[[PAD_ID, BEGIN_ID]].tolist() == [-math.inf, -math.inf]


def test_default_order_is_five() -> None:
    assert train_ngram(make_split([[4]]), vocabulary_size=SIZE_NGRAM).order == 5


@pytest.mark.parametrize("order", [1, 2, 5])
def test_score_is_the_sum_of_next_word_probabilities(order: int) -> None:
    model = _model(order)
    sentence = [4, 6, 3, 8]
    (scores,) = model.score([np.array(sentence)])
    expected = [
        next_log_probs(model, sentence[:position])[word]
        for position, word in enumerate([*sentence, END_ID])
    ]
    np.testing.assert_array_equal(scores, expected)


def test_sentences_are_scored_alone_or_together_alike() -> None:
    model = _model()
    sentences = [np.array(s) for s in random_sentences(2, count=12, vocabulary_size=SIZE_NGRAM)]
    for sentence, together in zip(sentences, model.score(sentences), strict=True):
        np.testing.assert_array_equal(model.score([sentence])[0], together)


def test_no_sentences_no_scores() -> None:
    assert _model().score([]) == []


def test_an_empty_sentence_has_an_end() -> None:
    model = _model()
    (scores,) = model.score([np.zeros(0, dtype=np.int64)])
    np.testing.assert_array_equal(scores, next_log_probs(model, [])[[END_ID]])


def test_save_and_load_keep_every_bit(tmp_path: Path) -> None:
    model = _model()
    model.save(tmp_path / "weights.safetensors")
    loaded = NgramModel.load(tmp_path / "weights.safetensors")
    assert (loaded.order, loaded.vocabulary_size) == (model.order, model.vocabulary_size)
    for context in ([], [4, 5], [8, 8, 8, 8]):
        np.testing.assert_array_equal(
            next_log_probs(loaded, context), next_log_probs(model, context)
        )


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


# ----------------------------------------------------------------------------
# N-gram tables against counting with dictionaries.


TRIE_SIZE = 9
TRIE_BEGIN, TRIE_END = 1, 2


def _text(sentences: list[list[int]]) -> tuple[Ints, Bools]:
    flat = np.array([token for sentence in sentences for token in sentence], dtype=np.int64)
    return with_boundaries(flat, np.array([len(sentence) for sentence in sentences]))


def _spell(tables: list[NgramTable], level: int, row: int) -> tuple[int, ...]:
    table = tables[level]
    word = int(table.words[row])
    return (word,) if level == 0 else (*_spell(tables, level - 1, int(table.contexts[row])), word)


def test_boundaries_stand_around_each_sentence() -> None:
    text, is_begin = _text([[4, 5], [], [6]])
    assert text.tolist() == [
        TRIE_BEGIN,
        4,
        5,
        TRIE_END,
        TRIE_BEGIN,
        TRIE_END,
        TRIE_BEGIN,
        6,
        TRIE_END,
    ]
    assert np.flatnonzero(is_begin).tolist() == [0, 4, 6]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_counts_equal_those_of_a_dictionary(order: int) -> None:
    sentences = random_sentences(order, count=40, vocabulary_size=TRIE_SIZE)
    text, is_begin = _text(sentences)
    tables, counts = count_ngrams(text, is_begin, order=order, vocabulary_size=TRIE_SIZE)
    for level in range(1, order):
        expected = Counter(
            tuple(padded[i : i + level + 1])
            for padded in ([TRIE_BEGIN, *sentence, TRIE_END] for sentence in sentences)
            for i in range(len(padded) - level)
        )
        found = {_spell(tables, level, row): int(n) for row, n in enumerate(counts[level])}
        assert found == dict(expected)


def test_first_table_lists_the_whole_vocabulary() -> None:
    text, is_begin = _text([[4]])
    tables, counts = count_ngrams(text, is_begin, order=2, vocabulary_size=TRIE_SIZE)
    assert len(tables[0]) == TRIE_SIZE
    assert counts[0].tolist() == [0, 1, 1, 0, 1, 0, 0, 0, 0]


def test_no_ngram_reaches_across_sentences() -> None:
    text, is_begin = _text([[4], [5]])
    tables, _ = count_ngrams(text, is_begin, order=3, vocabulary_size=TRIE_SIZE)
    grams = {_spell(tables, 2, row) for row in range(len(tables[2]))}
    assert grams == {(TRIE_BEGIN, 4, TRIE_END), (TRIE_BEGIN, 5, TRIE_END)}


def test_find_gives_rows_and_marks_what_is_absent() -> None:
    table = NgramTable(np.array([4 * TRIE_SIZE + 5, 4 * TRIE_SIZE + 7]), TRIE_SIZE)
    rows = table.find(np.array([4, 4, 4, ABSENT, 8]), np.array([5, 6, 7, 5, 8]))
    assert rows.tolist() == [0, ABSENT, 1, ABSENT, ABSENT]


def test_find_in_an_empty_table_finds_nothing() -> None:
    table = NgramTable(np.zeros(0, dtype=np.int64), TRIE_SIZE)
    assert table.find(np.array([0, 1]), np.array([2, 3])).tolist() == [ABSENT, ABSENT]


def test_find_all_finds_every_ngram_of_the_text_it_was_counted_on() -> None:
    text, is_begin = _text(random_sentences(7, count=20, vocabulary_size=TRIE_SIZE))
    tables, _ = count_ngrams(text, is_begin, order=3, vocabulary_size=TRIE_SIZE)
    for level, rows in enumerate(find_all(tables, text, is_begin)):
        since_begin = np.arange(len(text)) - np.maximum.accumulate(
            np.where(is_begin, np.arange(len(text)), 0)
        )
        assert ((rows != ABSENT) == (since_begin >= level)).all()
        position = int(np.flatnonzero(since_begin >= level)[-1])
        expected = tuple(text[position - level : position + 1].tolist())
        assert _spell(tables, level, int(rows[position])) == expected


def test_suffixes_lose_the_first_word() -> None:
    text, is_begin = _text(random_sentences(3, count=20, vocabulary_size=TRIE_SIZE))
    tables, _ = count_ngrams(text, is_begin, order=4, vocabulary_size=TRIE_SIZE)
    for order in (2, 3, 4):
        for row, suffix in enumerate(suffix_rows(tables, order).tolist()):
            assert _spell(tables, order - 2, suffix) == _spell(tables, order - 1, row)[1:]
