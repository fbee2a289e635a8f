"""The sets of suites that ``suite=`` takes."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from gardenpath.places import CONFIG_DIR


def suites_of_set(name: str) -> Sequence[str]:
    """The names of the suites in a set; a name that is no set stands for itself."""
    path = CONFIG_DIR / "suite" / f"{name}.yaml"
    if "/" in name or not path.is_file():
        return [name]
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    # The set ``file`` is empty: it stands for files that a user names.
    return list(content["suites"]) or [name]
