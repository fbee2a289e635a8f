"""Classes of words: of limited size, the same for the same corpus, and of similar contexts."""

from __future__ import annotations

import numpy as np
import pytest

from gardenpath.data.words.vocabulary import SPECIALS
from gardenpath.models import output as word_classes
from gardenpath.models.output import (
    NO_CLASS,
    class_count,
    classes_by_context,
    classes_by_frequency,
    most_in_class,
)
from tests.models.samples import make_split, random_sentences

NEVER = (0, 1)


def require_classes(found: np.ndarray, size: int) -> None:
    assert found.shape == (size,)
    assert (found[list(NEVER)] == NO_CLASS).all()
    words = np.delete(found, NEVER)
    assert words.min() >= 0 and words.max() < class_count(size)
    assert np.bincount(words).max() <= most_in_class(size)


@pytest.mark.parametrize("size", [4, 5, 30, 400])
def test_every_word_has_a_class_of_limited_size(size: int) -> None:
    require_classes(classes_by_frequency(size, NEVER), size)
    split = make_split(random_sentences(size, count=200, vocabulary_size=size))
    found = classes_by_context(split, size, NEVER)
    require_classes(found, size)
    assert np.array_equal(found, classes_by_context(split, size, NEVER))


def test_a_corpus_without_sentences_has_classes() -> None:
    require_classes(classes_by_context(make_split([]), 30, NEVER), 30)


def test_words_of_the_same_contexts_share_a_class() -> None:
    """Four kinds of words that follow each other; words of a kind are alike."""
    kinds, members = 4, 5
    random = np.random.default_rng(0)
    size = len(SPECIALS) + kinds * members
    sentences = [
        [len(SPECIALS) + kind * members + int(random.integers(members)) for kind in range(kinds)]
        for _ in range(400)
    ]
    found = classes_by_context(make_split(sentences), size, NEVER)
    classes = found[len(SPECIALS) :].reshape(kinds, members)
    of_kind = [set(row) for row in classes.tolist()]
    # No class contains words of two kinds.
    assert sum(map(len, of_kind)) == len(set().union(*of_kind))


def test_contexts_tell_more_about_learned_classes_than_about_others() -> None:
    split = make_split(_markov_sentences())
    size = 60
    learned = classes_by_context(split, size, NEVER)
    assert _information(split.tokens, learned) > _information(
        split.tokens, classes_by_frequency(size, NEVER)
    )


def _markov_sentences() -> list[list[int]]:
    """Each word is followed by few others, similar ones for words of the same remainder."""
    random = np.random.default_rng(1)
    sentences = []
    for _ in range(300):
        words = [int(random.integers(4, 60))]
        for _ in range(9):
            words.append(4 + (words[-1] % 7 + 7 * int(random.integers(8))) % 56)
        sentences.append(words)
    return sentences


def _information(tokens: np.ndarray, classes: np.ndarray) -> float:
    """Mutual information (nats) of a word and the class of the next."""
    table = np.zeros((60, class_count(60)))
    np.add.at(table, (tokens[:-1], classes[tokens[1:]]), 1.0)
    table /= table.sum()
    independent = table.sum(1, keepdims=True) * table.sum(0, keepdims=True)
    seen = table > 0
    return float((table[seen] * np.log(table[seen] / independent[seen])).sum())


def test_large_corpora_are_read_in_blocks_and_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    split = make_split(random_sentences(0, count=200, vocabulary_size=30))
    whole = classes_by_context(split, 30, NEVER)
    monkeypatch.setattr(word_classes, "_BLOCK_SENTENCES", 7)
    assert np.array_equal(classes_by_context(split, 30, NEVER), whole)
    monkeypatch.setattr(word_classes, "_MOST_TOKENS", len(split.tokens) // 3)
    assert not np.array_equal(classes_by_context(split, 30, NEVER), whole)
    monkeypatch.setattr(word_classes, "_CONTEXTS", 3)
    require_classes(classes_by_context(split, 30, NEVER), 30)
