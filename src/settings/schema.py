"""Settings as frozen dataclasses: their ranges, the check that builds them, and their names.

Ranges are written as types: ``dropout: Fraction`` is a number in [0, 1). :func:`read` builds typed
settings from plain mappings and reports all mistakes at once, before any data is read;
:mod:`gardenpath.settings.compose` and the readers of suites call it. Every part of the core
declares its settings with these types; this module knows none of them, nor where values come from.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import functools
import inspect
import itertools
import re
import textwrap
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gardenpath.errors import ConfigError
from gardenpath.store.files import digest


@dataclass(frozen=True, slots=True)
class Bounds:
    """A closed lower bound and an optional upper bound, open or closed."""

    low: float
    high: float = float("inf")
    high_is_open: bool = False

    def allow(self, value: float) -> bool:
        """Whether a value is within the bounds."""
        below = value < self.high if self.high_is_open else value <= self.high
        return self.low <= value and below

    def __str__(self) -> str:
        if self.high == float("inf"):
            return f"at least {self.low:.15g}"
        return f"in [{self.low:.15g}, {self.high:.15g}{')' if self.high_is_open else ']'}"


PositiveInt = Annotated[int, Bounds(1)]
NonNegativeInt = Annotated[int, Bounds(0)]
Seed = Annotated[int, Bounds(0, 2**32 - 1)]  # the range that NumPy accepts
NonNegativeFloat = Annotated[float, Bounds(0.0)]
Fraction = Annotated[float, Bounds(0.0, 1.0, high_is_open=True)]
Share = Annotated[float, Bounds(0.0, 1.0)]
PositiveFloat = Annotated[float, Bounds(1e-6)]

# Processes of one thread each that share the sentences of a task; ``auto`` lets the work decide.
ProcessCount = PositiveInt | Literal["auto"]


# ----------------------------------------------------------------------------
# Build typed settings from plain mappings, reporting all mistakes at once with suggestions.
#
# Settings are frozen dataclasses. :func:`read` builds one from nested mappings and checks names,
# types, ranges and combinations; :func:`plain` is its inverse. A record may have methods that
# return mistakes: ``mistakes()`` for wrong combinations, ``unavailable()`` for what this machine
# lacks, and a class method ``absent(content)`` for what other settings require, which is reported
# whatever else is wrong.


Record = TypeVar("Record")

# OmegaConf's notation for a required value.
MISSING = "???"

# Suggestions compare names of at most this length with at most so many valid ones.
_LONGEST_COMPARED = 200
_MOST_COMPARED = 2000

# Placeholder for a setting with an invalid value; the mistake has been recorded.
_WRONG = object()


# Compared by identity, because its classes cannot be hashed, as the parts of a union must be.
@dataclasses.dataclass(frozen=True, eq=False)
class Tagged:
    """Marks a setting whose class is selected by one of its own entries, such as ``kind``.

    Each of the ``classes`` has a field of that name with a ``Literal`` type.
    """

    key: str
    classes: Mapping[str, type]


def nearest(name: str, valid: Iterable[str], otherwise: Iterable[str] | None = None) -> str:
    """Suggest the closest valid name or, if none is close, list all of them (or ``otherwise``)."""
    names = [str(candidate) for candidate in itertools.islice(valid, _MOST_COMPARED)]
    # Comparing takes time that is quadratic in the lengths of names, which a file may choose.
    short = [candidate_name for candidate_name in names if len(candidate_name) <= _LONGEST_COMPARED]
    is_short = len(name) <= _LONGEST_COMPARED
    close = difflib.get_close_matches(name, short, n=1, cutoff=0.6) if is_short else []
    listed = names if otherwise is None else otherwise
    return f"did you mean {close[0]!r}?" if close else f"valid: {', '.join(listed)}"


def read(
    record: type[Record],
    content: Mapping[str, Any],
    *,
    place: str = "",
    short: Mapping[str, str] | None = None,
    is_for_here: bool = True,
) -> Record:
    """Build a record from nested mappings; a :class:`ConfigError` lists all mistakes.

    ``place`` is the prefix of the names of the settings. ``short`` maps prefixes of names to the
    short names that users write instead. With ``is_for_here=False`` the settings may belong to a
    run from another machine: what this machine lacks is not a mistake.
    """
    reading = _Reading(short or {}, is_for_here=is_for_here)
    result = reading.record(record, content, place)
    if reading.mistakes:
        raise ConfigError(list(dict.fromkeys(reading.mistakes)))
    assert isinstance(result, record)
    return result


def plain(settings: Any) -> Any:
    """Convert settings to nested dictionaries, lists and values, as written to files."""
    if dataclasses.is_dataclass(settings):
        names = [field.name for field in dataclasses.fields(settings) if field.init]
        return {name: plain(getattr(settings, name)) for name in names}
    if isinstance(settings, Mapping):
        return {key: plain(value) for key, value in settings.items()}
    if isinstance(settings, Sequence) and not isinstance(settings, str):
        return [plain(value) for value in settings]
    return settings


def defaults(record: type) -> dict[str, Any]:
    """Return the defaults of a record as nested mappings; ``???`` marks required values."""
    values: dict[str, Any] = {}
    hints = get_type_hints(record, include_extras=True)
    for field in dataclasses.fields(record):
        if not field.init:
            continue
        if field.default is not dataclasses.MISSING:
            values[field.name] = plain(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            values[field.name] = plain(field.default_factory())
        elif dataclasses.is_dataclass(hints[field.name]):
            values[field.name] = defaults(hints[field.name])
        else:
            values[field.name] = MISSING
    return values


class _Reading:
    """Reads nested settings and collects the mistakes in them."""

    def __init__(self, short: Mapping[str, str], *, is_for_here: bool) -> None:
        self._short = short
        self._checks = ("mistakes", "unavailable") if is_for_here else ("mistakes",)
        self.mistakes: list[str] = []

    def record(self, record: type, content: Any, place: str) -> Any:
        """Return a dataclass built from a mapping."""
        if not isinstance(content, Mapping):
            return self._wrong(place, content, "must be a group of settings")
        before = len(self.mistakes)
        fields = {field.name: field for field in dataclasses.fields(record) if field.init}
        for name in content:
            if name not in fields:
                where = self._shown(_join(place, str(name)))
                self.mistakes.append(f"{where} is not a setting; {nearest(str(name), fields)}")
        hints = get_type_hints(record, include_extras=True)
        values = {}
        for name, field in fields.items():
            entry = content.get(name, MISSING)
            where = _join(place, name)
            if _is_missing(entry, field, hints[name]):
                self.mistakes.append(f"{self._shown(where)} is missing{_remedy(record, name)}")
            elif not _is_unset(entry):
                values[name] = self.value(entry, hints[name], where)
        if absent := getattr(record, "absent", None):
            self.mistakes += absent(content)
        if len(self.mistakes) > before:
            return _WRONG
        return self._combined(record(**values), place)

    def _combined(self, result: Any, place: str) -> Any:
        prefix = f"{self._shown(place)}: " if place else ""
        for name in self._checks:
            check = getattr(result, name, None)
            self.mistakes += [f"{prefix}{mistake}" for mistake in (check() if check else ())]
        return result

    def value(self, value: Any, annotation: Any, place: str) -> Any:
        """Return a value of the annotated type."""
        origin = get_origin(annotation)
        if origin is Annotated:
            metadata = get_args(annotation)[1:]
            if tagged := next((one for one in metadata if isinstance(one, Tagged)), None):
                return self._tagged(value, tagged, place)
        elif origin in (Union, types.UnionType):
            records = [arg for arg in get_args(annotation) if _holds_records(arg)]
            if value is not None and records:
                return self.value(value, records[0], place)
        elif dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
            return self.record(annotation, value, place)
        elif _maps_to_records(annotation) and isinstance(value, Mapping):
            inner = get_args(annotation)[1]
            return {
                str(key): self.value(one, inner, _join(place, key)) for key, one in value.items()
            }
        if problem := type_problem(value, annotation):
            return self._wrong(place, value, problem)
        return _converted(value, annotation)

    def _tagged(self, value: Any, tagged: Tagged, place: str) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(place, value, "must be a group of settings")
        tag = str(value.get(tagged.key, MISSING))
        if tag not in tagged.classes:
            problem = nearest(tag, tagged.classes)
            return self._wrong(_join(place, tagged.key), value.get(tagged.key), problem)
        return self.record(tagged.classes[tag], value, place)

    def _wrong(self, place: str, value: Any, problem: str) -> object:
        self.mistakes.append(f"{self._shown(place)}={_show(value)}: {problem}")
        return _WRONG

    def _shown(self, place: str) -> str:
        for begin, written in self._short.items():
            if place == begin or place.startswith(f"{begin}."):
                return written + place[len(begin) :]
        return place


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _is_unset(value: Any) -> bool:
    return isinstance(value, str) and value == MISSING


def _is_missing(value: Any, field: dataclasses.Field[Any], annotation: Any) -> bool:
    """Whether a required setting has no value; null is a value only if the type allows it."""
    is_required = (
        field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )
    if not is_required:
        return False
    is_null = value is None and types.NoneType not in get_args(annotation)
    return _is_unset(value) or is_null


def _remedy(record: type, name: str) -> str:
    """Return ``: what to write``, if the record has a remedy for a missing setting."""
    remedy = getattr(record, "REMEDIES", {}).get(name)
    return f": {remedy}" if remedy else ""


def _holds_records(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return any(isinstance(arg, Tagged) for arg in get_args(annotation)[1:])
    return dataclasses.is_dataclass(annotation)


def _maps_to_records(annotation: Any) -> bool:
    """Whether a setting holds records by name: ``Mapping[str, Record]``."""
    origin = get_origin(annotation)
    is_mapping = isinstance(origin, type) and issubclass(origin, Mapping)
    return is_mapping and _holds_records(get_args(annotation)[1])


def type_problem(value: Any, annotation: Any) -> str:
    """Return why a value does not fit an annotation; empty if it does."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _bounded_problem(value, *get_args(annotation))
    if origin in (Union, types.UnionType):
        problems = [type_problem(value, choice) for choice in get_args(annotation)]
        return "" if "" in problems else _most_telling(problems, get_args(annotation))
    if origin is Literal:
        choices = get_args(annotation)
        # On the command line, 32 is a number, even if the choice is the text "32".
        is_right = value in choices or str(value) in choices
        return "" if is_right else nearest(str(value), map(str, choices))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "" if isinstance(value, Mapping) else "must be a group of settings"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _sequence_problem(value, get_args(annotation)[0])
    return _plain_problem(value, annotation)


