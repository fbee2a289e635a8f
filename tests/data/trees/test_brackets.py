"""Reading and writing brackets; every kind of mistake is found where it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.trees.tree import Tree, format_tree, parse_tree, read_tree_file, read_trees
from gardenpath.errors import InputError, TreeError
from gardenpath.store.files import open_text
from tests.data.strategies import EXAMPLE, deep_tree, trees

EXAMPLE_TEXT = "(S (NP (DT the) (JJ hungry) (NN cat)) (VP (VBZ meows)))"


def read(text: str) -> list[tuple[int, Tree]]:
    return list(read_trees(text.splitlines(), path="cats.mrg"))


@given(trees())
def test_reading_inverts_writing(tree: Tree) -> None:
    assert parse_tree(format_tree(tree)) == tree


@given(st.lists(trees(), max_size=4), st.sampled_from([" ", "\n", "\n\n"]))
def test_many_trees(several: list[Tree], between: str) -> None:
    assert [tree for _, tree in read(between.join(map(format_tree, several)))] == several


@given(trees())
def test_blanks_do_not_matter(tree: Tree) -> None:
    """The linearised form, and a line for each token."""
    spread = format_tree(tree).replace(")", " ) ")
    assert parse_tree(spread) == tree
    assert parse_tree(spread.replace("(", " ( ").replace(" ", "\n")) == tree


def test_example() -> None:
    assert parse_tree(EXAMPLE_TEXT) == EXAMPLE
    assert format_tree(EXAMPLE) == EXAMPLE_TEXT


def test_linearised_form() -> None:
    expected = Tree("S", (Tree("NP", ("the", "hungry", "cat")), Tree("VP", ("meows",))))
    assert parse_tree("(S (NP the hungry cat ) (VP meows ) )") == expected


def test_line_numbers_of_trees_over_several_lines() -> None:
    text = "\n( (S (NP (NN cat))\n  (VP (VBZ meows))) )\n(A a) (B b)\n\n(C\n c)\n"
    assert [(line, str(tree)) for line, tree in read(text)] == [
        (2, "(S (NP (NN cat)) (VP (VBZ meows)))"),
        (4, "(A a)"),
        (4, "(B b)"),
        (6, "(C c)"),
    ]


def test_empty_outer_bracket() -> None:
    assert parse_tree(f"( {EXAMPLE_TEXT} )") == EXAMPLE
    assert parse_tree(f"({EXAMPLE_TEXT})") == EXAMPLE
    assert parse_tree("( (S (NN cat)) (. .) )") == Tree(
        "TOP", (Tree("S", (Tree("NN", ("cat",)),)), Tree(".", (".",)))
    )


def test_bracket_escapes() -> None:
    tree = parse_tree("(PRN (-LRB- -LRB-) (NN a-LRB-b-RRB-) (-RRB- -RRB-))")
    assert tree.words() == ("(", "a(b)", ")")
    assert list(tree.labels()) == ["PRN", "-LRB-", "NN", "-RRB-"]
    assert format_tree(tree) == "(PRN (-LRB- -LRB-) (NN a-LRB-b-RRB-) (-RRB- -RRB-))"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("(A a)\n(S (NP (NN cat))\n", 2, "never closed"),
        ("(A a)\n\n(S\n(NP (NN cat)\n", 3, "2 open at the end"),
        ("(A a)\n(B b))\n", 2, r"unexpected '\)'"),
        (")", 1, r"unexpected '\)'"),
        ("(A a)\ncat\n", 2, "leaf 'cat' has no label"),
        ("\n( (S (NN cat))\n meows)\n", 3, "leaf 'meows' has no label"),
        ("(A a)\n(S (NP) (VP x))\n", 2, r"empty constituent \(NP\)"),
        ("(A a)\n()\n", 2, r"empty constituent \(\)"),
        ("(S (NN cat)\n( (NN dog)))\n", 2, "bracket inside a tree has no label"),
    ],
)
def test_mistakes_are_located(text: str, line: int, problem: str) -> None:
    with pytest.raises(TreeError, match=problem) as caught:
        read(text)
    assert (caught.value.path, caught.value.line) == ("cats.mrg", line)
    assert str(caught.value).startswith(f"cats.mrg:{line}: ")
    assert caught.value.remedy


def test_trees_before_a_mistake_are_read() -> None:
    stream = read_trees(["(A a)", "(B b))"], path="cats.mrg")
    assert [str(next(stream)[1]), str(next(stream)[1])] == ["(A a)", "(B b)"]
    with pytest.raises(TreeError):
        next(stream)


@pytest.mark.parametrize("text", ["", "(A a) (B b)"])
def test_parse_tree_wants_exactly_one(text: str) -> None:
    with pytest.raises(TreeError, match="expected one tree"):
        parse_tree(text)


@pytest.mark.parametrize(
    "tree",
    [Tree("N P", ("cat",)), Tree("", ("cat",)), Tree("N(", ("cat",)), Tree("NN", ("two cats",))],
)
def test_what_cannot_be_read_back_is_not_written(tree: Tree) -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        format_tree(tree)


def test_depth_is_no_problem() -> None:
    tree = deep_tree(5000)
    text = format_tree(tree)
    assert (parse_tree(text) == tree) is True
    with pytest.raises(TreeError, match="1 open"):
        parse_tree(text[:-1])


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "cats.mrg"
    path.write_text("(NN 猫)\n( (NN cat) )\n", encoding="utf-8")
    assert [(line, tree.words()) for line, tree in read_tree_file(path)] == [
        (1, ("猫",)),
        (2, ("cat",)),
    ]


def test_file_with_mistake_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cats.mrg"
    path.write_text("(NN cat)\n(NN)\n")
    with pytest.raises(TreeError) as caught:
        list(read_tree_file(path))
    assert str(caught.value).startswith(f"{path}:2: ")


def test_other_encoding(tmp_path: Path) -> None:
    path = tmp_path / "old.mrg"
    path.write_bytes("(NN 猫)".encode("gb18030"))
    assert [tree.words() for _, tree in read_tree_file(path, encoding="gb18030")] == [("猫",)]


@pytest.mark.parametrize("good_lines", [0, 1, 49, 5000])
def test_undecodable_file_names_the_line(tmp_path: Path, good_lines: int) -> None:
    path = tmp_path / "old.mrg"
    path.write_bytes(b"(NN cat)\n" * good_lines + "(NN 中文)\n".encode("gb18030"))
    with pytest.raises(InputError, match="is not UTF-8 text") as caught:
        list(read_tree_file(path))
    assert (caught.value.path, caught.value.line) == (str(path), good_lines + 1)
    assert "iconv -f GB18030 -t UTF-8" in caught.value.remedy


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened: No such file") as caught:
        list(read_tree_file(tmp_path / "none.mrg"))
    assert caught.value.path == str(tmp_path / "none.mrg")


def test_unknown_encoding(tmp_path: Path) -> None:
    (tmp_path / "cats.mrg").write_text("(NN cat)")
    with (
        pytest.raises(InputError, match="unknown encoding: klingon"),
        open_text(tmp_path / "cats.mrg", encoding="klingon"),
    ):
        pass
