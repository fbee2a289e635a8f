"""Accuracies and effects of Hu et al. 2020, which its tables, figures and claims are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.eval.means import NORMAL, bootstrap_mean
from gardenpath.eval.statistics.wording import prose_name, rounded
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
    corpora_of,
    depends,
    judged,
    names_or_none,
    rows_by_model,
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

    ``reach`` is the half-width of the 95 % interval of the pooled items; ``n`` is their number.
    NaN if a pronoun lacks, with its name in ``lacking``.
    """

    experiment: str
    model: str
    corpus: str
    key: str
    label: str
    value: float
    reach: float
    n: int
    lacking: Sequence[str]

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.reach

    @property
    def high(self) -> float:
        """The upper end of the interval."""
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


def outcomes(one: Evidence, experiment: str, items: ItemChoice) -> list[ModelRows]:
    """Return the items of an experiment by model; their outcomes are means over runs."""
    table = one.data.items
    if "pronoun" not in table.columns:
        return []
    table = table[(table["class"] == "reflexives") & (table["modifier"] == experiment)]
    table = chosen_items(table, items)
    means = table.groupby([*_SUITE, "item"], sort=False, dropna=False)["outcome"].mean()
    known = means.dropna().reset_index()
    return (
        rows_by_model(known, REFLEXIVE_MODELS, corpora=corpora_of(one.data.items, one.data.effects))
        if len(known)
        else []
    )


def reflexive_accuracies(
    one: Evidence, items: ItemChoice, experiments: Sequence[str] = REFLEXIVE_EXPERIMENTS
) -> list[ReflexiveAccuracy]:
    """Return the accuracy of every model in the experiments, in the order of Table 3."""
    return [
        _accuracy(found, experiment)
        for experiment in experiments
        for found in outcomes(one, experiment, items)
    ]


def _accuracy(found: ModelRows, experiment: str) -> ReflexiveAccuracy:
    by_pronoun = found.rows.groupby("pronoun")["outcome"].mean()
    lacking = [name for name in PRONOUNS if name not in by_pronoun.index]
    pooled = float(found.rows["outcome"].mean())
    reach = NORMAL * math.sqrt(pooled * (1.0 - pooled) / len(found.rows))
    return ReflexiveAccuracy(
        experiment=experiment,
        model=found.model,
        corpus=found.corpus,
        key=found.key,
        label=found.label,
        value=math.nan if lacking else float(by_pronoun.loc[list(PRONOUNS)].mean()),
        reach=math.nan if lacking else reach,
        n=len(found.rows),
        lacking=lacking,
    )


def reflexive_effects(one: Evidence, experiment: str, effect: str) -> list[ModelRows]:
    """Return an effect of all items of an experiment by model; values are means over runs."""
    table = one.data.effects
    if "pronoun" not in table.columns:
        return []
    is_wanted = (table["class"] == "reflexives") & (table["modifier"] == experiment)
    table = table[is_wanted & (table["effect"] == effect)]
    means = table.groupby([*_SUITE, "item"], sort=False, dropna=False)["value_bits"].mean()
    known = means[np.isfinite(means)].reset_index()
    return (
        rows_by_model(known, REFLEXIVE_MODELS, corpora=corpora_of(one.data.items, one.data.effects))
        if len(known)
        else []
    )


def of_pronoun(found: ModelRows, pronoun: str) -> Floats:
    """Return the values of an effect at a pronoun, in bits."""
    rows = found.rows[found.rows["pronoun"] == pronoun]
    return np.asarray(rows["value_bits"], dtype=np.float64)


# ----------------------------------------------------------------------------
# The claims of Hu et al. 2020, each judged by the data of a source.
#
# Where the paper gives no number: *near ceiling* is an accuracy of at least .90, *above chance* an
# interval above 1/3, and *well above chance* an interval above 1/2. A claim about several models
# is judged by those that the source has, and its reason names the others.


_LARGE = ("bert", "trans", "jrnn", "grnn")
_SMALL = ("tiny", "rnng")
_CEILING = 0.90
_WELL_ABOVE = 0.50
# The accuracy of BERT in relative clauses after Goldberg (2019), with chance at 1/2.
_GOLDBERG = 0.80

