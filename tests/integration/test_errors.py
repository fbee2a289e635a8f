"""What users do wrong and what systems refuse: one line, exit code 2, nothing half-written."""

from __future__ import annotations

import errno
import gzip
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from safetensors import SafetensorError

from gardenpath.errors import os_problem
from gardenpath.models import weights as tensor_files
from gardenpath.store import files
from gardenpath.store.surprisals import SurprisalStore
from tests.integration.commands import ROOT, call, start
from tests.toy_runs import NARROW, arguments, evaluate, run_of

TREES = "(S (NP the boys) (VP knew) .)\n(S (NP the men) (VP knew) .)\n"
TEXT = "the boys knew .\nthe men knew .\n"
TABLE = "item,sentence\n1,the boys knew .\n2,the men knew .\n"
INPUTS = {
    "csv": (TABLE.encode(), "is a CSV table, not sentences"),
    "tsv": (TABLE.replace(",", "\t").encode(), "is a TSV table, not sentences"),
    "json": (b'{"sentence": "the boys knew ."}\n', "is JSON, not sentences"),
    "yaml": (b"items:\n  - the boys knew .\n", "is YAML, not sentences"),
    "gzip": (gzip.compress(TEXT.encode()), "is a gzip archive"),
    "utf16": (TEXT.encode("utf-16"), "is UTF-16 text"),
    "empty": (b"", "contains no sentences"),
    "blank": (b" \n\t\n", "contains no sentences"),
    "mixed": ((TEXT + TREES).encode(), ":3: is a bracketed tree"),
    "paragraph": (b"the boys knew . " * 500, ":1: has 2,000 words"),
    "mandarin": ("男孩 知道 。\n".encode(), "100% of 3 words are unknown (男孩, 知道, 。)"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_input_that_is_not_sentences_of_the_model(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, problem = INPUTS[name]
    path = tmp_path / "input.txt"
    path.write_bytes(content)
    for task, model in (("surprisal", "ngram"), ("parse", "rnng")):
        output = tmp_path / task
        given = arguments(folder, output, f"task={task}", f"input={path}", model=model)
        assert call("evaluate.py", *given) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ") and problem in said
        assert len(said.splitlines()) == 1
        assert not output.exists()


def test_unknown_words_can_be_asked_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "input.txt"
    path.write_text("男孩 知道 。\n", encoding="utf-8")
    given = ("task=surprisal", f"input={path}", "task.allow_unknown=true")
    evaluate(folder, tmp_path / "out", *given, model="ngram")
    assert "ngram/seed1: 100% of 3 words are unknown" in capsys.readouterr().out
    assert (tmp_path / "out" / "surprisal.tsv").is_file()


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_all_ends_of_lines(folder: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / "input.txt"
    path.write_bytes(TEXT.replace("\n", ending).encode())
    evaluate(folder, tmp_path / "out", "task=surprisal", f"input={path}", model="ngram")
    table = pd.read_csv(tmp_path / "out" / "surprisal.tsv", sep="\t", comment="#")
    assert table["sentence_id"].max() == 2


@pytest.mark.slow
def test_training_on_trees_as_text_is_refused(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(TREES, encoding="utf-8")
    common = (f"data.root={tmp_path}", "model=ngram", "paths.runs=runs", "paths.cache=cache")
    ended = start("train.py", "data=text", *common, folder=tmp_path)
    assert ended.returncode == 2
    assert f"{tmp_path / 'train.txt'}:1: is a bracketed tree" in ended.stderr
    assert "data=brackets" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize("task", ["export", "corpus"])
def test_other_tasks_refuse_trees_as_text(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(TREES, encoding="utf-8")
    given = (f"task={task}", "data=text", f"data.root={tmp_path}", f"output={tmp_path / 'out'}",
             f"paths.cache={tmp_path / 'cache'}", f"run={tmp_path}")  # fmt: skip
    assert call("evaluate.py", *given) == 2
    assert "train.txt:1: is a bracketed tree" in capsys.readouterr().err


def test_text_as_brackets_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(TEXT, encoding="utf-8")
    given = ("task=export", "data=brackets", f"data.root={tmp_path}", f"output={tmp_path / 'o'}",
             f"run={tmp_path}")  # fmt: skip
    assert call("evaluate.py", *given) == 2
    said = capsys.readouterr().err
    assert "train.txt:1: the leaf 'the' has no label" in said and "data=text" in said


def test_the_share_of_unusable_items_is_the_first_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("suite=islands", "suite.items=12", "task.allow_unknown=true")
    evaluate(folder, tmp_path, *given, model="ngram")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0].startswith("ngram (toy_english): ")
    assert "items have unknown critical words" in lines[0]
    assert any("tests left out: " in line for line in lines)
    summary = pd.read_csv(tmp_path / "islands" / "summary.csv")
    few = summary["usable"] < 10
    assert few.any() and summary.loc[few, ["low", "high"]].isna().all(axis=None)
    page = (tmp_path / "islands" / "report.html").read_text(encoding="utf-8")
    assert page.index("Items with unknown critical words: ") < page.index("<h2>Accuracy")


# ----------------------------------------------------------------------------
# Errors of the operating system: one line with the path and the remedy, and nothing is lost.


Set = Callable[[Path], str]


@contextmanager
def _failing(number: int, *, below: Path, at: str) -> Iterator[None]:
    """Let the operating system refuse to create, or to finish, files below a folder."""

    def refuse(path: object) -> None:
        if os.fspath(str(path)).startswith(str(below)):
            raise OSError(number, os.strerror(number), None if at == "flush" else str(path))

    with pytest.MonkeyPatch.context() as patch:
        real: Any = getattr(*_PLACES[at])

        def instead(*given: Any, **named: Any) -> Any:
            refuse(named.get("dir", given[0] if given else ""))
            return real(*given, **named)

        patch.setattr(*_PLACES[at], instead)
        yield


_PLACES: dict[str, tuple[Any, str]] = {
    "create": (tempfile, "mkstemp"),
    "folder": (tempfile, "mkdtemp"),
    "flush": (files, "_flush"),
}


def _file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    return path


def _link(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


# What is at the place of the output folder, or of another path.
PATHS: dict[str, Set] = {
    "a file": lambda place: str(_file(place / "taken")),
    "below a file": lambda place: str(_file(place / "taken") / "below"),
    "too long a name": lambda place: str(place / ("n" * 300)),
    "a link to nothing": lambda place: str(_link(place / "link", place / "absent" / "x")),
    "below a link to nothing": lambda place: str(_link(place / "link", place / "absent") / "x"),
    "links in a circle": lambda place: str(_link(place / "link", place / "link")),
}

EVALUATE = {
    "surprisal": ("task=surprisal",),
    "perplexity": ("task=perplexity",),
    "suite": ("suite=toy_english", "suite.items=1", "task.report=false", "task.perplexity=false"),
    "report": ("suite=toy_english", "suite.items=1", "task.perplexity=false"),
}


def _evaluate(task: str, folder: Path, tmp_path: Path, *settings: str) -> int:
    text = tmp_path / "text.txt"
    text.write_text("the boys knew .\n", encoding="utf-8")
    given = [*EVALUATE[task], f"run={run_of(folder, 'ngram').path}",
             f"paths.cache={folder / 'cache'}", f"paths.surprisals={tmp_path / 's.sqlite'}",
             *NARROW]  # fmt: skip
    given += [f"input={text}"] if task == "surprisal" else []
    return call("evaluate.py", *given, *settings)


def _train(tmp_path: Path, *settings: str) -> int:
    small = ("data.reader.train=30", "data.reader.valid=5", "data.reader.test=5", "model=unigram")
    return call(
        "train.py", *small, f"paths.cache={tmp_path / 'cache'}",
        f"paths.runs={tmp_path / 'runs'}", *settings,
    )  # fmt: skip


def _one_line(printed: str) -> str:
    """The message: one line that begins with ``error:`` and has a remedy."""
    assert "Traceback" not in printed
    (line,) = [one for one in printed.splitlines() if one.startswith("error: ")]
    has_remedy = re.search(r"\(.+\)|; ", line)
    assert has_remedy, line
    return line


@pytest.mark.parametrize(
    ("task", "kind"),
    [*((task, kind) for task in ("surprisal", "suite") for kind in PATHS),
     ("report", "a file"), ("perplexity", "a file")],
)  # fmt: skip
def test_an_output_that_cannot_be_written(
    task: str, kind: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = PATHS[kind](tmp_path)
    before = sorted(tmp_path.iterdir())
    code = _evaluate(task, folder, tmp_path, f"output={path}")
    assert code == 2
    assert tmp_path.name in _one_line(capfd.readouterr().err)
    after = [one for one in sorted(tmp_path.iterdir()) if one.name != "text.txt"]
    assert [one for one in after if not one.name.startswith((".s.", "s."))] == before


@pytest.mark.parametrize("name", ["run_dir", "paths.cache"])
@pytest.mark.parametrize("kind", PATHS)
def test_a_training_that_cannot_write(
    kind: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = _train(tmp_path, f"{name}={PATHS[kind](tmp_path)}")
    printed = capfd.readouterr()
    if code == 0:
        assert kind.endswith("to nothing")
        return
    assert code == 2
    assert tmp_path.name in _one_line(printed.err)


@pytest.mark.parametrize("kind", [*PATHS, "a folder"])
def test_a_store_that_cannot_be_written(
    kind: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path) if kind == "a folder" else PATHS[kind](tmp_path)
    code = _evaluate(
        "surprisal", folder, tmp_path, f"paths.surprisals={path}", f"output={tmp_path / 'out'}"
    )
    if code == 0:  # the link is replaced by the file, or its target is created
        assert "link" in kind and SurprisalStore(Path(path)).path.is_file()
        return
    assert code == 2
    assert tmp_path.name in _one_line(capfd.readouterr().err)


@pytest.mark.parametrize("kind", [*PATHS, "a folder"])
def test_an_input_that_cannot_be_read(
    kind: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if kind == "a file":
        return  # that is what an input is
    path = str(tmp_path) if kind == "a folder" else PATHS[kind](tmp_path)
    code = _evaluate("surprisal", folder, tmp_path, f"input={path}", f"output={tmp_path / 'out'}")
    assert code == 2
    assert tmp_path.name in _one_line(capfd.readouterr().err)


NUMBERS = [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO, errno.EMFILE]


CASES = [*((number, "create") for number in NUMBERS), (errno.ENOSPC, "flush"),
         (errno.EROFS, "folder"), (errno.EACCES, "folder")]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("number", "at"), CASES)
def test_a_disk_that_refuses(
    number: int, at: str, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Full, read-only, without permission, over quota, broken, or too many open files."""
    output = tmp_path / "out"
    # A full disk in all tasks; of the other errors, one task shows what all do.
    for task in EVALUATE if (number, at) == CASES[0] else ("suite",):
        with _failing(number, below=output, at=at):
            assert _evaluate(task, folder, tmp_path, f"output={output}") == 2
        line = _one_line(capfd.readouterr().err)
        assert str(output) in line and os.strerror(number) in line and ".part" not in line
        left = [one for one in output.rglob("*") if one.is_file() and ".lock" not in one.name]
        assert left == [], "nothing is half-written"
    runs = tmp_path / "runs"
    with _failing(number, below=runs, at=at):
        assert _train(tmp_path) == 2
    line = _one_line(capfd.readouterr().err)
    assert str(runs) in line and os.strerror(number) in line
    # What was computed is kept: with the disk in order, all of it succeeds.
    assert _train(tmp_path, "existing=resume") == 0
    assert _evaluate("surprisal", folder, tmp_path, f"output={output}") == 0


def test_a_full_disk_in_the_store(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """SQLite says that the disk is full; what was stored before remains."""
    store = tmp_path / "s.sqlite"
    assert _evaluate("surprisal", folder, tmp_path, f"output={tmp_path / 'out'}") == 0
    before = store.read_bytes()
    real = sqlite3.connect

    def full(*given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(*given, **named)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
        return connection

    text = tmp_path / "long.txt"
    text.write_text("".join(f"the boys {n} .\n" for n in range(400)), encoding="utf-8")
    monkeypatch.setattr(sqlite3, "connect", full)
    options = (f"output={tmp_path / 'other'}", f"input={text}")
    assert _evaluate("surprisal", folder, tmp_path, *options) == 2
    line = _one_line(capfd.readouterr().err)
    assert str(store) in line and "full" in line and "free space" in line
    monkeypatch.undo()
    assert store.read_bytes() == before
    assert _evaluate("surprisal", folder, tmp_path, *options) == 0


def test_a_full_disk_while_weights_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The library reports the error of the system as a text."""

    def full(*_given: Any, **_named: Any) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left (os error 28)")

    monkeypatch.setattr(tensor_files, "save_file", full)
    assert _train(tmp_path) == 2
    line = _one_line(capfd.readouterr().err)
    assert "weights.safetensors: No space left on device (free some space" in line


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_every_error_has_one_line(number: int) -> None:
    line = os_problem(OSError(number, os.strerror(number), "a/b", None, "c"))
    assert line.startswith("a/b → c: ") and line.endswith(")") and "\n" not in line
    assert os_problem(OSError(number, os.strerror(number))).startswith(os.strerror(number))


def test_a_store_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], folder: Path
) -> None:
    def refuse(self: SurprisalStore) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self.path))

    monkeypatch.setattr(SurprisalStore, "_create", refuse)
    assert _evaluate("surprisal", folder, tmp_path, f"output={tmp_path / 'out'}") == 2
    assert "s.sqlite: Permission denied (you may not" in _one_line(capfd.readouterr().err)


# ----------------------------------------------------------------------------
# An evaluation that is stopped by a signal: what is stored, what is said, and how it goes on.


SENTENCES = 60
SLOWLY = """
import runpy, sys, time
sys.argv = [{script!r}, *{arguments!r}]
sys.path.insert(0, {root!r})
import evaluate
evaluate.use_this_checkout()
from gardenpath.models.ngram.model import NgramScorer
from gardenpath.models.sequential.networks import SequentialScorer
def slowed(real):
    def slow(self, sentences):
        time.sleep(0.2)
        return real(self, sentences)
    return slow
for scorer in (NgramScorer, SequentialScorer):
    scorer.word_log_probs = slowed(scorer.word_log_probs)
runpy.run_path({script!r}, run_name="__main__")
"""


def _stored(path: Path) -> int:
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        count: int = connection.execute("SELECT count(*) FROM surprisals").fetchone()[0]
        return count
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stopped_evaluation_keeps_what_was_computed(
    name: str, folder: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    words = ("boys", "man", "knew", "hated")
    lines = [f"the {words[n % 4]} {words[n // 4 % 4]} {n} ." for n in range(SENTENCES)]
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    output, store = tmp_path / "out", tmp_path / "s.sqlite"
    given = ["task=surprisal", f"run={run_of(folder, 'ngram').path}", f"input={text}",
             f"output={output}", f"paths.surprisals={store}", "task.chunk=2"]  # fmt: skip
    output.mkdir()
    (output / "surprisal.tsv").write_text("earlier\n", encoding="utf-8")
    script = str(ROOT / "evaluate.py")
    code = SLOWLY.format(script=script, arguments=given, root=str(ROOT))
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and _stored(store) < 4:
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + getattr(signal, name), said
    assert "Traceback" not in said
    found = re.search(rf"stopped by {name}; (\d+) of {SENTENCES} sentences .* are stored in", said)
    assert found and int(found[1]) == _stored(store) >= 4, said
    assert "run the same command again to continue" in said
    assert (output / "surprisal.tsv").read_text(encoding="utf-8") == "earlier\n"
    assert call("evaluate.py", *given) == 0
    resumed = (output / "surprisal.tsv").read_bytes()
    assert call("evaluate.py", *given, f"paths.surprisals={tmp_path / 'other.sqlite'}") == 0
    assert (output / "surprisal.tsv").read_bytes() == resumed
