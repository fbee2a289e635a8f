"""The published studies by name: how their surprisals are imported and their suites read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gardenpath.errors import ConfigError
from gardenpath.eval.published.import_settings import ConditionSource, PairingRules, SurprisalSet
from gardenpath.eval.published.imported import Imported
from gardenpath.eval.published.released.mandarin import load_mandarin
from gardenpath.eval.published.released.published_imports import (
    import_mandarin,
    import_reflexives,
    import_suppression,
)
from gardenpath.eval.published.released.reflexives import load_reflexives
from gardenpath.eval.published.released.suppression import load_suppression
from gardenpath.eval.suites.design.suite import Suite

# Sets of suites, and the study whose files have them.
_LAYOUTS = {
    "mandarin": "mandarin",
    "reflexives": "reflexives",
    **dict.fromkeys(("suppression", "center_embedding", "islands", "wh_discharge"), "suppression"),
}


def import_layout(
    name: str,
    materials: Sequence[Path],
    sets: Sequence[SurprisalSet],
    rules: PairingRules,
    *,
    conditions: ConditionSource = "sentences",
) -> Imported:
    """Import the surprisals of a study in its published layout."""
    layout = _layout(name)
    if conditions != "sentences" and layout != "reflexives":
        raise ConfigError([f"conditions={conditions} is for the reflexives, not for {name}"])
    match layout:
        case "mandarin":
            return import_mandarin(materials, sets, rules)
        case "reflexives":
            return import_reflexives(materials, sets, rules, conditions=conditions)
        case _:
            return import_suppression(materials, sets, rules)


def published_suites(
    name: str, materials: Sequence[Path], conditions: ConditionSource = "sentences"
) -> list[Suite]:
    """Return the suites of a study in its published layout, to score runs of our own."""
    match _layout(name):
        case "mandarin":
            return [one.suite for one in load_mandarin(materials).values()]
        case "reflexives":
            stimuli = load_reflexives(materials, conditions).values()
            return [one.materials.suite for one in stimuli]
        case _:
            return [suite for one in load_suppression(materials).values() for suite in one.suites]


def _layout(name: str) -> str:
    if name not in _LAYOUTS:
        known = ", ".join(_LAYOUTS)
        raise ConfigError([f"{name}: materials= is for the published layouts of {known}"])
    return _LAYOUTS[name]
