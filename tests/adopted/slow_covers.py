"""Probabilities of prefixes by enumeration of all sequences of tokens that cover them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

# The text of each token, None for special ones.
Vocabulary = Sequence[str | None]
Tokenise = Callable[[str], Sequence[int]]


class SlowCovers:
    """Enumerates covers; each context is read by the model on its own."""

    def __init__(self, network: Any, vocabulary: Vocabulary, *, begin: int) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._begin = begin
        self._known: dict[tuple[int, ...], list[float]] = {}

    def next_probs(self, context: tuple[int, ...]) -> list[float]:
        """Probabilities of all tokens after a context."""
        if context not in self._known:
            with torch.inference_mode():
                tokens = torch.tensor([[self._begin, *context]])
                logits = self._network(input_ids=tokens, use_cache=False).logits[0, -1]
            self._known[context] = logits.softmax(0).tolist()
        return self._known[context]

    def prefix_prob(self, text: str, tokenise: Tokenise | None = None) -> float:
        """Probability that a text begins so.

        With a tokeniser, only of sequences whose tokens before the last are those of their text.
        """
        if not text:
            return 1.0
        return self._rest((), "", text, 1.0, tokenise)

    def _rest(
        self, context: tuple[int, ...], done: str, rest: str, prob: float, tokenise: Tokenise | None
    ) -> float:
        if tokenise is not None and tuple(tokenise(done)) != context:
            return 0.0
        total = 0.0
        for token, text in enumerate(self._vocabulary):
            if not text:
                continue
            following = prob * self.next_probs(context)[token]
            if text.startswith(rest):
                total += following
            elif rest.startswith(text):
                more = (*context, token), done + text, rest[len(text) :]
                total += self._rest(*more, following, tokenise)
        return total

    def sequence_prob(self, tokens: Sequence[int]) -> float:
        """Probability of a sequence of tokens."""
        prob = 1.0
        for place, token in enumerate(tokens):
            prob *= self.next_probs(tuple(tokens[:place]))[token]
        return prob
