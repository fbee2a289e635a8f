"""The documents are right: links, commands, names of settings, and the site made of them."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import torch
from hydra._internal.utils import get_args_parser

import gardenpath
from gardenpath import cli
from gardenpath.cli import help_text
from gardenpath.data.corpus import READERS
from gardenpath.errors import ConfigError
from gardenpath.eval.search.settings import SEARCHES
from gardenpath.models.family import MODELS
from gardenpath.playground.settings import PlaygroundSettings
from gardenpath.settings.compose import expand_watch_flag
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import Tagged
from gardenpath.settings.tasks import TASKS
from gardenpath.settings.train import TrainSettings
from tests.documented.pages import (
    DOCUMENTS,
    PAGES,
    ROOT,
    Command,
    anchors,
    commands,
    links,
    titled_files,
)
from tests.eval.report.browser import browser, find_browser
from tests.no_skips import NEEDS_BROWSER

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


# Commands that several pages show are checked once, unless they need files of their page.
DIFFERENT = {
    (one.script, one.arguments, one.document if "--config-dir" in one.arguments else ""): one
    for one in COMMANDS
}


@pytest.mark.parametrize("command", DIFFERENT.values(), ids=str)
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


# ----------------------------------------------------------------------------
# The documentation site builds without warnings, and needs no network.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in a temporary folder."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    subprocess.run(["make", "--silent", "build/types/gardenpath"], cwd=ROOT, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_in_the_site(site: Path) -> None:
    for page in PAGES:
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file()


@pytest.mark.slow
def test_the_reference_has_every_public_name(site: Path) -> None:
    public = [name for name in gardenpath.__all__ if not name.startswith("__")]
    assert sorted({f"gardenpath.{name}" for name in public} - _headings(site)) == []


@pytest.mark.slow
def test_the_reference_has_all_settings(site: Path) -> None:
    networks = [get_type_hints(model)["network"] for model in MODELS.values()]
    classes = [*READERS.values(), *networks, *TASKS.values(), *SEARCHES.values()]
    # Some have public names of their own, and some families have no settings.
    expected = {
        f"{one.__module__}.{one.__name__}"
        for one in classes
        if one.__name__ not in gardenpath.__all__ and dataclasses.fields(one)
    }
    assert sorted(expected - _headings(site)) == []


def _headings(site: Path) -> set[str]:
    text = (site / "reference.html").read_text(encoding="utf-8")
    return set(re.findall(r'<h\d id="([\w.]+)"', text))


@pytest.mark.slow
def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    pattern = re.compile(
        r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=\"?(https?:[^\s\">]+)"
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    assert [url for page in pages for url in pattern.findall(page.read_text("utf-8"))] == []


@pytest.mark.slow
def test_the_search_works_on_pages_opened_from_disk(site: Path) -> None:
    path = find_browser()
    if path is None:
        pytest.skip(NEEDS_BROWSER)
    with browser(path) as window:
        window.open(site / "models.html")
        window.run("document.querySelector('input[name=query]').focus()")
        window.run(
            "(() => { const box = document.querySelector('input[name=query]');"
            "box.value = 'Kneser-Ney'; box.dispatchEvent(new Event('keyup', {bubbles: true})); })()"
        )
        found = "Array.from(document.querySelectorAll('.md-search-result__link'), a => a.href)"
        end = time.monotonic() + 30
        while not (results := window.run(found)) and time.monotonic() < end:
            time.sleep(0.1)
        assert any("models.html" in address for address in results)
        assert window.errors == []


# ----------------------------------------------------------------------------
# Settings that the documents name exist.


_GROUPS = "task|search|suite|study|model|data|trainer|logger|paths|limits"
_NAMED = re.compile(rf"(?<![\w./$-])((?:{_GROUPS})(?:\.[a-z]\w*)+)(?![\w/(-])(?!\.\w)")
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def _names(annotation: Any, prefix: str) -> Iterator[str]:
    """The names of all settings of all choices of an annotation."""
    if get_origin(annotation) is Annotated:
        for one in get_args(annotation)[1:]:
            if isinstance(one, Tagged):
                for record in one.classes.values():
                    yield from _names(record, prefix)
    is_mapping = get_origin(annotation) in (Mapping, dict)
    for part in get_args(annotation):
        yield from _names(part, f"{prefix}*." if is_mapping else prefix)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        hints = get_type_hints(annotation, include_extras=True)
        for field in dataclasses.fields(annotation):
            yield f"{prefix}{field.name}"
            yield from _names(hints[field.name], f"{prefix}{field.name}.")


NAMES = {
    name
    for root in (TrainSettings, EvaluateSettings, PlaygroundSettings)
    for name in _names(root, "")
}
SHORT = {*TrainSettings.SHORT, *EvaluateSettings.SHORT}

# A function of R.
_OTHERS = {"model.matrix"}


def unknown_settings(text: str) -> list[str]:
    """Names in code within a line that look like settings and are none."""
    found = [name for code in _INLINE.findall(text) for name in _NAMED.findall(code)]
    return [name for name in dict.fromkeys(found) if not _exists(name)]


def _exists(name: str) -> bool:
    part = re.sub(r"^data\.parts\.\w+|^data\.reader\.parts\.\w+", "data.reader.parts.*", name)
    is_file = Path(name).suffix in (".txt", ".csv", ".py")
    return is_file or part in NAMES or name in SHORT or name in _OTHERS


# The history names settings that are gone.
_CURRENT = [ROOT / "README.md", *(page for page in PAGES if page.name != "history.md")]


@pytest.mark.parametrize("path", _CURRENT, ids=lambda path: path.name)
def test_named_settings_exist(path: Path) -> None:
    assert unknown_settings(path.read_text(encoding="utf-8")) == []


def test_an_unknown_setting_is_found() -> None:
    text = "`task.porcessing` and `search.word_beam=3`, `data.txt`, `data.parts.ptb.root`, `x.y`"
    assert unknown_settings(text) == ["task.porcessing"]
