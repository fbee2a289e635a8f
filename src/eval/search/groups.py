"""Groups: the hypotheses of one prefix, and what was found for it so far."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from gardenpath.data.arrays import Floats
from gardenpath.data.prefixes import Prefix
from gardenpath.eval.search.beam import Beam, WordLimit
from gardenpath.eval.search.next_pieces import Next
from gardenpath.eval.search.result import Step
from gardenpath.eval.search.sampling.thinning import mixed


@dataclass(frozen=True)
class Group:
    """The hypotheses of one prefix, in one or more replicates.

    ``log_probs``: ``(replicates,)`` prefix log probabilities after each token; ``measures``:
    ``(replicates, 8)`` what was measured there; ``word_ends``: ``(replicates,)`` log probabilities
    that words ended, for all tokens but the last; ``bytes``: memory to reserve for each sentence
    that starts with the prefix; ``key``: a number that depends on the prefix only.
    """

    prefix: Prefix
    bytes: int
    log_probs: tuple[Floats, ...] = ()
    measures: tuple[Floats, ...] = ()
    word_ends: tuple[Floats, ...] = ()
    step: Step | None = None
    key: int = 0

    def before(self, token: Next, ended: WordLimit, word_end: Floats | None = None) -> Group:
        """Return the group as the next token has it, for models over pieces.

        If the next token begins a word, the last word has ended, with the probability ``word_end``,
        and only the survivors of the limit ``ended`` count.
        """
        if not self.log_probs:
            return self
        if token.continues:
            ends = () if word_end is None else (np.zeros_like(word_end),)
            return replace(self, word_ends=self.word_ends + ends)
        return replace(
            self,
            word_ends=self.word_ends + (() if word_end is None else (word_end,)),
            step=None if self.step is None else self.step.within(ended),
        )

    def after(self, token: Next, log_prob: Floats, measures: Floats, step: Step | None) -> Group:
        """Return the group that has read the next token."""
        return replace(
            self,
            prefix=token.prefix or self.prefix,
            key=mixed(self.key, token.token + 1),
            log_probs=(*self.log_probs, log_prob),
            measures=(*self.measures, measures),
            step=step,
        )


@dataclass(frozen=True)
class Front:
    """The hypotheses of all groups.

    ``word_end``: ``(groups,)`` log probabilities that their last words ended; ``is_best``:
    ``(groups, width)`` whether they continue the best hypothesis of the last word.
    """

    beam: Beam
    is_best: Tensor
    word_end: Tensor | None = None
