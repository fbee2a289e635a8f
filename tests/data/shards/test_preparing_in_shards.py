"""Preparation in shards: the same bytes with any number of processes, killed or not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gardenpath.data import preparation as shard
from gardenpath.data import preparation as workers
from gardenpath.data.corpus import CombinedCorpus, CorpusPart, DataSettings
from gardenpath.data.preparation import Advance, Preparation, SentenceBlock, Shard
from gardenpath.data.readers import base as file_hashes
from gardenpath.data.readers import base as pieces
from gardenpath.data.readers.base import CorpusForm, Reader, write_corpus
from gardenpath.data.readers.files import BracketFiles, TextFiles, ToyTreebank
from gardenpath.data.sentence import SPLITS
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.pieces import SubwordSettings
from gardenpath.errors import GardenpathError, RunError, TreeError
from tests.concurrency.kills import killed_before_step

PROCESSES = (1, 2, 3)


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pieces, shard):
        monkeypatch.setattr(module, "PIECE_BYTES", 2000)
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


def test_shards_give_the_sentences_of_the_corpus(corpus: Path, tmp_path: Path) -> None:
    for made in (of_brackets(corpus), combined(corpus)):
        prepared = made.prepare(tmp_path / "cache", processes=2)
        for split in SPLITS:
            sentences = list(made.sentences(split))
            assert prepared.sources(split) == [str(one.source) for one in sentences]
            lengths = [len(one.words) for one in sentences]
            assert prepared.split(split).lengths.tolist() == lengths


def test_progress_counts_all_sentences(corpus: Path, tmp_path: Path) -> None:
    counted: list[int] = []

    @contextmanager
    def counting(_title: str) -> Iterator[Advance]:
        yield counted.append

    of_brackets(corpus).prepare(tmp_path / "cache", processes=2, progress=counting)
    assert sum(counted) == 160
    assert len(counted) > 20, "while it is read, not at the end"


# ---- Errors


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


def test_a_killed_process_is_named_and_what_was_read_is_kept(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = shard.read_shard

    def die(one: Shard, folder: Path, advance: Advance) -> None:
        if "-00002-" in one.name:
            os.kill(os.getpid(), signal.SIGKILL)
        read(one, folder, advance)

    with monkeypatch.context() as patch:
        patch.setattr(workers, "read_shard", die)
        with pytest.raises(RunError, match=r"has ended \(exit code -9\).*preparation_processes"):
            of_brackets(corpus).prepare(tmp_path / "cache", processes=2)
    assert len(hidden(tmp_path / "cache")) == 1
    expected = content(of_brackets(corpus).prepare(tmp_path / "alone").folder)
    assert content(of_brackets(corpus).prepare(tmp_path / "cache").folder) == expected


def test_a_corpus_that_changes_meanwhile_is_refused(corpus: Path, tmp_path: Path) -> None:
    @contextmanager
    def change(_title: str) -> Iterator[Advance]:
        yield lambda _sentences: None
        (corpus / "test.txt").write_text("(S (NN cat))\n")

    with pytest.raises(GardenpathError, match="has changed while it was prepared"):
        of_brackets(corpus).prepare(tmp_path / "cache", progress=change)
    assert [path.name for path in (tmp_path / "cache").glob("[!.]*")] == []


# ---- Killed and started again


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
from gardenpath.data.readers import pieces
from gardenpath.data.shards import shard
pieces.PIECE_BYTES = shard.PIECE_BYTES = 2000
shard.BLOCK_SENTENCES = 7
from tests.data.shards.test_preparing_in_shards import of_brackets
of_brackets(Path(sys.argv[1])).prepare(Path(sys.argv[2]), processes=2)
"""


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
from gardenpath.data.readers import file_hashes
file_hashes._LEAST_AGE = -(10**12)
from tests.data.shards.test_preparing_in_shards import of_brackets
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


def test_an_unchanged_corpus_is_not_opened(corpus: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert _opened(corpus, cache) > 3
    assert _opened(corpus, cache) == 0
    (corpus / "valid.txt").write_text((corpus / "test.txt").read_text())
    assert _opened(corpus, cache) > 3
    assert len(list(cache.glob("[!.]*"))) == 2


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
