"""Jobs in parallel processes of this machine (``hydra/launcher=local`` or ``joblib``).

Each of the parallel lanes has a process of its own, so that a job whose process dies, for example
because memory ran out, fails alone. If the sweep is stopped or killed, its processes write their
checkpoints and end.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn
from hydra_plugins.hydra_joblib_launcher._core import execute_job
from joblib import cpu_count
from joblib.externals.loky.process_executor import ProcessPoolExecutor

from gardenpath.errors import StoppedError, TrainingStoppedError
from gardenpath.python_process import tied_to_this_process
from gardenpath.sweeps.job_outcome import JobOutcome

_Found = JobReturn | JobOutcome

# How long processes may take to write their checkpoints when the sweep is stopped.
_SECONDS_TO_STOP = 60.0
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
