"""An RNNG under the search: its states are stacks that share common elements.

:class:`RnngSearch` is what the search calls; the elements of stacks are in :mod:`rnng_stack`. If
compositions are shared, constituents of equal content are composed once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.trees.legality import KINDS, Column, Kind
from gardenpath.models.search_states import (
    ColumnBias,
    SearchedModel,
    column_kinds,
    continuations,
    searched_words,
)
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.networks import RnngNetwork
from gardenpath.models.syntactic.rnng_stack import (
    Children,
    StackNodes,
    make_composer,
    walked,
    word_contents,
)


class ComposedContents:
    """Rows of a table that grows until :meth:`forget`.

    ``first``: the rows that are always there, of vectors of ``width`` numbers; ``is_shared``:
    whether keys of contents are known.
    """

    def __init__(self, first: Tensor, *, width: int, is_shared: bool) -> None:
        self._first, self._width = len(first), width
        self._is_shared = is_shared
        self._rows = first
        self._size = len(first)
        self._known: dict[int, int] = {}

    def rows(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors and their projections by their places; the first places are columns."""
        rows = self._rows.index_select(0, places)
        return rows[:, : self._width], rows[:, self._width :]

    def places(
        self,
        keys: Sequence[int],
        counts: Sequence[int],
        compose: Callable[[list[int]], Tensor],
    ) -> Tensor:
        """Return the place of each constituent, given by its key and its number of children.

        ``compose`` returns the rows of new constituents, whose numbers it is given, ordered by
        their number of children, largest first.
        """
        if not self._is_shared:
            self.forget()
            keys = range(len(counts))
        known = self._known
        # The last of equal constituents stands for all.
        new = {key: number for number, key in enumerate(keys) if key not in known}
        if new:
            chosen = sorted(new.items(), key=lambda item: -counts[item[1]])
            begin, end = self._size, self._size + len(chosen)
            rows = compose([number for _, number in chosen])
            if end > len(self._rows):
                grown = self._rows.new_empty((max(end, 2 * len(self._rows)), rows.shape[1]))
                grown[:begin] = self._rows[:begin]
                self._rows = grown
            self._rows[begin:end] = rows
            self._size = end
            known.update((key, begin + rank) for rank, (key, _) in enumerate(chosen))
        places = np.fromiter(map(known.__getitem__, keys), dtype=np.int64, count=len(keys))
        return torch.from_numpy(places).to(self._rows.device)

    def forget(self) -> None:
        """Drop all constituents, none of which can recur after the next word."""
        self._size = self._first
        self._known.clear()


# ----------------------------------------------------------------------------
# Log probabilities of actions during a search, in the order of its columns.


class SearchActions:
    """The output layer over actions of a network.

    Its rows are put into the order of :class:`Column` once; what is legal is part of the biases.
    """

    def __init__(self, network: RnngNetwork, column_bias: ColumnBias) -> None:
        strategy, layer = network.strategy, network.action_output
        single: list[Kind] = [kind for kind in KINDS[strategy] if kind is not Kind.OPEN]
        opens = range(len(single), layer.out_features)
        order = [single.index(kind) for kind in column_kinds(strategy, 0)] + [*opens]
        bias, self._never = column_bias.normalised(network.action_norm)
        self._weight = layer.weight.detach()[order].t().contiguous()
        self._bias = layer.bias.detach()[order] + bias

    def log_probs(self, output: Tensor, state: Tensor) -> Tensor:
        """``(rows, columns)`` log probabilities, ``-inf`` for illegal actions."""
        log_probs = self.normalised(output, state)
        return log_probs if self._never is None else log_probs + self._never.index_select(0, state)

    def normalised(self, output: Tensor, state: Tensor) -> Tensor:
        """``(rows, columns)`` log probabilities of all actions that were normalised together."""
        bias = self._bias.index_select(0, state)
        return bias.addmm_(output, self._weight).log_softmax(1)


# ----------------------------------------------------------------------------
# A stack is represented by its top node. Closing a constituent walks down to its label and pushes
# the composed vector onto the node below the label. All rows of a step are pushed together, whether
# they open or close a constituent. The recurrent half of the gates depends only on the node below
# and is computed once for all elements pushed onto it; the input half of labels is a lookup table.
#
# With fixed shapes (``is_packed`` is false), a step never waits for the device; what must be known
# on the host is read by :meth:`RnngSearch.settle`, once per token.


