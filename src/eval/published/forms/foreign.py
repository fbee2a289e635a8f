"""Sentences as other programs scored them, before they are paired with materials."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gardenpath.data.surprisal_forms import SurprisalForm, Unit
from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.eval.published.value_checks import StatedUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSentence:
    """A sentence of a file; its values are in the unit of the file, NaN where there is none.

    ``number`` counts the sentences of the file from 1. ``text`` is the sentence where the file says
    it beside the tokens. ``is_first_hidden``: the first token is not in the file; it is a mark for
    the beginning, or the beginning of the first word. ``item`` and ``condition`` are empty unless
    the file has them.
    """

    number: int
    scored: ScoredSentence
    text: str = ""
    is_first_hidden: bool = False
    item: str = ""
    condition: str = ""

    @property
    def place(self) -> str:
        """The sentence in messages."""
        return f"sentence {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignFile:
    """The sentences of a file.

    ``is_whole``: whether the file has one number per sentence; ``is_by_text``: whether sentences
    are found by their text and not by their order.
    """

    path: Path
    form: SurprisalForm
    unit: StatedUnit
    sentences: tuple[ForeignSentence, ...]
    is_whole: bool = False
    is_by_text: bool = True


def form_unit(form: SurprisalForm, usual: Unit, given: Unit | None) -> StatedUnit:
    """Return the unit of a form, or the one that the user states."""
    if given is None:
        return StatedUnit(unit=usual, source=f"the form {form}")
    return StatedUnit(unit=given, source="unit=")


def numbered(sentences: Iterable[ScoredSentence]) -> tuple[ForeignSentence, ...]:
    """Return the sentences of a table."""
    return tuple(
        ForeignSentence(number=number, scored=one) for number, one in enumerate(sentences, start=1)
    )


def without_blanks(parts: Iterable[str]) -> str:
    """Return the characters of a text, by which sentences are compared."""
    return "".join("".join(parts).split())
