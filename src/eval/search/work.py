"""The work of a search: counted, and done once for hypotheses that are the same.

Groups that part at the next token have the same hypotheses before it, and particles that were drawn
twice are the same hypothesis.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from src.eval.search.protocol import TransitionModel


@dataclass
class Work:
    """What a search had to do."""

    words: int = 0
    expanded: int = 0
    word_scores: int = 0
    steps: int = 0


def advance_all(model: TransitionModel, nodes: Tensor, columns: Tensor, work: Work) -> Tensor:
    """``(rows,)`` nodes after structural actions, one new node per row."""
    work.expanded += len(nodes)
    work.steps += 1
    return model.advance(nodes, columns)


def advance_distinct(model: TransitionModel, nodes: Tensor, columns: Tensor, work: Work) -> Tensor:
    """The same with one new node for all rows that take the same action at the same node."""
    nodes, columns, row = distinct(nodes, columns)
    return advance_all(model, nodes, columns, work)[row]


def distinct(nodes: Tensor, events: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Each pair of a node and an action or word once, in order, and where each row has its pair."""
    pair, row = (nodes << 32 | events).unique(return_inverse=True)
    number = torch.arange(len(row), device=row.device)
    first = torch.full_like(pair, len(row)).scatter_reduce(0, row, number, "amin")
    kept, order = first.sort()
    rank = torch.empty_like(order).index_copy(0, order, number[: len(order)])
    return nodes[kept], events[kept], rank[row]
