"""Settings of models of which only a table of surprisals is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gardenpath.data.surprisal_forms import SurprisalForm, Unit
from gardenpath.data.words.boundaries import Boundary
from gardenpath.models.family import AdoptedSettings


@dataclass(frozen=True, kw_only=True)
class TableSettings:
    """How the file of surprisals is read."""

    form: SurprisalForm = "auto"
    """Form of the file; auto recognises it by its content."""
    unit: Unit | None = None
    """Unit of the numbers, where the file does not say it."""
    boundary: Boundary | None = None
    """How words were made of pieces; null if the units of the model are words. Tables of Gardenpath
    say it, and numbers of pieces are added up (none) unless they were corrected."""
    sentences: str | None = None
    """File with the sentences that were scored, one per line, words separated by blanks; needed
    where tokens do not show where words begin."""
    run: str | None = None
    """Run to take from a table of several."""
    prefixes: bool = True
    """Whether equal beginnings of sentences must have equal surprisals, as left-to-right models
    give."""


@dataclass(frozen=True, kw_only=True)
class TableModel(AdoptedSettings):
    """A model of which only a table of surprisals is here."""

    family: Literal["table"] = "table"
    """Model family."""
    network: TableSettings = TableSettings()
    """How the file of surprisals is read."""
