"""The claims of Wilcox et al. 2019, each judged by the data of a source.

Contrasts of wh-effects are the interactions of filler and condition in mixed models (analyses
``wh_contrasts`` and ``discharge_contrasts``), with the sign of the wh-effect. A claim about several
models is judged by those that the source has, and its reason names the others. Claims about "all
models" of the paper are about all neural models of a source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gardenpath.eval.statistics.questions.wording import ALPHA, p_value, prose_name, rounded
from gardenpath.eval.studies.evidence import Estimate, Evidence, listed
from gardenpath.eval.studies.model_rows import StudyModels, corpora_of, rows_by_model
from gardenpath.eval.studies.study_means import Z
from gardenpath.eval.studies.study_spec import ClaimSpec, Judgement, depends, holds, untested
from gardenpath.eval.suites.scoring.effects import ORDERING, WH_GAP, WH_NO_GAP

SUPPRESSION_MODELS = StudyModels(
    labels={
        "ngram": "n-gram",
        "transformer": "Transformer",
        "google": "Google",
        "gulordava": "Gulordava",
    },
    spellings={
        "5gram": "ngram",
        **dict.fromkeys(("trans", "transxl", "transformerxl"), "transformer"),
        "jrnn": "google",
        "grnn": "gulordava",
    },
)
DESIGNS = ("sentence", "embedding", "long")
VERBS = {"verb1": "VP1", "verb2": "VP2"}

_BASELINES = ("ngram", "unigram")
_NEURAL = ("transformer", "google", "gulordava")
_LSTMS = ("google", "gulordava", "lstm")
_STRICT = 0.001

# Values of the column ``gap`` in the analyses of contrasts.
_GAP, _NO_GAP = "with a gap", "without a gap"
_TERM = "filler:position"


@dataclass(frozen=True, slots=True)
class _Change:
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


def _changes(
    one: Evidence, gap: str, pairs: Sequence[tuple[str, str]], *, analysis: str = "wh_contrasts"
) -> list[_Change]:
    """Return the changes of wh-effects in these pairs of conditions, for all models."""
    # With a gap a filler lowers surprisal, so a stronger wh-effect is a more negative interaction.
    sign = -1.0 if gap == _GAP else 1.0
    found = []
    for first, second in pairs:
        wanted = {"gap": gap, "contrast": f"{first} → {second}", "term": _TERM}
        found += [_change(row, sign) for row in one.estimates(analysis, **wanted)]
    return found


def _change(row: Estimate, sign: float = 1.0) -> _Change:
    model = SUPPRESSION_MODELS.key(str(row["model"]))
    corpus = f" ({prose_name(row['corpus'])})" if row.get("corpus") else ""
    first, _, second = str(row["contrast"]).partition(" → ")
    return _Change(
        model=model,
        label=SUPPRESSION_MODELS.label(model) + corpus,
        contrast=f"{prose_name(first)} → {prose_name(second)}",
        bits=sign * float(row["estimate"]),
        p=float(row["p"]),
        is_singular=bool(row.get("singular")),
    )


def _is_neural(model: str) -> bool:
    return model not in _BASELINES


def _shift(
    one: Evidence, *, gap: str, pairs: Sequence[tuple[str, str]], direction: int,
    models: Sequence[str] = (), excepted: Sequence[tuple[str, str]] = (),
    level: float = _STRICT, analysis: str = "wh_contrasts",
) -> Judgement:  # fmt: skip
    """Judge whether wh-effects change in a direction in these pairs, significantly at a level.

    ``models``: the models of the claim; empty for all neural models. ``excepted``: models and
    second conditions in which no such change is claimed.
    """
    found = _about(_changes(one, gap, pairs, analysis=analysis), models)
    found = [x for x in found if (x.model, x.contrast.split(" → ")[1]) not in _prose(excepted)]
    if not found:
        return untested(_why(one, analysis, models))
    said = _said(found, models)
    changes = [x.bits * direction > 0 and x.p < ALPHA for x in found]
    if all(changes) and not all(x.p < level for x in found):
        return depends(f"the level of significance, as not all p are below .001: {said}")
    return holds(all(changes), said)


def _prose(excepted: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(model, prose_name(condition)) for model, condition in excepted}


def _recovery(one: Evidence, *, gap: str, pair: tuple[str, str], only: str) -> Judgement:
    """Judge whether wh-effects recover behind an island for one model of the paper only."""
    found = _about(_changes(one, gap, [pair]), _NEURAL)
    if not found:
        return untested(_why(one, "wh_contrasts", _NEURAL))
    recovers = {x.model: x.bits > 0 and x.p < ALPHA for x in found}
    is_so = all(is_found == (model == only) for model, is_found in recovers.items())
    return holds(is_so, _said(found, _NEURAL))


def _no_difference(one: Evidence) -> Judgement:
    pairs = [("subject", "adjunct_discharge"), ("subject", "cnp_discharge")]
    found = _about(_changes(one, _NO_GAP, pairs, analysis="discharge_contrasts"), _LSTMS)
    if not found:
        return untested(_why(one, "discharge_contrasts", _LSTMS))
    return holds(all(x.p >= ALPHA for x in found), _said(found, _LSTMS))


def _transformer_discharge(one: Evidence) -> Judgement:
    """Judge whether only complex NPs differ from subjects, with and without a gap."""
    said, is_so = [], True
    for gap in (_GAP, _NO_GAP):
        for second, differs in (("adjunct_discharge", False), ("cnp_discharge", True)):
            changes = _changes(one, gap, [("subject", second)], analysis="discharge_contrasts")
            found = _about(changes, ("transformer",))
            if not found:
                return untested(_why(one, "discharge_contrasts", ("transformer",)))
            is_so &= all((x.bits > 0 and x.p < ALPHA) == differs for x in found)
            said += [f"{x.said} ({gap})" for x in found]
    return holds(is_so, "; ".join(said))


def _about(found: Sequence[_Change], models: Sequence[str]) -> list[_Change]:
    return [x for x in found if (x.model in models if models else _is_neural(x.model))]


def _said(found: Sequence[_Change], models: Sequence[str]) -> str:
    return "; ".join(x.said for x in found) + _lacking([x.model for x in found], models)


def _lacking(known: Sequence[str], models: Sequence[str]) -> str:
    # Models that the paper has; own models of a family are not missed.
    wanted = [name for name in models or _NEURAL if name in SUPPRESSION_MODELS.labels]
    lacking = [SUPPRESSION_MODELS.label(name) for name in wanted if name not in known]
    return f" (not in this source: {listed(lacking)})" if lacking else ""


def _why(one: Evidence, analysis: str, models: Sequence[str]) -> str:
    """Return why there are no estimates for these models."""
    if not one.estimates(analysis):
        return one.why_not(analysis)
    names = [SUPPRESSION_MODELS.label(name) for name in models] or ["neural models"]
    return f"needs {' or '.join(names)}"


def _ordering(one: Evidence, *, designs: Sequence[str], neural: bool, positive: bool) -> Judgement:
    """Judge whether ordering effects are above 0, or do not differ from 0."""
    found = [
        row
        for design in designs
        for row in one.estimates("ordering", effect=f"{ORDERING}_{design}")
        if _is_neural(SUPPRESSION_MODELS.key(str(row["model"]))) == neural
    ]
    if not found:
        return untested(_why(one, "ordering", () if neural else ("ngram",)))
    is_so = [
        (row["estimate"] > 0 and row["p"] < ALPHA) if positive else row["p"] >= ALPHA
        for row in found
    ]
    said = "; ".join(_ordering_said(row) for row in found)
    known = [SUPPRESSION_MODELS.key(str(row["model"])) for row in found]
    return holds(all(is_so), said + (_lacking(known, ()) if neural else ""))


def _ordering_said(row: Estimate) -> str:
    label = SUPPRESSION_MODELS.label(SUPPRESSION_MODELS.key(str(row["model"])))
    design = str(row["effect"]).removeprefix(f"{ORDERING}_")
    return f"{label}, {design}: {rounded(row['estimate'])} bits, {p_value(row['p'])}"


def _length(one: Evidence) -> Judgement:
    """Judge whether long embeddings lower the ordering effect, but not significantly."""
    models = ("transformer", "gulordava")
    pairs = ("sentence → embedding_long", "embedding → embedding_long")
    rows = [row for pair in pairs for row in one.estimates("ordering_contrasts", contrast=pair)]
    found = _about([_change(row) for row in rows], models)
    if not found:
        return untested(_why(one, "ordering_contrasts", models))
    return holds(all(x.bits < 0 and x.p >= ALPHA for x in found), _said(found, models))


def _google_is_better_embedded(one: Evidence) -> Judgement:
    means = _means(one, "google", {f"{ORDERING}_{design}": design for design in DESIGNS})
    if len(means) < len(DESIGNS):
        return untested("needs Google on centre embedding")
    said = ", ".join(f"{design} {rounded(value)}" for design, value in means.items())
    is_so = min(means["embedding"], means["long"]) > means["sentence"]
    return holds(is_so, f"Google, bits: {said}")


def _second_verb(one: Evidence) -> Judgement:
    """Judge whether the second verb has the larger part of the effect in embeddings."""
    table = one.data.effects
    said, is_so, known = [], [], []
    for found in rows_by_model(table, SUPPRESSION_MODELS, corpora=corpora_of(table)):
        if not _is_neural(found.model):
            continue
        means = found.rows.groupby("effect")["value_bits"].mean()
        for design in ("embedding", "long"):
            first, second = (float(means.get(f"{verb}_{design}", math.nan)) for verb in VERBS)
            if math.isfinite(first + second):
                is_so.append(second > first)
                known.append(found.model)
                said.append(
                    f"{found.label}, {design}: first verb {rounded(first)} bits, second verb "
                    f"{rounded(second)} bits"
                )
    if not said:
        return untested("needs neural models on centre embedding")
    return holds(all(is_so), "; ".join(said) + _lacking(known, ()))


def _ngram_has_no_wh_effects(one: Evidence) -> Judgement:
    table = one.data.effects
    table = table[(table["class"] == "islands") & table["effect"].isin([WH_GAP, WH_NO_GAP])]
    said, is_so = [], True
    for found in rows_by_model(table, SUPPRESSION_MODELS, corpora=corpora_of(one.data.effects)):
        if found.model != "ngram":
            continue
        by = ["effect", "modifier"]
        items = found.rows.groupby([*by, "item"], sort=False)["value_bits"].mean()
        for (effect, condition), values in items.groupby(by, sort=False):
            mean, error = float(values.mean()), float(values.std(ddof=1)) / np.sqrt(len(values))
            is_so &= abs(mean) <= Z * error
            gap = "+gap" if effect == WH_GAP else "−gap"
            said.append(f"{prose_name(condition)} ({gap}) {rounded(mean)}")
    if not said:
        return untested("needs an n-gram model on islands")
    return holds(is_so, f"mean wh-effects in bits: {'; '.join(said)}")


def _google_in_and_behind(one: Evidence) -> Judgement:
    table = one.data.effects
    chosen = table[(table["class"] == "islands") & (table["effect"] == WH_GAP)]
    found = [
        rows
        for rows in rows_by_model(chosen, SUPPRESSION_MODELS, corpora=corpora_of(table))
        if rows.model == "google"
    ]
    if not found:
        return untested("needs Google on islands")
    means = found[0].rows.groupby("modifier")["value_bits"].mean()
    inside = [float(means.get(name, math.nan)) for name in ("adjunct", "complex_np")]
    behind = [float(means.get(name, math.nan)) for name in ("over_adjunct", "over_complex_np")]
    said = f"inside {', '.join(map(rounded, inside))} bits; behind {', '.join(map(rounded, behind))}"
    return holds(max(inside) < 1.5 and 2.0 <= min(behind) and max(behind) <= 5.0, said)


def _means(one: Evidence, model: str, names: dict[str, str]) -> dict[str, float]:
    """Return the mean effects of a model, by the names of the effects."""
    table = one.data.effects
    rows = table[(table["model"].map(SUPPRESSION_MODELS.key) == model)]
    means = rows.groupby("effect")["value_bits"].mean()
    return {name: float(means[effect]) for effect, name in names.items() if effect in means.index}


_IN_ISLANDS = [("object", "adjunct"), ("object", "complex_np")]
_BEHIND_ISLANDS = [("object", "over_adjunct"), ("object", "over_complex_np")]
_DISCHARGE = [("subject", "adjunct_discharge"), ("subject", "cnp_discharge")]

SUPPRESSION_CLAIMS = (
    ClaimSpec(
        "section 3, Figure 2",
        "The n-gram model has a positive ordering effect in simple sentences.",
        partial(_ordering, designs=("sentence",), neural=False, positive=True),
    ),
    ClaimSpec(
        "section 3, Figure 2",
        "The ordering effect of the n-gram model does not differ significantly from 0 in "
        "embeddings.",
        partial(_ordering, designs=("embedding", "long"), neural=False, positive=False),
    ),
    ClaimSpec(
        "section 3, Figure 2",
        "The ordering effect of neural models is positive in simple sentences and in both kinds of "
        "embeddings.",
        partial(_ordering, designs=DESIGNS, neural=True, positive=True),
    ),
    ClaimSpec(
        "section 3",
        "In embeddings, the second verb is responsible for the majority of the ordering effect of "
        "neural models.",
        _second_verb,
    ),
    ClaimSpec(
        "section 3, Figure 2",
        "The ordering effect of Gulordava and Transformer is lower in long embeddings than in "
        "sentences and short embeddings, but not significantly.",
        _length,
    ),
    ClaimSpec(
        "section 3, Figure 2",
        "The ordering effect of Google is larger in embeddings than in simple sentences.",
        _google_is_better_embedded,
    ),
    ClaimSpec(
        "section 4.2",
        "Wh-effects of the n-gram model do not differ significantly from 0 in any condition.",
        _ngram_has_no_wh_effects,
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects are significantly smaller in islands than at objects for all models "
        "(p < .001).",
        partial(_shift, gap=_GAP, pairs=_IN_ISLANDS, direction=-1),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects behind islands are still significantly smaller than at objects "
        "(p < .001).",
        partial(_shift, gap=_GAP, pairs=_BEHIND_ISLANDS, direction=-1),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects recover behind complex NPs for all models (p < .001).",
        partial(_shift, gap=_GAP, pairs=[("complex_np", "over_complex_np")], direction=1),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "+gap: wh-effects recover behind adjuncts for Google only.",
        partial(_recovery, gap=_GAP, pair=("adjunct", "over_adjunct"), only="google"),
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
            _shift, gap=_NO_GAP, pairs=_IN_ISLANDS, direction=-1, level=ALPHA,
            excepted=[("transformer", "complex_np")],
        ),
    ),
    ClaimSpec(
        "section 4.2, Figure 4",
        "−gap: wh-effects recover behind complex NPs for Google only.",
        partial(_recovery, gap=_NO_GAP, pair=("complex_np", "over_complex_np"), only="google"),
    ),
    ClaimSpec(
        "section 4.3, Figure 5",
        "−gap: wh-effects of LSTMs after gaps in subjects and in islands do not differ "
        "significantly.",
        _no_difference,
    ),
    ClaimSpec(
        "section 4.3, Figure 5",
        "+gap: wh-effects of LSTMs are larger after gaps in islands than after gaps in subjects "
        "(p < .001).",
        partial(
            _shift, gap=_GAP, pairs=_DISCHARGE, direction=1, models=_LSTMS,
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
