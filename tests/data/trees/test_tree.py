"""Reading and writing brackets; every kind of mistake is found where it is."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.readers.treebanks import TextFiles
from gardenpath.data.trees.tree import (
    CLOSE,
    Event,
    Open,
    Tree,
    TreeDetector,
    Word,
    format_tree,
    from_events,
    is_tree,
    parse_tree,
    read_tree_file,
    read_trees,
    text_lines,
)
from gardenpath.errors import InputError, TreeError
from gardenpath.eval.suites.library import load_suites, suite_names
from gardenpath.settings.compose import load_settings
from gardenpath.store.files import open_text
from tests.data import strategies
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


# ----------------------------------------------------------------------------
# Trees: walks, equality, and rebuilding from events.


# fmt: off
EXAMPLE_EVENTS: list[Event] = [
    Open("S"),
    Open("NP"), Open("DT"), Word("the"), CLOSE, Open("JJ"), Word("hungry"), CLOSE,
    Open("NN"), Word("cat"), CLOSE, CLOSE,
    Open("VP"), Open("VBZ"), Word("meows"), CLOSE, CLOSE,
    CLOSE,
]
# fmt: on


def test_events_of_example() -> None:
    assert list(EXAMPLE.events()) == EXAMPLE_EVENTS


def test_words_and_labels_of_example() -> None:
    assert EXAMPLE.words() == ("the", "hungry", "cat", "meows")
    assert list(EXAMPLE.labels()) == ["S", "NP", "DT", "JJ", "NN", "VP", "VBZ"]


def test_str_of_example() -> None:
    assert str(EXAMPLE) == "(S (NP (DT the) (JJ hungry) (NN cat)) (VP (VBZ meows)))"


def test_tree_is_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        EXAMPLE.label = "NP"  # type: ignore[misc]


def test_empty_constituent_is_refused() -> None:
    with pytest.raises(ValueError, match="'NP' has no children"):
        Tree("NP", ())


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Tree("NN", ("cat",)), True),
        (Tree("NP", ("the", "cat")), False),
        (Tree("NP", (Tree("NN", ("cat",)),)), False),
    ],
)
def test_is_preterminal(tree: Tree, expected: bool) -> None:
    assert tree.is_preterminal is expected


@given(trees())
def test_from_events_inverts_events(tree: Tree) -> None:
    rebuilt = from_events(tree.events())
    assert rebuilt == tree
    assert hash(rebuilt) == hash(tree)


@given(trees(), trees())
def test_equal_trees_are_written_alike(one: Tree, other: Tree) -> None:
    assert (one == other) == (str(one) == str(other) and list(one.events()) == list(other.events()))


def test_a_word_is_not_a_tree() -> None:
    assert Tree("NN", ("cat",)) != "cat"
    assert Tree("NP", ("the", "cat")) != Tree("NP", ("cat", "the"))
    assert Tree("NP", ("cat",)) != Tree("NP", (Tree("NN", ("cat",)),))


@given(trees())
def test_fold_can_measure(tree: Tree) -> None:
    def count_words(_label: str, parts: tuple[int, ...]) -> int:
        return sum(parts)

    def recursive_height(node: Tree | str) -> int:
        if isinstance(node, str):
            return 0
        return 1 + max(recursive_height(child) for child in node.children)

    assert tree.fold(count_words, lambda _word: 1) == len(tree.words())
    assert tree.fold(lambda _label, parts: 1 + max(parts), lambda _word: 0) == recursive_height(
        tree
    )


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([CLOSE], "never opened"),
        ([Open("S"), Word("cat")], "exactly one tree"),
        ([Word("cat")], "exactly one tree"),
        ([], "exactly one tree"),
        ([Open("S"), Word("a"), CLOSE, Open("S"), Word("b"), CLOSE], "exactly one tree"),
        ([Open("S"), CLOSE], "no children"),
    ],
)
def test_from_events_refuses(events: list[Event], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        from_events(events)


def test_depth_is_no_problem_tree() -> None:
    tree = deep_tree(5000)
    assert tree == deep_tree(5000)
    assert hash(tree) == hash(deep_tree(5000))
    assert (tree == deep_tree(4999)) is False
    assert tree.words() == ("cat",)
    assert len(list(tree.labels())) == 5000
    assert str(tree).count("(") == 5000
    assert (from_events(tree.events()) == tree) is True


# ----------------------------------------------------------------------------
# Trees in plain text are found, and no sentence is taken for one.


TREES = [
    "(S (NP the hungry cat) (VP meows))",
    "(S (NP (DT the) (NN cat)) (VP (VBZ meows)))",
    "( (S (NP-SBJ (NN cat)) (VP (VBZ meows)) (. .)) )",
    "( S ( NP the cat ) ( VP meows ) )",
    "(S (NP the hungry cat ) (VP meows ) )",
    "(s (np the cat) (vp meows))",
    "(IP (NP (NR 上海)) (VP (VV 开发)))",
    "(NP (NN cat)) (VP (VBZ meows))",
    "(S (NP cat)\n   (VP meows))",
    "( (S\n    (NP cat)\n    (VP meows)) )",
]
TEXTS = [
    "( laughs ) he said .",
    "( laughs )",
    "(laughs)",
    "(he laughs)",
    "( He laughs ( the man ) loudly . )",
    "( I know . )",
    "-LRB- S -LRB- NP cat -RRB- -RRB-",
    "He ( the man ) laughs .",
    "The cat (S (NP cat)) sleeps",
    ":( sad",
    "(S (NP the cat",
    "( ( ( (",
    ") ) )",
    "()",
]


@pytest.mark.parametrize("tree", TREES)
def test_trees(tree: str) -> None:
    assert is_tree(tree)


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text: str) -> None:
    assert not is_tree(text)


def test_one_bracket_per_line_is_a_tree_if_all_lines_have_the_label() -> None:
    assert not is_tree("(I left)\n(I came)\nI stayed .\n")
    assert not is_tree("(I left)\n(NASA said so)\n(I came)\n")
    assert is_tree("(S the cat sleeps)\n(S the dog barks)\n(S they sleep)\n")


def test_the_place_of_the_first_tree_is_named() -> None:
    lines = ["the cat .", "( laughs )", "( (S (NP cat)", "   (VP meows)) )", "more"]
    with pytest.raises(InputError, match=r"^a\.txt:3: is a bracketed tree.*\(use this\)$"):
        list(text_lines(lines, path="a.txt", remedy="use this"))
    assert list(text_lines(lines[:2], path="a.txt", remedy="")) == lines[:2]


def test_plain_text_after_an_open_bracket_does_not_continue_a_tree() -> None:
    assert not is_tree("( (S (NP cat)\nthe dog barks .\n(VP meows)) )\n")


def test_a_corpus_of_text_refuses_trees(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the cat .\n(S (NP cat) (VP meows))\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.txt:2: is a bracketed tree.*data=brackets"):
        list(TextFiles(root=str(tmp_path)).read("train"))


def _depth(tree: Tree) -> int:
    return 1 + max((_depth(child) for child in tree.children if isinstance(child, Tree)), default=0)


@settings(max_examples=300, deadline=None)
@given(strategies.trees())
def test_every_tree_is_found(tree: Tree) -> None:
    assert is_tree(format_tree(tree)) == (_depth(tree) > 1)
    assert is_tree(f"( {format_tree(tree)} )")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["(", ")", "the", "cat", "(the", "cat)", ".", "I"]), max_size=12))
def test_words_after_the_last_bracket_make_it_a_sentence(words: list[str]) -> None:
    assert not is_tree(" ".join([*words, "said", "."]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=8))
def test_any_lines_are_read(lines: list[str]) -> None:
    detector = TreeDetector()
    for number, line in enumerate(lines, start=1):
        begin = detector.tree_ends_in(line, number)
        assert begin is None or 1 <= begin <= number


def test_no_sentence_of_the_suites_is_a_tree() -> None:
    suites = load_suites(suite_names())
    detector = TreeDetector()
    sentences = dict.fromkeys(words for suite in suites for words in suite.sentences)
    for number, words in enumerate(sentences, start=1):
        assert detector.tree_ends_in(" ".join(words), number) is None


@pytest.mark.parametrize("corpus", ["ptb_sample", "sinica"])
def test_real_sentences_and_trees(corpus: str, nltk_root: str) -> None:
    data = load_settings("train", [f"data={corpus}", f"data.root={nltk_root}"]).data
    detector = TreeDetector()
    splits = ("train", "valid", "test") if corpus == "ptb_sample" else ("test",)
    sentences = (one for split in splits for one in data.reader.read(split))
    for number, sentence in enumerate(sentences, start=1):
        assert detector.tree_ends_in(" ".join(sentence.words), number) is None
        if sentence.tree is not None:
            assert is_tree(f"( {format_tree(sentence.tree)} )")
