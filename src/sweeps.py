"""Sweeps: many jobs from one command line, started through Hydra's launchers.

:mod:`gardenpath.cli` calls :func:`run_sweep`, and each job calls :func:`survived` and
:func:`ending_with_sweep`. Hydra's own sweeper stops at the first job that fails, and its launchers
for several processes and for clusters lose the results of all jobs if one process dies; here, each
job has its own outcome, whatever becomes of the others. Nothing here knows what a job does.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import DictConfig, OmegaConf

from gardenpath.console import console
from gardenpath.errors import (
    ConfigError,
    StoppedError,
    SweepStoppedError,
    TrainingStoppedError,
    in_one_line,
)
from gardenpath.models.training.checkpoints import SIGNALS, is_requeued, requeue
from gardenpath.runs.overview import states_of_jobs
from gardenpath.safe_text import parse_json
from gardenpath.settings.compose import (
    CommandLine,
    ConfigSource,
    Script,
    composed,
    is_of_hydra,
    single,
    sweep_config,
)
from gardenpath.settings.schema import folders_for, short_names
from gardenpath.store.files import write_json
from gardenpath.tasks.runs import print_states
from gardenpath.util import plural, python_command, sweep_process, tied_to_this_process
from gardenpath.workers import available_cores

if TYPE_CHECKING:
    import submitit

# Called once for each job; the returned value is for sweepers.
Task = Callable[[DictConfig], float | None]
# The overrides of a job.
JobArguments = Sequence[str]


class JobOutcome(float):
    """The validation loss of a job, as sweepers read it; infinite if the job failed."""

    failure: str | None = None
    """The reason for the failure, in one line."""

    @classmethod
    def failed(cls, reason: str) -> JobOutcome:
        """Return the outcome of a job that failed."""
        outcome = cls(math.inf)
        outcome.failure = " ".join(reason.split())
        return outcome


def survived(job: Callable[[], float | None]) -> JobOutcome:
    """Run a job; an error becomes its outcome, so that other jobs go on.

    Interruptions by the user or by a scheduler are passed on: they concern the whole process.
    """
    try:
        loss = job()
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt | SystemExit):
                raise SystemExit(130) from error
            cause = cause.__cause__ or cause.__context__
        reason = in_one_line(error)
        if reason is None:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {error}"
        outcome = JobOutcome.failed(reason)
        sys.stderr.write(f"error: {outcome.failure}\n")
        return outcome
    return JobOutcome(math.nan if loss is None else loss)


# ---- Processes that run jobs of a sweep end soon after the sweep itself, even if it was killed
#
# Otherwise, they would go on unseen, and the next attempt would find their run folders in use.

_SECONDS_BETWEEN_CHECKS = 0.5
# Time to write a checkpoint.
_SECONDS_TO_STOP = 60.0


@contextmanager
def ending_with_sweep() -> Iterator[None]:
    """Stop the work of the block, as by a signal, if the sweep ends; then this process ends.

    Nothing happens in a process that no sweep of this machine has started.
    """
    sweep = sweep_process()
    if not sweep:
        yield
        return
    is_over = threading.Event()
    threading.Thread(target=_watch, args=(sweep, is_over), daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        if os.getppid() != sweep:
            os._exit(1)  # nobody asks for the result


def _watch(sweep: int, is_over: threading.Event) -> None:
    while os.getppid() == sweep:
        if is_over.wait(_SECONDS_BETWEEN_CHECKS):
            return
    os.kill(os.getpid(), signal.SIGTERM)
    if not is_over.wait(_SECONDS_TO_STOP):
        os._exit(1)


# ---- Start the jobs through a launcher, and collect what became of each of them

# The settings of launchers of the package hydra-submitit-launcher.
_SUBMITIT = ("slurm", "submitit_slurm", "submitit_local")
# The signal by which submitit announces the end of a job's time, so that it can be requeued.
_PREEMPTION = ("SUBMITIT_PREEMPT_SIGNAL", "USR1")


def require_launcher(overrides: Sequence[str]) -> None:
    """Raise an error if the package of the chosen launcher is not installed."""
    for override in overrides:
        name, _, value = override.partition("=")
        if name != "hydra/launcher" or value not in _SUBMITIT:
            continue
        try:
            is_installed = find_spec("hydra_plugins.hydra_submitit_launcher") is not None
        except ModuleNotFoundError:  # no package for Hydra is installed
            is_installed = False
        if not is_installed:
            package = "hydra-submitit-launcher"
            raise ConfigError(
                [f"{override} needs the package {package}: pip install 'gardenpath[launchers]'"]
            )


def launch(
    source: ConfigSource, task: Task, jobs: Sequence[JobArguments], hydra_overrides: Sequence[str]
) -> list[JobOutcome]:
    """Run all jobs, and return their outcomes in the same order."""
    os.environ.setdefault(*_PREEMPTION)
    with sweep_config(source, [*hydra_overrides, *jobs[0]]) as (config, context):
        folder = str(config.hydra.sweep.dir)
        Path(folder).mkdir(parents=True, exist_ok=True)
        count = OmegaConf.select(config, "hydra.launcher.n_jobs")
        if count is not None:
            # In its process, each job is the only one of a sweep.
            own = [one for one in hydra_overrides if not one.lstrip("+~").startswith(_REPLACED)]
            own += ["hydra/launcher=basic", f"hydra.sweep.dir={_quoted(folder)}"]
            variables = {str(k): str(v) for k, v in config.hydra.job.env_set.items()}
            full = [[*own, *overrides] for overrides in jobs]
            return run_in_processes(source, full, count=int(count), environment=variables)
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=context, task_function=task, config=config
        )
        if hasattr(launcher, "_EXECUTOR"):
            return run_in_queue(launcher, jobs)
        return [_outcome(job) for job in launcher.launch(jobs, initial_job_idx=0)]


def _outcome(job: JobReturn) -> JobOutcome:
    value = job._return_value
    if job.status is JobStatus.COMPLETED and isinstance(value, JobOutcome):
        return value
    return JobOutcome.failed(f"{type(value).__name__}: {value}")


# ---- Jobs in parallel processes of this machine (``hydra/launcher=local``)
#
# Each job has a process of its own, so that a job whose process dies, for example because memory
# ran out, fails alone. If the sweep is stopped or killed, its processes write their checkpoints and
# end. (submitit's local executor would write what jobs print to files, starts all jobs at once, and
# its jobs survive the sweep.)

# Hydra's own settings that are those of the sweep, not of the process of a job.
_REPLACED = ("hydra/launcher=", "hydra.launcher.", "hydra.job.env_set", "hydra.sweep.dir=")
_SECONDS_BETWEEN_LOOKS = 0.1


def run_in_processes(
    source: ConfigSource,
    jobs: Sequence[JobArguments],
    *,
    count: int,
    environment: Mapping[str, str],
) -> list[JobOutcome]:
    """Run at most ``count`` jobs at a time; negative numbers count down from that of the cores."""
    most = max(1, available_cores() + 1 + count if count < 0 else count)
    # A process needs variables such as OMP_NUM_THREADS before it loads its libraries.
    variables = {**os.environ, **environment, **tied_to_this_process()}
    command = python_command("gardenpath.cli", "sweep_job_main")
    waiting = list(enumerate(jobs))[::-1]
    running: dict[int, subprocess.Popen[bytes]] = {}
    outcomes: dict[int, JobOutcome] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            while waiting or running:
                while waiting and len(running) < most:
                    number, overrides = waiting.pop()
                    answer = str(Path(folder, f"{number}.json"))
                    sent = json.dumps([asdict(source), overrides, number, answer])
                    running[number] = subprocess.Popen([*command, sent], env=variables)
                for number in [n for n, job in running.items() if job.poll() is not None]:
                    code = running.pop(number).returncode
                    outcomes[number] = _answered(Path(folder, f"{number}.json"), code)
                time.sleep(_SECONDS_BETWEEN_LOOKS)
        finally:  # a signal, or an error
            _stop_jobs(list(running.values()))
    return [outcomes[number] for number in range(len(jobs))]


def run_sent_job(sent: str, tasks: Mapping[Script, Task]) -> None:
    """Run a job of :func:`run_in_processes` in this process, and write what became of it."""
    settings, overrides, number, answer = parse_json(sent)
    source = ConfigSource(**settings)
    try:
        with sweep_config(source, overrides) as (config, context):
            launcher = Plugins.instance().instantiate_launcher(
                hydra_context=context, task_function=tasks[source.script], config=config
            )
            own = [one for one in overrides if not one.lstrip("+~").startswith("hydra")]
            (job,) = launcher.launch([own], initial_job_idx=number)
            outcome = _outcome(job)
    except (TrainingStoppedError, StoppedError) as error:  # a signal to this process alone
        outcome = JobOutcome.failed(str(error))
    except BaseException as error:
        outcome = JobOutcome.failed(f"{type(error).__name__}: {error}")
    write_json(Path(answer), [repr(float(outcome)), outcome.failure])


def _answered(path: Path, code: int) -> JobOutcome:
    """Return what a process that has ended has written, or how it ended without."""
    if path.is_file():
        loss, failure = parse_json(path.read_text(encoding="utf-8"))
        outcome = JobOutcome(loss)
        outcome.failure = failure
        return outcome
    name = signal.Signals(-code).name if code < 0 else "EXIT"
    return JobOutcome.failed(
        f"its process ended unexpectedly ({name}({code})); perhaps memory ran out"
    )


def _stop_jobs(jobs: Sequence[subprocess.Popen[bytes]]) -> None:
    """End processes, which may write their checkpoints first."""
    end = time.monotonic() + _SECONDS_TO_STOP
    try:
        for job in jobs:
            job.terminate()
        for job in jobs:
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(max(0.0, end - time.monotonic()))
    finally:  # also after a second signal
        for job in jobs:
            job.kill()


# ---- Jobs in the queue of a cluster (``hydra/launcher=slurm``), or in submitit's local executor


def run_in_queue(launcher: Any, jobs: Sequence[JobArguments]) -> list[JobOutcome]:
    """Submit the jobs as one array, and wait for all of them, whatever becomes of each."""
    executor = _executor(launcher)
    state = Singleton.get_state()
    submitted = executor.map_array(
        launcher,
        [list(overrides) for overrides in jobs],
        ["hydra.sweep.dir"] * len(jobs),
        range(len(jobs)),
        [f"job_id_for_{number}" for number in range(len(jobs))],
        [state] * len(jobs),
    )
    ids = ", ".join(dict.fromkeys(job.job_id.partition("_")[0] for job in submitted))
    logs = submitted[0].paths.folder.parent
    text = f"{plural(len(jobs), 'job')} submitted ({ids}); logs: {logs}"
    console.print(text, highlight=False, soft_wrap=True)
    return [_result(job) for job in submitted]


def _executor(launcher: Any) -> submitit.AutoExecutor:
    """Build the executor as the launcher would, from its settings."""
    import submitit
    from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf

    kind, settings = launcher._EXECUTOR, dict(launcher.params)
    folder = settings.pop("submitit_folder")
    timeouts = settings.pop("max_num_timeout", None)
    limits = {} if timeouts is None else {f"{kind}_max_num_timeout": timeouts}
    executor = submitit.AutoExecutor(cluster=kind, folder=folder, **limits)
    shared = set(OmegaConf.structured(BaseQueueConf).keys())
    executor.update_parameters(
        **{name if name in shared else f"{kind}_{name}": one for name, one in settings.items()}
    )
    return executor


def _result(job: submitit.Job[Any]) -> JobOutcome:
    try:
        return _outcome(job.results()[0])
    except Exception as error:  # killed, cancelled, out of time or memory
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return JobOutcome.failed(f"{lines[0]} (job {job.job_id}; log: {job.paths.stderr})")


# ---- Signals that stop a sweep: all of its jobs, also those that have not begun


@contextmanager
def stopped_as_a_whole() -> Iterator[None]:
    """Within the block, a signal ends the sweep with a :class:`SweepStoppedError`.

    Jobs in this process handle signals themselves while they work, and then call this handler. If
    the sweep is a SLURM job of its own, the signals of the scheduler requeue it.
    """
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, _stop)
    try:
        yield
    except SweepStoppedError as error:
        if is_requeued(error.number):
            requeue()
        raise
    except TrainingStoppedError as error:  # the signal was not for this process alone
        raise SweepStoppedError(error.exit_code - 128) from error
    except KeyboardInterrupt as error:
        stopped_by = error.number if isinstance(error, StoppedError) else signal.SIGINT
        raise SweepStoppedError(stopped_by) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    raise SweepStoppedError(number)


# ---- The jobs of a sweep, each with a folder of its own, before the first of them starts
#
# Only the combinations of groups are composed. The folders of the jobs follow from these
# compositions and the other values, so that hundreds of jobs take a second or two.

# Settings that are part of the folder of a run or of results anyway, or that name it.
_IN_THE_FOLDER: dict[Script, frozenset[str]] = {
    "train": frozenset(
        {"data", "data.name", "model", "model.name", "seed", "paths.runs", "run_dir"}
    ),
    "evaluate": frozenset({"output"}),
}
# Groups that name the results folders of their tasks.
_NAMED_RESULTS = {"suite": ("suite", "rescore"), "study": ("study",)}
_REMEDIES = {
    "run_dir": "list each value once, and leave run_dir= out, or write it as in "
    "'run_dir=out/${_variant}seed${seed}'",
    "task.file": "leave task.file= out: each job then writes to a folder of its own",
    "output": "list each value once",
}
# Most folders, and jobs of each, that an error message lists.
_MOST = 3


@dataclass(frozen=True, kw_only=True)
class SweepJob:
    """A job: its overrides in Hydra's form, and the folder or file that it writes."""

    overrides: tuple[str, ...]
    target: str


