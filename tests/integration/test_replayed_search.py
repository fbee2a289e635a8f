"""Steps that are recorded and replayed: the same results, on addresses that do not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gardenpath.errors import ConfigError, GardenpathError
from gardenpath.eval.search import cuda_graphs as replayed_steps
from gardenpath.eval.search.cuda_graphs import ReplayedSteps, TakeStep
from gardenpath.eval.search.expansion import BeamExpansion
from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.sentences import SentenceSearch
from gardenpath.eval.search.settings import WordSync
from gardenpath.settings.schema import plain, read
from tests.integration.searching import as_searched, make_network, tiny_vocabulary
from tests.integration.tape import TapeRecorder
from tests.integration.test_search_devices import (
    FIXED,
    LIMITS,
    WORDS,
    make_middling,
    random_sentences,
)


def searched(
    name: str,
    sentences: list[list[int]],
    settings: WordSync,
    recorder: TapeRecorder | None,
    *,
    pieces: bool = False,
    keeps_history: bool = False,
) -> tuple[list[SentenceResult], Work, BeamExpansion]:
    """Search with fixed shapes, in double precision."""
    work = Work()
    model = as_searched(make_middling(name, pieces=pieces).double(), is_packed=False)
    expansion = BeamExpansion(model, settings, is_packed=False, work=work, recorder=recorder)
    results: dict[int, SentenceResult] = {}
    SentenceSearch(
        model=model, expansion=expansion, budget=1e12, is_packed=False, work=work,
        finds_word_ends=True, keeps_history=keeps_history,
    ).run(sentences, results.__setitem__)  # fmt: skip
    return [results[number] for number in range(len(sentences))], work, expansion


def given_sentences(*, pieces: bool, count: int = 3, longest: int = 6) -> list[list[int]]:
    found = random_sentences(count, longest - 2, longest)
    if pieces:
        found = [[min(one[0], WORDS // 2 - 1), *one[1:]] for one in found]
    return found


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("pieces", [False, True])
def test_replayed_steps_give_the_same_results(name: str, pieces: bool) -> None:
    """And count the same work. Nothing is read on the host while a step is recorded."""
    settings = WordSync(action_beam=8, word_beam=4, **LIMITS)
    sentences = given_sentences(pieces=pieces)
    expected, work, _ = searched(name, sentences, settings, None, pieces=pieces)
    recorder = TapeRecorder()
    found, replayed_work, expansion = searched(name, sentences, settings, recorder, pieces=pieces)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.prefix_log_probs, other.prefix_log_probs, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            one.replicate_measures, other.replicate_measures, rtol=0, atol=1e-9
        )
    assert replayed_work == work
    assert expansion.replayed is not None
    assert recorder.recorded > 0 and expansion.replayed.replays > recorder.recorded
    assert expansion.replayed.replays + recorder.eager == work.steps


@pytest.mark.parametrize("fast_track", [1, "word_beam"])
@pytest.mark.parametrize("stop", ["exhausted", "beam_full"])
def test_other_settings(fast_track: Any, stop: Any) -> None:
    settings = WordSync(action_beam=8, word_beam=4, fast_track=fast_track, stop=stop, **LIMITS)
    sentences = given_sentences(pieces=False)
    expected, _, _ = searched("rnng", sentences, settings, None)
    found, _, _ = searched("rnng", sentences, settings, TapeRecorder())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.prefix_log_probs, other.prefix_log_probs, rtol=0, atol=1e-12)


def test_recordings_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed_steps, "_MOST_PATTERNS", 1)
    settings = WordSync(action_beam=8, word_beam=4, **LIMITS)
    sentences = given_sentences(pieces=False)
    expected, _, _ = searched("plm", sentences, settings, None)
    found, _, expansion = searched("plm", sentences, settings, TapeRecorder())
    assert expansion.replayed is not None and len(expansion.replayed._recorded) < 4
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.prefix_log_probs, other.prefix_log_probs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FIXED)
def test_shapes_and_addresses_do_not_change_between_two_words(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first action of a word, which widens the beam, unless a tensor has to grow."""
    rounds: list[list[tuple[Any, ...]]] = []
    begin, step = ReplayedSteps.begin, ReplayedSteps.step

    def watched(
        self: ReplayedSteps, advance: TakeStep, state: Sequence[Tensor], others: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        kept, numbers = self._model.ready(state[0].numel())
        tensors = (*state, *others, *kept)
        rounds[-1].append((numbers, [(one.data_ptr(), one.shape) for one in tensors]))
        return step(self, advance, state, others)

    def begun(self: ReplayedSteps) -> None:
        rounds.append([])
        begin(self)

    monkeypatch.setattr(ReplayedSteps, "step", watched)
    monkeypatch.setattr(ReplayedSteps, "begin", begun)
    settings = WordSync(action_beam=8, word_beam=4, **LIMITS)
    searched(name, given_sentences(pieces=False, longest=10), settings, TapeRecorder())
    later = [one[2:] for one in rounds[2:]]
    assert sum(len(one) for one in later) > 20
    assert all(one == again[0] for again in later if again for one in again)


def test_with_a_history_nothing_is_replayed() -> None:
    settings = WordSync(action_beam=8, word_beam=4, **LIMITS)
    recorder = TapeRecorder()
    found, _, _ = searched(
        "rnng", given_sentences(pieces=False), settings, recorder, keeps_history=True
    )
    assert recorder.recorded == recorder.eager == 0
    assert all(one.failure is None for one in found)


def test_the_tape_repeats_what_was_recorded() -> None:
    total, count = torch.zeros(2), 1

    def work() -> Tensor:
        total.add_(torch.arange(2) + count)
        return total * 2

    replay, doubled = TapeRecorder().record(work)
    assert total.tolist() == [0, 0], "no effect yet"
    count = 100
    replay()
    replay()
    assert total.tolist() == [2, 4] and doubled.tolist() == [4, 8]
    with pytest.raises(AssertionError, match="read on the host"):
        TapeRecorder().record(lambda: total.sum().item())


@pytest.mark.parametrize("is_packed", [True, False])
def test_without_cuda_the_setting_is_refused(is_packed: bool) -> None:
    vocabulary = tiny_vocabulary()
    scorer = StructuredScorer(
        model=as_searched(make_network("rnng", vocabulary), is_packed=is_packed),
        vocabulary=vocabulary, subwords=None, settings=WordSync(cuda_graphs=True),
        is_packed=is_packed,
    )  # fmt: skip
    with pytest.raises(GardenpathError, match=r"cuda_graphs=true needs a CUDA device.*on cpu"):
        scorer.word_log_probs([["a"]])


def test_the_setting_needs_fixed_shapes_and_changes_no_key() -> None:
    content = {**plain(WordSync()), "cuda_graphs": True, "fixed_shapes": False}
    with pytest.raises(ConfigError, match="cuda_graphs=true needs fixed_shapes=true"):
        read(WordSync, content)
    assert WordSync(cuda_graphs=True).result_settings() == WordSync().result_settings()
