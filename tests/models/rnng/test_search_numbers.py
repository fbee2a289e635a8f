"""The integers of stacks against stacks that are lists."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest
import torch

from gardenpath.data.trees.legality import Column, Kind
from gardenpath.models.search_states import START_STATE, legal_state
from gardenpath.models.syntactic.rnng_stack import (
    PushedNumbers,
    label_keys,
    number_columns,
    with_child,
    word_contents,
)

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
