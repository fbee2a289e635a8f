"""Hu et al. 2020: licensing of reflexives, with the pronoun constant and the context varied.

``replicate`` computes ``reflexives_study`` from surprisals of the released stimuli or of our own
suites. Accuracies and effects come first, then the claims of the paper, each judged by the data of
a source, then the cells of its tables and figures. Files are read in ``reflexives_files``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.means import NORMAL, bootstrap_mean
from gardenpath.eval.statistics.answers import prose_name, rounded
from gardenpath.eval.suites.effects import DISTRACTOR, UNGRAMMATICAL
from gardenpath.settings.tasks import ItemChoice
from gardenpath.studies.reflexives_files import EXPERIMENTS_WITH_UNUSED_ITEMS, UNUSED_ITEMS
from gardenpath.studies.study import (
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
    names_or_none,
    short_count,
    untested,
)

REFLEXIVE_EXPERIMENTS = ("exp1a", "exp2a", "exp1b", "exp2b", "exp3")
PRONOUNS = ("themselves", "himself", "herself")
REFLEXIVE_MODELS = StudyModels(
    labels={
        "bert": "BERT",
        "trans": "TransXL",
        "jrnn": "JRNN",
        "grnn": "GRNN",
        "tiny": "TinyLSTM",
        "rnng": "RNNG",
        "ngram": "n-gram",
    },
    spellings={
        **dict.fromkeys(("transxl", "transformerxl"), "trans"),
        "tinylstm": "tiny",
        "5gram": "ngram",
    },
)
CHANCE = 1.0 / 3.0

# The released suites with new nouns have 75 items per pronoun, of which the paper used 60.
_RELEASED_ITEMS = 75
_SUITE = ["model", "corpus", "modifier", "pronoun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexiveAccuracy:
    """The accuracy of a model in an experiment: per pronoun, then the mean of all three.

    ``reach`` is the half-width of the 95 % interval of the pooled items. NaN if a pronoun lacks,
    with its name in ``lacking``.
    """

    experiment: str
    model: ModelRows
    value: float
    reach: float
    lacking: Sequence[str]

    @property
    def low(self) -> float:
        return self.value - self.reach

    @property
    def high(self) -> float:
        return self.value + self.reach


def chosen_items(table: pd.DataFrame, items: ItemChoice) -> pd.DataFrame:
    """Return the rows of the items that count.

    Suites of Exps. 2a, 2b and 3 with the 75 released items lose the 15 that the paper did not use;
    suites with another number of items, such as those of own runs, keep all.
    """
    if items == "all" or not len(table):
        return table
    sizes = table.groupby(_SUITE, dropna=False)["item"].transform("nunique")
    is_larger = table["modifier"].isin(EXPERIMENTS_WITH_UNUSED_ITEMS) & (sizes == _RELEASED_ITEMS)
    unused = [
        number in UNUSED_ITEMS.get(str(pronoun), ())
        for pronoun, number in zip(table["pronoun"], table["item"], strict=True)
    ]
    return table[~(is_larger & np.asarray(unused, dtype=bool))]


def _by_model(
    evidence: Evidence, table: pd.DataFrame, column: str, experiment: str, items: ItemChoice
) -> list[ModelRows]:
    """Return the values of the items of an experiment by model, as means over runs."""
    if "pronoun" not in table.columns:
        return []
    table = table[(table["class"] == "reflexives") & (table["modifier"] == experiment)]
    table = chosen_items(table, items)
    means = table.groupby([*_SUITE, "item"], sort=False, dropna=False)[column].mean()
    known = means[np.isfinite(means)].reset_index()
    return REFLEXIVE_MODELS.rows(known, evidence) if len(known) else []


def outcomes(evidence: Evidence, experiment: str, items: ItemChoice) -> list[ModelRows]:
    """Return the items of an experiment by model; their outcomes are means over runs."""
    return _by_model(evidence, evidence.data.items, "outcome", experiment, items)


def reflexive_accuracies(
    evidence: Evidence, items: ItemChoice, experiments: Sequence[str] = REFLEXIVE_EXPERIMENTS
) -> Iterator[ReflexiveAccuracy]:
    """Yield the accuracy of every model in the experiments, in the order of Table 3."""
    for experiment in experiments:
        for model in outcomes(evidence, experiment, items):
            by_pronoun = model.rows.groupby("pronoun")["outcome"].mean()
            lacking = [name for name in PRONOUNS if name not in by_pronoun.index]
            pooled = float(model.rows["outcome"].mean())
            reach = NORMAL * math.sqrt(pooled * (1.0 - pooled) / len(model.rows))
            yield ReflexiveAccuracy(
                experiment=experiment,
                model=model,
                value=math.nan if lacking else float(by_pronoun.loc[list(PRONOUNS)].mean()),
                reach=math.nan if lacking else reach,
                lacking=lacking,
            )


def reflexive_effects(evidence: Evidence, experiment: str, effect: str) -> list[ModelRows]:
    """Return an effect of all items of an experiment by model; values are means over runs."""
    table = evidence.data.effects
    table = table[table["effect"] == effect] if "effect" in table.columns else table
    return _by_model(evidence, table, "value_bits", experiment, "all")


def of_pronoun(model: ModelRows, pronoun: str) -> Floats:
    rows = model.rows[model.rows["pronoun"] == pronoun]
    return np.asarray(rows["value_bits"], dtype=np.float64)


# The claims, each judged by the data of a source.
#
# Where the paper gives no number: *near ceiling* is an accuracy of at least .90, *above chance* an
# interval above 1/3, and *well above chance* an interval above 1/2. A claim about several models
# is judged by those that the source has, and its reason names the others.

_LARGE = ("bert", "trans", "jrnn", "grnn")
_SMALL = ("tiny", "rnng")
Models = Sequence[str]
AccuracyCheck = Callable[[ReflexiveAccuracy], bool]

_CHECKS: Mapping[str, AccuracyCheck] = {
    "near ceiling": lambda accuracy: accuracy.value >= 0.90,
    "above chance": lambda accuracy: accuracy.low > CHANCE,
    "well above chance": lambda accuracy: accuracy.low > 0.50,
    "at chance": lambda accuracy: accuracy.low <= CHANCE <= accuracy.high,
    "perfect": lambda accuracy: accuracy.value == 1.0,
    # The accuracy of BERT in relative clauses after Goldberg (2019), with chance at 1/2.
    "below Goldberg": lambda accuracy: accuracy.value < 0.80,
}


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges claims about accuracies; ``items`` are those that count."""

    items: ItemChoice

    def accuracies(
        self, experiment: str, check: str, passing: Models, failing: Models, evidence: Evidence
    ) -> Judgement:
        """Judge whether some models pass a check in an experiment and the others do not.

        Models that should not pass say nothing alone: one that passes no check does so, too.
        """
        models = (*passing, *failing)
        known = self._known(evidence, experiment, models)
        if not any(accuracy.model.model in passing for accuracy in known):
            return _needs(passing, experiment)
        passes = _CHECKS[check]
        is_so = all(passes(accuracy) == (accuracy.model.model in passing) for accuracy in known)
        said = "; ".join(
            f"{accuracy.model.label} {accuracy.value:.3f} ± {accuracy.reach:.3f}"
            for accuracy in known
        )
        return judged(
            is_so,
            said + REFLEXIVE_MODELS.lacking([accuracy.model.model for accuracy in known], models),
        )

    def relative_clauses_are_harder(self, evidence: Evidence) -> Judgement:
        pairs = [
            (clause, complement)
            for clause in self._known(evidence, "exp1a", _LARGE)
            for complement in self._known(evidence, "exp1b", _LARGE)
            if clause.model.key == complement.model.key
        ]
        if not pairs:
            return untested("needs a model with Exps. 1a and 1b")
        said = "; ".join(
            f"{clause.model.label} {clause.value:.3f} in relative clauses, {complement.value:.3f} "
            "in complements"
            for clause, complement in pairs
        )
        lacking = REFLEXIVE_MODELS.lacking([clause.model.model for clause, _ in pairs], _LARGE)
        is_harder = all(clause.value < complement.value for clause, complement in pairs)
        return judged(is_harder, said + lacking)

    def supervision(self, evidence: Evidence, *, experiment: str, is_clear: bool) -> Judgement:
        """Judge whether RNNGs are more accurate than LSTMs of the same corpus, item by item."""
        models = {
            (model.model, model.corpus): model
            for model in outcomes(evidence, experiment, self.items)
        }
        pairs = [
            (models[sequential, corpus], models["rnng", corpus])
            for sequential in ("tiny", "lstm")
            for model, corpus in models
            if model == "rnng" and (sequential, corpus) in models
        ]
        if not pairs:
            return untested(f"needs an RNNG and an LSTM of one corpus in {_experiment(experiment)}")
        said, gains = [], []
        for lstm, rnng in pairs:
            both = rnng.rows.merge(lstm.rows, on=["pronoun", "item"], suffixes=("", "_lstm"))
            gain = bootstrap_mean(both["outcome"] - both["outcome_lstm"])
            gains.append(gain)
            said.append(
                f"{rnng.label} − {lstm.label} {rounded(gain.mean)}, 95 % interval "
                f"{rounded(gain.low)} to {rounded(gain.high)}"
            )
        reason = "; ".join(said)
        is_more, is_sure = all(gain.mean > 0 for gain in gains), all(gain.low > 0 for gain in gains)
        if not is_clear and is_more and not is_sure:
            return depends(f"whether a difference within sampling error counts: {reason}")
        return judged(is_more and (is_sure or not is_clear), reason)

    def _known(
        self, evidence: Evidence, experiment: str, models: Sequence[str]
    ) -> list[ReflexiveAccuracy]:
        return [
            accuracy
            for accuracy in reflexive_accuracies(evidence, self.items, [experiment])
            if accuracy.model.model in models and not accuracy.lacking
        ]


