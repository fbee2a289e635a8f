"""The receipt of an import: which files were read, how they were paired, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from gardenpath.store.files import sha256_of, write_json
from gardenpath.versions import versions

RECEIPT_FILE = "receipt.json"

# Why a sentence that differs from the materials was accepted.
DifferenceKind = Literal["reworded", "misplaced", "known wording", "other stated wording"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A sentence of a file that is not that of the materials; lines are those of both files."""

    kind: DifferenceKind
    line: int
    materials_line: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalReceipt:
    """How one file of surprisals was read.

    ``equal``, ``respelt`` (case or ``<unk>``) and ``joined`` (other division into tokens) count
    sentences; ``not_scored`` counts words. ``is_masked``: whether a masked model scored one word of
    each sentence. ``boundary``: how words were made of pieces, if the file says it.
    """

    path: str
    sha256: str
    run: str
    suite: str
    materials: str
    pairing: str
    unit: str
    unit_from: str
    sentences: int
    equal: int
    respelt: int
    joined: int
    not_scored: int
    is_masked: bool = False
    accepted: tuple[Difference, ...] = ()
    boundary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterialsReceipt:
    """How one file of materials was read; ``contradicting`` counts its rows by label."""

    path: str
    sha256: str
    suites: tuple[str, ...]
    sentences: int
    conditions: str
    contradicting: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Everything that an import read and decided, and what it could not check (``unchecked``)."""

    layout: str
    rules: Mapping[str, Any]
    materials: tuple[MaterialsReceipt, ...]
    surprisals: tuple[SurprisalReceipt, ...]
    left_out: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the receipt in JSON types, with the versions of the software."""
        return {"versions": versions("numpy", "pandas"), **asdict(self)}

    def write(self, folder: Path) -> None:
        """Write ``receipt.json`` to a folder."""
        write_json(folder / RECEIPT_FILE, self.as_json())


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file; empty for suites that are not in a file."""
    return sha256_of(path) if path.is_file() else ""
