"""Wang et al. 2021: six classes of Mandarin grammar, five architectures, two training corpora.

``replicate`` computes ``MANDARIN`` from surprisals of the released suites. The claims of the paper
come first, each a function that judges it by the data of a source, then the cells of its tables and
figures. Files are read in ``mandarin_files``, analyses are defined in ``conf/analysis``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from gardenpath.eval.display import EXACT, family_rank
from gardenpath.eval.perplexity import JOINT, MARGINAL
from gardenpath.eval.statistics.answers import ALPHA, p_value, prose_name, rounded
from gardenpath.studies.study import (
    ClaimSpec,
    Evidence,
    FigureStyle,
    Judgement,
    PartSpec,
    StudyCell,
    StudySpec,
    depends,
    judged,
    mean_cell,
    names_or_none,
    short_count,
    significant,
    stars,
    untested,
)

NEURAL = ("lstm", "rnng", "transformer", "plm")
SMALL, LARGE = "ctb", "xinhua"
# Syntactic models by architecture.
_SYNTACTIC = {"recurrent": "RNNG", "attention": "PLM"}

_Row = Mapping[str, Any]


def _ngram_is_worst(evidence: Evidence) -> Judgement:
    means = evidence.mean_accuracies("corpus", "model")
    corpora = means.index.get_level_values(0).unique()
    tested = {c: means[c] for c in corpora if {"ngram"} < set(means[c].index)}
    if not tested:
        return untested("needs n-gram and neural models of one corpus")
    worst = {c: (m.idxmin(), m.min()) for c, m in tested.items()}
    said = (f"{prose_name(c)}: {prose_name(name)} ({low:.3f})" for c, (name, low) in worst.items())
    is_worst = all(name == "ngram" for name, _ in worst.values())
    return judged(is_worst, f"least accurate on {'; '.join(said)}")


def _data_size(evidence: Evidence) -> Judgement:
    by_model = {str(row["model"]): row for row in evidence.estimates("data_size")}
    rows = {model: by_model[model] for model in NEURAL if model in by_model}
    if "transformer" not in rows:
        needed = "Transformers trained on CTB and on the larger corpus"
        return _lacks(evidence, "data_size", needed)
    said = "; ".join(f"{prose_name(model)} {_numbers(row)}" for model, row in rows.items())
    others = [model for model in rows if model != "transformer" and rows[model]["p"] < ALPHA]
    effect = rows["transformer"]
    if effect["estimate"] > 0 and ALPHA <= effect["p"] < 0.055 and not others:
        on = "the optimiser and the random effects, as the Transformer's p is at the limit"
        return depends(f"{on}: {said}")
    return judged(significant(effect, 1) and not others, said)


def _rnng_reaches_lstm(evidence: Evidence) -> Judgement:
    estimate = evidence.estimate("syntax_or_data")
    if estimate is None:
        needed = "RNNGs trained on CTB and LSTMs trained on the larger corpus"
        return _lacks(evidence, "syntax_or_data", needed)
    return judged(estimate["p"] >= ALPHA, _numbers(estimate))


def _rnng_small_data(evidence: Evidence) -> Judgement:
    means = evidence.mean_accuracies("corpus", "class", "model")
    said, is_best = [], True
    for kind in ("verb_noun", "subordination"):
        keys = [(SMALL, kind, model) for model in ("rnng", "lstm", "transformer")]
        if not all(key in means.index for key in keys):
            return untested("needs RNNGs, LSTMs and Transformers trained on CTB")
        rnng, lstm, transformer = (float(means[key]) for key in keys)
        is_best &= rnng > max(lstm, transformer)
        said.append(f"{prose_name(kind)}: {rnng:.3f} against {lstm:.3f} and {transformer:.3f}")
    return judged(is_best, "; ".join(said))


def _supervision_claim(evidence: Evidence, *, corpus: str, has_losses: bool) -> Judgement:
    rows = evidence.estimates("supervision", corpus=corpus)
    if not rows:
        pairs = f"RNNGs and LSTMs, or PLMs and Transformers, trained on {prose_name(corpus)}"
        return _lacks(evidence, "supervision", pairs)
    names = [
        f"{prose_name(row['class'])} ({_SYNTACTIC[row['architecture']]}, {p_value(row['p'])})"
        for row in rows
    ]
    named = list(zip(rows, names, strict=True))
    better = [name for row, name in named if significant(row, 1)]
    worse = [name for row, name in named if significant(row, -1)]
    said = f"better in {names_or_none(better)}; worse in {names_or_none(worse)}"
    reason = f"{len(rows)} comparisons: {said}"
    if lost := [name for row, name in named if row["robustness"]]:
        changes = "; ".join(str(row["robustness"]) for row in rows if row["robustness"])
        reason += f". Another model of the data differs for {names_or_none(lost)}: {changes}"
    return judged(bool(better) and bool(worse) == has_losses, reason)


def _syntax_is_easier(evidence: Evidence) -> Judgement:
    effect = evidence.estimate("syntactic_semantic")
    plain = evidence.estimate("syntactic_semantic_bare")
    if effect is None:
        return _lacks(evidence, "syntactic_semantic", "neural models on all classes")
    said = f"all modifiers: {_numbers(effect)}"
    said += f"; without modifiers: {_numbers(plain)}" if plain else ""
    return judged(effect["estimate"] > 0 and effect["p"] < 0.001, said)


def _clauses(evidence: Evidence, *, models: Sequence[str], degrades: bool) -> Judgement:
    """Judge whether single and coordinated clauses all lower accuracy, or none of them does."""
    kinds = ("subject_rc", "coordinated_rc")
    effects = modifier_effects(evidence)
    keys = [(model, kind) for model in models for kind in kinds]
    rows = {key: effects[key] for key in keys if key in effects}
    if len(rows) != len(keys):
        needed = f"{' and '.join(prose_name(model) for model in models)} on missing object"
        return _lacks(evidence, "modifier_effects", needed)
    said = "; ".join(
        f"{prose_name(model)}, {prose_name(modifier)}: {_numbers(row)}"
        for (model, modifier), row in rows.items()
    )
    falls = [significant(row, -1) for row in rows.values()]
    nearly = [row["estimate"] < 0 and row["p"] < 0.1 for row in rows.values()]
    if degrades and not all(falls) and all(nearly):
        return depends(f"the level of significance: all p are below .1, but not below .05: {said}")
    return judged(all(falls) if degrades else not any(falls), said)


def _embedding(evidence: Evidence) -> Judgement:
    effects = modifier_effects(evidence)
    if not {(model, "embedded_rc") for model in NEURAL} <= set(effects):
        return _lacks(evidence, "modifier_effects", "all four architectures on missing object")
    rows = {model: effects[model, "embedded_rc"] for model in NEURAL}
    said = "; ".join(f"{prose_name(model)} {_numbers(row)}" for model, row in rows.items())
    sequential = max(rows[model]["estimate"] for model in ("lstm", "transformer"))
    syntactic = min(rows[model]["estimate"] for model in ("rnng", "plm"))
    falls = all(significant(row, -1) for row in rows.values())
    return judged(falls and sequential < syntactic, said)


def modifier_effects(evidence: Evidence) -> dict[tuple[str, str], _Row]:
    """Return the effects of modifiers on missing object, by model and modifier."""
    return {
        (str(row["model"]), str(row["term"]).removeprefix("modifier[").removesuffix("]")): row
        for row in evidence.estimates("modifier_effects", table="coefficients")
        if str(row["term"]).startswith("modifier[")
    }


def _objects_are_easier(evidence: Evidence) -> Judgement:
    classes = ["garden_path_object", "garden_path_subject"]
    means = evidence.mean_accuracies("corpus", "model", "class").unstack("class")
    if not set(classes) <= set(means.columns):
        return untested("needs both garden-path classes")
    both = means[classes].dropna()
    both = both[both.index.get_level_values("model").isin(NEURAL)]
    if both.empty:
        return untested("needs neural models on both garden-path classes")
    easier = both[classes[0]] > both[classes[1]]
    said = f"object above subject for {int(easier.sum())} of {len(easier)} models"
    return judged(bool(len(easier)) and bool(easier.all()), said)


def _object_effect(evidence: Evidence) -> Judgement:
    rows = _garden_path_rows(evidence, "garden_path_object")
    if not rows:
        return _lacks(evidence, "garden_path", "neural models on garden-path objects")
    is_positive = all(row["estimate"] > 0 for row in rows)
    if is_positive and not all(significant(row, 1) for row in rows):
        return depends(f"whether a positive mean counts that is not significant: {_bits(rows)}")
    return judged(is_positive, _bits(rows))


def _object_effect_grows(evidence: Evidence) -> Judgement:
    rows = _garden_path_rows(evidence, "garden_path_object")
    means = {(row["model"], row["corpus"]): row["estimate"] for row in rows}
    models = [m for m in NEURAL if (m, SMALL) in means and (m, LARGE) in means]
    if not models:
        return untested("needs models trained on both corpora")
    said = "; ".join(
        f"{prose_name(m)} {rounded(means[m, SMALL])} → {rounded(means[m, LARGE])}" for m in models
    )
    return judged(all(means[m, LARGE] > means[m, SMALL] for m in models), said)


def _garden_path_rows(evidence: Evidence, kind: str) -> list[_Row]:
    rows = [r for r in evidence.estimates("garden_path", **{"class": kind}) if r["model"] in NEURAL]
    return sorted(rows, key=lambda row: (row["corpus"], NEURAL.index(row["model"])))


def _only_rnng_has_subject_effect(evidence: Evidence) -> Judgement:
    rows = _garden_path_rows(evidence, "garden_path_subject")
    if ("rnng", LARGE) not in [(row["model"], row["corpus"]) for row in rows]:
        return untested("needs RNNGs trained on the larger corpus")
    positive = [row for row in rows if significant(row, 1)]
    is_alone = [(row["model"], row["corpus"]) for row in positive] == [("rnng", LARGE)]
    return judged(is_alone, f"significantly above 0: {_bits(positive) or 'none'}")


def _rnng_subject_effect(evidence: Evidence) -> Judgement:
    """Judge the significance of the effect of RNNGs, over items of all runs and by item."""
    wanted = {"class": "garden_path_subject", "model": "rnng", "corpus": LARGE}
    effect = evidence.estimate("garden_path", **wanted)
    if effect is None:
        return untested("needs RNNGs trained on the larger corpus")
    said = f"{_bits([effect])} over items and runs (t = {rounded(effect['statistic'])})"
    if by_item := evidence.estimate("garden_path_by_item", **wanted):
        said += f"; {p_value(by_item['p'])} over items averaged over runs"
    return judged(significant(effect, 1) and effect["p"] < 0.001, said)


def _plm_is_positive(evidence: Evidence) -> Judgement:
    wanted = {"class": "garden_path_subject", "model": "plm", "corpus": LARGE}
    effect = evidence.estimate("garden_path", **wanted)
    if effect is None:
        return untested("needs PLMs trained on the larger corpus")
    return judged(effect["estimate"] > 0 and effect["p"] >= ALPHA, _bits([effect]))


def _lacks(evidence: Evidence, analysis: str, needed: str) -> Judgement:
    """Say what a claim needs, and why its analysis has no estimate for it."""
    reasons = "; ".join(evidence.skipped(analysis))
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


MANDARIN_CLAIMS = (
    ClaimSpec("section 4, Figure 1", "The n-gram baseline is the least accurate model.",
              _ngram_is_worst),
    ClaimSpec("section 4, Figure 2",
              "Transformers trained on the larger corpus are more accurate than those trained on "
              "CTB (p < .05); for the other architectures the effect of data size is less clear.",
              _data_size),
    ClaimSpec("section 4",
              "On subordination, RNNGs trained on CTB are about as accurate as LSTMs trained on "
              "the larger corpus (p = .938).", _rnng_reaches_lstm),
    ClaimSpec("section 4, Figure 1",
              "Trained on CTB, RNNGs are more accurate than LSTMs and Transformers on verb-noun "
              "and subordination.", _rnng_small_data),
    ClaimSpec("section 4, Table 1",
              "Trained on CTB, syntactic models are significantly better than their counterparts, "
              "or comparable, in all classes.",
              partial(_supervision_claim, corpus=SMALL, has_losses=False)),
    ClaimSpec("section 4, Table 1",
              "Trained on the larger corpus, syntactic models are better in some classes and "
              "worse in others.", partial(_supervision_claim, corpus=LARGE, has_losses=True)),
    ClaimSpec("section 4, Figure 6",
              "Accuracy is higher on syntactic than on semantic classes (p < .001).",
              _syntax_is_easier),
    ClaimSpec("section 4.1, Table 5",
              "LSTMs and Transformers lose accuracy on missing object with single and coordinated "
              "relative clauses.",
              partial(_clauses, models=("lstm", "transformer"), degrades=True)),
    ClaimSpec("section 4.1, Table 5",
              "RNNGs and PLMs do not lose accuracy significantly with these clauses.",
              partial(_clauses, models=("rnng", "plm"), degrades=False)),
    ClaimSpec("section 4.1, Table 5",
              "Embedded relative clauses lower the accuracy of all architectures, that of RNNGs "
              "and PLMs least.", _embedding),
    ClaimSpec("section 4.2, Figure 1",
              "Neural models are more accurate on garden-path objects than on garden-path "
              "subjects.", _objects_are_easier),
    ClaimSpec("section 4.2, Figure 4a",
              "All neural models have a positive mean effect on garden-path objects.",
              _object_effect),
    ClaimSpec("section 4.2, Figure 4a",
              "The effect on garden-path objects is larger with the larger corpus.",
              _object_effect_grows),
    ClaimSpec("section 4.2, Figure 4b",
              "Only RNNGs trained on the larger corpus have a significantly positive effect on "
              "garden-path subjects.", _only_rnng_has_subject_effect),
    ClaimSpec("section 4.2, Figure 4b", "This effect of RNNGs is significant at p < .001.",
              _rnng_subject_effect),
    ClaimSpec("section 4.2, Figure 4b",
              "The effect of PLMs trained on the larger corpus on garden-path subjects is "
              "positive but not significant.", _plm_is_positive),
)  # fmt: skip


# Cells on corpora and networks, which files of surprisals do not contain.


def _perplexity_cells(evidence: Evidence) -> Iterator[StudyCell]:
    """Yield perplexities of words: of syntactic models, those marginalised over trees."""
    table = evidence.data.perplexity
    if table is None:
        return
    table = table[~table["model"].str.endswith(JOINT) & (table["model"] != EXACT)]
    table = table.assign(model=table["model"].str.removesuffix(MARGINAL))
    means = table.groupby(["model", "trained_on"], sort=False)["perplexity"].mean()
    for (model, corpus), value in means.items():
        yield StudyCell(row=str(model), column=str(corpus), value=float(value))


def _corpus_cells(evidence: Evidence) -> Iterator[StudyCell]:
    table = evidence.data.corpora
    if table is None:
        return
    for row in table[table["split"] == "train"].to_dict("records"):
        for column in ("tokens", "vocabulary"):
            if row[column] is not None and not math.isnan(row[column]):
                value = int(row[column])
                text = short_count(value)
                yield StudyCell(row=row["corpus"], column=column, value=value, text=text)


def _network_cells(evidence: Evidence) -> Iterator[StudyCell]:
    """Yield the sizes of neural networks; of runs with one name but several sizes, all of them."""
    table = evidence.data.networks
    if table is None:
        return
    for model, rows in table[table["model"].isin(NEURAL)].groupby("model", sort=False):
        for column in ("layers", "hidden", "embedding"):
            values = sorted(set(rows[column]))
            text = "" if len(values) == 1 else ", ".join(map(str, values))
            yield StudyCell(row=str(model), column=column, value=float(values[0]), text=text)


def _length_cells(evidence: Evidence) -> Iterator[StudyCell]:
    """Yield the share of sentences by length in each training corpus, and the longest."""
    table = evidence.data.lengths
    if table is None:
        return
    names = (*(f"{low + 1}–{low + 10}" for low in range(0, 100, 10)), "over 100")
    table = table[(table["split"] == "train") & (table["sentences"] > 0)]
    for corpus, rows in table.groupby("corpus", sort=False):
        row, total = str(corpus), float(rows["sentences"].sum())
        bins = (rows["length"] - 1).clip(0, 10 * len(names) - 1) // 10
        counts = rows.groupby(bins)["sentences"].sum()
        for number, column in enumerate(names):
            share = 100.0 * float(counts.get(number, 0)) / total
            text = f"{share:.2f}"
            yield StudyCell(panel="share", row=row, column=column, value=share, text=text)
        longest = float(rows["length"].max())
        yield StudyCell(panel="longest", row=row, column="words", value=longest)


# Cells on accuracies and effects.

MANDARIN_CLASSES = (
    "classifier_noun",
    "garden_path_object",
    "garden_path_subject",
    "verb_noun",
    "missing_object",
    "subordination",
)
CATEGORIES = {
    "semantic": ("classifier_noun", "verb_noun"),
    "syntactic": ("missing_object", "subordination"),
}
COMPLEXITY = ("none", "subject_rc", "coordinated_rc", "embedded_rc")
MODIFIERS = ("none", "adjective", "object_rc", *COMPLEXITY[1:])

# Columns of Table 1 by architecture: a syntactic model and its sequential counterpart.
_PAIRS = {"recurrent": "rnng vs lstm", "attention": "plm vs transformer"}

_LABELS = {
    **{name: prose_name(name).capitalize() for name in MANDARIN_CLASSES},
    "object_rc": "object RC",
    "subject_rc": "subject RC",
    "coordinated_rc": "coordinated RCs",
    "embedded_rc": "embedded RCs",
    "none": "no modifier",
    "all": "all modifiers",
    "share": "share of sentences, in %",
    "longest": "longest sentence",
    "hidden": "hidden units",
    "embedding": "embedding size",
    "bllip_sm": "BLLIP-sm (English)",
}


def _row_labels(evidence: Evidence) -> dict[str, str]:
    """Return labels as in the paper: ``LSTM``, and ``LSTM-Xinhua`` for the larger corpus."""
    labels = {}
    for model, corpus in _runs(evidence.accuracies):
        suffix = "" if corpus in (SMALL, "") else f"-{prose_name(corpus).capitalize()}"
        labels[_key(model, corpus)] = prose_name(model) + suffix
        for pair in _PAIRS.values():
            names = " vs. ".join(prose_name(name) for name in pair.split(" vs "))
            labels[_key(pair, corpus)] = f"{names}, {prose_name(corpus)}" if corpus else names
    return labels


def _key(model: str, corpus: str) -> str:
    return f"{model} {corpus}".strip()


def _runs(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the models and corpora of a table: by corpus, models from simple to syntactic."""
    runs = table[["model", "corpus"]].drop_duplicates().itertuples(index=False, name=None)
    order = {SMALL: 0, LARGE: 1}
    return sorted(runs, key=lambda run: (order.get(run[1], 2), run[1], family_rank(run[0])))


