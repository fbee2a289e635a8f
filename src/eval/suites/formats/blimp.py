"""Minimal pairs in JSON Lines, as in BLiMP and its successors.

Every line has the keys ``sentence_good`` and ``sentence_bad``. The paradigm is ``UID`` in BLiMP and
ZhoBLiMP and ``paradigm`` (or ``Paradigm``) in SLING; the class of phenomenon is
``linguistics_term`` in BLiMP and ``phenomenon`` (or ``Phenomenon``) in the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.formats.minimal_pairs import Pair, pair_suite
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.settings.check import nearest
from gardenpath.store.files import read_text

_GOOD_FIELDS = ("sentence_good", "good_sentence")
_BAD_FIELDS = ("sentence_bad", "bad_sentence")
_LABELS = {
    "paradigm": ("UID", "paradigm", "Paradigm"),
    "phenomenon": ("linguistics_term", "phenomenon", "Phenomenon"),
    "field": ("field",),
}


def load_blimp(path: str | Path, *, name: str = "", language: str | None = None) -> Suite:
    """Read a file of pairs; a suite with a single paradigm is named after it, else after the file.

    Paradigm, phenomenon and field become labels of the items, so results can be grouped by them.
    """
    pairs = blimp_pairs(read_text(path), path)
    paradigms = {pair.labels.get("paradigm", "") for pair in pairs}
    phenomena = {pair.labels.get("phenomenon", "") for pair in pairs}
    called = name or (paradigms.pop() if len(paradigms) == 1 else "") or Path(path).stem
    kind = phenomena.pop() if len(phenomena) == 1 else ""
    return pair_suite(pairs, path=path, name=called, language=language, kind=kind)


def blimp_pairs(text: str, path: str | Path) -> list[Pair]:
    """Return the pairs of a file, one per line; errors name ``path``."""
    lines = enumerate(text.split("\n"), start=1)
    return [_blimp_pair(line, number, path) for number, line in lines if line.strip()]


def _blimp_pair(line: str, number: int, path: str | Path) -> Pair:
    try:
        entry = parse_json(line)
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=number) from error
    if not isinstance(entry, dict):
        raise InputError("every line must be a JSON object", path=path, line=number)
    good, bad = _sentence(entry, _GOOD_FIELDS, number, path), _sentence(entry, _BAD_FIELDS, number, path)
    labels = {
        label: " ".join(str(entry[key]).split())
        for label, spellings in _LABELS.items()
        if (key := next((each for each in spellings if each in entry), None)) is not None
    }
    return Pair(good, bad, number, labels)


def _sentence(
    entry: Mapping[str, Any], spellings: tuple[str, ...], number: int, path: str | Path
) -> str:
    for key in spellings:
        if isinstance(entry.get(key), str):
            return str(entry[key])
    hint = nearest(spellings[0], entry)
    raise InputError(f"missing key {spellings[0]!r}", path=path, line=number, remedy=hint)
