"""Contexts are read as trees where this gives the same numbers, and in batches elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.adopted.covers import ENDING, Contexts, TokenBytes, TokenSets
from gardenpath.adopted.hf import ContextScores, Windows, require_causal
from gardenpath.errors import GardenpathError
from tests.models.pretrained import tiny_models

SIZE = 12
# Letters, a blank in two tokens, and the end.
VOCABULARY = TokenBytes(
    [b"a", b"b", b"ab", b" ", b" a", b".", b"c", b"ca", b"cab", b"d", None, None]
)
END = 10

SEQUENCES = [(0, 1, 2), (0, 1, 3, 4, 5), (0, 1, 3, 4, 6, 7, 8, 9, 0, 1, 2, 3), (6,) * 30, (7, 8)]


def _asked() -> tuple[Contexts, list[int]]:
    contexts = Contexts(TokenSets(VOCABULARY, "auto", END))
    numbers = []
    for tokens in SEQUENCES:
        for context in contexts.path(tokens):
            numbers += [contexts.ask(context, VOCABULARY.beginning_with(b"ca"))]
            numbers += [
                contexts.ask(context, ENDING),
                contexts.ask(context, contexts.token_sets.end),
            ]
    return contexts, numbers


def _expected(network: Any, contexts: Contexts, begin: int | None, windows: Windows) -> list[float]:
    found = []
    for context, (first, last) in zip(contexts.askers, contexts.sets, strict=True):
        tokens = contexts.sequence(context)[windows.begin(contexts.depths[context]) :]
        tokens = tokens if begin is None else [begin, *tokens]
        ending = [3, 4, 5, END]
        members = ending if (first, last) == ENDING else contexts.token_sets.tokens[first:last]
        if not tokens:
            found.append(np.nan)
            continue
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([tokens])).logits[0, -1]
        found.append(float(logits.softmax(0)[list(members)].sum().log()))
    return found


@pytest.mark.parametrize("size", [1, 512])
@pytest.mark.parametrize("begin", [11, None])
@pytest.mark.parametrize("kind", ["gpt2", "llama", "gemma", "bloom"])
def test_sums_equal_those_of_single_contexts(kind: str, begin: int | None, size: int) -> None:
    network = tiny_models.model(kind, SIZE)
    contexts, _ = _asked()
    scores = ContextScores(network, begin=begin, windows=Windows(None), size=size)
    found = scores.sums(contexts, lambda _: None)
    expected = _expected(network, contexts, begin, Windows(None))
    # Bloom computes attention in single precision.
    atol = 1e-5 if kind == "bloom" else 1e-9
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def _scores(kind: str) -> ContextScores:
    network = tiny_models.model(kind, SIZE)
    return ContextScores(network, begin=11, windows=Windows(None), size=40)


def test_trees_are_read_as_such_where_the_model_can() -> None:
    """Sliding windows limit the length of trees; Bloom knows no positions."""
    assert _scores("gpt2").reads_trees(100) and _scores("llama").reads_trees(100)
    assert _scores("gemma").reads_trees(8) and not _scores("gemma").reads_trees(9)
    assert not _scores("bloom").reads_trees(4)


def test_a_window_that_no_setting_mentions_is_found() -> None:
    network = tiny_models.model("gemma", SIZE, window=20)
    scores = ContextScores(network, begin=11, windows=Windows(None), size=512)
    scores._deepest = 1 << 30
    assert scores.reads_trees(16) and not scores.reads_trees(25)
    found = scores.sums(contexts := _asked()[0], lambda _: None)
    expected = _expected(network, contexts, 11, Windows(None))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("begin", [11, None])
def test_long_contexts_are_read_in_windows(begin: int | None) -> None:
    windows = Windows(9 if begin is not None else 10)
    network = tiny_models.model("gpt2", SIZE, positions=10)
    contexts, _ = _asked()
    scores = ContextScores(network, begin=begin, windows=windows, size=64)
    found = scores.sums(contexts, lambda _: None)
    expected = _expected(network, contexts, begin, windows)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("most", [2, 3, 9, 10, 100])
def test_windows_contain_at_least_half_of_what_fits(most: int) -> None:
    windows = Windows(most)
    for depth in range(500):
        read = depth - windows.begin(depth)
        assert read <= most
        assert read == depth if depth <= most else 2 * read >= most
        # Few windows: they begin at the same places.
        assert windows.begin(depth) % max(most // 2, 1) == 0
    assert Windows(None).begin(10**6) == 0


def test_models_that_read_what_follows_are_refused() -> None:
    for kind in ("gpt2", "llama", "gemma", "bloom"):
        require_causal(tiny_models.model(kind, SIZE))
    with pytest.raises(GardenpathError, match="use model=masked"):
        require_causal(tiny_models.model("bert", SIZE))


def test_half_precision_is_close() -> None:
    contexts, _ = _asked()
    network = tiny_models.model("llama", SIZE)
    exact = ContextScores(network, begin=11, windows=Windows(None), size=64)
    expected = exact.sums(contexts, lambda _: None)
    rough = tiny_models.model("llama", SIZE).to(torch.bfloat16)
    scores = ContextScores(rough, begin=11, windows=Windows(None), size=64)
    found = scores.sums(contexts, lambda _: None)
    assert np.abs(found - expected).mean() < 0.15
    assert np.isfinite(found).all()
