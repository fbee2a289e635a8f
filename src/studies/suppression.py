"""Wilcox et al. 2019: suppression and recovery of expectations, in embeddings and islands.

``replicate`` computes ``SUPPRESSION`` from surprisals of the released items or of our own suites.
Means and changes of effects come first, then the claims of the paper, each judged by the data of a
source, then the cells of its figures. Files are read in ``suppression_files``.
"""

from __future__ import annotations

import itertools
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
from gardenpath.eval.statistics.answers import ALPHA, p_value, prose_name, rounded
from gardenpath.eval.statistics.inference import within_item_intervals
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
    depends,
    interval_cell,
    judged,
    mean_cell,
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
        groups = by_item.groupby(column, sort=False)
        return {
            str(name): Interval(mean=float(bits.mean()), low=math.nan, high=math.nan, n=len(bits))
            for name, bits in groups
        }


def embeddings(evidence: Evidence) -> pd.DataFrame:
    """Return the effects of centre embedding; toy suites, whose items are others, are left out."""
    table = evidence.data.effects
    return table[(table["class"] == "center_embedding") & (table["modifier"] != "toy")]


def ordering_means(evidence: Evidence) -> list[tuple[ModelRows, dict[str, Interval]]]:
    """Return the ordering effects of every model by structure."""
    designs = {f"{ORDERING}_{design}": design for design in DESIGNS}
    table = embeddings(evidence)
    table = table[table["effect"].isin(designs)]
    table = table.assign(design=table["effect"].map(designs))
    models = SUPPRESSION_MODELS.rows(table, evidence)
    return [(model, condition_means(model.rows, "design", DESIGNS)) for model in models]


# Changes of effects between conditions, and how claims speak of them.
#
# Changes of wh-effects are the interactions of filler and condition in mixed models (analyses
# ``wh_contrasts`` and ``discharge_contrasts``), with the sign of the wh-effect.

NEURAL_MODELS = ("transformer", "google", "gulordava")


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
        text = f"{self.label}, {self.contrast}: {rounded(self.bits)} bits, {p_value(self.p)}"
        return f"{text} (singular fit)" if self.is_singular else text


def contrast_changes(
    evidence: Evidence, gap: str, pairs: Sequence[tuple[str, str]], analysis: str,
    models: Sequence[str],
) -> list[EffectChange]:  # fmt: skip
    """Return the changes of wh-effects in these pairs of conditions, for these models."""
    # With a gap a filler lowers surprisal, so a stronger wh-effect is a more negative interaction.
    sign = -1.0 if gap == WITH_GAP else 1.0
    rows = [
        row
        for first, second in pairs
        for row in evidence.estimates(analysis, gap=gap, contrast=f"{first} → {second}")
        if str(row["term"]).endswith("filler:position")
    ]
    return changes_of([effect_change(row, sign) for row in rows], models)


def effect_change(row: Mapping[str, Any], sign: float = 1.0) -> EffectChange:
    """Return the change that a row of estimates of a contrast states."""
    model = SUPPRESSION_MODELS.key(str(row["model"]))
    corpus = f" ({prose_name(row['corpus'])})" if row.get("corpus") else ""
    first, _, second = str(row["contrast"]).partition(" → ")
    return EffectChange(
        model=model, label=SUPPRESSION_MODELS.label(model) + corpus,
        contrast=f"{prose_name(first)} → {prose_name(second)}", bits=sign * float(row["estimate"]),
        p=float(row["p"]), is_singular=bool(row.get("singular")),
    )  # fmt: skip


def is_neural(model: str) -> bool:
    """Whether a model is none of the n-gram baselines."""
    # The names of baselines with different settings go on: "ngram (order=3)".
    return family_of(model) not in ("ngram", "unigram")


def changes_of(changes: Sequence[EffectChange], models: Sequence[str]) -> list[EffectChange]:
    """Return the changes of these models, or of all neural models if none are named."""
    if models:
        return [change for change in changes if change.model in models]
    return [change for change in changes if is_neural(change.model)]


def changes_said(changes: Sequence[EffectChange], models: Sequence[str]) -> str:
    """Return the changes in words, and which of these models of the paper are lacking."""
    known = [change.model for change in changes]
    return "; ".join(change.said for change in changes) + lacking_models(known, models)


def lacking_models(known: Sequence[str], models: Sequence[str]) -> str:
    """Return which models of the paper are not among the known ones, in parentheses."""
    # Own models of a family are not missed.
    wanted = [name for name in models or NEURAL_MODELS if name in SUPPRESSION_MODELS.labels]
    return SUPPRESSION_MODELS.lacking(known, wanted)