class RnngSearch(SearchedModel):
    """The states of an RNNG's derivations, by node.

    ``is_packed``: the number of rows that close a constituent may be read on the host, so that only
    these are composed; ``shared_compositions``: constituents of equal content are composed once.
    """

    def __init__(
        self, network: RnngNetwork, *, is_packed: bool, shared_compositions: bool = True
    ) -> None:
        self._network = network
        self._is_packed = is_packed
        self._is_in_order = network.strategy == "in_order"
        # A vector composed by attention depends on the stack below as well.
        self._reads_stack = isinstance(network.composition, AttentionComposition)
        self._is_shared = is_packed and shared_compositions and not self._reads_stack
        # In-order parsing pushes all pieces of a first child again.
        self._counts_pieces = network.piece_bias is not None and self._is_in_order
        self._nodes = StackNodes(
            network, is_packed=is_packed, has_keys=self._is_shared, has_pieces=self._counts_pieces
        )
        labels = network.label_embedding.weight.detach()
        super().__init__(
            self._nodes.arena, network.strategy, len(labels), continuations(network.piece_bias)
        )
        self._words = searched_words(network.word_output, network.piece_bias)
        self._actions = SearchActions(network, self.column_bias)
        self._compose = make_composer(network)
        size = labels.shape[1]
        # By column: the vectors of labels; those of other columns are never used.
        self._label_vectors = torch.cat([labels.new_zeros(Column.FIRST_OPEN, size), labels])
        inputs = self._nodes.inputs(self._label_vectors)
        self._contents = ComposedContents(
            torch.cat([self._label_vectors, inputs], dim=1), width=size, is_shared=self._is_shared
        )
        self._word_contents = word_contents(network.word_embedding.num_embeddings).to(self.device)

    def begin(self) -> None:
        self._nodes.begin()
        self._contents.forget()

    def log_probs(self, nodes: Tensor) -> Tensor:
        return self._actions.log_probs(self._output(nodes), self._states(nodes))

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        return self._words.log_prob(self._output(nodes), words, self._piece_row(nodes))

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        return self._words.bound(self._output(nodes), words, self._piece_row(nodes))

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        output, row = self._output(nodes), self._piece_row(nodes)
        assert row is not None
        log_probs = self._actions.normalised(output, self._states(nodes))
        begins = self._words.begins_log_prob(output, row)
        return torch.logaddexp(
            log_probs[:, Column.WORD + 1 :].logsumexp(1), log_probs[:, Column.WORD] + begins
        )

    def _output(self, nodes: Tensor) -> Tensor:
        return self._nodes.column("output", nodes)

    def _states(self, nodes: Tensor) -> Tensor:
        return self._nodes.column("legal", nodes)

    def _piece_row(self, nodes: Tensor) -> Tensor | None:
        if self.is_continuation is None:
            return None
        return self.column_bias.piece_rows.index_select(0, self._states(nodes))

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        self._nodes.most_children += 1
        self._nodes.most_pieces += 1
        vectors = self._network.word_embedding.weight.detach().index_select(0, words)
        content = self._word_contents.index_select(0, words) if self._is_shared else None
        pieces = None
        if self._counts_pieces and self.is_continuation is not None:
            more = self._nodes.column("pieces", nodes) + 1
            pieces = torch.where(self.is_continuation.index_select(0, words), more, 1)
        return self._nodes.push(
            nodes, torch.full_like(nodes, Column.WORD), vectors, self._nodes.inputs(vectors),
            content=content, pieces=pieces,
        )  # fmt: skip

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        if not len(nodes):
            return nodes
        is_close = columns == Column.CLOSE
        # In order, the label is pushed below its first child.
        first_child = self._first_child(nodes) if self._is_in_order else []
        opened_on = nodes
        if first_child:
            opened_on = self._nodes.column("below", first_child[0][1])
        push = self._packed_push if self._is_packed else self._fixed_push
        tops = push(nodes, columns, is_close, opened_on)
        for rows, elements in first_child:
            has_it = ~is_close if rows is None else rows & ~is_close
            tops = self._pushed_again(tops, has_it, elements)
        return tops

    def _packed_push(
        self, nodes: Tensor, columns: Tensor, is_close: Tensor, opened_on: Tensor
    ) -> Tensor:
        """Push labels and constituents; only the rows that close a constituent are composed."""
        closing = is_close.nonzero().squeeze(1)
        if not len(closing):
            return self._nodes.push(opened_on, columns, *self._contents.rows(columns))
        own = nodes.index_select(0, closing)
        numbers = self._nodes.arena.numbers.index_select(0, own)
        below = opened_on.index_copy(0, closing, self._nodes.arena.column(numbers, "base"))
        places = columns.index_copy(0, closing, self._composed(own, numbers))
        key = self._nodes.arena.column(numbers, "key") if self._is_shared else None
        rows = self._contents.rows(places)
        return self._nodes.push(below, columns, *rows, content=key, child=closing)

    def _composed(self, nodes: Tensor, numbers: Tensor) -> Tensor:
        """Return the places of constituents, given by their tops, among the contents."""
        counts = self._nodes.arena.column(numbers, "children").tolist()
        keys = self._nodes.arena.column(numbers, "key").tolist() if self._is_shared else ()

        def compose(chosen: list[int]) -> Tensor:
            rows = torch.tensor(chosen, device=self.device)
            some = numbers.index_select(0, rows)
            vectors = self._compose(
                self._children(nodes.index_select(0, rows), some, [counts[row] for row in chosen])
            )
            return torch.cat([vectors, self._nodes.inputs(vectors)], dim=1)

        return self._contents.places(keys, counts, compose)

    def _fixed_push(
        self, nodes: Tensor, columns: Tensor, is_close: Tensor, opened_on: Tensor
    ) -> Tensor:
        """Push labels and constituents; all rows are composed, and the result is used by some."""
        numbers = self._nodes.arena.numbers.index_select(0, nodes)
        below = torch.where(is_close, self._nodes.arena.column(numbers, "base"), opened_on)
        composed = self._compose(self._children(nodes, numbers))
        opened = self._label_vectors.index_select(0, columns)
        vectors = torch.where(is_close.unsqueeze(1), composed, opened)
        return self._nodes.push(below, columns, vectors, self._nodes.inputs(vectors))

    def _children(
        self, nodes: Tensor, numbers: Tensor, counts: list[int] | None = None
    ) -> Children:
        """Return the elements above the open label, last child first."""
        arena = self._nodes.arena
        most = self._nodes.most_children if counts is None else counts[0]
        return Children(
            vector=arena["vector"],
            place=walked(arena["below"], nodes, most),
            # The number of children of a row without a hypothesis is arbitrary.
            count=arena.column(numbers, "children").clamp(1, most),
            label=arena.column(numbers, "label"),
            output=self._output(nodes) if self._reads_stack else None,
            counts=counts,
        )

    def _first_child(self, nodes: Tensor) -> list[tuple[Tensor | None, Tensor]]:
        """Return the elements on top of which a label is known: one, or the pieces of a word.

        They are ordered from below. Each comes with the rows that have it; None stands for all.
        """
        if not self._counts_pieces:
            return [(None, nodes)]
        count = self._nodes.column("pieces", nodes)
        most = int(count.max()) if self._is_packed else self._nodes.most_pieces
        table = walked(self._nodes.arena["below"], nodes, most)
        elements: list[tuple[Tensor | None, Tensor]] = []
        for number in range(most):
            place = (count - 1 - number).clamp(0, most - 1).unsqueeze(0)
            rows = count > number if number else None
            elements.append((rows, table.gather(0, place).squeeze(0)))
        return elements

    def _pushed_again(self, tops: Tensor, has_it: Tensor, elements: Tensor) -> Tensor:
        """Push elements on top of some rows; return the tops of all rows."""
        if not self._is_packed:
            return torch.where(has_it, self._push_copies(tops, elements), tops)
        some = has_it.nonzero().squeeze(1)
        if not len(some):
            return tops
        copies = self._push_copies(tops.index_select(0, some), elements.index_select(0, some))
        return tops.index_copy(0, some, copies)

    def _push_copies(self, tops: Tensor, elements: Tensor) -> Tensor:
        vectors = self._nodes.column("vector", elements)
        content = self._nodes.column("content", elements) if self._is_shared else None
        return self._nodes.push(
            tops, torch.full_like(tops, self._nodes.again), vectors, self._nodes.inputs(vectors),
            content=content,
        )  # fmt: skip

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        self._contents.forget()
        return self._nodes.settle(nodes, is_alive)
