"""Runs the command lines of documents: what replaces what in them, and which are not run."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.documented.pages import ROOT, ShellLine, commands
from tests.documented.stand_ins import RESCORED


@dataclass(frozen=True, kw_only=True)
class Substitution:
    """A change of all commands in which a pattern is found.

    ``settings`` replace those of the same name, or are added; ``words`` replace parts of words;
    ``flags`` are added.
    """

    where: str
    settings: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def concerns(self, command: str) -> bool:
        """Whether the command is changed."""
        return re.search(self.where, command) is not None

    def apply(self, words: Sequence[str]) -> list[str]:
        """The changed words of a command."""
        result = []
        for word in words:
            for name, stand_in in self.words.items():
                word = word.replace(name, stand_in)
            result.append(word)
        for setting in self.settings:
            name = setting.partition("=")[0]
            result = [word for word in result if not word.startswith(f"{name}=")] + [setting]
        return [*result, *self.flags]


_NETWORKS = r"model=(?:lstm|rnng|plm|transformer)(?:,(?:lstm|rnng|plm|transformer))*(?: |$)"

_SEARCHED = r"task=(?:surprisal|perplexity|parse|annotate)"

# Names that a reader replaces by names of their own.
STAND_INS = (
    Substitution(where="/path/to/folder", words={"/path/to/folder": "my_corpus"}),
    Substitution(where="/path/to/ctb9.0", words={"/path/to/ctb9.0": "corpora/ctb"}),
    Substitution(where="/scratch/", words={"/scratch/": ""}),
    Substitution(where="suite=NAME", words={"suite=NAME": "suite=toy_english"},
                 settings=("suite.in_vocabulary=false",)),
    Substitution(where="model=NAME", words={"model=NAME": "model=rnng"}),
    Substitution(where=r"name=FILE", words={"FILE": "hidden650_batch128_dropout0.2_lr20.0.pt"}),
    Substitution(where="FOLDER_1", words={
        "FOLDER_1": "released/mandarin", "FOLDER_2": "released/mandarin_2",
        "materials=FOLDER": "materials=released/mandarin",
    }),
    *(
        Substitution(
            where=rf"(suite|study)={name} .*=FOLDER( |$)", words={"=FOLDER": f"=released/{name}"}
        )
        for name in ("mandarin", "reflexives", "suppression")
    ),
    Substitution(where=r"benchmarks\.pretrained", words={"FOLDER": "gpt2"}),
    # The folder holds a stand-in, which no annotation may replace.
    Substitution(where=r"output=corpora/xinhua", words={"corpora/xinhua": "corpora/made"}),
    Substitution(where=r"task=merge", words={",b.sqlite": ""}),
    Substitution(where=r"task=new_suite", words={"name=mine": "name=another"}),
    Substitution(where=r"task=runs run=runs/rates", words={"runs/rates": "runs/demo"}),
    Substitution(where=r"formula=", words={"filler * gap": "number"}),
    Substitution(where=r"suite=items\.csv .*effects=", words={"items.csv": "cells.csv"}),
    Substitution(where=r"ZhoBLiMP", words={"ZhoBLiMP.tar.gz": "ZhoBLiMP.zip"}),
)  # fmt: skip

# What makes work small.
SMALLER = (
    # Training: one epoch of the smallest network on a few sentences.
    Substitution(where=rf"^python train\.py .*({_NETWORKS}|experiment=(?!demo( |$)))",
                 settings=("model.size=tiny",)),
    Substitution(where=r"^python train\.py (?!.*(--help|--cfg))",
                 settings=("trainer=cpu", "trainer.max_epochs=1")),
    Substitution(where=r"^python train\.py (.*data=toy_|(?!.*(data=|experiment=|--)))",
                 settings=("data.reader.train=40", "data.reader.valid=10", "data.reader.test=10")),
    Substitution(where=r"experiment=(pilot|demo|toy)",
                 settings=("data.reader.train=40", "data.reader.valid=10", "data.reader.test=10")),
    Substitution(where=r"data\.parts=\[toy_english,ptb_sample\]",
                 settings=("data.parts.toy_english.reader.train=40",)),
    Substitution(where=r"data\.subwords\.pieces=", settings=("data.subwords.pieces=60",)),
    Substitution(where=r"train\.py -m .*seed=1,2,3|experiment=",
                 settings=("seed=1",)),
    Substitution(where=r"train\.py -m experiment=(?!.*model=)", settings=("model=ngram,lstm",)),
    Substitution(where=r"-m experiment=(filler_gap|reflexives data=ptb)", settings=("model=lstm",)),
    # Evaluation: narrow beams, one item of each suite, two sentences.
    Substitution(where=rf"^python evaluate\.py .*(suite=|study=|{_SEARCHED})",
                 settings=("search.action_beam=10", "search.word_beam=3")),
    Substitution(where=r"^python evaluate\.py (?!.*task=).*suite=",
                 settings=("suite.items=1", "task.allow_unknown=true")),
    Substitution(where=r"^python evaluate\.py (?!.*(task=(?!rescore)|formula=)).*suite=(?!toy_)",
                 settings=("task.report=false",)),
    Substitution(where=r" suite=(toy_english|demo)|suite\.in_vocabulary=true",
                 settings=("suite.in_vocabulary=false",)),
    Substitution(where=r" suite=reflexives(?!.*materials=)",
                 settings=("suite.suites=[reflexives/toy]",)),
    Substitution(where=r" suite=islands", settings=(f"suite.suites=[{RESCORED}]",)),
    Substitution(where=r" suite=filler_gap", settings=("suite.suites=[filler_gap/toy]",)),
    Substitution(where=r" suite=mandarin(,demo)?(?!.*materials=)",
                 settings=("suite.suites=[mandarin/classifier_noun/none]",)),
    Substitution(where=r" study=(?!.*materials=)", settings=("study.items=1",)),
    Substitution(where=r" study=.*run=", settings=("task.allow_unknown=true",)),
    Substitution(where=r" (study=.*corpora=|task=perplexity)",
                 settings=("task.marginal_sentences=1",)),
    Substitution(where=r" task=parse", settings=("task.sentences=2",)),
    Substitution(where=r" task=(surprisal|annotate)", settings=("task.allow_unknown=true",)),
    Substitution(where=r" task\.valid=", settings=("task.valid=0.3", "task.test=0.3")),
    # The playground: no browser, and any free port.
    Substitution(where=r"^python playground\.py(?!.*--help)", settings=("browser=false", "port=0")),
    # Benchmarks: one sentence, narrow beams.
    Substitution(where=r"benchmarks\.near_ties",
                 flags=("--items", "1", "--wider", "2", "--suites", RESCORED)),
    Substitution(where=r"benchmarks\.pretrained", flags=("--items", "1", "--suites", RESCORED)),
)  # fmt: skip


# In a folder with stand-ins, a training takes the place of one, and nothing asks for a report.
IN_STOCK = (
    Substitution(where=r"^python evaluate\.py (?!.*task=).*suite=toy_english",
                 settings=("task.report=false",)),
    Substitution(where=r"^python train\.py (?!.*(existing=|--help|--cfg|--version))",
                 settings=("existing=overwrite",)),
)  # fmt: skip


def smaller(words: Sequence[str], *, in_stock: bool) -> list[str]:
    """The words of a command that is run in place of a documented one."""
    text, result = " ".join(words), list(words)
    for one in (*STAND_INS, *SMALLER, *(IN_STOCK if in_stock else ())):
        if one.concerns(text):
            result = one.apply(result)
    return result


# ----------------------------------------------------------------------------
# Runs a documented command line in the working directory, within this process where it can.


_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The exit code of a line, what it printed, and the command that was run in its place."""

    code: int
    printed: str
    command: str


