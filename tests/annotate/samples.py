"""Raw text to annotate, and parsers that are not installed here."""

from __future__ import annotations

import copy
import functools
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

from gardenpath.settings.compose import ConfigSource, composed, plain_config, typed
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.tasks import run_task

ENGLISH = """\
The dog sees the cat. The cat sleeps! The dog sees the cat.

"The king sleeps." A queen (an old one) sees the dog.
"""
NEWS = """\
<DOC id="A.1">
<HEADLINE>
Not this.
</HEADLINE>
<TEXT>
<P>
A dog &amp; a cat
sleep. The cat sleeps!
</P>
<P>
{long}
</P>
</TEXT>
</DOC>
"""


# Set in the environment of workers that are killed when they parse.
KILLED = "GARDENPATH_TEST_KILLED_PARSER"


def write_raw(folder: Path, *, copies: int = 1) -> Path:
    """A folder with plain text and news; with copies, of many different sentences."""
    folder.mkdir(parents=True)
    more = "".join(f"The dog number {number} sees a cat.\n" for number in range(1, copies))
    (folder / "a.txt").write_text(ENGLISH + more, encoding="utf-8")
    long = " ".join(["the old dog"] * 40) + " sleeps."
    (folder / "b.sgm").write_text(NEWS.format(long=long), encoding="utf-8")
    return folder


def annotate(raw: Path, output: Path, *arguments: str) -> None:
    """Do the task as evaluate.py does."""
    content = copy.deepcopy(_composed())
    for argument in [f"input={raw}", f"output={output}", *arguments]:
        written, _, value = argument.partition("=")
        *groups, last = EvaluateSettings.SHORT.get(written, written).split(".")
        part = functools.reduce(lambda outer, key: outer[key], groups, content)
        assert last in part, f"{written} is not a setting"
        part[last] = yaml.safe_load(value)
    run_task(typed("evaluate", content))


@functools.cache
def _composed() -> dict[str, Any]:
    """The settings of the task, which take long to compose."""
    return plain_config(composed(ConfigSource("evaluate"), ["task=annotate"]))


def content(folder: Path) -> dict[str, bytes]:
    """All files of the result, except the manifest, which contains the time."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if path.name != "manifest.json"
    }


def install(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    """Let a package seem to be installed."""
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    for key, value in content.items():
        setattr(made, key, value)
    monkeypatch.setitem(sys.modules, name, made)


@dataclass
class InputSentence:
    """As benepar's."""

    words: list[str]


class NestedTree:
    """A tree that can write itself, as NLTK's."""

    def __init__(self, words: list[str]) -> None:
        self._words = words

    def pformat(self, margin: int) -> str:
        escaped = [word.replace("(", "-LRB-").replace(")", "-RRB-") for word in self._words]
        leaves = "\n   ".join(f"(X {word})" for word in escaped)
        return f"(TOP\n  (S\n   {leaves}))"


class Berkeley:
    """As benepar's parser: one flat tree per sentence."""

    def __init__(self, model: str) -> None:
        if model != "benepar_en3":
            raise LookupError(model)

    def parse_sents(self, sentences: Iterable[InputSentence]) -> Iterator[NestedTree]:
        if KILLED in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        return (NestedTree(one.words) for one in sentences)


def install_benepar(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The Berkeley Neural Parser, with its English model only; worker processes have it too."""
    install(monkeypatch, "benepar", Parser=Berkeley, InputSentence=InputSentence)
    packages = folder / "packages"
    packages.mkdir()
    names = "Berkeley as Parser, InputSentence"
    (packages / "benepar.py").write_text(f"from {__name__} import {names}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(packages)


def install_stanza(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stanza with its English model; returns the settings with which it was loaded."""
    loaded: list[dict[str, Any]] = []

    def pipeline(language: str, **settings: Any) -> Any:
        loaded.append(settings)
        if language != "en":
            raise FileNotFoundError("resources.json")
        return lambda sentences: SimpleNamespace(
            sentences=[_constituents(one) for one in sentences]
        )

    install(monkeypatch, "stanza", Pipeline=pipeline)
    return loaded


def _constituents(words: list[str]) -> Any:
    leaves = " ".join(f"(X w{place})" for place, _ in enumerate(words))
    return SimpleNamespace(constituency=f"(ROOT (S {leaves}))")
