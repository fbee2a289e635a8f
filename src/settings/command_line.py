"""The grid of an experiment: blocks of values, each of which is a sweep.

A sweep trains every combination of its values. The models of a paper are not such a product if, for
example, some have three seeds and others two, so an experiment lists several blocks:

    _grid:
      - {data: [ctb, xinhua], model: ngram, seed: 1}
      - {data: [ctb, xinhua], model: [lstm, plm], seed: [1, 2, 3]}

Values on the command line select from the grid or, if the grid does not have them, replace its
values.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import itertools
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from gardenpath.errors import ConfigError
from gardenpath.settings.compose import (
    MOST_VALUES,
    ConfigSource,
    Root,
    Script,
    choices_of,
    composed,
    escaped,
    file_of,
    groups_of,
    is_of_hydra,
    listed,
    name_of,
    parsed_override,
    place_in_settings,
    plain_config,
    quoted,
    root_of,
    single,
    suite_files,
    typed,
    values_among,
    watching,
    written_out,
)
from gardenpath.settings.schema import nearest
from gardenpath.settings.train import in_new_words
from gardenpath.store.files import digest
from gardenpath.util import CONFIG_DIR

# Values by setting; a block is the product of its values.
GridBlock = dict[str, list[str]]


def read_grid(content: Any) -> list[GridBlock]:
    """Read the blocks of a configuration file; an empty list if it has none."""
    if content is None:
        return []
    is_right = isinstance(content, Sequence) and all(isinstance(one, Mapping) for one in content)
    if not is_right or not content:
        raise ConfigError(["_grid must be a list of blocks such as {model: [lstm, rnng], seed: 1}"])
    return [{str(key): _values(value) for key, value in block.items()} for block in content]


def _values(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def swept_in(grid: Sequence[GridBlock]) -> frozenset[str]:
    """Return the settings that differ between jobs of a grid, whichever of its blocks are run."""
    values: dict[str, set[str]] = {}
    for block in grid:
        for name, found in block.items():
            values.setdefault(name, set()).update(found)
    return frozenset(name for name, found in values.items() if len(found) > 1)


def narrowed(grid: Sequence[GridBlock], given: Mapping[str, Sequence[str]]) -> list[GridBlock]:
    """Return the blocks that remain with the values given on the command line.

    Values of the grid select its blocks: with ``model=rnng``, only the seeds of rnng remain. Values
    that the grid does not have replace those of all blocks that have the setting: with
    ``data=toy_mandarin``, all models are trained on another corpus.
    """
    blocks = [dict(block) for block in grid]
    for name, values in given.items():
        known = {value for block in blocks for value in block.get(name, ())}
        if not known:
            continue
        if known.issuperset(values):
            kept = [_selected(block, name, values) for block in blocks]
            blocks = [block for block in kept if all(block.values())]
        else:
            blocks = [{**block, name: list(values)} if name in block else block for block in blocks]
    return [
        block
        for place, block in enumerate(blocks)
        if not any(_is_within(block, other) for other in blocks[:place])
        and not any(_is_within(block, other) and block != other for other in blocks[place + 1 :])
    ]


def _selected(block: GridBlock, name: str, values: Sequence[str]) -> GridBlock:
    if name not in block:
        return block
    return {**block, name: [value for value in block[name] if value in values]}


def _is_within(block: GridBlock, other: GridBlock) -> bool:
    """Whether another block contains all combinations of a block."""
    return block.keys() == other.keys() and all(
        set(values) <= set(other[name]) for name, values in block.items()
    )


# ----------------------------------------------------------------------------
# Turn the overrides of a command line into typed settings, or report all mistakes at once.
#
# A single job is composed once. A sweep is checked before its first job starts: each combination
# of groups (``model=lstm,rnng``) is composed, and each other value is checked on its own, so that
# the cost of the check depends on the number of groups, not of jobs.


# Mistakes of a value or a name: ``seed=-2: …``, ``model.sizze is not a setting; …``.
_NAME_OF_A_SETTING = re.compile(r"([\w.]+)(?:=| is not )")


def check_command_line(script: Script, arguments: Sequence[str]) -> None:
    """Raise an error that lists all mistakes in the overrides; with ``-m``, of a whole sweep."""
    overrides = [watching(one) for one in arguments if one not in ("-m", "--multirun")]
    line = CommandLine(ConfigSource(script), overrides, is_sweep=len(overrides) < len(arguments))
    line.check()


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
        if self.source.script == "evaluate":
            self.arguments = [two for one in self.arguments for two in suite_files(one)]
        names = [one.partition("=")[0] for one in self.arguments]
        if self.source.script == "evaluate" and "task" not in names:
            chosen = [f"task={name}" for name in ("study", "suite") if name in names]
            self.arguments = [*self.arguments, *chosen[:1]]
        if self.source.script == "train":
            self.arguments = in_new_words(self.arguments)
        written = [written_out(one, self._root) for one in self.arguments]
        if not self.is_sweep:
            written = [quoted(one, self._root) for one in written]
        self.arguments, self._named_corpora = listed(
            [escaped(one) for one in written],
            self._root,
            is_sweep=self.is_sweep,
        )

    @property
    def _root(self) -> Any:
        return root_of(self.source.script)

    @functools.cached_property
    def overrides(self) -> list[Override]:
        """The overrides that can be checked further; mistakes are recorded."""
        parsed = [one for argument in self.arguments for one in self._parsed(argument)]
        self._wrong_groups |= {
            place_in_settings(one) for one in parsed if self._has_wrong_choice(one)
        }
        # Settings that depend on a wrong choice cannot be checked; all others can.
        return [
            one
            for one in parsed
            if place_in_settings(one) not in self._wrong_groups and self._is_possible(one)
        ]

    @functools.cached_property
    def lines(self) -> list[str]:
        """The overrides in Hydra's form, with short names expanded."""
        return [one.input_line or "" for one in self.overrides]

    @functools.cached_property
    def swept(self) -> frozenset[str]:
        """The settings that differ between the jobs of a sweep."""
        several = (one.key_or_group for one in self.overrides if len(self.values_of(one)) > 1)
        return frozenset(several) | self._swept_in_grid

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
        raise ConfigError(self._all_mistakes())

    def check(self) -> None:
        """Raise a :class:`ConfigError` that lists all mistakes, of all jobs of a sweep."""
        if not self.is_sweep:
            self.settings()
            return
        for sweep in self.sweeps():
            sweep._check_combinations()
            self.mistakes += sweep.mistakes
        if self.mistakes:
            raise ConfigError(self._all_mistakes())

    def _check_combinations(self) -> None:
        for combination in self._combinations():
            content = self._content(combination)
            if content is not None:
                self._check_values(content)

    def sweeps(self) -> list[CommandLine]:
        """Return the sweeps to run: one, or one for each block of the grid of an experiment."""
        chosen = [one for one in self.overrides if one.key_or_group == "experiment"]
        if not self.is_sweep or not chosen or chosen[-1].is_sweep_override() or self.mistakes:
            return [self]
        config = self._composed([chosen[-1].input_line or ""])
        found = config.get("_grid")
        grid = read_grid(OmegaConf.to_container(found) if OmegaConf.is_config(found) else found)
        if not grid:
            return [self]
        grid = [{name_of(written_out(f"{k}=", self._root)): v for k, v in b.items()} for b in grid]
        swept = swept_in(grid)
        return [self._with_block(block, swept) for block in self._applicable(grid)]

    def _composed(self, lines: Sequence[str]) -> DictConfig:
        try:
            return composed(self.source, lines)
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError([*self.mistakes, str(error).splitlines()[0]]) from error

    def _applicable(self, grid: Sequence[GridBlock]) -> list[tuple[GridBlock, set[str]]]:
        """Return the blocks that remain, each with the settings on the command line it lacks.

        A setting that only some of the models have, such as a size, is for their blocks alone.
        """
        given = {
            one.key_or_group: [str(value) for value in self.values_of(one)]
            for one in self.overrides
            if one.package is None
        }
        blocks = narrowed(grid, given)
        unknown = []
        for block in blocks:
            first = [f"{name}={values[0]}" for name, values in block.items()]
            groups = [one for one in first if name_of(one) in groups_of(self.source)]
            others = [
                single(one, self.values_of(one)[0]).input_line or ""
                for one in self.overrides
                if self.is_group(one) and one.key_or_group not in block
            ]
            keys = list(_flatten(self._composed([*others, *groups])))
            missing = {o.key_or_group for o in self.overrides if self._is_unknown(o, keys)}
            unknown.append(missing)
        everywhere = set.intersection(*unknown) if unknown else set()
        return [
            (block, missing - everywhere) for block, missing in zip(blocks, unknown, strict=True)
        ]

    def _with_block(
        self, applied: tuple[GridBlock, set[str]], swept: frozenset[str]
    ) -> CommandLine:
        block, without = applied
        kept = [
            one
            for one in self._given
            if name_of(written_out(one, self._root)) not in (*block, *without)
        ]
        added = [f"{name}={','.join(values)}" for name, values in block.items()]
        return CommandLine(
            self.source, [*kept, *added], is_sweep=True, _swept_in_grid=swept | self.swept
        )

    def _typed(self, content: Mapping[str, Any], overrides: Sequence[Override]) -> Root:
        """Return typed settings; mistakes that come from a file name it."""
        try:
            return typed(self.source.script, content)
        except ConfigError as error:
            raise ConfigError([self._located(one, overrides) for one in error.mistakes]) from error

    def _located(self, mistake: str, overrides: Sequence[Override]) -> str:
        """Put the configuration file before a mistake that is not on the command line."""
        found = _NAME_OF_A_SETTING.match(mistake)
        if found is None:
            return mistake
        name = name_of(written_out(found[1], self._root))
        if any(one.key_or_group == name for one in overrides):
            return mistake
        groups = [one.input_line or "" for one in overrides if self.is_group(one)]
        path = file_of(name, self.source, groups)
        return mistake if path is None else f"{path}: {mistake}"

    def _all_mistakes(self) -> list[str]:
        return list(dict.fromkeys(self.mistakes))

    def _parsed(self, argument: str) -> list[Override]:
        try:
            return [parsed_override(argument)]
        except ConfigError as error:
            self.mistakes += error.mistakes
            return []

    def is_group(self, override: Override) -> bool:
        """Whether an override chooses a file of a group, such as ``model=lstm``."""
        return override.key_or_group in groups_of(self.source)

    def _is_choice(self, override: Override) -> bool:
        return self.is_group(override) or override.key_or_group.startswith("hydra/")

    def _has_wrong_choice(self, override: Override) -> bool:
        """Record the choices of a group that do not exist."""
        group = override.key_or_group
        if not self.is_group(override):
            return False
        valid = choices_of(group, self.source)
        wrong = [name for name in map(str, values_among(override, valid)) if name not in valid]
        wrong = [name for name in wrong if name not in ("None", "null")]
        self.mistakes += [self._unknown_choice(group, name, valid) for name in wrong]
        return bool(wrong)

    def _unknown_choice(self, group: str, name: str, valid: Sequence[str]) -> str:
        other: Script = "evaluate" if self.source.script == "train" else "train"
        if group == "model" and name in choices_of(group, ConfigSource(other)):
            trained = "trained by train.py, not adopted"
            adopted = (
                f"not trained here; adopt it with 'evaluate.py task=adopt model={name} name=…'"
            )
            return f"model={name}: is {adopted if other == 'evaluate' else trained}"
        return f"unknown {group} {name!r}; {nearest(name, valid)}"

    def _is_possible(self, override: Override) -> bool:
        """Record the mistakes that are visible in a single override."""
        line, name = override.input_line, override.key_or_group
        problem = ""
        if override.is_delete():
            problem = f"{line}: settings cannot be deleted; set {name}=null instead"
        elif override.package is not None and line not in self._named_corpora:
            problem = f"{line}: write {name}={override.value()}"
        elif not self._is_choice(override) and _is_folder_of_groups(name):
            problem = self._of_the_other_script(name)
        elif override.is_sweep_override() and not self.is_sweep:
            problem = f"{line}: several values are a sweep; add -m"
        self.mistakes += [problem] if problem else []
        return not problem

    def _of_the_other_script(self, group: str) -> str:
        groups = sorted(groups_of(self.source))
        other: Script = "evaluate" if self.source.script == "train" else "train"
        takes = f"{self.source.script}.py takes {', '.join(groups)}"
        if group in groups_of(ConfigSource(other)):
            return f"{group}= belongs to {other}.py; {takes}"
        return f"{group}= cannot be chosen; {takes}"

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
        groups = [one.input_line or "" for one in overrides if self.is_group(one)]
        known = list(overrides)
        try:
            keys = list(_flatten(composed(self.source, groups)))
            for one in [one for one in overrides if self._is_unknown(one, keys)]:
                self.mistakes.append(self._unknown(one.key_or_group, keys, overrides))
                known.remove(one)
            content = plain_config(composed(self.source, [o.input_line or "" for o in known]))
            self._typed(content, known)
        except ConfigError as error:
            # A group with a wrong choice was left out above; it is not missing.
            without = tuple(f"{group} is missing" for group in self._wrong_groups)
            self.mistakes += [one for one in error.mistakes if not one.startswith(without)]
        except (HydraException, OmegaConfBaseException) as error:
            self.mistakes.append(str(error).splitlines()[0])
        else:
            return content
        return None

    def _unknown(self, key: str, keys: Sequence[str], overrides: Sequence[Override]) -> str:
        """Return the message for a name that is not a setting."""
        shorts = {long: short for short, long in self._root.SHORT.items()}
        if key not in shorts:
            return f"{key} is not a setting; {_nearest_key(key, keys)}"
        group = key.split(".")[0]
        chosen = [one.value() for one in overrides if one.key_or_group == group]
        of = f" of {group}={chosen[-1]}" if chosen else ""
        part = key.rpartition(".")[0]
        if part in keys and not any(one.startswith(f"{part}.") for one in keys):
            lacking = part.rpartition(".")[2]
            return f"{shorts[key]} is not a setting{of}, which has no {lacking}; leave it out"
        tasks = self._tasks_with(key)
        hint = f"it belongs to task={' or '.join(tasks)}" if tasks else _nearest_key(key, keys)
        return f"{shorts[key]} is not a setting{of}; {hint}"

    def _tasks_with(self, key: str) -> list[str]:
        """Return the tasks that have a setting, such as ``task.input``."""
        group, _, name = key.partition(".")
        if group != "task" or self.source.script != "evaluate":
            return []
        from gardenpath.settings.tasks import TASKS

        first = name.partition(".")[0]
        return [task for task, kind in TASKS.items() if first in kind.__dataclass_fields__]

    def _is_unknown(self, override: Override, keys: Sequence[str]) -> bool:
        key = override.key_or_group
        is_free = self.is_group(override) or is_of_hydra(override)
        return not is_free and not override.is_add() and key not in keys

    def _check_values(self, content: dict[str, Any]) -> None:
        """Check the remaining values of a sweep, each on its own."""
        for override in self.overrides:
            if self.is_group(override) or not override.is_sweep_override():
                continue
            for value in values_among(override, ())[1:]:
                try:
                    changed = _with_value(content, override.key_or_group, value)
                    typed(self.source.script, changed)
                except ConfigError as error:
                    self.mistakes += error.mistakes


