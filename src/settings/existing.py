"""Settings of older versions that ``existing=`` has replaced: ``resume`` and ``overwrite``.

Command lines, configuration files and run folders may still contain them. They are translated here
and known nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# In order of strength: a run that was to be both resumed and overwritten was overwritten.
_OLD_NAMES = ("overwrite", "resume")


def with_existing(content: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the content of a configuration: ``resume: true`` to ``existing: resume``."""
    result = {name: value for name, value in content.items() if name not in _OLD_NAMES}
    old = [name for name in _OLD_NAMES if content.get(name)]
    if old and result.get("existing") is None:
        # Values other than true remain, and are reported as wrong choices.
        value = content[old[0]]
        result["existing"] = old[0] if value is True else value
    return result


def in_new_words(arguments: Sequence[str]) -> list[str]:
    """Translate the arguments of a command line: ``resume=true`` to ``existing=resume``."""
    given = {name: value for name, _, value in (one.partition("=") for one in arguments)}
    old = [name for name in _OLD_NAMES if name in given]
    kept = [one for one in arguments if one.partition("=")[0] not in _OLD_NAMES]
    for name in old:
        value = given[name].lower()
        if value == "false":
            continue
        return [*kept, f"existing={name if value == 'true' else given[name]}"]
    return kept
