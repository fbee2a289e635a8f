"""Trees in plain text are found, and no sentence is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.readers.files import TextFiles
from gardenpath.data.trees.tree import Tree, TreeDetector, format_tree, is_tree, text_lines
from gardenpath.errors import InputError
from gardenpath.eval.suites.library import load_suites, suite_names
from gardenpath.settings.compose import load_settings
from tests.data import strategies

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
