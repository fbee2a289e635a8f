"""Which model families there are.

A run folder names its family; only the classes listed here are ever built from one, so that a
folder from somebody else cannot run code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from src.models.estimators import KneserNeyEstimator, UnigramEstimator
from src.models.lstm import LstmNetwork
from src.models.transformer import TransformerNetwork


@dataclass(frozen=True, slots=True)
class Family:
    """How to build the models of a family from the settings of a configuration."""

    build: Callable[..., Any]
    is_neural: bool
    needs_trees: bool = False


FAMILIES: Mapping[str, Family] = {
    "unigram": Family(UnigramEstimator, is_neural=False),
    "ngram": Family(KneserNeyEstimator, is_neural=False),
    "lstm": Family(LstmNetwork, is_neural=True),
    "transformer": Family(TransformerNetwork, is_neural=True),
}
