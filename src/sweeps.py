"""What a job of a sweep returns: its validation loss, or why it failed."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import submitit
from hydra.core.override_parser.types import IntervalSweep, Override
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode
from hydra_plugins.hydra_joblib_launcher._core import execute_job
from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf
from joblib import cpu_count
from joblib.externals.loky.process_executor import ProcessPoolExecutor
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
from gardenpath.settings.command_line import CommandLine, folders_for, short_names
from gardenpath.settings.compose import ConfigSource, Script, composed, is_of_hydra, single, started
from gardenpath.tasks.runs import print_states
from gardenpath.util import plural, sweep_process, tied_to_this_process


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
        if _is_interruption(error):
            raise SystemExit(130) from error
        reason = in_one_line(error)
        if reason is None:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {error}"
        outcome = JobOutcome.failed(reason)
        sys.stderr.write(f"error: {outcome.failure}\n")
        return outcome
    return JobOutcome(math.nan if loss is None else loss)


def _is_interruption(error: BaseException | None) -> bool:
    """Whether an error reports that the user interrupted the job."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            return True
        error = error.__cause__ or error.__context__
    return False


# ----------------------------------------------------------------------------
# Processes that run jobs of a sweep end soon after the sweep itself, even if it was killed.
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


# ----------------------------------------------------------------------------
# Start the jobs of a sweep through Hydra's launchers, and collect what became of each of them.
#
# Hydra's own sweeper stops at the first job that fails, and its launchers for several processes
# and for clusters lose the results of all jobs if one process dies. Here, each job has its own
# outcome.


# The package that a launcher needs.
_PACKAGES = {
    "local": "hydra_joblib_launcher",
    "joblib": "hydra_joblib_launcher",
    "slurm": "hydra_submitit_launcher",
    "submitit_slurm": "hydra_submitit_launcher",
    "submitit_local": "hydra_submitit_launcher",
}
# The signal by which submitit announces the end of a job's time, so that it can be requeued.
_PREEMPTION = ("SUBMITIT_PREEMPT_SIGNAL", "USR1")

# The overrides of a job.
JobArguments = Sequence[str]


def require_launcher(overrides: Sequence[str]) -> None:
    """Raise an error if the package of the chosen launcher is not installed."""
    for override in overrides:
        name, _, value = override.partition("=")
        package = _PACKAGES.get(value) if name == "hydra/launcher" else None
        if package is not None and not _is_installed(f"hydra_plugins.{package}"):
            needed = package.replace("_", "-")
            raise ConfigError(
                [f"{override} needs the package {needed}: pip install 'gardenpath[launchers]'"]
            )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # no package for Hydra is installed
        return False


def launch(
    source: ConfigSource,
    task: Callable[[DictConfig], Any],
    jobs: Sequence[JobArguments],
    hydra_overrides: Sequence[str],
) -> list[JobOutcome]:
    """Run all jobs, and return their outcomes in the same order."""
    os.environ.setdefault(*_PREEMPTION)
    with started(source) as hydra:
        config = hydra.compose_config(
            config_name=source.config_name,
            overrides=[*hydra_overrides, *jobs[0]],
            run_mode=RunMode.MULTIRUN,
            with_log_configuration=False,
        )
        from hydra._internal.callbacks import Callbacks

        context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(config))
        launcher = Plugins.instance().instantiate_launcher(
            hydra_context=context, task_function=task, config=config
        )
        Path(str(config.hydra.sweep.dir)).mkdir(parents=True, exist_ok=True)
        return [_outcome(found) for found in _launched(launcher, [list(one) for one in jobs])]


def _launched(launcher: Launcher, jobs: list[list[str]]) -> Sequence[JobReturn | JobOutcome]:
    """Run the jobs with the launcher that is configured."""
    if hasattr(launcher, "joblib"):
        return run_in_processes(launcher, jobs)
    if hasattr(launcher, "_EXECUTOR"):
        return run_in_queue(launcher, jobs)
    return list(launcher.launch(jobs, initial_job_idx=0))


def _outcome(found: JobReturn | JobOutcome) -> JobOutcome:
    if isinstance(found, JobOutcome):
        return found
    value = found._return_value
    if found.status is JobStatus.COMPLETED and isinstance(value, JobOutcome):
        return value
    return JobOutcome.failed(f"{type(value).__name__}: {value}")


