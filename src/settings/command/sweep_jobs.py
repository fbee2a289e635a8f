"""The jobs of a sweep, each with a folder of its own, before the first of them starts.

Only the combinations of groups are composed. The folders of the jobs follow from these compositions
and the other values, so that hundreds of jobs take a second or two.
"""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, Override
from omegaconf import DictConfig, OmegaConf

from gardenpath.errors import ConfigError
from gardenpath.settings.command.command_line import CommandLine
from gardenpath.settings.command.job_names import folders_for, short_names
from gardenpath.settings.command.overrides import is_of_hydra, single
from gardenpath.settings.compose import Script, composed

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