def sweep_jobs(line: CommandLine) -> list[SweepJob]:
    """Return all jobs of a sweep; a :class:`ConfigError` names jobs that would share a folder."""
    combinations = [(sweep, values) for sweep in line.sweeps() for values in _combinations(sweep)]
    script = line.source.script
    names = short_names({key for sweep, _ in combinations for key in sweep.swept})
    # The compositions of groups, in which other values are set.
    compositions: dict[tuple[str, ...], DictConfig] = {}
    jobs = []
    by_target: dict[tuple[str, str], list[str]] = defaultdict(list)
    for sweep, overrides in combinations:
        swept = [one for one in overrides if one.key_or_group in sweep.swept]
        values = [one for one in swept if not sweep.is_group(one)]
        key = tuple(one.input_line or "" for one in overrides if one not in values)
        if key not in compositions:
            compositions[key] = composed(sweep.source, key)
            OmegaConf.set_struct(compositions[key], False)
        config = compositions[key]
        for one in values:
            OmegaConf.update(config, one.key_or_group, one.value(), merge=False)
        in_folder = _IN_THE_FOLDER[script]
        if script == "evaluate":
            task = OmegaConf.select(config, "task.name")
            in_folder |= {group for group, tasks in _NAMED_RESULTS.items() if task in tasks}
        others = {o.key_or_group: o.value() for o in swept if o.key_or_group not in in_folder}
        added, setting, place = _placed(config, folders_for(others, names), script)
        target = os.path.normpath(place)
        lines = (*(one.input_line or "" for one in overrides), *added)
        jobs.append(SweepJob(overrides=lines, target=target))
        by_target[setting, target].append(" ".join(one.input_line or "" for one in swept))
    _require_own_targets(by_target)
    return jobs


