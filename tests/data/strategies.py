"""Random trees and words for property tests, and the running example."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from gardenpath.data.trees.tree import Tree

# The tree that every docstring of the package uses.
EXAMPLE = Tree(
    "S",
    (
        Tree("NP", (Tree("DT", ("the",)), Tree("JJ", ("hungry",)), Tree("NN", ("cat",)))),
        Tree("VP", (Tree("VBZ", ("meows",)),)),
    ),
)

_COMMON_WORDS = ["the", "Cat", "(", ")", "(x)", "a)b(", "猫", "，", "-", "--", "*T*-1", "1990s"]
_COMMON_LABELS = ["S", "NP", "VP", "NP-SBJ-1", "PP=2", "-LRB-", "PRP$", "TOP", "名"]

# No blanks (Z) and no control characters (C), but brackets, marks and every script.
_visible = st.characters(exclude_categories=["Z", "C"])


def words() -> SearchStrategy[str]:
    """Words as corpora have them; a literal -LRB- stands for a bracket and is none of them."""
    any_word = st.text(_visible, min_size=1, max_size=6)
    chosen = st.one_of(st.sampled_from(_COMMON_WORDS), any_word)
    return chosen.filter(lambda word: "-LRB" not in word and "-RRB" not in word)


def labels() -> SearchStrategy[str]:
    """Labels with and without functional parts."""
    return st.one_of(
        st.sampled_from(_COMMON_LABELS), st.from_regex(r"[A-Z][A-Z$]{0,3}", fullmatch=True)
    )


def preterminals() -> SearchStrategy[Tree]:
    """Words in a part-of-speech bracket, now and then a trace."""
    tagged = st.builds(lambda label, word: Tree(label, (word,)), labels(), words())
    return st.one_of(tagged, tagged, tagged, st.just(Tree("-NONE-", ("*",))))


def tagged_trees() -> SearchStrategy[Tree]:
    """Trees in which every word has a part of speech."""
    return _trees(preterminals())


def bare_trees() -> SearchStrategy[Tree]:
    """Trees without parts of speech: words and constituents side by side."""
    return _trees(words())


def trees() -> SearchStrategy[Tree]:
    """Trees of both kinds."""
    return st.one_of(tagged_trees(), bare_trees())


def _trees(leaves: SearchStrategy[Tree] | SearchStrategy[str]) -> SearchStrategy[Tree]:
    def node(children: SearchStrategy[Tree | str]) -> SearchStrategy[Tree]:
        return st.builds(Tree, labels(), st.lists(children, min_size=1, max_size=4).map(tuple))

    return st.recursive(node(leaves), lambda inner: node(st.one_of(inner, leaves)), max_leaves=8)


def deep_tree(depth: int) -> Tree:
    """A chain of so many constituents over one word; neighbours differ in their labels."""
    tree = Tree("N", ("cat",))
    for level in range(1, depth):
        tree = Tree("NP" if level % 2 else "VP", (tree,))
    return tree
