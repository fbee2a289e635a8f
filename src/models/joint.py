"""The probability of sentences together with their gold trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch

from gardenpath.models.scores import Network, Totals


def joint_totals(network: Network, batches: Iterable[Any]) -> Totals:
    """Sum the scores of all batches; the network must be in evaluation mode."""
    sums: dict[str, float] = defaultdict(float)
    words = sentences = 0
    with torch.inference_mode():
        for batch in batches:
            scores = network.score(batch)
            for kind, value in scores.log_prob.items():
                sums[kind] += float(value)
            words += int(scores.words)
            sentences += int(scores.sentences)
    return Totals(log_prob=dict(sums), words=words, sentences=sentences)
