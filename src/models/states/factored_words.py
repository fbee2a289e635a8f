"""Word probabilities of a factored output layer, with the interface of :class:`LazyWords`.

Its normalisers are sums over the classes and over the words of one class, so that no bound is
needed that would sum over fewer words.
"""

from __future__ import annotations

from torch import Tensor

from gardenpath.models.factored.factored_output import FactoredToken
from gardenpath.models.sequential.output import NextToken
from gardenpath.models.states.lazy_words import LazyWords


class FactoredWords:
    """The factored output layer over words; there are no pieces."""

    def __init__(self, output: FactoredToken) -> None:
        self._output = output

    def log_prob(self, states: Tensor, words: Tensor, row: Tensor | None = None) -> Tensor:
        """``(rows,)`` log probabilities."""
        return self._output.target_log_prob(states, words)

    def bound(self, states: Tensor, words: Tensor, row: Tensor | None = None) -> Tensor:
        """``(rows,)`` upper bounds of the log probabilities: these themselves."""
        return self._output.target_log_prob(states, words)

    def begins_log_prob(self, states: Tensor, row: Tensor) -> Tensor:
        """``(rows,)`` log probabilities that a word begins, which is certain."""
        return states.new_zeros(len(states))


def searched_words(output: NextToken, pieces: Tensor | None) -> LazyWords | FactoredWords:
    """Return the output layer as the search uses it; ``pieces`` as for :class:`LazyWords`."""
    if isinstance(output, FactoredToken):
        return FactoredWords(output)
    return LazyWords(output, pieces)
