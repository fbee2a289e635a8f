"""What the models under a search share: rows of states, legal actions, and word probabilities.

:class:`SearchedModel` is the base class of all of them. RNNG and PLM keep their states in an
:class:`Arena`, mask illegal actions with a :class:`ColumnBias`, and ask :func:`searched_words` for
word probabilities. The search itself (``eval/search``) is not imported; it knows only the methods
of a :class:`SearchedModel`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.arrays import Bools
from gardenpath.data.trees.legality import (
    BEGINS_BIT,
    BIT_SETS,
    CONTINUES_BIT,
    KINDS,
    LEGAL_BIT,
    MOST_OPEN,
    OPENS_AT_END,
    REDUCE_ENDS_AT,
    Column,
    Kind,
    Strategy,
    legal_table,
)
from gardenpath.models.output import FactoredToken, NextToken

_FIRST_CAPACITY = 1024


class Arena:
    """Named columns of equal length; a row is addressed by its number.

    ``floats`` and ``numbers`` give the width of each column. New rows are written into the place
    that :meth:`room` returns and become part of the arena by :meth:`append`.
    """

    def __init__(
        self,
        *,
        floats: Mapping[str, int],
        numbers: Mapping[str, int],
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._slices = {**_slices(floats), **_slices(numbers)}
        self._is_float = {**dict.fromkeys(floats, True), **dict.fromkeys(numbers, False)}
        self._floats = torch.empty(
            (_FIRST_CAPACITY, sum(floats.values())), dtype=dtype, device=device
        )
        self._numbers = torch.empty(
            (_FIRST_CAPACITY, sum(numbers.values())), dtype=torch.long, device=device
        )
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, name: str) -> Tensor:
        """``(rows, width)`` or, for a width of one number, ``(rows,)``: a view of a column."""
        return self.column(self.floats if self._is_float[name] else self.numbers, name)

    def column(self, rows: Tensor, name: str) -> Tensor:
        """Return a column of some rows, all of whose floats or numbers are given."""
        place = self._slices[name]
        if place.stop - place.start == 1 and not self._is_float[name]:
            return rows[:, place.start]
        return rows[:, place]

    def columns(self, rows: Tensor, first: str, last: str) -> Tensor:
        """Return adjacent columns of some rows, side by side."""
        return rows[:, self._slices[first].start : self._slices[last].stop]

    @property
    def floats(self) -> Tensor:
        """All floating-point columns."""
        return self._floats[: self._size]

    @property
    def numbers(self) -> Tensor:
        """All integer columns."""
        return self._numbers[: self._size]

    @property
    def row_bytes(self) -> int:
        matrices = (self._floats, self._numbers)
        return sum(matrix.shape[1] * matrix.element_size() for matrix in matrices)

    def room(self, count: int) -> tuple[Tensor, Tensor]:
        """Return the floats and the numbers of ``count`` new rows, to be written."""
        end = self._size + count
        capacity = len(self._floats)
        if end > capacity:
            self._floats = _grown(self._floats, max(end, 2 * capacity))
            self._numbers = _grown(self._numbers, max(end, 2 * capacity))
        return self._floats[self._size : end], self._numbers[self._size : end]

    def append(self, count: int) -> Tensor:
        """Append the rows that were written into :meth:`room`; return their numbers."""
        begin = self._size
        self._size += count
        return torch.arange(begin, self._size, device=self._numbers.device)

    def write(self, count: int, **values: Tensor | float) -> Tensor:
        """Append rows, given by the values of all columns; return their numbers."""
        floats, numbers = self.room(count)
        for name, value in values.items():
            self.column(floats if self._is_float[name] else numbers, name)[:] = value
        return self.append(count)

    def keep(self, rows: Tensor) -> None:
        """Drop all other rows; the kept rows are renumbered in the given order."""
        floats, numbers = self._floats.index_select(0, rows), self._numbers.index_select(0, rows)
        # The memory is kept, because as much will be needed again.
        self._size = 0
        for place, kept in zip(self.room(len(rows)), (floats, numbers), strict=True):
            place.copy_(kept)
        self._size = len(rows)

    def widen(self, name: str, width: int) -> None:
        """Append zeros to the last integer column, ``name``, so that it has the given width."""
        begin = self._slices[name].start
        assert self._slices[name].stop == self._numbers.shape[1]
        added = begin + width - self._numbers.shape[1]
        self._slices[name] = slice(begin, begin + width)
        self._numbers = functional.pad(self._numbers, (0, added))

    def clear(self) -> None:
        self._size = 0


def _slices(widths: Mapping[str, int]) -> dict[str, slice]:
    begin, result = 0, {}
    for name, width in widths.items():
        result[name] = slice(begin, begin + width)
        begin += width
    return result


def _grown(matrix: Tensor, rows: int) -> Tensor:
    result = matrix.new_empty((rows, matrix.shape[1]))
    result[: len(matrix)] = matrix
    return result


# ----------------------------------------------------------------------------
# Which pieces may be shifted, for models over pieces.
#
# The pieces of a word follow directly on each other. After anything but a piece, a word begins;
# after a piece, the word may continue or the next one begin; and the first word of an in-order
# derivation can only continue before its constituent is known. The legal bits of a state
# (:func:`legal_table`) say which of these holds.


# The row of :func:`piece_bias` that allows pieces that begin a word, and no others.
BEGINS = BEGINS_BIT >> len(Kind)
_CONTINUES = CONTINUES_BIT >> len(Kind)


def piece_bias(is_continuation: Bools | None) -> Tensor | None:
    """``(rows, vocabulary)``: zero for pieces that may be shifted, else -inf; None for words."""
    if is_continuation is None:
        return None
    continues = torch.from_numpy(is_continuation)
    bias = torch.zeros(BIT_SETS >> len(Kind), len(continues))
    for row in range(len(bias)):
        if not row & _CONTINUES:
            bias[row, continues] = -torch.inf
        elif not row & BEGINS:
            bias[row, ~continues] = -torch.inf
    return bias


def piece_row(legal: Tensor) -> Tensor:
    """Return the row of :func:`piece_bias` for the legal bits of states."""
    return legal >> len(Kind)


def continuations(bias: Tensor | None) -> Tensor | None:
    """``(vocabulary,)``: whether a piece continues a word; None for words."""
    return None if bias is None else bias[BEGINS] == -torch.inf


# ----------------------------------------------------------------------------
# Word probabilities, and cheap upper bounds of them: the normaliser of a softmax is a sum over all
# words, and a sum over a few likely ones is smaller.

# Number of words that the bound sums over: the first ones, because vocabularies are sorted by
# frequency. The bound is the same whatever was scored before.
_LIKELY = 512

# Maximum number of logits computed at a time.
MOST_LOGITS = 1 << 22


def in_parts(compute: Callable[..., Tensor], width: int, *tensors: Tensor) -> Tensor:
    """Compute numbers from tensors of equal length, of which each row takes ``width`` logits."""
    rows = max(1, MOST_LOGITS // width)
    parts = [compute(*some) for some in zip(*(t.split(rows) for t in tensors), strict=True)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


class LazyWords:
    """The output layer over words.

    For models over pieces, ``pieces`` is the table of :func:`piece_bias`, and each row of states
    has its ``row`` in it.
    """

    def __init__(self, output: NextToken, pieces: Tensor | None = None) -> None:
        self._pieces = pieces
        self._weight = output.linear.weight.detach()
        bias = output.linear.bias
        self._bias = output.excluded if bias is None else (bias + output.excluded).detach()
        self._likely = slice(min(_LIKELY, len(self._weight)))

    def log_prob(self, states: Tensor, words: Tensor, row: Tensor | None = None) -> Tensor:
        """``(rows,)`` log probabilities."""

        def compute(states: Tensor, words: Tensor, row: Tensor) -> Tensor:
            logits = functional.linear(states, self._weight, self._bias)
            if self._pieces is not None:
                logits = logits + self._pieces[row]
            return -functional.cross_entropy(logits, words, reduction="none")

        return in_parts(compute, len(self._weight), states, words, words if row is None else row)

    def begins_log_prob(self, states: Tensor, row: Tensor) -> Tensor:
        """``(rows,)`` log probabilities that a piece begins a word."""
        pieces = self._pieces
        assert pieces is not None

        def compute(states: Tensor, row: Tensor) -> Tensor:
            logits = functional.linear(states, self._weight, self._bias) + pieces[row]
            return (logits + pieces[BEGINS]).logsumexp(1) - logits.logsumexp(1)

        return in_parts(compute, len(self._weight), states, row)

    def bound(self, states: Tensor, words: Tensor, row: Tensor | None = None) -> Tensor:
        """``(rows,)`` upper bounds of the log probabilities."""
        logits = functional.linear(states, self._weight[self._likely], self._bias[self._likely])
        own = (states * self._weight[words]).sum(1) + self._bias[words]
        if self._pieces is None:
            return own - torch.maximum(logits.logsumexp(1), own)
        # The bound of a piece that may come is not affected by one that may not.
        may_come = self._pieces[row, words] == 0
        total = (logits + self._pieces[:, self._likely][row]).logsumexp(1)
        return (own - torch.maximum(total, own)).masked_fill(~may_come, -torch.inf)


class FactoredWords:
    """The factored output layer over words; there are no pieces."""

    def __init__(self, output: FactoredToken) -> None:
        self._output = output

    def log_prob(self, states: Tensor, words: Tensor, row: Tensor | None = None) -> Tensor:
        """``(rows,)`` log probabilities."""
        return self._output.target_log_prob(states, words)

    bound = log_prob

    def begins_log_prob(self, states: Tensor, row: Tensor) -> Tensor:
        """``(rows,)`` log probabilities that a word begins, which is certain."""
        return states.new_zeros(len(states))


def searched_words(output: NextToken, pieces: Tensor | None) -> LazyWords | FactoredWords:
    """Return the output layer as the search uses it; ``pieces`` as for :class:`LazyWords`."""
    if isinstance(output, FactoredToken):
        return FactoredWords(output)
    return LazyWords(output, pieces)


# ----------------------------------------------------------------------------
# Legal actions on the device: tables looked up by state, which never waits for the host.


# What determines the legal actions, as one number, the legal state: STATES_PER_KIND times the last
# kind of action, plus the number of open constituents. The latter is counted up to MOST_OPEN; one
# more, after a constituent was opened, means the same.
STATES_PER_KIND = MOST_OPEN + 2

# The state before any action.
START_STATE = STATES_PER_KIND * len(Kind)


def legal_state(last: Kind) -> int:
    """Return the state after an action if no constituent is open; add the number of open ones."""
    return STATES_PER_KIND * int(last)


def state_bits(strategy: Strategy, device: torch.device, *, has_pieces: bool) -> Tensor:
    """``(states,)`` bits of the legal kinds of actions, by state."""
    table = torch.from_numpy(legal_table(strategy, has_pieces=has_pieces)).to(device)
    return table[:, _open_counts(device)].flatten()


def _open_counts(device: torch.device) -> Tensor:
    """``(STATES_PER_KIND,)`` numbers of open constituents."""
    return torch.arange(STATES_PER_KIND, device=device).clamp(max=MOST_OPEN)


def ends_by_reduce(strategy: Strategy, device: torch.device) -> Tensor:
    """``(states,)``: whether REDUCE ends the derivation, by state."""
    opened = _open_counts(device).repeat(len(Kind) + 1)
    last = REDUCE_ENDS_AT[strategy]
    return torch.zeros_like(opened, dtype=torch.bool) if last is None else opened.eq(last)


def is_illegal(bits: Tensor, kind: Kind) -> Tensor:
    """Whether a kind of action is illegal according to the bits."""
    return (bits & LEGAL_BIT[kind]) == 0


def column_kinds(strategy: Strategy, label_count: int) -> list[Kind]:
    """Return the kind of action of each column of a search."""
    end = Kind.FINISH if Kind.FINISH in KINDS[strategy] else Kind.REDUCE
    return [Kind.SHIFT, end, Kind.REDUCE, *[Kind.OPEN] * label_count]


class ColumnBias:
    """``(states, columns)`` biases of the scores of columns: zero or ``-inf``.

    ``possible``: a strategy without FINISH ends a derivation by REDUCE, which has then two columns,
    END and CLOSE, of which each state has one. ``legal``: without what is illegal as well.
    """

    def __init__(
        self, strategy: Strategy, label_count: int, device: torch.device, *, has_pieces: bool
    ) -> None:
        kinds = column_kinds(strategy, label_count)
        bits = state_bits(strategy, device, has_pieces=has_pieces)
        is_last = ends_by_reduce(strategy, device)
        self.possible = torch.zeros((len(bits), len(kinds)), device=device)
        if kinds[Column.END] is Kind.REDUCE:
            self.possible[:, Column.END].masked_fill_(~is_last, -torch.inf)
            self.possible[:, Column.CLOSE].masked_fill_(is_last, -torch.inf)
        illegal = torch.stack([is_illegal(bits, kind) for kind in kinds], dim=1)
        self.legal = self.possible.masked_fill(illegal, -torch.inf)
        # For models over pieces: the row of :func:`piece_bias` of each state.
        self.piece_rows = piece_row(bits)

    def normalised(self, action_norm: str) -> tuple[Tensor, Tensor | None]:
        """Return the bias before the normalisation, and one after it, if there is one.

        With ``full``, illegal actions are part of the normalisation, but are never taken.
        """
        return (self.possible, self.legal) if action_norm == "full" else (self.legal, None)


# ----------------------------------------------------------------------------
# A model under the search.


# Approximate number of actions of a full beam between two words.
STEPS_PER_WORD = 8


class SearchedModel(abc.ABC):
    """A syntactic language model as a search sees it (``TransitionModel`` of the search).

    A derivation is a path of nodes, which are rows of the arena; the first one is the root. A
    family writes :meth:`begin`, :meth:`log_probs`, :meth:`word_log_prob`, :meth:`advance` and
    :meth:`shift`, with the help of :meth:`start`, :meth:`follow` and :meth:`legal`. The other
    methods are right for every model whose rows do not refer to other rows, and slow; RNNG and PLM
    replace them.
    """

    # What an arena needs for :meth:`start`, :meth:`follow` and :meth:`legal`: the number of open
    # constituents, and the legal state.
    NUMBERS: ClassVar[Mapping[str, int]] = {"depth": 1, "legal": 1}

    def __init__(
        self,
        arena: Arena,
        strategy: Strategy,
        label_count: int,
        is_continuation: Tensor | None = None,
    ) -> None:
        self.arena = arena
        self.label_count = label_count
        self.opens_at_end = OPENS_AT_END[strategy]
        self.is_continuation = is_continuation
        self.column_bias = ColumnBias(
            strategy, label_count, self.device, has_pieces=is_continuation is not None
        )
        # By column: by how much the number of open constituents changes, and the legal state
        # without open constituents.
        depth = {Kind.OPEN: 1, Kind.REDUCE: -1}
        changes = [(depth.get(k, 0), legal_state(k)) for k in column_kinds(strategy, label_count)]
        self.changes = torch.tensor(changes, device=self.device)

    @property
    def device(self) -> torch.device:
        return self.arena.numbers.device

    @abc.abstractmethod
    def begin(self) -> None:
        """Reset the model: the root is the only node."""

    @abc.abstractmethod
    def log_probs(self, nodes: Tensor) -> Tensor:
        """Return ``(rows, columns)`` log probabilities of the next event, ``-inf`` if illegal."""

    @abc.abstractmethod
    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return ``(rows,)`` log probabilities of words, given that the next event is a word."""

    @abc.abstractmethod
    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """Return ``(rows,)`` new nodes after structural actions."""

    @abc.abstractmethod
    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return ``(rows,)`` new nodes after words."""

    def start(self, **values: Tensor | float) -> None:
        """Drop all nodes, and make the root, with values of the columns of the family."""
        self.arena.clear()
        self.arena.write(1, depth=0, legal=START_STATE, **values)

    def follow(self, nodes: Tensor, columns: Tensor, **values: Tensor | float) -> Tensor:
        """Return new nodes behind others, with values of the columns of the family."""
        change, last = self.changes.index_select(0, columns).unbind(1)
        depth = self.arena["depth"].index_select(0, nodes) + change
        legal = depth.clamp(0, MOST_OPEN) + last
        return self.arena.write(len(nodes), depth=depth, legal=legal, **values)

    def legal(self, nodes: Tensor) -> Tensor:
        """``(rows, columns)``: zero for what may come next, else ``-inf``."""
        return self.column_bias.legal.index_select(0, self.arena["legal"].index_select(0, nodes))

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Return ``(rows,)`` upper bounds of :meth:`word_log_prob` that cost less."""
        return self.arena.floats.new_zeros(len(nodes))

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """Return ``(rows,)`` log probabilities that the word just read does not continue."""
        assert self.is_continuation is not None
        pieces = self.is_continuation.nonzero().squeeze(1)

        def inside_word(nodes: Tensor) -> Tensor:
            each = nodes.repeat_interleave(len(pieces)), pieces.repeat(len(nodes))
            return self.word_log_prob(*each).view(len(nodes), -1).logsumexp(1)

        inside = in_parts(inside_word, len(pieces), nodes)
        return torch.log1p(-(self.log_probs(nodes)[:, Column.WORD] + inside).exp().clamp(max=1.0))

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Discard all states that ``(groups, beam)`` nodes do not need; return new numbers."""
        needed = torch.where(is_alive, nodes, 0)
        kept, number = torch.cat([nodes.new_zeros(1), needed.flatten()]).unique(return_inverse=True)
        self.arena.keep(kept)
        numbers: Tensor = number[1:].view_as(nodes)
        return numbers

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """Estimate the memory of a group that reads a sentence of ``length`` tokens."""
        nodes = STEPS_PER_WORD * action_beam + word_beam * (length + 20)
        return nodes * self.arena.row_bytes
