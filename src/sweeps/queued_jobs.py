"""Jobs in the queue of a cluster (``hydra/launcher=slurm``), or in submitit's local executor."""

from __future__ import annotations

from typing import Any

import submitit
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn
from hydra_plugins.hydra_submitit_launcher.config import BaseQueueConf
from omegaconf import OmegaConf

from gardenpath.console import console
from gardenpath.sweeps.job_outcome import JobOutcome
from gardenpath.text import plural

_Found = JobReturn | JobOutcome


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
