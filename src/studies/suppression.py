"""Means and intervals of Wilcox et al. 2019, which its figures and claims are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from gardenpath.errors import StatisticsError
from gardenpath.eval.display import family_of
from gardenpath.eval.means import NORMAL, Interval
from gardenpath.eval.statistics.inference import within_item_intervals
from gardenpath.eval.statistics.wording import ALPHA, p_value, prose_name, rounded
from gardenpath.eval.suites.effects import ORDERING, WH_GAP, WH_NO_GAP
from gardenpath.studies.study import (
    WITH_GAP,
    WITHOUT_GAP,
    ClaimSpec,
    Evidence,
    FigureStyle,
    Judgement,
    ModelRows,
    PartSpec,
    StudyCell,
    StudyModels,
    StudySpec,
    corpora_of,
    depends,
    judged,
    mean_cell,
    names_or_none,
    rows_by_model,
    untested,
)

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
# Structures of centre embedding, and the verb of the relative clause and of the main clause.
DESIGNS = ("sentence", "embedding", "long")
VERBS = {"verb1": "VP1", "verb2": "VP2"}


def suppression_models(one: Evidence, effects: pd.DataFrame) -> list[ModelRows]:
    """Return the rows of a table of effects by model."""
    return rows_by_model(effects, SUPPRESSION_MODELS, corpora=corpora_of(one.data.effects))


def condition_means(
    rows: pd.DataFrame, column: str, conditions: Sequence[str]
) -> dict[str, Interval]:
    """Return the means of conditions in bits, with 95 % intervals of values centred by item.

    Items are averaged over runs; those that lack a condition are left out. With one condition or
    one item there is no variance within items, and no interval.
    """
    chosen = rows[rows[column].isin(conditions) & np.isfinite(rows["value_bits"])]
    try:
        return within_item_intervals(
            chosen, value="value_bits", condition=column, item="item", method="item_centred"
        )
    except StatisticsError:
        by_item = chosen.groupby([column, "item"], sort=False)["value_bits"].mean()
        return {
            str(name): Interval(
                mean=float(values.mean()), low=math.nan, high=math.nan, n=len(values)
            )
            for name, values in by_item.groupby(column, sort=False)
        }


def embeddings(one: Evidence) -> pd.DataFrame:
    """Return the effects of centre embedding; toy suites, whose items are others, are left out."""
    table = one.data.effects
    return table[(table["class"] == "center_embedding") & (table["modifier"] != "toy")]


def ordering_means(one: Evidence) -> list[tuple[ModelRows, dict[str, Interval]]]:
    """Return the ordering effects of every model by structure."""
    designs = {f"{ORDERING}_{design}": design for design in DESIGNS}
    table = embeddings(one)
    table = table[table["effect"].isin(designs)]
    found = suppression_models(one, table.assign(design=table["effect"].map(designs)))
    return [(each, condition_means(each.rows, "design", DESIGNS)) for each in found]


# ----------------------------------------------------------------------------
# Changes of effects between conditions, in Wilcox et al. 2019, and how claims speak of them.
#
# Changes of wh-effects are the interactions of filler and condition in mixed models (analyses
# ``wh_contrasts`` and ``discharge_contrasts``), with the sign of the wh-effect.


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


# ----------------------------------------------------------------------------
# The claims of Wilcox et al. 2019 about centre embedding, each judged by the data of a source.


def _above_zero(one: Evidence, *, designs: Sequence[str], neural: bool) -> Judgement:
    """Judge whether ordering effects are significantly above 0."""
    found = _ordering_rows(one, designs, neural=neural)
    if not found:
        return untested(why_untested(one, "ordering", () if neural else ("ngram",)))
    said = _ordering_said(found, neural=neural)
    unsure = [row for row in found if row["estimate"] <= 0 or row["p"] >= ALPHA]
    lows = {
        (each.rows["model"].iloc[0], each.corpus, design): mean.low
        for each, means in ordering_means(one)
        for design, mean in means.items()
    }
    if unsure and all(lows.get((*_run(row), _design(row)), math.nan) > 0 for row in unsure):
        return depends(
            "the interval: those of the figure, which leave out the variance between items, are "
            f"above 0; t tests: {said}"
        )
    return judged(not unsure, said)


def _at_zero(one: Evidence) -> Judgement:
    """Judge whether the n-gram model's ordering effects in embeddings do not differ from 0."""
    found = _ordering_rows(one, ("embedding", "long"), neural=False)
    if not found:
        return untested(why_untested(one, "ordering", ("ngram",)))
    return judged(all(row["p"] >= ALPHA for row in found), _ordering_said(found, neural=False))


