"""Changes of effects between conditions, in Wilcox et al. 2019, and how claims speak of them.

Changes of wh-effects are the interactions of filler and condition in mixed models (analyses
``wh_contrasts`` and ``discharge_contrasts``), with the sign of the wh-effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gardenpath.eval.display import family_of
from gardenpath.eval.statistics.questions.wording import p_value, prose_name, rounded
from gardenpath.eval.studies.evidence import WITH_GAP, Evidence, names_or_none
from gardenpath.eval.studies.papers.suppression_measures import SUPPRESSION_MODELS

NEURAL_MODELS = ("transformer", "google", "gulordava")

_BASELINES = ("ngram", "unigram")
_TERM = "filler:position"


@dataclass(frozen=True, slots=True)
class EffectChange:
    """The change of a wh-effect, or of an ordering effect, from one condition to another."""

    model: str
    label: str
    contrast: str
    bits: float
    p: float
    is_singular: bool

    @property
    def said(self) -> str:
        """The change in words."""
        text = f"{self.label}, {self.contrast}: {rounded(self.bits)} bits, {p_value(self.p)}"
        return f"{text} (singular fit)" if self.is_singular else text


def contrast_changes(
    one: Evidence, gap: str, pairs: Sequence[tuple[str, str]], *, analysis: str = "wh_contrasts"
) -> list[EffectChange]:
    """Return the changes of wh-effects in these pairs of conditions, for all models."""
    # With a gap a filler lowers surprisal, so a stronger wh-effect is a more negative interaction.
    sign = -1.0 if gap == WITH_GAP else 1.0
    found = []
    for first, second in pairs:
        rows = one.estimates(analysis, gap=gap, contrast=f"{first} → {second}")
        found += [effect_change(row, sign) for row in rows if str(row["term"]).endswith(_TERM)]
    return found


def effect_change(row: Mapping[str, Any], sign: float = 1.0) -> EffectChange:
    """Return the change that a row of estimates of a contrast states."""
    model = SUPPRESSION_MODELS.key(str(row["model"]))
    corpus = f" ({prose_name(row['corpus'])})" if row.get("corpus") else ""
    first, _, second = str(row["contrast"]).partition(" → ")
    return EffectChange(
        model=model,
        label=SUPPRESSION_MODELS.label(model) + corpus,
        contrast=f"{prose_name(first)} → {prose_name(second)}",
        bits=sign * float(row["estimate"]),
        p=float(row["p"]),
        is_singular=bool(row.get("singular")),
    )


def is_neural(model: str) -> bool:
    """Whether a model is none of the n-gram baselines."""
    # The names of baselines with different settings go on: "ngram (order=3)".
    return family_of(model) not in _BASELINES


def changes_of(found: Sequence[EffectChange], models: Sequence[str]) -> list[EffectChange]:
    """Return the changes of these models, or of all neural models if none are named."""
    return [x for x in found if (x.model in models if models else is_neural(x.model))]


def changes_said(found: Sequence[EffectChange], models: Sequence[str]) -> str:
    """Return the changes in words, and which of these models of the paper are lacking."""
    return "; ".join(x.said for x in found) + lacking_models([x.model for x in found], models)


def lacking_models(known: Sequence[str], models: Sequence[str]) -> str:
    """Return which models of the paper are not among the known ones, in parentheses."""
    # Models that the paper has; own models of a family are not missed.
    wanted = [name for name in models or NEURAL_MODELS if name in SUPPRESSION_MODELS.labels]
    lacking = [SUPPRESSION_MODELS.label(name) for name in wanted if name not in known]
    return f" (not in this source: {names_or_none(lacking)})" if lacking else ""


def why_untested(one: Evidence, analysis: str, models: Sequence[str]) -> str:
    """Return why there are no estimates for these models."""
    if not one.estimates(analysis):
        return one.why_not(analysis)
    names = [SUPPRESSION_MODELS.label(name) for name in models] or ["neural models"]
    return f"needs {' or '.join(names)}"
