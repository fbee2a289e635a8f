"""Small models and searches over them, for the tests of both together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from gardenpath.data.trees.legality import Strategy
from gardenpath.data.trees.tree import parse_tree
from gardenpath.data.words.vocabulary import SPECIALS, Vocabulary
from gardenpath.eval.search.expansion import BeamExpansion
from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.scorer import SentenceSearch
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.eval.search.unbiased import UnbiasedExpansion
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from gardenpath.models.syntactic.plm_search import PlmSearch
from gardenpath.models.syntactic.rnng_search import RnngSearch
from tests.eval.search.exhaustive import prefix_log_probs
from tests.models.slow_plm import SlowPlm
from tests.models.stepwise_rnng import StepwiseRnng
from tests.models.syntactic.test_plm import make_network as make_plm
from tests.models.syntactic.test_rnng import make_network as make_rnng
from tests.tree_samples import encode_trees

# One of each: name of the model and the settings of its network.
MODELS: dict[str, dict[str, Any]] = {
    "rnng": {"strategy": "top_down"},
    "rnng_in_order": {"strategy": "in_order"},
    "rnng_attention": {"composition": "attention"},
    "rnng_full": {"action_norm": "full"},
    "rnng_factored": {"output": "factored"},
    "plm": {},
    "plm_mask": {"structured_heads": True},
    "plm_full": {"action_norm": "full"},
    "plm_factored": {"output": "factored"},
    "plm_factored_full": {"output": "factored", "action_norm": "full"},
}


def tiny_vocabulary() -> Vocabulary:
    """Three words and two labels."""
    return encode_trees([parse_tree("(S (A a b) c)")])[1]


def piece_vocabulary() -> Vocabulary:
    """Two pieces that begin a word, one that continues it, and two labels."""
    tokens = (*SPECIALS, "▁a", "▁b", "c")
    return Vocabulary(
        tokens=tokens, counts=(1,) * len(tokens), labels=("A", "S"), language="en", min_count=1,
        subword_hash="given",
    )  # fmt: skip


def make_network(name: str, vocabulary: Vocabulary) -> RnngNetwork | PlmNetwork:
    """The network of a model, in double precision."""
    make = make_rnng if name.startswith("rnng") else make_plm
    return make(vocabulary, **MODELS[name]).eval()


def strategy_of(network: RnngNetwork | PlmNetwork) -> Strategy:
    return network.strategy if isinstance(network, RnngNetwork) else "top_down"


def as_searched(
    network: RnngNetwork | PlmNetwork, *, is_packed: bool = True, shared_compositions: bool = True
) -> RnngSearch | PlmSearch:
    """The network as a search sees it."""
    if isinstance(network, PlmNetwork):
        return PlmSearch(network, is_packed=is_packed)
    return RnngSearch(network, is_packed=is_packed, shared_compositions=shared_compositions)


def search(
    network: RnngNetwork | PlmNetwork,
    sentences: Sequence[Sequence[int]],
    settings: WordSync | Unbiased,
    *,
    groups: int = 8,
    is_packed: bool = True,
    keeps_history: bool = False,
    finds_word_ends: bool = False,
) -> list[SentenceResult]:
    """Results in the order of the sentences; there is memory for about so many groups."""
    model = as_searched(
        network, is_packed=is_packed, shared_compositions=settings.shared_compositions
    )
    work = Work()
    expansion: BeamExpansion | UnbiasedExpansion
    if isinstance(settings, WordSync):
        expansion = BeamExpansion(model, settings, is_packed=is_packed, work=work)
    else:
        expansion = UnbiasedExpansion(model, settings, work=work, is_packed=is_packed)
    results: dict[int, SentenceResult] = {}
    SentenceSearch(
        model=model,
        expansion=expansion,
        budget=groups * expansion.group_bytes(max(map(len, sentences))),
        is_packed=is_packed,
        share_prefixes=settings.share_prefixes,
        keeps_history=keeps_history,
        finds_word_ends=finds_word_ends,
    ).run(sentences, results.__setitem__)
    assert sorted(results) == list(range(len(sentences)))
    return [results[number] for number in range(len(sentences))]


def log_probs(results: Sequence[SentenceResult]) -> list[np.ndarray[Any, Any]]:
    return [np.array(result.prefix_log_probs) for result in results]


def enumerated(
    network: RnngNetwork | PlmNetwork,
    vocabulary: Vocabulary,
    words: Sequence[str],
    *,
    max_open: int,
    max_consecutive: int,
) -> list[float]:
    """Prefix log probabilities from all derivations, each scored step by step."""
    slow = (
        StepwiseRnng(network, vocabulary)
        if isinstance(network, RnngNetwork)
        else SlowPlm(network, vocabulary)
    )
    with torch.inference_mode():
        return prefix_log_probs(
            words, vocabulary.labels, strategy_of(network),
            lambda actions: float(sum(slow.log_prob(actions))),
            max_open=max_open, max_consecutive=max_consecutive,
            continuations=[t for n, t in enumerate(vocabulary.tokens)
                           if vocabulary.is_continuation[n]],
        )  # fmt: skip