def why_untested(evidence: Evidence, analysis: str, models: Sequence[str]) -> str:
    """Return why there are no estimates for these models."""
    if not evidence.estimates(analysis):
        return evidence.why_not(analysis)
    names = [SUPPRESSION_MODELS.label(name) for name in models] or ["neural models"]
    return f"needs {' or '.join(names)}"


# Claims about centre embedding, each judged by the data of a source.


def _above_zero(evidence: Evidence, *, designs: Sequence[str], neural: bool) -> Judgement:
    rows = _ordering_rows(evidence, designs, neural=neural)
    if not rows:
        return untested(why_untested(evidence, "ordering", () if neural else ("ngram",)))
    said = _ordering_said(rows, neural=neural)
    unsure = [row for row in rows if row["estimate"] <= 0 or row["p"] >= ALPHA]
    lows = {
        (model.rows["model"].iloc[0], model.corpus, f"{ORDERING}_{design}"): mean.low
        for model, means in ordering_means(evidence)
        for design, mean in means.items()
    }
    keys = [(str(row["model"]), str(row["corpus"]), str(row["effect"])) for row in unsure]
    if keys and all(lows.get(key, math.nan) > 0 for key in keys):
        return depends(
            "the interval: those of the figure, which leave out the variance between items, are "
            f"above 0; t tests: {said}"
        )
    return judged(not unsure, said)


def _at_zero(evidence: Evidence) -> Judgement:
    rows = _ordering_rows(evidence, ("embedding", "long"), neural=False)
    if not rows:
        return untested(why_untested(evidence, "ordering", ("ngram",)))
    return judged(all(row["p"] >= ALPHA for row in rows), _ordering_said(rows, neural=False))


def _ordering_rows(
    evidence: Evidence, designs: Sequence[str], *, neural: bool
) -> list[Mapping[str, Any]]:
    return [
        row
        for design in designs
        for row in evidence.estimates("ordering", effect=f"{ORDERING}_{design}")
        if is_neural(SUPPRESSION_MODELS.key(str(row["model"]))) == neural
    ]


def _ordering_said(rows: Sequence[Mapping[str, Any]], *, neural: bool) -> str:
    models = [SUPPRESSION_MODELS.key(str(row["model"])) for row in rows]
    said = "; ".join(
        f"{SUPPRESSION_MODELS.label(model)}, {str(row['effect']).removeprefix(f'{ORDERING}_')}: "
        f"{rounded(row['estimate'])} bits, {p_value(row['p'])}"
        for model, row in zip(models, rows, strict=True)
    )
    return said + (lacking_models(models, ()) if neural else "")


def _length(evidence: Evidence) -> Judgement:
    models = ("transformer", "gulordava")
    pairs = ("sentence → embedding_long", "embedding → embedding_long")
    rows = [
        row for pair in pairs for row in evidence.estimates("ordering_contrasts", contrast=pair)
    ]
    changes = changes_of([effect_change(row) for row in rows], models)
    if not changes:
        return untested(why_untested(evidence, "ordering_contrasts", models))
    said = changes_said(changes, models)
    is_shown = [change.p < ALPHA for change in changes]
    is_lower = all(change.bits < 0 for change in changes)
    if is_lower and any(is_shown) and not all(is_shown):
        return depends(f"what long embeddings are compared with: {said}")
    return judged(is_lower and not any(is_shown), said)


def _google_is_better_embedded(evidence: Evidence) -> Judgement:
    of_google = [means for model, means in ordering_means(evidence) if model.model == "google"]
    if not of_google or set(of_google[0]) != set(DESIGNS):
        return untested("needs Google on centre embedding")
    means = {design: interval.mean for design, interval in of_google[0].items()}
    said = ", ".join(f"{design} {rounded(means[design])}" for design in DESIGNS)
    is_larger = min(means["embedding"], means["long"]) > means["sentence"]
    return judged(is_larger, f"Google, bits: {said}")


def _second_verb(evidence: Evidence) -> Judgement:
    said, is_so, known = [], [], []
    for model in SUPPRESSION_MODELS.rows(embeddings(evidence), evidence):
        if not is_neural(model.model):
            continue
        means = model.rows.groupby("effect")["value_bits"].mean()
        for design in ("embedding", "long"):
            first, second = (float(means.get(f"{verb}_{design}", math.nan)) for verb in VERBS)
            if math.isfinite(first + second):
                is_so.append(second > first)
                known.append(model.model)
                said.append(
                    f"{model.label}, {design}: first verb {rounded(first)} bits, second verb "
                    f"{rounded(second)} bits"
                )
    if not said:
        return untested("needs neural models on centre embedding")
    return judged(all(is_so), "; ".join(said) + lacking_models(known, ()))


