"""Predictions in the form of the evaluation pipeline of BabyLM.

``{UID: {"predictions": [{"id": "UID_0", "pred": "the preferred sentence"}, …]}}``: the sentence of
each pair with the larger probability, as its file writes it. The pipeline prefers the first, good
sentence of a pair if both are equally probable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.formula import WHOLE_SENTENCE, Term
from gardenpath.eval.suites.design.suite import Item, Suite, SuiteError, Variant
from gardenpath.eval.suites.scoring.regions import exact_mean, exact_sum
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text

# The label of the items of published pairs that the pipeline calls UID.
_UID = "paradigm"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPrediction:
    """The preferred sentence of a pair."""

    id: str
    pred: str


# The predictions of every paradigm, in the order of its pairs.
Predictions = Mapping[str, Sequence[PairPrediction]]


def paired_conditions(suite: Suite) -> tuple[str, str]:
    """Return the good and the bad condition of a suite of minimal pairs."""
    found = _compared(suite)
    is_paired = found is not None and all(
        len(item.of_condition(name)) == 1 for item in suite.items for name in found
    )
    if found is None or not is_paired or suite.metric != "sum" or suite.normalised:
        raise SuiteError(
            f"{suite.name}: BabyLM's predictions are for minimal pairs, of which the probabilities "
            "of whole sentences are compared; leave babylm out of task.also, or choose such suites"
        )
    return found


def _compared(suite: Suite) -> tuple[str, str] | None:
    comparisons = [one for each in suite.predictions for one in each.formula.comparisons]
    if len(suite.predictions) != 1 or len(comparisons) != 1:
        return None
    (one,) = comparisons
    left, right = one.left, one.right
    if not (isinstance(left, Term) and isinstance(right, Term)) or one.operator == "=":
        return None
    is_whole = all(
        term.region == WHOLE_SENTENCE or len(suite.regions) == 1 for term in (left, right)
    )
    if not is_whole or left.condition == right.condition:
        return None
    good, bad = (left, right) if one.operator == "<" else (right, left)
    return good.condition, bad.condition


def pair_predictions(scored: Iterable[tuple[Suite, Sequence[Sequence[float]]]]) -> Predictions:
    """Return the preferred sentences of suites, each with the surprisals of its variants (bits)."""
    found: dict[str, list[PairPrediction]] = {}
    for suite, rows in scored:
        good, bad = paired_conditions(suite)
        remaining = iter(rows)
        for item in suite.items:
            totals = {one.condition: exact_sum(next(remaining)) for one in item.variants}
            if math.isnan(totals[good]) or math.isnan(totals[bad]):
                raise SuiteError(
                    f"{suite.name}, item {item.number}: a word has no surprisal, so neither "
                    "sentence is preferred; leave babylm out of task.also"
                )
            chosen = bad if totals[bad] < totals[good] else good
            uid = item.labels.get(_UID, suite.name)
            own = found.setdefault(uid, [])
            own.append(
                PairPrediction(
                    id=f"{uid}_{len(own)}", pred=written_sentence(suite, _of(item, chosen))
                )
            )
    return found


def _of(item: Item, condition: str) -> Variant:
    return item.of_condition(condition)[0]


def written_sentence(suite: Suite, variant: Variant) -> str:
    """Return a sentence as its file writes it, else its words."""
    return variant.written or suite.text(variant)


def dump_predictions(predictions: Predictions) -> str:
    """Return predictions as JSON."""
    content = {
        uid: {"predictions": [{"id": one.id, "pred": one.pred} for one in group]}
        for uid, group in predictions.items()
    }
    return json.dumps(content, ensure_ascii=False) + "\n"


def read_predictions(path: Path) -> Predictions:
    """Read a file of predictions, of this package or of the pipeline."""
    try:
        content = parse_json(read_text(path))
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=error.line) from error
    try:
        return {
            str(uid): [
                PairPrediction(id=_text(one["id"]), pred=_text(one["pred"]))
                for one in group["predictions"]
            ]
            for uid, group in content.items()
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"is not a file of predictions: {type(error).__name__} {error}",
            path=path,
            remedy='it has the form {"UID": {"predictions": [{"id": "UID_0", "pred": "…"}]}}',
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def prediction_accuracies(
    predictions: Predictions, suites: Iterable[Suite], path: Path
) -> dict[str, float]:
    """Return the share of good sentences among the predictions of each paradigm.

    Every prediction must be one of the two sentences of its pair.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    for suite in suites:
        good, bad = paired_conditions(suite)
        for item in suite.items:
            both = [written_sentence(suite, _of(item, name)) for name in (good, bad)]
            pairs.setdefault(item.labels.get(_UID, suite.name), []).append((both[0], both[1]))
    found = {}
    for uid, group in predictions.items():
        own = pairs.get(uid, [])
        if len(own) != len(group):
            problem = f"{uid}: {len(group)} predictions for {len(own)} pairs of the suites"
            raise InputError(problem, path=path)
        found[uid] = exact_mean(
            [_is_good(one, both, path) for one, both in zip(group, own, strict=True)]
        )
    return found


def _is_good(one: PairPrediction, both: tuple[str, str], path: Path) -> float:
    good, bad, pred = (text.strip() for text in (*both, one.pred))
    if pred not in (good, bad):
        raise InputError(f"{one.id}: {pred!r} is neither {good!r} nor {bad!r}", path=path)
    return float(pred == good)