def _grouped(
    table: pd.DataFrame, column: str, order: Sequence[str], panel: str = ""
) -> Iterator[StudyCell]:
    """Yield mean accuracies with intervals: models as rows, values of a column as columns."""
    for model, corpus in _runs(table):
        rows = table[(table["model"] == model) & (table["corpus"] == corpus)]
        for value in order:
            chosen = rows[rows[column] == value]["accuracy"]
            if len(chosen):
                yield mean_cell(chosen, row=_key(model, corpus), column=value, panel=panel)


def _by_class(evidence: Evidence) -> Iterator[StudyCell]:
    ties = evidence.data.items.groupby(["model", "corpus", "class"])["tie"].agg(["sum", "size"])
    notes = {
        (
            _key(model, corpus),
            kind,
        ): f"{count} of {total} comparisons are ties; they count one half "
        "here, and the paper flipped a coin for each"
        for (model, corpus, kind), count, total in ties.itertuples(name=None)
        if count
    }
    for cell in _grouped(evidence.accuracies, "class", MANDARIN_CLASSES):
        yield replace(cell, note=notes.get((cell.row, cell.column), ""))


def _overall(evidence: Evidence) -> Iterator[StudyCell]:
    return _grouped(evidence.accuracies.assign(column="accuracy"), "column", ["accuracy"])


