"""Compose typed settings from configuration files and the command line.

Only this module and :mod:`cli` use Hydra and OmegaConf. The dataclasses define the defaults of all
settings; Hydra finds them as nodes with a leading underscore (``model/_rnng``). The files in
``conf/`` build on these nodes and contain only values that differ.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import hydra
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, IntervalSweep, Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from gardenpath.data.corpus import READERS, DataSettings
from gardenpath.errors import ConfigError
from gardenpath.models.family import ADOPTED_MODELS
from gardenpath.safe_text import parse_yaml, yaml_tree
from gardenpath.settings.evaluate import EvaluateSettings, StudySettings, SuiteSettings
from gardenpath.settings.schema import defaults, read
from gardenpath.settings.tasks import TASKS
from gardenpath.settings.train import Paths, with_existing
from gardenpath.util import CONFIG_DIR

Script = Literal["train", "evaluate"]
Root = Any  # TrainSettings or EvaluateSettings


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


def _nodes(script: Script) -> Iterable[tuple[str | None, str, Any]]:
    """Yield the group, name and content of each node of defaults."""
    from gardenpath.models.training.settings import LOGGERS

    yield None, f"_{script}", _own_defaults(root_of(script))
    yield "paths", "_paths", defaults(Paths)
    yield from (("logger", f"_{name}", defaults(one)) for name, one in LOGGERS.items())
    for name, reader in READERS.items():
        yield "data", f"_{name}", {**defaults(DataSettings), "reader": defaults(reader)}
    yield from _evaluate_nodes() if script == "evaluate" else _train_nodes()


def _evaluate_nodes() -> Iterable[tuple[str, str, Any]]:
    from gardenpath.eval.search.settings import SEARCHES

    yield from (("task", f"_{name}", defaults(one)) for name, one in TASKS.items())
    yield from (("search", f"_{name}", defaults(one)) for name, one in SEARCHES.items())
    yield from (("model", f"_{name}", defaults(one)) for name, one in ADOPTED_MODELS.items())
    yield "suite", "_suite", defaults(SuiteSettings)
    yield "study", "_study", defaults(StudySettings)


def _train_nodes() -> Iterable[tuple[str, str, Any]]:
    from gardenpath.models.family import MODELS
    from gardenpath.models.training.settings import TrainerSettings

    yield "trainer", "_trainer", defaults(TrainerSettings)
    yield from (("model", f"_{name}", defaults(one)) for name, one in MODELS.items())


def _own_defaults(root: type) -> dict[str, Any]:
    """Return the defaults of a root without its groups, which have their own nodes."""
    return {name: value for name, value in defaults(root).items() if not isinstance(value, dict)}


@contextmanager
def started(source: ConfigSource) -> Iterator[Hydra]:
    """Initialise Hydra with its search path, without its application."""
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


def composed(source: ConfigSource, overrides: Sequence[str]) -> DictConfig:
    """Compose a configuration without starting Hydra's application."""
    with started(source):
        try:
            return hydra.compose(source.config_name, list(overrides))
        except (HydraException, OmegaConfBaseException):
            raise
        # Hydra checks the content of a user's files by assertions and plain exceptions.
        except (ValueError, TypeError, AttributeError, KeyError, AssertionError) as error:
            raise _unreadable(error) from error
        except (YAMLError, RecursionError) as error:
            raise _unreadable(error) from error


def _unreadable(error: Exception) -> ConfigError:
    problem = (str(error).splitlines() or [type(error).__name__])[0]
    return ConfigError([f"the configuration files cannot be composed: {problem[:300]}"])


@functools.cache
def _require_readable(folder: str) -> None:
    """Check the syntax of a user's configuration files before Hydra loads them."""
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
        found = loader.compute_defaults_list(source.config_name, [], RunMode.RUN)
        return frozenset(name for name in found.overrides.known_choices if "/" not in name)


