"""Hu et al. 2020: licensing of reflexives, with the pronoun constant and the context varied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from gardenpath.eval.statistics.inference.intervals import bootstrap_mean
from gardenpath.eval.studies.evidence import Evidence, names_or_none
from gardenpath.eval.studies.model_rows import ModelRows, corpora_of, rows_by_model
from gardenpath.eval.studies.papers.reflexives_claims import reflexives_claims
from gardenpath.eval.studies.papers.reflexives_measures import (
    PRONOUNS,
    REFLEXIVE_MODELS,
    of_pronoun,
    reflexive_accuracies,
    reflexive_effects,
)
from gardenpath.eval.studies.study_means import short_count
from gardenpath.eval.studies.study_parts import FigureStyle, ItemChoice, StudyCell
from gardenpath.eval.studies.study_spec import PartSpec, StudySpec
from gardenpath.eval.suites.scoring.effects import DISTRACTOR, UNGRAMMATICAL

# Experiments of Figure 2, and the letters of its two kinds of bars.
_FIGURE = ("exp1b", "exp2b")
_BARS = {"D": DISTRACTOR, "U": UNGRAMMATICAL}

_LABELS = {
    **REFLEXIVE_MODELS.labels,
    "exp1a": "Relative clause (Exp. 1a)",
    "exp2a": "Relative clause (Exp. 2a)",
    "exp1b": "Sentential complement (Exp. 1b)",
    "exp2b": "Sentential complement (Exp. 2b)",
    "exp3": "Prepositional phrase (Exp. 3)",
    "tokens": "training tokens",
    "vocabulary": "vocabulary size",
}


def _row_labels(one: Evidence) -> dict[str, str]:
    return {rows.key: rows.label for rows in _models(one)}


def _models(one: Evidence) -> list[ModelRows]:
    corpora = corpora_of(one.data.items, one.data.effects)
    return rows_by_model(one.data.items, REFLEXIVE_MODELS, corpora=corpora)


def _training_data(one: Evidence) -> Iterator[StudyCell]:
    """Yield the size of the training corpus of each model and its pronouns, if they are known."""
    table = one.data.corpora
    if table is None:
        return
    train = table[table["split"] == "train"].set_index("corpus")
    names = {"tokens": "tokens", "vocabulary": "vocabulary"}
    names |= {f"count_{pronoun}": pronoun for pronoun in PRONOUNS}
    for rows in _models(one):
        known = train.loc[rows.corpus].dropna() if rows.corpus in train.index else {}
        for name, column in names.items():
            if name in known:
                value = int(known[name])
                yield StudyCell(
                    source=one.source, row=rows.key, column=column, value=value,
                    text=short_count(value),
                )  # fmt: skip


def _accuracies(one: Evidence, *, items: ItemChoice) -> Iterator[StudyCell]:
    for found in reflexive_accuracies(one, items):
        yield StudyCell(
            source=one.source,
            row=found.experiment,
            column=found.key,
            value=found.value,
            low=found.low,
            high=found.high,
            n=found.n,
            note=f"no items with {names_or_none(found.lacking)}" if found.lacking else "",
        )


def _differences(one: Evidence) -> Iterator[StudyCell]:
    for experiment in _FIGURE:
        for pronoun in PRONOUNS:
            for letter, effect in _BARS.items():
                for found in reflexive_effects(one, experiment, effect):
                    values = of_pronoun(found, pronoun)
                    if not len(values):
                        continue
                    interval = bootstrap_mean(values)
                    yield StudyCell(
                        source=one.source, panel=experiment, row=found.key,
                        column=f"{pronoun} {letter}", value=interval.mean, low=interval.low,
                        high=interval.high, n=interval.n,
                    )  # fmt: skip


def reflexives_study(items: ItemChoice = "paper") -> StudySpec:
    """Return the study; ``items``: whether Table 3 has the paper's items, or all released ones."""
    used = {
        "paper": "Exps. 2a, 2b and 3: the 60 of 75 released items per pronoun that the paper used.",
        "all": "Exps. 2a, 2b and 3: all released items; the paper used 60 of 75 per pronoun.",
    }
    return StudySpec(
        name="reflexives",
        title="Reflexives: a closer look at anaphor licensing",
        reference="Hu, Chen and Levy 2020",
        labels=_LABELS,
        row_labels=_row_labels,
        claims=reflexives_claims(items),
        parts=(
            PartSpec(
                number="Table 2", title="Training data of the models", cells=_training_data,
                lacking="files of surprisals do not contain it; it is computed for the corpora of "
                "own runs", digits=0,
                note="The last three columns are counts of the pronouns in the training data.",
            ),
            PartSpec(
                number="Table 3", title="Accuracy by experiment and model",
                cells=partial(_accuracies, items=items),
                lacking="there are no models on these suites",
                note="Accuracy per pronoun, then the mean of the three; chance is 1/3. Intervals: "
                f"1.96·√(p(1 − p)/n) over the pooled items. {used[items]}",
            ),
            PartSpec(
                number="Figure 2", title="Surprisal of the pronoun compared with the baseline",
                cells=_differences,
                lacking="there are no models on sentential complements (Exps. 1b and 2b)",
                style=FigureStyle(y_label="bits", reference=0.0),
                note="D: distractor − baseline; U: ungrammatical − baseline; means over all items "
                "with bootstrapped 95 % intervals.",
            ),
        ),
    )  # fmt: skip
