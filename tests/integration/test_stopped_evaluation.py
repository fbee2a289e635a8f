"""An evaluation that is stopped by a signal: what is stored, what is said, and how it goes on."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.commands import ROOT, call
from tests.toy_runs import run_of

SENTENCES = 60
SLOWLY = """
import runpy, sys, time
sys.argv = [{script!r}, *{arguments!r}]
sys.path.insert(0, {root!r})
import evaluate
evaluate.use_this_checkout()
from gardenpath.models.sequential import sequential_scorer
real = sequential_scorer.SequentialScorer.word_log_probs
def slow(self, sentences):
    time.sleep(0.2)
    return real(self, sentences)
sequential_scorer.SequentialScorer.word_log_probs = slow
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
