"""Perplexities of runs: joint and marginal rows, and the exact grammar beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.eval.perplexity.comparison import EXACT, PerplexityRow
from gardenpath.models.scores import Totals
from gardenpath.runs.perplexities import CorpusPerplexities, as_perplexity, perplexities
from gardenpath.runs.run import Run
from gardenpath.settings.compose import load_settings
from tests import small_runs
from tests.toy_runs import TEST_SENTENCES, run_of


def _perplexities(
    runs: Sequence[Run], limit: int | None = None, split: str = "test"
) -> list[CorpusPerplexities]:
    found = perplexities(runs, split=split, marginal_sentences=limit)  # type: ignore[arg-type]
    return list(found)


@pytest.fixture(scope="module")
def rows(folder: Path) -> dict[str, PerplexityRow]:
    runs = [run_of(folder, model) for model in ("ngram", "rnng", "plm")]
    (found,) = _perplexities(runs)
    assert "with their gold trees" in found.caption and "summed over the trees" in found.caption
    return {row.model: row for row in found.rows}


def test_syntactic_models_have_two_rows(rows: dict[str, PerplexityRow]) -> None:
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


def test_only_some_sentences_or_none_are_searched(folder: Path) -> None:
    (some,) = _perplexities([run_of(folder, "rnng")], 3)
    counts = {row.model: row.sentences for row in some.rows}
    assert counts == {"rnng (joint)": TEST_SENTENCES, "rnng (marginal)": 3, EXACT: TEST_SENTENCES}
    (none,) = _perplexities([run_of(folder, "rnng")], 0)
    assert [row.model for row in none.rows] == ["rnng (joint)", EXACT]
    assert "summed over the trees" not in none.caption


def test_what_is_stored_is_not_computed_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.sqlite"
    first = _perplexities([run_of(folder, "lstm", store=kept)])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(Run, "network", refuse)
    assert _perplexities([run_of(folder, "lstm", store=kept)]) == first
    with pytest.raises(AssertionError, match="a model was loaded"):
        _perplexities([run_of(folder, "lstm", store=tmp_path / "other.sqlite")])


def test_corpora_are_kept_apart_and_those_without_a_grammar_have_no_exact_row(
    folder: Path, tmp_path: Path
) -> None:
    text = small_runs.loaded(small_runs.run(tmp_path, "model=unigram"))
    found = {one.corpus: one for one in _perplexities([run_of(folder, "ngram"), text])}
    assert set(found) == {"toy_english", "text"}
    (row,) = found["text"].rows
    assert row.excess_bits_per_word is None and "entropy" not in found["text"].caption
    assert "entropy of the grammar" in found["toy_english"].caption
    kept = text.metrics["test"]
    assert row.perplexity == pytest.approx(kept["perplexity"], rel=1e-6)


def test_the_cache_of_the_run_is_used_unless_another_is_given(tmp_path: Path) -> None:
    run = small_runs.loaded(small_runs.run(tmp_path, "model=unigram"))
    assert run.settings.paths == load_settings("train", small_runs.arguments(tmp_path)).paths
    other = tmp_path / "other"
    list(perplexities([run], split="valid", marginal_sentences=None, cache=other))
    assert other.is_dir() and len(list((tmp_path / "cache").glob("[!.]*"))) == 1


def test_a_joint_model_without_an_end_has_no_perplexity_without_it() -> None:
    totals = Totals(log_prob={"word": -4.0, "action": -2.0}, words=3, sentences=1)
    found = as_perplexity(totals)
    assert found.without_end is None and found.nats == 6.0
    ended = as_perplexity(replace(totals, log_prob={**totals.log_prob, "end": -1.0}))
    assert ended.without_end == pytest.approx(math.exp(2)) and ended.nats == 7.0
