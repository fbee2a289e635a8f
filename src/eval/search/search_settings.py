"""How to search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gardenpath.settings.bounds import NonNegativeInt, PositiveFloat, PositiveInt, Seed


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What makes a search finite: ``max_open`` constituents open at a time, and
    ``max_consecutive`` constituents opened between two words.
    """

    max_open: PositiveInt = 100
    max_consecutive: PositiveInt = 8


@dataclass(frozen=True, kw_only=True)
class WordSync(Limits):
    """Word-synchronous beam search (Stern et al. 2017; Hale et al. 2018).

    ``marginal`` says over which hypotheses the probability of a prefix is summed: the
    ``survivors`` that go on to the next word, or all ``candidates`` that generated the word within
    the beam. ``stop`` says when to look no further between two words: ``exhausted`` when no open
    hypothesis is left, ``beam_full`` when as many hypotheses as ``action_beam`` have generated the
    word (what batched RNNGs of other authors do).

    The next three change the work, never the result: ``bounded`` drops open hypotheses that can no
    longer enter the word beam, ``lazy_words`` skips word probabilities that cannot matter,
    ``shared_compositions`` composes equal constituents once. The first two rest on the survivors
    alone and have no effect with ``marginal=candidates`` or ``stop=beam_full``. ``fixed_shapes``
    never asks the device how many hypotheses are left while it steps from action to action, which
    pays on a GPU.
    """

    action_beam: PositiveInt = 100
    word_beam: PositiveInt = 10
    fast_track: NonNegativeInt = 1
    marginal: Literal["survivors", "candidates"] = "survivors"
    stop: Literal["exhausted", "beam_full"] = "exhausted"
    bounded: bool = True
    lazy_words: bool = True
    shared_compositions: bool = True
    share_prefixes: bool = True
    fixed_shapes: bool | None = None
    memory_gb: PositiveFloat = 2.0

    @property
    def may_bound(self) -> bool:
        """Whether hypotheses below the word beam can be left out: nothing else asks for them."""
        return self.marginal == "survivors" and self.stop == "exhausted"


@dataclass(frozen=True, kw_only=True)
class Particle(Limits):
    """Particle filtering (Crabbé et al. 2019): derivations are sampled, words weight them."""

    particles: PositiveInt = 100
    seed: Seed = 1
    share_prefixes: bool = True
    shared_compositions: bool = True
    fixed_shapes: bool | None = None
    memory_gb: PositiveFloat = 2.0


SearchSettings = WordSync | Particle
