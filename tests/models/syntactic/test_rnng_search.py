"""Constituents of equal content are composed once."""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.models.syntactic.rnng_search import ComposedContents

FIRST = torch.arange(3.0).unsqueeze(1)


class Composer:
    """Composes constituents, given by number, and says which."""

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts
        self.composed: list[list[int]] = []

    def __call__(self, chosen: list[int]) -> Tensor:
        self.composed.append(chosen)
        assert [self.counts[row] for row in chosen] == sorted(
            (self.counts[row] for row in chosen), reverse=True
        )
        return torch.tensor([[100.0 + self.counts[row]] for row in chosen])


def test_each_content_is_composed_once() -> None:
    contents = ComposedContents(FIRST, width=1, is_shared=True)
    compose = Composer([1, 2, 1, 5])
    places = contents.places([7, -8, 7, 9], compose.counts, compose)
    assert [len(chosen) for chosen in compose.composed] == [3]
    assert contents.rows(places)[0].flatten().tolist() == [101, 102, 101, 105]
    # A new one among known ones.
    more = Composer([5, 3, 2])
    places = contents.places([9, 4, -8], more.counts, more)
    assert more.composed == [[1]]
    assert contents.rows(places)[0].flatten().tolist() == [105, 103, 102]
    # The first rows are always there.
    assert contents.rows(torch.tensor([2, 0]))[0].flatten().tolist() == [2, 0]
    contents.forget()
    contents.places([7], [1], again := Composer([1]))
    assert again.composed == [[0]]


def test_without_sharing_all_are_composed() -> None:
    contents = ComposedContents(FIRST, width=1, is_shared=False)
    for counts in ([1, 4, 1], [2, 2], list(range(1, 40))):
        compose = Composer(counts)
        places = contents.places((), counts, compose)
        assert sorted(compose.composed[0]) == list(range(len(counts)))
        expected = [100.0 + count for count in counts]
        assert contents.rows(places)[0].flatten().tolist() == expected
    assert contents.rows(torch.arange(3))[0].flatten().tolist() == [0, 1, 2]
