"""Treebanks for tests: encoded from trees at hand, the reference ones, and ways through a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from gardenpath.data.encoding import EncodedSplit, Inventory, collect, encode_pieces, encode_words
from gardenpath.data.readers.files import BracketFiles
from gardenpath.data.readers.treebanks import PennTreebankSample, SinicaTreebank
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.legality import (
    Action,
    Finish,
    Kind,
    Strategy,
    in_order,
    kind_of,
    top_down,
)
from gardenpath.data.trees.tree import Event, Open, Tree, Word, from_events, parse_tree
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


# ----------------------------------------------------------------------------
# The trees of the reference treebanks, read one after the other.


# NLTK's two treebanks and the parsed novel, with the number of trees in each.
TREEBANKS = {"ptb_sample": 3_914, "sinica": 10_000, "dickens": 7_543}


def sentences(name: str, reference_data: Path) -> Iterator[Sentence]:
    """All sentences of a treebank, as annotated."""
    nltk_root = str(reference_data / "nltk_data")
    if name == "dickens":
        novel = BracketFiles(root=str(reference_data / "corpora" / "dickens"))
        return (sentence for split in SPLITS for sentence in novel.read(split))
    if name == "ptb_sample":
        return PennTreebankSample(root=nltk_root, train="1-199").read("train")
    return SinicaTreebank(root=nltk_root, train="1-10000").read("train")


# ----------------------------------------------------------------------------
# The obvious way back from actions to trees, and all trees of a small size.


def kinds(actions: Iterable[Action]) -> list[Kind]:
    """The kinds of a sequence of actions."""
    return [kind_of(action) for action in actions]


def rebuild(actions: Iterable[Action], strategy: Strategy) -> Tree:
    """The tree of a complete derivation."""
    events = [action for action in actions if not isinstance(action, Finish)]
    return from_events(events) if strategy == "top_down" else _from_in_order(events)


def _from_in_order(events: Iterable[Event]) -> Tree:
    stack: list[Tree | str | Open] = []
    for event in events:
        if isinstance(event, Word):
            stack.append(event.form)
        elif isinstance(event, Open):
            if not stack or isinstance(stack[-1], Open):
                raise ValueError(f"NT({event.label}) has no first child")
            first = stack.pop()
            stack.extend([event, first])
        else:
            _reduce(stack)
    if len(stack) != 1 or not isinstance(stack[0], Tree):
        raise ValueError("the actions do not make exactly one tree")
    return stack[0]


def _reduce(stack: list[Tree | str | Open]) -> None:
    children: list[Tree | str] = []
    while stack:
        item = stack.pop()
        if isinstance(item, Open):
            stack.append(Tree(item.label, tuple(reversed(children))))
            return
        children.append(item)
    raise ValueError("REDUCE without an open constituent")


def _forests(words: int, constituents: int) -> Iterator[tuple[Tree | str, ...]]:
    """All sequences of words and trees with exactly so many words and constituents."""
    if words == 0:
        if constituents == 0:
            yield ()
        return
    for rest in _forests(words - 1, constituents):
        yield ("w", *rest)
    for inner_words in range(1, words + 1):
        for inner in range(constituents):
            for children in _forests(inner_words, inner):
                for rest in _forests(words - inner_words, constituents - inner - 1):
                    yield (Tree("X", children), *rest)


def all_trees(words: int, constituents: int) -> Iterator[Tree]:
    """All unlabelled trees with so many words and at most so many constituents."""
    for count in range(constituents):
        yield from (Tree("X", children) for children in _forests(words, count))