# ----------------------------------------------------------------------------
# Jobs in parallel processes of this machine (``hydra/launcher=local`` or ``joblib``).
#
# Each of the parallel lanes has a process of its own, so that a job whose process dies, for
# example because memory ran out, fails alone. If the sweep is stopped or killed, its processes
# write their checkpoints and end.


_Found = JobReturn | JobOutcome

# How long processes may take to write their checkpoints when the sweep is stopped.
# A process that is given no job for so long ends: its sweep was killed between two jobs.
_SECONDS_WITHOUT_JOB = 60.0


def run_in_processes(launcher: Any, jobs: list[list[str]]) -> list[_Found]:
    """Run jobs in as many processes as the launcher has ``n_jobs``."""
    lanes = _Lanes(launcher, jobs)
    count = int(launcher.joblib["n_jobs"])
    count = max(1, cpu_count() + 1 + count) if count < 0 else max(1, count)
    threads = [
        threading.Thread(target=lanes.work, daemon=True) for _ in range(min(count, len(jobs)))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        lanes.stop(threads)
        raise
    return [lanes.found[number] for number in range(len(jobs))]


class _Lanes:
    """Jobs that wait, and what became of the others."""

    def __init__(self, launcher: Any, jobs: list[list[str]]) -> None:
        self._launcher = launcher
        self._state = Singleton.get_state()
        self._environment = {
            **_environment(launcher.config.hydra.job.env_set),
            **tied_to_this_process(),
        }
        self._waiting: queue.SimpleQueue[tuple[int, list[str]]] = queue.SimpleQueue()
        self._executors: set[ProcessPoolExecutor] = set()
        self.found: dict[int, _Found] = {}
        for number, overrides in enumerate(jobs):
            self._waiting.put((number, overrides))

    def work(self) -> None:
        """Run one job after the other in one process, until none is waiting."""
        executor = self._process()
        while True:
            try:
                number, overrides = self._waiting.get_nowait()
            except queue.Empty:
                break
            try:
                self.found[number] = self._run(executor, number, overrides)
            except BrokenProcessPool as error:
                self.found[number] = JobOutcome.failed(_why(error))
                executor = self._process()
            except (TrainingStoppedError, StoppedError) as error:  # a signal to this process alone
                self.found[number] = JobOutcome.failed(str(error))
            except BaseException as error:  # the thread must go on to the next job
                self.found[number] = JobOutcome.failed(f"{type(error).__name__}: {error}")
        executor.shutdown()

    def stop(self, threads: Sequence[threading.Thread]) -> None:
        """Start no more jobs, and end the processes, which may write their checkpoints first."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        end = time.monotonic() + _SECONDS_TO_STOP
        try:
            for executor in list(self._executors):
                for process in list((executor._processes or {}).values()):
                    process.terminate()
            for thread in threads:
                thread.join(max(0.0, end - time.monotonic()))
        finally:  # also after a second signal
            for executor in list(self._executors):
                executor.shutdown(wait=False, kill_workers=True)

    def _process(self) -> ProcessPoolExecutor:
        executor = ProcessPoolExecutor(
            max_workers=1, env=self._environment, timeout=_SECONDS_WITHOUT_JOB
        )
        self._executors.add(executor)
        return executor

    def _run(self, executor: ProcessPoolExecutor, number: int, overrides: list[str]) -> JobReturn:
        one = self._launcher
        future = executor.submit(
            execute_job,
            number,
            overrides,
            one.hydra_context,
            one.config,
            one.task_function,
            self._state,
        )
        result: JobReturn = future.result()
        return result


def _environment(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return variables that must be set before a process loads its libraries."""
    return {str(name): str(value) for name, value in settings.items()}


def _why(error: BaseException) -> str:
    codes = str(error).partition("exit codes of the workers are")[2].strip(" .{}")
    codes = codes.splitlines()[0] if codes else "unknown exit code"
    return f"its process ended unexpectedly ({codes}); perhaps memory ran out"


# ----------------------------------------------------------------------------
# Jobs in the queue of a cluster (``hydra/launcher=slurm``), or in submitit's local executor.


def run_in_queue(launcher: Any, jobs: list[list[str]]) -> list[_Found]:
    """Submit the jobs as one array, and wait for all of them, whatever becomes of each."""
    executor = _executor(launcher)
    state = Singleton.get_state()
    submitted = executor.map_array(
        launcher,
        jobs,
        ["hydra.sweep.dir"] * len(jobs),
        range(len(jobs)),
        [f"job_id_for_{number}" for number in range(len(jobs))],
        [state] * len(jobs),
    )
    ids = ", ".join(dict.fromkeys(one.job_id.partition("_")[0] for one in submitted))
    logs = submitted[0].paths.folder.parent
    text = f"{plural(len(jobs), 'job')} submitted ({ids}); logs: {logs}"
    console.print(text, highlight=False, soft_wrap=True)
    return [_result(job) for job in submitted]


def _executor(launcher: Any) -> submitit.AutoExecutor:
    """Build the executor as the launcher would, from its settings."""
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


def _result(job: submitit.Job[Any]) -> _Found:
    try:
        found: JobReturn = job.results()[0]
    except Exception as error:  # killed, cancelled, out of time or memory
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return JobOutcome.failed(f"{lines[0]} (job {job.job_id}; log: {job.paths.stderr})")
    return found


# ----------------------------------------------------------------------------
# Signals that stop a sweep: all of its jobs, also those that have not begun, with one message.


@contextmanager
def stopped_as_a_whole() -> Iterator[None]:
    """Within the block, a signal ends the sweep with a :class:`SweepStoppedError`.

    Jobs in this process handle signals themselves while they work, and then call this handler. If
    the sweep is a SLURM job of its own, the signals of the scheduler requeue it.
    """
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for one in SIGNALS:
            if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler):
                before[one] = signal.signal(one, _stop)
    try:
        yield
    except SweepStoppedError as error:
        _requeue_after(error.number)
        raise
    except TrainingStoppedError as error:  # the signal was not for this process alone
        raise SweepStoppedError(error.exit_code - 128) from error
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, StoppedError) else signal.SIGINT
        raise SweepStoppedError(number) from error
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _stop(number: int, _frame: FrameType | None) -> None:
    raise SweepStoppedError(number)


