"""Settings of a search: ``search=`` on the command line."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from gardenpath.settings.bounds import NonNegativeInt, PositiveFloat, PositiveInt, Seed

# Increase whenever the same settings give different results than before.
SEARCH_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Settings that all searches share.

    ``WORK_ONLY`` names the settings that affect time or memory but never the result.
    """

    WORK_ONLY: ClassVar[frozenset[str]] = frozenset(
        {"shared_compositions", "share_prefixes", "fixed_shapes", "memory_gb"}
    )

    max_open: PositiveInt = 100
    """Maximum number of constituents that are open at the same time."""
    max_consecutive: PositiveInt = 8
    """Maximum number of constituents that are opened between two words."""
    shared_compositions: bool = True
    """Whether equal constituents are composed once; results are the same."""
    share_prefixes: bool = True
    """Whether common prefixes of sentences are searched once; results are the same."""
    fixed_shapes: bool | None = None
    """Whether tensors keep their shapes between two words, which avoids synchronising with the
    device; null: only on a GPU. Results are the same."""
    memory_gb: PositiveFloat = 2.0
    """Memory (GB) for the hypotheses of the sentences that are searched together; results are the
    same."""

    def result_settings(self) -> dict[str, Any]:
        """Return the settings that can change a result, for keys of stored results."""
        names = [field.name for field in fields(self) if field.name not in self.WORK_ONLY]
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class WordSync(Limits):
    """Word-synchronous beam search (Stern et al. 2017; Hale et al. 2018)."""

    WORK_ONLY: ClassVar[frozenset[str]] = Limits.WORK_ONLY | {"bounded", "lazy_words"}

    kind: Literal["word_sync"] = "word_sync"
    action_beam: PositiveInt = 100
    """Beam width between two words: hypotheses kept after each action."""
    word_beam: PositiveInt = 10
    """Beam width at words: hypotheses kept after each word."""
    fast_track: NonNegativeInt = 1
    """Number of best word-generating successors that are kept even if they fall off the action
    beam."""
    marginal: Literal["survivors", "candidates"] = "survivors"
    """Hypotheses over which the probability of a prefix is summed: the survivors in the word beam,
    or all candidates that generated the word within the action beam."""
    stop: Literal["exhausted", "beam_full"] = "exhausted"
    """When to stop between two words: when no open hypothesis is left, or when action_beam
    hypotheses have generated the word (as other implementations do)."""
    bounded: bool = True
    """Whether open hypotheses that can no longer enter the word beam are dropped; results are the
    same. No effect with marginal=candidates or stop=beam_full."""
    lazy_words: bool = True
    """Whether word probabilities that cannot affect the result are skipped. No effect with
    marginal=candidates or stop=beam_full."""

    @property
    def width(self) -> int:
        """Number of hypotheses."""
        return self.action_beam

    @property
    def may_bound(self) -> bool:
        """Whether hypotheses below the word beam can be dropped without changing the result."""
        return self.marginal == "survivors" and self.stop == "exhausted"


@dataclass(frozen=True, kw_only=True)
class Particle(Limits):
    """Particle filtering (Crabbé et al. 2019): sampled derivations, weighted by the words."""

    kind: Literal["particle"] = "particle"
    particles: PositiveInt = 100
    """Number of particles."""
    seed: Seed = 1
    """Random seed of the sampled derivations."""

    @property
    def width(self) -> int:
        """Number of hypotheses."""
        return self.particles


SearchSettings = WordSync | Particle

SEARCHES: dict[str, type[WordSync] | type[Particle]] = {
    "word_sync": WordSync,
    "particle": Particle,
}