def _combinations(line: CommandLine) -> Iterator[tuple[Override, ...]]:
    """Yield the overrides of each job."""
    choices = []
    for override in line.overrides:
        if is_of_hydra(override):
            continue
        if isinstance(override.value(), IntervalSweep):
            raise ConfigError([f"{override.input_line}: list the values, as in a,b,c"])
        choices.append([single(override, value) for value in line.values_of(override)])
    yield from itertools.product(*choices)


def _placed(config: DictConfig, folders: str, script: Script) -> tuple[list[str], str, str]:
    """Return the overrides that give a job its folder, and what it writes, with the setting."""
    if script == "train":
        config["_variant"] = folders
        return [f"_variant={_quoted(folders)}"], "run_dir", str(config["run_dir"])
    output = f"{str(config['output']).rstrip('/')}/{folders}".rstrip("/")
    file = OmegaConf.select(config, "task.file")
    if file is not None:
        return [], "task.file", str(file)
    added = [f"output={_quoted(output)}"] if folders else []
    for group in _NAMED_RESULTS:
        content = OmegaConf.select(config, group)
        if content is not None:
            name = content.get("name") or list(content.get("suites") or ())
            return added, "output", f"{output}/{name}"
    return added, "output", output


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _require_own_targets(by_target: Mapping[tuple[str, str], Sequence[str]]) -> None:
    """Raise an error if two jobs would write the same folder or file."""
    shared = {target: jobs for target, jobs in by_target.items() if len(jobs) > 1}
    mistakes = []
    for (setting, target), jobs in list(shared.items())[:_MOST]:
        shown = [job or "the same settings" for job in jobs[:_MOST]]
        shown += [f"{len(jobs) - _MOST} more"] if len(jobs) > _MOST else []
        remedy = _REMEDIES[setting]
        mistakes.append(f"{len(jobs)} jobs would write {target}: {'; '.join(shown)}; {remedy}")
    if len(shared) > _MOST:
        mistakes.append(f"{len(shared) - _MOST} more folders are shared by several jobs")
    if mistakes:
        raise ConfigError(mistakes)


# ---- Run a sweep: all jobs, and a table of them at the end


def run_sweep(line: CommandLine, task: Task) -> bool:
    """Run the jobs of a command line; return whether all of them succeeded.

    Mistakes in the settings of any job, and jobs that would share a folder, are errors before the
    first job starts.
    """
    special = [one.input_line or "" for one in line.overrides if is_of_hydra(one)]
    require_launcher(special)
    line.check()
    jobs = sweep_jobs(line)
    with stopped_as_a_whole():
        outcomes = launch(line.source, task, [job.overrides for job in jobs], special)
    failed = [
        (job.target, outcome.failure)
        for job, outcome in zip(jobs, outcomes, strict=True)
        if outcome.failure is not None
    ]
    if line.source.script == "train":
        print_states(states_of_jobs([job.target for job in jobs], dict(failed)))
    else:
        text = f"{plural(len(jobs), 'job')}: {len(jobs) - len(failed)} done, {len(failed)} failed"
        console.print(text, highlight=False)
        for target, failure in failed:
            text = f"failed: {Path(target)}: {failure}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    return not failed