def _requeue_after(number: int) -> None:
    if is_requeued(number):
        requeue()


# ----------------------------------------------------------------------------
# The jobs of a sweep, each with a folder of its own, before the first of them starts.
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


@dataclass(frozen=True, kw_only=True)
class _Values:
    """The overrides of one job, before it has a folder."""

    line: CommandLine
    overrides: tuple[Override, ...]

    def text(self) -> str:
        swept = [one.input_line for one in self.overrides if one.key_or_group in self.line.swept]
        return " ".join(one or "" for one in swept)


def sweep_jobs(line: CommandLine) -> list[SweepJob]:
    """Return all jobs of a sweep; a :class:`ConfigError` names jobs that would share a folder."""
    jobs = [job for sweep in line.sweeps() for job in _jobs(sweep)]
    script = line.source.script
    names = short_names({key for job in jobs for key in job.line.swept})
    composer = _Composer()
    found = []
    by_target: dict[tuple[str, str], list[str]] = defaultdict(list)
    for job in jobs:
        config = composer.config(job)
        named = _named_in_folder(config, script)
        values = {
            one.key_or_group: one.value()
            for one in job.overrides
            if one.key_or_group in job.line.swept and one.key_or_group not in named
        }
        added, setting, place = _placed(config, folders_for(values, names), script)
        target = os.path.normpath(place)
        overrides = (*(one.input_line or "" for one in job.overrides), *added)
        found.append(SweepJob(overrides=overrides, target=target))
        by_target[setting, target].append(job.text())
    _require_own_targets(by_target)
    return found


def hydra_overrides(line: CommandLine) -> list[str]:
    """Return the overrides of Hydra's own settings, such as ``hydra/launcher=local``."""
    return [one.input_line or "" for one in line.overrides if is_of_hydra(one)]


