"""Perplexities of runs: joint and marginal rows, and the exact grammar beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gardenpath.data.sentence import SPLITS
from gardenpath.errors import RunError
from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity import PerplexityRow
from gardenpath.models.scores import Totals
from gardenpath.runs.perplexity import CorpusPerplexities, as_perplexity, perplexities
from gardenpath.runs.run import Run
from gardenpath.settings.compose import load_settings
from tests import small_runs
from tests.toy_runs import TEST_SENTENCES, copied, run_of


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
    counts = [(row.model, row.sentences) for row in some.rows]
    whole = TEST_SENTENCES
    assert counts == [
        ("rnng (joint)", whole), (EXACT, whole), ("rnng (marginal)", 3), (EXACT, 3)
    ]  # fmt: skip
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


def _elsewhere(runs: Sequence[Run], *arguments: str, limit: int | None = 3) -> CorpusPerplexities:
    data = load_settings("train", [*arguments, *(f"data.reader.{s}=12" for s in SPLITS)]).data
    (found,) = perplexities(
        runs, split="test", marginal_sentences=limit, corpora=[data], allow_unknown=True
    )
    return found


ANOTHER = ("data=toy_english", "data.reader.seed=9", "data.name=another")


def test_a_run_reads_another_corpus_with_its_own_vocabulary(folder: Path) -> None:
    """The words of another corpus, joint with its gold trees and summed over trees."""
    runs = [run_of(folder, model) for model in ("ngram", "rnng", "plm")]
    found = _elsewhere(runs, *ANOTHER)
    rows = {row.model: row for row in found.rows}
    assert set(rows) == {
        "ngram", "rnng (joint)", "rnng (marginal)", "plm (joint)", "plm (marginal)", EXACT,
    }  # fmt: skip
    data = load_settings("train", [*ANOTHER, "data.reader.test=12"]).data
    sentences = [one.words for one in data.preparation().sentences("test")]
    assert rows["ngram"].sentences == 12 and rows["rnng (marginal)"].sentences == 3
    scorer = runs[0].scorer()
    nats = -sum(one.sum() for one in scorer.word_log_probs(sentences))
    events = sum(map(len, sentences)) + 12
    assert rows["ngram"].perplexity == pytest.approx(math.exp(nats / events))
    unknown = sum(not runs[0].knows(word) for words in sentences for word in words)
    assert rows["ngram"].unknown_rate == pytest.approx(unknown / sum(map(len, sentences)))
    assert {row.trained_on for row in found.rows} == {"toy_english", ""}
    assert rows["ngram"].shared_perplexity is None  # all have the same vocabulary
    assert "not comparable" not in found.caption


def test_the_test_split_of_the_own_corpus_named_again_gives_the_same(folder: Path) -> None:
    runs = [run_of(folder, model) for model in ("ngram", "lstm", "rnng", "plm")]
    (own,) = _perplexities(runs, 3)
    (again,) = perplexities(
        runs, split="test", marginal_sentences=3, corpora=[runs[0].settings.data]
    )
    assert [row.model for row in again.rows] == [row.model for row in own.rows]
    for before, after in zip(own.rows, again.rows, strict=True):
        assert after.perplexity == pytest.approx(before.perplexity, rel=1e-5)


def test_different_vocabularies_are_announced_and_shared_words_compared(
    folder: Path, tmp_path: Path
) -> None:
    other = small_runs.loaded(small_runs.run(tmp_path, "model=unigram"))
    found = _elsewhere([run_of(folder, "ngram"), other], *ANOTHER)
    assert "not comparable one to one" in found.caption
    assert "of the words are unknown, predicted as" in found.caption
    rows = {row.model: row for row in found.rows}
    data = load_settings("train", [*ANOTHER, "data.reader.test=12"]).data
    sentences = [one.words for one in data.preparation().sentences("test")]
    for run in (run_of(folder, "ngram"), other):
        nats, events = 0.0, 0
        for words, log_probs in zip(sentences, run.scorer().word_log_probs(sentences), strict=True):
            for word, log_prob in zip((*words, None), log_probs, strict=True):
                if word is None or (run_of(folder, "ngram").knows(word) and other.knows(word)):
                    nats, events = nats - log_prob, events + 1
        row = rows[run.name.model]
        assert row.shared_perplexity == pytest.approx(math.exp(nats / events))


def test_unknown_labels_leave_no_joint_perplexity(folder: Path, tmp_path: Path) -> None:
    for split in SPLITS:
        (tmp_path / f"{split}.txt").write_text("(XP (NP the dog) (VP sees it))\n" * 2)
    data = load_settings("train", ["data=brackets", f"data.root={tmp_path}"]).data
    (found,) = perplexities(
        [run_of(folder, "rnng")], split="test", marginal_sentences=1, corpora=[data]
    )
    assert [row.model for row in found.rows] == ["rnng (marginal)"]
    assert "no joint perplexity: the trees have labels that the model does not know: XP" in (
        found.caption
    )
    text = small_runs.settings(tmp_path).data
    small_runs.write_corpus(tmp_path / "corpus")
    (found,) = perplexities(
        [run_of(folder, "rnng")], split="test", marginal_sentences=1, corpora=[text]
    )
    assert "the corpus has no trees" in found.caption


def test_a_lower_casing_model_reads_lower_case(folder: Path, tmp_path: Path) -> None:
    run = copied(run_of(folder, "ngram"), tmp_path / "lower", lowercase=True)
    for split in SPLITS:
        (tmp_path / f"{split}.txt").write_text("The Dog sees IT\n")
    data = load_settings("train", ["data=text", f"data.root={tmp_path}"]).data
    (found,) = perplexities([run], split="test", marginal_sentences=1, corpora=[data])
    nats = -run.scorer().word_log_probs([("the", "dog", "sees", "it")])[0].sum()
    assert found.rows[0].perplexity == pytest.approx(math.exp(nats / 5))


def test_runs_of_another_language_are_left_out_or_refused(folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, "ngram")
    with pytest.raises(RunError, match=r"no run has the language of toy_mandarin \(zh\)"):
        _elsewhere([run], "data=toy_mandarin")
    chinese = small_runs.loaded(small_runs.run(tmp_path, "model=unigram", "data.language=zh"))
    found = _elsewhere([run, chinese], "data=toy_mandarin")
    assert f"left out, because of another language than toy_mandarin: {run.path}" in found.caption
    assert [row.model for row in found.rows] == ["unigram", EXACT]


def test_a_joint_model_without_an_end_has_no_perplexity_without_it() -> None:
    totals = Totals(log_prob={"word": -4.0, "action": -2.0}, words=3, sentences=1)
    found = as_perplexity(totals)
    assert found.without_end is None and found.nats == 6.0
    ended = as_perplexity(replace(totals, log_prob={**totals.log_prob, "end": -1.0}))
    assert ended.without_end == pytest.approx(math.exp(2)) and ended.nats == 7.0
