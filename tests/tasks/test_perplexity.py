"""``task=perplexity``: joint and marginal rows, and the exact grammar beside them."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.eval.perplexity.comparison import EXACT, PerplexityRow
from gardenpath.models.scores import Totals
from gardenpath.tasks import perplexity
from gardenpath.tasks.perplexity import as_perplexity, perplexity_rows
from tests.toy_runs import TEST_SENTENCES, run_of, settings


@pytest.fixture(scope="module")
def rows(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, PerplexityRow]:
    output = tmp_path_factory.mktemp("perplexity")
    chosen = settings(folder, output, "task=perplexity")
    runs = [run_of(folder, model) for model in ("ngram", "rnng", "plm")]
    return {row.model: row for row in perplexity_rows(runs, chosen)}


def test_models_of_trees_have_two_rows(rows: dict[str, PerplexityRow]) -> None:
    assert set(rows) == {
        "ngram", "rnng (joint)", "rnng (marginal)", "plm (joint)", "plm (marginal)", EXACT,
    }  # fmt: skip
    assert {row.sentences for row in rows.values()} == {TEST_SENTENCES}
    assert len({row.words for row in rows.values()}) == 1


@pytest.mark.parametrize("model", ["rnng", "plm"])
def test_words_alone_are_more_probable_than_with_one_tree(
    rows: dict[str, PerplexityRow], model: str
) -> None:
    joint, marginal = rows[f"{model} (joint)"], rows[f"{model} (marginal)"]
    assert marginal.perplexity < joint.perplexity
    assert marginal.bits_per_sentence < joint.bits_per_sentence
    assert marginal.perplexity_without_end is not None


def test_excess_is_over_the_exact_grammar(rows: dict[str, PerplexityRow]) -> None:
    exact = rows[EXACT]
    assert exact.excess_bits_per_word == 0.0 and exact.seed is None
    for name, row in rows.items():
        difference = math.log2(row.perplexity) - math.log2(exact.perplexity)
        assert row.excess_bits_per_word == pytest.approx(difference, abs=1e-9)
        assert name == EXACT or difference > 0


def test_rows_are_in_order_and_the_exact_grammar_is_last(rows: dict[str, PerplexityRow]) -> None:
    assert list(rows)[-1] == EXACT
    perplexities = [row.perplexity for row in rows.values()]
    assert perplexities == sorted(perplexities, reverse=True)


def test_only_some_sentences_or_none_are_searched(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = settings(
        folder, tmp_path, "task=perplexity", "task.marginal_sentences=3", model="rnng"
    )
    perplexity.run(chosen)
    with (tmp_path / "perplexity.csv").open(encoding="utf-8", newline="") as file:
        counts = {row["model"]: row["sentences"] for row in csv.DictReader(file)}
    whole = str(TEST_SENTENCES)
    assert counts == {"rnng (joint)": whole, "rnng (marginal)": "3", EXACT: whole}
    shown = capsys.readouterr().out
    assert "with their gold trees" in shown and "summed over the trees" in shown
    without = {**chosen, "task": {**chosen["task"], "marginal_sentences": 0}}
    (joint, exact) = perplexity_rows([run_of(folder, "rnng")], without)
    assert (joint.model, exact.model) == ("rnng (joint)", EXACT)
    assert "summed over the trees" not in capsys.readouterr().out


def test_a_joint_model_without_an_end_has_no_perplexity_without_it() -> None:
    totals = Totals(log_prob={"word": -4.0, "action": -2.0}, words=3, sentences=1)
    found = as_perplexity(totals)
    assert found.without_end is None and found.nats == 6.0
    ended = as_perplexity(replace(totals, log_prob={**totals.log_prob, "end": -1.0}))
    assert ended.without_end == pytest.approx(math.exp(2)) and ended.nats == 7.0
