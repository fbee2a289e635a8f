"""Criteria of suites of one's own: predictions, effects in bits, and factors.

::

    predictions:
      agreement: (verb;%mismatch%) > (verb;%match%)
    effects:
      mismatch_effect: (verb;%mismatch%) - (verb;%match%)
    factors:
      match: {number: same}
      mismatch: {number: different}

Without predictions, each effect is predicted to be above zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE, Formula, FormulaError
from gardenpath.eval.suites.design.suite import Prediction, named
from gardenpath.eval.suites.formats.yaml_nodes import YamlEntry, YamlNodes
from gardenpath.settings.check import nearest
from gardenpath.store.tables import SENTENCES

CRITERIA_KEYS = ("predictions", "effects", "factors")

_WRITE_A_COMPARISON = "write a comparison, as in (verb;%a%) > (verb;%b%), or move it to effects:"
_WRITE_A_QUANTITY = "write a difference, as in (verb;%a%) - (verb;%b%), or move it to predictions:"


@dataclass(frozen=True, slots=True)
class CriteriaReader:
    """Reads criteria; names of regions and conditions must be those of the suite."""

    nodes: YamlNodes
    regions: tuple[str, ...]
    conditions: tuple[str, ...]

    def predictions(self, entries: Mapping[str, YamlEntry]) -> tuple[Prediction, ...]:
        """Return the predictions; without any, that effects are above zero."""
        if "predictions" not in entries:
            effects = self.effects(entries)
            return tuple(
                Prediction(one.name, Formula.parse(f"[{one.formula}] > 0")) for one in effects
            )
        node = entries["predictions"].value
        found = [self._formula("prediction", name, one) for name, one in self._named(node)]
        for one, (_, entry) in zip(found, self._named(node), strict=True):
            if not one.formula.is_claim:
                problem = f"prediction {one.name}: compares nothing"
                raise self.nodes.error(problem, entry.value, _WRITE_A_COMPARISON)
        return tuple(found)

    def effects(self, entries: Mapping[str, YamlEntry]) -> tuple[Prediction, ...]:
        """Return the quantities in bits."""
        if "effects" not in entries:
            return ()
        node = entries["effects"].value
        found = [self._formula("effect", name, one) for name, one in self._named(node)]
        for one, (_, entry) in zip(found, self._named(node), strict=True):
            if one.formula.is_claim:
                problem = f"effect {one.name}: is a comparison, which is true or false"
                raise self.nodes.error(problem, entry.value, _WRITE_A_QUANTITY)
        return tuple(found)

    def factors(self, entry: YamlEntry | None) -> dict[str, dict[str, str]]:
        """Return the levels of all factors, by condition."""
        if entry is None:
            return {}
        found = {}
        for condition, own in self.nodes.mapping(entry.value, "factors").items():
            self._known(condition, self.conditions, "factors: condition", own.key)
            levels = self.nodes.mapping(own.value, f"factors of {condition}")
            found[condition] = {
                name: self.nodes.text(one.value, name).strip() for name, one in levels.items()
            }
            for name, one in levels.items():
                if name in SENTENCES.names:
                    problem = f"factor {name!r} has the name of a column of the results"
                    raise self.nodes.error(problem, one.key, "give it another name")
        named_factors = {frozenset(levels) for levels in found.values()}
        missing = [one for one in self.conditions if one not in found]
        if missing or len(named_factors) > 1:
            lacking = f"condition {missing[0]} has none" if missing else "conditions differ"
            raise self.nodes.error(
                f"factors: {lacking}", entry.value, "give every condition a level of every factor"
            )
        return found

    def _named(self, node: yaml.Node) -> list[tuple[str, YamlEntry]]:
        return list(self.nodes.mapping(node, "criteria").items())

    def _formula(self, what: str, name: str, entry: YamlEntry) -> Prediction:
        try:
            text = self.nodes.text(entry.value, f"{what} {name}")
            formula = named(Formula.parse(text), self.regions)
        except FormulaError as error:
            raise self.nodes.error(f"{what} {name}: {error}", entry.value) from error
        for term in formula.terms:
            places = (*self.regions, WHOLE_SENTENCE)
            self._known(term.region, places, f"{what} {name}: region", entry.value)
            self._known(term.condition, self.conditions, f"{what} {name}: condition", entry.value)
        return Prediction(name, formula)

    def _known(self, name: str, valid: tuple[str, ...], what: str, node: yaml.Node) -> None:
        if name not in valid:
            raise self.nodes.error(f"{what} {name!r} is unknown", node, nearest(name, valid))
