"""What decides whether a search is fast on a GPU, runs there at all, and says the same anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.operators import LaunchCounter
from gardenpath.data.trees.legality import Column
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.beam import Beam
from gardenpath.eval.search.expansion import BeamExpansion, Found
from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import SentenceSearch
from gardenpath.eval.search.settings import SearchSettings, Unbiased, WordSync
from gardenpath.models.syntactic.family import PlmSettings, RnngSettings
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from gardenpath.models.syntactic.plm_search import PlmSearch
from gardenpath.models.syntactic.rnng_search import RnngSearch
from tests.integration.searching import (
    MODELS,
    Launches,
    as_searched,
    log_probs,
    make_network,
    search,
    tiny_vocabulary,
)
from tests.tiers import pairwise

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


@pytest.mark.parametrize(
    ("name", "job", "pieces"), pairwise(FIXED, [(1, 6), (4, 30)], [False, True])
)
def test_the_host_waits_for_the_device_a_few_times_per_token(
    name: str, job: tuple[int, int], pieces: bool
) -> None:
    sentences, action_beam = job
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


@pytest.mark.parametrize(
    ("name", "is_packed", "kind"), pairwise([*MODELS], [True, False], ["word_sync", "unbiased"])
)
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


# ----------------------------------------------------------------------------
# A step of a search with fixed shapes: the same operators and shapes, every time.


GROUPS, WIDTH = 3, 4
STEPS = 5

# Launches of the model in a step, packed and with fixed shapes, of two layers. A child costs an
# RNNG one, of which constituents have up to three here.
MOST_LAUNCHES = {
    "rnng": (85, 64),
    # The first child is pushed again.
    "rnng_in_order": (138, 99),
    "rnng_attention": (103, 79),
    "plm": (88, 79),
    "plm_mask": (111, 102),
}

Search = RnngSearch | PlmSearch


class Operators(TorchDispatchMode):
    """Records all operators with the shapes of what they compute; views compute nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[tuple[str, Any]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns):
            self.seen.append((str(func), _shapes(result)))
        return result


def _shapes(value: Any) -> Any:
    """Replace tensors by their shapes and types."""
    if isinstance(value, Tensor):
        return tuple(value.shape), value.stride(), value.dtype
    if isinstance(value, tuple | list):
        return tuple(map(_shapes, value))
    return str(value)


