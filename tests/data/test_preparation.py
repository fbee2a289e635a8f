"""Preparing a corpus: the right content under the right key, whole or not at all."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gardenpath.data.corpus import DataSettings
from gardenpath.data.preparation import Advance, Preparation, PreparedCorpus
from gardenpath.data.readers.base import HASHES_FILE
from gardenpath.data.readers.files import BracketFiles, TextFiles, ToyTreebank
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import Kind, kind_of, top_down
from gardenpath.data.trees.tree import Open, Tree
from gardenpath.data.words.pieces import SubwordSettings
from gardenpath.errors import ConfigError, GardenpathError, MissingCorpusError, RunError

PIECES = SubwordSettings(algorithm="bpe", pieces=90)

TRAIN = """\
(S (NP-SBJ (DT The) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog))))
(S (NP-SBJ (DT The) (NN dog)) (VP (VBZ barks) (NP (-NONE- *))))
(S (NP-SBJ (NNS Cats)) (VP (VBP meow)))
(S (NP (-NONE- *)))
(S (NP (NNS cats)) (VP (VBP meow)))
"""
VALID = "(S (NP (DT The) (NNS cats)) (VP (VBP purr)))\n"
TEST = "(S (NP (NNP Anna)) (VP (VBZ meows)))\n(FRAG (NN cat))\n"


def write_corpus(folder: Path, train: str = TRAIN) -> None:
    folder.mkdir(exist_ok=True)
    for split, text in zip(SPLITS, (train, VALID, TEST), strict=True):
        (folder / f"{split}.txt").write_text(text)


def brackets(folder: Path, **settings: Any) -> Preparation:
    write_corpus(folder)
    chosen = {"cleaning": Cleaning(), "language": "en", **settings}
    return DataSettings(
        name="corpus", reader=BracketFiles(root=str(folder)), **chosen
    ).preparation()


def toy(**settings: Any) -> Preparation:
    reader = ToyTreebank(grammar="english", train=150, valid=30, test=20, seed=4)
    chosen = {"cleaning": Cleaning(), "language": "en", "min_count": 3, **settings}
    return DataSettings(name="corpus", reader=reader, **chosen).preparation()


def names(folder: Path) -> list[str]:
    """What a folder holds, locks and remembered hashes aside."""
    aside = {".locks", HASHES_FILE}
    return sorted(path.name for path in folder.iterdir() if path.name not in aside)


# ---- Content, against an encoding of one sentence after the other


def slow_tokens(corpus: PreparedCorpus, sentence: Sentence) -> list[list[int]]:
    """The tokens of each word."""
    if corpus.subwords is None:
        return [[token] for token in corpus.vocabulary.encode(sentence.words)]
    return [corpus.subwords.encode(word, corpus.vocabulary) for word in sentence.words]


def slow_actions(corpus: PreparedCorpus, tree: Tree, tokens: list[list[int]]) -> Iterator[int]:
    words = iter(tokens)
    for action in top_down(tree):
        if isinstance(action, Open):
            yield Kind.OPEN + corpus.vocabulary.label_ids[action.label]
        else:
            kind = kind_of(action)
            yield from [kind] * (len(next(words)) if kind is Kind.SHIFT else 1)


def assert_content(preparation: Preparation, corpus: PreparedCorpus) -> None:
    for name in SPLITS:
        split, sentences = corpus.split(name), list(preparation.sentences(name))
        assert len(split) == len(sentences) > 0
        assert corpus.sources(name) == [str(sentence.source) for sentence in sentences]
        for number, sentence in enumerate(sentences):
            tokens = slow_tokens(corpus, sentence)
            marks = [place == 0 for pieces in tokens for place in range(len(pieces))]
            begin, end = split.offsets[number : number + 2]
            assert split.sentence(number).tolist() == [t for pieces in tokens for t in pieces]
            assert split.starts_word[begin:end].tolist() == marks
            first, last = split.action_offsets[number : number + 2]
            tree = sentence.tree
            expected = [] if tree is None else list(slow_actions(corpus, tree, tokens))
            assert split.actions[first:last].tolist() == expected


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"subwords": PIECES},
        {"subwords": SubwordSettings(algorithm="unigram", pieces=90)},
        {"cleaning": Cleaning(keep_pos=True, lowercase=True), "min_count": 1},
        {"cleaning": Cleaning(max_tokens=8)},
    ],
)
def test_toy_corpus_is_encoded_as_sentence_by_sentence(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    preparation = toy(**settings)
    corpus = preparation.prepare(tmp_path)
    assert_content(preparation, corpus)
    assert (corpus.subwords is not None) == ("subwords" in settings)


def test_treebank_is_encoded_as_sentence_by_sentence(tmp_path: Path) -> None:
    preparation = brackets(tmp_path / "corpus")
    corpus = preparation.prepare(tmp_path / "cache")
    assert_content(preparation, corpus)
    assert corpus.sources("train") == [f"train.txt:{line}" for line in (1, 2, 3, 5)]
    assert corpus.vocabulary.labels == ("FRAG", "NP", "S", "VP")
    tokens = corpus.vocabulary.tokens
    train = corpus.split("train")
    assert [tokens[number] for number in train.sentence(0)] == [
        "The",
        "<unk-lc>",
        "<unk-lc-s>",
        "<unk-lc>",
        "dog",
    ]


@pytest.mark.parametrize(
    "subwords", [SubwordSettings(), SubwordSettings(algorithm="bpe", pieces=30)]
)
def test_text_is_encoded_as_sentence_by_sentence(tmp_path: Path, subwords: SubwordSettings) -> None:
    for split in SPLITS:
        (tmp_path / f"{split}.txt").write_text("the cat meows\n\nA cat sees the cats\n")
    preparation = DataSettings(
        name="corpus",
        reader=TextFiles(root=str(tmp_path)),
        cleaning=Cleaning(),
        language="en",
        subwords=subwords,
    ).preparation()
    corpus = preparation.prepare(tmp_path / "cache")
    assert_content(preparation, corpus)
    assert len(corpus.split("train").actions) == 0


def test_vocabulary_comes_from_training_alone(tmp_path: Path) -> None:
    vocabulary = brackets(tmp_path / "corpus", min_count=1).prepare(tmp_path).vocabulary
    assert vocabulary.knows("meow")
    assert not vocabulary.knows("Anna")
    assert not vocabulary.knows("*"), "traces are gone before words are counted"


# ---- Keys and the cache


def test_second_preparation_reads_nothing(tmp_path: Path) -> None:
    first = toy().prepare(tmp_path)

    def fail(_title: str) -> Any:
        raise AssertionError("prepared again")

    assert toy().prepare(tmp_path, progress=fail).folder == first.folder
    assert names(tmp_path) == [first.folder.name] == [toy().key()]


@pytest.mark.parametrize(
    "change",
    [
        {"min_count": 4},
        {"language": "zh"},
        {"cleaning": Cleaning(lowercase=True)},
        {"cleaning": Cleaning(max_tokens=10)},
        {"subwords": PIECES},
        {"subwords": SubwordSettings(algorithm="bpe", pieces=91)},
    ],
)
def test_key_follows_the_settings(change: dict[str, Any]) -> None:
    assert toy(**change).key() != toy().key()
    assert toy(**change).key() == toy(**change).key()


def test_key_follows_the_corpus(tmp_path: Path) -> None:
    before = brackets(tmp_path).key()
    assert brackets(tmp_path).key() == before
    write_corpus(tmp_path, train=TRAIN.replace("dog", "cow"))
    reader = BracketFiles(root=str(tmp_path))
    assert DataSettings(name="corpus", reader=reader, language="en").preparation().key() != before


def test_key_follows_the_kind_of_reader(tmp_path: Path) -> None:
    """The same file is a treebank to one reader and strange words to another."""
    before = brackets(tmp_path).key()
    text = DataSettings(
        name="corpus", reader=TextFiles(root=str(tmp_path)), language="en"
    ).preparation()
    assert text.key() != before


def test_damage_is_named(tmp_path: Path) -> None:
    folder = toy().prepare(tmp_path).folder
    path = folder / "train" / "tokens.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"tokens\.npy: is damaged") as caught:
        toy().prepare(tmp_path)
    assert f"delete {folder}" in str(caught.value)
    path.write_bytes(bytes(content[:-1]))
    with pytest.raises(RunError, match=r"tokens\.npy: is damaged"):
        toy().prepare(tmp_path)


# ---- Failures


def test_missing_corpus(tmp_path: Path) -> None:
    preparation = DataSettings(
        name="corpus",
        reader=BracketFiles(root=str(tmp_path / "none")),
        cleaning=Cleaning(),
        language="en",
    ).preparation()
    with pytest.raises(MissingCorpusError):
        preparation.prepare(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_empty_split(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match="the train split has no sentences"):
        brackets(tmp_path / "corpus", cleaning=Cleaning(max_tokens=1)).prepare(tmp_path / "cache")
    (tmp_path / "corpus" / "valid.txt").write_text("")
    reader = BracketFiles(root=str(tmp_path / "corpus"))
    preparation = DataSettings(name="corpus", reader=reader, language="en").preparation()
    with pytest.raises(GardenpathError, match="the valid split has no sentences"):
        preparation.prepare(tmp_path / "cache")
    assert names(tmp_path / "cache") == []


def test_failing_build_leaves_nothing(tmp_path: Path) -> None:
    too_many = SubwordSettings(algorithm="bpe", pieces=50_000)
    with pytest.raises(ConfigError):
        toy(subwords=too_many).prepare(tmp_path)
    write_corpus(tmp_path / "corpus", train=TRAIN + "(S (NP broken)\n")
    reader = BracketFiles(root=str(tmp_path / "corpus"))
    with pytest.raises(GardenpathError, match=r"train.txt:6"):
        DataSettings(name="corpus", reader=reader, language="en").preparation().prepare(
            tmp_path / "cache"
        )
    assert names(tmp_path / "cache") == []
    assert names(tmp_path) == ["cache", "corpus"]


# ---- Two processes at once


def prepare_together(cache: Path, barrier: Barrier, results: Queue[tuple[str, str, bool]]) -> None:
    """Begin together; tell what was found, and whether it was built here."""
    built = []

    @contextmanager
    def count(title: str) -> Iterator[Advance]:
        built.append(title)
        time.sleep(0.5)  # so that the other one comes while this one builds
        yield lambda _sentences: None

    barrier.wait(timeout=60)
    corpus = toy().prepare(cache, progress=count)
    results.put((str(corpus.folder), corpus.vocabulary.content_hash, bool(built)))


def test_two_processes_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(2), context.Queue()
    cache = tmp_path / "cache"
    processes = [
        context.Process(target=prepare_together, args=(cache, barrier, results)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    one, other = results.get(timeout=60), results.get(timeout=60)
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert one[:2] == other[:2]
    assert {one[2], other[2]} == {True, False}, "one builds, and the other waits for it"
    assert names(cache) == [toy().key()], "no temporary folders are left"
    alone = toy().prepare(tmp_path / "alone")
    assert alone.vocabulary.content_hash == one[1]
    for split in SPLITS:
        np.testing.assert_array_equal(
            alone.split(split).tokens, PreparedCorpus(Path(one[0])).split(split).tokens
        )
