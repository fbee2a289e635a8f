"""RNNG states for the search: stacks that share common elements.

Every element that was ever pushed is a node of an append-only arena, with its stack-LSTM state, its
vector and the node below it. A stack is represented by its top node. Pushing appends one node,
whether or not other stacks share the nodes below; closing a constituent walks down to its label and
pushes the composed vector onto the node below the label. Nothing is copied when hypotheses branch.

The recurrent half of the gates depends only on the node below and is computed once for all elements
pushed onto it; the input half of labels is a lookup table.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.trees.actions import Column, Kind
from gardenpath.data.trees.legality import KINDS, OPENS_AT_END
from gardenpath.models.rnng.lstm_levels import cell_, tanh_by_sigmoid
from gardenpath.models.rnng.rnng import RnngNetwork, legal_bias
from gardenpath.models.rnng.search_composition import Children, make_composer
from gardenpath.models.states.arena import Arena
from gardenpath.models.states.factored_words import searched_words
from gardenpath.models.states.piece_bias import continuations, piece_row
from gardenpath.models.states.transitions import (
    STEPS_PER_WORD,
    LegalActions,
    structural_columns,
)


class RnngSearch:
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
        self._composer = make_composer(
            network, is_packed=is_packed, is_shared=is_packed and shared_compositions
        )
        labels = network.label_embedding.weight
        self._label_input = functional.linear(
            labels, network.stack.input[0], network.stack.bias[0]
        ).detach()
        self.is_open, self.is_close = structural_columns(len(labels), self.device)
        self.opens_at_end = OPENS_AT_END[network.strategy]
        self.is_continuation = continuations(network.piece_bias)
        has_pieces = self.is_continuation is not None
        self._words = searched_words(network.word_output, network.piece_bias)
        self._legal = LegalActions(network.strategy, self.device, has_pieces=has_pieces)
        # In-order parsing pushes all pieces of a first child again.
        self._counts_pieces = has_pieces and self._is_in_order
        # Widths of the blocks of action scores: one column for each kind, and many for NT.
        self._blocks = [1] * (len(KINDS[network.strategy]) - 1) + [len(labels)]
        self._never = legal_bias(network.strategy, len(labels), "legal", self.device)
        self._arena = Arena(self._arena_columns(), self.device)
        self._most_children, self._most_pieces = 0, 1

    @property
    def device(self) -> torch.device:
        """Device of the network."""
        return self._network.start.device

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the network."""
        return self._network.start.dtype

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """Estimate the memory of a group that reads a sentence of ``length`` tokens."""
        nodes = STEPS_PER_WORD * action_beam + word_beam * (length + 20)
        return nodes * self._arena.row_bytes

    def _arena_columns(self) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        network = self._network
        size = network.word_embedding.embedding_dim
        number = ((), torch.long)
        return {
            "state": ((network.stack.state_size,), self.dtype),
            "output": ((size,), self.dtype),
            "vector": ((size,), self.dtype),
            "below": number,
            # The node of the innermost open label; the root if none is open.
            "label_node": number,
            "label": number,
            "children": number,
            "depth": number,
            "height": number,
            "legal": number,
            "content": number,
            # The number of pieces of the word on top; one for other elements.
            **({"pieces": number} if self._counts_pieces else {}),
        }

    def begin(self) -> None:
        """Start with the empty stack."""
        self._arena = Arena(self._arena_columns(), self.device)
        self._most_children, self._most_pieces = 0, 1
        network = self._network
        start = network.start.detach().unsqueeze(0)
        state = network.stack.step(start, start.new_zeros(1, network.stack.state_size))
        zero = torch.zeros(1, dtype=torch.long, device=self.device)
        self._arena.append(
            state=state, output=self._output(state), vector=start, below=zero, label_node=zero,
            label=zero, children=zero, depth=zero, height=zero,
            legal=self._legal.at_start(zero), content=zero, **self._piece_count(zero + 1),
        )  # fmt: skip

    def _piece_count(self, pieces: Tensor) -> dict[str, Tensor]:
        return {"pieces": pieces} if self._counts_pieces else {}

    def log_probs(self, nodes: Tensor) -> Tensor:
        """``(rows, columns)``: see :class:`TransitionModel`."""
        network, arena = self._network, self._arena
        legal = arena["legal"][nodes]
        scores = network.action_output(arena["output"][nodes]) + network.legal_bias[legal]
        log_probs = scores.log_softmax(1)
        if network.action_norm == "full":
            # Illegal actions take part in the normalisation but are never taken.
            log_probs = log_probs + self._never[legal]
        shift, reduce, *finish, opens = log_probs.split(self._blocks, dim=1)
        if finish:
            (end,) = finish
        else:
            # Closing the root ends the sentence.
            is_root = self._legal.is_last_reduce(arena["depth"][nodes]).unsqueeze(1)
            end = reduce.masked_fill(~is_root, -torch.inf)
            reduce = reduce.masked_fill(is_root, -torch.inf)
        return torch.cat([shift, end, reduce, opens], dim=1)

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of words, given that the next event is a word."""
        return self._words.log_prob(self._arena["output"][nodes], words, self._piece_row(nodes))

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` upper bounds of :meth:`word_log_prob`."""
        return self._words.bound(self._arena["output"][nodes], words, self._piece_row(nodes))

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """``(rows,)`` log probabilities that the word just read does not continue."""
        network, output = self._network, self._arena["output"][nodes]
        legal = self._arena["legal"][nodes]
        log_probs = (network.action_output(output) + network.legal_bias[legal]).log_softmax(1)
        begins = self._words.begins_log_prob(output, piece_row(legal))
        return torch.logaddexp(log_probs[:, 1:].logsumexp(1), log_probs[:, 0] + begins)

    def _piece_row(self, nodes: Tensor) -> Tensor | None:
        return None if self.is_continuation is None else piece_row(self._arena["legal"][nodes])

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Push words."""
        self._most_children += 1
        self._most_pieces += 1
        network = self._network
        vectors = network.word_embedding.weight[words]
        inputs = functional.linear(vectors, network.stack.input[0], network.stack.bias[0])
        return self._push_element(
            nodes, vectors, inputs, content=words + 1, kind=Kind.SHIFT,
            depth=self._arena["depth"][nodes], pieces=self._pieces_after(nodes, words),
        )  # fmt: skip

    def _pieces_after(self, nodes: Tensor, words: Tensor) -> Tensor | None:
        """Return the number of pieces that the word on top will have."""
        if self.is_continuation is None or not self._counts_pieces:
            return None
        return torch.where(self.is_continuation[words], self._arena["pieces"][nodes] + 1, 1)

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """Close constituents and open new ones."""
        self._most_children += 1
        if self._is_packed:
            is_reduce = columns == Column.CLOSE
            closing, opening = is_reduce.nonzero().squeeze(1), (~is_reduce).nonzero().squeeze(1)
            result = torch.empty_like(nodes)
            if len(closing):
                result[closing] = self._close(nodes[closing])
            if len(opening):
                result[opening] = self._open(nodes[opening], columns[opening] - Column.FIRST_OPEN)
            return result
        labels = (columns - Column.FIRST_OPEN).clamp(min=0)
        return torch.where(columns == Column.CLOSE, self._close(nodes), self._open(nodes, labels))

    def _open(self, nodes: Tensor, labels: Tensor) -> Tensor:
        arena = self._arena
        first_child = self._first_child(nodes) if self._is_in_order else []
        below = arena["below"][first_child[0][1]] if first_child else nodes
        state = self._step(self._label_input.index_select(0, labels), below)
        depth = arena["depth"][nodes] + 1
        number = torch.arange(len(arena), len(arena) + len(nodes), device=self.device)
        label_nodes = arena.append(
            state=state,
            output=self._output(state),
            vector=self._network.label_embedding.weight.index_select(0, labels),
            below=below,
            label_node=number,
            label=labels,
            children=torch.zeros_like(nodes),
            depth=depth,
            height=arena["height"][below] + 1,
            legal=self._legal.after(Kind.OPEN, depth),
            content=labels,
            **self._piece_count(torch.ones_like(nodes)),
        )
        # The first child is pushed on top of its label.
        tops = label_nodes
        for rows, elements in first_child:
            tops = self._pushed_again(tops, rows, elements, depth)
        return tops

    def _first_child(self, nodes: Tensor) -> list[tuple[Tensor | None, Tensor]]:
        """Return the elements on top of which a label is known: one, or the pieces of a word.

        They are ordered from below. Each comes with the rows that have it; None stands for all.
        """
        if not self._counts_pieces:
            return [(None, nodes)]
        count = self._arena["pieces"][nodes]
        most = int(count.max()) if self._is_packed else self._most_pieces
        places = [nodes]
        for _ in range(most - 1):
            places.append(self._arena["below"][places[-1]])
        table = torch.stack(places, dim=1)
        found: list[tuple[Tensor | None, Tensor]] = []
        for number in range(most):
            place = (count - 1 - number).clamp(0, most - 1).unsqueeze(1)
            rows = count > number if number else None
            found.append((rows, table.gather(1, place).squeeze(1)))
        return found

    def _pushed_again(
        self, tops: Tensor, rows: Tensor | None, elements: Tensor, depth: Tensor
    ) -> Tensor:
        """Push elements on top of some rows; return the tops of all rows."""
        if rows is None:
            return self._push_copies(tops, elements, depth)
        if not self._is_packed:
            return torch.where(rows, self._push_copies(tops, elements, depth), tops)
        some = rows.nonzero().squeeze(1)
        return tops.index_copy(0, some, self._push_copies(tops[some], elements[some], depth[some]))

    def _push_copies(self, tops: Tensor, elements: Tensor, depth: Tensor) -> Tensor:
        vectors = self._arena["vector"][elements]
        stack = self._network.stack
        inputs = functional.linear(vectors, stack.input[0], stack.bias[0])
        content = self._arena["content"][elements]
        return self._push_element(
            tops, vectors, inputs, content=content, kind=Kind.OPEN, depth=depth
        )

    def _close(self, nodes: Tensor) -> Tensor:
        arena, stack = self._arena, self._network.stack
        label_nodes = arena["label_node"][nodes]
        children = self._children(nodes, label_nodes)
        vectors, content = self._composer(children)
        inputs = functional.linear(vectors, stack.input[0], stack.bias[0])
        return self._push_element(
            arena["below"][label_nodes], vectors, inputs, content=content, kind=Kind.REDUCE,
            depth=arena["depth"][nodes] - 1,
        )  # fmt: skip

    def _children(self, nodes: Tensor, label_nodes: Tensor) -> Children:
        """Return the elements above the open label, last child first."""
        arena = self._arena
        counts = arena["children"][nodes]
        most = int(counts.max()) if self._is_packed else self._most_children
        places = [nodes]
        for _ in range(most - 1):
            places.append(arena["below"][places[-1]])
        return Children(
            vector=arena["vector"],
            content=arena["content"],
            place=torch.stack(places, dim=1),
            count=counts.clamp(min=1),
            label=arena["label"][label_nodes],
            output=arena["output"][nodes],
        )

    def _push_element(
        self,
        below: Tensor,
        vectors: Tensor,
        inputs: Tensor,
        *,
        content: Tensor,
        kind: Kind,
        depth: Tensor,
        pieces: Tensor | None = None,
    ) -> Tensor:
        """Push a word or a constituent, which is the next child of the open constituent."""
        arena = self._arena
        state = self._step(inputs, below)
        return arena.append(
            state=state,
            output=self._output(state),
            vector=vectors,
            below=below,
            label_node=arena["label_node"][below],
            label=torch.zeros_like(below),
            children=arena["children"][below] + 1,
            depth=depth,
            height=arena["height"][below] + 1,
            legal=self._legal.after(kind, depth),
            content=content,
            **self._piece_count(torch.ones_like(below) if pieces is None else pieces),
        )

    def _step(self, inputs: Tensor, below: Tensor) -> Tensor:
        """Return the states after pushing vectors, given by their input projections, onto nodes."""
        stack = self._network.stack
        bottom, again = self._distinct(below)
        layers = len(stack.input)
        before = self._arena["state"].index_select(0, bottom).chunk(layers, dim=1)
        after = inputs.new_empty(len(below), stack.state_size)
        # With fixed shapes, the number of kernel launches dominates.
        tanh = tanh_by_sigmoid if self._is_packed else torch.tanh
        for layer, state in enumerate(after.chunk(layers, dim=1)):
            hidden_before, cell_before = before[layer].chunk(2, dim=1)
            recurrent = functional.linear(hidden_before, stack.recurrent[layer])
            gates = recurrent.index_select(0, again)
            gates += inputs
            hidden = state.chunk(2, dim=1)[0]
            cell_(gates, cell_before.index_select(0, again), state, hidden, tanh=tanh)
            if layer + 1 < layers:
                inputs = functional.linear(hidden, stack.input[layer + 1], stack.bias[layer + 1])
        return after

    def _distinct(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """Return each node once, and the index of each given node among them."""
        if not self._is_packed:
            return nodes, torch.arange(len(nodes), device=nodes.device)
        unique, inverse = nodes.unique(return_inverse=True)
        return unique, inverse

    def _output(self, state: Tensor) -> Tensor:
        hidden = self._network.stack.top_hidden(state)
        return functional.relu(self._network.to_output(hidden))

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Keep only the stacks of these nodes."""
        arena = self._arena
        tops = torch.where(is_alive, nodes, 0)
        flat = tops.flatten()
        columns = ("height", "children", *(["pieces"] if self._counts_pieces else []))
        numbers = torch.stack([arena[column][flat].max() for column in columns])
        height, self._most_children, *pieces = numbers.tolist()
        self._most_pieces = max([1, *pieces])
        is_needed = torch.zeros(len(arena), dtype=torch.bool, device=self.device)
        is_needed[0] = True
        current = flat
        for _ in range(height):
            is_needed[current] = True
            current = arena["below"][current]
        kept = is_needed.nonzero().squeeze(1)
        renumbered = is_needed.cumsum(0) - 1
        arena.keep(kept)
        for pointer in ("below", "label_node"):
            arena[pointer].copy_(renumbered[arena[pointer]])
        self._composer.forget()
        return renumbered[tops]
