"""``evaluate.py task=surprisal`` from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gardenpath.eval.surprisal.tables import read_surprisals
from tests import toy_runs
from tests.integration.commands import ROOT, call


@pytest.mark.slow
def test_a_pipe_into_a_table(folder: Path, tmp_path: Path) -> None:
    """In a process of its own, in another folder than that of the project."""
    arguments = toy_runs.arguments(
        folder, tmp_path, "task=surprisal", "input=-", "task.file=table.tsv", model="rnng"
    )
    done = subprocess.run(
        [sys.executable, str(ROOT / "evaluate.py"), *arguments],
        input="the boys knew .\n\nthe wugs knew .\n",
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 sentences" in done.stdout and "table.tsv" in done.stdout
    rows, header = read_surprisals(tmp_path / "table.tsv")
    words = ["the", "boys", "knew", ".", "</s>", "the", "wugs", "knew", ".", "</s>"]
    assert [row.word for row in rows] == words
    assert [row.seen_as for row in rows if not row.seen] == ["<unk-lc-s>"]
    assert (header.runs[0].model, header.runs[0].search) == ("rnng", "word_sync")
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["table.tsv", "table.tsv.meta.json"]


@pytest.mark.parametrize(
    ("arguments", "problem", "remedy"),
    [
        ([], "input is missing", "a sentence, a file of sentences, or -"),
        (["input={folder}/empty.txt"], "empty.txt: contains no sentences", "one sentence per line"),
        (["input={folder}/absent.txt"], "absent.txt", ""),
        (["input={folder}/empty.txt", "task.file={folder}/a.xlsx"], "a.xlsx", "choose one of .tsv"),
    ],
)
def test_errors_with_remedies(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    problem: str,
    remedy: str,
) -> None:
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    given = [argument.format(folder=tmp_path) for argument in arguments]
    output = tmp_path / "out"
    chosen = toy_runs.arguments(folder, output, "task=surprisal", *given, model="ngram")
    assert call("evaluate.py", *chosen) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ") and problem in shown and remedy in shown
    assert [path.name for path in tmp_path.iterdir()] == ["empty.txt"]
