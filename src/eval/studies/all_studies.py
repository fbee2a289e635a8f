"""All studies by name."""

from __future__ import annotations

from collections.abc import Mapping

from gardenpath.eval.studies.papers.filler_gap_study import FILLER_GAP
from gardenpath.eval.studies.papers.mandarin_study import MANDARIN
from gardenpath.eval.studies.papers.reflexives_study import REFLEXIVES_STUDY
from gardenpath.eval.studies.papers.suppression_study import SUPPRESSION
from gardenpath.eval.studies.study_spec import StudySpec

STUDIES: Mapping[str, StudySpec] = {
    study.name: study for study in (MANDARIN, REFLEXIVES_STUDY, SUPPRESSION, FILLER_GAP)
}
