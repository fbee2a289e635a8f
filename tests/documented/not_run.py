"""Documented commands that are not run, each with its reason and with what is checked instead."""

from __future__ import annotations

import argparse
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.documented.shell_lines import ShellLine
from tests.documents import ROOT, commands

Check = Callable[[ShellLine, Path], None]


class _ParsedError(Exception):
    """Raised when the arguments of a program were accepted, before it begins."""


def settings_are_valid(line: ShellLine, folder: Path) -> None:
    """Compose the settings of train.py or evaluate.py; no mistake is found."""
    from tests.test_documents import mistakes

    command = line.text[line.text.index("python ") :]  # srun and others start it
    found = list(commands(line.page, f"`{command}`"))
    assert found, f"no command of train.py or evaluate.py: {line}"
    assert [mistakes(one, folder) for one in found] == [[] for _ in found]


def arguments_are_valid(line: ShellLine, folder: Path) -> None:
    """Start a module until it has parsed its arguments."""
    parse = argparse.ArgumentParser.parse_args
    (step,) = line.steps()
    _, _, module, *arguments = step.words

    def parsed(parser: Any, *given: Any, **named: Any) -> Any:
        parse(parser, *given, **named)
        raise _ParsedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [module, *arguments])
        patch.delitem(sys.modules, module, raising=False)
        patch.setattr(argparse.ArgumentParser, "parse_args", parsed)
        with pytest.raises(_ParsedError):
            runpy.run_module(module, run_name="__main__")


def module_exists(line: ShellLine, folder: Path) -> None:
    """The module is one of ours; its arguments are those of other mentions."""
    module = line.steps()[0].words[2]
    assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


def target_exists(line: ShellLine, folder: Path) -> None:
    """Ask make what it would do."""
    done = subprocess.run(
        ["make", "--dry-run", "--silent", line.steps()[0].words[1]],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout, done.stderr


def extras_exist(line: ShellLine, folder: Path) -> None:
    """The extras of Gardenpath that are named are in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for names in re.findall(r"(?:gardenpath|\.)\[([\w,]+)\]", line.text):
        assert set(names.split(",")) <= set(project["optional-dependencies"])


def is_named(line: ShellLine, folder: Path) -> None:
    """A command of another program, of which nothing is checked."""


@dataclass(frozen=True, kw_only=True)
class NotRun:
    """Commands in which a pattern is found, on one page or on all."""

    where: str
    reason: str
    check: Check
    page: str = ""

    def concerns(self, line: ShellLine) -> bool:
        """Whether the line is one of these commands."""
        return self.page in ("", line.page) and re.search(self.where, line.text) is not None


NOT_RUN = (
    NotRun(where=r"^make ", check=target_exists,
           reason="installs software or takes minutes; tests/packaging and .ci/run run it"),
    NotRun(where=r"^pip |^python -m (nltk\.downloader|spacy download)", check=extras_exist,
           reason="needs a network"),
    NotRun(where=r"^source ", check=is_named, reason="changes the shell of the reader"),
    NotRun(where=r"^wandb (sync|login)", check=is_named, reason="needs a network and an account"),
    NotRun(where=r"^Rscript ", check=is_named,
           reason="needs R; tests/eval/statistics run written scripts where it is installed"),
    NotRun(where=r"study=filler_gap surprisals=table\.csv", check=settings_are_valid,
           reason="needs surprisals of almost 30,000 sentences; tests/eval/studies have fewer"),
    NotRun(where=r"hydra/launcher=local", check=settings_are_valid,
           reason="starts processes that load everything anew; tests/test_errors.py"),
    NotRun(where=r"hydra/launcher=slurm|^srun ", check=settings_are_valid,
           reason="needs SLURM; tests/slurm run such jobs where it is installed"),
    NotRun(where=r"trainer=ddp", check=settings_are_valid,
           reason="needs four GPUs; tests/distributed train with several processes"),
    NotRun(where=r"--watch", check=settings_are_valid,
           reason="runs until it is interrupted; tests/runs/overview refresh the table"),
    NotRun(where=r"task\.language=zh output=corpora/xinhua", check=settings_are_valid,
           reason="needs spaCy and benepar with their models; tests/runs/annotating stand in"),
    NotRun(where=r"benchmarks\.peer$", check=module_exists,
           reason="names the module; the page has its arguments"),
    NotRun(where=r"benchmarks\.peer ", check=arguments_are_valid,
           reason="needs a checkout of published code; tests/test_peer_benchmarks.py"),
    NotRun(where=r"benchmarks\.word_sums", check=arguments_are_valid,
           reason="its runs are an ellipsis; tests/integration/test_pieces.py runs it"),
    NotRun(where=r"benchmarks\.(error_and_cost|coverage)$", check=module_exists,
           reason="names the module; the page has its arguments"),
    NotRun(where=r"benchmarks\.(error_and_cost|coverage) ", check=arguments_are_valid,
           reason="searches with wide beams for minutes; tests/test_error_benchmarks.py"),
    NotRun(where=r"benchmarks\.(training|vocabulary|search|launches|scale|processes|hard_knocks)",
           check=arguments_are_valid,
           reason="measures for minutes; tests/test_benchmarks.py and test_hard_knocks.py"),
    NotRun(where=r"tests\.fuzz .*--reader NAME", check=is_named,
           reason="NAME is one of many readers; the command for one of them is checked"),
    NotRun(where=r"tests\.fuzz .*--inputs 1000000", check=arguments_are_valid,
           reason="takes hours; tests/fuzz/test_fuzz.py tries fewer inputs"),
    NotRun(where=r"", page="docs/extending.md", check=is_named,
           reason="needs the files of the page: tests/extending/test_examples.py runs them"),
)  # fmt: skip


def reason_not_to_run(line: ShellLine) -> NotRun | None:
    """The first entry that concerns a line."""
    return next((one for one in NOT_RUN if one.concerns(line)), None)
