"""The claims of Wilcox et al. 2019 about centre embedding, each judged by the data of a source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from gardenpath.eval.statistics.questions.wording import ALPHA, p_value, rounded
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.papers.suppression_changes import (
    changes_of,
    changes_said,
    effect_change,
    is_neural,
    lacking_models,
    why_untested,
)
from gardenpath.eval.studies.papers.suppression_measures import (
    DESIGNS,
    SUPPRESSION_MODELS,
    VERBS,
    embeddings,
    ordering_means,
    suppression_models,
)
from gardenpath.eval.studies.study_spec import ClaimSpec, Judgement, depends, judged, untested
from gardenpath.eval.suites.scoring.effects import ORDERING


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


def _ordering_rows(one: Evidence, designs: Sequence[str], *, neural: bool) -> list[Mapping[str, Any]]:
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
