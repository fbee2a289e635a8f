"""Compose typed settings from configuration files and the command line.

Only this module and :mod:`cli` use Hydra and OmegaConf. The dataclasses define the defaults of all
settings; Hydra finds them as nodes with a leading underscore (``model/_rnng``). The files in
``conf/`` build on these nodes and contain only values that differ.
"""

from __future__ import annotations

import functools
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
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from gardenpath.data.data_settings import DataSettings
from gardenpath.data.readers.combined import READERS
from gardenpath.errors import ConfigError
from gardenpath.models.families import ADOPTED_MODELS
from gardenpath.places import CONFIG_DIR
from gardenpath.safe_text import yaml_tree
from gardenpath.settings.check import defaults, read
from gardenpath.settings.evaluate_settings import EvaluateSettings, StudySettings, SuiteSettings
from gardenpath.settings.existing import with_existing
from gardenpath.settings.paths import Paths
from gardenpath.settings.task_settings import TASKS

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
    from gardenpath.settings.train_settings import TrainSettings

    return TrainSettings


@functools.cache
def register(script: Script) -> None:
    """Register the defaults of all dataclasses with Hydra."""
    for group, name, node in _nodes(script):
        ConfigStore.instance().store(group=group, name=name, node=OmegaConf.create(node))


def _nodes(script: Script) -> Iterable[tuple[str | None, str, Any]]:
    """Yield the group, name and content of each node of defaults."""
    from gardenpath.models.training.training_settings import LOGGERS

    yield None, f"_{script}", _own_defaults(root_of(script))
    yield "paths", "_paths", defaults(Paths)
    yield from (("logger", f"_{name}", defaults(one)) for name, one in LOGGERS.items())
    for name, reader in READERS.items():
        yield "data", f"_{name}", {**defaults(DataSettings), "reader": defaults(reader)}
    yield from _evaluate_nodes() if script == "evaluate" else _train_nodes()


def _evaluate_nodes() -> Iterable[tuple[str, str, Any]]:
    from gardenpath.eval.search.search_settings import SEARCHES

    yield from (("task", f"_{name}", defaults(one)) for name, one in TASKS.items())
    yield from (("search", f"_{name}", defaults(one)) for name, one in SEARCHES.items())
    yield from (("model", f"_{name}", defaults(one)) for name, one in ADOPTED_MODELS.items())
    yield "suite", "_suite", defaults(SuiteSettings)
    yield "study", "_study", defaults(StudySettings)


def _train_nodes() -> Iterable[tuple[str, str, Any]]:
    from gardenpath.models.families import MODELS
    from gardenpath.models.training.training_settings import TrainerSettings

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
    from gardenpath.settings.command.command_line import CommandLine

    return CommandLine(ConfigSource(script), list(overrides)).settings()
