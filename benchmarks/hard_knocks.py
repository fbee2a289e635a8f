"""Kill jobs with kill -9 at random points, start them again, and compare their final results.

    python -m benchmarks.hard_knocks --kills 20
    python -m benchmarks.hard_knocks --kills 5 --stage training --stage sweep

Each stage is a command as a user types it. It runs twice undisturbed; what the two leave in their
folders, except for times, is what is expected (files that differ even then are listed as not
compared). Then it is started again and again in a new folder: each start is killed, with all its
processes, after a random time, and after a few kills one start is let to its end. The table shows,
for each stage, the kills, the restarts, how many of the final results equal the expected ones, and
the temporary files that were left behind. The exit code is 1 if any result differs or any file is
left behind.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]

# At most so many kills before a job is let to its end.
_KILLS_IN_A_ROW = 4
# Rounds in which a job may come to its end before its first kill.
_SPARE_ROUNDS = 10
# Seconds after which a job that does not end is given up.
_LONGEST = 900.0

# What differs between two jobs that do the same.
_TIMES = {"created", "seconds", "time", "elapsed", "started", "finished", "duration", "date"}
# Checksums of files with times; the files themselves are compared without times.
_CHECKSUMS = {"size", "sha256"}
# How the job was started: existing=resume is added later.
_COMMAND = {"command"}
# Logs, and checkpoints, which contain the durations of epochs.
_NOT_COMPARED = {"train.log", "last.ckpt"}

_WORDS = ("the", "a", "cat", "dog", "sees", "hears", "that", "old", "sleeps", ".")


@dataclass(frozen=True)
class Stage:
    """A job: its command in a folder, whose results are below ``results`` there.

    ``again`` is added when it is started again. ``prepare`` fills the common folder of all its
    jobs, in which they find their input.
    """

    name: str
    command: Callable[[Path, Path], list[str]]
    results: tuple[str, ...]
    again: tuple[str, ...] = ()
    prepare: Callable[[Path], None] = lambda _: None


@dataclass
class Outcome:
    """What happened to a stage."""

    stage: str
    kills: int = 0
    restarts: int = 0
    rounds: int = 0
    equal: int = 0
    compared: int = 0
    left_out: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    seconds: float = _LONGEST
    """Shortest time that a job took."""

    @property
    def is_good(self) -> bool:
        """Whether all results were as expected, and nothing was left behind."""
        return self.equal == self.rounds and not self.leftovers


def write_text_corpus(common: Path) -> None:
    """Write a corpus of plain text, the same on every call."""
    generator = random.Random(5)
    folder = common / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 400), ("valid", 40), ("test", 40)):
        lengths = [generator.randint(2, 8) for _ in range(count)]
        lines = [" ".join(generator.choices(_WORDS, k=length)) for length in lengths]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def train_models(common: Path) -> None:
    """Train the models that evaluations use, and write the sentences that they score."""
    for model in ("lstm", "rnng"):
        run_to_end([*_script("train"), *_toy(common, common), f"model={model}", *_TINY], common)
    text = [
        f"the {noun} {verb} ."
        for noun in ("boys", "man", "zebras that knew", "man that the boys knew", "boy", "girls")
        for verb in ("knew", "hated", "loves", "hated the boys", "hated the man", "saw the girl")
    ]
    (common / "sentences.txt").write_text("\n".join(text) + "\n", encoding="utf-8")


def train_and_score(common: Path) -> None:
    """Train, and score the suites into the store, so that only the report is left to write."""
    train_models(common)
    run_to_end(_suite(common, common / "first", common), common)


def _script(name: str) -> list[str]:
    return [sys.executable, str(ROOT / f"{name}.py")]


_TINY = ("model.size=tiny", "trainer=cpu", "trainer.max_epochs=2")


def _toy(common: Path, folder: Path, sentences: int = 300) -> list[str]:
    return [
        "data=toy_english", f"data.reader.train={sentences}", "data.reader.valid=30",
        "data.reader.test=30", f"paths.runs={common / 'runs'}", f"paths.cache={folder / 'cache'}",
    ]  # fmt: skip


def _preparation(common: Path, folder: Path) -> list[str]:
    return [*_script("evaluate"), "task=corpus", *_toy(common, folder, 30_000),
            "task.constructions=false", f"output={folder / 'results'}"]  # fmt: skip


def _training(common: Path, folder: Path) -> list[str]:
    return [
        *_script("train"), "data=text", f"data.root={common / 'corpus'}", "model=lstm",
        "model.size=tiny", "model.batches.max_sentences=8", "model.network.dropout=0.3",
        "model.optimiser.schedule=plateau", "trainer=cpu", "trainer.max_epochs=6",
        f"run_dir={folder / 'run'}", f"paths.cache={folder / 'cache'}",
    ]  # fmt: skip


def _training_by_steps(common: Path, folder: Path) -> list[str]:
    return [*_training(common, folder), "trainer.checkpoint_steps=5"]


def _evaluation(common: Path, output: Path, store: Path) -> list[str]:
    return [
        *_script("evaluate"), f"run={common / 'runs'}", f"output={output}",
        f"paths.cache={common / 'cache'}", f"paths.surprisals={store / 'surprisals.sqlite'}",
        "search.action_beam=20", "search.word_beam=5",
    ]  # fmt: skip


def _surprisal(common: Path, folder: Path) -> list[str]:
    return [*_evaluation(common, folder / "results", folder), "task=surprisal",
            f"input={common / 'sentences.txt'}", "task.chunk=4"]  # fmt: skip


def _suite(common: Path, folder: Path, store: Path) -> list[str]:
    return [*_evaluation(common, folder / "results", store), "suite=toy_english", "suite.items=8"]


def _suite_alone(common: Path, folder: Path) -> list[str]:
    return [*_suite(common, folder, folder), "task.report=false"]


def _report(common: Path, folder: Path) -> list[str]:
    return _suite(common, folder, common)


def _sweep(common: Path, folder: Path) -> list[str]:
    return [
        *_script("train"), "-m", "data=text", f"data.root={common / 'corpus'}",
        "model=ngram,lstm", "seed=1,2", f"paths.runs={folder / 'runs'}",
        f"paths.cache={folder / 'cache'}", f"hydra.sweep.dir={folder / 'hydra'}",
    ]  # fmt: skip


STAGES = (
    Stage("preparation", _preparation, ("cache", "results")),
    Stage("training", _training, ("run",), ("existing=resume",), write_text_corpus),
    Stage("steps", _training_by_steps, ("run",), ("existing=resume",), write_text_corpus),
    Stage("surprisal", _surprisal, ("results",), prepare=train_models),
    Stage("suite", _suite_alone, ("results",), prepare=train_models),
    Stage("report", _report, ("results",), prepare=train_and_score),
    Stage("sweep", _sweep, ("runs",), ("existing=resume",), write_text_corpus),
)


def knock(
    stage: Stage, kills: int, *, seed: int, work: Path, say: Callable[[str], None]
) -> Outcome:
    """Kill a stage so many times, and compare each final result."""
    generator = random.Random(f"{stage.name} {seed}")
    common = work / stage.name / "common"
    common.mkdir(parents=True)
    stage.prepare(common)
    outcome = Outcome(stage.name)
    # All jobs have the same folder, one after another: paths are part of some results.
    folder = work / stage.name / "job"
    first = _undisturbed(stage, common, folder, outcome)
    second = _undisturbed(stage, common, folder, outcome)
    expected = {name: value for name, value in first.items() if second.get(name) == value}
    outcome.compared = len(expected)
    usual = set(leftovers(folder))  # what an undisturbed job leaves is no sign of a kill
    outcome.left_out = sorted((set(first) | set(second)) - set(expected))
    # On a machine that is busy now and idle then, jobs may end before they are killed.
    while outcome.kills < kills and outcome.rounds < kills + _SPARE_ROUNDS:
        _empty(folder)
        most = min(_KILLS_IN_A_ROW, kills - outcome.kills)
        _one_round(stage, common, folder, most, generator, outcome)
        found = contents(folder, stage.results)
        wrong = [name for name, value in expected.items() if found.get(name) != value]
        outcome.rounds += 1
        outcome.equal += not wrong
        outcome.different += wrong
        outcome.leftovers += [name for name in leftovers(folder) if name not in usual]
        say(f"{stage.name}: {outcome.kills} of {kills} kills, {len(wrong)} files differ")
    return outcome


def _undisturbed(stage: Stage, common: Path, folder: Path, outcome: Outcome) -> dict[str, str]:
    _empty(folder)
    begin = time.monotonic()
    run_to_end(stage.command(common, folder), folder)
    outcome.seconds = min(outcome.seconds, time.monotonic() - begin)
    return contents(folder, stage.results)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _one_round(
    stage: Stage,
    common: Path,
    folder: Path,
    kills: int,
    generator: random.Random,
    outcome: Outcome,
) -> None:
    """Kill a job up to so many times, then let it come to its end."""
    command = stage.command(common, folder)
    for attempt in range(kills):
        given = [*command, *(stage.again if attempt else ())]
        # Nothing is written while Python imports its libraries.
        begin = time.monotonic()
        if not killed_after(generator.uniform(0.25, 1.0) * outcome.seconds, given, folder):
            outcome.seconds = min(outcome.seconds, time.monotonic() - begin)
            return
        outcome.kills += 1
        outcome.restarts += 1
    run_to_end([*command, *stage.again], folder)


def killed_after(seconds: float, command: Sequence[str], folder: Path) -> bool:
    """Start a job and kill it with all its processes; False if it ended before."""
    process = subprocess.Popen(
        command, cwd=folder, env=_environment(), stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return True
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nfailed after a kill:\n{said}")
    return False


def run_to_end(command: Sequence[str], folder: Path) -> None:
    """Run a job to its end; it must succeed."""
    done = subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False,
        timeout=_LONGEST,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nfailed:\n{done.stdout}\n{done.stderr}")


def _environment() -> dict[str, str]:
    return {"OMP_NUM_THREADS": "1", **os.environ, "CI": "1"}


def contents(folder: Path, roots: Sequence[str]) -> dict[str, str]:
    """Return a hash of each file of results, without times."""
    files = [
        path
        for root in roots
        for path in sorted((folder / root).rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.name not in _NOT_COMPARED
    ]
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(_without_times(path)).hexdigest()
        for path in files
    }


def _without_times(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix == ".json":
        return json.dumps(_timeless(json.loads(content)), sort_keys=True).encode()
    if path.suffix == ".csv":
        rows = [_timeless(row) for row in csv.DictReader(io.StringIO(content.decode()))]
        return json.dumps(rows).encode()
    return content


def _timeless(content: Any) -> Any:
    if isinstance(content, dict):
        left_out = _TIMES | _CHECKSUMS | _COMMAND
        return {key: _timeless(value) for key, value in content.items() if key not in left_out}
    return [_timeless(value) for value in content] if isinstance(content, list) else content


def leftovers(folder: Path) -> list[str]:
    """List the temporary files that no process will remove any more."""
    marks = (".part", ".old", ".tmp")
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.name.endswith(marks) or "checkpoint" in path.name.lower()
    ]


def as_table(outcomes: Sequence[Outcome]) -> Table:
    """Show one row per stage."""
    table = Table(title="Jobs killed at random points and started again")
    for name in ("stage", "kills", "restarts", "equal", "files compared", "leftovers"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    for one in outcomes:
        table.add_row(
            one.stage, str(one.kills), str(one.restarts), f"{one.equal} of {one.rounds}",
            str(one.compared), str(len(one.leftovers)),
        )  # fmt: skip
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Knock the stages asked for, and print the table."""
    names = [stage.name for stage in STAGES]
    parser = argparse.ArgumentParser(description="Kill jobs at random points; compare results.")
    parser.add_argument("--kills", type=int, default=20, help="kills of each stage")
    parser.add_argument("--stage", action="append", choices=names, help="one stage; repeatable")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the points")
    given = parser.parse_args(arguments)
    console = Console()
    chosen = [stage for stage in STAGES if stage.name in (given.stage or names)]
    with tempfile.TemporaryDirectory(prefix="hard_knocks_") as work:
        outcomes = [
            knock(one, given.kills, seed=given.seed, work=Path(work), say=console.print)
            for one in chosen
        ]
    console.print(as_table(outcomes))
    for one in outcomes:
        for what, found in (
            ("not compared, because two undisturbed jobs differ", one.left_out),
            ("different", one.different),
            ("left behind", one.leftovers),
        ):
            for name in dict.fromkeys(found):
                console.print(f"{one.stage}: {what}: {name}", highlight=False, soft_wrap=True)
    return 0 if all(one.is_good for one in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
