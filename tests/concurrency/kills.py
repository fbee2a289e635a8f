"""Processes that are killed at a chosen point: of any code, and of a training."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gardenpath.models.training.trainer import LanguageModelling
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.small_runs import NEURAL

# What Python reports before it touches the file system.
_STEPS = {
    "open", "os.chmod", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir",
    "os.scandir", "os.symlink", "os.truncate", "shutil.rmtree", "tempfile.mkdtemp",
    "tempfile.mkstemp",
}  # fmt: skip


def killed_before_step(step: int, act: Callable[[], None], root: Path) -> bool:
    """Run ``act`` in a process that is killed before its given step; False if it came to its end.

    Steps are those on files below ``root``. Nothing of the dying process takes part, not even its
    clean-up.
    """
    pid = os.fork()
    if pid == 0:
        die_at(step, str(root))
        try:
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the process failed"
    return False


def every_step(
    act: Callable[[], None], *, prepare: Callable[[], None], root: Path
) -> Iterator[int]:
    """Kill ``act`` before its first step, then before its second, and so on to its end.

    Yields after each kill, and once more when ``act`` came to its end. Each time ``prepare`` is
    called first.
    """
    step = 0
    is_killed = True
    while is_killed:
        prepare()
        step += 1
        is_killed = killed_before_step(step, act, root)
        yield step


def die_at(step: int, root: str) -> None:
    """Let this process be killed before its given step on files below ``root``."""
    left = step

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event == "ctypes.dlsym" or (event in _STEPS and str(arguments[0]).startswith(root)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


# ----------------------------------------------------------------------------
# Trainings in processes that are killed at chosen points, or at random times, and resumed.


# Six steps and a validation of two batches in an epoch. The plateau schedule lowers the rate after
# the fourth epoch, the weights of the sixth are the best, and early stopping ends the run after the
# eighth.
OVERFITTING = (
    *NEURAL,
    "model=lstm",
    "model.network.dropout=0.2",
    "model.optimiser.learning_rate=0.01",
    "model.optimiser.schedule=plateau",
    "model.optimiser.decay=0.5",
    "trainer.max_epochs=12",
    "trainer.early_stopping=2",
)


@dataclass(frozen=True)
class KillReport:
    """What happened to a training: how many kills, and what differs from one without them."""

    kills: int
    differences: tuple[str, ...]


def kill_training_at_random(
    seed: int,
    folder: Path,
    expected: RunFolder,
    *overrides: str,
    kills: int = 3,
    seconds: float = 1.0,
    signals: Sequence[signal.Signals] = (signal.SIGKILL,),
) -> KillReport:
    """Kill a training in ``folder`` some times, each after a random time, and resume it to its end.

    Each time one of the ``signals`` is sent; the training answers those that are not SIGKILL.
    ``expected`` is the run of :func:`small_runs.run` with the same ``overrides``, undisturbed.
    ``seconds`` is about how long one takes. The result is compared bit by bit, except for the time
    that epochs took; files that a killed process left behind count as a difference.
    """
    generator = random.Random(seed)
    if not (folder / "corpus").exists():
        small_runs.write_corpus(folder / "corpus")
    done = 0
    for _ in range(kills):
        process = start_training(folder, *overrides)
        time.sleep(generator.uniform(0.0, seconds))
        os.kill(process, generator.choice(signals))
        code = exit_code(process)
        assert code <= 0 or code > 128, "it ended by itself or by a signal, not with an error"
        done += code != 0
    assert exit_code(start_training(folder, *overrides)) == 0
    run = RunFolder(Path(small_runs.settings(folder, *overrides).run_dir))
    return KillReport(done, tuple(differences(run, expected)))


def start_training(folder: Path, *overrides: str, before: Callable[[], None] = lambda: None) -> int:
    """Start or resume a training in a forked process; its id. ``before`` is called in there."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            before()
            small_runs.run(folder, *overrides, "existing=resume")
            code = 0
        except BaseException as error:
            # Before the training has handlers of its own, Python answers to Ctrl-C.
            code = 130 if isinstance(error, KeyboardInterrupt) else getattr(error, "exit_code", 1)
            traceback.print_exc()
        finally:
            os._exit(code)
    return process


def exit_code(process: int) -> int:
    """How a process ended; negative if by a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def send_in(method: str, number: int, what: signal.Signals) -> Callable[[], None]:
    """Return what lets a process send itself a signal in the given call of a method.

    ``method`` is one of the module that trains: ``training_step``, ``validation_step``, …
    """

    def change() -> None:
        original, calls = getattr(LanguageModelling, method), 0

        def call_or_die(self: Any, *arguments: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), what)
            return original(self, *arguments)

        setattr(LanguageModelling, method, call_or_die)

    return change


def differences(run: RunFolder, expected: RunFolder) -> list[str]:
    """What of a run is not as expected, and what killed writers left behind."""
    found = [str(path) for path in run.path.rglob(".*.part")]
    if not run.is_finished:
        return [*found, "not finished"]
    run.verify()
    if (run / "weights.safetensors").read_bytes() != (
        expected / "weights.safetensors"
    ).read_bytes():
        found.append("weights")
    if small_runs.metrics(run) != small_runs.metrics(expected):
        found.append("metrics")
    if run.result() != expected.result():
        found.append("result")
    return found
