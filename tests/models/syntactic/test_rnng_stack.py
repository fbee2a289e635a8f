"""Composing constituents during a search against composing them one by one."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from benchmarks.copying_rnng import stack_step, stack_top
from gardenpath.data.trees.legality import Column, Kind
from gardenpath.models.search_states import START_STATE, legal_state
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.composition import LstmComposition
from gardenpath.models.syntactic.networks import RnngNetwork
from gardenpath.models.syntactic.rnng_stack import (
    Children,
    PushedNumbers,
    SearchStack,
    label_keys,
    make_composer,
    number_columns,
    walked,
    with_child,
    word_contents,
)
from tests.models.slow_models import attend, read_children
from tests.models.syntactic.test_rnng import Composition, make_network
from tests.tree_samples import SHAPES, encode_trees

NODES, MOST = 12, 4


def make_small(composition: Composition = "lstm") -> RnngNetwork:
    return make_network(encode_trees(SHAPES)[1], composition=composition).eval()


def make_children(network: RnngNetwork, rows: int = 9) -> Children:
    """Constituents of one to four children."""
    size = network.word_embedding.embedding_dim
    random = torch.Generator().manual_seed(0)
    count = torch.arange(rows) % MOST + 1
    place = torch.randint(0, NODES, (MOST, rows), generator=random)
    return Children(
        vector=torch.randn(NODES, size, dtype=torch.float64, generator=random),
        place=place,
        count=count,
        label=torch.arange(rows) % 2,
        output=torch.randn(rows, size, dtype=torch.float64, generator=random),
    )


def some_rows(children: Children, rows: list[int]) -> Children:
    assert children.output is not None
    return replace(
        children,
        place=children.place[:, rows],
        count=children.count[rows],
        label=children.label[rows],
        output=children.output[rows],
    )


def one_by_one(network: RnngNetwork, children: Children) -> Tensor:
    part = network.composition
    found = []
    for row, count in enumerate(children.count.tolist()):
        vectors = [children.vector[place] for place in children.place[:count, row].flip(0)]
        label = int(children.label[row])
        if isinstance(part, AttentionComposition):
            assert children.output is not None
            found.append(attend(part, label, vectors, children.output[row]))
        else:
            assert isinstance(part, LstmComposition)
            found.append(read_children(part, network.label_embedding.weight[label], vectors))
    return torch.stack(found)


@pytest.mark.parametrize("composition", ["lstm", "attention"])
@pytest.mark.parametrize("is_packed", [True, False])
def test_all_at_once_is_one_by_one(composition: Composition, is_packed: bool) -> None:
    network = make_small(composition)
    children = make_children(network)
    with torch.inference_mode():
        compose = make_composer(network)
        for rows in ([0, 1, 2, 3], list(range(9)), [8, 3, 3, 0]):
            if is_packed:
                rows = sorted(rows, key=lambda row: -int(children.count[row]))
            some = some_rows(children, rows)
            counts = some.count.tolist() if is_packed else None
            vectors = compose(replace(some, counts=counts))
            torch.testing.assert_close(vectors, one_by_one(network, some), rtol=0, atol=1e-12)


def test_what_is_below() -> None:
    below = torch.tensor([0, 0, 1, 2, 1])
    assert walked(below, torch.tensor([3, 4]), 3).tolist() == [[3, 4], [2, 1], [1, 0]]


# ----------------------------------------------------------------------------
# The integers of stacks against stacks that are lists.


LABELS = 3
COLUMNS = number_columns(has_keys=True, has_contents=False, has_pieces=True)


@dataclass
class Element:
    """An element of a stack; ``label`` is None for words, constituents and the start."""

    number: int
    label: int | None
    last: Kind | None


def expected(stack: list[Element]) -> dict[str, int]:
    """The integers of the top of a stack."""
    opened = [place for place, element in enumerate(stack) if element.label is not None]
    innermost = opened[-1] if opened else 0
    top = stack[-1]
    after_open = top.last is Kind.OPEN
    depth = min(len(opened), 3 if after_open and len(opened) > 2 else 2)
    return {
        "below": stack[-2].number if len(stack) > 1 else 0,
        "base": stack[innermost - 1].number if opened else 0,
        "label": stack[innermost].label or 0,
        "children": len(stack) - 1 - innermost,
        "depth": min(len(opened), 2),
        "height": len(stack) - 1,
        "legal": START_STATE if top.last is None else legal_state(top.last) + depth,
        "nothing": 0,
    }


@pytest.mark.parametrize("seed", range(5))
def test_random_derivations(seed: int) -> None:
    draw = random.Random(seed)
    pushed = PushedNumbers(COLUMNS, LABELS, torch.device("cpu"))
    names = list(COLUMNS)
    numbers = torch.zeros((1, len(names)), dtype=torch.long)
    numbers[0, names.index("legal")] = START_STATE
    stacks = [[Element(0, None, None)]]
    for _ in range(60):
        stack = list(draw.choice(stacks))
        opened = [place for place, element in enumerate(stack) if element.label is not None]
        events = [Column.WORD, *range(Column.FIRST_OPEN, Column.FIRST_OPEN + LABELS)]
        if opened and opened[-1] != len(stack) - 1:
            events += [Column.CLOSE] * 4
        event = draw.choice(events)
        if event == Column.CLOSE:
            stack = stack[: opened[-1]]
        below = torch.tensor([stack[-1].number])
        new = torch.empty((1, len(names)), dtype=torch.long)
        pushed.write(numbers, below, torch.tensor([event]), new)
        kinds = {Column.WORD: Kind.SHIFT, Column.CLOSE: Kind.REDUCE}
        is_open = event >= Column.FIRST_OPEN
        label = event - Column.FIRST_OPEN if is_open else None
        last = Kind.OPEN if is_open else kinds[Column(event)]
        stack.append(Element(len(numbers), label, last))
        found = dict(zip(names, new[0].tolist(), strict=True))
        wanted = expected(stack)
        assert {name: found[name] for name in wanted} == wanted
        assert found["pieces"] == 1
        if is_open:
            assert found["key"] == label_keys(LABELS)[event - Column.FIRST_OPEN]
        numbers = torch.cat([numbers, new])
        stacks.append(stack)


def key_of(label: int, children: list[int]) -> int:
    key = label_keys(4)[label].view(1)
    for child in children:
        key = with_child(key, torch.tensor([child]))
    return int(key)


def test_keys_differ_where_anything_differs() -> None:
    """Labels, children, their order and their number."""
    words = word_contents(40).tolist()
    shapes = ([3], [4], [3, 4], [4, 3], [3, 3], [3, 3, 3], [3, 4, 5], [5, 4, 3], [38])
    keys = {key_of(label, [words[w] for w in shape]) for label in range(3) for shape in shapes}
    # Constituents as children.
    keys.add(key_of(0, [key_of(1, [words[3]]), words[4]]))
    keys.add(key_of(0, [key_of(1, [words[3], words[4]])]))
    assert len(keys) == 3 * len(shapes) + 2


def test_many_random_contents_have_different_keys() -> None:
    rows = 200_000
    generator = torch.Generator().manual_seed(0)
    children = torch.randint(0, 5000, (rows, 3), generator=generator)
    contents = word_contents(5000)
    key = label_keys(1).expand(rows)
    for child in children.unbind(1):
        key = with_child(key, contents[child])
    assert len(key.unique()) == len(children.unique(dim=0))


def test_words_and_labels_have_different_keys() -> None:
    both = torch.cat([word_contents(50_000), label_keys(200)])
    assert len(both.unique()) == len(both)


# ----------------------------------------------------------------------------
# Steps of the stack LSTM in the search against the network's own.


@pytest.mark.parametrize("by_sigmoid", [False, True])
@pytest.mark.parametrize("shares", [False, True])
def test_steps_are_those_of_the_network(by_sigmoid: bool, shares: bool) -> None:
    network = make_network(encode_trees(SHAPES)[1]).eval()
    stack = SearchStack(network, by_sigmoid=by_sigmoid)
    random = torch.Generator().manual_seed(0)
    size = network.word_embedding.embedding_dim
    again = torch.tensor([0, 2, 2, 1, 0]) if shares else None
    rows = 5
    with torch.inference_mode():
        state = torch.zeros(rows, stack.state_size, dtype=torch.float64)
        expected = state
        for _ in range(4):
            vectors = torch.randn(rows, size, dtype=torch.float64, generator=random) * 3
            below = state[:3] if shares else state
            if again is not None:
                expected = expected[again]
            after = torch.empty_like(state)
            stack.step(stack.inputs(vectors), below, again, after)
            expected = stack_step(network.stack, vectors, expected)
            output = torch.empty(rows, size, dtype=torch.float64)
            stack.output(after, output)
            u = torch.relu(network.to_output(stack_top(network.stack, expected)))
            torch.testing.assert_close(output, u, rtol=0, atol=1e-12)
            state = after
