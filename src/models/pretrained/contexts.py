"""What is asked of a model: sums of probabilities of next tokens, after distinct contexts.

Contexts (sequences of tokens) form a tree, so that equal beginnings of texts are the same context.
Sets of tokens are ranges of one list of tokens: the sorted vocabulary, followed by other sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.words.spacing import Spacing
from gardenpath.models.pretrained.token_bytes import TokenBytes, ends_word

# A set of tokens: a range of :attr:`TokenSets.tokens`.
TokenSet = tuple[int, int]

# The set of all tokens that end a word, and the end of the text; it is half of a vocabulary.
ENDING: TokenSet = (-1, -1)

EMPTY = 0


class TokenSets:
    """Sets of tokens for a spacing; ``end`` is the token that ends texts, if there is one."""

    def __init__(self, vocabulary: TokenBytes, spacing: Spacing, end: int | None) -> None:
        self._vocabulary = vocabulary
        self._spacing = spacing
        self._others: list[int] = []
        self._known: dict[bytes, TokenSet] = {}
        self.end = self._add([] if end is None else [end])
        ending = [
            token
            for token, content in enumerate(vocabulary.content)
            if content is not None and ends_word(content, spacing)
        ]
        self.ending: Ints = np.array(ending if end is None else [*ending, end], dtype=np.int64)

    @property
    def tokens(self) -> Ints:
        """The tokens of which sets are ranges."""
        others = np.array(self._others, dtype=np.int64)
        return np.concatenate([self._vocabulary.order, others])

    def only(self, token: int) -> TokenSet:
        """Return the set of one token, which must have bytes."""
        rank = int(self._vocabulary.rank[token])
        return rank, rank + 1

    def beginning_with(self, prefix: bytes) -> TokenSet:
        """Return the tokens that begin with a prefix."""
        return self._vocabulary.beginning_with(prefix)

    def ending_after(self, prefix: bytes) -> TokenSet:
        """Return the tokens that begin with a prefix and in which it ends a word."""
        known = self._known.get(prefix)
        if known is None:
            ranks = self._vocabulary.ending_after(prefix, self._spacing)
            known = self._known[prefix] = self._add(self._vocabulary.order[ranks].tolist())
        return known

    def _add(self, tokens: Sequence[int]) -> TokenSet:
        begin = len(self._vocabulary.order) + len(self._others)
        self._others += tokens
        return begin, begin + len(tokens)


class Contexts:
    """A tree of contexts, and the sums of probabilities that are asked after each.

    Context 0 is empty. Sum i is that of the tokens ``sets[i]`` after context ``askers[i]``.
    """

    def __init__(self, sets: TokenSets) -> None:
        self.token_sets = sets
        self.parents = [EMPTY]
        self.tokens = [-1]
        self.depths = [0]
        self.askers: list[int] = []
        self.sets: list[TokenSet] = []
        self._first = [-1]  # the first token of each context
        self._own = [-1]  # the sum of each context's last token
        self._children: dict[tuple[int, int], int] = {}
        self._asked: dict[tuple[int, TokenSet], int] = {}

    def path(self, tokens: Sequence[int]) -> list[int]:
        """Return the contexts of a sequence of tokens: the empty one, ..., the whole sequence."""
        found = [EMPTY]
        for token in tokens:
            found.append(self._child(found[-1], token))
        return found

    def ask(self, context: int, tokens: TokenSet) -> int:
        """Ask for a sum; return its number."""
        asked = self._asked.get((context, tokens))
        if asked is None:
            asked = self._asked[context, tokens] = len(self.askers)
            self.askers.append(context)
            self.sets.append(tokens)
        return asked

    def log_probs(self, sums: Floats, first: float = 0.0) -> Floats:
        """Return the log probability of each context, given all sums.

        ``first`` replaces the sums after the empty context if they are not defined.
        """
        found = np.zeros(len(self.parents))
        for context in range(1, len(found)):
            parent = self.parents[context]
            own = float(sums[self._own[context]])
            is_defined = parent != EMPTY or not np.isnan(own)
            found[context] = found[parent] + (own if is_defined else first)
        return found

    def first_token(self, context: int) -> int:
        """Return the first token of a context; −1 if it is empty."""
        return self._first[context]

    def sequence(self, context: int) -> list[int]:
        """Return the tokens of a context."""
        tokens = []
        while context != EMPTY:
            tokens.append(self.tokens[context])
            context = self.parents[context]
        return tokens[::-1]

    def _child(self, parent: int, token: int) -> int:
        child = self._children.get((parent, token))
        if child is None:
            child = self._children[parent, token] = len(self.parents)
            self.parents.append(parent)
            self.tokens.append(token)
            self.depths.append(self.depths[parent] + 1)
            self._first.append(token if parent == EMPTY else self._first[parent])
            self._own.append(self.ask(parent, self.token_sets.only(token)))
        return child
