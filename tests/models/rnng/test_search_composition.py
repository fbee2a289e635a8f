"""Composing constituents during a search against composing them one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.composition import LstmComposition
from gardenpath.models.syntactic.rnng import RnngNetwork
from gardenpath.models.syntactic.rnng_stack import Children, first_to_last, make_composer, walked
from tests.models.rnng.test_rnng import Composition, make_network
from tests.models.stepwise_rnng import attend, read_children
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


def test_children_in_order() -> None:
    children = make_children(make_small())
    in_order = first_to_last(children.place, children.count - 1)
    for row, count in enumerate(children.count.tolist()):
        assert in_order[:count, row].tolist() == children.place[:count, row].flip(0).tolist()


def test_what_is_below() -> None:
    below = torch.tensor([0, 0, 1, 2, 1])
    assert walked(below, torch.tensor([3, 4]), 3).tolist() == [[3, 4], [2, 1], [1, 0]]
