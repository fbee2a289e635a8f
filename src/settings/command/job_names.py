"""Names of the jobs of a sweep: folders that say in which settings a job differs from the others.

A sweep over learning rates writes ``…/lstm/learning_rate=0.01/seed1`` and
``…/lstm/learning_rate=0.001/seed1``. The name of a job depends on the settings that are swept and
on its own values, so that it remains the same if the sweep is repeated with more values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gardenpath.store.keys import digest

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
