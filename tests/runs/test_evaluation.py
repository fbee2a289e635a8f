"""Which suites fit which models, and what results say of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.search.settings import Unbiased
from gardenpath.runs.evaluation import evaluate, suitable
from gardenpath.runs.run import Run
from tests.runs.own_suite import Uniform, agreement
from tests.toy_runs import run_of


def _in(language: str | None, name: str = "") -> Uniform:
    model = Uniform(name or str(language))
    model.language = language  # type: ignore[assignment]
    return model


def test_suites_in_the_languages_of_the_models() -> None:
    english, chinese = agreement(), replace(agreement(), name="zh", language="zh")
    assert suitable([english, chinese], [_in("en")]) == [english]
    assert suitable([english, chinese], [_in("zh"), _in("en")]) == [english, chinese]
    assert suitable([english, chinese], [_in(None)]) == [english, chinese]
    with pytest.raises(GardenpathError, match=r"in en, but all models are in de, zh; train"):
        suitable([english], [_in("zh"), _in("de")])


def test_each_model_is_asked_for_sentences_in_its_language_only(folder: Path) -> None:
    chinese = replace(agreement(), name="zh", language="zh")
    asked: dict[str, int] = {}

    class Noting(Uniform):
        def word_log_probs(self, sentences):  # type: ignore[no-untyped-def]
            asked[self.name] = len(sentences)
            return super().word_log_probs(sentences)

    english, both = Noting("english"), Noting("both")
    both.language = None  # type: ignore[assignment]
    two = replace(chinese, items=chinese.items[:1])
    evaluate([english, both], [agreement(), two])
    # The sentences of the second suite are among those of the first.
    assert asked == {"english": 4, "both": 4}
    results = evaluate([english, both], [agreement(), two])
    found = results.items.groupby("run")["suite"].unique().map(sorted).to_dict()
    assert found == {"english": ["agreement"], "both": ["agreement", "zh"]}


def test_the_search_is_described_if_there_was_one(folder: Path) -> None:
    few = replace(agreement(), items=agreement().items[:1])
    searched = evaluate([run_of(folder, "ngram"), run_of(folder, "rnng")], few)
    assert searched.search is not None and "10" in searched.search
    assert evaluate(run_of(folder, "lstm"), few).search is None
    path = run_of(folder, "rnng").path
    sampled = evaluate(Run(path, device="cpu", search=Unbiased(action_beam=20)), few)
    assert sampled.search is not None and "unbiased" in sampled.search
    plm = run_of(folder, "plm")
    plm.search = Unbiased(action_beam=20)
    both = evaluate([run_of(folder, "rnng"), plm], few)
    assert both.search == f"{searched.search}; {sampled.search}", "all searches are named"


def test_learning_curves_of_runs_that_have_them(folder: Path) -> None:
    few = replace(agreement(), items=agreement().items[:1])
    results = evaluate([run_of(folder, "ngram"), run_of(folder, "lstm"), Uniform()], few)
    assert [curve.model for curve in results.curves] == ["lstm"]
    assert [name.model for name in results.names] == ["ngram", "lstm", "uniform"]
