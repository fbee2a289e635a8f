"""Settings of playground.py, how they are read from the command line, and their help.

The command of the package reads them before anything that takes time is imported: nothing here may
need torch, starlette or uvicorn.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from gardenpath.data.words.pieces import BoundaryChoice
from gardenpath.errors import ConfigError
from gardenpath.eval.search.settings import SEARCHES, SearchSettings, WordSync
from gardenpath.safe_text import MalformedTextError, parse_yaml
from gardenpath.settings.evaluate import device_problem
from gardenpath.settings.schema import Bounds, PositiveInt, Tagged, defaults, explanations, read
from gardenpath.settings.train import Paths

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
            value = parse_yaml(text) if name != "run" else None
            if name == "run":
                value = [reference for reference in text.strip("[]").split(",") if reference]
            _insert(content, name.split("."), value)
        except MalformedTextError as error:
            mistakes.append(f"{argument}: {error.problem}")
    if mistakes:
        raise ConfigError(mistakes)
    if "search" in content:
        search = content["search"]
        chosen = search if isinstance(search, dict) else {"kind": search}
        content["search"] = {"kind": defaults(WordSync)["kind"], **chosen}
    return read(PlaygroundSettings, content)


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


def help_of(program: str) -> str:
    """Return the help: every setting with its default and its explanation, also of each search."""
    kind = defaults(WordSync)["kind"]
    rows = [
        *_explained(PlaygroundSettings, ""),
        *_explained(PlaygroundLimits, "limits."),
        *_row("search", kind, f"Search of syntactic models: {', '.join(SEARCHES)}."),
    ]
    for name, record in SEARCHES.items():
        rows += [f"Settings of search={name}:", *_explained(record, "search.")]
    return INTRODUCTION.format(program=program) + "\n".join(rows)


def _explained(record: type, prefix: str) -> list[str]:
    """Lines on the settings of a class; groups of settings have lines of their own."""
    texts, values = explanations(record), defaults(record)
    names = [field.name for field in dataclasses.fields(record)]
    return [
        line
        for name in names
        if name not in ("limits", "search", "kind")
        for line in _row(prefix + name, values[name], texts[name])
    ]


def _row(name: str, value: Any, text: str) -> list[str]:
    if isinstance(value, list | tuple):
        shown = ",".join(map(str, value))
    elif value is None or isinstance(value, bool):
        shown = "null" if value is None else str(value).lower()
    else:
        shown = str(value)
    return [f"  {name}={shown}", f"      {text}"]
