"""The claims of Wang et al. 2021, each judged by the data of a source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from gardenpath.eval.display import EXACT, family_rank
from gardenpath.eval.perplexity import JOINT, MARGINAL
from gardenpath.eval.statistics.wording import ALPHA, p_value, prose_name, rounded
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
    nearly = [row["estimate"] < 0 and row["p"] < 0.1 for row in rows.values()]
    if degrades and not all(falls) and all(nearly):
        return depends(f"the level of significance: all p are below .1, but not below .05: {said}")
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


# ----------------------------------------------------------------------------
# Cells of Wang et al. 2021 on corpora and networks, which files of surprisals do not contain.


# Numbers of words of a sentence.
_LENGTHS = (*(f"{low + 1}–{low + 10}" for low in range(0, 100, 10)), "over 100")


def perplexity_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield perplexities of words: of syntactic models, those marginalised over trees."""
    table = one.data.perplexity
    if table is None:
        return
    table = table[~table["model"].str.endswith(JOINT) & (table["model"] != EXACT)]
    table = table.assign(model=table["model"].str.removesuffix(MARGINAL))
    means = table.groupby(["model", "trained_on"], sort=False)["perplexity"].mean()
    for (model, corpus), value in means.items():
        yield StudyCell(source=one.source, row=str(model), column=str(corpus), value=float(value))


def corpus_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield numbers of words and sizes of vocabularies of the training corpora."""
    table = one.data.corpora
    if table is None:
        return
    for row in table[table["split"] == "train"].to_dict("records"):
        for column in ("tokens", "vocabulary"):
            if row[column] is None or math.isnan(row[column]):
                continue
            value = int(row[column])
            yield StudyCell(
                source=one.source, row=row["corpus"], column=column, value=value,
                text=short_count(value),
            )  # fmt: skip


def network_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield the sizes of neural networks; of runs with one name but several sizes, all of them."""
    table = one.data.networks
    if table is None:
        return
    for model, rows in table[table["model"].isin(NEURAL)].groupby("model", sort=False):
        for column in ("layers", "hidden", "embedding"):
            values = sorted(set(rows[column]))
            yield StudyCell(
                source=one.source, row=str(model), column=column, value=float(values[0]),
                text="" if len(values) == 1 else ", ".join(map(str, values)),
            )  # fmt: skip


def length_cells(one: Evidence) -> Iterator[StudyCell]:
    """Yield the share of sentences by length in each training corpus, and the longest."""
    table = one.data.lengths
    if table is None:
        return
    table = table[(table["split"] == "train") & (table["sentences"] > 0)]
    for corpus, rows in table.groupby("corpus", sort=False):
        total = float(rows["sentences"].sum())
        bins = (rows["length"] - 1).clip(0, 10 * len(_LENGTHS) - 1) // 10
        counts = rows.groupby(bins)["sentences"].sum()
        keys: dict[str, Any] = {"source": one.source, "row": str(corpus)}
        for number, column in enumerate(_LENGTHS):
            share = 100.0 * float(counts.get(number, 0)) / total
            yield StudyCell(panel="share", column=column, value=share, text=f"{share:.2f}", **keys)
        longest = float(rows["length"].max())
        yield StudyCell(panel="longest", column="words", value=longest, **keys)


# ----------------------------------------------------------------------------
# Wang et al. 2021: six classes of Mandarin grammar, five architectures, two training corpora.


MANDARIN_CLASSES = (
    "classifier_noun",
    "garden_path_object",
    "garden_path_subject",
    "verb_noun",
    "missing_object",
    "subordination",
)
GARDEN_PATHS = ("garden_path_object", "garden_path_subject")
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


def _row_labels(one: Evidence) -> dict[str, str]:
    """Return labels as in the paper: ``LSTM``, and ``LSTM-Xinhua`` for the larger corpus."""
    labels = {}
    for model, corpus in _runs(one.accuracies):
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
    found = table[["model", "corpus"]].drop_duplicates().itertuples(index=False, name=None)
    order = {SMALL: 0, LARGE: 1}
    return sorted(found, key=lambda run: (order.get(run[1], 2), run[1], family_rank(run[0])))


