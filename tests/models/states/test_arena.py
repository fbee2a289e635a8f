"""Rows that are only ever appended."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gardenpath.models.states.arena import Arena

COLUMNS: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
    "vector": ((3,), torch.float64),
    "matrix": ((2, 2), torch.float32),
    "number": ((), torch.long),
}


def make_arena() -> Arena:
    return Arena(COLUMNS, torch.device("cpu"))


def rows(numbers: list[int]) -> dict[str, Tensor]:
    """Rows whose contents tell them apart."""
    number = torch.tensor(numbers, dtype=torch.long)
    return {
        "vector": number.double().unsqueeze(1).expand(-1, 3) / 7,
        "matrix": number.float().view(-1, 1, 1).expand(-1, 2, 2) * 3,
        "number": number,
    }


def require_contents(arena: Arena, numbers: list[int]) -> None:
    assert len(arena) == len(numbers)
    for name, expected in rows(numbers).items():
        assert arena[name].dtype == COLUMNS[name][1]
        assert torch.equal(arena[name], expected)


@given(
    st.lists(
        st.one_of(
            st.integers(0, 700).map(lambda count: ("append", count)),
            st.integers(1, 4).map(lambda step: ("keep", step)),
        ),
        max_size=12,
    )
)
def test_rows_stay_as_they_were_however_it_grows_and_shrinks(
    changes: list[tuple[str, int]],
) -> None:
    arena, expected, made = make_arena(), list[int](), 0
    for kind, number in changes:
        if kind == "append":
            added = list(range(made, made + number))
            places = arena.append(**rows(added))
            assert places.tolist() == list(range(len(expected), len(expected) + number))
            expected += added
            made += number
        else:
            kept = list(range(len(expected)))[::number][::-1]
            arena.keep(torch.tensor(kept, dtype=torch.long))
            expected = [expected[place] for place in kept]
        require_contents(arena, expected)


def test_it_grows_far_beyond_its_first_size() -> None:
    arena = make_arena()
    arena.append(**rows(list(range(10))))
    arena.append(**rows(list(range(10, 5000))))
    require_contents(arena, list(range(5000)))


def test_rows_can_be_kept_twice_and_none_at_all() -> None:
    arena = make_arena()
    arena.append(**rows([5, 6, 7]))
    arena.keep(torch.tensor([2, 2, 0]))
    require_contents(arena, [7, 7, 5])
    arena.keep(torch.tensor([], dtype=torch.long))
    require_contents(arena, [])


def test_memory_is_used_again() -> None:
    arena = make_arena()
    arena.append(**rows(list(range(3000))))
    address = arena["vector"].data_ptr()
    for _ in range(5):
        arena.keep(torch.arange(10))
        arena.append(**rows(list(range(10, 3000))))
        assert arena["vector"].data_ptr() == address
    require_contents(arena, list(range(3000)))


def test_a_column_can_be_changed_in_place() -> None:
    arena = make_arena()
    arena.append(**rows([1, 2, 3]))
    arena["number"][1:] = 9
    arena.append(**rows([4]))
    assert arena["number"].tolist() == [1, 9, 9, 4]


def test_the_memory_of_a_row() -> None:
    assert make_arena().row_bytes == 3 * 8 + 4 * 4 + 8
