"""Columns and legal actions on the device, for the searches of RNNG and PLM.

Tables are looked up by state; lookups never synchronise with the host.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.data.trees.actions import Column, Kind, Strategy
from gardenpath.data.trees.legality import (
    LEGAL_BIT,
    MOST_OPEN,
    REDUCE_ENDS_AT,
    legal_table,
)

# Approximate number of actions of a full beam between two words.
STEPS_PER_WORD = 8


# What determines the legal actions, as one number, the legal state: STATES_PER_KIND times the last
# kind of action, plus the number of open constituents. The latter is counted up to MOST_OPEN; one
# more, after a constituent was opened, means the same.
STATES_PER_KIND = MOST_OPEN + 2

# The state before any action.
START_STATE = STATES_PER_KIND * len(Kind)


def legal_state(last: Kind) -> int:
    """Return the state after an action if no constituent is open; add the number of open ones."""
    return STATES_PER_KIND * int(last)


def _open_counts(device: torch.device) -> Tensor:
    """``(STATES_PER_KIND,)`` numbers of open constituents."""
    return torch.arange(STATES_PER_KIND, device=device).clamp(max=MOST_OPEN)


def state_bits(strategy: Strategy, device: torch.device, *, has_pieces: bool) -> Tensor:
    """``(states,)`` bits of the legal kinds of actions, by state."""
    table = torch.from_numpy(legal_table(strategy, has_pieces=has_pieces)).to(device)
    return table[:, _open_counts(device)].flatten()


def ends_by_reduce(strategy: Strategy, device: torch.device) -> Tensor:
    """``(states,)``: whether REDUCE ends the derivation, by state."""
    opened = _open_counts(device).repeat(len(Kind) + 1)
    last = REDUCE_ENDS_AT[strategy]
    return torch.zeros_like(opened, dtype=torch.bool) if last is None else opened.eq(last)


def is_illegal(bits: Tensor, kind: Kind) -> Tensor:
    """Whether a kind of action is illegal according to the bits."""
    return (bits & LEGAL_BIT[kind]) == 0


def structural_columns(label_count: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Two ``(columns,)`` masks: the columns that open a constituent and those that close one."""
    column = torch.arange(Column.FIRST_OPEN + label_count, device=device)
    return column >= Column.FIRST_OPEN, column == Column.CLOSE