def _ordering_rows(
    one: Evidence, designs: Sequence[str], *, neural: bool
) -> list[Mapping[str, Any]]:
    return [
        row
        for design in designs
        for row in one.estimates("ordering", effect=f"{ORDERING}_{design}")
        if is_neural(SUPPRESSION_MODELS.key(str(row["model"]))) == neural
    ]


def _ordering_said(found: Sequence[Mapping[str, Any]], *, neural: bool) -> str:
    models = [SUPPRESSION_MODELS.key(str(row["model"])) for row in found]
    said = "; ".join(
        f"{SUPPRESSION_MODELS.label(model)}, {_design(row)}: {rounded(row['estimate'])} bits, "
        f"{p_value(row['p'])}"
        for model, row in zip(models, found, strict=True)
    )
    return said + (lacking_models(models, ()) if neural else "")


def _run(row: Mapping[str, Any]) -> tuple[str, str]:
    return str(row["model"]), str(row["corpus"])


def _design(row: Mapping[str, Any]) -> str:
    return str(row["effect"]).removeprefix(f"{ORDERING}_")


def _length(one: Evidence) -> Judgement:
    """Judge whether long embeddings lower the ordering effect, but not significantly."""
    models = ("transformer", "gulordava")
    pairs = ("sentence → embedding_long", "embedding → embedding_long")
    rows = [row for pair in pairs for row in one.estimates("ordering_contrasts", contrast=pair)]
    found = changes_of([effect_change(row) for row in rows], models)
    if not found:
        return untested(why_untested(one, "ordering_contrasts", models))
    said = changes_said(found, models)
    is_shown = [x.p < ALPHA for x in found]
    is_lower = all(x.bits < 0 for x in found)
    if is_lower and any(is_shown) and not all(is_shown):
        return depends(f"what long embeddings are compared with: {said}")
    return judged(is_lower and not any(is_shown), said)


def _google_is_better_embedded(one: Evidence) -> Judgement:
    found = [means for each, means in ordering_means(one) if each.model == "google"]
    if not found or set(found[0]) != set(DESIGNS):
        return untested("needs Google on centre embedding")
    means = {design: interval.mean for design, interval in found[0].items()}
    said = ", ".join(f"{design} {rounded(means[design])}" for design in DESIGNS)
    is_larger = min(means["embedding"], means["long"]) > means["sentence"]
    return judged(is_larger, f"Google, bits: {said}")


def _second_verb(one: Evidence) -> Judgement:
    """Judge whether the second verb has the larger part of the effect in embeddings."""
    said, is_so, known = [], [], []
    for found in suppression_models(one, embeddings(one)):
        if not is_neural(found.model):
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
    return judged(all(is_so), "; ".join(said) + lacking_models(known, ()))


