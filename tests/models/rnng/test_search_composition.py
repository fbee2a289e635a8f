"""Composing constituents during a search against composing them one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gardenpath.models.rnng.attention_composition import AttentionComposition
from gardenpath.models.rnng.composition import LstmComposition
from gardenpath.models.rnng.rnng import RnngNetwork
from gardenpath.models.rnng.search_composition import Children, Composer, content_key, make_composer
from tests.models.rnng.test_rnng import Composition, make_network
from tests.models.stepwise_rnng import attend, read_children
from tests.tree_samples import SHAPES, encode_trees

NODES, MOST = 12, 4


def make_small(composition: Composition = "lstm") -> RnngNetwork:
    return make_network(encode_trees(SHAPES)[1], composition=composition).eval()


def make_children(network: RnngNetwork, rows: int = 9) -> Children:
    """Constituents of one to four children; the last is the first again."""
    size = network.word_embedding.embedding_dim
    random = torch.Generator().manual_seed(0)
    count = torch.arange(rows) % MOST + 1
    place = torch.randint(0, NODES, (rows, MOST), generator=random)
    label = torch.arange(rows) % 2
    # The same but for what lies behind its only child, which is not part of it.
    count[-1], label[-1], place[-1, 0] = count[0], label[0], place[0, 0]
    return Children(
        vector=torch.randn(NODES, size, dtype=torch.float64, generator=random),
        content=torch.arange(1, NODES + 1) * 1000003,
        place=place,
        count=count,
        label=label,
        output=torch.randn(rows, size, dtype=torch.float64, generator=random),
    )


def one_by_one(network: RnngNetwork, children: Children) -> Tensor:
    part = network.composition
    found = []
    for row, count in enumerate(children.count.tolist()):
        vectors = [children.vector[place] for place in children.place[row, :count].flip(0)]
        label = int(children.label[row])
        if isinstance(part, AttentionComposition):
            found.append(attend(part, label, vectors, children.output[row]))
        else:
            assert isinstance(part, LstmComposition)
            found.append(read_children(part, network.label_embedding.weight[label], vectors))
    return torch.stack(found)


@pytest.mark.parametrize("composition", ["lstm", "attention"])
@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("is_shared", [True, False])
def test_all_at_once_is_one_by_one(
    composition: Composition, is_packed: bool, is_shared: bool
) -> None:
    network = make_small(composition)
    children = make_children(network)
    with torch.inference_mode():
        composer = make_composer(network, is_packed=is_packed, is_shared=is_shared)
        for rows in (torch.arange(4), torch.arange(9), torch.tensor([8, 3, 3, 0])):
            some = children.rows(rows)
            vectors, _ = composer(some)
            torch.testing.assert_close(vectors, one_by_one(network, some), rtol=0, atol=1e-12)


def test_children_in_order() -> None:
    network = make_small()
    children = make_children(network)
    for row, count in enumerate(children.count.tolist()):
        first_to_last = children.place[row, :count].flip(0).tolist()
        assert children.in_order[row, :count].tolist() == first_to_last
        assert children.is_child[row].tolist() == [True] * count + [False] * (MOST - count)


def test_each_content_is_composed_once() -> None:
    children = make_children(make_small())
    composed: list[int] = []

    def compose(some: Children) -> Tensor:
        composed.append(len(some.count))
        return some.label.double().unsqueeze(1) + some.count.unsqueeze(1)

    composer = Composer(compose, is_shared=True)
    _, key = composer(children)
    assert composed == [8]
    assert key[0] == key[8]
    again, _ = composer(children.rows(torch.tensor([5, 0, 8])))
    assert composed == [8]
    expected = children.label.double() + children.count
    assert again.squeeze(1).tolist() == expected[[5, 0, 8]].tolist()
    # A new one among known ones.
    new = replace(children, label=children.label.clone())
    new.label[3] = 7
    vectors, _ = composer(new)
    assert composed == [8, 1]
    assert vectors.squeeze(1).tolist() == (new.label.double() + new.count).tolist()
    composer.forget()
    composer(children)
    assert composed == [8, 1, 8]


def test_contents_differ_where_anything_differs() -> None:
    """Labels, children, their order and their number."""
    content = torch.arange(1, 40)
    keys = set[int]()
    made = 0
    for label in range(3):
        for children in ([3], [4], [3, 4], [4, 3], [3, 3], [3, 3, 3], [3, 4, 5], [5, 4, 3], [38]):
            place = torch.tensor([children])
            one = Children(
                vector=torch.zeros(39, 1), content=content, place=place,
                count=torch.tensor([len(children)]), label=torch.tensor([label]),
                output=torch.zeros(1, 1),
            )  # fmt: skip
            keys.add(int(content_key(one)))
            made += 1
    assert len(keys) == made


def test_many_random_contents_have_different_keys() -> None:
    rows = 200_000
    random = torch.Generator().manual_seed(0)
    place = torch.randint(0, 5000, (rows, 3), generator=random)
    children = Children(
        vector=torch.zeros(5000, 1), content=torch.arange(1, 5001), place=place,
        count=torch.full((rows,), 3), label=torch.zeros(rows, dtype=torch.long),
        output=torch.zeros(rows, 1),
    )  # fmt: skip
    assert len(content_key(children).unique()) == len(place.unique(dim=0))
