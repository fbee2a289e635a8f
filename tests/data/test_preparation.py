"""Preparation in shards: the same bytes with any number of processes, killed or not."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gardenpath.data import preparation as shard
from gardenpath.data import preparation as workers
from gardenpath.data.corpus import CombinedCorpus, CorpusPart, DataSettings
from gardenpath.data.preparation import Preparation, PreparedCorpus, SentenceBlock, Shard
from gardenpath.data.readers import base as file_hashes
from gardenpath.data.readers import base as pieces
from gardenpath.data.readers.base import HASHES_FILE, CorpusForm, Reader, write_corpus
from gardenpath.data.readers.files import BracketFiles, TextFiles, ToyTreebank
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.legality import Kind, kind_of, top_down
from gardenpath.data.trees.tree import Open, Tree
from gardenpath.data.words.pieces import SubwordSettings
from gardenpath.errors import ConfigError, GardenpathError, MissingCorpusError, RunError, TreeError
from gardenpath.workers import Advance
from tests.concurrency.kills import killed_before_step

PROCESSES = (1, 2, 3)


@pytest.fixture
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 2000)
    monkeypatch.setattr(shard, "BLOCK_SENTENCES", 7)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Trees of the toy grammar, with parts of speech."""
    return write_toy(tmp_path / "corpus")


def write_toy(folder: Path, train: int = 120, form: CorpusForm = "trees") -> Path:
    toy = ToyTreebank(grammar="english", train=train, valid=20, test=20)
    write_corpus(folder, {split: toy.read(split) for split in SPLITS}, form=form)
    return folder


def preparation(reader: Reader, **settings: Any) -> Preparation:
    return DataSettings(name="corpus", reader=reader, language="en", **settings).preparation()


def of_brackets(folder: Path, **settings: Any) -> Preparation:
    return preparation(BracketFiles(root=str(folder)), **settings)


