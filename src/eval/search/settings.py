"""Settings of a search (``search=`` on the command line), and their description for reports.

Read by the command line, runs and keys of stored results; must not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from gardenpath.settings.schema import NonNegativeInt, PositiveFloat, PositiveInt, Seed

# Increase whenever the same settings give different results than before.
SEARCH_VERSION = 3

# With fewer replicates their spread says too little.
FEWEST_REPLICATES = 4


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
    margin_bits: PositiveFloat | None = None
    """Hypotheses that are less probable than the best one by more than so many bits do not survive
    a word, even if the word beam has room for them; null: no limit."""
    fast_track: NonNegativeInt | Literal["word_beam"] = "word_beam"
    """Number of best word-generating successors that are kept in each step even if they fall off
    the action beam; word_beam: hypotheses that generate the word need no place in the action
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
class Unbiased(Limits):
    """Unbiased search: what a beam would drop survives at random, and weighs more."""

    kind: Literal["unbiased"] = "unbiased"
    action_beam: PositiveInt = 100
    """Beam width between two words: hypotheses kept after each action."""
    word_beam: PositiveInt = 10
    """Beam width at words: hypotheses kept after each word."""
    replicates: PositiveInt = 4
    """Number of independent searches; surprisal is computed from their mean, its standard error
    from their spread (at least 4, or 1 for no standard error)."""
    tolerance: PositiveFloat | None = None
    """Standard error (bits) that words may have: sentences in which a word that matters has a
    larger one are searched with more replicates; in suites, the words of critical regions matter,
    elsewhere all."""
    max_replicates: PositiveInt = 64
    """Most replicates with which a sentence is searched to reach the tolerance."""
    roulette: PositiveFloat = 0.1
    """Hypotheses that weigh less than this share of the weight that has generated the next word are
    computed at random, in proportion to their weight."""
    seed: Seed = 1
    """Random seed."""

    @property
    def width(self) -> int:
        """Number of hypotheses."""
        return self.action_beam * self.replicates

    def mistakes(self) -> list[str]:
        """Return the mistakes in a combination of settings."""
        if 1 < self.replicates < FEWEST_REPLICATES:
            return [f"replicates={self.replicates} is too few for a standard error: use at least "
                    f"{FEWEST_REPLICATES}, or 1 for none"]  # fmt: skip
        if self.tolerance is not None and self.replicates == 1:
            return ["tolerance needs a standard error, so set replicates to 4 or more"]
        if self.max_replicates < self.replicates:
            return ["max_replicates is smaller than replicates"]
        return []


SearchSettings = WordSync | Unbiased

SEARCHES: dict[str, type[WordSync] | type[Unbiased]] = {
    "word_sync": WordSync,
    "unbiased": Unbiased,
}


# ----------------------------------------------------------------------------
# Description of a search in words, for reports.


_KINDS = {"word_sync": "word-synchronous beam search", "unbiased": "unbiased search"}
_SETTINGS = {
    "action_beam": "action beam {}",
    "word_beam": "word beam {}",
    "margin_bits": "within {:g} bits of the best",
    "fast_track": "fast track {}",
    "replicates": "{} replicates",
    "tolerance": "tolerance {} bits",
    "max_replicates": "at most {} replicates",
    "roulette": "roulette below a share of {}",
    "seed": "random seed {}",
    "marginal": "summed over {}",
    "max_open": "at most {} open constituents",
    "max_consecutive": "at most {} opened between two words",
}
_WORDS = {("fast_track", "word_beam"): "words need no place in the action beam"}
_STOPS = {
    "exhausted": "until no open hypothesis is left",
    "beam_full": "until the action beam is full",
}
# These do not change results; they are mentioned only if they are disabled.
_SAVINGS = {
    "bounded": "bounds",
    "lazy_words": "lazy words",
    "shared_compositions": "shared compositions",
    "share_prefixes": "shared prefixes",
}
# Settings that have no effect without another.
_NEEDED = {"max_replicates": "tolerance"}
_NOT_MENTIONED = ("kind", "stop", "fixed_shapes", "memory_gb", *_SAVINGS)


def search_in_words(search: Mapping[str, Any]) -> str:
    """Describe a search: ``word-synchronous beam search, action beam 100, word beam 10, …``."""
    said = [_KINDS.get(search["kind"], str(search["kind"]).replace("_", " "))]
    # In the order of _SETTINGS: beam widths come before limits.
    known = [name for name in _SETTINGS if name in search]
    for name in [*known, *(name for name in search if name not in _SETTINGS)]:
        value = search[name]
        if name in _NEEDED and search.get(_NEEDED[name]) is None:
            continue
        if name not in _NOT_MENTIONED and value is not None:
            words = _WORDS.get((name, value)) or _SETTINGS.get(name, name.replace("_", " ") + " {}")
            said.append(words.format(value))
    if "stop" in search:
        said.append(_STOPS.get(search["stop"], str(search["stop"])))
    said += [f"without {name}" for key, name in _SAVINGS.items() if search.get(key) is False]
    return ", ".join(said)