def _jobs(line: CommandLine) -> Iterator[_Values]:
    choices = []
    for override in line.overrides:
        if is_of_hydra(override):
            continue
        if isinstance(override.value(), IntervalSweep):
            raise ConfigError([f"{override.input_line}: list the values, as in a,b,c"])
        choices.append([single(override, value) for value in line.values_of(override)])
    for overrides in itertools.product(*choices):
        yield _Values(line=line, overrides=overrides)


class _Composer:
    """Composes the groups of jobs once, and sets other values in the composition."""

    def __init__(self) -> None:
        self._configs: dict[tuple[str, ...], DictConfig] = {}

    def config(self, job: _Values) -> DictConfig:
        """Return the configuration of a job, valid until the next call."""
        swept = [one for one in job.overrides if one.key_or_group in job.line.swept]
        others = [one for one in swept if not job.line.is_group(one)]
        composed_ones = [one for one in job.overrides if one not in others]
        key = tuple(one.input_line or "" for one in composed_ones)
        if key not in self._configs:
            self._configs[key] = composed(job.line.source, key)
            OmegaConf.set_struct(self._configs[key], False)
        config = self._configs[key]
        for one in others:
            OmegaConf.update(config, one.key_or_group, one.value(), merge=False)
        return config


def _named_in_folder(config: DictConfig, script: Script) -> frozenset[str]:
    if script == "train":
        return _IN_THE_FOLDER[script]
    task = OmegaConf.select(config, "task.name")
    return _IN_THE_FOLDER[script] | {n for n, tasks in _NAMED_RESULTS.items() if task in tasks}


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
    return added, "output", "/".join([output, *_results_name(config)])


def _results_name(config: DictConfig) -> list[str]:
    for group in _NAMED_RESULTS:
        content = OmegaConf.select(config, group)
        if content is not None:
            return [str(content.get("name") or list(content.get("suites") or ()))]
    return []


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _require_own_targets(by_target: dict[tuple[str, str], list[str]]) -> None:
    """Raise an error if two jobs would write the same folder or file."""
    shared = {target: jobs for target, jobs in by_target.items() if len(jobs) > 1}
    if not shared:
        return
    mistakes = [
        f"{len(jobs)} jobs would write {target}: {_listed(jobs)}; {_REMEDIES[setting]}"
        for (setting, target), jobs in list(shared.items())[:_MOST]
    ]
    if len(shared) > _MOST:
        mistakes.append(f"{len(shared) - _MOST} more folders are shared by several jobs")
    raise ConfigError(mistakes)


def _listed(jobs: Sequence[Any]) -> str:
    shown = [str(one) or "the same settings" for one in jobs[:_MOST]]
    more = [f"{len(jobs) - _MOST} more"] if len(jobs) > _MOST else []
    return "; ".join([*shown, *more])


# ----------------------------------------------------------------------------
# Run a sweep: all jobs, whatever becomes of each, and a table of them at the end.


def run_sweep(line: CommandLine, task: Callable[[DictConfig], Any]) -> bool:
    """Run the jobs of a command line; return whether all of them succeeded.

    Mistakes in the settings of any job, and jobs that would share a folder, are errors before the
    first job starts.
    """
    special = hydra_overrides(line)
    require_launcher(special)
    line.check()
    jobs = sweep_jobs(line)
    with stopped_as_a_whole():
        outcomes = launch(line.source, task, [job.overrides for job in jobs], special)
    if line.source.script == "train":
        _print_runs(jobs, outcomes)
    else:
        _print_evaluations(jobs, outcomes)
    return all(one.failure is None for one in outcomes)


def _print_runs(jobs: Sequence[SweepJob], outcomes: Sequence[JobOutcome]) -> None:
    failures = {
        job.target: one.failure
        for job, one in zip(jobs, outcomes, strict=True)
        if one.failure is not None
    }
    print_states(states_of_jobs([job.target for job in jobs], failures))


def _print_evaluations(jobs: Sequence[SweepJob], outcomes: Sequence[JobOutcome]) -> None:
    failed = [
        (job, one) for job, one in zip(jobs, outcomes, strict=True) if one.failure is not None
    ]
    text = f"{plural(len(jobs), 'job')}: {len(jobs) - len(failed)} done, {len(failed)} failed"
    console.print(text, highlight=False)
    for job, one in failed:
        line = f"failed: {Path(job.target)}: {one.failure}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