def content(folder: Path) -> dict[str, bytes]:
    """All files of a prepared corpus, except the manifest, which contains the time."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def hidden(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.name.endswith((".unfinished", ".part"))]


# ---- The same with any number of processes


def combined(folder: Path) -> Preparation:
    toy = ToyTreebank(grammar="english", train=30, valid=10, test=10)
    parts = {
        "own": CorpusPart(
            name="own", language="en", reader=BracketFiles(root=str(folder)), max_train_tokens=9
        ),
        "toy": CorpusPart(name="toy", language="en", reader=toy),
    }
    return preparation(CombinedCorpus(parts=parts), cleaning=Cleaning(max_tokens=14))


@pytest.mark.usefixtures("_small_shards")
@pytest.mark.parametrize(
    "make",
    [
        of_brackets,
        lambda folder: of_brackets(folder, cleaning=Cleaning(max_tokens=9, keep_pos=True)),
        lambda folder: of_brackets(
            folder, subwords=SubwordSettings(algorithm="unigram", pieces=60)
        ),
        lambda folder: preparation(TextFiles(root=str(write_toy(folder / "words", form="text")))),
        lambda _: preparation(ToyTreebank(grammar="english", train=50, valid=9, test=14)),
        combined,
    ],
    ids=["brackets", "cleaned", "subwords", "text", "toy", "combined"],
)
def test_the_number_of_processes_changes_nothing(corpus: Path, tmp_path: Path, make: Any) -> None:
    found = []
    for processes in PROCESSES:
        cache = tmp_path / f"cache{processes}"
        found.append(content(make(corpus).prepare(cache, processes=processes).folder))
        assert hidden(cache) == []
    assert found[0] == found[1] == found[2]


@pytest.mark.usefixtures("_small_shards")
def test_shards_give_the_sentences_of_the_corpus(corpus: Path, tmp_path: Path) -> None:
    for made in (of_brackets(corpus), combined(corpus)):
        prepared = made.prepare(tmp_path / "cache", processes=2)
        for split in SPLITS:
            sentences = list(made.sentences(split))
            assert prepared.sources(split) == [str(one.source) for one in sentences]
            lengths = [len(one.words) for one in sentences]
            assert prepared.split(split).lengths.tolist() == lengths


@pytest.mark.usefixtures("_small_shards")
def test_progress_counts_all_sentences(corpus: Path, tmp_path: Path) -> None:
    counted: list[int] = []

    @contextmanager
    def counting(_title: str) -> Iterator[Advance]:
        yield counted.append

    of_brackets(corpus).prepare(tmp_path / "cache", processes=2, progress=counting)
    assert sum(counted) == 160
    assert len(counted) > 20, "while it is read, not at the end"


# ---- Errors


@pytest.mark.usefixtures("_small_shards")
@pytest.mark.parametrize("processes", PROCESSES)
def test_the_first_error_is_raised_with_its_line(
    corpus: Path, tmp_path: Path, processes: int
) -> None:
    path = corpus / "train.txt"
    lines = path.read_text().splitlines()
    for number in (60, 90):
        lines[number - 1] = "(S (NP ) x)"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(TreeError, match=r"train\.txt:60: empty constituent"):
        of_brackets(corpus).prepare(tmp_path / "cache", processes=processes)
    assert hidden(tmp_path / "cache") == [], "a corrected corpus has another key"


_READ_SHARD = shard.read_shard


def read_or_die(one: Shard, advance: Advance, **settings: Any) -> None:
    """Kill the process, a worker, that reads a certain shard."""
    if "-00002-" in one.name:
        os.kill(os.getpid(), signal.SIGKILL)
    _READ_SHARD(one, advance, **settings)


@pytest.mark.usefixtures("_small_shards")
def test_a_killed_process_is_named_and_what_was_read_is_kept(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(workers, "read_shard", read_or_die)
        with pytest.raises(RunError, match=r"has ended \(exit code -9\).*preparation_processes"):
            of_brackets(corpus).prepare(tmp_path / "cache", processes=2)
    assert len(hidden(tmp_path / "cache")) == 1
    expected = content(of_brackets(corpus).prepare(tmp_path / "alone").folder)
    assert content(of_brackets(corpus).prepare(tmp_path / "cache").folder) == expected


@pytest.mark.usefixtures("_small_shards")
def test_a_corpus_that_changes_meanwhile_is_refused(corpus: Path, tmp_path: Path) -> None:
    @contextmanager
    def change(_title: str) -> Iterator[Advance]:
        yield lambda _sentences: None
        (corpus / "test.txt").write_text("(S (NN cat))\n")

    with pytest.raises(GardenpathError, match="has changed while it was prepared"):
        of_brackets(corpus).prepare(tmp_path / "cache", progress=change)
    assert [path.name for path in (tmp_path / "cache").glob("[!.]*")] == []


# ---- Killed and started again


@pytest.mark.usefixtures("_small_shards")
@pytest.mark.parametrize("step", [5, 20, 45, 70, 100])
def test_a_killed_preparation_resumes(corpus: Path, tmp_path: Path, step: int) -> None:
    cache = tmp_path / "cache"
    expected = content(of_brackets(corpus).prepare(tmp_path / "alone").folder)
    assert killed_before_step(step, lambda: _prepare_alone(corpus, cache), cache)
    kept = {path.name for path in cache.glob(".*.unfinished/*.npz")}
    written: list[str] = []
    save = SentenceBlock.save

    def note(block: SentenceBlock, path: Path) -> None:
        written.append(path.name)
        save(block, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SentenceBlock, "save", note)
        assert content(of_brackets(corpus).prepare(cache).folder) == expected
    assert (len(kept) > 3) == (step > 20)
    assert not kept & set(written), "finished blocks are used"
    assert hidden(cache) == []


def _prepare_alone(corpus: Path, cache: Path) -> None:
    of_brackets(corpus).prepare(cache, processes=1)


@pytest.mark.usefixtures("_small_shards")
def test_a_damaged_block_is_read_again(corpus: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = content(of_brackets(corpus).prepare(tmp_path / "alone").folder)
    assert killed_before_step(60, lambda: _prepare_alone(corpus, cache), cache)
    path = sorted(cache.glob(".*.unfinished/*.npz"))[1]
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 3] ^= 1
    path.write_bytes(damaged)
    assert content(of_brackets(corpus).prepare(cache).folder) == expected


_KILLED = """
import sys
from pathlib import Path
from gardenpath.data import preparation
from gardenpath.data.readers import base
base.PIECE_BYTES = 2000
preparation.BLOCK_SENTENCES = 7
from tests.data.test_preparation import of_brackets
of_brackets(Path(sys.argv[1])).prepare(Path(sys.argv[2]), processes=2)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("_small_shards")
def test_processes_end_with_a_killed_parent(tmp_path: Path) -> None:
    corpus, cache = write_toy(tmp_path / "corpus", train=700), tmp_path / "cache"
    process = subprocess.Popen([sys.executable, "-c", _KILLED, str(corpus), str(cache)])
    while not (kept := list(cache.glob(".*.unfinished/*.npz"))) and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert kept, "killed while it read"
    before = -1
    while (count := len(list(cache.glob(".*.unfinished/*")))) != before:  # until all have ended
        before = count
        time.sleep(1.5)
    prepared = of_brackets(corpus).prepare(cache, processes=2)
    expected = of_brackets(corpus).prepare(tmp_path / "alone", processes=1)
    assert content(prepared.folder) == content(expected.folder)


