"""A step of a search with fixed shapes: the same operators and shapes, every time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.operators import LaunchCounter
from gardenpath.data.trees.legality import Column
from gardenpath.models.syntactic.plm_search import PlmSearch
from gardenpath.models.syntactic.rnng_search import RnngSearch
from tests.integration.launches import Launches
from tests.integration.searching import as_searched, make_network, tiny_vocabulary
from tests.integration.test_search_devices import FIXED, LABELS, WORDS, make_middling

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
