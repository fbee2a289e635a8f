"""Perplexities of runs: joint and marginal rows, and the exact grammar beside them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.sentence import SPLITS
from gardenpath.errors import RunError
from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity import Perplexity, PerplexityRow
from gardenpath.eval.search.replicates import standard_error
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.settings import WordSync
from gardenpath.models.output import Totals
from gardenpath.runs import computing
from gardenpath.runs.model import TrainedModel
from gardenpath.runs.perplexity import CorpusPerplexities, as_perplexity, perplexities, with_errors
from gardenpath.runs.processes import ScoringJob
from gardenpath.runs.run import Run
from gardenpath.settings.compose import load_settings
from gardenpath.store.surprisals import Stored
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.util import Words
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

    monkeypatch.setattr(TrainedModel, "network", refuse)
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
    assert (
        run.trained.settings.paths == load_settings("train", small_runs.arguments(tmp_path)).paths
    )
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
    (again,) = perplexities(runs, split="test", marginal_sentences=3, corpora=[runs[0].data])
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


# ----------------------------------------------------------------------------
# Standard errors from the scorer to tables and perplexities; entries that are too uncertain.


ONE: Words = ("the", "boys", "knew", ".")
OTHER: Words = ("the", "man", "knew", ".")


@dataclass(frozen=True, kw_only=True)
class Replicated(WordSync):
    """As a search with replicates, of which this file makes up the deviations."""

    replicates: int = 4
    tolerance: float | None = None
    max_replicates: int = 16


class Searches:
    """Notes what is searched; the error of position n is (n + 1) / 100 with 4 replicates.

    If positions matter, there are as many replicates as their errors need, at most 16.
    """

    def __init__(self, patch: pytest.MonkeyPatch, run: Run) -> None:
        self.asked: list[tuple[Words, set[int] | None]] = []
        self._counts: list[int] = []
        real = StructuredScorer.search

        def search(
            scorer: StructuredScorer,
            sentences: Sequence[Words],
            *,
            keeps_history: bool,
            matters: Sequence[Collection[int]] | None = None,
            **_: object,
        ) -> Any:
            places = [None if matters is None else {*matters[n]} for n in range(len(sentences))]
            self.asked += zip(sentences, places, strict=True)
            self._counts = [
                self._count(words, some, run) for words, some in zip(sentences, places, strict=True)
            ]
            return real(scorer, sentences, keeps_history=keeps_history)

        def deviations(
            result: SentenceResult, split: EncodedSplit, number: int, **_: object
        ) -> Floats:
            words = len(split.last_pieces(number)) - 1
            return made_up(words, self._counts[number])

        patch.setattr(StructuredScorer, "search", search)
        patch.setattr(computing, "word_deviations_of", deviations)

    def _count(self, words: Words, places: set[int] | None, run: Run) -> int:
        search = run.search
        assert isinstance(search, Replicated)
        wanted = {*range(len(words) + 1)} if places is None else places
        for count in (4, 8, 16):
            errors = standard_error(made_up(len(words), count))
            if search.tolerance is None or all(errors[n] <= search.tolerance for n in wanted):
                return count
        return search.max_replicates


def made_up(words: int, replicates: int) -> Floats:
    """Deviations with the standard errors (n + 1) / 100 · 2 / √replicates."""
    signs = np.resize([1.0, -1.0], replicates)
    scale = 0.02 * math.sqrt(1 - 1 / replicates)
    return np.outer(np.arange(1, words + 2), signs * scale)


def _run(folder: Path, tmp_path: Path, **settings: Any) -> Run:
    run = run_of(folder, "rnng", store=tmp_path / "kept.sqlite")
    run.search = Replicated(action_beam=10, word_beam=3, **settings)
    return run


def test_deviations_become_standard_errors(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without a store the same numbers, from the scorer to the table."""
    run = _run(folder, tmp_path)
    Searches(monkeypatch, run)
    stored = run.scored([ONE])[ONE]
    assert stored.replicates == 4
    errors = [0.01, 0.02, 0.03, 0.04, 0.05]
    assert stored.columns[SURPRISAL_SE] == pytest.approx(errors, rel=1e-6)
    table = run.surprisal([ONE])
    names = list(table.columns)
    assert names[names.index("surprisal_bits") + 1] == SURPRISAL_SE and "best_share" in names
    assert table[SURPRISAL_SE].tolist() == list(stored.columns[SURPRISAL_SE])
    alone = _run(folder, tmp_path)
    alone.store = None
    assert alone.scored([ONE])[ONE] == stored
    assert (
        run.surprisal([ONE], end=False)[SURPRISAL_SE].tolist() == table[SURPRISAL_SE].tolist()[:4]
    )


