"""Groups: the hypotheses of one prefix, and what was found for it so far."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from gardenpath.data.prefixes import Prefix
from gardenpath.eval.search.beam import Beam
from gardenpath.eval.search.next_pieces import Next
from gardenpath.eval.search.result import Step


@dataclass(frozen=True)
class Group:
    """The hypotheses of one prefix.

    ``log_probs``: prefix log probabilities after each token; ``word_ends``: log probabilities that
    words ended, for all tokens but the last; ``bytes``: memory to reserve for each sentence that
    starts with the prefix.
    """

    prefix: Prefix
    bytes: int
    tokens: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    best_share: tuple[float, ...] = ()
    word_ends: tuple[float, ...] = ()
    step: Step | None = None

    def before(self, token: Next, word_width: int, *word_end: float) -> Group:
        """Return the group as the next token has it, for models over pieces.

        If the next token begins a word, the last word has ended, with the probability ``word_end``,
        and only those survivors count that the word beam keeps.
        """
        if not self.tokens:
            return self
        if token.continues:
            return replace(self, word_ends=self.word_ends + (0.0,) * len(word_end))
        return replace(
            self,
            word_ends=self.word_ends + word_end,
            step=None if self.step is None else self.step.front(word_width),
        )

    def after(self, token: Next, log_prob: float, best_share: float, step: Step | None) -> Group:
        """Return the group that has read the next token."""
        return replace(
            self,
            prefix=token.prefix or self.prefix,
            tokens=(*self.tokens, token.token),
            log_probs=(*self.log_probs, log_prob),
            best_share=(*self.best_share, best_share),
            step=step,
        )


@dataclass(frozen=True)
class Front:
    """The hypotheses of all groups; ``word_end``: log probabilities that their last words ended."""

    beam: Beam
    word_end: Tensor | None = None
