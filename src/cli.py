"""The commands ``train.py`` and ``evaluate.py``: flags, help, and the start of each job.

The two scripts, and the console scripts of an installed package, call :func:`main`; Hydra and
:mod:`gardenpath.sweeps` call :func:`train_job` and :func:`evaluate_job` with a composed
configuration. Errors of users end here, as one line. The work is done elsewhere and imported when
it begins, so that help and mistakes appear at once.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from gardenpath import __version__
from gardenpath.console import console, exit_on_error
from gardenpath.errors import ConfigError
from gardenpath.settings.compose import (
    CommandLine,
    ConfigSource,
    Script,
    choices_of,
    composed,
    expand_watch_flag,
    flag_parser,
    groups_of,
    plain_config,
    register,
    root_of,
    typed,
)
from gardenpath.settings.schema import MISSING, Tagged, explanations
from gardenpath.store.run_folder import RESULT_FILE
from gardenpath.util import CONFIG_DIR

_INTRODUCTIONS: Mapping[Script, str] = {
    "train": """\
Train a language model and write a complete run folder.

  {program} model=lstm data=ptb_sample seed=3
  {program} -m model=lstm,transformer seed=1,2,3      a sweep
  {program} -m experiment=mandarin                    all models of a study
  {program} model=lstm data=ptb_sample existing=resume  continue an interrupted run
""",
    "evaluate": """\
Evaluate trained models.

  {program} suite=mandarin                       test suites, with a report
  {program} study=mandarin surprisals=FOLDER materials=FOLDER     a published study
  {program} study=mandarin run=runs/ctb,runs/xinhua               the same with own models
  {program} task=perplexity run=runs/ptb_sample
  {program} task=surprisal run=runs/… input=sentences.txt
  {program} task=parse run=runs/…/rnng/seed1
  {program} task=suites                          list the test suites
  {program} task=rescore suite=mandarin surprisals=FOLDER materials=FOLDER
  {program} task=corpus corpora=[ptb_sample,brown]  corpus statistics
  {program} task=perplexity run=runs/ctb,runs/xinhua data=ctb
  {program} task=export data=ctb output=written  a corpus as bracketed trees
  {program} task=runs                            all runs: done, running, unfinished or failed
""",
}

_FLAGS = """\
Flags: -m or --multirun for a sweep, --cfg job to print the configuration, --config-dir for a folder
of your own configurations, --shell-completion, --version; --hydra-help explains all of them.
"""

# Column in which explanations begin.
_INDENT = 46


def help_text(line: CommandLine, *, program: str, width: int) -> str:
    """Return the help of a script, with the settings that a command line selects."""
    source = line.source
    groups = sorted(groups_of(source))
    root = root_of(source.script)
    content = plain_config(composed(source, line.lines))
    shown = {long: short for short, long in root.SHORT.items()}
    rows = [
        _row(shown.get(name, name), value, text, width)
        for name, value, text in described(root, content)
    ]
    choices = [
        _wrapped(f"  {group:<12}", ", ".join(choices_of(group, source)), 14, width)
        for group in groups
    ]
    return "\n".join(
        [
            _INTRODUCTIONS[source.script].format(program=program),
            f"Choices, as in {groups[0]}={choices_of(groups[0], source)[0]}:",
            *choices,
            "",
            "Settings of these choices; each can be set, as in name=value:",
            *rows,
            "",
            _FLAGS,
        ]
    )


def described(
    record: type, content: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and explanation of each setting, in the order of the dataclasses."""
    hints = get_type_hints(record, include_extras=True)
    texts = explanations(record)
    for field in dataclasses.fields(record):
        value = content.get(field.name, MISSING)
        inner = _record_of(hints[field.name], value)
        if get_origin(hints[field.name]) is Mapping and inner is not None and value != MISSING:
            for name, part in value.items():
                yield from described(inner, part, f"{prefix}{field.name}.{name}.")
        elif inner is not None and isinstance(value, Mapping):
            yield from described(inner, value, f"{prefix}{field.name}.")
        elif field.name in texts:
            yield f"{prefix}{field.name}", value, texts[field.name]


def _record_of(annotation: Any, value: Any) -> type | None:
    """Return the dataclass of a setting, if it is a group of settings."""
    if get_origin(annotation) is Annotated:
        for one in get_args(annotation)[1:]:
            if isinstance(one, Tagged) and isinstance(value, Mapping):
                return one.classes.get(str(value.get(one.key)))
        return None
    for one in (annotation, *get_args(annotation)):
        if get_origin(one) is Annotated:
            return _record_of(one, value)
        if dataclasses.is_dataclass(one) and isinstance(one, type):
            return one
    return None


def _row(name: str, value: Any, text: str, width: int) -> str:
    head = f"  {name}={_shown(value)}"
    if len(head) < _INDENT:
        return _wrapped(head.ljust(_INDENT), text, _INDENT, width)
    return f"{head}\n{_wrapped(' ' * _INDENT, text, _INDENT, width)}"


