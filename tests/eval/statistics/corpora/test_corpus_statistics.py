"""Tests of corpus statistics."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from gardenpath.data.data_settings import DataSettings
from gardenpath.data.readers.nltk_corpora import PennTreebankSample
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.words.unknown_words import UNKNOWN
from gardenpath.data.words.vocabulary import SPECIALS, Vocabulary, build_vocabulary
from gardenpath.eval.statistics.corpora.corpus_statistics import (
    REFLEXIVES,
    corpus_statistics,
    lengths_frame,
    statistics_frame,
    statistics_table,
)

TEXT = ("the cat saw itself", "The dog saw the cat", "dogs sleep")


def _sentences() -> list[Sentence]:
    return [Sentence(tuple(t.split()), Source("t", n)) for n, t in enumerate(TEXT)]


def _vocabulary(subword_hash: str | None = None) -> Vocabulary:
    tokens = (*SPECIALS, "the", "cat", "saw")
    return Vocabulary(tokens, (0,) * len(tokens), (), "en", 2, subword_hash)


def test_a_small_text_is_counted() -> None:
    found = corpus_statistics(
        _sentences(), corpus="c", split="train", vocabulary=_vocabulary(), words=("the", "itself")
    )
    assert (found.sentences, found.tokens, found.types) == (3, 11, 8)
    assert (found.vocabulary, found.unknown) == (7, 5)
    assert found.unknown_rate == pytest.approx(5 / 11)
    assert found.lengths == {2: 1, 4: 1, 5: 1}
    assert found.words == {"the": 3, "itself": 1}
    assert found.mean_length == pytest.approx(11 / 3)
    assert [found.length_quantile(share) for share in (0.0, 0.5, 1.0)] == [2, 4, 5]


def test_pieces_of_words_are_never_unknown() -> None:
    found = corpus_statistics(
        _sentences(), corpus="c", split="train", vocabulary=_vocabulary("hash")
    )
    assert found.unknown is None and found.unknown_rate is None
    assert corpus_statistics([], corpus="c", split="s").mean_length == 0.0


def test_counts_agree_with_the_prepared_corpus(tmp_path: Path) -> None:
    reader = ToyTreebank(grammar="english", train=300, valid=50, test=50)
    preparation = DataSettings(name="corpus", reader=reader, language="en").preparation()
    prepared = preparation.prepare(tmp_path)
    found = corpus_statistics(
        preparation.sentences("train"),
        corpus="toy",
        split="train",
        vocabulary=prepared.vocabulary,
        words=REFLEXIVES,
    )
    split = prepared.split("train")
    assert (found.sentences, found.tokens) == (len(split), split.word_count)
    tokens = prepared.vocabulary.tokens
    unknown = sum(
        count
        for token, count in zip(tokens, prepared.vocabulary.counts, strict=True)
        if token == UNKNOWN or token.startswith("<unk-")
    )
    assert found.unknown == unknown


def test_reflexives_of_the_penn_treebank_sample(nltk_root: str) -> None:
    sentences = list(PennTreebankSample(root=nltk_root).read("test"))
    counts = Counter(word.lower() for sentence in sentences for word in sentence.words)
    vocabulary = build_vocabulary(
        {(word, False): count for word, count in counts.items()},
        labels=(),
        language="en",
        min_count=2,
    )
    found = corpus_statistics(
        sentences, corpus="ptb_sample", split="test", vocabulary=vocabulary, words=REFLEXIVES
    )
    assert found.words == {word: counts[word] for word in REFLEXIVES}
    assert sum(n * c for n, c in found.lengths.items()) == found.tokens
    median = np.median([len(sentence.words) for sentence in sentences])
    assert found.length_quantile(0.5) == pytest.approx(median, abs=0.5)


def test_tables() -> None:
    both = [
        corpus_statistics(
            _sentences(), corpus="a", split="train", vocabulary=_vocabulary(), words=("the",)
        ),
        corpus_statistics(_sentences()[:1], corpus="b", split="test"),
    ]
    frame = statistics_frame(both)
    assert frame["sentences"].tolist() == [3, 1]
    assert frame["count_the"].tolist()[0] == 3
    lengths = lengths_frame(both)
    assert lengths.groupby("corpus")["sentences"].sum().to_dict() == {"a": 3, "b": 1}
    console = Console(width=160, record=True, file=None, quiet=False)
    with console.capture() as captured:
        console.print(statistics_table(both))
    assert "45.5%" in captured.get()
