"""The claims of Hu et al. 2020, each judged by the data of a source.

Where the paper gives no number: *near ceiling* is an accuracy of at least .90, *above chance* an
interval above 1/3, and *well above chance* an interval above 1/2. A claim about several models is
judged by those that the source has, and its reason names the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.eval.statistics.inference.intervals import NORMAL, bootstrap_mean
from gardenpath.eval.statistics.questions.wording import prose_name, rounded
from gardenpath.eval.studies.evidence import Evidence, names_or_none
from gardenpath.eval.studies.papers.reflexives_measures import (
    CHANCE,
    REFLEXIVE_MODELS,
    ReflexiveAccuracy,
    of_pronoun,
    outcomes,
    reflexive_accuracies,
    reflexive_effects,
)
from gardenpath.eval.studies.study_parts import ItemChoice
from gardenpath.eval.studies.study_spec import ClaimSpec, Judgement, depends, judged, untested
from gardenpath.eval.suites.scoring.effects import DISTRACTOR

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
