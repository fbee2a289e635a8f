"""What an import is told: where surprisals are, in which unit, and how strictly they are paired."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gardenpath.data.surprisal_forms import Unit
from gardenpath.settings.bounds import NonNegativeInt, Share

# Where the conditions of the published reflexive stimuli come from.
ConditionSource = Literal["sentences", "labels"]


@dataclass(frozen=True, slots=True)
class SurprisalSet:
    """One folder or file of surprisals.

    ``corpus`` is the training corpus of its models; if empty, the layout of the folder decides.
    """

    path: Path
    corpus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRules:
    """How strictly the sentences of a file of surprisals must equal those of the materials."""

    reworded: Share = 0.0
    """Largest share of sentences of a file in which one word outside the critical regions may
    differ from the materials."""
    misplaced: NonNegativeInt = 0
    """Largest number of sentences of a file that may equal another sentence of the same condition
    instead of their own."""
    prefixes: bool = True
    """Whether equal beginnings of sentences must have equal surprisals, as left-to-right models
    give; false for models with random search or with other sentences in their context."""
    words: bool = True
    """Whether files must contain the words; false accepts files of surprisals alone, which cannot
    be compared with the materials."""
    unit: Unit | None = None
    """Unit of the numbers, where neither the layout nor the header of a file says it."""