def _grouped(
    one: Evidence, table: pd.DataFrame, column: str, order: Sequence[str], panel: str = ""
) -> Iterator[StudyCell]:
    """Yield mean accuracies with intervals: models as rows, values of a column as columns."""
    for model, corpus in _runs(table):
        rows = table[(table["model"] == model) & (table["corpus"] == corpus)]
        for value in order:
            chosen = rows[rows[column] == value]["accuracy"]
            if len(chosen):
                row = _key(model, corpus)
                yield mean_cell(chosen, source=one.source, row=row, column=value, panel=panel)


def _by_class(one: Evidence) -> Iterator[StudyCell]:
    ties = one.data.items.groupby(["model", "corpus", "class"])["tie"].agg(["sum", "size"])
    said = {
        (
            _key(model, corpus),
            kind,
        ): f"{count} of {total} comparisons are ties; they count one half "
        "here, and the paper flipped a coin for each"
        for (model, corpus, kind), count, total in ties.itertuples(name=None)
        if count
    }
    for cell in _grouped(one, one.accuracies, "class", MANDARIN_CLASSES):
        yield replace(cell, note=said.get((cell.row, cell.column), ""))


def _overall(one: Evidence) -> Iterator[StudyCell]:
    return _grouped(one, one.accuracies.assign(column="accuracy"), "column", ["accuracy"])


def _by_complexity(one: Evidence) -> Iterator[StudyCell]:
    table = one.accuracies
    table = table[(table["class"] == "missing_object") & table["model"].isin(NEURAL)]
    return _grouped(one, table, "modifier", COMPLEXITY)


def _suites(one: Evidence) -> Iterator[StudyCell]:
    for kind in MANDARIN_CLASSES:
        table = one.accuracies[one.accuracies["class"] == kind]
        yield from _grouped(one, table, "modifier", MODIFIERS, panel=kind)


def _supervision(one: Evidence) -> Iterator[StudyCell]:
    for found in one.estimates("supervision"):
        pair = _PAIRS[str(found["architecture"])]
        mark = stars(found["p"])
        sign = "✓" if found["estimate"] > 0 else "✗"
        yield StudyCell(
            source=one.source,
            row=str(found["class"]),
            column=_key(pair, str(found["corpus"])),
            value=float(found["estimate"]),
            text=sign + mark if mark else "–",
            note=_estimate_text(found),
        )


def _estimate_text(found: Mapping[str, Any]) -> str:
    """Say estimate and p as computed, and p of other tests and models of the same data."""
    texts = [
        f"b = {found['estimate']:.3f}, SE {found['standard_error']:.3f}, {_p(found['p'])}",
    ]
    if not math.isnan(found["p_satterthwaite"]):
        texts.append(f"with Satterthwaite's degrees of freedom {_p(found['p_satterthwaite'])}")
    texts += ["singular fit"] if found["singular"] else []
    texts += [str(found["robustness"])] if found["robustness"] else []
    return "; ".join(texts).replace("-", "−")


def _p(value: float) -> str:
    return "p < .0001" if value < 0.0001 else f"p = {value:.4f}".replace("0.", ".", 1)


def _garden_paths(one: Evidence) -> Iterator[StudyCell]:
    items = one.data.items
    for kind in GARDEN_PATHS:
        table = items[(items["class"] == kind) & items["model"].isin(NEURAL)]
        for model, corpus in _runs(table):
            rows = table[(table["model"] == model) & (table["corpus"] == corpus)]
            yield mean_cell(
                rows["difference_bits"], source=one.source, panel=kind, row=model, column=corpus
            )


def _items(one: Evidence) -> Iterator[StudyCell]:
    counts = one.data.items.groupby(["class", "modifier"])["item"].nunique()
    for kind in MANDARIN_CLASSES:
        for modifier in MODIFIERS:
            if (kind, modifier) in counts.index:
                count = int(counts.loc[kind, modifier])
                yield StudyCell(source=one.source, row=kind, column=modifier, value=count)


def _pooled(one: Evidence) -> str:
    """Return the panel of values over both corpora; a source with one of them has its own panel.

    The published values are of both corpora, so that others must not be compared with them.
    """
    corpora = list(dict.fromkeys(one.accuracies["corpus"]))
    if set(corpora) == {SMALL, LARGE}:
        return ""
    return f"{' and '.join(prose_name(name) for name in corpora if name) or 'these models'} only"


