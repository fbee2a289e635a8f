"""Start the jobs of a sweep through Hydra's launchers, and collect what became of each of them.

Hydra's own sweeper stops at the first job that fails, and its launchers for several processes and
for clusters lose the results of all jobs if one process dies. Here, each job has its own outcome.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from gardenpath.errors import ConfigError
from gardenpath.settings.compose import ConfigSource, started
from gardenpath.sweeps.job_outcome import JobOutcome

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
        from gardenpath.sweeps.local_jobs import run_in_processes

        return run_in_processes(launcher, jobs)
    if hasattr(launcher, "_EXECUTOR"):
        from gardenpath.sweeps.queued_jobs import run_in_queue

        return run_in_queue(launcher, jobs)
    return list(launcher.launch(jobs, initial_job_idx=0))


def _outcome(found: JobReturn | JobOutcome) -> JobOutcome:
    if isinstance(found, JobOutcome):
        return found
    value = found._return_value
    if found.status is JobStatus.COMPLETED and isinstance(value, JobOutcome):
        return value
    return JobOutcome.failed(f"{type(value).__name__}: {value}")
