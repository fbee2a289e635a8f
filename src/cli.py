"""The two commands: turn the command line into typed settings and run the job.

``train.py``, ``evaluate.py`` and the console scripts of an installed package call this module. A
single job is composed once and run. Sweeps are in :mod:`gardenpath.sweeps`; Hydra's own flags and
sweepers other than its basic one are left to Hydra.
"""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from gardenpath import __version__
from gardenpath.console import console, exit_on_error
from gardenpath.errors import ConfigError
from gardenpath.places import CONFIG_DIR
from gardenpath.settings.command.arguments import watching
from gardenpath.settings.command.command_line import CommandLine
from gardenpath.settings.command.help_text import help_text
from gardenpath.settings.compose import ConfigSource, Script, plain_config, register, typed
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.store.run_folder import RESULT_FILE
from gardenpath.sweeps.job_outcome import survived
from gardenpath.sweeps.lane_process import ending_with_sweep

# Exit code of a sweep in which a job failed.
_SOME_FAILED = 1

# Called by Hydra once for each job of a sweep; the returned value is for its sweepers.
Job = Callable[[DictConfig], float | None]


def train_main() -> None:
    """Run the command ``gardenpath-train``."""
    main("train", train_job)


def evaluate_main() -> None:
    """Run the command ``gardenpath-evaluate``."""
    main("evaluate", evaluate_job)


def train_job(config: DictConfig) -> float | None:
    """Train with a composed configuration; return the validation loss, for sweepers.

    In a sweep, an error is part of the returned value, and existing runs are skipped by default.
    """
    content = plain_config(config)
    if _is_in_sweep():
        content["existing"] = content.get("existing") or "skip"
        with ending_with_sweep():
            return survived(lambda: _train(typed("train", content)))
    with exit_on_error():
        return _train(typed("train", content))


def evaluate_job(config: DictConfig) -> float | None:
    """Evaluate with a composed configuration; in a sweep, an error is the returned value."""
    content = plain_config(config)
    if _is_in_sweep():
        with ending_with_sweep():
            return survived(lambda: _evaluate(typed("evaluate", content)))
    with exit_on_error():
        _evaluate(typed("evaluate", content))
    return None


def _is_in_sweep() -> bool:
    """Whether this is a job of a sweep: only these are numbered."""
    return HydraConfig.initialized() and not OmegaConf.is_missing(HydraConfig.get().job, "num")


def _train(settings: Any) -> float | None:
    from gardenpath.runs.training import train

    result = Path(settings.run_dir) / RESULT_FILE
    before = _time_of(result)
    metrics = train(settings)
    if not metrics:  # one of several processes that train together; the first one reports
        return None
    if before is not None and _time_of(result) == before:
        return metrics["valid"]["loss"]  # a finished run was skipped, which has been said
    for name, value in metrics["test"].items():
        if name.endswith("perplexity"):
            shown = f"{settings.run_dir}: test {name.replace('_', ' ')} {value:.3f}"
            console.print(shown, highlight=False, soft_wrap=True)
    return metrics["valid"]["loss"]


def _time_of(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.is_file() else None


def _evaluate(settings: EvaluateSettings) -> None:
    from gardenpath.tasks import run_task

    run_task(settings)


def main(script: Script, job: Job) -> None:
    """Run the command line of this process."""
    arguments = [watching(one) if script == "evaluate" else one for one in sys.argv[1:]]
    if "--version" in arguments:
        console.print(f"Gardenpath {__version__}", highlight=False)
        return
    with exit_on_error():
        parser = get_args_parser()
        _require_known_flags(parser, arguments)
        flags = parser.parse_intermixed_args(arguments)
        line = command_line(script, flags)
        if flags.help:
            _print_help(line)
            return
        if not _needs_hydra(flags):
            (_train if script == "train" else _evaluate)(line.settings())
            return
        if flags.multirun and not _has_own_sweeper(flags):
            from gardenpath.sweeps.sweep import run_sweep

            raise SystemExit(0 if run_sweep(line, job) else _SOME_FAILED)
        if _is_checked(flags):
            line.check()
        sweeps = line.sweeps() if flags.multirun else [line]
    for sweep in sweeps:
        _start_hydra(script, job, arguments, sweep)


def _has_own_sweeper(flags: Namespace) -> bool:
    """Whether Hydra has to run the sweep, because another sweeper chooses the jobs."""
    chosen = any(one.startswith("hydra/sweeper=") for one in flags.overrides)
    return chosen or bool(flags.config_path or flags.experimental_rerun)


def _require_known_flags(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Explain the syntax ``seed=3`` to users who write ``--seed 3``."""
    known = parser._option_string_actions
    mistakes = []
    for place, argument in enumerate(arguments):
        name, sign, value = argument.partition("=")
        if not argument.startswith("-") or name in known:
            continue
        following = arguments[place + 1 : place + 2]
        given = value if sign else next((one for one in following if "=" not in one), "VALUE")
        mistakes.append(f"{argument}: write {name.lstrip('-').replace('-', '_')}={given}")
    if mistakes:
        raise ConfigError(mistakes)


def command_line(script: Script, flags: Namespace) -> CommandLine:
    """Return the settings that parsed flags leave; contradictory flags are an error."""
    given = [flags.run, flags.multirun, flags.cfg, flags.info, flags.shell_completion]
    if sum(map(bool, given)) > 1:
        raise ConfigError(["use one of --run, --multirun, --cfg, --info, --shell-completion"])
    source = ConfigSource(script, flags.config_name, flags.config_dir)
    return CommandLine(source, list(flags.overrides), is_sweep=flags.multirun)


def _needs_hydra(flags: Namespace) -> bool:
    """Whether the command line requests anything that a single job does not need."""
    is_special = flags.multirun or flags.hydra_help or flags.cfg or flags.info
    is_special = is_special or flags.shell_completion or flags.config_path
    is_special = is_special or flags.experimental_rerun
    return bool(is_special) or any(one.lstrip("+~").startswith("hydra") for one in flags.overrides)


def _is_checked(flags: Namespace) -> bool:
    """Whether to check the settings before Hydra starts; jobs check their own again."""
    others = (flags.hydra_help, flags.info, flags.shell_completion, flags.config_path)
    return not any(others) and not flags.experimental_rerun


def _print_help(line: CommandLine) -> None:
    program = Path(sys.argv[0]).name
    program = f"python {program}" if program.endswith(".py") else program
    width = min(shutil.get_terminal_size().columns, 110)
    text = help_text(line, program=program, width=width)
    if line.mistakes:
        raise ConfigError(line.mistakes)
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _start_hydra(script: Script, job: Job, arguments: Sequence[str], line: CommandLine) -> None:
    """Hand over to Hydra, with short names of settings expanded."""
    register(script)
    given = {one for one in arguments if "=" in one and not one.startswith("-")}
    flags = [one for one in arguments if one not in given]
    sys.argv[1:] = [*flags, *line.arguments]
    hydra.main(version_base="1.3", config_path=str(CONFIG_DIR), config_name=script)(job)()
