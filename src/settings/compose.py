"""From configuration files and the command line to checked, plain settings.

Only this module and the root scripts know Hydra and OmegaConf; from here on settings are plain
dictionaries and the objects built from them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from gardenpath.data.batches.batch_loader import BatchSettings
from gardenpath.data.preparation import Preparation
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.registry import READERS
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.subwords import SubwordSettings
from gardenpath.errors import ConfigError
from gardenpath.eval.search.search_settings import SearchSettings
from gardenpath.eval.task_settings import SEARCHES, evaluation_mistakes
from gardenpath.models.families import FAMILIES
from gardenpath.models.training.loggers import LOGGERS, make_wandb
from gardenpath.models.training.optimisation import OptimiserSettings
from gardenpath.models.training.trainer_settings import TrainerSettings
from gardenpath.places import CONFIG_DIR
from gardenpath.settings.bounds import Seed
from gardenpath.settings.check import check_arguments, nearest, type_problem

Settings = Mapping[str, Any]

# Settings outside of all groups.
_OF_THE_RUN = {"seed": Seed, "resume": bool, "overwrite": bool}


def check_command_line(config_name: str, arguments: list[str]) -> None:
    """Find all mistakes of a command line at once, before anything is read.

    With a sweep (``seed=1,2,3``) every combination of group choices is checked.
    """
    if any(argument in ("--help", "--hydra-help", "--version") for argument in arguments):
        return
    overrides, mistakes = _parse([a for a in arguments if not a.startswith("-")])
    wrong_groups = set()
    for override in filter(_is_group, overrides):
        if found := _choice_mistakes(override):
            mistakes += found
            wrong_groups.add(override.key_or_group)
    # What depends on a wrong choice cannot be judged; all the rest can.
    rest = [o for o in overrides if o.key_or_group.split(".")[0] not in wrong_groups]
    deletions = [o for o in rest if o.is_delete()]
    mistakes += [f"{o.input_line}: a setting cannot be taken away" for o in deletions]
    rest = [o for o in rest if o not in deletions]
    for combination in _combinations(rest):
        mistakes += _combination_mistakes(config_name, combination)
    if mistakes:
        raise ConfigError(list(dict.fromkeys(mistakes)))


def _parse(arguments: list[str]) -> tuple[list[Override], list[str]]:
    parser = OverridesParser.create()
    overrides, mistakes = [], []
    for argument in arguments:
        try:
            overrides += parser.parse_overrides([argument])
        except HydraException:
            mistakes.append(f"{argument!r} cannot be read; write name=value")
    return overrides, mistakes


def _is_group(override: Override) -> bool:
    return (CONFIG_DIR / override.key_or_group).is_dir()


def _choice_mistakes(override: Override) -> list[str]:
    valid = _choices(CONFIG_DIR / override.key_or_group)
    chosen = [str(value) for value in _values(override) if value is not None]
    return [
        f"{override.key_or_group}={name}: there is no such {override.key_or_group}; "
        + nearest(name, valid)
        for name in chosen
        if name not in valid
    ]


def _choices(folder: Path) -> list[str]:
    """What can be chosen of a group; names with an underscore are parts of other files."""
    return sorted(path.stem for path in folder.glob("*.yaml") if not path.stem.startswith("_"))


def _all_choices() -> str:
    """A line for each group, for the help."""
    groups = sorted(path for path in CONFIG_DIR.iterdir() if path.is_dir())
    return "".join(f"{group.name}: {', '.join(_choices(group))}\n" for group in groups)


# Hydra's own list of choices, $APP_CONFIG_GROUPS, leaves nothing out.
OmegaConf.register_new_resolver("choices", _all_choices, replace=True)


def _values(override: Override) -> list[Any]:
    if override.is_sweep_override():
        return list(override.sweep_iterator())
    return [override.value()]


def _combinations(overrides: list[Override]) -> Iterator[list[str]]:
    """Each combination of a sweep as plain override strings."""
    choices = []
    for override in overrides:
        sign = (override.input_line or "")[:1]
        name = f"{sign if sign in '+~' else ''}{override.key_or_group}"
        if override.is_sweep_override():
            choices.append([f"{name}={value}" for value in override.sweep_string_iterator()])
        else:
            choices.append([override.input_line or ""])
    return (list(combination) for combination in itertools.product(*choices))


def _combination_mistakes(config_name: str, arguments: list[str]) -> list[str]:
    overrides, _ = _parse(arguments)
    groups = [o.input_line or "" for o in overrides if _is_group(o)]
    keys = list(_flatten(_compose(config_name, groups)))
    unknown = [o for o in overrides if _is_unknown(o, keys)]
    mistakes = [f"{o.key_or_group} is not a setting; {_nearest_key(o, keys)}" for o in unknown]
    known = [o.input_line or "" for o in overrides if o not in unknown]
    try:
        settings = plain(_compose(config_name, known))
    except (HydraException, OmegaConfBaseException) as error:
        return [*mistakes, str(error).splitlines()[0]]
    check = {"train": check_settings, "evaluate": evaluation_mistakes}[config_name]
    return mistakes + check(settings)


def _is_unknown(override: Override, keys: list[str]) -> bool:
    key = override.key_or_group
    is_free = _is_group(override) or override.is_add() or key.startswith(("hydra.", "hydra/"))
    return not is_free and key not in keys


def _nearest_key(override: Override, keys: list[str]) -> str:
    """The setting that is meant, or those in the same part of the configuration."""
    key = override.key_or_group
    part = key.rpartition(".")[0]
    siblings = [k for k in keys if k.rpartition(".")[0] == part]
    return nearest(key, keys, otherwise=siblings or [k for k in keys if "." not in k])


def _flatten(config: Any, prefix: str = "") -> Iterator[str]:
    for key in config:
        name = f"{prefix}{key}"
        yield name
        child = config._get_node(key)
        if isinstance(child, DictConfig) and not child._is_none():
            yield from _flatten(child, f"{name}.")


def _compose(config_name: str, overrides: list[str]) -> DictConfig:
    """Compose a configuration without starting Hydra's application."""
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
        return compose(config_name, overrides)