# ---- An unchanged corpus

_OPENED = """
import sys
from pathlib import Path
from gardenpath.data.readers import base
base._LEAST_AGE = -(10**12)
from tests.data.test_preparation import of_brackets
opened = []
root = sys.argv[1]
sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" else None)
of_brackets(Path(root)).prepare(Path(sys.argv[2]))
print(sum(str(path).startswith(root) for path in opened))
"""


def _opened(corpus: Path, cache: Path) -> int:
    """The number of times that a start, in a new process, opens a file of the corpus."""
    command = [sys.executable, "-c", _OPENED, str(corpus), str(cache)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.usefixtures("_small_shards")
def test_an_unchanged_corpus_is_not_opened(corpus: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert _opened(corpus, cache) > 3
    assert _opened(corpus, cache) == 0
    (corpus / "valid.txt").write_text((corpus / "test.txt").read_text())
    assert _opened(corpus, cache) > 3
    assert len(list(cache.glob("[!.]*"))) == 2


@pytest.mark.usefixtures("_small_shards")
def test_treebanks_of_many_files_are_not_opened_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gardenpath.data.readers.treebanks import PennTreebank

    monkeypatch.setattr(file_hashes, "_LEAST_AGE", -(10**12))
    for number in (201, 202, 2201, 2301):
        (tmp_path / f"wsj_{number:04d}.mrg").write_text("( (S (NP (NN cat))) )\n" * 3)
    made = preparation(PennTreebank(root=str(tmp_path)))
    first = made.prepare(tmp_path / "cache")
    assert len(first.split("train")) == 6
    read: list[Path] = []
    monkeypatch.setattr(file_hashes, "sha256_of", read.append)
    assert made.prepare(tmp_path / "cache").folder == first.folder
    assert read == []


# ----------------------------------------------------------------------------
# Preparing a corpus: the right content under the right key, whole or not at all.


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


def write_corpus_preparation(folder: Path, train: str = TRAIN) -> None:
    folder.mkdir(exist_ok=True)
    for split, text in zip(SPLITS, (train, VALID, TEST), strict=True):
        (folder / f"{split}.txt").write_text(text)


def brackets(folder: Path, **settings: Any) -> Preparation:
    write_corpus_preparation(folder)
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
    write_corpus_preparation(tmp_path, train=TRAIN.replace("dog", "cow"))
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
    write_corpus_preparation(tmp_path / "corpus", train=TRAIN + "(S (NP broken)\n")
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
