"""Checking settings against the signature of what they are meant for.

All mistakes are collected, each with the nearest valid name, so that one message tells everything.
"""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from gardenpath.settings.bounds import Bounds


def nearest(name: str, valid: Iterable[str], otherwise: Iterable[str] | None = None) -> str:
    """A hint: the valid name that is meant, or where none is close all (or ``otherwise``)."""
    names = [str(candidate) for candidate in valid]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    listed = names if otherwise is None else otherwise
    return f"did you mean {close[0]!r}?" if close else f"valid: {', '.join(listed)}"


def check_arguments(
    function: Callable[..., Any],
    settings: Mapping[str, Any],
    *,
    prefix: str,
    provided: Iterable[str] = (),
) -> list[str]:
    """Mistakes in the keyword arguments for a function or class.

    ``provided`` names the arguments that the program itself adds. If the class has a static method
    ``mistakes``, it is asked about combinations once each argument is right by itself.
    """
    parameters = _parameters(function)
    hints = get_type_hints(
        function.__init__ if inspect.isclass(function) else function, include_extras=True
    )
    found = []
    for name, value in settings.items():
        if name not in parameters:
            found.append(f"{prefix}.{name} is not a setting; {nearest(name, parameters)}")
        elif problem := type_problem(value, hints.get(name, Any)):
            found.append(f"{prefix}.{name}={_show(value)}: {problem}")
    given = {*settings, *provided}
    for name, parameter in parameters.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            found.append(f"{prefix}.{name} is missing")
    return found or _combinations(function, settings, parameters, prefix)


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def _combinations(
    function: Callable[..., Any],
    settings: Mapping[str, Any],
    parameters: Mapping[str, inspect.Parameter],
    prefix: str,
) -> list[str]:
    check = getattr(function, "mistakes", None)
    if check is None:
        return []
    defaults = {
        name: parameter.default
        for name, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    arguments = {**defaults, **settings}
    found = check(**arguments) if _is_static(function) else function(**arguments).mistakes()
    return [f"{prefix}: {mistake}" for mistake in found]


def _is_static(function: Callable[..., Any]) -> bool:
    return isinstance(inspect.getattr_static(function, "mistakes"), staticmethod)


def type_problem(value: Any, annotation: Any) -> str:
    """Why a value does not fit an annotation; empty where it does."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _bounded_problem(value, *get_args(annotation))
    if origin in (Union, types.UnionType):
        problems = [type_problem(value, choice) for choice in get_args(annotation)]
        return "" if "" in problems else _most_telling(problems, get_args(annotation))
    if origin is Literal:
        choices = get_args(annotation)
        # On the command line 32 is a number, also where the choice is the text "32".
        return (
            ""
            if value in choices or str(value) in choices
            else nearest(str(value), map(str, choices))
        )
    if isinstance(origin, type) and issubclass(origin, Sequence) and origin is not tuple:
        return _sequence_problem(value, get_args(annotation)[0])
    return _plain_problem(value, annotation)


def _plain_problem(value: Any, annotation: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits: dict[Any, tuple[bool, str]] = {
        bool: (isinstance(value, bool), "must be true or false"),
        int: (is_number and isinstance(value, int), "must be a whole number"),
        float: (is_number, "must be a number"),
        str: (isinstance(value, str | int), "must be text"),
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


def _show(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