def test_entries_that_are_too_uncertain_are_computed_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _run(folder, tmp_path)
    searches = Searches(monkeypatch, first)
    before = first.scored([ONE, OTHER])
    assert [words for words, _ in searches.asked] == [ONE, OTHER]
    run = _run(folder, tmp_path, tolerance=0.025)
    # The tolerance decides how much is computed; here it must not decide where it is stored.
    monkeypatch.setattr(run.model, "key", lambda search: first.model_key)
    searches = Searches(monkeypatch, run)
    assert run.scored([ONE, OTHER], matters={ONE: [1], OTHER: ()}) == before, "precise enough"
    assert searches.asked == []
    found = run.scored([ONE, OTHER], matters={ONE: [1], OTHER: [2]})
    assert searches.asked == [(OTHER, {2})]
    assert (found[ONE], found[OTHER].replicates) == (before[ONE], 8)
    assert first.scored([OTHER]) == {OTHER: found[OTHER]}, "the same numbers for all readers"
    searches.asked.clear()
    found = run.scored([ONE, OTHER])  # all positions matter
    assert searches.asked == [(ONE, None), (OTHER, None)]
    assert [one.replicates for one in found.values()] == [16, 16]
    searches.asked.clear()
    strict = replace(run.search, tolerance=1e-6)  # type: ignore[arg-type]
    run.search = strict
    assert run.scored([ONE, OTHER]) == found, "there are as many replicates as allowed"
    assert searches.asked == []


def test_entries_of_older_versions_are_computed_again_with_columns(
    folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.sqlite"
    for model, is_kept in (("rnng", False), ("lstm", True)):
        run = run_of(folder, model, store=kept)
        old = Stored([-1.0] * 5, parses=[[(1.0, "(S")]])
        assert run.store is not None
        run.store.put(run.model_key, {ONE: old})
        found = run.scored([ONE])[ONE]
        assert (found == old) is is_kept
        assert bool(found.columns) is not is_kept and found.parses == old.parses
        assert run.scored([ONE]) == {ONE: found} == run.store.get(run.model_key, [ONE])


def test_what_matters_is_told_to_other_processes(folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, "rnng", store=tmp_path / "kept.sqlite")
    job = ScoringJob(run, [ONE, OTHER], matters={OTHER: (3, 1)})
    assert job.order([ONE, OTHER]).matters == {ONE: [0, 1, 2, 3, 4], OTHER: [1, 3]}
    assert ScoringJob(run, [ONE]).order([ONE]).matters is None


def test_perplexities_have_standard_errors(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _run(folder, tmp_path, tolerance=1e-6)
    searches = Searches(monkeypatch, run)
    (found,) = perplexities([run], split="test", marginal_sentences=6)
    assert {tuple(places or ()) for _, places in searches.asked} == {()}, "no word matters"
    rows = {row.model: row for row in found.rows}
    joint, marginal = rows["rnng (joint)"], rows["rnng (marginal)"]
    assert joint.perplexity_se is joint.bits_per_word_se is None and joint.search == ""
    assert marginal.perplexity_se is not None and marginal.bits_per_word_se is not None
    slope = marginal.perplexity * math.log(2)
    assert marginal.perplexity_se == pytest.approx(slope * marginal.bits_per_word_se)
    assert marginal.search.startswith("word-synchronous beam search, action beam 10, word beam 3")
    assert f"search: {marginal.search}" in found.caption
    bias = marginal.bias_bits_per_word
    assert bias is not None and f"rnng (marginal) {bias:+.4f}" in found.caption
    frame = run.perplexity(marginal_sentences=6).set_index("model")
    assert frame["perplexity_se"]["rnng (marginal)"] == marginal.perplexity_se
    assert math.isnan(frame["perplexity_se"]["rnng (joint)"])


def test_failed_sentences_have_no_part_in_the_error() -> None:
    undefined = np.full((5, 8), math.nan).tolist()
    scored = {
        ONE: Stored([-1.0] * 5, deviations=made_up(4, 8).tolist()),
        OTHER: Stored([-1.0, *[math.nan] * 4], deviations=undefined),
    }
    result = Perplexity(sentences=1, words=4, word_nats=4.0, end_nats=1.0)
    both, alone = (with_errors(result, some, scored) for some in ([ONE, OTHER], [ONE]))
    assert both == alone and (both.error_nats or 0) > 0
    assert with_errors(result, [OTHER], scored) == result
    assert with_errors(result, [ONE], {ONE: Stored([-1.0] * 5)}) == result
