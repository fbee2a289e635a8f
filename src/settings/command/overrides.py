"""Overrides in Hydra's form: parse them within limits, and list or choose their values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, IntervalSweep, Override
from hydra.errors import HydraException

from gardenpath.errors import ConfigError

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
