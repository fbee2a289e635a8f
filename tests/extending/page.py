"""The files and commands of docs/extending.md, section by section."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.documents import ROOT

PAGE = ROOT / "docs" / "extending.md"

_SECTION = re.compile(r"^## (?P<name>.+?)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<path>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Example:
    """A section of the page: new files, additions to files, and commands to run afterwards."""

    files: Mapping[str, str]
    additions: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, ...], ...]

    def apply(self, checkout: Path) -> None:
        """Write the files and make the additions in a copy of the checkout."""
        for name, text in self.files.items():
            path = checkout / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for name, block in self.additions:
            path = checkout / name
            path.write_text(with_addition(path.read_text(encoding="utf-8"), block), "utf-8")


def examples() -> dict[str, Example]:
    """The sections of the page that have files, by their headings."""
    page = PAGE.read_text(encoding="utf-8")
    found = {match["name"]: _example(match["text"]) for match in _SECTION.finditer(page)}
    return {name: example for name, example in found.items() if example.files}


def _example(section: str) -> Example:
    blocks = [(one["language"], one["path"], one["text"]) for one in _BLOCK.finditer(section)]
    commands = [text for language, _, text in blocks if language == "bash"]
    return Example(
        files={path: text for language, path, text in blocks if path and language != "diff"},
        additions=tuple((path, text) for language, path, text in blocks if language == "diff"),
        commands=tuple(tuple(shlex.split(line)) for text in commands for line in text.splitlines()),
    )


def with_addition(text: str, block: str) -> str:
    """Add the lines that a block marks with ``+`` beside those that it has in common with a text.

    The common lines must occur in the text exactly once, one after the other.
    """
    lines = block.splitlines(keepends=True)
    assert all(line[0] in " +" for line in lines), "only additions are understood"
    before = "".join(line[1:] for line in lines if line[0] == " ")
    after = "".join(line[1:] for line in lines)
    assert text.count(before) == 1, f"occurs {text.count(before)} times: {before}"
    return text.replace(before, after)
