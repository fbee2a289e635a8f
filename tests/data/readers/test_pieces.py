"""Pieces of files: the same sentences, lines and errors as in the whole file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.readers import base as pieces
from gardenpath.data.readers.files import BracketFiles, TextFiles
from gardenpath.data.sentence import Sentence
from gardenpath.errors import InputError

TREES = (
    "(S (NP the cat) (VP meows))",
    "(S (NP the\n dog)\n\n (VP barks))",
    "(S (NP a) (VP b)) (S (NP c) (VP d))",
    "( (S (NP -LRB- x)\r\n (VP y)) )",
    "",
    "(FRAG 好 吗)",
)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 40)


def from_pieces(reader: BracketFiles | TextFiles) -> Iterator[Sentence]:
    for piece in reader.pieces("train"):
        yield from reader.read_piece(piece)


@given(
    chosen=st.lists(st.sampled_from(TREES), max_size=12), end=st.sampled_from(["\n", "\r\n", "\r"])
)
def test_pieces_of_brackets(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[str], end: str
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "train.txt").write_bytes(end.join(chosen).encode())
    reader = BracketFiles(root=str(folder))
    assert list(from_pieces(reader)) == list(reader.read("train"))


@given(
    lines=st.lists(st.sampled_from(["the cat meows .", "", "你好 世界", "a"]), max_size=20),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_pieces_of_text(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "train.txt").write_bytes(end.join(lines).encode())
    reader = TextFiles(root=str(folder))
    assert list(from_pieces(reader)) == list(reader.read("train"))


def test_files_are_cut(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("\n".join([TREES[0], TREES[1]] * 10))
    found = BracketFiles(root=str(tmp_path)).pieces("train")
    assert len(found) > 8
    assert [piece.first_line for piece in found][:3] == [1, 6, 11]
    assert sum(piece.byte_count for piece in found) == (tmp_path / "train.txt").stat().st_size


def test_a_tree_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("(S\n" + "(NP cat)\n" * 200 + ")\n(S x)\n")
    assert len(BracketFiles(root=str(tmp_path)).pieces("train")) == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_are_not_cut(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "train.txt").write_text("the cat\n" * 100, encoding=encoding)
    reader = TextFiles(root=str(tmp_path), encoding=encoding)
    assert [piece.part for piece in reader.pieces("train")] == [None]
    assert len(list(from_pieces(reader))) == 100


@pytest.mark.parametrize(
    ("wrong", "line"),
    [(")", 31), ("(S (NP x)", 31), ("word", 31), ("(S ())", 31), ("(S\n(NP x)", 31)],
)
def test_errors_have_the_same_place(tmp_path: Path, wrong: str, line: int) -> None:
    lines = [TREES[0]] * 30 + [wrong] + ([TREES[0]] * 20 if "S (NP" not in wrong else [])
    (tmp_path / "train.txt").write_text("\n".join(lines))
    reader = BracketFiles(root=str(tmp_path))
    with pytest.raises(InputError) as whole:
        list(reader.read("train"))
    with pytest.raises(InputError) as cut:
        list(from_pieces(reader))
    assert str(cut.value) == str(whole.value)
    assert cut.value.line == line


def test_undecodable_bytes_have_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(b"the cat\n" * 50 + b"\xff\n" + b"the cat\n" * 50)
    reader = TextFiles(root=str(tmp_path))
    with pytest.raises(InputError, match=r"train\.txt:51: is not UTF-8 text"):
        list(from_pieces(reader))