def run_line(line: ShellLine, *, in_stock: bool) -> Outcome:
    """Run the programs of a line one after the other; a failure ends it.

    ``in_stock``: the working directory has all stand-ins.
    """
    given, printed, ran = "", "", []
    code = 0
    for step in line.steps():
        words = smaller(step.words, in_stock=in_stock)
        ran.append(" ".join(words))
        code, output, messages = _run(words, given if step.is_piped else "")
        given = output
        printed += output + messages
        if step.target:
            Path(step.target).write_text(output, encoding="utf-8")
        if code:
            break
    return Outcome(code=code, printed=printed, command=" | ".join(ran))


def _run(words: Sequence[str], given: str) -> tuple[int, str, str]:
    output, messages = _stream(), _stream()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", _stream(given))
        patch.setenv("COLUMNS", "100")
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
            code = _started(patch, words, given, output)
    return code, _text(output), _text(messages)


def _stream(text: str = "") -> io.TextIOWrapper:
    """A stream with a buffer of bytes, as those of a process."""
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def _started(
    patch: pytest.MonkeyPatch, words: Sequence[str], given: str, output: io.TextIOWrapper
) -> int:
    """The exit code of a program: our scripts and modules here, others as processes."""
    if words[0] == "python" and words[1] == "-m":
        patch.setattr(sys, "argv", [words[2], *words[3:]])
        patch.delitem(sys.modules, words[2], raising=False)
        return _code_of(lambda: runpy.run_module(words[2], run_name="__main__"))
    if words[0] == "python":
        script = str(ROOT / words[1])
        patch.setattr(sys, "argv", [script, *words[2:]])
        if words[1] == "playground.py":
            _visit_and_stop(patch)
        return _code_of(lambda: runpy.run_path(script, run_name="__main__"))
    if words[0] in ("rm", "du", "ls", "cat", "echo", "cp", "mkdir"):
        done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
        output.write(done.stdout + done.stderr)
        return done.returncode
    raise AssertionError(f"how to run {words[0]}?")


