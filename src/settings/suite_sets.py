"""The sets of suites that ``suite=`` and ``study=`` accept."""

from __future__ import annotations

from collections.abc import Sequence

from gardenpath.places import CONFIG_DIR
from gardenpath.safe_text import parse_yaml


def suites_of_set(name: str) -> Sequence[str]:
    """Return the names of the suites in a set; any other name is returned unchanged."""
    path = CONFIG_DIR / "suite" / f"{name}.yaml"
    if "/" in name or not path.is_file():
        return [name]
    content = parse_yaml(path.read_text(encoding="utf-8"))
    # The set ``file`` is empty: it stands for files that a user names.
    return list(content["suites"]) or [name]


def suites_of_study(name: str) -> Sequence[str]:
    """Return the sets of suites on which runs are scored for a study."""
    content = parse_yaml((CONFIG_DIR / "study" / f"{name}.yaml").read_text(encoding="utf-8"))
    return list(content["suites"])
