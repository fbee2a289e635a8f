"""Files of JSON lines with a checksum, so that a damaged one is noticed and made again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gardenpath.safe_text import parse_json
from gardenpath.store.files import write_text
from gardenpath.store.keys import digest


def write_checked(path: Path, records: Iterable[Any]) -> None:
    """Write records, one per line, and a last line with their checksum; whole or not at all."""
    # ASCII, so that no character of a word is taken for the end of a line.
    body = "".join(f"{json.dumps(one, separators=(',', ':'))}\n" for one in records)
    write_text(path, f"{body}{digest(body)}\n")


def read_checked(path: Path) -> list[Any] | None:
    """Return the records of a file; None if it does not exist or is damaged."""
    try:
        body, _, last = path.read_text(encoding="ascii").removesuffix("\n").rpartition("\n")
        body = f"{body}\n" if body else ""
        if digest(body) != last:
            return None
        return [parse_json(line) for line in body.splitlines()]
    except (OSError, ValueError):
        return None