def _by_complexity(evidence: Evidence) -> Iterator[StudyCell]:
    table = evidence.accuracies
    table = table[(table["class"] == "missing_object") & table["model"].isin(NEURAL)]
    return _grouped(table, "modifier", COMPLEXITY)


def _suites(evidence: Evidence) -> Iterator[StudyCell]:
    for kind in MANDARIN_CLASSES:
        table = evidence.accuracies[evidence.accuracies["class"] == kind]
        yield from _grouped(table, "modifier", MODIFIERS, panel=kind)


def _supervision(evidence: Evidence) -> Iterator[StudyCell]:
    for row in evidence.estimates("supervision"):
        mark = stars(row["p"])
        sign = "✓" if row["estimate"] > 0 else "✗"
        yield StudyCell(
            row=str(row["class"]),
            column=_key(_PAIRS[str(row["architecture"])], str(row["corpus"])),
            value=float(row["estimate"]),
            text=sign + mark if mark else "–",
            note=_estimate_text(row),
        )


def _estimate_text(row: Mapping[str, Any]) -> str:
    """Say estimate and p as computed, and p of other tests and models of the same data."""
    texts = [
        f"b = {row['estimate']:.3f}, SE {row['standard_error']:.3f}, {_p(row['p'])}",
    ]
    if not math.isnan(row["p_satterthwaite"]):
        texts.append(f"with Satterthwaite's degrees of freedom {_p(row['p_satterthwaite'])}")
    texts += ["singular fit"] if row["singular"] else []
    texts += [str(row["robustness"])] if row["robustness"] else []
    return "; ".join(texts).replace("-", "−")


