"""What decides whether a search is fast on a GPU, runs there at all, and says the same anywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.errors import GardenpathError
from gardenpath.eval.search.beam import Beam
from gardenpath.eval.search.expansion import BeamExpansion, Found
from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import SentenceSearch
from gardenpath.eval.search.settings import SearchSettings, Unbiased, WordSync
from gardenpath.models.syntactic.family import PlmSettings, RnngSettings
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from tests.integration.launches import Launches
from tests.integration.searching import (
    MODELS,
    as_searched,
    log_probs,
    make_network,
    search,
    tiny_vocabulary,
)

WORDS, LABELS = 60, 5
LIMITS: dict[str, Any] = {"max_open": 20, "max_consecutive": 4}

# With fixed shapes, a look every six actions whether anything is left; per token two or three more:
# how much is to be kept, and what was found.
STEPS_BETWEEN_LOOKS = 6
WAITS_PER_TOKEN = 3

# Operators per action, of two layers. To close a constituent an RNNG walks down its children, of
# which there are at most as many as there are tokens and actions since the last of them.
OPERATORS_PER_STEP, OPERATORS_PER_PACKED_STEP = 150, 200


def make_middling(name: str, *, pieces: bool = False, **changes: Any) -> RnngNetwork | PlmNetwork:
    """A network in single precision that is neither tiny nor slow.

    If words consist of pieces, half of them continue a word.
    """
    torch.manual_seed(0)
    is_continuation = np.arange(WORDS) >= WORDS // 2 if pieces else None
    settings: dict[str, Any] = {
        "hidden": 32,
        "layers": 2,
        "dropout": 0.0,
        **MODELS[name],
        **changes,
    }
    network: RnngNetwork | PlmNetwork
    if name.startswith("rnng"):
        settings |= {"embedding": 32}
        network = RnngNetwork(
            RnngSettings(**settings), vocabulary_size=WORDS, label_count=LABELS,
            is_continuation=is_continuation,
        )  # fmt: skip
    else:
        settings |= {"heads": 4}
        network = PlmNetwork(
            PlmSettings(**settings), vocabulary_size=WORDS, label_count=LABELS,
            is_continuation=is_continuation,
        )  # fmt: skip
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return network.eval()


def random_sentences(count: int, shortest: int, longest: int) -> list[list[int]]:
    random = np.random.default_rng(0)
    lengths = random.integers(shortest, longest + 1, count)
    return [random.integers(4, WORDS, length).tolist() for length in lengths]


class WatchedExpansion(BeamExpansion):
    """Says for each token what was launched on the way to it, and how many steps it took."""

    def __init__(self, launches: Launches, work: Work, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings, work=work)
        self._launches, self._watched = launches, work
        self.seen: list[tuple[int, int, int]] = []

    def run(self, beam: Beam, *arguments: Any) -> Found:
        before, steps = self._launches.counts(), self._watched.steps
        found = super().run(beam, *arguments)
        after = self._launches.counts()
        self.seen.append((after[0] - before[0], after[1] - before[1], self._watched.steps - steps))
        return found


def watched(
    name: str,
    *,
    sentences: int,
    action_beam: int,
    length: int = 4,
    pieces: bool = False,
    is_packed: bool = False,
) -> tuple[Launches, list[tuple[int, int, int]]]:
    """A search, and (operators, waits, steps) of each of its rounds."""
    launches, work = Launches(), Work()
    settings = WordSync(action_beam=action_beam, word_beam=5, **LIMITS)
    model = as_searched(make_middling(name, pieces=pieces), is_packed=is_packed)
    expansion = WatchedExpansion(launches, work, model, settings, is_packed=is_packed)
    job = SentenceSearch(
        model=model, expansion=expansion, budget=1e12, is_packed=is_packed, work=work,
        finds_word_ends=True,
    )  # fmt: skip
    given = random_sentences(sentences, length, length)
    if pieces:
        given = [[min(one[0], WORDS // 2 - 1), *one[1:]] for one in given]
    with launches:
        job.run(given, lambda *_: None)
    return launches, expansion.seen


FIXED = ["rnng", "rnng_in_order", "rnng_attention", "plm", "plm_mask"]


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("sentences, action_beam", [(1, 6), (4, 30)])
@pytest.mark.parametrize("pieces", [False, True])
def test_the_host_waits_for_the_device_a_few_times_per_token(
    name: str, sentences: int, action_beam: int, pieces: bool
) -> None:
    launches, seen = watched(name, sentences=sentences, action_beam=action_beam, pieces=pieces)
    looks = 0
    for _, waits, steps in seen:
        # The looks, and nothing else, while hypotheses advance from action to action.
        assert waits <= 1 + steps // STEPS_BETWEEN_LOOKS
        looks += waits
    # And once more where the model reads the beginning of all sentences.
    assert launches.waits.total() - looks <= WAITS_PER_TOKEN * (len(seen) + 1)


@pytest.mark.parametrize("name", FIXED)
def test_operators_per_step_do_not_grow_with_the_beam_or_the_job(name: str) -> None:
    found = [
        max(operators / steps for operators, _, steps in seen)
        for sentences, action_beam in ((1, 6), (4, 6), (1, 30))
        for _, seen in [watched(name, sentences=sentences, action_beam=action_beam)]
    ]
    assert max(found) - min(found) < 5
    assert max(found) < OPERATORS_PER_STEP
    _, longer = watched(name, sentences=1, action_beam=6, length=16)
    assert max(operators / steps for operators, _, steps in longer) < OPERATORS_PER_STEP + 16


def test_the_packed_search_would_be_found_out() -> None:
    _, seen = watched("rnng", sentences=1, action_beam=6, is_packed=True)
    assert any(waits > 1 + steps // STEPS_BETWEEN_LOOKS for _, waits, steps in seen)


@pytest.mark.parametrize("name", FIXED)
def test_a_packed_step_launches_few_operators(name: str) -> None:
    """Whatever the beam and the number of sentences.

    After the last step that leaves something open, there is one that does not.
    """
    for sentences, action_beam in ((1, 6), (4, 6), (1, 30)):
        _, seen = watched(name, sentences=sentences, action_beam=action_beam, is_packed=True)
        found = [operators / (steps + 1) for operators, _, steps in seen]
        assert max(found) < OPERATORS_PER_PACKED_STEP and len(found) == 5


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("kind", ["word_sync", "unbiased"])
def test_no_tensor_is_made_without_a_device(name: str, is_packed: bool, kind: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    sentences = [vocabulary.encode(words) for words in (["a", "b", "c"], ["c"], ["a", "b", "a"])]
    settings: SearchSettings = WordSync(action_beam=9, word_beam=3, max_open=3, max_consecutive=2)
    if kind == "unbiased":
        settings = Unbiased(action_beam=9, word_beam=3, max_open=3, max_consecutive=2)
    expected = log_probs(search(network, sentences, settings))
    torch.set_default_device("meta")
    try:
        found = search(network, sentences, settings, is_packed=is_packed, keeps_history=True)
    finally:
        torch.set_default_device(None)
    for one, other in zip(log_probs(found), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def bits(result: SentenceResult) -> np.ndarray[Any, Any]:
    return -np.diff(np.array(result.prefix_log_probs), prepend=0.0) / math.log(2)


@pytest.mark.parametrize("name", ["rnng", "rnng_in_order", "rnng_attention", "plm", "plm_mask"])
def test_surprisals_in_single_precision_do_not_depend_on_company_or_shapes(name: str) -> None:
    network = make_middling(name)
    sentences = random_sentences(12, 3, 25)
    settings = WordSync(action_beam=10, word_beam=4, max_open=20, max_consecutive=3)
    together = search(network, sentences, settings, groups=64)
    longest = sorted(range(12), key=lambda number: -len(sentences[number]))[:2]
    for number in longest:
        (alone,) = search(network, [sentences[number]], settings, groups=1)
        np.testing.assert_allclose(bits(together[number]), bits(alone), rtol=0, atol=1e-5)
    fixed = search(
        network, [sentences[number] for number in longest], settings, groups=1, is_packed=False
    )
    for number, result in zip(longest, fixed, strict=True):
        np.testing.assert_allclose(bits(together[number]), bits(result), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["rnng", "plm"])
def test_a_sentence_of_250_words(name: str) -> None:
    changes: dict[str, Any] = {} if name == "rnng" else {"max_positions": 2000}
    network = make_middling(name, **changes)
    (sentence,) = random_sentences(1, 250, 250)
    settings = WordSync(action_beam=2, word_beam=1, max_open=20, max_consecutive=2)
    (result,) = search(network, [sentence], settings)
    assert result.failure is None
    assert len(result.prefix_log_probs) == 251
    # In single precision as in double, however small the probability has become.
    (exact,) = search(network.double(), [sentence[:60]], settings)
    np.testing.assert_allclose(bits(result)[:60], bits(exact)[:60], rtol=0, atol=2e-5)


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_sentence_for_which_there_are_no_positions_is_an_error(is_packed: bool) -> None:
    network = make_middling("plm", max_positions=12)
    settings = WordSync(action_beam=3, word_beam=2, **LIMITS)
    with pytest.raises(GardenpathError, match="max_positions"):
        search(network, random_sentences(1, 20, 20), settings, is_packed=is_packed)
