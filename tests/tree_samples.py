"""Encoded treebanks made from trees at hand, for the tests of structured models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gardenpath.data.encoding import EncodedSplit, Inventory, collect, encode_pieces, encode_words
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.legality import Action, Strategy, in_order, top_down
from gardenpath.data.trees.tree import Tree, Word, parse_tree
from gardenpath.data.words.vocabulary import SPECIALS, WORD_MARK, Vocabulary, build_vocabulary

STRATEGIES: tuple[Strategy, ...] = ("top_down", "in_order")

# Small trees of many shapes: unary chains, flat, left- and right-branching, nested on both sides.
SHAPES = tuple(
    parse_tree(text)
    for text in (
        "(S (NP the hungry cat) (VP meows))",
        "(S a)",
        "(S (NP (NP (NP a))))",
        "(S a b c d e)",
        "(S (A (B (C a) b) c) d)",
        "(S a (A b (B c (C d))))",
        "(S (A a b) c (B (C d) (A e (B f) g)) h)",
        "(A (A (A a) (B b)) (C (B c d) e (A (B (C f)))))",
    )
)


def actions_of(tree: Tree, strategy: Strategy) -> list[Action]:
    """The actions of a tree in the order of a strategy."""
    return top_down(tree) if strategy == "top_down" else in_order(tree)


def pieces_of(word: str) -> list[str]:
    """The letters of a word, the first with the mark."""
    return [WORD_MARK + word[0], *word[1:]]


def piece_actions(tree: Tree, strategy: Strategy) -> list[Action]:
    """The actions of a tree whose words are shifted letter by letter."""
    actions: list[Action] = []
    for action in actions_of(tree, strategy):
        if isinstance(action, Word):
            actions += [Word(piece) for piece in pieces_of(action.form)]
        else:
            actions.append(action)
    return actions


def encode_letters(trees: Sequence[Tree]) -> tuple[EncodedSplit, Vocabulary]:
    """A split of trees whose tokens are the letters of the words."""
    words, labels = Inventory(), Inventory()
    sentences = [
        Sentence(tree.words(), Source("sample", number), tree) for number, tree in enumerate(trees)
    ]
    raw = collect(sentences, words, labels)
    letters = sorted({piece for word in words.items for piece in pieces_of(word)})
    tokens = (*SPECIALS, *letters)
    vocabulary = Vocabulary(
        tokens=tokens, counts=(1,) * len(tokens), labels=tuple(sorted(labels.items)),
        language="en", min_count=1, subword_hash="letters",
    )  # fmt: skip
    pieces = {
        number: [vocabulary.ids[piece] for piece in pieces_of(word)]
        for number, word in enumerate(words.items)
    }
    label_ids = np.array([vocabulary.label_ids[label] for label in labels.items])
    return encode_pieces(raw, pieces=pieces, label_ids=label_ids), vocabulary


def encode_trees(trees: Sequence[Tree]) -> tuple[EncodedSplit, Vocabulary]:
    """A split of trees, with a vocabulary that holds all of their words."""
    words, labels = Inventory(), Inventory()
    sentences = [
        Sentence(tree.words(), Source("sample", number), tree) for number, tree in enumerate(trees)
    ]
    raw = collect(sentences, words, labels)
    vocabulary = build_vocabulary(
        raw.word_counts(words.items), labels=labels.items, language="en", min_count=1
    )
    first, elsewhere = (
        np.array([vocabulary.ids[vocabulary.seen_as(w, is_first=f)] for w in words.items])
        for f in (True, False)
    )
    label_ids = np.array([vocabulary.label_ids[label] for label in labels.items])
    encoded = encode_words(raw, elsewhere=elsewhere, first=first, label_ids=label_ids)
    return encoded, vocabulary
