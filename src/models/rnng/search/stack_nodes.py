"""The elements of stacks during a search, as nodes of an append-only arena.

Every element that was ever pushed is a node, with its stack-LSTM state, its vector and the node
below it. A stack is represented by its top node. Pushing appends one node, whether or not other
stacks share the nodes below.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gardenpath.models.rnng.rnng import RnngNetwork
from gardenpath.models.rnng.search.search_numbers import PushedNumbers, number_columns, with_child
from gardenpath.models.rnng.search.search_stack import SearchStack
from gardenpath.models.states.arena import Arena
from gardenpath.models.states.transitions import START_STATE


class StackNodes:
    """Nodes that share what lies below them.

    ``is_packed``: whether numbers may be read on the host at any time; ``has_keys``: whether
    contents are compared; ``has_pieces``: whether the pieces of words are counted.
    """

    def __init__(
        self, network: RnngNetwork, *, is_packed: bool, has_keys: bool, has_pieces: bool
    ) -> None:
        self._is_packed = is_packed
        self._has_keys = has_keys
        # In order, a first child is pushed again.
        self._has_contents = has_keys and network.strategy == "in_order"
        self._has_pieces = has_pieces
        self._start = network.start.detach().unsqueeze(0)
        # With fixed shapes, the number of kernel launches dominates.
        self._stack = SearchStack(network, by_sigmoid=is_packed)
        columns = number_columns(
            has_keys=has_keys, has_contents=self._has_contents, has_pieces=has_pieces
        )
        device, size = network.start.device, len(network.start)
        self._numbers = PushedNumbers(columns, network.label_embedding.num_embeddings, device)
        self.arena = Arena(
            floats={"state": self._stack.state_size, "output": size, "vector": size},
            numbers=columns, dtype=network.start.dtype, device=device, is_fixed=not is_packed,
        )  # fmt: skip
        # Bounds of the heights of stacks, of the children of a constituent and of the pieces of a
        # word; with fixed shapes, the latter two determine the shapes.
        self.height, self.most_children, self.most_pieces = 0, 1, 1

    @property
    def again(self) -> int:
        """The event of a first child that is pushed on top of its label."""
        return self._numbers.again

    def column(self, name: str, nodes: Tensor) -> Tensor:
        """Return a column of some nodes."""
        return self.arena[name].index_select(0, nodes)

    def inputs(self, vectors: Tensor) -> Tensor:
        """Return the input projections of vectors."""
        return self._stack.inputs(vectors)

    def begin(self) -> None:
        """Start with the empty stack."""
        arena, stack = self.arena, self._stack
        arena.clear()
        self.height, self.most_children, self.most_pieces = 0, 1, 1
        floats, numbers = arena.room(1)
        arena.column(floats, "vector").copy_(self._start)
        state = arena.column(floats, "state")
        nothing = self._start.new_zeros(1, stack.state_size)
        stack.step(stack.inputs(self._start), nothing, None, state)
        stack.output(state, arena.column(floats, "output"))
        numbers.zero_()
        arena.column(numbers, "legal").fill_(START_STATE)
        if self._has_pieces:
            arena.column(numbers, "pieces").fill_(1)
        arena.append(1)

    def push(
        self,
        below: Tensor,
        events: Tensor,
        vectors: Tensor,
        inputs: Tensor,
        *,
        content: Tensor | None = None,
        child: Tensor | None = None,
        pieces: Tensor | None = None,
    ) -> Tensor:
        """Push vectors, given with their input projections, onto nodes; return the new nodes.

        ``events``: see :mod:`search_numbers`. ``content``: the keys of elements that are children;
        ``child``: their rows, if not all. ``pieces``: of the words on top, if they are counted.
        ``inputs`` are overwritten.
        """
        arena, stack = self.arena, self._stack
        count = len(below)
        floats, numbers = arena.room(count)
        arena.column(floats, "vector").copy_(vectors)
        self._numbers.write(arena.numbers, below, events, numbers)
        if content is not None and self._has_keys:
            self._write_keys(numbers, content, child)
        if pieces is not None:
            arena.column(numbers, "pieces").copy_(pieces)
        state = arena.column(floats, "state")
        bottom, again = self._distinct(below)
        stack.step(inputs, arena["state"].index_select(0, bottom), again, state)
        stack.output(state, arena.column(floats, "output"))
        self.height += 1
        return arena.append(count)

    def _write_keys(self, numbers: Tensor, content: Tensor, rows: Tensor | None) -> None:
        """Add new children to the keys of their constituents."""
        names = ("key", "content") if self._has_contents else ("key",)
        for name in names:
            column = self.arena.column(numbers, name)
            before = column if rows is None else column.index_select(0, rows)
            after = with_child(before, content) if name == "key" else content
            if rows is None:
                column.copy_(after)
            else:
                column.index_copy_(0, rows, after)

    def _distinct(self, nodes: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return each node once, and the index of each given node among them."""
        if not self._is_packed:
            return nodes, None
        unique, inverse = nodes.unique(return_inverse=True)
        return unique, inverse

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Keep only the stacks of these nodes."""
        arena = self.arena
        tops = torch.where(is_alive, nodes, 0)
        is_needed = self._on_stacks(tops.flatten())
        renumbered = is_needed.cumsum(0) - 1
        arena.keep(is_needed.nonzero().squeeze(1))
        pointers = arena.columns(arena.numbers[: len(arena)], "below", "base")
        pointers.copy_(renumbered[pointers])
        most = arena.numbers[: len(arena)].amax(0, keepdim=True)
        names = ("height", "children", *(["pieces"] if self._has_pieces else []))
        self.height, children, *pieces = torch.cat(
            [arena.column(most, name) for name in names]
        ).tolist()
        # Until the next word, a constituent gets at most one more child: what is opened on the way
        # to it has no word yet and cannot be closed.
        self.most_children = children + 1
        self.most_pieces = max([1, *pieces])
        return renumbered[tops]

    def _on_stacks(self, tops: Tensor) -> Tensor:
        """``(nodes,)``: whether a node is on the stack of one of the tops.

        What is known to be on a stack is marked, then what is 1, 2, 4, … below it.
        """
        count = len(self.arena)
        is_needed = torch.zeros(count, dtype=torch.bool, device=self.arena.numbers.device)
        is_needed.index_fill_(0, tops, True)
        is_needed[0] = True
        below = self.arena["below"][:count]
        for _ in range(self.height.bit_length()):
            is_needed.index_fill_(0, torch.where(is_needed, below, 0), True)
            below = below.index_select(0, below)
        return is_needed
