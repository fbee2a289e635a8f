"""Criteria of a table of items that are given on the command line, without a description in YAML.

::

    python evaluate.py suite=file 'suite.suites=[items.csv]' 'regions=[subject,verb,rest]' \\
        predictions="agreement: (verb;%mismatch%) > (verb;%match%)"
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.data.segmenting.chinese_text import has_han
from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.formats.sheets import read_items_table
from gardenpath.eval.suites.formats.table_suite import load_table_suite
from gardenpath.eval.suites.formats.yaml_nodes import YamlNodes

_NAMED = re.compile(r"\s*([^\W\d]\w*)\s*[:=]\s*([(\[].*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenCriteria:
    """Formulas, each with or without a name before it, and the regions of a table in order."""

    predictions: Sequence[str] = ()
    effects: Sequence[str] = ()
    regions: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.predictions or self.effects or self.regions)


def load_given_table(path: Path, criteria: GivenCriteria) -> Suite:
    """Return the suite of a table of items, with the criteria; it has the name of its file."""
    text = " ".join(cell for _, row in read_items_table(path).rows for cell in row.values())
    entries: dict[str, object] = {
        "name": path.stem,
        "language": "zh" if has_han(text) else "en",
        "table": path.name,
    }
    if criteria.regions:
        entries["regions"] = list(criteria.regions)
    for what, formulas in (("prediction", criteria.predictions), ("effect", criteria.effects)):
        if formulas:
            entries[f"{what}s"] = _by_name(what, formulas, path)
    return load_table_suite(YamlNodes(str(path), json.dumps(entries)))


def _by_name(what: str, formulas: Sequence[str], path: Path) -> dict[str, str]:
    """Return the formulas by their names; those without one are numbered if there are several."""
    found: dict[str, str] = {}
    for number, text in enumerate(formulas, start=1):
        parts = _NAMED.fullmatch(text)
        usual = what if len(formulas) == 1 else f"{what}_{number}"
        name, formula = parts.groups() if parts else (usual, text)
        if name in found:
            remedy = 'give each a name of its own, as in "first: (…) > (…)"'
            raise InputError(f"two {what}s are called {name!r}", path=path, remedy=remedy)
        found[name] = formula
    return found
