"""Wang et al. 2021: six classes of Mandarin grammar, five architectures, two training corpora."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from gardenpath.eval.display import family_rank
from gardenpath.eval.statistics.questions.wording import prose_name
from gardenpath.eval.studies.evidence import Evidence
from gardenpath.eval.studies.papers.mandarin_claims import (
    LARGE,
    MANDARIN_CLAIMS,
    NEURAL,
    SMALL,
    modifier_effects,
)
from gardenpath.eval.studies.papers.mandarin_corpora import (
    corpus_cells,
    length_cells,
    network_cells,
    perplexity_cells,
)
from gardenpath.eval.studies.study_means import mean_cell, stars
from gardenpath.eval.studies.study_parts import FigureStyle, StudyCell
from gardenpath.eval.studies.study_spec import PartSpec, StudySpec

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
        mark = stars(_as_published(found))
        sign = "✓" if found["estimate"] > 0 else "✗"
        yield StudyCell(
            source=one.source,
            row=str(found["class"]),
            column=_key(pair, str(found["corpus"])),
            value=float(found["estimate"]),
            text=sign + mark if mark else "–",
            note=_estimate_text(found),
        )


def _as_published(found: Mapping[str, Any]) -> float:
    """Return the p value of lme4's defaults, which the paper used; else the exact one."""
    return float(found["p"] if math.isnan(found["p_lme4"]) else found["p_lme4"])


def _estimate_text(found: Mapping[str, Any]) -> str:
    """Say estimate and p as computed, and p of other tests and models of the same data."""
    texts = [
        f"b = {found['estimate']:.3f}, SE {found['standard_error']:.3f}, {_p(found['p'])}",
        f"with lme4's defaults {_p(_as_published(found))}",
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
            stars=stars(_as_published(found)),
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
            "is more accurate, ✗: less accurate; * p ≤ .05, ** p ≤ .01, *** p ≤ .001, with lme4's "
            "defaults as in the paper. The notes on cells have the exact numbers, and say which "
            "effects are not significant if runs are nested within models: the first LSTM and the "
            "first RNNG have nothing in common but their number.",
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
            "of lme4's defaults and the normal approximation, as in the paper. lme4's default "
            "optimiser stops early here: the notes on cells have p at the better optimum, and with "
            "Satterthwaite's degrees of freedom.",
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
