"""Small models, searches over them, and what a search would launch on a GPU and wait for there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

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
from tests.eval.search.slow_search import prefix_log_probs
from tests.models.slow_models import SlowPlm, StepwiseRnng
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


# ----------------------------------------------------------------------------
# Counts what decides speed on a GPU: operators that are launched, and waits for their results.


# Operators whose result the host must know, or whose shape it must.
_WAITING = {
    "_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "nonzero_numpy", "argwhere",
    "masked_select", "unique", "_unique", "_unique2", "unique_dim", "unique_consecutive",
    "unique_dim_consecutive", "bincount", "repeat_interleave", "allclose",
}  # fmt: skip

# What hands a tensor to Python; on the CPU these need no operator.
_WAITING_METHODS = {"tolist", "numpy", "cpu"}

# Views and questions about shapes launch nothing.
_FREE = {
    "view", "_unsafe_view", "reshape", "expand", "expand_as", "view_as", "slice", "select",
    "unsqueeze", "squeeze", "transpose", "permute", "t", "flatten", "unflatten", "split", "chunk",
    "split_with_sizes", "detach", "alias", "unbind", "numpy_T", "empty", "empty_like", "new_empty",
    "lift_fresh", "sym_size", "is_inference", "narrow",
}  # fmt: skip


class Launches(TorchDispatchMode):
    """Counts operators and waits while it is entered."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operators: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self._methods = _Methods(self.waits)

    def __enter__(self) -> Launches:
        self._methods.__enter__()  # type: ignore[no-untyped-call]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]
        self._methods.__exit__(kind, error, trace)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = func.overloadpacket.__name__
        if name not in _FREE:
            self.operators[name] += 1
        if name in _WAITING or _has_mask(name, args) or _goes_to_host(name, kwargs or {}):
            self.waits[name] += 1
        return func(*args, **(kwargs or {}))

    def counts(self) -> tuple[int, int]:
        """Operators and waits so far."""
        return self.operators.total(), self.waits.total()


class _Methods(TorchFunctionMode):
    """Counts the methods that hand a value to Python."""

    def __init__(self, waits: Counter[str]) -> None:
        super().__init__()
        self._waits = waits

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        # Those that also launch an operator are counted there.
        if name in _WAITING_METHODS:
            self._waits[name] += 1
        return func(*args, **(kwargs or {}))


def _has_mask(name: str, args: tuple[Any, ...]) -> bool:
    """Indexing by a mask asks how many places are in it, and so does asking where it holds."""
    if name == "where":
        return len(args) == 1
    if name not in ("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"):
        return False
    return any(
        isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8) for index in args[1]
    )


def _goes_to_host(name: str, kwargs: dict[str, Any]) -> bool:
    device = kwargs.get("device")
    return name == "_to_copy" and device is not None and torch.device(device).type == "cpu"