def _p(value: float) -> str:
    return "p < .0001" if value < 0.0001 else f"p = {value:.4f}".replace("0.", ".", 1)


def _garden_paths(evidence: Evidence) -> Iterator[StudyCell]:
    items = evidence.data.items
    for kind in ("garden_path_object", "garden_path_subject"):
        table = items[(items["class"] == kind) & items["model"].isin(NEURAL)]
        for model, corpus in _runs(table):
            rows = table[(table["model"] == model) & (table["corpus"] == corpus)]
            yield mean_cell(rows["difference_bits"], panel=kind, row=model, column=corpus)


def _items(evidence: Evidence) -> Iterator[StudyCell]:
    counts = evidence.data.items.groupby(["class", "modifier"])["item"].nunique()
    for kind in MANDARIN_CLASSES:
        for modifier in MODIFIERS:
            if (kind, modifier) in counts.index:
                count = int(counts.loc[kind, modifier])
                yield StudyCell(row=kind, column=modifier, value=count)


def _pooled(evidence: Evidence) -> str:
    """Return the panel of values over both corpora; a source with one of them has its own panel.

    The published values are of both corpora, so that others must not be compared with them.
    """
    corpora = list(dict.fromkeys(evidence.accuracies["corpus"]))
    if set(corpora) == {SMALL, LARGE}:
        return ""
    return f"{' and '.join(prose_name(name) for name in corpora if name) or 'these models'} only"


