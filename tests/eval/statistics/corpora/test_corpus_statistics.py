"""Tests of corpus statistics."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from gardenpath.data.corpus import DataSettings
from gardenpath.data.readers.files import ToyTreebank
from gardenpath.data.readers.treebanks import PennTreebankSample
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.words.vocabulary import SPECIALS, UNKNOWN, Vocabulary, build_vocabulary
from gardenpath.eval.statistics.corpora import (
    REFLEXIVES,
    corpus_statistics,
    in_words,
    lengths_frame,
    statistics_frame,
    statistics_of,
    statistics_table,
    words_table,
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
        console.print(words_table(both))
    assert "45.5%" in captured.get() and "Counts of words" in captured.get()
    assert words_table(both[1:]) is None


def test_the_table_fits_80_columns() -> None:
    reader = ToyTreebank(grammar="english", train=200, valid=20, test=20)
    one = corpus_statistics(reader.read("train"), corpus="ptb_sample", split="train")
    large = replace(one, sentences=300_000, tokens=7_000_000, types=180_000, vocabulary=88_000)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(statistics_table([large]))
    assert "…" not in captured.get()


def test_a_corpus_needs_no_run(tmp_path: Path) -> None:
    reader = ToyTreebank(grammar="english", train=50, valid=20, test=20)
    data = DataSettings(name="toy", reader=reader, language="en")
    found = statistics_of(data, cache=tmp_path, words=("the",))
    assert [(one.corpus, one.split, one.sentences) for one in found] == [
        ("toy", "train", 50), ("toy", "valid", 20), ("toy", "test", 20),
    ]  # fmt: skip
    train = [sentence.words for sentence in reader.read("train")]
    assert found[0].longest == max(map(len, train)) and found[0].tokens == sum(map(len, train))
    vocabulary = data.preparation().prepare(tmp_path).vocabulary
    assert {one.vocabulary for one in found} == {len(vocabulary)}
    assert f"{found[0].tokens} tokens in 50 training sentences" in in_words(found[0])
