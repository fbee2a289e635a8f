"""What the tests read out of the documents: links, and commands that a reader may copy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gardenpath.settings.compose import Script

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + PAGES

_FENCE = re.compile(r"^[ ]*```[^\n`]*\n(.*?)^[ ]*```[ ]*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_TITLED = re.compile(
    r"^```\w+ title=\"([^\"]+)\"\n(.*?)^```$", re.MULTILINE | re.DOTALL
)  # fmt: skip
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_SEPARATORS = {"|", "||", "&&", ";", "&", ">", ">>"}
_SCRIPTS: dict[str, Script] = {
    "python train.py": "train",
    "python evaluate.py": "evaluate",
    "gardenpath-train": "train",
    "gardenpath-evaluate": "evaluate",
}


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line of one of the two scripts, as a document has it."""

    document: str
    script: Script
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.document}: {self.script}.py {shlex.join(self.arguments)}"


def links(text: str) -> list[str]:
    """The targets of all links and images, outside of code, that are not on another host."""
    prose = _INLINE.sub("", _FENCE.sub("", text))
    return [link for link in _LINK.findall(prose) if "://" not in link and "mailto:" not in link]


def anchors(text: str) -> set[str]:
    """The names under which the headings of a document can be linked to."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", text), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in plain}


def titled_files(text: str) -> dict[str, str]:
    """The files that a document shows: blocks of code with a path as their title."""
    return dict(_TITLED.findall(text))


def commands(document: str, text: str) -> Iterator[Command]:
    """All commands of train.py and evaluate.py in blocks of code and in code within a line."""
    for block in _FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            yield from _commands_of_a_line(document, line)
    for code in _INLINE.findall(_FENCE.sub("", text)):
        yield from _commands_of_a_line(document, code.replace("\n", " "))


def _commands_of_a_line(document: str, line: str) -> Iterator[Command]:
    if not any(script in line for script in _SCRIPTS):
        return
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for token in [*lexer, ";"]:
        if token not in _SEPARATORS:
            words.append(token)
            continue
        yield from _command(document, words)
        words = []


def _command(document: str, words: list[str]) -> Iterator[Command]:
    """The command that words are, if they start one of the two scripts with arguments."""
    text = " ".join([Path(word).name for word in words[:2]])
    for start, script in _SCRIPTS.items():
        count = len(start.split())
        if len(words) > count and f"{text} ".startswith(f"{start} "):
            yield Command(document=document, script=script, arguments=tuple(words[count:]))
