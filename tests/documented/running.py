"""Runs a documented command line in the working directory, within this process where it can."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.documented.shell_lines import ShellLine
from tests.documented.substitutions import smaller
from tests.documents import ROOT

_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The exit code of a line, what it printed, and the command that was run in its place."""

    code: int
    printed: str
    command: str


def run_line(line: ShellLine, *, in_stock: bool) -> Outcome:
    """Run the programs of a line one after the other; a failure ends it.

    ``in_stock``: the working directory has all stand-ins.
    """
    given, printed, ran = "", "", []
    code = 0
    for step in line.steps():
        words = smaller(step.words, in_stock=in_stock)
        ran.append(" ".join(words))
        code, output, messages = _run(words, given if step.is_piped else "")
        given = output
        printed += output + messages
        if step.target:
            Path(step.target).write_text(output, encoding="utf-8")
        if code:
            break
    return Outcome(code=code, printed=printed, command=" | ".join(ran))


def _run(words: Sequence[str], given: str) -> tuple[int, str, str]:
    output, messages = _stream(), _stream()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", _stream(given))
        patch.setenv("COLUMNS", "100")
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
            code = _started(patch, words, given, output)
    return code, _text(output), _text(messages)


def _stream(text: str = "") -> io.TextIOWrapper:
    """A stream with a buffer of bytes, as those of a process."""
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def _started(
    patch: pytest.MonkeyPatch, words: Sequence[str], given: str, output: io.TextIOWrapper
) -> int:
    """The exit code of a program: our scripts and modules here, others as processes."""
    if words[0] == "python" and words[1] == "-m":
        patch.setattr(sys, "argv", [words[2], *words[3:]])
        patch.delitem(sys.modules, words[2], raising=False)
        return _code_of(lambda: runpy.run_module(words[2], run_name="__main__"))
    if words[0] == "python":
        script = str(ROOT / words[1])
        patch.setattr(sys, "argv", [script, *words[2:]])
        if words[1] == "playground.py":
            _visit_and_stop(patch)
        return _code_of(lambda: runpy.run_path(script, run_name="__main__"))
    if words[0] in ("rm", "du", "ls", "cat", "echo", "cp", "mkdir"):
        done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
        output.write(done.stdout + done.stderr)
        return done.returncode
    raise AssertionError(f"how to run {words[0]}?")


def _code_of(program: Any) -> int:
    try:
        program()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    return 0


def _visit_and_stop(patch: pytest.MonkeyPatch) -> None:
    """Let the playground answer one request for its page, and end."""
    import uvicorn

    serve = uvicorn.Server.run
    answers: list[int] = []

    def visited(server: Any, sockets: Any) -> None:
        address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/"

        def visit() -> None:
            end = time.monotonic() + _PATIENCE_SECONDS
            while not server.started and time.monotonic() < end:
                time.sleep(0.02)
            with urllib.request.urlopen(address, timeout=_PATIENCE_SECONDS) as answer:
                answers.append(answer.status)
            server.should_exit = True

        # Signals are for the main thread, which is that of the tests.
        thread = threading.Thread(target=visit)
        thread.start()
        serve(server, sockets=sockets)
        thread.join(_PATIENCE_SECONDS)
        assert answers == [200], "the playground did not answer"

    patch.setattr(uvicorn.Server, "run", visited)
    # The command ends its process, which here is that of the tests.
    patch.setattr(os, "_exit", sys.exit)
