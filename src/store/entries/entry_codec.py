"""Numbers of a search in the surprisal store, packed.

Columns are a JSON list of names and, one column after another, little-endian float64 values of the
words and the end. Deviations are little-endian float32 values, word by word: a standard error needs
no more digits, and there are as many deviations of a word as replicates.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence

from gardenpath.safe_text import parse_json

_DEVIATION_BYTES = 4


def packed_columns(
    columns: Mapping[str, Sequence[float]], length: int
) -> tuple[str | None, bytes | None]:
    """Return names and values of columns of ``length`` values each; None if there are none."""
    if not columns:
        return None, None
    for name, values in columns.items():
        if len(values) != length:
            raise ValueError(f"column {name} has {len(values)} values, not {length}")
    flat = [value for values in columns.values() for value in values]
    return json.dumps(list(columns)), struct.pack(f"<{len(flat)}d", *flat)


def unpacked_columns(
    names: str | None, values: bytes | None, length: int
) -> dict[str, tuple[float, ...]]:
    """Return columns from their names and values; raises ValueError or struct.error."""
    if names is None and values is None:
        return {}
    if names is None or values is None:
        raise ValueError("columns without names, or names without columns")
    found = parse_json(names, any_string=True)
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError("names of columns are not a list of texts")
    flat = struct.unpack(f"<{len(found) * length}d", values)
    columns = {name: flat[n * length : (n + 1) * length] for n, name in enumerate(found)}
    if len(columns) != len(found) or not columns:
        raise ValueError("a column occurs twice, or there is none")
    return columns


def packed_deviations(deviations: Sequence[Sequence[float]] | None, length: int) -> bytes | None:
    """Return ``length`` rows of deviations, in single precision."""
    if deviations is None:
        return None
    if len(deviations) != length or len(set(map(len, deviations))) != 1:
        raise ValueError(f"deviations are not {length} rows of as many replicates each")
    flat = [value for row in deviations for value in row]
    return struct.pack(f"<{len(flat)}f", *flat)


def unpacked_deviations(blob: bytes | None, length: int) -> list[tuple[float, ...]] | None:
    """Return ``length`` rows of deviations; raises ValueError or struct.error."""
    if blob is None:
        return None
    replicates, rest = divmod(len(blob), _DEVIATION_BYTES * length)
    if rest:
        raise ValueError("deviations are not as many for each word")
    flat = struct.unpack(f"<{replicates * length}f", blob)
    return [flat[n * replicates : (n + 1) * replicates] for n in range(length)]