def _categories(one: Evidence) -> Iterator[StudyCell]:
    table = one.accuracies[one.accuracies["model"].isin(NEURAL)]
    for category, classes in CATEGORIES.items():
        rows = table[table["class"].isin(classes)]
        for column, chosen in (("none", rows[rows["modifier"] == "none"]), ("all", rows)):
            if len(chosen):
                yield mean_cell(
                    chosen["accuracy"], source=one.source, panel=_pooled(one), row=category,
                    column=column,
                )  # fmt: skip


def _modifiers(one: Evidence) -> Iterator[StudyCell]:
    for (model, modifier), found in modifier_effects(one).items():
        if model not in NEURAL:
            continue
        yield StudyCell(
            source=one.source,
            panel=_pooled(one),
            row=model,
            column=modifier,
            value=float(found["estimate"]),
            stars=stars(found["p"]),
            note=_estimate_text(found),
        )


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
        PartSpec(
            number="Figure 1", title="Accuracy by class and model", cells=_by_class,
            lacking=_NO_RUNS, style=_ACCURACY,
        ),
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
        PartSpec(
            number="Figure 2", title="Mean accuracy by model", cells=_overall, lacking=_NO_RUNS,
            style=_ACCURACY,
        ),
        PartSpec(
            number="Figure 3", title="Missing object: accuracy by complexity of the modifier",
            cells=_by_complexity, lacking=_NO_NEURAL,
            style=FigureStyle(y_label="accuracy", limits=(0.0, 1.03), connected=True),
        ),
        PartSpec(
            number="Figure 4", title="Garden paths: S(general) − S(specific classifier), in bits",
            cells=_garden_paths, lacking=_NO_NEURAL,
            style=FigureStyle(y_label="bits", reference=0.0),
        ),
        PartSpec(
            number="Table 2", title="Items of each suite", cells=_items, lacking=_NO_RUNS, digits=0
        ),
        PartSpec(
            number="Table 3a", title="Size of the networks", cells=network_cells,
            lacking="files of surprisals do not contain it; it is read from own neural runs",
            digits=0,
        ),
        PartSpec(
            number="Table 3b", title="Perplexity on the test set of the treebank",
            cells=perplexity_cells, lacking=_OF_CORPORA, digits=0,
            note="Perplexities with different vocabularies are not comparable one to one.",
        ),
        PartSpec(
            number="Table 4", title="Training corpora", cells=corpus_cells, lacking=_OF_CORPORA,
            digits=0,
        ),
        PartSpec(
            number="Figure 5", title="Length of sentences, in words", cells=length_cells,
            lacking=_OF_CORPORA, style=FigureStyle(connected=True, same_scale=False), digits=0,
            note="Training sets. The paper compares its Mandarin corpora with BLLIP-sm and prints "
            "the lengths of the longest sentences.",
        ),
        PartSpec(
            number="Figure 6", title="Accuracy on semantic and syntactic classes",
            cells=_categories, lacking=_NO_NEURAL, style=_ACCURACY,
        ),
        PartSpec(
            number="Table 5", title="Missing object: effect of modifiers on accuracy",
            cells=_modifiers, lacking="it needs runs on missing object with all four modifiers",
            analysis=["modifier_effects"],
            note="Coefficients of linear mixed models of both corpora together, compared with no "
            "modifier. Stars are those "
            "of the normal approximation, as in the paper, at the maximum of the likelihood; "
            "the notes on cells have p with Satterthwaite's degrees of freedom. The search of the "
            "paper's software stops before the maximum here; `modifier_effects.R` repeats it.",
        ),
        PartSpec(
            number="Table 6", title="Accuracy by model and class", cells=_by_class,
            lacking=_NO_RUNS, intervals=False,
            note="Ties count one half; the paper flipped a coin for each tie of its n-gram models, "
            "so that these cells can differ.",
        ),
        PartSpec(
            number="Figure 7", title="Accuracy on individual suites", cells=_suites,
            lacking=_NO_RUNS, style=_ACCURACY,
            note="The paper prints no numbers for this figure.",
        ),
    ),
)  # fmt: skip