def _distractors(
    experiment: str,
    models: Models,
    against: Sequence[str],
    claimed: Literal["higher", "equal"],
    evidence: Evidence,
) -> Judgement:
    """Judge whether the distractor effect at *herself* is significantly higher than at others.

    If ``equal`` is claimed, judge whether the two do not differ significantly.
    """
    effects = reflexive_effects(evidence, experiment, DISTRACTOR)
    effects = [model for model in effects if model.model in models]
    if not effects:
        return _needs(models, experiment)
    said, is_so = [], True
    for model in effects:
        herself = of_pronoun(model, "herself")
        for pronoun in against:
            other = of_pronoun(model, pronoun)
            if min(len(herself), len(other)) < 2:
                return untested(f"{model.label} lacks items with herself or {pronoun}")
            more, reach = _difference(herself, other)
            is_so &= more > reach if claimed == "higher" else abs(more) <= reach
            said.append(f"{model.label}, herself − {pronoun}: {rounded(more)} ± {rounded(reach)}")
    lacking = REFLEXIVE_MODELS.lacking([model.model for model in effects], models)
    return judged(is_so, " bits; ".join(said) + " bits" + lacking)


def _difference(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the difference of two means and the half-width of its 95 % interval (Welch)."""
    variance = np.var(first, ddof=1) / len(first) + np.var(second, ddof=1) / len(second)
    return float(first.mean() - second.mean()), NORMAL * math.sqrt(variance)


def _needs(models: Sequence[str], experiment: str) -> Judgement:
    names = " or ".join(REFLEXIVE_MODELS.label(name) for name in models)
    return untested(f"needs {names} in {_experiment(experiment)}")


def _experiment(key: str) -> str:
    return f"Exp. {prose_name(key).removeprefix('exp')}"


def reflexives_claims(items: ItemChoice) -> tuple[ClaimSpec, ...]:
    """Return the claims, in the paper's order."""
    judge = _Judge(items)
    return (
        ClaimSpec("section 5.1, Table 3",
                  "In relative clauses (Exp. 1a), GRNN is well above chance (.70 against 1/3), "
                  "where Marvin and Linzen (2018) report .55 with chance at 1/2.",
                  partial(judge.accuracies, "exp1a", "well above chance", ["grnn"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "The n-gram model is at chance in relative clauses (Exp. 1a).",
                  partial(judge.accuracies, "exp1a", "at chance", ["ngram"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "BERT is slightly less accurate in Exp. 1a than the .80 of Goldberg (2019).",
                  partial(judge.accuracies, "exp1a", "below Goldberg", ["bert"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "In sentential complements (Exp. 1b), all large-vocabulary neural models are "
                  "near ceiling.", partial(judge.accuracies, "exp1b", "near ceiling", _LARGE, ())),
        ClaimSpec("section 5.1, Table 3", "GRNN has an accuracy of 100 % in Exp. 1b.",
                  partial(judge.accuracies, "exp1b", "perfect", ["grnn"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "Relative clauses (Exp. 1a) are harder than sentential complements (Exp. 1b).",
                  judge.relative_clauses_are_harder),
        ClaimSpec("section 5.2, Table 3",
                  "In relative clauses with new nouns (Exp. 2a), BERT, TransXL, JRNN and GRNN are "
                  "above chance; the other models are at or below it.",
                  partial(judge.accuracies, "exp2a", "above chance", _LARGE, (*_SMALL, "ngram"))),
        ClaimSpec("section 5.2, Table 3",
                  "In sentential complements with new nouns (Exp. 2b), all large-vocabulary "
                  "neural models are near ceiling, and the small-vocabulary models are not.",
                  partial(judge.accuracies, "exp2b", "near ceiling", _LARGE, _SMALL)),
        ClaimSpec("section 5.2, Table 3", "RNNG is more accurate than TinyLSTM in Exp. 2b.",
                  partial(judge.supervision, experiment="exp2b", is_clear=False)),
        ClaimSpec(
            "section 5.3, Table 3",
            "In prepositional phrases (Exp. 3), all neural models but TinyLSTM are well above "
            "chance.",
            partial(judge.accuracies, "exp3", "well above chance", (*_LARGE, "rnng"), ["tiny"]),
        ),
        ClaimSpec("section 5.3, Table 3", "RNNG has a clear advantage over TinyLSTM in Exp. 3.",
                  partial(judge.supervision, experiment="exp3", is_clear=True)),
        # These do not depend on the choice of items, because Figure 2 has all of them.
        ClaimSpec("section 5.4, Figure 2",
                  "Exp. 1b: of the three pronouns, herself has the largest distractor effect, by "
                  "a significant margin.",
                  partial(_distractors, "exp1b", _LARGE, ("himself", "themselves"), "higher")),
        ClaimSpec("section 5.4, Figure 2",
                  "Exp. 2b, large vocabularies: no significant difference between the distractor "
                  "effects of himself and herself.",
                  partial(_distractors, "exp2b", _LARGE, ["himself"], "equal")),
        ClaimSpec("section 5.4, Figure 2",
                  "Exp. 2b, small vocabularies: the distractor effect of herself significantly "
                  "exceeds that of himself.",
                  partial(_distractors, "exp2b", _SMALL, ["himself"], "higher")),
    )  # fmt: skip


# The cells of tables and figures.

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


def _row_labels(evidence: Evidence) -> dict[str, str]:
    rows = REFLEXIVE_MODELS.rows(evidence.data.items, evidence)
    return {model.key: model.label for model in rows}


def _training_data(evidence: Evidence) -> Iterator[StudyCell]:
    """Yield the size of the training corpus of each model and its pronouns, if they are known."""
    table = evidence.data.corpora
    if table is None:
        return
    train = table[table["split"] == "train"].set_index("corpus")
    names = {"tokens": "tokens", "vocabulary": "vocabulary"}
    names |= {f"count_{pronoun}": pronoun for pronoun in PRONOUNS}
    for model in REFLEXIVE_MODELS.rows(evidence.data.items, evidence):
        known = train.loc[model.corpus].dropna() if model.corpus in train.index else {}
        for name, column in names.items():
            if name in known:
                value = int(known[name])
                text = short_count(value)
                yield StudyCell(row=model.key, column=column, value=value, text=text)


def _accuracies(evidence: Evidence, *, items: ItemChoice) -> Iterator[StudyCell]:
    for accuracy in reflexive_accuracies(evidence, items):
        lacking = f"no items with {names_or_none(accuracy.lacking)}" if accuracy.lacking else ""
        yield StudyCell(
            row=accuracy.experiment, column=accuracy.model.key, value=accuracy.value,
            low=accuracy.low, high=accuracy.high, n=len(accuracy.model.rows), note=lacking,
        )  # fmt: skip


def _differences(evidence: Evidence) -> Iterator[StudyCell]:
    for experiment, pronoun in itertools.product(("exp1b", "exp2b"), PRONOUNS):
        for letter, effect in (("D", DISTRACTOR), ("U", UNGRAMMATICAL)):
            for model in reflexive_effects(evidence, experiment, effect):
                values, column = of_pronoun(model, pronoun), f"{pronoun} {letter}"
                if len(values):
                    mean = bootstrap_mean(values)
                    yield interval_cell(mean, panel=experiment, row=model.key, column=column)


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
            PartSpec(number="Table 2", title="Training data of the models", cells=_training_data,
                     lacking="files of surprisals do not contain it; it is computed for the "
                     "corpora of own runs", digits=0,
                     note="The last three columns are counts of the pronouns in the training "
                     "data."),
            PartSpec(
                number="Table 3", title="Accuracy by experiment and model",
                cells=partial(_accuracies, items=items),
                lacking="there are no models on these suites",
                note="Accuracy per pronoun, then the mean of the three; chance is 1/3. Intervals: "
                f"1.96·√(p(1 − p)/n) over the pooled items. {used[items]}",
            ),
            PartSpec(number="Figure 2", title="Surprisal of the pronoun compared with the baseline",
                     cells=_differences,
                     lacking="there are no models on sentential complements (Exps. 1b and 2b)",
                     style=FigureStyle(y_label="bits", reference=0.0),
                     note="D: distractor − baseline; U: ungrammatical − baseline; means over all "
                     "items with bootstrapped 95 % intervals."),
        ),
    )  # fmt: skip
