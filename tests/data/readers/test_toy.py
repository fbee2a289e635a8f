"""Toy treebanks: deterministic, of the size asked for, each split by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gardenpath.data.readers.files import ToyTreebank
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.errors import InputError

LANGUAGES = pytest.mark.parametrize("grammar", ["english", "mandarin"])


def read(grammar: str, split: str, **settings: Any) -> list[Sentence]:
    chosen = {"train": 60, "valid": 30, "test": 20, **settings}
    return list(ToyTreebank(grammar=grammar, **chosen).read(split))


@LANGUAGES
def test_sizes_and_sources(grammar: str) -> None:
    assert [len(read(grammar, split)) for split in SPLITS] == [60, 30, 20]
    sources = [str(sentence.source) for sentence in read(grammar, "valid")]
    assert sources == [f"{grammar}-valid:{number}" for number in range(1, 31)]


@LANGUAGES
def test_default_sizes(grammar: str) -> None:
    reader = ToyTreebank(grammar=grammar)
    assert [sum(1 for _ in reader.read(split)) for split in SPLITS] == [8000, 500, 500]


@LANGUAGES
def test_same_seed_same_corpus(grammar: str) -> None:
    for split in SPLITS:
        assert read(grammar, split, seed=3) == read(grammar, split, seed=3)
        assert read(grammar, split, seed=3) != read(grammar, split, seed=4)


def test_corpus_is_the_same_everywhere() -> None:
    """Published results depend on it: the first sentences for seed 0."""
    first = [" ".join(read(grammar, "train")[0].words) for grammar in ("english", "mandarin")]
    assert first == [
        "it was the boats that these librarians steered suddenly .",
        "如果 毕业 的 老板 围住 认真 的 记者 ， "
        "张伟 应该 拜访 这 位 批评 过 警察 认识 的 工人 的 老人 。",
    ]


@LANGUAGES
def test_resizing_one_split_leaves_the_others(grammar: str) -> None:
    larger = {"train": 100}
    assert read(grammar, "train", **larger)[:60] == read(grammar, "train")
    for split in ("valid", "test"):
        assert read(grammar, split, **larger) == read(grammar, split)


@LANGUAGES
def test_splits_differ_whatever_the_seed(grammar: str) -> None:
    beginnings = {
        tuple(sentence.words for sentence in read(grammar, split, seed=seed)[:10])
        for split in SPLITS
        for seed in range(4)
    }
    assert len(beginnings) == 12


@LANGUAGES
def test_words_are_those_of_the_tree(grammar: str) -> None:
    known = set(ToyTreebank(grammar=grammar).rules.words)
    for sentence in read(grammar, "train"):
        assert sentence.tree is not None
        assert sentence.words == sentence.tree.words()
        assert set(sentence.words) <= known


def test_grammar_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "cats.pcfg"
    path.write_text("%start S\nS -> N V\nN : cats\nV : meow\n")
    (sentence,) = read(str(path), "test", test=1)
    assert (str(sentence.tree), str(sentence.source)) == ("(S (N cats) (V meow))", "cats-test:1")


def test_fingerprint(tmp_path: Path) -> None:
    before = ToyTreebank(grammar="english").fingerprint()
    assert ToyTreebank(grammar="english").fingerprint() == before
    assert ToyTreebank(grammar="english", seed=1).fingerprint() != before
    assert ToyTreebank(grammar="english", valid=400).fingerprint() != before
    assert ToyTreebank(grammar="mandarin").fingerprint() != before


def test_missing_grammar() -> None:
    reader = ToyTreebank(grammar="klingon")
    with pytest.raises(InputError, match=r"klingon: cannot be opened.*english, mandarin"):
        reader.fingerprint()
    with pytest.raises(InputError, match="klingon: cannot be opened"):
        list(reader.read("train"))
