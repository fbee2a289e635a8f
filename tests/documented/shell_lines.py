"""The command lines that a document shows, in blocks of code and in code within a line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What starts a command line. A name alone is not a command: `train.py` is a file.
_PROGRAMS = re.compile(
    r"python (train|evaluate|playground)\.py"
    r"|python -m [\w.]+"
    r"|gardenpath-(train|evaluate|playground)"
    r"|(make|pip|wandb|Rscript|srun|torchrun|echo|cat|rm|du|ls|cp|mkdir|source) \S"
)
_FENCE = re.compile(
    r"^[ ]*```(?P<kind>[^\n`]*)\n(?P<text>.*?)^[ ]*```[ ]*$", re.MULTILINE | re.DOTALL
)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_SHELL = ("", "bash", "sh", "console")
_PIPES = {"|", ">", "&&", ";"}


@dataclass(frozen=True, kw_only=True)
class Step:
    """A program of a command line, with its arguments and the file that its output goes to."""

    words: tuple[str, ...]
    target: str = ""
    is_piped: bool = False

    def __str__(self) -> str:
        return shlex.join(self.words)


@dataclass(frozen=True, kw_only=True)
class ShellLine:
    """A command line as a page has it, without prompt and comment."""

    page: str
    text: str

    def __str__(self) -> str:
        return self.text

    def steps(self) -> list[Step]:
        """The programs of the line, in order."""
        lexer = shlex.shlex(self.text, posix=True, punctuation_chars="|;&<>")
        lexer.whitespace_split = True
        steps: list[Step] = []
        words: list[str] = []
        target, is_piped, separator = "", False, ""
        for token in [*lexer, ";"]:
            if token not in _PIPES:
                if separator == ">":
                    target, separator = token, ""
                else:
                    words.append(token)
                continue
            if token != ">":
                steps.append(Step(words=tuple(words), target=target, is_piped=is_piped))
                words, target, is_piped = [], "", token == "|"
            separator = token
        return [step for step in steps if step.words]


def shell_lines(path: Path, page: str) -> list[ShellLine]:
    """All command lines of a page in the order of the page, each text once."""
    text = path.read_text(encoding="utf-8")
    found = {line: ShellLine(page=page, text=line) for line in _lines(text)}
    return list(found.values())


def _lines(text: str) -> Iterator[str]:
    """Blocks of other languages, and names of programs without arguments, are no commands."""
    places = [(match.start(), match) for match in _FENCE.finditer(text)]
    blank = _FENCE.sub(lambda match: " " * len(match[0]), text)
    places += [(match.start(), match) for match in _INLINE.finditer(blank)]
    for _, match in sorted(places, key=lambda one: one[0]):
        if "kind" not in match.groupdict():
            yield from _commands([match[1].replace("\n", " ")], is_inline=True)
        elif match["kind"].strip() in _SHELL:
            yield from _commands(match["text"].replace("\\\n", " ").splitlines(), is_inline=False)


def _commands(lines: list[str], *, is_inline: bool) -> Iterator[str]:
    for line in lines:
        stripped = re.sub(r"\s+", " ", _without_comment(line)).strip().removeprefix("$ ")
        if not _PROGRAMS.match(stripped):
            continue
        if is_inline and re.fullmatch(r"python \w+\.py|gardenpath-\w+", stripped):
            continue  # the name of a program, as in "the same as `python train.py`"
        yield stripped


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s+)# .*$", "", line)
