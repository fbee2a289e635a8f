"""Rows that are only ever appended."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gardenpath.models.search_states import Arena

FLOATS = {"vector": 3, "single": 1}
NUMBERS = {"number": 1, "pair": 2}


def make_arena(*, is_fixed: bool = False) -> Arena:
    return Arena(
        floats=FLOATS, numbers=NUMBERS, dtype=torch.float64, device=torch.device("cpu"),
        is_fixed=is_fixed,
    )  # fmt: skip


def contents(numbers: list[int]) -> tuple[Tensor, Tensor]:
    """Rows whose contents tell them apart."""
    number = torch.tensor(numbers, dtype=torch.long).unsqueeze(1)
    return number.double().expand(-1, 4) / 7, number * torch.tensor([1, 2, 3])


def append(arena: Arena, numbers: list[int]) -> list[int]:
    for place, values in zip(arena.room(len(numbers)), contents(numbers), strict=True):
        place.copy_(values)
    return arena.append(len(numbers)).tolist()


def require_contents(arena: Arena, numbers: list[int]) -> None:
    assert len(arena) == len(numbers)
    floats, integers = contents(numbers)
    assert torch.equal(arena.floats[: len(arena)], floats)
    assert torch.equal(arena.numbers[: len(arena)], integers)


@given(
    st.lists(
        st.one_of(
            st.integers(0, 700).map(lambda count: ("append", count)),
            st.integers(1, 4).map(lambda step: ("keep", step)),
        ),
        max_size=12,
    ),
    st.booleans(),
)
def test_rows_stay_as_they_were_however_it_grows_and_shrinks(
    changes: list[tuple[str, int]], is_fixed: bool
) -> None:
    arena, expected, made = make_arena(is_fixed=is_fixed), list[int](), 0
    for kind, number in changes:
        if kind == "append":
            added = list(range(made, made + number))
            assert append(arena, added) == list(range(len(expected), len(expected) + number))
            expected += added
            made += number
        else:
            kept = list(range(len(expected)))[::number][::-1]
            arena.keep(torch.tensor(kept, dtype=torch.long))
            expected = [expected[place] for place in kept]
        require_contents(arena, expected)


@pytest.mark.parametrize("is_fixed", [False, True])
def test_it_grows_far_beyond_its_first_size(is_fixed: bool) -> None:
    arena = make_arena(is_fixed=is_fixed)
    append(arena, list(range(10)))
    append(arena, list(range(10, 5000)))
    require_contents(arena, list(range(5000)))


def test_columns_are_views_side_by_side() -> None:
    arena = make_arena()
    append(arena, [1, 2])
    assert arena["vector"].shape == (2, 3) and arena["single"].shape == (2, 1)
    assert arena["number"].tolist() == [1, 2]
    assert arena["pair"].tolist() == [[2, 3], [4, 6]]
    assert arena.columns(arena.numbers, "number", "pair").shape == (2, 3)
    arena["number"][1:] = 9
    append(arena, [4])
    assert arena["number"].tolist() == [1, 9, 4]


def test_rows_can_be_kept_twice_and_none_at_all() -> None:
    arena = make_arena()
    append(arena, [5, 6, 7])
    arena.keep(torch.tensor([2, 2, 0]))
    require_contents(arena, [7, 7, 5])
    arena.keep(torch.zeros(3000, dtype=torch.long))
    require_contents(arena, [7] * 3000)
    arena.keep(torch.tensor([], dtype=torch.long))
    require_contents(arena, [])
    append(arena, [3])
    arena.clear()
    require_contents(arena, [])


def test_memory_is_used_again() -> None:
    arena = make_arena()
    append(arena, list(range(3000)))
    address = arena["vector"].data_ptr()
    for _ in range(5):
        arena.keep(torch.arange(10))
        append(arena, list(range(10, 3000)))
        assert arena["vector"].data_ptr() == address
    require_contents(arena, list(range(3000)))


def test_as_much_is_reserved_as_was_ever_appended() -> None:
    """What is kept may grow; then it is ``keep`` that makes room, not the next append."""
    arena = make_arena(is_fixed=True)
    for _ in range(3):
        append(arena, list(range(300)))
    for _ in range(3):
        arena.keep(torch.arange(len(arena)))
        addresses = arena.floats.data_ptr(), arena.numbers.data_ptr(), arena.floats.shape
        for _ in range(3):
            append(arena, list(range(300)))
            now = arena.floats.data_ptr(), arena.numbers.data_ptr(), arena.floats.shape
            assert now == addresses


def test_the_last_column_can_be_widened() -> None:
    arena = make_arena(is_fixed=True)
    append(arena, [1, 2])
    arena.widen("pair", 4)
    assert arena["pair"][:2].tolist() == [[2, 3, 0, 0], [4, 6, 0, 0]]
    _, numbers = arena.room(1)
    numbers.copy_(torch.arange(5))
    arena.append(1)
    assert arena["pair"][2].tolist() == [1, 2, 3, 4]
    assert arena["number"][:3].tolist() == [1, 2, 0]


def test_the_memory_of_a_row() -> None:
    assert make_arena().row_bytes == 4 * 8 + 3 * 8
