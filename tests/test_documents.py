"""The documents are right: links lead somewhere, commands pass the check of their settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import ConfigError
from gardenpath.settings.command_line import check_command_line
from tests.documents import DOCUMENTS, ROOT, Command, anchors, commands, links

# Names in commands that a reader replaces by one of several choices, and a choice.
PLACEHOLDERS = {"suite=NAME": "suite=mandarin"}

COMMANDS = [
    command
    for path in DOCUMENTS
    for command in commands(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
]


def mistakes(command: Command) -> list[str]:
    """What the script would say about a command line before it reads any data.

    Of flags (``--help``) only ``-m`` matters, with which a setting may have several values.
    """
    arguments = [
        PLACEHOLDERS.get(argument, argument)
        for argument in command.arguments
        if argument == "-m" or not argument.startswith("-")
    ]
    try:
        check_command_line(command.script, arguments)
    except ConfigError as error:
        return error.mistakes
    return []


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_documented_commands_are_valid(command: Command) -> None:
    assert mistakes(command) == []


def test_a_wrong_command_is_found() -> None:
    text = "```\ncat x | python train.py modle=lstm \\\n    seed=abc  # wrong\n```\n"
    (command,) = commands("a.md", text)
    assert command.arguments == ("modle=lstm", "seed=abc")
    assert len(mistakes(command)) == 2


def test_commands_are_found_in_blocks_and_in_lines() -> None:
    text = "Try `python evaluate.py\ntask=suites`, not `train.py` and not `python -m x`.\n"
    block = (
        "  ```bash\n"
        "  .venv/bin/python train.py 'a=[b,\"c d\"]'  # x=1\n"
        "  gardenpath-train -m x=1,2\n"
        "  train.py evaluate.py are files\n"
        "  ```\n"
    )
    found = [(c.script, c.arguments) for c in commands("a.md", text + block)]
    assert found == [
        ("train", ('a=[b,"c d"]',)),
        ("train", ("-m", "x=1,2")),
        ("evaluate", ("task=suites",)),
    ]
    assert {"train", "evaluate"} == {c.script for c in COMMANDS}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    assert _dead_links(path) == []


def _dead_links(path: Path) -> list[str]:
    dead = []
    for link in links(path.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (
            anchor and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            dead.append(link)
    return dead


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# The title, `x`\n[a](page.md) ![b](no.svg) [c](#the-title-x) [d](page.md#no)\n"
        "[e](https://example.org) `[f](code.md)`\n"
    )
    assert _dead_links(page) == ["no.svg", "page.md#no"]
