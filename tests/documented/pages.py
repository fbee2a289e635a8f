"""What the tests read out of the documents: links, files, settings and command lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gardenpath.settings.compose import Script

ROOT = Path(__file__).parents[2]
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


# ----------------------------------------------------------------------------
# The command lines that a document shows, in blocks of code and in code within a line.


# What starts a command line. A name alone is not a command: `train.py` is a file.
_PROGRAMS = re.compile(
    r"python (train|evaluate|playground)\.py"
    r"|python -m [\w.]+"
    r"|gardenpath-(train|evaluate|playground)"
    r"|(make|pip|wandb|Rscript|srun|torchrun|echo|cat|rm|du|ls|cp|mkdir|source) \S"
)
_SHELL_FENCE = re.compile(
    r"^[ ]*```(?P<kind>[^\n`]*)\n(?P<text>.*?)^[ ]*```[ ]*$", re.MULTILINE | re.DOTALL
)

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
    places = [(match.start(), match) for match in _SHELL_FENCE.finditer(text)]
    blank = _SHELL_FENCE.sub(lambda match: " " * len(match[0]), text)
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