def _code_of(program: Any) -> int:
    try:
        program()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    return 0


def _visit_and_stop(patch: pytest.MonkeyPatch) -> None:
    """Let the playground answer one request for its page, and end."""
    import uvicorn

    serve = uvicorn.Server.run
    answers: list[int] = []

    def visited(server: Any, sockets: Any) -> None:
        address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/"

        def visit() -> None:
            end = time.monotonic() + _PATIENCE_SECONDS
            while not server.started and time.monotonic() < end:
                time.sleep(0.02)
            with urllib.request.urlopen(address, timeout=_PATIENCE_SECONDS) as answer:
                answers.append(answer.status)
            server.should_exit = True

        # Signals are for the main thread, which is that of the tests.
        thread = threading.Thread(target=visit)
        thread.start()
        serve(server, sockets=sockets)
        thread.join(_PATIENCE_SECONDS)
        assert answers == [200], "the playground did not answer"

    patch.setattr(uvicorn.Server, "run", visited)
    # The command ends its process, which here is that of the tests.
    patch.setattr(os, "_exit", sys.exit)


# ----------------------------------------------------------------------------
# Documented commands that are not run, each with its reason and with what is checked instead.


Check = Callable[[ShellLine, Path], None]


class _ParsedError(Exception):
    """Raised when the arguments of a program were accepted, before it begins."""


def settings_are_valid(line: ShellLine, folder: Path) -> None:
    """Compose the settings of train.py or evaluate.py; no mistake is found."""
    from tests.documented.test_pages import mistakes

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
           reason="starts processes that load everything anew; tests/test_sweeps.py"),
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
           reason="its runs are an ellipsis; tests/integration/test_pretrained.py runs it"),
    NotRun(where=r"benchmarks\.(error_and_cost|coverage)$", check=module_exists,
           reason="names the module; the page has its arguments"),
    NotRun(where=r"benchmarks\.(error_and_cost|coverage) ", check=arguments_are_valid,
           reason="searches with wide beams for minutes; tests/test_benchmarks.py"),
    NotRun(where=r"benchmarks\.(training|vocabulary|search|launches|scale|processes|hard_knocks)",
           check=arguments_are_valid,
           reason="measures for minutes; tests/test_benchmarks.py and test_hard_knocks.py"),
    NotRun(where=r"tests\.fuzz .*--reader NAME", check=is_named,
           reason="NAME is one of many readers; the command for one of them is checked"),
    NotRun(where=r"tests\.fuzz .*--inputs 1000000", check=arguments_are_valid,
           reason="takes hours; tests/fuzz/test_fuzz.py tries fewer inputs"),
    NotRun(where=r"", page="docs/extending.md", check=is_named,
           reason="needs the files of the page: tests/documented/test_examples.py runs them"),
)  # fmt: skip


def reason_not_to_run(line: ShellLine) -> NotRun | None:
    """The first entry that concerns a line."""
    return next((one for one in NOT_RUN if one.concerns(line)), None)