def _is_folder_of_groups(name: str) -> bool:
    try:
        return (CONFIG_DIR / name).is_dir()
    except (OSError, ValueError):  # too long for a name of a file, or with a null character
        return False


def _with_value(content: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Return the content with one value replaced."""
    result = copy.deepcopy(content)
    *groups, last = key.split(".")
    part = functools.reduce(lambda outer, name: outer.get(name, {}), groups, result)
    part[last] = value
    return result


def _nearest_key(key: str, keys: Sequence[str]) -> str:
    """Suggest the intended setting, or those in the same part of the configuration."""
    part = key.rpartition(".")[0]
    siblings = [name for name in keys if name.rpartition(".")[0] == part]
    if not part:
        # A name of one's own is meant rather than a part of the name of another setting.
        near = nearest(key, siblings, otherwise=())
        if near.startswith("did you mean"):
            return near
        if ends := [one for one in keys if key in one.rpartition(".")[2].split("_")]:
            return f"did you mean {ends[0]!r}?"
    return nearest(key, keys, otherwise=siblings or [name for name in keys if "." not in name])


def _flatten(config: DictConfig, prefix: str = "") -> Iterator[str]:
    for key in config:
        name = prefix + str(key)
        if name.startswith("_"):
            continue
        yield name
        child = config._get_node(key)
        if isinstance(child, DictConfig) and not child._is_none() and not child._is_missing():
            yield from _flatten(child, f"{name}.")


# ----------------------------------------------------------------------------
# Names of the jobs of a sweep: folders that say in which settings a job differs from the others.
#
# A sweep over learning rates writes ``…/lstm/learning_rate=0.01/seed1`` and
# ``…/lstm/learning_rate=0.001/seed1``. The name of a job depends on the settings that are swept
# and on its own values, so that it remains the same if the sweep is repeated with more values.


# Longest name of a folder for one setting; file systems allow 255 bytes.
_LONGEST = 80
_HASH_LENGTH = 8
# Everything else could mean something to a shell, to Hydra or to a file system.
_UNSAFE = re.compile(r"[^\w.+=-]")


def folders_for(values: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return the folders for the values of a job, each with a slash: ``size=tiny/dropout=0.1/``.

    ``values`` are those of the swept settings, and ``names`` are from :func:`short_names`.
    The order of the settings on the command line does not matter.
    """
    named = sorted((names[key], value) for key, value in values.items())
    return "".join(f"{_folder(name, value)}/" for name, value in named)


def short_names(keys: Iterable[str]) -> dict[str, str]:
    """Shorten the names of settings to their last parts, as far as they remain different.

    ``model.optimiser.learning_rate`` → ``learning_rate``.
    """
    every = list(dict.fromkeys(keys))
    found = {}
    for key in every:
        parts = key.replace("/", ".").split(".")
        ends = [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        others = [other for other in every if other != key]
        found[key] = next(
            (end for end in ends if not any(f".{other}".endswith(f".{end}") for other in others)),
            key,
        )
    return found


def flat_settings(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a configuration by their full names, such as ``model.name``."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        found |= flat_settings(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return found


def _folder(name: str, value: Any) -> str:
    """Return ``name=value`` in safe characters; a hash keeps apart what they cannot express."""
    text = f"{name}={written_value(value)}"
    place = len(name) + 1
    # Paths are frequent values, and remain readable: corpora/a → corpora+a.
    safe = text[:place] + _UNSAFE.sub("_", text[place:].strip("/").replace("/", "+"))
    is_exact = safe.replace("+", "/") == text
    if is_exact and len(safe.encode()) <= _LONGEST:
        return safe
    kept = safe.encode()[: _LONGEST - _HASH_LENGTH - 1].decode(errors="ignore")
    return f"{kept}-{digest(text)[:_HASH_LENGTH]}"


def written_value(value: Any) -> str:
    """Write a value in one way only: 1e-2 and 0.01 are the same, and so are 1 and 1.0."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        return re.sub(r"e([+-])0+(?=\d)", r"e\1", text)
    if isinstance(value, list | tuple):
        return "/".join(map(written_value, value))
    if isinstance(value, Mapping):
        return "/".join(f"{key}.{written_value(one)}" for key, one in value.items())
    return str(getattr(value, "text", value))  # text is the content of a quoted string


# ----------------------------------------------------------------------------
# Explanations of settings: the docstrings below the fields of their dataclasses.


@functools.cache
def explanations(record: type) -> dict[str, str]:
    """Return the explanation of each field of a dataclass, its own or that of a base class."""
    found: dict[str, str] = {}
    for base in reversed(record.__mro__):
        if base is not object:
            found |= _own(base)
    return found


def _own(record: type) -> dict[str, str]:
    try:
        source = textwrap.dedent(inspect.getsource(record))
    except (OSError, TypeError):
        return {}
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for node, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = _text(after)
            if text:
                found[node.target.id] = text
    return found


def _text(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        value = node.value.value
        # In a terminal, the marks around literals would only distract.
        return " ".join(value.replace("``", "").split()) if isinstance(value, str) else ""
    return ""
