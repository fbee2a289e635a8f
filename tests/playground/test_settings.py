"""The process of the playground: how it starts and ends."""

from __future__ import annotations

import dataclasses
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

import pytest

from gardenpath.errors import ConfigError
from gardenpath.eval.search.settings import SEARCHES, Unbiased, WordSync
from gardenpath.playground import HOST
from gardenpath.playground.settings import (
    PlaygroundLimits,
    PlaygroundSettings,
    help_of,
    playground_settings_of,
)
from gardenpath.settings.schema import explanations
from tests.documented.pages import ROOT
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


@pytest.mark.slow
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


# ----------------------------------------------------------------------------
# The command line of the playground.


def test_without_arguments_the_defaults_hold() -> None:
    assert playground_settings_of([]) == PlaygroundSettings()


def test_settings_are_read() -> None:
    found = playground_settings_of(
        ["run=runs/a,hf:gpt2", "port=0", "browser=false", "limits.seconds=5"]
    )
    assert (found.run, found.port, found.browser) == (("runs/a", "hf:gpt2"), 0, False)
    assert found.limits == PlaygroundLimits(seconds=5.0)


@pytest.mark.parametrize(
    "arguments",
    [["search=unbiased", "search.action_beam=7"], ["search.action_beam=7", "search=unbiased"]],
)
def test_a_search_is_chosen_and_set(arguments: list[str]) -> None:
    assert playground_settings_of(arguments).search == Unbiased(action_beam=7)


def test_a_setting_of_the_usual_search() -> None:
    assert playground_settings_of(["search.word_beam=7"]).search == WordSync(word_beam=7)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("prot=9000", "did you mean 'port'?"),
        ("port=70000", "65535"),
        ("--port", "write settings as name=value"),
        ("runs", "write settings as name=value"),
        ("browser=maybe", "browser"),
        ("limits.words=0", "at least 1"),
        ("search=wide", "unbiased"),
        ("port=[", "port=["),
    ],
)
def test_mistakes_are_explained(argument: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        playground_settings_of([argument])
    assert said in str(caught.value)


def test_help_explains_every_setting() -> None:
    text = help_of("python playground.py")
    for record, prefix in (PlaygroundSettings, ""), (PlaygroundLimits, "limits."):
        for field in dataclasses.fields(record):
            if field.name not in ("limits", "search"):
                assert f"  {prefix}{field.name}=" in text
    searches: list[type] = [*SEARCHES.values()]
    for texts in map(explanations, searches):
        assert all(f"  search.{name}=" in text and texts[name] in text for name in texts)
    assert "browser=true" in text
    assert "python playground.py run=" in text