def _wrapped(head: str, text: str, indent: int, width: int) -> str:
    return textwrap.fill(
        text, max(width, indent + 30), initial_indent=head, subsequent_indent=" " * indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


# ---- The two commands: turn the command line into typed settings and run the job

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


def sweep_job_main() -> None:
    """Run one job of a sweep, in the process that the sweep has started for it."""
    from gardenpath.sweeps import run_sent_job

    run_sent_job(sys.argv[-1], {"train": train_job, "evaluate": evaluate_job})


def train_job(config: DictConfig) -> float | None:
    """Train with a composed configuration; return the validation loss, for sweepers.

    In a sweep, an error is part of the returned value, and existing runs are skipped by default.
    """
    return _run_composed("train", config)


def evaluate_job(config: DictConfig) -> float | None:
    """Evaluate with a composed configuration; in a sweep, an error is the returned value."""
    return _run_composed("evaluate", config)


def _run_composed(script: Script, config: DictConfig) -> float | None:
    content = plain_config(config)
    # Only the jobs of a sweep are numbered.
    if not HydraConfig.initialized() or OmegaConf.is_missing(HydraConfig.get().job, "num"):
        with exit_on_error():
            return _run(script, typed(script, content))
    from gardenpath.sweeps import ending_with_sweep, survived

    if script == "train":
        content["existing"] = content.get("existing") or "skip"
    with ending_with_sweep():
        return survived(lambda: _run(script, typed(script, content)))


def _run(script: Script, settings: Any) -> float | None:
    """Run a job; return the validation loss of a training, whose perplexities are printed."""
    if script == "evaluate":
        from gardenpath.tasks import run_task

        run_task(settings)
        return None
    from gardenpath.runs.training import train

    result = Path(settings.run_dir) / RESULT_FILE
    before = _time_of(result)
    metrics = train(settings)
    if not metrics:  # one of several processes that train together; the first one reports
        return None
    was_there = before is not None and _time_of(result) == before  # skipped, which has been said
    for name, value in {} if was_there else metrics["test"].items():
        if name.endswith("perplexity"):
            shown = f"{settings.run_dir}: test {name.replace('_', ' ')} {value:.3f}"
            console.print(shown, highlight=False, soft_wrap=True)
    return metrics["valid"]["loss"]


def _time_of(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.is_file() else None


def main(script: Script, job: Job) -> None:
    """Run the command line of this process.

    A single job is composed once and run. Hydra's own flags, and sweepers other than its basic one,
    are left to Hydra.
    """
    is_evaluate = script == "evaluate"
    arguments = [expand_watch_flag(a) if is_evaluate else a for a in sys.argv[1:]]
    if "--version" in arguments:
        console.print(f"Gardenpath {__version__}", highlight=False)
        return
    with exit_on_error():
        parser = flag_parser()
        _require_known_flags(parser, arguments)
        flags = parser.parse_intermixed_args(arguments)
        line = command_line(script, flags)
        if flags.help:
            _print_help(line)
            return
        is_left_to_hydra = flags.config_path or flags.experimental_rerun
        only_shown = flags.hydra_help or flags.info or flags.shell_completion
        is_special = is_left_to_hydra or only_shown or flags.multirun or flags.cfg
        if not is_special and not any(a.lstrip("+~").startswith("hydra") for a in flags.overrides):
            _run(script, line.settings())
            return
        has_sweeper = any(a.startswith("hydra/sweeper=") for a in flags.overrides)
        if flags.multirun and not has_sweeper and not is_left_to_hydra:
            from gardenpath.sweeps import run_sweep

            raise SystemExit(0 if run_sweep(line, job) else _SOME_FAILED)
        if has_sweeper and "hydra/launcher=local" in flags.overrides:
            advice = "with hydra/sweeper=, choose hydra/launcher=submitit_local"
            raise ConfigError([f"hydra/launcher=local is for Gardenpath's own sweeps; {advice}"])
        if not is_left_to_hydra and not only_shown:
            line.check()  # before Hydra starts; jobs check their own settings again
        sweeps = line.sweeps() if flags.multirun else [line]
    for sweep in sweeps:
        # Hydra gets the arguments with short names of settings expanded.
        register(script)
        hydra_flags = [a for a in arguments if "=" not in a or a.startswith("-")]
        sys.argv[1:] = [*hydra_flags, *sweep.arguments]
        hydra.main(version_base="1.3", config_path=str(CONFIG_DIR), config_name=script)(job)()


def _require_known_flags(parser: ArgumentParser, arguments: Sequence[str]) -> None:
    """Explain the syntax ``seed=3`` to users who write ``--seed 3``."""
    known = parser._option_string_actions
    mistakes = []
    for place, argument in enumerate(arguments):
        name, sign, value = argument.partition("=")
        if not argument.startswith("-") or name in known:
            continue
        following = arguments[place + 1 : place + 2]
        value = value if sign else next((word for word in following if "=" not in word), "VALUE")
        mistakes.append(f"{argument}: write {name.lstrip('-').replace('-', '_')}={value}")
    if mistakes:
        raise ConfigError(mistakes)


def command_line(script: Script, flags: Namespace) -> CommandLine:
    """Return the settings that parsed flags leave; contradictory flags are an error."""
    exclusive = [flags.run, flags.multirun, flags.cfg, flags.info, flags.shell_completion]
    if sum(map(bool, exclusive)) > 1:
        raise ConfigError(["use one of --run, --multirun, --cfg, --info, --shell-completion"])
    source = ConfigSource(script, flags.config_name, flags.config_dir)
    return CommandLine(source, list(flags.overrides), is_sweep=flags.multirun)


def _print_help(line: CommandLine) -> None:
    program = Path(sys.argv[0]).name
    program = f"python {program}" if program.endswith(".py") else program
    width = min(shutil.get_terminal_size().columns, 110)
    text = help_text(line, program=program, width=width)
    if line.mistakes:
        raise ConfigError(line.mistakes)
    console.print(text, markup=False, highlight=False, soft_wrap=True)
