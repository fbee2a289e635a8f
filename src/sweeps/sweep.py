"""Run a sweep: all jobs, whatever becomes of each, and a table of them at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from gardenpath.console import console
from gardenpath.runs.overview.run_overview import states_of_jobs
from gardenpath.runs.processes.sweep_signals import stopped_as_a_whole
from gardenpath.settings.command.command_line import CommandLine
from gardenpath.settings.command.sweep_jobs import SweepJob, hydra_overrides, sweep_jobs
from gardenpath.sweeps.job_outcome import JobOutcome
from gardenpath.sweeps.launching import launch, require_launcher
from gardenpath.tasks.list_runs import print_states
from gardenpath.text import plural


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
