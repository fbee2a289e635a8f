"""The documents are right: links lead somewhere, commands pass the check of their settings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hydra._internal.utils import get_args_parser

from gardenpath import cli
from gardenpath.cli import help_text
from gardenpath.errors import ConfigError
from gardenpath.settings.compose import expand_watch_flag
from tests.documents import DOCUMENTS, ROOT, Command, anchors, commands, links, titled_files

# Names in commands that a reader replaces by one of several choices, and a choice.
PLACEHOLDERS = {"suite=NAME": "suite=mandarin", "model=NAME": "model=rnng"}

# What makes the example of the README small enough for a test.
SMALLER = {
    '"model.size=tiny"': '"model.size=tiny", "trainer=cpu", "trainer.max_epochs=1", '
    '"data.reader.train=200", "data.reader.valid=20", "data.reader.test=20"',
    'gp.suites("toy_english")': 'gp.suites("reflexives/toy")',
}

# Commands of this page need what the page adds; tests/extending runs them.
EXTENDING = "docs/extending.md"

COMMANDS = [
    command
    for path in DOCUMENTS
    for command in commands(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    if command.document != EXTENDING
]


def mistakes(command: Command, folder: Path) -> list[str]:
    """What the script would say about a command line before it reads any data.

    ``folder`` stands for the working directory; files that the document shows are written there.
    """
    arguments = [PLACEHOLDERS.get(argument, argument) for argument in command.arguments]
    if "--version" in arguments:
        return []
    flags = get_args_parser().parse_args([expand_watch_flag(one) for one in arguments])
    if flags.config_dir is not None:
        _write_files(ROOT / command.document, folder)
        flags.config_dir = str(folder / flags.config_dir)
    line = cli.command_line(command.script, flags)
    if flags.help:  # is given without required settings, too
        help_text(line, program=command.script, width=100)
        return line.mistakes
    try:
        line.check()
    except ConfigError as error:
        return error.mistakes
    return []


def _write_files(document: Path, folder: Path) -> None:
    for name, text in titled_files(document.read_text(encoding="utf-8")).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_documented_commands_are_valid(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Commands for GPUs are right on a machine that has them.
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    assert mistakes(command, tmp_path) == []


@pytest.mark.slow
def test_a_wrong_command_is_found(tmp_path: Path) -> None:
    text = "```\ncat x | python train.py modle=lstm \\\n    seed=abc  # wrong\n```\n"
    (command,) = commands("a.md", text)
    assert command.arguments == ("modle=lstm", "seed=abc")
    assert len(mistakes(command, tmp_path)) == 2


def test_files_that_a_page_shows_are_found() -> None:
    text = '```yaml title="a/b.yaml"\nx: 1\n```\n\n```yaml\ny: 2\n```\n'
    assert titled_files(text) == {"a/b.yaml": "x: 1\n"}
    assert any("--config-dir" in command.arguments for command in COMMANDS)


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


@pytest.mark.slow
def test_the_example_of_the_readme_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for full, small in SMALLER.items():
        assert full in example
        example = example.replace(full, small)
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "results" / "mine" / "report.html").is_file()