ORDERING_CLAIMS = (
    ClaimSpec("section 3, Figure 2",
              "The n-gram model has a positive ordering effect in simple sentences.",
              partial(_above_zero, designs=("sentence",), neural=False)),
    ClaimSpec("section 3, Figure 2",
              "The ordering effect of the n-gram model does not differ significantly from 0 in "
              "embeddings.", _at_zero),
    ClaimSpec("section 3, Figure 2",
              "The ordering effect of neural models is positive in simple sentences and in both "
              "kinds of embeddings.", partial(_above_zero, designs=DESIGNS, neural=True)),
    ClaimSpec("section 3",
              "In embeddings, the second verb is responsible for the majority of the ordering "
              "effect of neural models.", _second_verb),
    ClaimSpec("section 3, Figure 2",
              "The ordering effect of Gulordava and Transformer is lower in long embeddings than "
              "in sentences and short embeddings, but not significantly.", _length),
    ClaimSpec("section 3, Figure 2",
              "The ordering effect of Google is larger in embeddings than in simple sentences.",
              _google_is_better_embedded),
)  # fmt: skip


# Claims about islands.
#
# A claim about several models is judged by those that the source has, and its reason names the
# others. Claims about "all models" of the paper are about all neural models of a source.

# Own LSTMs count among those of the paper.
_LSTMS = ("google", "gulordava", "lstm")
_STRICT = 0.001


def _shift(
    evidence: Evidence, *, gap: str, pairs: Sequence[tuple[str, str]], direction: int,
    models: Sequence[str] = (), excepted: Sequence[tuple[str, str]] = (),
    level: float = _STRICT, analysis: str = "wh_contrasts",
) -> Judgement:  # fmt: skip
    """Judge whether wh-effects change in a direction in these pairs, significantly at a level.

    ``models``: the models of the claim; empty for all neural models. ``excepted``: models and
    second conditions in which no such change is claimed.
    """
    exceptions = {(model, prose_name(condition)) for model, condition in excepted}
    changes = [
        change
        for change in contrast_changes(evidence, gap, pairs, analysis, models)
        if (change.model, change.contrast.split(" → ")[1]) not in exceptions
    ]
    if not changes:
        return untested(why_untested(evidence, analysis, models))
    said = changes_said(changes, models)
    is_so = all(change.bits * direction > 0 and change.p < ALPHA for change in changes)
    if is_so and not all(change.p < level for change in changes):
        return depends(f"the level of significance, as not all p are below .001: {said}")
    return judged(is_so, said)


def _no_shift(
    evidence: Evidence, *, gap: str, pairs: Sequence[tuple[str, str]], models: Sequence[str],
    upwards: bool = False, analysis: str = "wh_contrasts",
) -> Judgement:  # fmt: skip
    """Judge whether wh-effects do not change significantly, or (``upwards``) do not increase."""
    changes = contrast_changes(evidence, gap, pairs, analysis, models)
    if not changes:
        return untested(why_untested(evidence, analysis, models))
    is_steady = all(change.p >= ALPHA or (upwards and change.bits < 0) for change in changes)
    return judged(is_steady, changes_said(changes, models))


def _transformer_discharge(evidence: Evidence) -> Judgement:
    analysis, models = "discharge_contrasts", ("transformer",)
    said, is_so = [], True
    for gap in (WITH_GAP, WITHOUT_GAP):
        for second, differs in (("adjunct_discharge", False), ("cnp_discharge", True)):
            changes = contrast_changes(evidence, gap, [("subject", second)], analysis, models)
            if not changes:
                return untested(why_untested(evidence, analysis, models))
            is_so &= all((change.bits > 0 and change.p < ALPHA) == differs for change in changes)
            said += [f"{change.said} ({gap})" for change in changes]
    return judged(is_so, "; ".join(said))


def _ngram_has_no_wh_effects(evidence: Evidence) -> Judgement:
    table = evidence.data.effects
    table = table[(table["class"] == "islands") & table["effect"].isin([WH_GAP, WH_NO_GAP])]
    said, is_so = [], True
    for model in SUPPRESSION_MODELS.rows(table, evidence):
        if model.model != "ngram":
            continue
        by = ["effect", "modifier"]
        items = model.rows.groupby([*by, "item"], sort=False)["value_bits"].mean()
        for (effect, condition), values in items.groupby(by, sort=False):
            mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
            is_so &= abs(mean) <= NORMAL * error
            gap = "+gap" if effect == WH_GAP else "−gap"
            said.append(f"{prose_name(condition)} ({gap}) {rounded(mean)}")
    if not said:
        return untested("needs an n-gram model on islands")
    return judged(is_so, f"mean wh-effects in bits: {'; '.join(said)}")


