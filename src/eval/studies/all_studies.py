"""All studies by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gardenpath.errors import ConfigError
from gardenpath.eval.studies.papers.filler_gap_study import FILLER_GAP
from gardenpath.eval.studies.papers.mandarin_study import MANDARIN
from gardenpath.eval.studies.papers.reflexives_study import reflexives_study
from gardenpath.eval.studies.papers.suppression_study import SUPPRESSION
from gardenpath.eval.studies.study_parts import ItemChoice
from gardenpath.eval.studies.study_spec import StudySpec
from gardenpath.settings.check import nearest

# Each study, given the choice of released items.
STUDIES: Mapping[str, Callable[[ItemChoice], StudySpec]] = {
    "mandarin": lambda _: MANDARIN,
    "reflexives": reflexives_study,
    "suppression": lambda _: SUPPRESSION,
    "filler_gap": lambda _: FILLER_GAP,
}


def study_spec(name: str, *, items: ItemChoice = "paper") -> StudySpec:
    """Return a study; ``items`` matters where the paper used a part of the released items."""
    if name not in STUDIES:
        raise ConfigError([f"unknown study {name!r}; {nearest(name, tuple(STUDIES))}"])
    return STUDIES[name](items)
