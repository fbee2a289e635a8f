"""The process of the playground: how it starts and ends."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gardenpath.playground.settings import HOST
from tests.documents import ROOT
from tests.toy_runs import NARROW

# A machine that does much else needs long to import the libraries.
_PATIENCE_SECONDS = 240.0
_LONG = "the old author that knows the young senator laughs near the lake " * 8


@contextmanager
def _started(folder: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A playground in a process of its own, and its port."""
    command = [
        sys.executable, str(ROOT / "playground.py"), "browser=false", "port=0", *NARROW,
        f"run={folder / 'runs'}", f"surprisals={tmp_path / 'store.sqlite'}", "device=cpu",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "Looking for models …\n"
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            assert found is not None
            yield process, int(found[1])
        finally:
            process.kill()


def test_the_process_ends_while_a_model_computes(folder: Path, tmp_path: Path) -> None:
    with _started(folder, tmp_path) as (process, port):
        # The address can be opened as soon as it is printed.
        connection = http.client.HTTPConnection(HOST, port, timeout=_PATIENCE_SECONDS)
        run = str(next((folder / "runs").rglob("plm/seed1")))
        body = json.dumps({"runs": [run, run], "sentences": [_LONG.strip(), f"{_LONG}again"]})
        connection.request("POST", "/api/surprisal", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        while b'"type": "word"' not in answer.readline():
            pass
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=_PATIENCE_SECONDS)
        assert process.returncode == 0 and complaints == ""
        assert said == "The playground has ended.\n"
        connection.close()
