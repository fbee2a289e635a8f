"""Lists of ids and hashes of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.data.corpus import READERS
from gardenpath.data.readers.base import hash_files, parse_ids
from gardenpath.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2-4", {2, 3, 4}),
        ("23", {23}),
        (23, {23}),
        ("1-3, 7, 9-10", {1, 2, 3, 7, 9, 10}),
        ("1 3\n5", {1, 3, 5}),
        ("0001-0003", {1, 2, 3}),
    ],
)
def test_ids(text: str | int, expected: set[int]) -> None:
    assert parse_ids(text, setting="data.reader.train") == expected


@pytest.mark.parametrize("text", ["", "a", "1-b", "5-2", "-5", "5-", "1--2", "1.5"])
def test_wrong_ids(text: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.reader\.train: .* is not a list of numbers"):
        parse_ids(text, setting="data.reader.train")


def test_hash_follows_names_bytes_and_settings(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("cat")
    other.write_text("cat")
    hashes = [hash_files([one], a=1), hash_files([other], a=1), hash_files([one], a=2)]
    hashes.append(hash_files([one, other], a=1))
    one.write_text("dog")
    hashes.append(hash_files([one], a=1))
    assert len(set(hashes)) == 5
    one.write_text("cat")
    assert hash_files([one], a=1) == hashes[0]


def test_registry() -> None:
    single = {"toy", "ptb", "ptb_sample", "ctb", "sinica", "gum", "brackets", "text"}
    assert set(READERS) == {*single, "combined", "elsewhere"}
    assert [name for name in single if not READERS[name].has_trees] == ["text"]
