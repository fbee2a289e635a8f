"""Folders that name the settings in which the jobs of a sweep differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.settings.schema import folders_for, short_names


def _folder(value: object) -> str:
    return folders_for({"data.root": value}, {"data.root": "root"})


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        (0.01, "root=0.01/"),
        (1e-05, "root=1e-5/"),
        (2.0, "root=2/"),
        (2, "root=2/"),
        (True, "root=true/"),
        (None, "root=null/"),
        ("corpora/ptb", "root=corpora+ptb/"),
        ([1, 2], "root=1+2/"),
        ("-1", "root=-1/"),
    ],
)
def test_values_are_written_in_one_way(value: object, folder: str) -> None:
    assert _folder(value) == folder


@given(st.text(min_size=1, max_size=300))
def test_names_are_safe_and_short(text: str) -> None:
    folder = _folder(text)
    assert folder.count("/") == 1 and folder.endswith("/")
    assert len(folder.encode()) <= 81 and not set(folder) & set("\0\n '\"$*?,;:()[]{}\\")


@given(st.text(max_size=120), st.text(max_size=120))
def test_different_values_have_different_folders(one: str, other: str) -> None:
    assert (_folder(one) == _folder(other)) == (one == other)


def test_paths_and_plus_signs_are_kept_apart() -> None:
    assert len({_folder(one) for one in ("a/b", "a+b", "/a/b", "a/b/", "a_b", "a b")}) == 6


def test_names_are_as_short_as_they_remain_different() -> None:
    keys = ["model.optimiser.learning_rate", "model.network.dropout", "data.dropout", "trainer"]
    assert list(short_names(keys).values()) == [
        "learning_rate", "network.dropout", "data.dropout", "trainer",
    ]  # fmt: skip


def test_the_order_on_the_command_line_does_not_matter() -> None:
    names = short_names(["a.x", "b.y"])
    assert folders_for({"b.y": 2, "a.x": 1}, names) == folders_for({"a.x": 1, "b.y": 2}, names)
