"""Compose typed settings from configuration files and a command line: all that touches Hydra.

The scripts (:mod:`gardenpath.cli`), sweeps (:mod:`gardenpath.sweeps`) and the Python API turn
overrides such as ``model=rnng`` into typed settings here; run folders give theirs to :func:`typed`.
The dataclasses define the defaults of all settings; Hydra finds them as nodes with a leading
underscore (``model/_rnng``), and the files in ``conf/`` state only values that differ. No other
module may use Hydra's internals, and nothing here runs a job.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import hydra
from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, IntervalSweep, Override
from hydra.errors import HydraException
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from gardenpath.data.corpus import READERS, DataSettings
from gardenpath.errors import ConfigError
from gardenpath.models.family import ADOPTED_MODELS
from gardenpath.safe_text import parse_yaml, yaml_tree
from gardenpath.settings.evaluate import EvaluateSettings, StudySettings, SuiteSettings
from gardenpath.settings.schema import defaults, nearest, read
from gardenpath.settings.tasks import TASKS
from gardenpath.settings.train import Paths
from gardenpath.util import CONFIG_DIR

Script = Literal["train", "evaluate"]
Root = Any  # TrainSettings or EvaluateSettings

# The parser of Hydra's flags, such as --multirun and --cfg.
flag_parser = get_args_parser


@dataclass(frozen=True)
class ConfigSource:
    """The configuration to compose, and additional places to search besides ``conf/``."""

    script: Script
    name: str | None = None
    folder: str | None = None

    @property
    def config_name(self) -> str:
        """Name of the primary configuration."""
        return self.name or self.script

    @property
    def folders(self) -> list[Path]:
        """The folders of configuration files."""
        return [CONFIG_DIR, *([Path(self.folder)] if self.folder else [])]


def root_of(script: Script) -> type[Root]:
    """Return the settings class of a script."""
    if script == "evaluate":
        return EvaluateSettings
    # Imported here because the settings of evaluate.py need no models.
    from gardenpath.settings.train import TrainSettings

    return TrainSettings


@functools.cache
def register(script: Script) -> None:
    """Register the defaults of all dataclasses with Hydra."""
    for group, name, node in _nodes(script):
        ConfigStore.instance().store(group=group, name=name, node=OmegaConf.create(node))


def _nodes(script: Script) -> Iterator[tuple[str | None, str, Any]]:
    from gardenpath.eval.search.settings import SEARCHES
    from gardenpath.models.family import MODELS
    from gardenpath.models.training.settings import LOGGERS, TrainerSettings

    # Groups of a script have nodes of their own.
    own = defaults(root_of(script)).items()
    yield None, f"_{script}", {name: value for name, value in own if not isinstance(value, dict)}
    yield "paths", "_paths", defaults(Paths)
    for name, reader in READERS.items():
        yield "data", f"_{name}", {**defaults(DataSettings), "reader": defaults(reader)}
    groups: dict[str, Mapping[str, type]] = {"logger": LOGGERS}
    if script == "evaluate":
        groups |= {"task": TASKS, "search": SEARCHES, "model": ADOPTED_MODELS}
        groups |= {"suite": {"suite": SuiteSettings}, "study": {"study": StudySettings}}
    else:
        groups |= {"model": MODELS, "trainer": {"trainer": TrainerSettings}}
    for group, records in groups.items():
        yield from ((group, f"_{name}", defaults(record)) for name, record in records.items())


@contextmanager
def started(source: ConfigSource) -> Iterator[Hydra]:
    """Initialise Hydra with its search path, without its application.

    Hydra's public ``initialize_config_dir`` does the same, but knows no further folder.
    """
    register(source.script)
    hydra.version.setbase("1.3")
    search_path = create_config_search_path(str(CONFIG_DIR))
    if source.folder is not None:
        _require_readable(source.folder)
        search_path.prepend(
            provider="command-line",
            path=f"file://{Path(source.folder).resolve()}",
            anchor=SearchPathQuery(provider="schema"),
        )
    GlobalHydra.instance().clear()
    try:
        yield Hydra.create_main_hydra2(task_name=source.script, config_search_path=search_path)
    finally:
        GlobalHydra.instance().clear()


@contextmanager
def sweep_config(
    source: ConfigSource, overrides: Sequence[str]
) -> Iterator[tuple[DictConfig, HydraContext]]:
    """Yield the configuration of a sweep with Hydra's own settings, and what launchers need."""
    with started(source) as started_hydra:
        config = started_hydra.compose_config(
            config_name=source.config_name,
            overrides=list(overrides),
            run_mode=RunMode.MULTIRUN,
            with_log_configuration=False,
        )
        loader = started_hydra.config_loader
        yield config, HydraContext(config_loader=loader, callbacks=Callbacks(config))