AccuracyCheck = Callable[[ReflexiveAccuracy], bool]


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges claims about accuracies; ``items`` are those that count."""

    items: ItemChoice

    def models(
        self, one: Evidence, *, experiment: str, models: Sequence[str], check: AccuracyCheck
    ) -> Judgement:
        """Judge whether all these models pass a check in an experiment."""
        found = self._found(one, experiment, models)
        if not found:
            return _needs(models, experiment)
        return judged(all(map(check, found)), _said(found, models))

    def split(
        self, one: Evidence, *, experiment: str, passing: Sequence[str], failing: Sequence[str],
        check: AccuracyCheck,
    ) -> Judgement:  # fmt: skip
        """Judge whether some models pass a check and the others do not.

        Models that should not pass say nothing alone: one that passes no check does so, too.
        """
        models = (*passing, *failing)
        found = self._found(one, experiment, models)
        if not any(each.model in passing for each in found):
            return _needs(passing, experiment)
        is_so = all(check(each) == (each.model in passing) for each in found)
        return judged(is_so, _said(found, models))

    def relative_clauses_are_harder(self, one: Evidence) -> Judgement:
        """Judge whether each model is less accurate in Exp. 1a than in Exp. 1b."""
        pairs = [
            (clause, complement)
            for clause in self._found(one, "exp1a", _LARGE)
            for complement in self._found(one, "exp1b", _LARGE)
            if clause.key == complement.key
        ]
        if not pairs:
            return untested("needs a model with Exps. 1a and 1b")
        said = "; ".join(
            f"{clause.label} {clause.value:.3f} in relative clauses, {complement.value:.3f} in "
            "complements"
            for clause, complement in pairs
        )
        lacking = _lacking([clause for clause, _ in pairs], _LARGE)
        is_harder = all(clause.value < complement.value for clause, complement in pairs)
        return judged(is_harder, said + lacking)

    def supervision(self, one: Evidence, *, experiment: str, is_clear: bool) -> Judgement:
        """Judge whether RNNGs are more accurate than LSTMs of the same corpus, item by item."""
        found = {(each.model, each.corpus): each for each in outcomes(one, experiment, self.items)}
        pairs = [
            (found[sequential, corpus], found["rnng", corpus])
            for sequential in ("tiny", "lstm")
            for model, corpus in found
            if model == "rnng" and (sequential, corpus) in found
        ]
        if not pairs:
            return untested(f"needs an RNNG and an LSTM of one corpus in {_experiment(experiment)}")
        said, verdicts = [], []
        for lstm, rnng in pairs:
            keys = ["pronoun", "item"]
            both = rnng.rows.merge(lstm.rows, on=keys, suffixes=("", "_lstm"))
            gain = bootstrap_mean(both["outcome"] - both["outcome_lstm"])
            verdicts.append((gain.mean > 0, gain.low > 0))
            said.append(
                f"{rnng.label} − {lstm.label} {rounded(gain.mean)}, 95 % interval "
                f"{rounded(gain.low)} to {rounded(gain.high)}"
            )
        reason = "; ".join(said)
        if not is_clear and all(more for more, _ in verdicts) and not all(s for _, s in verdicts):
            return depends(f"whether a difference within sampling error counts: {reason}")
        return judged(all(more and (sure or not is_clear) for more, sure in verdicts), reason)

    def _found(
        self, one: Evidence, experiment: str, models: Sequence[str]
    ) -> list[ReflexiveAccuracy]:
        return [
            each
            for each in reflexive_accuracies(one, self.items, [experiment])
            if each.model in models and not each.lacking
        ]


def _is_near_ceiling(each: ReflexiveAccuracy) -> bool:
    return each.value >= _CEILING


def _is_above_chance(each: ReflexiveAccuracy) -> bool:
    return each.low > CHANCE


def _is_well_above_chance(each: ReflexiveAccuracy) -> bool:
    return each.low > _WELL_ABOVE


def _is_at_chance(each: ReflexiveAccuracy) -> bool:
    return each.low <= CHANCE <= each.high


def _is_perfect(each: ReflexiveAccuracy) -> bool:
    return each.value == 1.0


def _is_below_goldberg(each: ReflexiveAccuracy) -> bool:
    return each.value < _GOLDBERG


def _distractors(
    one: Evidence, *, experiment: str, models: Sequence[str], against: Sequence[str], higher: bool
) -> Judgement:
    """Judge whether the distractor effect at *herself* is significantly higher than at others.

    If ``higher`` is False, judge whether the two do not differ significantly.
    """
    found = [x for x in reflexive_effects(one, experiment, DISTRACTOR) if x.model in models]
    if not found:
        return _needs(models, experiment)
    said, is_so = [], True
    for each in found:
        herself = of_pronoun(each, "herself")
        for pronoun in against:
            other = of_pronoun(each, pronoun)
            if min(len(herself), len(other)) < 2:
                return untested(f"{each.label} lacks items with herself or {pronoun}")
            more, reach = _difference(herself, other)
            is_so &= more > reach if higher else abs(more) <= reach
            said.append(f"{each.label}, herself − {pronoun}: {rounded(more)} ± {rounded(reach)}")
    return judged(is_so, " bits; ".join(said) + " bits" + _lacking(found, models))


def _difference(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the difference of two means and the half-width of its 95 % interval (Welch)."""
    variance = np.var(first, ddof=1) / len(first) + np.var(second, ddof=1) / len(second)
    return float(first.mean() - second.mean()), NORMAL * math.sqrt(variance)


def _said(found: Sequence[ReflexiveAccuracy], models: Sequence[str]) -> str:
    said = "; ".join(f"{each.label} {each.value:.3f} ± {each.reach:.3f}" for each in found)
    return said + _lacking(found, models)