def load_settings(config_name: str, overrides: list[str]) -> Settings:
    """Plain settings from override strings, for scripts and tests."""
    return plain(_compose(config_name, overrides))


def plain(config: DictConfig) -> Settings:
    """Resolve a configuration to plain dictionaries and values."""
    content = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}


@dataclass(frozen=True)
class _Part:
    """A part of the configuration and what is built from it."""

    function: Any
    settings: Settings
    prefix: str
    provided: tuple[str, ...] = ()


def check_settings(settings: Settings) -> list[str]:
    """All mistakes in the settings of a training run."""
    mistakes = [
        f"{name}={settings[name]}: {problem}"
        for name, annotation in _OF_THE_RUN.items()
        if (problem := type_problem(settings[name], annotation))
    ]
    if (logger := settings["logger"]["kind"]) not in LOGGERS:
        mistakes.append(f"logger.kind={logger}: {nearest(str(logger), LOGGERS)}")
    data, model = settings["data"], settings["model"]
    reader_kind, family_name = data["reader"]["kind"], model["family"]
    if reader_kind not in READERS:
        mistakes.append(f"data.reader.kind={reader_kind}: {nearest(str(reader_kind), READERS)}")
    if family_name not in FAMILIES:
        mistakes.append(f"model.family={family_name}: {nearest(str(family_name), FAMILIES)}")
    if reader_kind not in READERS or family_name not in FAMILIES:
        return mistakes
    parts = ("optimiser", "batches") if FAMILIES[family_name].is_neural else ()
    if any(part not in model for part in parts):
        return [
            *mistakes,
            f"model.family={family_name} needs the settings of that family: set model=",
        ]
    for part in _parts(settings):
        mistakes += check_arguments(
            part.function, part.settings, prefix=part.prefix, provided=part.provided
        )
    if FAMILIES[family_name].needs_trees and not READERS[reader_kind].has_trees:
        mistakes.append(
            f"model={model['name']} learns from trees, and data={data['name']} has none; use a "
            "treebank, or model=lstm, transformer or ngram"
        )
    return mistakes


def make_search(settings: Settings) -> SearchSettings:
    """How to search, as the settings ``search`` describe it."""
    arguments = {key: value for key, value in settings.items() if key != "kind"}
    result: SearchSettings = SEARCHES[settings["kind"]](**arguments)
    return result


def _parts(settings: Settings) -> Iterator[_Part]:
    data, model = settings["data"], settings["model"]
    reader = {key: value for key, value in data["reader"].items() if key != "kind"}
    family = FAMILIES[model["family"]]
    yield _Part(READERS[data["reader"]["kind"]], reader, "data.reader")
    yield _Part(Cleaning, data["cleaning"], "data.cleaning")
    yield _Part(SubwordSettings, data["subwords"], "data.subwords")
    yield _Part(
        Preparation,
        {"language": data["language"], "min_count": data["min_count"]},
        "data",
        provided=("reader", "cleaning", "subwords"),
    )
    given = family.dimension_names
    yield _Part(family.build, model["network"], "model.network", provided=given)
    yield _Part(TrainerSettings, settings["trainer"], "trainer")
    if settings["logger"]["kind"] == "wandb":
        logger = {key: value for key, value in settings["logger"].items() if key != "kind"}
        yield _Part(make_wandb, logger, "logger", provided=("folder", "config"))
    if family.is_neural:
        yield _Part(OptimiserSettings, model["optimiser"], "model.optimiser")
        yield _Part(BatchSettings, model["batches"], "model.batches")


def make_reader(data: Settings) -> Reader:
    """The reader that the settings ``data`` describe."""
    arguments = {key: value for key, value in data["reader"].items() if key != "kind"}
    reader: Reader = READERS[data["reader"]["kind"]](**arguments)
    return reader


def make_preparation(data: Settings) -> Preparation:
    """The corpus that the settings ``data`` describe."""
    return Preparation(
        reader=make_reader(data),
        cleaning=Cleaning(**data["cleaning"]),
        language=data["language"],
        min_count=data["min_count"],
        subwords=SubwordSettings(**data["subwords"]),
    )