def composed(source: ConfigSource, overrides: Sequence[str]) -> DictConfig:
    """Compose a configuration without starting Hydra's application."""
    with started(source):
        try:
            return hydra.compose(source.config_name, list(overrides))
        except (HydraException, OmegaConfBaseException):
            raise
        # Hydra checks the content of a user's files by assertions and plain exceptions.
        except (
            ValueError, TypeError, AttributeError, KeyError, AssertionError, YAMLError,
            RecursionError,
        ) as error:  # fmt: skip
            problem = (str(error).splitlines() or [type(error).__name__])[0]
            text = f"the configuration files cannot be composed: {problem[:300]}"
            raise ConfigError([text]) from error


@functools.cache
def _require_readable(folder: str) -> None:
    mistakes = []
    for path in sorted(Path(folder).rglob("*.yaml")):
        try:
            yaml_tree(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            mistakes.append(f"{path}: {str(error)[:300]}")
    if mistakes:
        raise ConfigError(mistakes)


@functools.cache
def groups_of(source: ConfigSource) -> frozenset[str]:
    """Return the groups of a script, such as ``model``."""
    with started(source):
        loader = GlobalHydra.instance().config_loader()
        listed = loader.compute_defaults_list(source.config_name, [], RunMode.RUN)
        return frozenset(name for name in listed.overrides.known_choices if "/" not in name)


def choices_of(group: str, source: ConfigSource) -> list[str]:
    """Return the choices of a group; names with a leading underscore are parts of other files.

    Models are trained by one script and adopted by the other.
    """
    names = {path.stem for folder in source.folders for path in (folder / group).glob("*.yaml")}
    if group == "model":
        adopted = {*ADOPTED_MODELS}
        names = names & adopted if source.script == "evaluate" else names - adopted
    return sorted(name for name in names if not name.startswith("_"))


def plain_config(config: DictConfig) -> dict[str, Any]:
    """Convert a composed configuration to plain dictionaries and values.

    Names with a leading underscore are used for interpolation and are not settings.
    """
    content = OmegaConf.to_container(config, resolve=True)
    assert isinstance(content, dict)
    return {
        str(key): value
        for key, value in content.items()
        if not str(key).startswith("_") and str(key) != "hydra"
    }


def typed(script: Script, content: Mapping[str, Any], *, is_for_here: bool = True) -> Root:
    """Return typed settings; a :class:`ConfigError` lists all mistakes.

    ``is_for_here`` says whether they will be used on this machine, see :func:`read`.
    """
    root = root_of(script)
    shown = {long: short for short, long in root.SHORT.items()}
    return read(root, content, short=shown, is_for_here=is_for_here)


def load_settings(script: Script, overrides: Sequence[str] = ()) -> Root:
    """Return typed settings from overrides such as ``model=rnng``, as on the command line."""
    return CommandLine(ConfigSource(script), list(overrides)).settings()


def _file_of(setting: str, source: ConfigSource, overrides: Sequence[str]) -> Path | None:
    """Return the last configuration file in which a setting gets its value, for messages.

    ``setting`` is the full name, such as ``model.network.size``; ``overrides`` select the files.
    """
    with started(source):
        loader = GlobalHydra.instance().config_loader()
        listed = loader.compute_defaults_list(source.config_name, list(overrides), RunMode.RUN)
    last = None
    for part in listed.defaults:
        package = (part.package or "").replace("_global_", "")
        places = [folder / f"{part.config_path}.yaml" for folder in reversed(source.folders)]
        path = next((place for place in places if place.is_file()), None)
        keys, outer = setting.split("."), package.split(".") if package else []
        if path is None or keys[: len(outer)] != outer:
            continue
        try:
            content = parse_yaml(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for key in keys[len(outer) :]:
            if not isinstance(content, Mapping) or key not in content:
                break
            content = content[key]
        else:
            last = path
    return last


# ---- The arguments of a command line in Hydra's form: short names, lists, named corpora

# A quotation mark or the end of a text, and the backslashes before it.
_ESCAPED = re.compile(r"(\\*)('|$)")
# What Hydra does not take without quotation marks: characters that are not ASCII.
_FOREIGN = re.compile(r"[^,\[\]{}:\x00-\x7f]*[^\x00-\x7f][^,\[\]{}]*")
# Files that can be named in place of a set of suites.
_SUITE_FILES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".xlsx")


def _name_of(argument: str) -> str:
    return argument.partition("=")[0]


def expand_watch_flag(argument: str) -> str:
    """Write ``--watch`` (every five seconds) and ``--watch=10`` as settings of task=runs."""
    name, _, value = argument.partition("=")
    return f"task.watch={value or 5}" if name == "--watch" else argument


def _expand_short_name(argument: str, root: Root) -> str:
    """Expand short names: ``model.size=tiny`` → ``model.network.size=tiny``."""
    name, sign, value = argument.partition("=")
    for short, long in root.SHORT.items():
        if name == short or name.startswith(f"{short}."):
            return f"{long}{name[len(short) :]}{sign}{value}"
    return argument


def _expand_suite_file(argument: str) -> list[str]:
    """Write ``suite=mine.yaml`` as ``suite=file suite.suites=[mine.yaml]``."""
    name, _, value = argument.partition("=")
    is_file = name == "suite" and value.lower().endswith(_SUITE_FILES)
    return ["suite=file", f"suite.suites={value}"] if is_file else [argument]


def _escape(argument: str) -> str:
    """Escape equals signs in a value, as in ``run=runs/lstm/learning_rate=0.01``.

    Hydra would not accept them, nor characters that are not ASCII, as in ``output=结果``. Values
    with quotes or functions are left as they are.
    """
    name, sign, value = argument.partition("=")
    if any(mark in value for mark in "'\"(\\"):
        return argument
    value = _FOREIGN.sub(lambda foreign: f"'{foreign[0]}'", value)
    return name + sign + (value if "'" in value else value.replace("=", "\\="))


def _quote(argument: str, root: Root) -> str:
    """Put text in quotation marks, as in ``input=No, she didn't``, so that Hydra takes it whole.

    Lists, and values that have quotation marks around them, are left as they are.
    """
    name, sign, value = argument.partition("=")
    lists = ('["', "['", "[]") if name in root.FORMULAS else ("[",)
    is_in_form = value in ("", "null") or value.startswith((*lists, "'", '"'))
    if name not in (*root.TEXTS, *root.FORMULAS) or is_in_form:
        return argument
    # Backslashes before a quotation mark, or at the end, are doubled.
    text = _ESCAPED.sub(lambda mark: mark[1] * 2 + ("\\'" if mark[2] else ""), value)
    return f"{name}{sign}'{text}'"


def _to_hydra_lists(
    arguments: Sequence[str], root: Root, *, is_sweep: bool
) -> tuple[list[str], frozenset[str]]:
    """Write lists in Hydra's form; return the arguments and those that choose corpora by name.

    ``run=a,b`` becomes ``run=[a,b]``, except in a sweep. ``corpora=[ctb,ptb]`` becomes the choices
    ``+data@corpora.ctb=ctb`` and ``+data@corpora.ptb=ptb``, so that ``corpora.ctb.root`` is a
    setting like any other.
    """
    written: list[str] = []
    corpora: set[str] = set()
    for argument in arguments:
        name, sign, value = argument.partition("=")
        is_plural = name in root.PLURALS and value not in ("", "null") and "${" not in value
        begins_list = value.startswith("[" if is_plural else ("[", "'", '"'))
        is_bare = ("," in value or is_plural) and not begins_list
        if sign and name in root.CORPORA:
            chosen = [corpus.strip() for corpus in value.strip("[] ").split(",")]
            choices = [f"+data@{name}.{corpus}={corpus}" for corpus in chosen if corpus]
            written += choices
            corpora.update(choices)
        elif name in root.LISTS and is_bare and not (is_sweep and "," in value):
            written.append(f"{name}=[{value}]")
        else:
            written.append(argument)
    return written, frozenset(corpora)


# ---- Overrides in Hydra's form: parse them within limits, and list or choose their values

# Most values of a setting, and most combinations of groups, in a sweep.
MOST_VALUES = 10_000

# Hydra's parser is recursive, and slow for long arguments.
_LONGEST = 50_000
_MOST_BRACKETS = 100
# Characters of an argument that a message shows.
_SHOWN = 200


def parsed_override(argument: str) -> Override:
    """Parse ``name=value``; a :class:`ConfigError` says what is wrong with it."""
    shown = argument if len(argument) <= _SHOWN else f"{argument[:_SHOWN]}…"
    try:
        if len(argument) > _LONGEST or sum(map(argument.count, "[{(")) > _MOST_BRACKETS:
            raise ValueError
        (parsed,) = OverridesParser.create().parse_overrides([argument])
        is_listed = not isinstance(parsed.value(), Glob | IntervalSweep)
        values = parsed.sweep_iterator() if parsed.is_sweep_override() and is_listed else iter(())
        has_too_many = any(True for _ in itertools.islice(values, MOST_VALUES, MOST_VALUES + 1))
    except (HydraException, ValueError, RecursionError, OverflowError, ZeroDivisionError):
        problem = f"{shown!r} is not a setting; write name=value"
        problem += "" if "=" in argument else ", with quotation marks around a text with blanks"
        raise ConfigError([problem]) from None
    if has_too_many:
        raise ConfigError([f"{shown}: more than {MOST_VALUES:,} values; write fewer"])
    return parsed


def values_among(override: Override, valid: Iterable[str]) -> list[Any]:
    """Return the values of an override: one, those of a sweep, or the ends of an interval.

    ``valid`` are the choices of its group, among which a pattern selects.
    """
    value = override.value()
    if isinstance(value, Glob):
        return list(value.filter(list(valid)))
    if isinstance(value, IntervalSweep):
        return [value.start, value.end]
    return list(override.sweep_iterator()) if override.is_sweep_override() else [value]


def single(override: Override, value: Any) -> Override:
    """Convert an override of a sweep to that of one of its jobs."""
    if not override.is_sweep_override():
        return override
    sign = "+" if override.is_add() else ""
    written = Override._get_value_element_as_str(value)
    text = f"{sign}{override.key_or_group}={written}"
    return OverridesParser.create().parse_overrides([text])[0]


def is_of_hydra(override: Override) -> bool:
    """Whether an override is of one of Hydra's own settings, such as ``hydra/launcher=local``."""
    return override.key_or_group.startswith(("hydra.", "hydra/"))


# ---- The grid of an experiment
#
# A sweep trains every combination of its values. The models of a paper are not such a product if,
# for example, some have three seeds and others two, so an experiment lists several blocks:
#
#     _grid:
#       - {data: [ctb, xinhua], model: ngram, seed: 1}
#       - {data: [ctb, xinhua], model: [lstm, plm], seed: [1, 2, 3]}

# Values by setting; a block is the product of its values.
GridBlock = dict[str, list[str]]


def read_grid(content: Any) -> list[GridBlock]:
    """Read the blocks of a configuration file; an empty list if it has none."""
    if content is None:
        return []
    is_list = isinstance(content, Sequence) and len(content) > 0
    if not is_list or not all(isinstance(block, Mapping) for block in content):
        raise ConfigError(["_grid must be a list of blocks such as {model: [lstm, rnng], seed: 1}"])
    return [
        {
            str(key): [
                str(item) for item in (value if isinstance(value, list | tuple) else [value])
            ]
            for key, value in block.items()
        }
        for block in content
    ]


def narrowed(grid: Sequence[GridBlock], chosen: Mapping[str, Sequence[str]]) -> list[GridBlock]:
    """Return the blocks that remain with the values given on the command line.

    Values of the grid select its blocks: with ``model=rnng``, only the seeds of rnng remain. Values
    that the grid does not have replace those of all blocks that have the setting: with
    ``data=toy_mandarin``, all models are trained on another corpus.
    """
    blocks = [dict(block) for block in grid]
    for name, values in chosen.items():
        known = {value for block in blocks for value in block.get(name, ())}
        is_selection = known.issuperset(values)
        for block in blocks if known else ():
            if name in block:
                selected = [value for value in block[name] if value in values]
                block[name] = selected if is_selection else list(values)
        if known and is_selection:
            blocks = [block for block in blocks if all(block.values())]
    return [
        block
        for place, block in enumerate(blocks)
        if not any(_is_within(block, other) for other in blocks[:place])
        and not any(_is_within(block, other) and block != other for other in blocks[place + 1 :])
    ]


def _is_within(block: GridBlock, other: GridBlock) -> bool:
    return block.keys() == other.keys() and all(
        set(values) <= set(other[name]) for name, values in block.items()
    )


# ---- Typed settings from the overrides of a command line, or all mistakes at once
#
# A single job is composed once. A sweep is checked before its first job starts: each combination
# of groups (``model=lstm,rnng``) is composed, and each other value is checked on its own, so that
# the cost of the check depends on the number of groups, not of jobs.

# Mistakes of a value or a name: ``seed=-2: …``, ``model.sizze is not a setting; …``.
_NAME_OF_A_SETTING = re.compile(r"([\w.]+)(?:=| is not )")


@dataclass
class CommandLine:
    """Overrides such as ``model=rnng seed=3`` for one job or, with ``is_sweep``, for many."""

    source: ConfigSource
    arguments: list[str]
    is_sweep: bool = False
    mistakes: list[str] = field(default_factory=list)
    _wrong_groups: set[str] = field(default_factory=set)
    # Arguments that choose corpora by name.
    _named_corpora: frozenset[str] = frozenset()
    # The arguments as they were given.
    _given: list[str] = field(default_factory=list)
    # Settings with several values in the whole grid of which this line is a block.
    _swept_in_grid: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Without task=, suite= and study= select their tasks; lists get Hydra's form."""
        self._given = list(self.arguments)
        arguments, root = self._given, self._root
        if self.source.script == "evaluate":
            arguments = [part for argument in arguments for part in _expand_suite_file(argument)]
            names = [_name_of(argument) for argument in arguments]
            if "task" not in names:
                chosen = [f"task={name}" for name in ("study", "suite") if name in names]
                arguments = [*arguments, *chosen[:1]]
        arguments = [_expand_short_name(argument, root) for argument in arguments]
        if not self.is_sweep:
            arguments = [_quote(argument, root) for argument in arguments]
        self.arguments, self._named_corpora = _to_hydra_lists(
            [_escape(argument) for argument in arguments], root, is_sweep=self.is_sweep
        )

    @property
    def _root(self) -> Root:
        return root_of(self.source.script)

    @functools.cached_property
    def overrides(self) -> list[Override]:
        """The overrides that can be checked further; mistakes are recorded."""
        parsed = []
        for argument in self.arguments:
            try:
                parsed.append(parsed_override(argument))
            except ConfigError as error:
                self.mistakes += error.mistakes
        # The setting, the group, or the part of the settings that holds a named corpus.
        places = [(override.package or override.key_or_group).split(".")[0] for override in parsed]
        self._wrong_groups |= {
            place
            for place, override in zip(places, parsed, strict=True)
            if self._has_wrong_choice(override)
        }
        # Settings that depend on a wrong choice cannot be checked; all others can.
        return [
            override
            for place, override in zip(places, parsed, strict=True)
            if place not in self._wrong_groups and self._is_possible(override)
        ]

    @functools.cached_property
    def lines(self) -> list[str]:
        """The overrides in Hydra's form, with short names expanded."""
        return _lines(self.overrides)

    @functools.cached_property
    def swept(self) -> frozenset[str]:
        """The settings that differ between the jobs of a sweep."""
        several = [o for o in self.overrides if len(self.values_of(o)) > 1]
        return frozenset(override.key_or_group for override in several) | self._swept_in_grid

    def settings(self) -> Root:
        """Return the settings of a single job; a :class:`ConfigError` lists all mistakes."""
        overrides = self.overrides
        if not self.mistakes:
            try:
                content = plain_config(composed(self.source, self.lines))
            except (HydraException, OmegaConfBaseException):
                pass  # explained below
            else:
                return self._typed(content, overrides)
        self._content(overrides)
        raise ConfigError(list(dict.fromkeys(self.mistakes)))

    def check(self) -> None:
        """Raise a :class:`ConfigError` that lists all mistakes, of all jobs of a sweep."""
        if not self.is_sweep:
            self.settings()
            return
        for sweep in self.sweeps():
            for combination in sweep._combinations():
                if (content := sweep._content(combination)) is not None:
                    sweep._check_values(content)
            self.mistakes += sweep.mistakes
        if self.mistakes:
            raise ConfigError(list(dict.fromkeys(self.mistakes)))

    def sweeps(self) -> list[CommandLine]:
        """Return the sweeps to run: one, or one for each block of the grid of an experiment."""
        chosen = [override for override in self.overrides if override.key_or_group == "experiment"]
        if not self.is_sweep or not chosen or chosen[-1].is_sweep_override() or self.mistakes:
            return [self]
        content = self._composed([chosen[-1].input_line or ""]).get("_grid")
        blocks = read_grid(
            OmegaConf.to_container(content) if OmegaConf.is_config(content) else content
        )
        if not blocks:
            return [self]
        grid = [{self._long_name(name): values for name, values in b.items()} for b in blocks]
        # Settings that differ between jobs of the grid, whichever of its blocks are run.
        values_of: dict[str, set[str]] = {}
        for block in grid:
            for name, values in block.items():
                values_of.setdefault(name, set()).update(values)
        swept = {name for name, values in values_of.items() if len(values) > 1} | self.swept
        lines = []
        for block, without in self._applicable(grid):
            left_out = (*block, *without)
            kept = [line for line in self._given if self._long_name(line) not in left_out]
            added = [f"{name}={','.join(values)}" for name, values in block.items()]
            arguments = [*kept, *added]
            lines.append(
                CommandLine(self.source, arguments, is_sweep=True, _swept_in_grid=frozenset(swept))
            )
        return lines

    def _long_name(self, argument: str) -> str:
        return _name_of(_expand_short_name(argument, self._root))

    def _composed(self, lines: Sequence[str]) -> DictConfig:
        try:
            return composed(self.source, lines)
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError([*self.mistakes, str(error).splitlines()[0]]) from error

    def _applicable(self, grid: Sequence[GridBlock]) -> list[tuple[GridBlock, set[str]]]:
        """Return the blocks that remain, each with the settings on the command line it lacks.

        A setting that only some of the models have, such as a size, is for their blocks alone.
        """
        values = {
            override.key_or_group: [str(value) for value in self.values_of(override)]
            for override in self.overrides
            if override.package is None
        }
        blocks = narrowed(grid, values)
        unknown = []
        for block in blocks:
            first = {name: f"{name}={values[0]}" for name, values in block.items()}
            groups = [line for name, line in first.items() if name in groups_of(self.source)]
            others = [
                single(override, self.values_of(override)[0]).input_line or ""
                for override in self.overrides
                if self.is_group(override) and override.key_or_group not in block
            ]
            keys = list(_flatten(self._composed([*others, *groups])))
            lacking = [o for o in self.overrides if self._is_unknown(o, keys)]
            unknown.append({override.key_or_group for override in lacking})
        everywhere = set.intersection(*unknown) if unknown else set()
        return [
            (block, missing - everywhere) for block, missing in zip(blocks, unknown, strict=True)
        ]

    def _typed(self, content: Mapping[str, Any], overrides: Sequence[Override]) -> Root:
        """Return typed settings; mistakes that come from a file name it."""
        try:
            return typed(self.source.script, content)
        except ConfigError as error:
            located = [self._located(mistake, overrides) for mistake in error.mistakes]
            raise ConfigError(located) from error

    def _located(self, mistake: str, overrides: Sequence[Override]) -> str:
        """Put the configuration file before a mistake that is not on the command line."""
        match = _NAME_OF_A_SETTING.match(mistake)
        name = self._long_name(match[1]) if match else ""
        if match is None or any(override.key_or_group == name for override in overrides):
            return mistake
        groups = _lines(override for override in overrides if self.is_group(override))
        path = _file_of(name, self.source, groups)
        return mistake if path is None else f"{path}: {mistake}"

    def is_group(self, override: Override) -> bool:
        """Whether an override chooses a file of a group, such as ``model=lstm``."""
        return override.key_or_group in groups_of(self.source)

    def _has_wrong_choice(self, override: Override) -> bool:
        """Record the choices of a group that do not exist."""
        group = override.key_or_group
        if not self.is_group(override):
            return False
        valid = choices_of(group, self.source)
        chosen = map(str, values_among(override, valid))
        wrong = [name for name in chosen if name not in (*valid, "None", "null")]
        for name in wrong:
            problem = f"unknown {group} {name!r}; {nearest(name, valid)}"
            if group == "model" and name in choices_of(group, ConfigSource(self._other_script)):
                problem = f"model={name}: is " + (
                    f"not trained here; adopt it with 'evaluate.py task=adopt model={name} name=…'"
                    if self.source.script == "train"
                    else "trained by train.py, not adopted"
                )
            self.mistakes.append(problem)
        return bool(wrong)

    @property
    def _other_script(self) -> Script:
        return "evaluate" if self.source.script == "train" else "train"

    def _is_possible(self, override: Override) -> bool:
        """Record the mistakes that are visible in a single override."""
        line, name = override.input_line, override.key_or_group
        is_choice = self.is_group(override) or name.startswith("hydra/")
        problem = ""
        if override.is_delete():
            problem = f"{line}: settings cannot be deleted; set {name}=null instead"
        elif override.package is not None and line not in self._named_corpora:
            problem = f"{line}: write {name}={override.value()}"
        elif not is_choice and _is_folder_of_groups(name):
            takes = f"{self.source.script}.py takes {', '.join(sorted(groups_of(self.source)))}"
            other = self._other_script
            is_of_other = name in groups_of(ConfigSource(other))
            problem = f"{name}= " + (
                f"belongs to {other}.py; {takes}" if is_of_other else f"cannot be chosen; {takes}"
            )
        elif override.is_sweep_override() and not self.is_sweep:
            problem = f"{line}: several values are a sweep; add -m"
        self.mistakes += [problem] if problem else []
        return not problem

    def _combinations(self) -> Iterator[list[Override]]:
        """Yield overrides of jobs: each combination of groups, with the first of other values."""
        choices = []
        for override in self.overrides:
            values = self.values_of(override)
            kept = values if self.is_group(override) else values[:1]
            choices.append([single(override, value) for value in kept])
        if math.prod(map(len, choices)) > MOST_VALUES:
            problem = f"more than {MOST_VALUES:,} combinations of groups; write fewer"
            raise ConfigError([problem])
        return (list(combination) for combination in itertools.product(*choices))

    def values_of(self, override: Override) -> list[Any]:
        """Return the values of an override: one, or those of a sweep."""
        return values_among(override, choices_of(override.key_or_group, self.source))

    def _content(self, overrides: Sequence[Override]) -> dict[str, Any] | None:
        """Return the content of a job with valid settings; otherwise record its mistakes."""
        known = list(overrides)
        try:
            groups = _lines(override for override in overrides if self.is_group(override))
            keys = list(_flatten(composed(self.source, groups)))
            unknown = [override for override in overrides if self._is_unknown(override, keys)]
            for override in unknown:
                self.mistakes.append(self._unknown(override.key_or_group, keys, overrides))
                known.remove(override)
            content = plain_config(composed(self.source, _lines(known)))
            self._typed(content, known)
        except ConfigError as error:
            # A group with a wrong choice was left out above; it is not missing.
            without = tuple(f"{group} is missing" for group in self._wrong_groups)
            mistakes = error.mistakes
            self.mistakes += [text for text in mistakes if not text.startswith(without)]
        except (HydraException, OmegaConfBaseException) as error:
            self.mistakes.append(str(error).splitlines()[0])
        else:
            return content
        return None

    def _unknown(self, key: str, keys: Sequence[str], overrides: Sequence[Override]) -> str:
        shorts = {long: short for short, long in self._root.SHORT.items()}
        if key not in shorts:
            return f"{key} is not a setting; {_nearest_key(key, keys)}"
        group, _, name = key.partition(".")
        chosen = [override.value() for override in overrides if override.key_or_group == group]
        of = f" of {group}={chosen[-1]}" if chosen else ""
        part = key.rpartition(".")[0]
        if part in keys and not any(name.startswith(f"{part}.") for name in keys):
            lacking = part.rpartition(".")[2]
            return f"{shorts[key]} is not a setting{of}, which has no {lacking}; leave it out"
        # The tasks that have a setting, such as ``task.input``.
        first = name.partition(".")[0]
        is_of_task = group == "task" and self.source.script == "evaluate"
        kinds = TASKS.items() if is_of_task else ()
        tasks = [task for task, kind in kinds if first in kind.__dataclass_fields__]
        hint = f"it belongs to task={' or '.join(tasks)}" if tasks else _nearest_key(key, keys)
        return f"{shorts[key]} is not a setting{of}; {hint}"

    def _is_unknown(self, override: Override, keys: Sequence[str]) -> bool:
        key = override.key_or_group
        is_free = self.is_group(override) or is_of_hydra(override)
        return not is_free and not override.is_add() and key not in keys

    def _check_values(self, content: dict[str, Any]) -> None:
        for override in self.overrides:
            if self.is_group(override) or not override.is_sweep_override():
                continue
            *groups, last = override.key_or_group.split(".")
            for value in values_among(override, ())[1:]:
                changed = copy.deepcopy(content)
                part = functools.reduce(lambda outer, name: outer.get(name, {}), groups, changed)
                part[last] = value
                try:
                    typed(self.source.script, changed)
                except ConfigError as error:
                    self.mistakes += error.mistakes


def _lines(overrides: Iterable[Override]) -> list[str]:
    return [override.input_line or "" for override in overrides]


def _is_folder_of_groups(name: str) -> bool:
    try:
        return (CONFIG_DIR / name).is_dir()
    except (OSError, ValueError):  # too long for a name of a file, or with a null character
        return False


def _nearest_key(key: str, keys: Sequence[str]) -> str:
    """Suggest the intended setting, or those in the same part of the configuration."""
    part = key.rpartition(".")[0]
    siblings = [name for name in keys if name.rpartition(".")[0] == part]
    if not part:
        # A name of one's own is meant rather than a part of the name of another setting.
        near = nearest(key, siblings, otherwise=())
        if near.startswith("did you mean"):
            return near
        if ends := [name for name in keys if key in name.rpartition(".")[2].split("_")]:
            return f"did you mean {ends[0]!r}?"
    return nearest(key, keys, otherwise=siblings or [name for name in keys if "." not in name])


def _flatten(config: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield the full names of all settings and of their groups."""
    for key in config:
        name = prefix + str(key)
        if name.startswith("_"):
            continue
        yield name
        child = config._get_node(key)
        if isinstance(child, DictConfig) and not child._is_none() and not child._is_missing():
            yield from _flatten(child, f"{name}.")