def _categories(evidence: Evidence) -> Iterator[StudyCell]:
    table = evidence.accuracies[evidence.accuracies["model"].isin(NEURAL)]
    for category, classes in CATEGORIES.items():
        rows = table[table["class"].isin(classes)]
        for column, chosen in (("none", rows[rows["modifier"] == "none"]), ("all", rows)):
            if len(chosen):
                accuracies, panel = chosen["accuracy"], _pooled(evidence)
                yield mean_cell(accuracies, panel=panel, row=category, column=column)


def _modifiers(evidence: Evidence) -> Iterator[StudyCell]:
    for (model, modifier), row in modifier_effects(evidence).items():
        if model in NEURAL:
            yield StudyCell(
                panel=_pooled(evidence), row=model, column=modifier, value=float(row["estimate"]),
                stars=stars(row["p"]), note=_estimate_text(row),
            )  # fmt: skip


_ACCURACY = FigureStyle(y_label="accuracy", limits=(0.0, 1.03))
_NO_RUNS = "there are no runs on these suites"
_NO_NEURAL = "there are no neural models on these suites"
_OF_CORPORA = "files of surprisals do not contain it; it is computed for the corpora of own runs"

MANDARIN = StudySpec(
    name="mandarin",
    title="Mandarin: controlled evaluation of grammatical knowledge",
    reference="Wang, Hu, Levy and Qian 2021",
    labels=_LABELS,
    row_labels=_row_labels,
    perplexity=True,
    claims=MANDARIN_CLAIMS,
    parts=(
        PartSpec(number="Figure 1", title="Accuracy by class and model", cells=_by_class,
                 lacking=_NO_RUNS, style=_ACCURACY),
        PartSpec(
            number="Table 1", title="Syntactic models compared with their sequential counterparts",
            cells=_supervision,
            lacking="it needs RNNGs with LSTMs, or PLMs with Transformers, of one corpus",
            analysis=["supervision"],
            note="Logistic mixed models of the outcome of each comparison. ✓: the syntactic model "
            "is more accurate, ✗: less accurate; * p ≤ .05, ** p ≤ .01, *** p ≤ .001. The notes "
            "on cells have the numbers, and say which effects are not significant if runs are "
            "nested within models: the first LSTM and the first RNNG have nothing in common but "
            "their number.",
        ),
        PartSpec(number="Figure 2", title="Mean accuracy by model", cells=_overall,
                 lacking=_NO_RUNS, style=_ACCURACY),
        PartSpec(number="Figure 3", title="Missing object: accuracy by complexity of the modifier",
                 cells=_by_complexity, lacking=_NO_NEURAL,
                 style=FigureStyle(y_label="accuracy", limits=(0.0, 1.03), connected=True)),
        PartSpec(number="Figure 4",
                 title="Garden paths: S(general) − S(specific classifier), in bits",
                 cells=_garden_paths, lacking=_NO_NEURAL,
                 style=FigureStyle(y_label="bits", reference=0.0)),
        PartSpec(number="Table 2", title="Items of each suite", cells=_items, lacking=_NO_RUNS,
                 digits=0),
        PartSpec(number="Table 3a", title="Size of the networks", cells=_network_cells,
                 lacking="files of surprisals do not contain it; it is read from own neural runs",
                 digits=0),
        PartSpec(number="Table 3b", title="Perplexity on the test set of the treebank",
                 cells=_perplexity_cells, lacking=_OF_CORPORA, digits=0,
                 note="Perplexities with different vocabularies are not comparable one to one."),
        PartSpec(number="Table 4", title="Training corpora", cells=_corpus_cells,
                 lacking=_OF_CORPORA, digits=0),
        PartSpec(number="Figure 5", title="Length of sentences, in words", cells=_length_cells,
                 lacking=_OF_CORPORA, style=FigureStyle(connected=True, same_scale=False), digits=0,
                 note="Training sets. The paper compares its Mandarin corpora with BLLIP-sm and "
                 "prints the lengths of the longest sentences."),
        PartSpec(number="Figure 6", title="Accuracy on semantic and syntactic classes",
                 cells=_categories, lacking=_NO_NEURAL, style=_ACCURACY),
        PartSpec(number="Table 5", title="Missing object: effect of modifiers on accuracy",
                 cells=_modifiers,
                 lacking="it needs runs on missing object with all four modifiers",
                 analysis=["modifier_effects"],
                 note="Coefficients of linear mixed models of both corpora together, compared "
                 "with no modifier. Stars are those of the normal approximation, as in the paper, "
                 "at the maximum of the likelihood; the notes on cells have p with "
                 "Satterthwaite's degrees of freedom. The search of the paper's software stops "
                 "before the maximum here; `modifier_effects.R` repeats it."),
        PartSpec(number="Table 6", title="Accuracy by model and class", cells=_by_class,
                 lacking=_NO_RUNS, intervals=False,
                 note="Ties count one half; the paper flipped a coin for each tie of its n-gram "
                 "models, so that these cells can differ."),
        PartSpec(number="Figure 7", title="Accuracy on individual suites", cells=_suites,
                 lacking=_NO_RUNS, style=_ACCURACY,
                 note="The paper prints no numbers for this figure."),
    ),
)  # fmt: skip