def _lacking(found: Sequence[object], models: Sequence[str]) -> str:
    known = {getattr(each, "model", "") for each in found}
    lacking = [REFLEXIVE_MODELS.label(name) for name in models if name not in known]
    return f" (not in this source: {names_or_none(lacking)})" if lacking else ""


def _needs(models: Sequence[str], experiment: str) -> Judgement:
    names = " or ".join(REFLEXIVE_MODELS.label(name) for name in models)
    return untested(f"needs {names} in {_experiment(experiment)}")


def _experiment(key: str) -> str:
    return f"Exp. {prose_name(key).removeprefix('exp')}"


# These do not depend on the choice of items, because Figure 2 has all of them.
_DISTRACTOR_CLAIMS = (
    ClaimSpec(
        "section 5.4, Figure 2",
        "Exp. 1b: of the three pronouns, herself has the largest distractor effect, by a "
        "significant margin.",
        partial(
            _distractors, experiment="exp1b", models=_LARGE, against=("himself", "themselves"),
            higher=True,
        ),
    ),
    ClaimSpec(
        "section 5.4, Figure 2",
        "Exp. 2b, large vocabularies: no significant difference between the distractor effects of "
        "himself and herself.",
        partial(
            _distractors, experiment="exp2b", models=_LARGE, against=("himself",), higher=False
        ),
    ),
    ClaimSpec(
        "section 5.4, Figure 2",
        "Exp. 2b, small vocabularies: the distractor effect of herself significantly exceeds that "
        "of himself.",
        partial(
            _distractors, experiment="exp2b", models=_SMALL, against=("himself",), higher=True
        ),
    ),
)  # fmt: skip


def reflexives_claims(items: ItemChoice) -> tuple[ClaimSpec, ...]:
    """Return the claims, in the paper's order."""
    judge = _Judge(items)
    neural = (*_LARGE, *_SMALL)
    return (
        ClaimSpec(
            "section 5.1, Table 3",
            "In relative clauses (Exp. 1a), GRNN is well above chance (.70 against 1/3), where "
            "Marvin and Linzen (2018) report .55 with chance at 1/2.",
            partial(
                judge.models, experiment="exp1a", models=("grnn",), check=_is_well_above_chance
            ),
        ),
        ClaimSpec(
            "section 5.1, Table 3",
            "The n-gram model is at chance in relative clauses (Exp. 1a).",
            partial(judge.models, experiment="exp1a", models=("ngram",), check=_is_at_chance),
        ),
        ClaimSpec(
            "section 5.1, Table 3",
            "BERT is slightly less accurate in Exp. 1a than the .80 of Goldberg (2019).",
            partial(judge.models, experiment="exp1a", models=("bert",), check=_is_below_goldberg),
        ),
        ClaimSpec(
            "section 5.1, Table 3",
            "In sentential complements (Exp. 1b), all large-vocabulary neural models are near "
            "ceiling.",
            partial(judge.models, experiment="exp1b", models=_LARGE, check=_is_near_ceiling),
        ),
        ClaimSpec(
            "section 5.1, Table 3",
            "GRNN has an accuracy of 100 % in Exp. 1b.",
            partial(judge.models, experiment="exp1b", models=("grnn",), check=_is_perfect),
        ),
        ClaimSpec(
            "section 5.1, Table 3",
            "Relative clauses (Exp. 1a) are harder than sentential complements (Exp. 1b).",
            judge.relative_clauses_are_harder,
        ),
        ClaimSpec(
            "section 5.2, Table 3",
            "In relative clauses with new nouns (Exp. 2a), BERT, TransXL, JRNN and GRNN are above "
            "chance; the other models are at or below it.",
            partial(
                judge.split, experiment="exp2a", passing=_LARGE, failing=(*_SMALL, "ngram"),
                check=_is_above_chance,
            ),
        ),
        ClaimSpec(
            "section 5.2, Table 3",
            "In sentential complements with new nouns (Exp. 2b), all large-vocabulary neural "
            "models are near ceiling, and the small-vocabulary models are not.",
            partial(
                judge.split, experiment="exp2b", passing=_LARGE, failing=_SMALL,
                check=_is_near_ceiling,
            ),
        ),
        ClaimSpec(
            "section 5.2, Table 3",
            "RNNG is more accurate than TinyLSTM in Exp. 2b.",
            partial(judge.supervision, experiment="exp2b", is_clear=False),
        ),
        ClaimSpec(
            "section 5.3, Table 3",
            "In prepositional phrases (Exp. 3), all neural models but TinyLSTM are well above "
            "chance.",
            partial(
                judge.split, experiment="exp3", passing=tuple(m for m in neural if m != "tiny"),
                failing=("tiny",), check=_is_well_above_chance,
            ),
        ),
        ClaimSpec(
            "section 5.3, Table 3",
            "RNNG has a clear advantage over TinyLSTM in Exp. 3.",
            partial(judge.supervision, experiment="exp3", is_clear=True),
        ),
        *_DISTRACTOR_CLAIMS,
    )  # fmt: skip


# ----------------------------------------------------------------------------
# Hu et al. 2020: licensing of reflexives, with the pronoun constant and the context varied.


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
