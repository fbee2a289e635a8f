"""Standard errors from the scorer to tables and perplexities; entries that are too uncertain."""

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
from gardenpath.eval.perplexity import Perplexity
from gardenpath.eval.search.replicates import standard_error
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.settings import WordSync
from gardenpath.runs import scorers
from gardenpath.runs.perplexity import perplexities, with_errors
from gardenpath.runs.processes import ScoringJob
from gardenpath.runs.run import Run
from gardenpath.store.surprisals import Stored
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.util import Words
from tests.toy_runs import run_of

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
        patch.setattr(scorers, "word_deviations_of", deviations)

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
    run.model_key = first.model_key
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
    assert job.message([ONE, OTHER])["matters"] == [[0, 1, 2, 3, 4], [1, 3]]
    assert ScoringJob(run, [ONE]).message([ONE])["matters"] is None


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
