"""Find the configuration file in which a setting gets its value, for error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gardenpath.places import CONFIG_DIR
from gardenpath.safe_text import parse_yaml
from gardenpath.settings.compose import ConfigSource, composed_files


def file_of(setting: str, source: ConfigSource, overrides: Sequence[str]) -> Path | None:
    """Return the last file of a composition that contains a setting, or None.

    ``setting`` is the full name, such as ``model.network.size``; ``overrides`` select the files.
    """
    found = None
    for name, package in composed_files(source, overrides):
        path = _path(name, source)
        inside = _inside(setting, package)
        if path is not None and inside is not None and _contains(_read(path), inside):
            found = path
    return found


def _path(name: str, source: ConfigSource) -> Path | None:
    folders = [CONFIG_DIR, *([Path(source.folder)] if source.folder else [])]
    paths = [folder / f"{name}.yaml" for folder in reversed(folders)]
    return next((path for path in paths if path.is_file()), None)


def _inside(setting: str, package: str) -> list[str] | None:
    """Return the keys of a setting within a file of a package; None if it is not part of it."""
    keys, outer = setting.split("."), package.split(".") if package else []
    return keys[len(outer) :] if keys[: len(outer)] == outer else None


def _read(path: Path) -> Any:
    try:
        return parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _contains(content: Any, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(content, Mapping) or key not in content:
            return False
        content = content[key]
    return True