def _google_in_and_behind(evidence: Evidence) -> Judgement:
    table = evidence.data.effects
    table = table[(table["class"] == "islands") & (table["effect"] == WH_GAP)]
    google = [
        model for model in SUPPRESSION_MODELS.rows(table, evidence) if model.model == "google"
    ]
    if not google:
        return untested("needs Google on islands")
    means = google[0].rows.groupby("modifier")["value_bits"].mean()
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
    ClaimSpec("section 4.2",
              "Wh-effects of the n-gram model do not differ significantly from 0 in any condition.",
              _ngram_has_no_wh_effects),
    ClaimSpec("section 4.2, Figure 4",
              "+gap: wh-effects are significantly smaller in islands than at objects for all "
              "models (p < .001).", partial(_shift, gap=WITH_GAP, pairs=_IN_ISLANDS, direction=-1)),
    ClaimSpec("section 4.2, Figure 4",
              "+gap: wh-effects behind islands are still significantly smaller than at objects (p "
              "< .001).", partial(_shift, gap=WITH_GAP, pairs=_BEHIND_ISLANDS, direction=-1)),
    ClaimSpec("section 4.2, Figure 4",
              "+gap: wh-effects recover behind complex NPs for all models (p < .001).",
              partial(_shift, gap=WITH_GAP, pairs=[_COMPLEX_NP], direction=1)),
    ClaimSpec("section 4.2, Figure 4",
              "+gap: wh-effects of Google recover behind adjuncts (p < .001).",
              partial(_shift, gap=WITH_GAP, pairs=[_ADJUNCT], direction=1, models=("google",))),
    ClaimSpec("section 4.2, Figure 4",
              "+gap: wh-effects of Gulordava and Transformer do not recover behind adjuncts.",
              partial(_no_shift, gap=WITH_GAP, pairs=[_ADJUNCT], models=_OTHERS, upwards=True)),
    ClaimSpec("section 4.2, Figure 4",
              "+gap: in Google, a missing filler costs about one bit inside islands and two to "
              "five bits behind them.", _google_in_and_behind),
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
    ClaimSpec("section 4.3, Figure 5",
              "In Transformer, adjuncts pattern with subjects, and wh-effects are larger after "
              "gaps in complex NPs, with and without a second gap.", _transformer_discharge),
)  # fmt: skip


# The cells of figures.

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


def _row_labels(evidence: Evidence) -> dict[str, str]:
    return {
        rows.key: rows.label for rows in SUPPRESSION_MODELS.rows(evidence.data.effects, evidence)
    }


def _cells(
    model: ModelRows, means: Mapping[str, Interval], order: Sequence[str], panel: str = ""
) -> Iterator[StudyCell]:
    """Yield the cells of a model: conditions in this order as columns."""
    for name in order:
        if name in means:
            yield interval_cell(means[name], panel=panel, row=model.key, column=name)


def _ordering_cells(evidence: Evidence) -> Iterator[StudyCell]:
    for model, means in ordering_means(evidence):
        yield from _cells(model, means, DESIGNS)


def _verbs(evidence: Evidence) -> Iterator[StudyCell]:
    for model in SUPPRESSION_MODELS.rows(embeddings(evidence), evidence):
        for design, (verb, label) in itertools.product(DESIGNS, VERBS.items()):
            chosen = model.rows[model.rows["effect"] == f"{verb}_{design}"]
            values = chosen.groupby("item")["value_bits"].mean()
            if len(values):
                yield mean_cell(values, row=model.key, column=f"{design} {label}")


def _wh_effects(evidence: Evidence, *, kind: str, order: Sequence[str]) -> Iterator[StudyCell]:
    table = evidence.data.effects
    for effect in (WH_GAP, WH_NO_GAP):
        chosen = table[(table["class"] == kind) & (table["effect"] == effect)]
        for model in SUPPRESSION_MODELS.rows(chosen, evidence):
            means = condition_means(model.rows, "modifier", order)
            yield from _cells(model, means, order, panel=effect)


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
        PartSpec(number="Figure 2 by verb", title="Centre embedding: ordering effects at each verb",
                 cells=_verbs, lacking="there are no models on centre embedding", digits=2,
                 note="VP1 is the verb of the relative clause, VP2 that of the main clause. The "
                 "paper describes them in section 3 without numbers."),
        PartSpec(
            number="Figure 4", title="Wh-effects in islands and behind them",
            cells=partial(_wh_effects, kind="islands", order=ISLANDS),
            lacking="there are no models on islands", style=_BITS,
            note=f"{_CENTRED} over the conditions of the figure. The paper leaves the n-gram model "
            "out of its figure.",
        ),
        PartSpec(number="Figure 5", title="Wh-effects after a gap in subject or island position",
                 cells=partial(_wh_effects, kind="wh_discharge", order=DISCHARGE),
                 lacking="there are no models on wh-discharge", style=_BITS,
                 note=f"{_CENTRED} over the conditions of the figure."),
    ),
)  # fmt: skip