def _plain_problem(value: Any, annotation: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_text = isinstance(value, str | int) and not isinstance(value, bool)
    fits: dict[Any, tuple[bool, str]] = {
        bool: (isinstance(value, bool), "must be true or false"),
        int: (is_number and isinstance(value, int), "must be a whole number"),
        float: (is_number, "must be a number"),
        str: (is_text, "must be text"),
        types.NoneType: (value is None, "must be null"),
    }
    is_right, problem = fits.get(annotation, (True, ""))
    return "" if is_right else problem


def _bounded_problem(value: Any, inner: Any, *metadata: Any) -> str:
    if problem := type_problem(value, inner):
        return problem
    for bounds in metadata:
        if isinstance(bounds, Bounds) and not bounds.allow(value):
            return f"must be {bounds}"
    return ""


def _sequence_problem(value: Any, inner: Any) -> str:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return "must be a list"
    return next((p for p in (type_problem(item, inner) for item in value) if p), "")


def _most_telling(problems: list[str], choices: tuple[Any, ...]) -> str:
    telling = [p for p, c in zip(problems, choices, strict=True) if c is not types.NoneType]
    return " or ".join(dict.fromkeys(telling))


def _converted(value: Any, annotation: Any) -> Any:
    """Convert a value to its annotated form: 22 to text, a list to a tuple."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _converted(value, get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        fitting = [arg for arg in get_args(annotation) if not type_problem(value, arg)]
        return value if value is None else _converted(value, fitting[0])
    if origin is Literal:
        choices = get_args(annotation)
        return value if value in choices else str(value)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return tuple(_converted(item, get_args(annotation)[0]) for item in value)
    return annotation(value) if annotation in (str, float) else value


def _show(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{','.join(map(_show, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- Settings in names of folders, and their explanations
#
# The folders of a sweep say in which settings a job differs from the others: a sweep over learning
# rates writes ``…/lstm/learning_rate=0.01/seed1`` and ``…/lstm/learning_rate=0.001/seed1``. The
# name of a job depends on the settings that are swept and on its own values, so that it remains the
# same if the sweep is repeated with more values.

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
    shortened = {}
    for key in every:
        parts = key.replace("/", ".").split(".")
        ends = [".".join(parts[-count:]) for count in range(1, len(parts) + 1)]
        others = [other for other in every if other != key]
        shortened[key] = next(
            (end for end in ends if not any(f".{other}".endswith(f".{end}") for other in others)),
            key,
        )
    return shortened


def flat_settings(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a configuration by their full names, such as ``model.name``."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        flat |= flat_settings(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return flat


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
        return "/".join(f"{key}.{written_value(item)}" for key, item in value.items())
    return str(getattr(value, "text", value))  # text is the content of a quoted string


@functools.cache
def explanations(record: type) -> dict[str, str]:
    """Return the docstring below each field of a dataclass, its own or that of a base class."""
    texts: dict[str, str] = {}
    for base in reversed(record.__mro__[:-1]):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError):
            continue
        assert isinstance(body, ast.ClassDef)
        for node, after in itertools.pairwise(body.body):
            match node, after:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    # In a terminal, the marks around literals would only distract.
                    texts[name] = " ".join(text.replace("``", "").split())
    return texts
