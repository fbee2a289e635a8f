"""Settings of playground.py, and how they are read from the command line."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from gardenpath import __version__
from gardenpath.console import console, exit_on_error
from gardenpath.data.words.pieces import BoundaryChoice
from gardenpath.errors import ConfigError, GardenpathError
from gardenpath.eval.search.settings import SEARCHES, SearchSettings, WordSync
from gardenpath.safe_text import MalformedTextError, parse_yaml
from gardenpath.settings.command_line import explanations
from gardenpath.settings.evaluate import device_problem
from gardenpath.settings.schema import Bounds, PositiveInt, Tagged, defaults, read
from gardenpath.settings.train import Paths
from gardenpath.util import plural

Port = Annotated[int, Bounds(0, 65535)]
Seconds = Annotated[float, Bounds(0.1)]

INTRODUCTION = """\
Try sentences in the browser: surprisal word by word, partial parses, two variants side by side.

  {program}                                   all runs below runs/
  {program} run=runs/toy_english              the runs below a folder
  {program} run=runs/ptb/rnng/seed1,hf:gpt2   some models, also those of others
  {program} port=9000 browser=false           on another port, without opening a browser

Settings:
"""


@dataclass(frozen=True, kw_only=True)
class PlaygroundLimits:
    """What one request may ask for."""

    characters: PositiveInt = 1000
    """Most characters of a sentence."""
    words: PositiveInt = 100
    """Most words of a sentence."""
    models: PositiveInt = 12
    """Most models that score a sentence at once."""
    seconds: Seconds = 120.0
    """Longest time that a model computes for one request; loading it does not count."""
    waiting: PositiveInt = 16
    """Most requests that are answered or wait at the same time."""
    loaded: PositiveInt = 12
    """Most models that stay in memory; the one that was used least recently is dropped first."""
    loaded_gb: Annotated[float, Bounds(0)] = 8.0
    """Most gigabytes of weights that stay in memory, as files; a single model may be larger."""


@dataclass(frozen=True, kw_only=True)
class PlaygroundSettings:
    """Everything that determines the playground."""

    run: Sequence[str] = ("runs",)
    """Run folders, folders that contain several, or models of others such as hf:gpt2, separated by
    commas."""
    port: Port = 8765
    """Port on 127.0.0.1; 0 takes any that is free."""
    browser: bool = True
    """Whether to open the page in the browser."""
    unfinished: Literal["skip", "include"] = "skip"
    """Whether to offer runs that were stopped, with their best weights so far."""
    device: str = "auto"
    """Device of the models; auto uses a GPU if one is available."""
    boundary: BoundaryChoice = "auto"
    """How the pieces of a word make its probability, as for evaluate.py."""
    surprisals: str = Paths.surprisals
    """File of computed surprisals, shared with evaluate.py; nothing is computed twice."""
    search: Annotated[SearchSettings, Tagged("kind", SEARCHES)] = WordSync()
    """Search of syntactic models."""
    limits: PlaygroundLimits = PlaygroundLimits()
    """What one request may ask for."""

    def unavailable(self) -> list[str]:
        """Return what this machine lacks for these settings."""
        problem = device_problem(self.device)
        return [f"device={self.device}: {problem}"] if problem else []


def playground_settings_of(arguments: Sequence[str]) -> PlaygroundSettings:
    """Return the settings of a command line: ``run=runs/ptb port=9000 search.word_beam=20``."""
    content: dict[str, Any] = {}
    mistakes = []
    for argument in arguments:
        name, sign, text = argument.partition("=")
        if not sign or name.startswith("-"):
            mistakes.append(f"{argument}: write settings as name=value, as in port=9000")
            continue
        try:
            _insert(content, name.split("."), _value(name, text))
        except ValueError as error:
            mistakes.append(f"{argument}: {error}")
    if mistakes:
        raise ConfigError(mistakes)
    if "search" in content:
        content["search"] = _with_kind(content["search"])
    return read(PlaygroundSettings, content)


def _value(name: str, text: str) -> Any:
    if name == "run":
        return [one for one in text.strip("[]").split(",") if one]
    try:
        return parse_yaml(text)
    except MalformedTextError as error:
        raise ValueError(error.problem) from error


def _insert(content: dict[str, Any], names: Sequence[str], value: Any) -> None:
    """Set an entry of nested mappings; ``search=unbiased`` names the kind of a group."""
    *outer, last = names
    for name in outer:
        inner = content.setdefault(name, {})
        if not isinstance(inner, dict):
            inner = content[name] = {"kind": inner}
        content = inner
    if isinstance(content.get(last), dict) and not isinstance(value, dict):
        content[last]["kind"] = value
    else:
        content[last] = value


def _with_kind(search: Any) -> dict[str, Any]:
    given = search if isinstance(search, dict) else {"kind": search}
    return {"kind": defaults(WordSync)["kind"], **given}


def help_of(program: str) -> str:
    """Return the help: every setting with its default and its explanation, also of each search."""
    rows = [
        *_explained(PlaygroundSettings, ""),
        *_explained(PlaygroundLimits, "limits."),
        *_row(
            "search",
            defaults(WordSync)["kind"],
            "Search of syntactic models: " + ", ".join(SEARCHES) + ".",
        ),
    ]
    for name, record in SEARCHES.items():
        rows += [f"Settings of search={name}:", *_explained(record, "search.")]
    return INTRODUCTION.format(program=program) + "\n".join(rows)


def _explained(record: type, prefix: str) -> list[str]:
    """Lines on the settings of a class; groups of settings have lines of their own."""
    texts = explanations(record)
    values = defaults(record)
    rows: list[str] = []
    for field in dataclasses.fields(record):
        if field.name not in ("limits", "search", "kind"):
            rows += _row(prefix + field.name, values[field.name], texts[field.name])
    return rows


def _row(name: str, value: Any, text: str) -> list[str]:
    if isinstance(value, list | tuple):
        shown = ",".join(map(str, value))
    elif value is None or isinstance(value, bool):
        shown = "null" if value is None else str(value).lower()
    else:
        shown = str(value)
    return [f"  {name}={shown}", f"      {text}"]


# ----------------------------------------------------------------------------
# The command ``gardenpath-playground``: find the models, and serve the page on 127.0.0.1.


HOST = "127.0.0.1"


def playground_main() -> None:
    """Run the command line of this process."""
    arguments = sys.argv[1:]
    program = Path(sys.argv[0]).name
    program = f"python {program}" if program.endswith(".py") else program
    if {"--help", "-h"} & {*arguments}:
        console.print(help_of(program), markup=False, highlight=False, soft_wrap=True)
        return
    if "--version" in arguments:
        console.print(f"Gardenpath {__version__}", highlight=False)
        return
    with exit_on_error():
        serve_playground(playground_settings_of(arguments))
        console.print("The playground has ended.")
        sys.stdout.flush()
        # A model that is loaded, or that scores a sentence in one step, cannot be interrupted.
        os._exit(0)


def serve_playground(settings: PlaygroundSettings) -> None:
    """Serve the page until the process is interrupted."""
    # Models of others are read from this machine; whatever is not there is not downloaded.
    os.environ["HF_HUB_OFFLINE"] = "1"
    _require_extra()
    # The port is tried before anything that takes time.
    with bound(settings.port) as listening:
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        console.print("Looking for models …")
        from gardenpath.playground.models import ModelShelf
        from gardenpath.playground.server import PlaygroundServer

        shelf = ModelShelf(settings)
        _announce(address, len(shelf.models), shelf.skipped)
        if settings.browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        # Ctrl-C is how a playground ends; the server raises it again after it has ended.
        with contextlib.suppress(KeyboardInterrupt):
            PlaygroundServer(shelf, settings.limits).run(sockets=[listening])


def _require_extra() -> None:
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise GardenpathError(
            f"the playground needs {' and '.join(missing)}: pip install 'gardenpath[playground]', "
            "or in a checkout pip install -e '.[playground]' -c constraints.txt"
        )


def bound(port: int) -> socket.socket:
    """Return a socket that listens on this machine only."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        # Before the address is announced: who comes early waits instead of being refused.
        listening.listen()
    except OSError as error:
        listening.close()
        raise GardenpathError(
            f"port {port} cannot be used ({error.strerror}); another playground may be running: "
            "open its page, or set port=0 for any free port"
        ) from error
    return listening


def _announce(address: str, models: int, skipped: Sequence[str]) -> None:
    for reason in skipped:
        console.print(f"skipped: {reason}", markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"{plural(models, 'model')} in the playground at {address} (end with Ctrl-C)",
        markup=False, highlight=False, soft_wrap=True,
    )  # fmt: skip
