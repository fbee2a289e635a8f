"""Write the arguments of a command line in Hydra's form: short names, lists, named corpora."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

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
