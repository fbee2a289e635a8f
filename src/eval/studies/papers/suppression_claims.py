"""The claims of Wilcox et al. 2019, each judged by the data of a source.

A claim about several models is judged by those that the source has, and its reason names the
others. Claims about "all models" of the paper are about all neural models of a source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from gardenpath.eval.statistics.inference.intervals import NORMAL
from gardenpath.eval.statistics.questions.wording import ALPHA, prose_name, rounded
from gardenpath.eval.studies.evidence import WITH_GAP, WITHOUT_GAP, Evidence
from gardenpath.eval.studies.papers.suppression_changes import (
    changes_of,
    changes_said,
    contrast_changes,
    why_untested,
)
from gardenpath.eval.studies.papers.suppression_measures import suppression_models
from gardenpath.eval.studies.papers.suppression_ordering import ORDERING_CLAIMS
from gardenpath.eval.studies.study_spec import ClaimSpec, Judgement, depends, judged, untested
from gardenpath.eval.suites.scoring.effects import WH_GAP, WH_NO_GAP

# Own LSTMs count among those of the paper.
_LSTMS = ("google", "gulordava", "lstm")
_STRICT = 0.001


def _shift(
    one: Evidence, *, gap: str, pairs: Sequence[tuple[str, str]], direction: int,
    models: Sequence[str] = (), excepted: Sequence[tuple[str, str]] = (),
    level: float = _STRICT, analysis: str = "wh_contrasts",
) -> Judgement:  # fmt: skip
    """Judge whether wh-effects change in a direction in these pairs, significantly at a level.

    ``models``: the models of the claim; empty for all neural models. ``excepted``: models and
    second conditions in which no such change is claimed.
    """
    found = changes_of(contrast_changes(one, gap, pairs, analysis=analysis), models)
    found = [x for x in found if (x.model, x.contrast.split(" → ")[1]) not in _prose(excepted)]
    if not found:
        return untested(why_untested(one, analysis, models))
    said = changes_said(found, models)
    changes = [x.bits * direction > 0 and x.p < ALPHA for x in found]
    if all(changes) and not all(x.p < level for x in found):
        return depends(f"the level of significance, as not all p are below .001: {said}")
    return judged(all(changes), said)


def _prose(excepted: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(model, prose_name(condition)) for model, condition in excepted}


def _no_shift(
    one: Evidence, *, gap: str, pairs: Sequence[tuple[str, str]], models: Sequence[str],
    upwards: bool = False, analysis: str = "wh_contrasts",
) -> Judgement:  # fmt: skip
    """Judge whether wh-effects do not change significantly, or (``upwards``) do not increase."""
    found = changes_of(contrast_changes(one, gap, pairs, analysis=analysis), models)
    if not found:
        return untested(why_untested(one, analysis, models))
    is_steady = all(x.p >= ALPHA or (upwards and x.bits < 0) for x in found)
    return judged(is_steady, changes_said(found, models))


def _transformer_discharge(one: Evidence) -> Judgement:
    """Judge whether only complex NPs differ from subjects, with and without a gap."""
    said, is_so = [], True
    for gap in (WITH_GAP, WITHOUT_GAP):
        for second, differs in (("adjunct_discharge", False), ("cnp_discharge", True)):
            changes = contrast_changes(
                one, gap, [("subject", second)], analysis="discharge_contrasts"
            )
            found = changes_of(changes, ("transformer",))
            if not found:
                return untested(why_untested(one, "discharge_contrasts", ("transformer",)))
            is_so &= all((x.bits > 0 and x.p < ALPHA) == differs for x in found)
            said += [f"{x.said} ({gap})" for x in found]
    return judged(is_so, "; ".join(said))


def _ngram_has_no_wh_effects(one: Evidence) -> Judgement:
    table = one.data.effects
    table = table[(table["class"] == "islands") & table["effect"].isin([WH_GAP, WH_NO_GAP])]
    said, is_so = [], True
    for found in suppression_models(one, table):
        if found.model != "ngram":
            continue
        by = ["effect", "modifier"]
        items = found.rows.groupby([*by, "item"], sort=False)["value_bits"].mean()
        for (effect, condition), values in items.groupby(by, sort=False):
            mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
            is_so &= abs(mean) <= NORMAL * error
            gap = "+gap" if effect == WH_GAP else "−gap"
            said.append(f"{prose_name(condition)} ({gap}) {rounded(mean)}")
    if not said:
        return untested("needs an n-gram model on islands")
    return judged(is_so, f"mean wh-effects in bits: {'; '.join(said)}")


def _google_in_and_behind(one: Evidence) -> Judgement:
    table = one.data.effects
    chosen = table[(table["class"] == "islands") & (table["effect"] == WH_GAP)]
    found = [rows for rows in suppression_models(one, chosen) if rows.model == "google"]
    if not found:
        return untested("needs Google on islands")
    means = found[0].rows.groupby("modifier")["value_bits"].mean()
    inside = [float(means.get(name, math.nan)) for name in ("adjunct", "complex_np")]
    behind = [float(means.get(name, math.nan)) for name in ("over_adjunct", "over_complex_np")]
    said = (
        f"inside {', '.join(map(rounded, inside))} bits; behind {', '.join(map(rounded, behind))}"
    )
    return judged(max(inside) < 1.5 and min(behind) >= 2.0 and max(behind) <= 5.0, said)


_IN_ISLANDS = [("object", "adjunct"), ("object", "complex_np")]
_BEHIND_ISLANDS = [("object", "over_adjunct"), ("object", "over_complex_np")]
_ADJUNCT = ("adjunct", "over_adjunct")
_COMPLEX_NP = ("complex_np", "over_complex_np")
_OTHERS = ("transformer", "gulordava")
_DISCHARGE = [("subject", "adjunct_discharge"), ("subject", "cnp_discharge")]

SUPPRESSION_CLAIMS = (
    *ORDERING_CLAIMS,
    ClaimSpec(
        "section 4.2",
        "Wh-effects of the n-gram model do not differ significantly from 0 in any condition.",
        _ngram_has_no_wh_effects,
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects are significantly smaller in islands than at objects for all models "
        "(p < .001).",
        partial(_shift, gap=WITH_GAP, pairs=_IN_ISLANDS, direction=-1),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects behind islands are still significantly smaller than at objects "
        "(p < .001).",
        partial(_shift, gap=WITH_GAP, pairs=_BEHIND_ISLANDS, direction=-1),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects recover behind complex NPs for all models (p < .001).",
        partial(_shift, gap=WITH_GAP, pairs=[_COMPLEX_NP], direction=1),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects of Google recover behind adjuncts (p < .001).",
        partial(_shift, gap=WITH_GAP, pairs=[_ADJUNCT], direction=1, models=("google",)),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects of Gulordava and Transformer do not recover behind adjuncts.",
        partial(_no_shift, gap=WITH_GAP, pairs=[_ADJUNCT], models=_OTHERS, upwards=True),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: in Google, a missing filler costs about one bit inside islands and two to five bits "
        "behind them.",
        _google_in_and_behind,
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "−gap: wh-effects are significantly smaller in islands than at objects, except for "
        "Transformer in complex NPs.",
        partial(
            _shift, gap=WITHOUT_GAP, pairs=_IN_ISLANDS, direction=-1, level=ALPHA,
            excepted=[("transformer", "complex_np")],
        ),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "−gap: wh-effects of Google recover behind complex NPs (p < .001).",
        partial(_shift, gap=WITHOUT_GAP, pairs=[_COMPLEX_NP], direction=1, models=("google",)),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "−gap: wh-effects of Gulordava and Transformer do not recover behind complex NPs.",
        partial(_no_shift, gap=WITHOUT_GAP, pairs=[_COMPLEX_NP], models=_OTHERS, upwards=True),
    ),
    ClaimSpec(
        "section 4.3, Figure 5",
        "−gap: wh-effects of LSTMs after gaps in subjects and in islands do not differ "
        "significantly.",
        partial(
            _no_shift, gap=WITHOUT_GAP, pairs=_DISCHARGE, models=_LSTMS,
            analysis="discharge_contrasts",
        ),
    ),
    ClaimSpec(
        "section 4.3, Figure 5",
        "+gap: wh-effects of LSTMs are larger after gaps in islands than after gaps in subjects "
        "(p < .001).",
        partial(
            _shift, gap=WITH_GAP, pairs=_DISCHARGE, direction=1, models=_LSTMS,
            analysis="discharge_contrasts",
        ),
    ),
    ClaimSpec(
        "section 4.3, Figure 5",
        "In Transformer, adjuncts pattern with subjects, and wh-effects are larger after gaps in "
        "complex NPs, with and without a second gap.",
        _transformer_discharge,
    ),
)  # fmt: skip
