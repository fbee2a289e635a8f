"""A factored output layer token by token and class by class: slow and obvious.

It uses the weights and the classes of a layer and nothing else of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gardenpath.models.output import FactoredToken


def slow_log_probs(output: FactoredToken, state: Tensor, allowed: Sequence[bool]) -> Tensor:
    """``(vocabulary,)`` log probabilities after one state; ``-inf`` for what is not allowed."""
    groups: dict[int, list[int]] = {}
    words = len(output.word_class)
    for token in range(len(allowed)):
        is_word = token < words
        group = int(output.word_class[token]) if is_word else output.word_branches + token - words
        if allowed[token]:
            groups.setdefault(group, []).append(token)
    scores = [
        output.class_linear.weight[group] @ state + output.class_linear.bias[group]
        for group in groups
    ]
    found: list[Tensor] = [torch.tensor(-torch.inf, dtype=state.dtype)] * len(allowed)
    for log_prob, tokens in zip(torch.stack(scores).log_softmax(0), groups.values(), strict=True):
        within = torch.stack([_score(output, state, token) for token in tokens]).log_softmax(0)
        for token, one in zip(tokens, within, strict=True):
            found[token] = log_prob + one
    return torch.stack(found)


def _score(output: FactoredToken, state: Tensor, token: int) -> Tensor:
    score = output.linear.weight[token] @ state
    return score if output.linear.bias is None else score + output.linear.bias[token]
