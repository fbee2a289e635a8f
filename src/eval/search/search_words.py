"""Description of a search in words, for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
_NOT_MENTIONED = ("kind", "stop", "fixed_shapes", "memory_gb", "cuda_graphs", *_SAVINGS)


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
