"""The claims of Wang et al. 2021, each judged by the data of a source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from gardenpath.eval.statistics.questions.wording import ALPHA, p_value, prose_name, rounded
from gardenpath.eval.studies.evidence import Evidence, names_or_none, significant
from gardenpath.eval.studies.study_spec import ClaimSpec, Judgement, depends, judged, untested

NEURAL = ("lstm", "rnng", "transformer", "plm")
SMALL, LARGE = "ctb", "xinhua"

_Row = Mapping[str, Any]


def _ngram_is_worst(one: Evidence) -> Judgement:
    means = one.mean_accuracies("corpus", "model")
    corpora = means.index.get_level_values(0).unique()
    tested = {c: means[c] for c in corpora if {"ngram"} < set(means[c].index)}
    if not tested:
        return untested("needs n-gram and neural models of one corpus")
    worst = {c: (m.idxmin(), m.min()) for c, m in tested.items()}
    said = (f"{prose_name(c)}: {prose_name(name)} ({low:.3f})" for c, (name, low) in worst.items())
    is_worst = all(name == "ngram" for name, _ in worst.values())
    return judged(is_worst, f"least accurate on {'; '.join(said)}")


def _data_size(one: Evidence) -> Judgement:
    rows = {str(row["model"]): row for row in one.estimates("data_size")}
    found = {model: rows[model] for model in NEURAL if model in rows}
    if "transformer" not in found:
        return _lacks(one, "data_size", "Transformers trained on CTB and on the larger corpus")
    said = "; ".join(f"{prose_name(model)} {_numbers(row)}" for model, row in found.items())
    others = [model for model in found if model != "transformer" and found[model]["p"] < ALPHA]
    effect = found["transformer"]
    if effect["estimate"] > 0 and ALPHA <= effect["p"] < 0.055 and not others:
        on = "the optimiser and the random effects, as the Transformer's p is at the limit"
        return depends(f"{on}: {said}")
    return judged(significant(effect, 1) and not others, said)


def _rnng_reaches_lstm(one: Evidence) -> Judgement:
    found = one.estimate("syntax_or_data")
    if found is None:
        needed = "RNNGs trained on CTB and LSTMs trained on the larger corpus"
        return _lacks(one, "syntax_or_data", needed)
    return judged(found["p"] >= ALPHA, _numbers(found))


def _rnng_small_data(one: Evidence) -> Judgement:
    means = one.mean_accuracies("corpus", "class", "model")
    said, is_best = [], True
    for kind in ("verb_noun", "subordination"):
        keys = [(SMALL, kind, model) for model in ("rnng", "lstm", "transformer")]
        if not all(key in means.index for key in keys):
            return untested("needs RNNGs, LSTMs and Transformers trained on CTB")
        rnng, lstm, transformer = (float(means[key]) for key in keys)
        is_best &= rnng > max(lstm, transformer)
        said.append(f"{prose_name(kind)}: {rnng:.3f} against {lstm:.3f} and {transformer:.3f}")
    return judged(is_best, "; ".join(said))


def _supervision_claim(one: Evidence, *, corpus: str, has_losses: bool) -> Judgement:
    found = one.estimates("supervision", corpus=corpus)
    if not found:
        pairs = f"RNNGs and LSTMs, or PLMs and Transformers, trained on {prose_name(corpus)}"
        return _lacks(one, "supervision", pairs)
    better = [_comparison(row) for row in found if significant(row, 1)]
    worse = [_comparison(row) for row in found if significant(row, -1)]
    said = f"better in {names_or_none(better)}; worse in {names_or_none(worse)}"
    reason = f"{len(found)} comparisons: {said}"
    if lost := [_comparison(row) for row in found if row["robustness"]]:
        changes = "; ".join(str(row["robustness"]) for row in found if row["robustness"])
        reason += f". Another model of the data differs for {names_or_none(lost)}: {changes}"
    return judged(bool(better) and bool(worse) == has_losses, reason)


def _syntax_is_easier(one: Evidence) -> Judgement:
    found = one.estimate("syntactic_semantic")
    plain = one.estimate("syntactic_semantic_bare")
    if found is None:
        return _lacks(one, "syntactic_semantic", "neural models on all classes")
    said = f"all modifiers: {_numbers(found)}"
    said += f"; without modifiers: {_numbers(plain)}" if plain else ""
    return judged(found["estimate"] > 0 and found["p"] < 0.001, said)


def _clauses(one: Evidence, *, models: Sequence[str], degrades: bool) -> Judgement:
    """Judge whether single and coordinated clauses all lower accuracy, or none of them does."""
    kinds = ("subject_rc", "coordinated_rc")
    found = modifier_effects(one)
    keys = [(model, kind) for model in models for kind in kinds]
    rows = {key: found[key] for key in keys if key in found}
    if len(rows) != len(keys):
        needed = f"{' and '.join(prose_name(model) for model in models)} on missing object"
        return _lacks(one, "modifier_effects", needed)
    said = "; ".join(
        f"{prose_name(model)}, {prose_name(modifier)}: {_numbers(row)}"
        for (model, modifier), row in rows.items()
    )
    falls = [significant(row, -1) for row in rows.values()]
    by_lme4 = [row["estimate"] < 0 and row["p_lme4"] < ALPHA for row in rows.values()]
    if degrades and not all(falls) and all(by_lme4):
        return depends(f"the optimum: with lme4's defaults all p are below .05, but: {said}")
    return judged(all(falls) if degrades else not any(falls), said)


def _embedding(one: Evidence) -> Judgement:
    found = modifier_effects(one)
    rows = {
        model: found[model, "embedded_rc"] for model in NEURAL if (model, "embedded_rc") in found
    }
    if set(rows) != set(NEURAL):
        return _lacks(one, "modifier_effects", "all four architectures on missing object")
    said = "; ".join(f"{prose_name(model)} {_numbers(row)}" for model, row in rows.items())
    sequential = max(rows[model]["estimate"] for model in ("lstm", "transformer"))
    syntactic = min(rows[model]["estimate"] for model in ("rnng", "plm"))
    falls = all(significant(row, -1) for row in rows.values())
    return judged(falls and sequential < syntactic, said)


def modifier_effects(one: Evidence) -> dict[tuple[str, str], _Row]:
    """Return the effects of modifiers on missing object, by model and modifier."""
    return {
        (str(row["model"]), str(row["term"]).removeprefix("modifier[").removesuffix("]")): row
        for row in one.coefficients("modifier_effects")
        if str(row["term"]).startswith("modifier[")
    }


def _objects_are_easier(one: Evidence) -> Judgement:
    classes = ["garden_path_object", "garden_path_subject"]
    means = one.mean_accuracies("corpus", "model", "class").unstack("class")
    if not set(classes) <= set(means.columns):
        return untested("needs both garden-path classes")
    both = means[classes].dropna()
    both = both[both.index.get_level_values("model").isin(NEURAL)]
    if both.empty:
        return untested("needs neural models on both garden-path classes")
    easier = both[classes[0]] > both[classes[1]]
    said = f"object above subject for {int(easier.sum())} of {len(easier)} models"
    return judged(bool(len(easier)) and bool(easier.all()), said)


def _object_effect(one: Evidence) -> Judgement:
    rows = _garden_path_rows(one, "garden_path_object")
    if not rows:
        return _lacks(one, "garden_path", "neural models on garden-path objects")
    is_positive = all(row["estimate"] > 0 for row in rows)
    if is_positive and not all(significant(row, 1) for row in rows):
        return depends(f"whether a positive mean counts that is not significant: {_bits(rows)}")
    return judged(is_positive, _bits(rows))


def _object_effect_grows(one: Evidence) -> Judgement:
    rows = _garden_path_rows(one, "garden_path_object")
    means = {(row["model"], row["corpus"]): row["estimate"] for row in rows}
    models = [m for m in NEURAL if (m, SMALL) in means and (m, LARGE) in means]
    if not models:
        return untested("needs models trained on both corpora")
    said = "; ".join(
        f"{prose_name(m)} {rounded(means[m, SMALL])} → {rounded(means[m, LARGE])}" for m in models
    )
    return judged(all(means[m, LARGE] > means[m, SMALL] for m in models), said)


def _garden_path_rows(one: Evidence, kind: str) -> list[_Row]:
    rows = [r for r in one.estimates("garden_path", **{"class": kind}) if r["model"] in NEURAL]
    return sorted(rows, key=lambda row: (row["corpus"], NEURAL.index(row["model"])))


def _only_rnng_has_subject_effect(one: Evidence) -> Judgement:
    rows = _garden_path_rows(one, "garden_path_subject")
    if not any(row["model"] == "rnng" and row["corpus"] == LARGE for row in rows):
        return untested("needs RNNGs trained on the larger corpus")
    positive = [row for row in rows if significant(row, 1)]
    is_alone = [(row["model"], row["corpus"]) for row in positive] == [("rnng", LARGE)]
    return judged(is_alone, f"significantly above 0: {_bits(positive) if positive else 'none'}")


def _rnng_subject_effect(one: Evidence) -> Judgement:
    """Judge the significance of the effect of RNNGs, over items of all runs and by item."""
    wanted = {"class": "garden_path_subject", "model": "rnng", "corpus": LARGE}
    found = one.estimate("garden_path", **wanted)
    if found is None:
        return untested("needs RNNGs trained on the larger corpus")
    said = f"{_bits([found])} over items and runs (t = {rounded(found['statistic'])})"
    if by_item := one.estimate("garden_path_by_item", **wanted):
        said += f"; {p_value(by_item['p'])} over items averaged over runs"
    return judged(significant(found, 1) and found["p"] < 0.001, said)


def _plm_is_positive(one: Evidence) -> Judgement:
    wanted = {"class": "garden_path_subject", "model": "plm", "corpus": LARGE}
    found = one.estimate("garden_path", **wanted)
    if found is None:
        return untested("needs PLMs trained on the larger corpus")
    return judged(found["estimate"] > 0 and found["p"] >= ALPHA, _bits([found]))


def _lacks(one: Evidence, analysis: str, needed: str) -> Judgement:
    """Say what a claim needs, and why its analysis has no estimate for it."""
    reasons = "; ".join(one.skipped(analysis))
    return untested(f"needs {needed}" + (f" ({reasons})" if reasons else ""))


def _numbers(row: _Row) -> str:
    numbers = (rounded(row["estimate"]), rounded(row["standard_error"]), p_value(row["p"]))
    text = "b = {}, SE {}, {}".format(*numbers)
    remarks = ["singular fit"] if row.get("singular") else []
    p = float(row["p_satterthwaite"])
    if (p < ALPHA) != (row["p"] < ALPHA) and not math.isnan(p):
        remarks.append(f"with Satterthwaite's degrees of freedom {p_value(p)}")
    remarks += [str(row["robustness"])] if row["robustness"] else []
    return f"{text} ({'; '.join(remarks)})" if remarks else text


def _bits(rows: Sequence[_Row]) -> str:
    return "; ".join(
        f"{prose_name(row['model'])} ({prose_name(row['corpus'])}) {rounded(row['estimate'])} "
        f"bits, {p_value(row['p'])}"
        for row in rows
    )


def _comparison(row: _Row) -> str:
    model = "RNNG" if row["architecture"] == "recurrent" else "PLM"
    return f"{prose_name(row['class'])} ({model}, {p_value(row['p'])})"


MANDARIN_CLAIMS = (
    ClaimSpec(
        "section 4, Figure 1", "The n-gram baseline is the least accurate model.", _ngram_is_worst
    ),
    ClaimSpec(
        "section 4, Figure 2",
        "Transformers trained on the larger corpus are more accurate than those trained on CTB "
        "(p < .05); for the other architectures the effect of data size is less clear.",
        _data_size,
    ),
    ClaimSpec(
        "section 4",
        "On subordination, RNNGs trained on CTB are about as accurate as LSTMs trained on the "
        "larger corpus (p = .938).",
        _rnng_reaches_lstm,
    ),
    ClaimSpec(
        "section 4, Figure 1",
        "Trained on CTB, RNNGs are more accurate than LSTMs and Transformers on verb-noun and "
        "subordination.",
        _rnng_small_data,
    ),
    ClaimSpec(
        "section 4, Table 1",
        "Trained on CTB, syntactic models are significantly better than their counterparts, or "
        "comparable, in all classes.",
        partial(_supervision_claim, corpus=SMALL, has_losses=False),
    ),
    ClaimSpec(
        "section 4, Table 1",
        "Trained on the larger corpus, syntactic models are better in some classes and worse in "
        "others.",
        partial(_supervision_claim, corpus=LARGE, has_losses=True),
    ),
    ClaimSpec(
        "section 4, Figure 6",
        "Accuracy is higher on syntactic than on semantic classes (p < .001).",
        _syntax_is_easier,
    ),
    ClaimSpec(
        "section 4.1, Table 5",
        "LSTMs and Transformers lose accuracy on missing object with single and coordinated "
        "relative clauses.",
        partial(_clauses, models=("lstm", "transformer"), degrades=True),
    ),
    ClaimSpec(
        "section 4.1, Table 5",
        "RNNGs and PLMs do not lose accuracy significantly with these clauses.",
        partial(_clauses, models=("rnng", "plm"), degrades=False),
    ),
    ClaimSpec(
        "section 4.1, Table 5",
        "Embedded relative clauses lower the accuracy of all architectures, that of RNNGs and "
        "PLMs least.",
        _embedding,
    ),
    ClaimSpec(
        "section 4.2, Figure 1",
        "Neural models are more accurate on garden-path objects than on garden-path subjects.",
        _objects_are_easier,
    ),
    ClaimSpec(
        "section 4.2, Figure 4a",
        "All neural models have a positive mean effect on garden-path objects.",
        _object_effect,
    ),
    ClaimSpec(
        "section 4.2, Figure 4a",
        "The effect on garden-path objects is larger with the larger corpus.",
        _object_effect_grows,
    ),
    ClaimSpec(
        "section 4.2, Figure 4b",
        "Only RNNGs trained on the larger corpus have a significantly positive effect on "
        "garden-path subjects.",
        _only_rnng_has_subject_effect,
    ),
    ClaimSpec(
        "section 4.2, Figure 4b",
        "This effect of RNNGs is significant at p < .001.",
        _rnng_subject_effect,
    ),
    ClaimSpec(
        "section 4.2, Figure 4b",
        "The effect of PLMs trained on the larger corpus on garden-path subjects is positive but "
        "not significant.",
        _plm_is_positive,
    ),
)