def composed_files(source: ConfigSource, overrides: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name and the package of each configuration that is composed, in order."""
    with started(source):
        loader = GlobalHydra.instance().config_loader()
        found = loader.compute_defaults_list(source.config_name, list(overrides), RunMode.RUN)
    return [
        (one.config_path, (one.package or "").replace("_global_", ""))
        for one in found.defaults
        if one.config_path is not None
    ]


def choices_of(group: str, source: ConfigSource) -> list[str]:
    """Return the choices of a group; names with a leading underscore are parts of other files.

    Models are trained by one script and adopted by the other.
    """
    folders = [CONFIG_DIR, *([Path(source.folder)] if source.folder else [])]
    names = {path.stem for folder in folders for path in (folder / group).glob("*.yaml")}
    if group == "model":
        names = (
            names & {*ADOPTED_MODELS} if source.script == "evaluate" else names - {*ADOPTED_MODELS}
        )
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
    if script == "train":
        content = with_existing(content)
    return read(root, content, short=shown, is_for_here=is_for_here)


def load_settings(script: Script, overrides: Sequence[str] = ()) -> Root:
    """Return typed settings from overrides such as ``model=rnng``, as on the command line."""
    from gardenpath.settings.command_line import CommandLine

    return CommandLine(ConfigSource(script), list(overrides)).settings()


# ----------------------------------------------------------------------------
# Write the arguments of a command line in Hydra's form: short names, lists, named corpora.


# A quotation mark or the end of a text, and the backslashes before it.
_ESCAPED = re.compile(r"(\\*)('|$)")

# What Hydra does not take without quotation marks: characters that are not ASCII.
_FOREIGN = re.compile(r"[^,\[\]{}:\x00-\x7f]*[^\x00-\x7f][^,\[\]{}]*")
# Files that can be named in place of a set of suites.
_SUITE_FILES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".xlsx")

# Seconds between two tables of runs.
_WATCH_SECONDS = 5


def name_of(argument: str) -> str:
    """Return the name in ``name=value``."""
    return argument.partition("=")[0]


def watching(argument: str) -> str:
    """Write the flags ``--watch`` and ``--watch=10`` as settings of task=runs."""
    name, _, value = argument.partition("=")
    return f"task.watch={value or _WATCH_SECONDS}" if name == "--watch" else argument


def written_out(argument: str, root: Any) -> str:
    """Expand short names: ``model.size=tiny`` → ``model.network.size=tiny``.

    ``root`` is the settings class of the script.
    """
    name, sign, value = argument.partition("=")
    for short, long in root.SHORT.items():
        if name == short or name.startswith(f"{short}."):
            return f"{long}{name[len(short) :]}{sign}{value}"
    return argument


def suite_files(argument: str) -> list[str]:
    """Write ``suite=mine.yaml`` as ``suite=file suite.suites=[mine.yaml]``."""
    name, _, value = argument.partition("=")
    is_file = name == "suite" and value.lower().endswith(_SUITE_FILES)
    return ["suite=file", f"suite.suites={value}"] if is_file else [argument]


def escaped(argument: str) -> str:
    """Escape equals signs in a value, as in ``run=runs/lstm/learning_rate=0.01``.

    Hydra would not accept them, nor characters that are not ASCII, as in ``output=结果``. Values
    with quotes or functions are left as they are.
    """
    name, sign, value = argument.partition("=")
    if not any(one in value for one in "'\"(\\"):
        value = _FOREIGN.sub(lambda found: f"'{found[0]}'", value)
        argument = name + sign + value
    if "=" not in value or any(one in value for one in "'\"(\\"):
        return argument
    return name + sign + value.replace("=", "\\=")


def quoted(argument: str, root: Any) -> str:
    """Put text in quotation marks, as in ``input=No, she didn't``, so that Hydra takes it whole.

    Lists, and values that have quotation marks around them, are left as they are.
    """
    name, sign, value = argument.partition("=")
    lists = ('["', "['", "[]") if name in root.FORMULAS else ("[",)
    is_given = value in ("", "null") or value.startswith((*lists, "'", '"'))
    if name not in (*root.TEXTS, *root.FORMULAS) or is_given:
        return argument
    return f"{name}{sign}'{_ESCAPED.sub(_escape, value)}'"


def _escape(found: re.Match[str]) -> str:
    """Escape a quotation mark; backslashes before it, or at the end, are doubled."""
    return found[1] * 2 + ("\\'" if found[2] else "")


def listed(
    arguments: Sequence[str], root: Any, *, is_sweep: bool
) -> tuple[list[str], frozenset[str]]:
    """Write lists in Hydra's form; return the arguments and those that choose corpora by name.

    ``run=a,b`` becomes ``run=[a,b]``, except in a sweep. ``corpora=[ctb,ptb]`` becomes the choices
    ``+data@corpora.ctb=ctb`` and ``+data@corpora.ptb=ptb``, so that ``corpora.ctb.root`` is a
    setting like any other.
    """
    found: list[str] = []
    named: set[str] = set()
    for argument in arguments:
        name, sign, value = argument.partition("=")
        is_one = name in root.PLURALS and value not in ("", "null") and "${" not in value
        begins_list = value.startswith("[" if is_one else ("[", "'", '"'))
        is_bare = ("," in value or is_one) and not begins_list
        if sign and name in root.CORPORA:
            chosen = [one.strip() for one in value.strip("[] ").split(",")]
            made = [f"+data@{name}.{one}={one}" for one in chosen if one]
            found += made
            named.update(made)
        elif name in root.LISTS and is_bare and not (is_sweep and "," in value):
            found.append(f"{name}=[{value}]")
        else:
            found.append(argument)
    return found, frozenset(named)


# ----------------------------------------------------------------------------
# Overrides in Hydra's form: parse them within limits, and list or choose their values.


# Most values of a setting, and most combinations of groups, in a sweep.
MOST_VALUES = 10_000

# Hydra's parser is recursive, and slow for long arguments.
_LONGEST = 50_000
_MOST_BRACKETS = 100
# Characters of an argument that a message shows.
_SHOWN = 200


def parsed_override(argument: str) -> Override:
    """Parse ``name=value``; a :class:`ConfigError` says what is wrong with it."""
    try:
        if len(argument) > _LONGEST or sum(map(argument.count, "[{(")) > _MOST_BRACKETS:
            raise ValueError
        (parsed,) = OverridesParser.create().parse_overrides([argument])
        has_too_many = _count(parsed) > MOST_VALUES
    except (HydraException, ValueError, RecursionError, OverflowError, ZeroDivisionError):
        problem = f"{_shortened(argument)!r} is not a setting; write name=value"
        problem += "" if "=" in argument else ", with quotation marks around a text with blanks"
        raise ConfigError([problem]) from None
    if has_too_many:
        problem = f"{_shortened(argument)}: more than {MOST_VALUES:,} values; write fewer"
        raise ConfigError([problem])
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
    parts = (sign, override.key_or_group, "=", str(Override._get_value_element_as_str(value)))
    return OverridesParser.create().parse_overrides(["".join(parts)])[0]


def place_in_settings(override: Override) -> str:
    """Return the setting, the group, or the part of the settings that holds a named corpus."""
    return (override.package or override.key_or_group).split(".")[0]


def is_of_hydra(override: Override) -> bool:
    """Whether an override is of one of Hydra's own settings, such as ``hydra/launcher=local``."""
    return override.key_or_group.startswith(("hydra.", "hydra/"))


def _count(override: Override) -> int:
    """Return the number of values of an override, counted up to one more than is allowed."""
    if not override.is_sweep_override() or isinstance(override.value(), Glob | IntervalSweep):
        return 1
    return sum(1 for _ in itertools.islice(override.sweep_iterator(), MOST_VALUES + 1))


def _shortened(argument: str) -> str:
    return argument if len(argument) <= _SHOWN else f"{argument[:_SHOWN]}…"


# ----------------------------------------------------------------------------
# Find the configuration file in which a setting gets its value, for error messages.


def file_of(setting: str, source: ConfigSource, overrides: Sequence[str]) -> Path | None:
    """Return the last file of a composition that contains a setting, or None.

    ``setting`` is the full name, such as ``model.network.size``; ``overrides`` select the files.
    """
    found = None
    for name, package in composed_files(source, overrides):
        path = _path(name, source)
        inside = _inside(setting, package)
        if path is not None and inside is not None and _contains(_read(path), inside):
            found = path
    return found


def _path(name: str, source: ConfigSource) -> Path | None:
    folders = [CONFIG_DIR, *([Path(source.folder)] if source.folder else [])]
    paths = [folder / f"{name}.yaml" for folder in reversed(folders)]
    return next((path for path in paths if path.is_file()), None)


def _inside(setting: str, package: str) -> list[str] | None:
    """Return the keys of a setting within a file of a package; None if it is not part of it."""
    keys, outer = setting.split("."), package.split(".") if package else []
    return keys[len(outer) :] if keys[: len(outer)] == outer else None


def _read(path: Path) -> Any:
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _contains(content: Any, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(content, Mapping) or key not in content:
            return False
        content = content[key]
    return True