ORDERING_CLAIMS = (
    ClaimSpec(
        "section 3, Figure 2",
        "The n-gram model has a positive ordering effect in simple sentences.",
        partial(_above_zero, designs=("sentence",), neural=False),
    ),
    ClaimSpec(
        "section 3, Figure 2",
        "The ordering effect of the n-gram model does not differ significantly from 0 in "
        "embeddings.",
        _at_zero,
    ),
    ClaimSpec(
        "section 3, Figure 2",
        "The ordering effect of neural models is positive in simple sentences and in both kinds of "
        "embeddings.",
        partial(_above_zero, designs=DESIGNS, neural=True),
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
)  # fmt: skip


# ----------------------------------------------------------------------------
# The claims of Wilcox et al. 2019, each judged by the data of a source.
#
# A claim about several models is judged by those that the source has, and its reason names the
# others. Claims about "all models" of the paper are about all neural models of a source.


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


# ----------------------------------------------------------------------------
# Wilcox et al. 2019: suppression and recovery of expectations, in embeddings and islands.


ISLANDS = ("object", "adjunct", "over_adjunct", "complex_np", "over_complex_np")
DISCHARGE = ("subject", "adjunct_discharge", "cnp_discharge")

_LABELS = {
    **SUPPRESSION_MODELS.labels,
    "long": "embedding, long",
    WH_GAP: "+gap",
    WH_NO_GAP: "−gap",
    "over_adjunct": "over-adjunct",
    "complex_np": "CNP",
    "over_complex_np": "over-CNP",
    "adjunct_discharge": "adjunct-discharge",
    "cnp_discharge": "CNP-discharge",
}


def _row_labels(one: Evidence) -> dict[str, str]:
    return {rows.key: rows.label for rows in suppression_models(one, one.data.effects)}


def _cells(means: Mapping[str, Interval], order: Sequence[str], **keys: str) -> Iterator[StudyCell]:
    """Yield the cells of a model: conditions in this order as columns."""
    for condition in order:
        if condition in means:
            mean = means[condition]
            yield StudyCell(
                column=condition, value=mean.mean, low=mean.low, high=mean.high, n=mean.n, **keys
            )


def _ordering_cells(one: Evidence) -> Iterator[StudyCell]:
    for found, means in ordering_means(one):
        yield from _cells(means, DESIGNS, source=one.source, row=found.key)


def _verbs(one: Evidence) -> Iterator[StudyCell]:
    for found in suppression_models(one, embeddings(one)):
        for design in DESIGNS:
            for verb, label in VERBS.items():
                chosen = found.rows[found.rows["effect"] == f"{verb}_{design}"]
                values = chosen.groupby("item")["value_bits"].mean()
                if len(values):
                    yield mean_cell(
                        values, source=one.source, row=found.key, column=f"{design} {label}"
                    )


def _wh_effects(one: Evidence, *, kind: str, order: Sequence[str]) -> Iterator[StudyCell]:
    table = one.data.effects
    for effect in (WH_GAP, WH_NO_GAP):
        chosen = table[(table["class"] == kind) & (table["effect"] == effect)]
        for found in suppression_models(one, chosen):
            means = condition_means(found.rows, "modifier", order)
            yield from _cells(means, order, source=one.source, panel=effect, row=found.key)


_BITS = FigureStyle(y_label="bits", reference=0.0)
_CENTRED = "Intervals after Masson and Loftus: 1.96·SD/√n of values minus the mean of their item"

SUPPRESSION = StudySpec(
    name="suppression",
    title="Suppression and recovery of expectations",
    reference="Wilcox, Levy and Futrell 2019",
    labels=_LABELS,
    row_labels=_row_labels,
    claims=SUPPRESSION_CLAIMS,
    parts=(
        PartSpec(
            number="Figure 2", title="Centre embedding: ordering effects", cells=_ordering_cells,
            lacking="there are no models on centre embedding", style=_BITS,
            note="Surprisal of verbs that do not match their subjects minus that of verbs that do, "
            f"summed over both verbs. {_CENTRED}.",
        ),
        PartSpec(
            number="Figure 2 by verb", title="Centre embedding: ordering effects at each verb",
            cells=_verbs, lacking="there are no models on centre embedding", digits=2,
            note="VP1 is the verb of the relative clause, VP2 that of the main clause. The paper "
            "describes them in section 3 without numbers.",
        ),
        PartSpec(
            number="Figure 4", title="Wh-effects in islands and behind them",
            cells=partial(_wh_effects, kind="islands", order=ISLANDS),
            lacking="there are no models on islands", style=_BITS,
            note=f"{_CENTRED} over the conditions of the figure. The paper leaves the n-gram model "
            "out of its figure.",
        ),
        PartSpec(
            number="Figure 5", title="Wh-effects after a gap in subject or island position",
            cells=partial(_wh_effects, kind="wh_discharge", order=DISCHARGE),
            lacking="there are no models on wh-discharge", style=_BITS,
            note=f"{_CENTRED} over the conditions of the figure.",
        ),
    ),
)  # fmt: skip