def tensors_of(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield all tensors that an object keeps, with their names."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from tensors_of(each, f"{path}.{name}")
    elif isinstance(value, tuple | list):
        for number, each in enumerate(value):
            yield from tensors_of(each, f"{path}.{number}")
    elif type(value).__module__.startswith("gardenpath.") and hasattr(value, "__dict__"):
        yield from tensors_of(vars(value), path)


def begun(model: Search, name: str) -> Tensor:
    """Read a few words, so that constituents have children; return ``(rows,)`` nodes."""
    model.begin()
    is_alive = torch.ones((GROUPS, WIDTH), dtype=torch.bool)
    nodes = torch.zeros((GROUPS, WIDTH), dtype=torch.long)
    for word in (5, 6, 7):
        flat = model.settle(nodes, is_alive).flatten()
        words, opens = torch.full_like(flat, word), torch.full_like(flat, Column.FIRST_OPEN)
        if name == "rnng_in_order":
            flat = model.advance(model.shift(flat, words), opens)
        else:
            flat = model.shift(model.advance(flat, opens), words)
        nodes = flat.view(GROUPS, WIDTH)
    flat = model.settle(nodes, is_alive).flatten()
    # The bound learns from the first scores.
    model.word_log_prob(flat, torch.full_like(flat, 5))
    return flat


def one_step(model: Search, nodes: Tensor, words: Tensor, columns: Tensor) -> Tensor:
    model.log_probs(nodes)
    model.word_log_prob(nodes, words)
    return model.advance(nodes, columns)


@pytest.mark.parametrize("name", FIXED)
def test_nothing_changes_from_step_to_step(name: str) -> None:
    model = as_searched(make_middling(name), is_packed=False)
    with torch.inference_mode():
        nodes = begun(model, name)
        words = torch.full_like(nodes, WORDS - 1)
        generator = torch.Generator().manual_seed(0)
        # Columns that open and close, for rows with and without a hypothesis.
        size = (STEPS, len(nodes))
        columns = torch.randint(Column.CLOSE, Column.FIRST_OPEN + LABELS, size, generator=generator)
        before = {path: (t.data_ptr(), t.shape) for path, t in tensors_of(model)}
        steps = []
        for taken in columns.unbind():
            with Operators() as operators, Launches() as launches:
                nodes = one_step(model, nodes, words, taken)
            steps.append(operators.seen)
            assert launches.waits.total() == 0
            now = {path: (t.data_ptr(), t.shape) for path, t in tensors_of(model)}
            assert now == before
    for later in steps[1:]:
        assert later == steps[0]


def test_what_a_model_keeps_is_found() -> None:
    found = dict(tensors_of(as_searched(make_middling("plm"), is_packed=False)))
    assert {".arena._floats", "._memory._rows", "._blocks.keys"} <= set(found)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("is_packed", [True, False])
def test_launches_of_a_step(name: str, is_packed: bool) -> None:
    model = as_searched(make_middling(name), is_packed=is_packed)
    with torch.inference_mode():
        nodes = begun(model, name)
        words = torch.full_like(nodes, WORDS - 1)
        columns = Column.CLOSE + torch.arange(len(nodes)) % 3
        with LaunchCounter() as counter:
            if is_packed:
                model.word_bound(nodes, words)
            one_step(model, nodes, words, columns)
    assert counter.count <= MOST_LAUNCHES[name][not is_packed]


@pytest.mark.parametrize("name", ["rnng", "rnng_in_order", "rnng_attention"])
def test_an_outer_constituent_may_have_more_children_than_the_inner_ones(name: str) -> None:
    """With fixed shapes, the number of children is bounded before it is known."""
    network = make_network(name, tiny_vocabulary())
    found = []
    for is_packed in (True, False):
        model = as_searched(network, is_packed=is_packed)
        one = torch.zeros((1, 1), dtype=torch.long)
        with torch.inference_mode():
            model.begin()
            node = one.flatten()
            word, opened, close = one[0] + 4, one[0] + Column.FIRST_OPEN, one[0] + Column.CLOSE
            in_order = name == "rnng_in_order"
            for _ in range(2):
                # (S a a a a a (S a
                node = model.shift(node, word) if in_order else node
                node = model.advance(node, opened)
                for _ in range(5):
                    node = model.settle(node.view(1, 1), one == 0).flatten()
                    node = model.shift(node, word)
            node = model.advance(model.shift(node, word) if in_order else node, opened)
            node = node if in_order else model.shift(node, word)
            node = model.settle(node.view(1, 1), one == 0).flatten()
            for _ in range(2):
                node = model.advance(node, close)
                found.append(model.log_probs(node))
    for packed, fixed in zip(found[:2], found[2:], strict=True):
        torch.testing.assert_close(packed, fixed, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("is_packed", [True, False])
def test_hypotheses_that_are_equal_or_dead_change_nothing_for_the_others(
    name: str, is_packed: bool
) -> None:
    """Also not if the first of a group is dead; equal nodes remain equal."""
    model = as_searched(make_middling(name).double(), is_packed=is_packed)
    found = []
    for order in ([0, 1, 2, 3], [3, 1, 1, 2]):
        with torch.inference_mode():
            nodes = begun(model, name)
            columns = Column.CLOSE + torch.arange(len(nodes)) % WIDTH
            nodes = model.advance(nodes, columns).view(GROUPS, WIDTH)[:, order]
            nodes = model.shift(nodes.flatten(), torch.full((GROUPS * WIDTH,), 9))
            # Two rows that are the same hypothesis are one node.
            nodes = nodes.view(GROUPS, WIDTH)
            if order[1] == order[2]:
                nodes[:, 2] = nodes[:, 1]
            is_alive = torch.tensor(order) != 3
            nodes = model.settle(nodes, is_alive.expand(GROUPS, -1))
            if order[1] == order[2]:
                assert torch.equal(nodes[:, 1], nodes[:, 2])
            for _ in range(2):
                columns = torch.full((GROUPS * WIDTH,), int(Column.FIRST_OPEN))
                nodes = model.advance(nodes.flatten(), columns).view(GROUPS, WIDTH)
            scores = model.log_probs(nodes.flatten()).view(GROUPS, WIDTH, -1)
            found.append({number: scores[:, slot] for slot, number in enumerate(order)})
    for number in (1, 2):
        torch.testing.assert_close(found[0][number], found[1][number], rtol=0, atol=1e-10)
