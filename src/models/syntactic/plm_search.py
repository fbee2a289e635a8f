"""A PLM under the search: its states are keys and values that hypotheses share.

:class:`PlmSearch` is what the search calls. Nothing is computed twice, and nothing is copied when
hypotheses branch: the symbols since the last word are rows of a memory; those before are in one
block per group, with a mask that says which survivor has read which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.trees.legality import MOST_OPEN, Column
from gardenpath.data.words.vocabulary import BEGIN_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.search_states import (
    BEGINS,
    START_STATE,
    STEPS_PER_WORD,
    Arena,
    ColumnBias,
    SearchedModel,
    continuations,
    in_parts,
)
from gardenpath.models.sequential.networks import Block
from gardenpath.models.syntactic.networks import PlmNetwork


@dataclass(frozen=True)
class NextSymbol:
    """``words``: ``(rows,)`` logsumexp of all word scores; ``log_probs``: ``(rows, columns)``;
    ``word_end``: for models over pieces, ``(rows,)`` log probabilities that the word has ended.
    """

    words: Tensor
    log_probs: Tensor
    word_end: Tensor | None


class NextSymbols:
    """The output layer over words and brackets of a network.

    Closing the root ends the sentence, so the closing bracket has two columns, END and CLOSE, of
    which each state has one.
    """

    def __init__(self, network: PlmNetwork, column_bias: ColumnBias) -> None:
        self._network = network
        # With classes of words, the whole vocabulary is never needed.
        weight, weight_bias = (part.detach() for part in network.output.branches())
        closing = network.output.word_branches
        self._words = weight[:closing]
        self._excluded = weight_bias[:closing].to(weight.dtype)
        # Any branch of words that may come next.
        self._some_word = int(self._excluded.argmax())
        close, opens = weight[closing : closing + 1], weight[closing + 1 :]
        # The column of words is filled in later.
        brackets = torch.cat([torch.zeros_like(close), close, close, opens])
        self._brackets = brackets.t().contiguous()
        close_bias, open_bias = weight_bias[closing : closing + 1], weight_bias[closing + 1 :]
        own = torch.cat([torch.zeros_like(close_bias), close_bias, close_bias, open_bias])
        self.piece_rows = column_bias.piece_rows
        bias, self._never = column_bias.normalised(network.action_norm)
        self._bias = bias + own

    def __call__(self, states: Tensor, legal: Tensor) -> NextSymbol:
        """Return what comes after ``(rows, hidden)`` states; ``legal``: their states' numbers."""
        words, begins = self._word_sums(states, legal)
        scores = self._bias.index_select(0, legal).addmm_(states, self._brackets)
        scores[:, Column.WORD].add_(words)
        log_probs = scores.log_softmax(1)
        word_end = None
        if begins is not None:
            # All but a piece that continues the word.
            others = torch.cat([begins.unsqueeze(1), scores[:, Column.WORD + 1 :]], dim=1)
            word_end = others.logsumexp(1) - scores.logsumexp(1)
        if self._never is not None:
            log_probs += self._never.index_select(0, legal)
        return NextSymbol(words, log_probs, word_end)

    def _word_sums(self, states: Tensor, legal: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return logsumexp over words and, for a model over pieces, over those that begin one."""
        bias = self._network.piece_bias

        def compute(states: Tensor, legal: Tensor) -> Tensor:
            logits = torch.addmm(self._excluded, states, self._words.t())
            if bias is None:
                # Faster than logsumexp, which makes several passes over the logits.
                some = logits[:, self._some_word]
                return some - logits.log_softmax(1)[:, self._some_word]
            allowed = bias[self.piece_rows.index_select(0, legal)]
            sums = [(logits + allowed).logsumexp(1), (logits + bias[BEGINS]).logsumexp(1)]
            return torch.stack(sums, dim=1)

        sums = in_parts(compute, len(self._words), states, legal)
        return (sums, None) if bias is None else (sums[:, 0], sums[:, 1])


# ----------------------------------------------------------------------------
# A layer of a PLM during a search, around the attention.


class SearchLayer:
    """A block of the decoder whose queries are scaled once, in the weights."""

    def __init__(self, block: nn.Module, heads: int) -> None:
        assert isinstance(block, Block)
        self._block = block
        joint = block.attention.query_key_value
        self._hidden = joint.in_features
        scale = torch.ones_like(joint.bias).detach()
        scale[: self._hidden] = 1 / math.sqrt(self._hidden // heads)
        self._weight = joint.weight.detach() * scale.unsqueeze(1)
        self._bias = joint.bias.detach() * scale

    def query_and_memory(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """``(rows, hidden)`` queries; ``(rows, 2 · hidden)`` keys and values."""
        joint = functional.linear(self._block.attention_norm(states), self._weight, self._bias)
        return joint[:, : self._hidden], joint[:, self._hidden :]

    def after(self, states: Tensor, mixed: Tensor) -> Tensor:
        """Return the states after the block, given the output of the attention."""
        block = self._block
        states = states + block.attention.project(mixed)
        inner = functional.gelu(block.expand(block.feed_forward_norm(states)), approximate="tanh")
        result: Tensor = block.contract(inner).add_(states)
        return result


# ----------------------------------------------------------------------------
# With fixed shapes (``is_packed`` is false), a step never waits for the device; what must be known
# on the host is read by :meth:`PlmSearch.settle`.

# Symbols between two words for which a node has room at first, and by which shapes grow.
_FIRST_CHAIN = 16
_CHAIN_STEP = 8


class PlmSearch(SearchedModel):
    """The states of a PLM's derivations, by node.

    ``max_open`` is the maximum number of open constituents; with structured heads, the model stores
    where each of them began.
    """

    def __init__(self, network: PlmNetwork, *, is_packed: bool, max_open: int = 100) -> None:
        self._network = network
        self._is_packed = is_packed
        embedding = network.decoder.token_embedding
        closing, self._hidden = network.vocabulary_size, embedding.embedding_dim
        self._remembered = max_open + 2 if network.structured_heads else 0
        labels = embedding.num_embeddings - closing - 1
        dtype, device = embedding.weight.dtype, embedding.weight.device
        has_pieces = network.piece_bias is not None
        # ``words``: logsumexp of all word scores; ``word_end``: log probability that the word has
        # ended. ``survivor`` that the node descends from; ``began``: positions where the open
        # constituents began, by depth; ``chain``: rows of the memory read since the last word,
        # latest first.
        floats = {"state": self._hidden, "words": 1, "log_probs": Column.FIRST_OPEN + labels}
        numbers = {"survivor": 1, "position": 1, **self.NUMBERS}
        numbers |= {"began": self._remembered} if self._remembered else {}
        arena = Arena(
            floats=floats | ({"word_end": 1} if has_pieces else {}),
            numbers={**numbers, "chain": _FIRST_CHAIN}, dtype=dtype, device=device,
        )  # fmt: skip
        super().__init__(arena, network.strategy, labels, continuations(network.piece_bias))
        self._next = NextSymbols(network, self.column_bias)
        self._layers = [
            SearchLayer(block, network.heads) for block in network.decoder.blocks.children()
        ]
        # By column: the symbol (a word has another); changes of survivor, position, and what
        # determines the legal actions.
        symbols = [0, closing, closing, *range(closing + 1, closing + 1 + labels)]
        self._symbols = torch.tensor(symbols, device=device)
        self._changes = functional.pad(self.changes, (2, 0))
        self._changes[:, 1] = 1
        self._zero = torch.zeros((1, 1), dtype=dtype, device=device)
        self._most_positions = network.decoder.position_embedding.num_embeddings
        self._memory = SymbolMemory(len(self._layers), self._hidden, dtype=dtype, device=device)
        self.begin()

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        # About three symbols per token, and those that the survivors do not share; block and copy.
        places = 3 * length + 8 * word_beam
        number = self._zero.element_size()
        block = 4 * places * len(self._layers) * self._hidden * number
        attention = 4 * action_beam * places * self._network.heads * number
        row = self.arena.row_bytes + self._memory.row_bytes
        return STEPS_PER_WORD * action_beam * row + block + attention

    @torch.inference_mode()
    def begin(self) -> None:
        """Read the begin symbol; its node is the root, whose group is always the first."""
        heads = self._network.heads
        self.arena.clear()
        self._memory.clear()
        self._blocks = empty_blocks(
            layers=len(self._layers), heads=heads, width=self._hidden // heads,
            device=self.device, dtype=self._zero.dtype,
        )  # fmt: skip
        # At most ``_steps`` symbols were read since the last word; a bound of the positions.
        self._steps, self._position = 0, 0
        zero = torch.zeros(1, dtype=torch.long, device=self.device)
        own = zero.new_zeros((1, self.arena.numbers.shape[1]))
        changes = zero.new_tensor([[0, 0, 0, START_STATE]])
        self._read(own, zero + BEGIN_ID, changes, RowGrid(width=1))
        self.settle(zero.new_zeros((0, 1)), zero.new_zeros((0, 1), dtype=torch.bool))

    def log_probs(self, nodes: Tensor) -> Tensor:
        return self.arena["log_probs"].index_select(0, nodes)

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        own = self.arena.columns(self.arena.floats, "state", "words").index_select(0, nodes)
        state, total = own[:, : self._hidden], own[:, self._hidden]
        output = self._network.output
        log_prob = output.branch_score(state, words) - total
        if output.word_branches < self._network.vocabulary_size:
            log_prob = log_prob + output.within_log_prob(state, words)
        bias = self._network.piece_bias
        if bias is None:
            return log_prob
        legal = self.arena["legal"].index_select(0, nodes)
        return log_prob + bias[self._next.piece_rows.index_select(0, legal), words]

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        # Exact, because the normaliser is known.
        return self.word_log_prob(nodes, words)

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        return self.arena["word_end"].index_select(0, nodes).squeeze(1)

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        changes = self._changes[Column.WORD].expand(len(nodes), -1)
        return self._append(nodes, words, changes, width=self._blocks.beam)

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        symbols = self._symbols.index_select(0, columns)
        changes = self._changes.index_select(0, columns)
        width = len(nodes) // max(self._blocks.groups - 1, 1)
        return self._append(nodes, symbols, changes, width=width)

    def _append(self, nodes: Tensor, symbols: Tensor, changes: Tensor, *, width: int) -> Tensor:
        if not len(nodes):
            return nodes
        if self._steps == self.arena["chain"].shape[1]:
            # Room for more symbols since the last word, which stays for later words.
            self.arena.widen("chain", self._steps + _CHAIN_STEP)
        own = self.arena.numbers.index_select(0, nodes)
        return self._read(own, symbols, changes, self._grid(own, width))

    def _grid(self, own: Tensor, width: int) -> RowGrid:
        """Place rows side by side within their groups.

        With fixed shapes, rows are ordered by group, and all rows of a group are present, dead or
        alive; groups may be missing where a word is read.
        """
        groups = self._blocks.groups
        if not self._is_packed and len(own) == max(groups - 1, 1) * width:
            return RowGrid(width=width)
        group = self._group(own)
        return packed_grid(group, groups) if self._is_packed else even_grid(group, groups, width)

    def _group(self, numbers: Tensor) -> Tensor:
        return self.arena.column(numbers, "survivor") // self._blocks.beam

    def _read(self, own: Tensor, symbols: Tensor, changes: Tensor, grid: RowGrid) -> Tensor:
        """Run the network over new symbols and append their nodes.

        ``own``: the numbers of the nodes they follow.
        """
        arena, decoder, count = self.arena, self._network.decoder, len(symbols)
        self._steps += 1
        self._position += 1
        rows = self._memory.add(count)
        floats, numbers = arena.room(count)
        self._write_numbers(own, changes, rows, numbers)
        # The rows of the memory that a symbol reads, itself first.
        chain = arena.column(numbers, "chain")
        chain = chain[:, : self._steps] if self._is_packed else chain
        mask = self._visible(numbers, chain)
        attention = SharedAttention(self._blocks, self._memory, grid, chain, mask)
        position = arena.column(numbers, "position")
        if not self._is_packed:
            position = position.clamp(max=self._most_positions - 1)
        elif self._position >= self._most_positions:
            self._require_positions(int(position.max()))
        states = decoder.token_embedding(symbols) + decoder.position_embedding(position)
        for number, layer in enumerate(self._layers):
            query, memory = layer.query_and_memory(states)
            self._memory.write(number, memory)
            states = layer.after(states, attention(number, query))
        states = decoder.final_norm(states)
        following = self._next(states, arena.column(numbers, "legal"))
        ends = [] if following.word_end is None else [following.word_end.unsqueeze(1)]
        torch.cat(
            [states, following.words.unsqueeze(1), following.log_probs, *ends], dim=1, out=floats
        )
        return arena.append(count)

    def _write_numbers(self, own: Tensor, changes: Tensor, rows: Tensor, new: Tensor) -> None:
        arena = self.arena
        depth_before = arena.column(own, "depth")
        single = arena.columns(new, "survivor", "depth")
        torch.add(arena.columns(own, "survivor", "depth"), changes[:, :3], out=single)
        opened = arena.column(new, "depth").clamp(0, MOST_OPEN)
        torch.add(opened, changes[:, 3], out=arena.column(new, "legal"))
        chain = arena.column(new, "chain")
        chain[:, 0] = rows
        chain[:, 1:] = arena.column(own, "chain")[:, : chain.shape[1] - 1]
        if self._remembered:
            # What is stored beyond the depth of a node is never read.
            began = arena.column(new, "began").copy_(arena.column(own, "began"))
            place = (depth_before + 1).clamp_(0, self._remembered - 1).unsqueeze(1)
            began.scatter_(1, place, arena.column(new, "position").unsqueeze(1))

    def _require_positions(self, last: int) -> None:
        if last >= self._most_positions:
            raise GardenpathError(
                f"a hypothesis has more than {self._most_positions} symbols, the maximum of this "
                "model: train with a larger model.network.max_positions, or remove long sentences"
            )

    def _visible(self, numbers: Tensor, chain: Tensor) -> Tensor:
        """``(rows, heads or 1, places + steps)`` additive mask over the block and the chain."""
        survivor = self.arena.column(numbers, "survivor")
        far = self._blocks.hidden.index_select(0, survivor)
        near = self._zero.expand_as(chain).masked_fill(chain == NO_SYMBOL, -torch.inf)
        mask = torch.cat([far, near], dim=1).unsqueeze(1)
        if not self._remembered:
            return mask
        back = torch.arange(chain.shape[1], device=self.device)
        recent = self.arena.column(numbers, "position").unsqueeze(1) - back
        place = torch.cat([self._blocks.position[self._group(numbers)], recent], dim=1)
        # Where the innermost open constituent began; zero if none is open.
        depth = self.arena.column(numbers, "depth")
        innermost = depth.clamp(0, self._remembered - 1).unsqueeze(1)
        began = self.arena.column(numbers, "began").gather(1, innermost).squeeze(1)
        open_at = began.masked_fill(depth <= 0, 0)
        return mask.masked_fill(~may_see(place, open_at, self._network.heads), -torch.inf)

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        # What these nodes have read is gathered into blocks; the root's group is first.
        groups, beam = nodes.shape
        arena = self.arena
        nodes = torch.cat([nodes.new_zeros((1, beam)), torch.where(is_alive, nodes, 0)])
        is_alive = torch.cat([is_alive.new_ones((1, beam)), is_alive])
        numbers = arena.numbers.index_select(0, nodes.flatten())
        chain = arena.column(numbers, "chain")[:, : max(self._steps, 1)].unflatten(0, nodes.shape)
        survivors = Survivors(
            number=arena.column(numbers, "survivor").view_as(nodes),
            is_alive=is_alive,
            position=arena.column(numbers, "position").view_as(nodes),
            chain=chain * is_alive.unsqueeze(2),
        )
        plan = planned(self._blocks, survivors)
        last = survivors.position.max().unsqueeze(0)
        places, self._position = torch.cat([plan.most, last]).tolist()
        self._require_positions(self._position)
        self._blocks = compacted(self._blocks, survivors, plan, self._memory, places=places)
        self._memory.clear()
        arena.keep(torch.cat([nodes.new_zeros(1), nodes[1:].flatten()]))
        number = torch.arange(groups * beam, device=self.device)
        kept = arena.numbers[: len(arena)]
        arena.column(kept, "survivor")[1:] = number + beam
        arena.column(kept, "chain").fill_(NO_SYMBOL)
        self._steps = 0
        # Replicates may have the same hypothesis, which stays one node.
        same = nodes[1:].unsqueeze(2) == nodes[1:].unsqueeze(1)
        first = same.to(torch.int8).argmax(2)
        return number.view(groups, beam)[:, :1] + first + 1


# ----------------------------------------------------------------------------
# Keys and values of hypotheses, and attention to them.

_FIRST_CAPACITY = 1024

# The row that stands for no symbol.
NO_SYMBOL = 0


class SymbolMemory:
    """``(layers, rows, 2 · hidden)`` keys and values; the first row stands for no symbol."""

    def __init__(
        self, layers: int, hidden: int, *, dtype: torch.dtype, device: torch.device
    ) -> None:
        # What no symbol reads is multiplied by zero, so it must be finite.
        shape = (layers, _FIRST_CAPACITY, 2 * hidden)
        self._rows = torch.zeros(shape, dtype=dtype, device=device)
        self._size = 1
        self._new = slice(1, 1)

    @property
    def row_bytes(self) -> int:
        return self._rows.shape[0] * self._rows.shape[2] * self._rows.element_size()

    def add(self, count: int) -> Tensor:
        """Return the numbers of ``count`` new rows, which :meth:`write` fills layer by layer."""
        self._new = slice(self._size, self._size + count)
        self._size += count
        layers, capacity, width = self._rows.shape
        if self._size > capacity:
            grown = self._rows.new_zeros((layers, max(self._size, 2 * capacity), width))
            grown[:, :capacity] = self._rows
            self._rows = grown
        return torch.arange(self._new.start, self._new.stop, device=self._rows.device)

    def write(self, layer: int, values: Tensor) -> None:
        """Write the ``(rows, 2 · hidden)`` keys and values of the rows that were added last."""
        self._rows[layer, self._new] = values

    def at(self, layer: int, rows: Tensor) -> Tensor:
        """``(rows, …, 2 · hidden)`` keys and values of a layer."""
        return self._rows[layer].index_select(0, rows.flatten()).view(*rows.shape, -1)

    def all_layers(self, rows: Tensor) -> Tensor:
        """``(layers, rows, …, 2 · hidden)`` keys and values."""
        read = self._rows.index_select(1, rows.flatten())
        return read.view(len(read), *rows.shape, -1)

    def clear(self) -> None:
        self._size = 1


# ----------------------------------------------------------------------------
# The history that hypotheses share: every symbol once per group.


@dataclass(frozen=True)
class Blocks:
    """The symbols read up to the last word, by group.

    ``keys`` and ``values``: ``(layers, groups, heads, places, width)``; ``is_read``:
    ``(groups, beam, places)``; ``hidden``: ``(groups · beam, places)``, ``-inf`` where a survivor
    has not read a place, else zero; ``position`` of each place in its sentence:
    ``(groups, places)``.
    """

    keys: Tensor
    values: Tensor
    is_read: Tensor
    hidden: Tensor
    position: Tensor

    @property
    def groups(self) -> int:
        return len(self.position)

    @property
    def beam(self) -> int:
        return self.is_read.shape[1]

    @property
    def places(self) -> int:
        """Number of symbols of the largest group."""
        return self.position.shape[1]


def empty_blocks(
    *, layers: int, heads: int, width: int, device: torch.device, dtype: torch.dtype
) -> Blocks:
    """Return one group that has read nothing."""
    keys = torch.zeros((layers, 1, heads, 0, width), dtype=dtype, device=device)
    return Blocks(
        keys=keys, values=keys, is_read=torch.zeros((1, 1, 0), dtype=torch.bool, device=device),
        hidden=torch.zeros((1, 0), dtype=dtype, device=device),
        position=torch.zeros((1, 0), dtype=torch.long, device=device),
    )  # fmt: skip


@dataclass(frozen=True)
class Survivors:
    """``(groups, beam)`` hypotheses whose history is kept.

    ``number``: the survivor of the last word that they descend from; ``position`` of their last
    symbol; ``chain``: ``(groups, beam, steps)`` rows of the memory that they read since then,
    latest first, :data:`NO_SYMBOL` where there is none. Hypotheses that are not alive have no
    chain.
    """

    number: Tensor
    is_alive: Tensor
    position: Tensor
    chain: Tensor


@dataclass(frozen=True)
class Plan:
    """Where the places of new blocks come from.

    ``most``: ``(1,)`` number of places of the largest group. ``is_needed``: ``(groups, old places +
    new symbols)``; ``symbol``: ``(groups, new symbols)`` rows of the memory, each needed one once.
    ``place``: ``(groups, beam, steps)`` place of each link of a chain. ``read``: ``(groups, beam,
    old places)``.
    """

    most: Tensor
    is_needed: Tensor
    symbol: Tensor
    place: Tensor
    read: Tensor
    source: Tensor


def planned(old: Blocks, survivors: Survivors) -> Plan:
    """Decide which places are needed; symbols that several survivors have read are needed once."""
    groups, beam, _ = survivors.chain.shape
    read = old.is_read.flatten(0, 1).index_select(0, survivors.number.flatten())
    read = read.view(groups, beam, -1) & survivors.is_alive.unsqueeze(2)
    symbol, origin = survivors.chain.flatten(1).sort(dim=1)
    is_first = symbol != NO_SYMBOL
    is_first[:, 1:] &= symbol[:, 1:] != symbol[:, :-1]
    is_needed = torch.cat([read.any(1), is_first], dim=1)
    place = is_needed.cumsum(1)
    return Plan(
        most=place[:, -1].amax(0, keepdim=True),
        is_needed=is_needed,
        symbol=symbol,
        # Equal symbols are adjacent, and have the place of the first of them.
        place=torch.empty_like(origin)
        .scatter_(1, origin, place[:, old.places :] - 1)
        .view_as(survivors.chain),
        read=read,
        # All live hypotheses of a group have the same source; that of others is the root's.
        source=(survivors.number // old.beam).amax(1),
    )


def compacted(
    old: Blocks, survivors: Survivors, plan: Plan, memory: SymbolMemory, *, places: int
) -> Blocks:
    """Build new blocks of so many places from the needed places of the old ones and the memory."""
    # The needed places move to the front, in order: those of the old block, and symbols.
    order = (~plan.is_needed).to(torch.int8).argsort(dim=1, stable=True)[:, :places]
    is_old, place = order < old.places, order.clamp(max=max(old.places - 1, 0))
    groups, beam, steps = survivors.chain.shape
    # One more place is for links that do not exist.
    is_read = plan.read.new_zeros((groups, beam, places + 1))
    position = survivors.position.new_zeros((groups, places + 1))
    if old.places:
        index = place.unsqueeze(1).expand(-1, beam, -1)
        is_read[..., :places] = plan.read.gather(2, index) & is_old.unsqueeze(1)
        position[:, :places] = old.position[plan.source].gather(1, place)
    link = plan.place.masked_fill(survivors.chain == NO_SYMBOL, places)
    is_read.scatter_(2, link, True)
    back = torch.arange(steps, device=place.device)
    position.scatter_(1, link.flatten(1), (survivors.position.unsqueeze(2) - back).flatten(1))
    is_read = is_read[..., :places]
    symbol = plan.symbol.gather(1, (order - old.places).clamp(min=0))
    # (layers, groups, places, 2, heads, width)
    added = memory.all_layers(symbol).unflatten(3, (2, old.keys.shape[2], -1))

    def moved(vectors: Tensor, new: Tensor) -> Tensor:
        layers, _, heads, _, width = vectors.shape
        if old.places:
            index = place.view(1, groups, 1, -1, 1).expand(layers, -1, heads, -1, width)
            kept = vectors[:, plan.source].gather(3, index)
            new = torch.where(is_old.view(1, groups, 1, -1, 1), kept, new)
        return new.contiguous()

    hidden = torch.zeros_like(is_read, dtype=old.keys.dtype).masked_fill_(~is_read, -torch.inf)
    return Blocks(
        keys=moved(old.keys, added[:, :, :, 0].transpose(2, 3)),
        values=moved(old.values, added[:, :, :, 1].transpose(2, 3)), is_read=is_read,
        hidden=hidden.flatten(0, 1), position=position[:, :places],
    )  # fmt: skip


# ----------------------------------------------------------------------------
# A new symbol attends to the block of its group, through the mask of the survivor that it descends
# from, and to the symbols read since then, of which it is the last.


@dataclass(frozen=True)
class RowGrid:
    """Rows side by side within their groups.

    ``cell``: ``(groups · width,)`` row of each cell, arbitrary for empty cells; ``group`` and
    ``rank`` within it of each row. If all are None, the rows are those of all groups but the
    first, in order, or those of the only group.
    """

    width: int
    cell: Tensor | None = None
    group: Tensor | None = None
    rank: Tensor | None = None


def packed_grid(group: Tensor, groups: int) -> RowGrid:
    """Place rows; their groups are read on the host."""
    of_row = group.cpu().numpy()
    order = of_row.argsort(kind="stable")
    first = np.searchsorted(of_row[order], np.arange(groups))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(of_row)) - first[of_row[order]]
    width = int(rank.max()) + 1
    cell = np.zeros(groups * width, dtype=np.int64)
    cell[of_row * width + rank] = np.arange(len(of_row))
    return RowGrid(
        width=width,
        cell=torch.from_numpy(cell).to(group.device),
        group=group,
        rank=torch.from_numpy(rank).to(group.device),
    )


def even_grid(group: Tensor, groups: int, width: int) -> RowGrid:
    """Place rows of some groups, each of which has ``width`` rows."""
    rows = torch.arange(len(group), device=group.device)
    rank = rows % width
    cell = torch.zeros(groups * width, dtype=torch.long, device=group.device)
    cell = cell.index_copy(0, group * width + rank, rows)
    return RowGrid(width=width, cell=cell, group=group, rank=rank)


@dataclass(frozen=True)
class SharedAttention:
    """Attention of new symbols, layer by layer.

    ``chain``: ``(rows, steps)`` rows of the memory, the symbol itself first. ``mask``: additive,
    ``(rows, heads or 1, places + steps)``.
    """

    _blocks: Blocks
    _memory: SymbolMemory
    _grid: RowGrid
    _chain: Tensor
    _mask: Tensor

    def __call__(self, layer: int, query: Tensor) -> Tensor:
        """Return ``(rows, hidden)`` outputs for ``(rows, hidden)`` queries, already scaled."""
        heads = self._blocks.keys.shape[2]
        # (rows, steps, 2, heads, width)
        near = self._memory.at(layer, self._chain).unflatten(2, (2, heads, -1))
        query = query.unflatten(1, (heads, -1))
        fit = (near[:, :, 0] * query.unsqueeze(1)).sum(3)
        attend = self._in_grid if self._grid.cell is None else self._in_rows
        result: Tensor = attend(layer, query, fit, near[:, :, 1]).flatten(-2)
        return result.view(len(query), -1)

    def _in_grid(self, layer: int, query: Tensor, fit: Tensor, near: Tensor) -> Tensor:
        """Attend with rows that fill the grid, so that a view is enough."""
        blocks, width = self._blocks, self._grid.width
        first = int(blocks.groups > 1)
        keys, values = blocks.keys[layer, first:], blocks.values[layer, first:]

        def grid(rows: Tensor) -> Tensor:
            result: Tensor = rows.unflatten(0, (-1, width))
            return result

        far = grid(query).transpose(1, 2) @ keys.transpose(2, 3)
        scores = torch.cat([far, grid(fit).permute(0, 3, 1, 2)], dim=3)
        weight = scores.add_(grid(self._mask).transpose(1, 2)).softmax(3)
        mixed = weight[..., : blocks.places] @ values
        own = weight[..., blocks.places :].permute(0, 2, 3, 1).unsqueeze(4)
        result: Tensor = (grid(near) * own).sum(2).add_(mixed.transpose(1, 2))
        return result

    def _in_rows(self, layer: int, query: Tensor, fit: Tensor, near: Tensor) -> Tensor:
        """Attend with any rows, which are moved to the grid and back."""
        blocks = self._blocks
        far = self._to_rows(self._to_grid(query) @ blocks.keys[layer].transpose(2, 3))
        scores = torch.cat([far, fit.transpose(1, 2)], dim=2)
        weight = scores.add_(self._mask).softmax(2)
        mixed = self._to_grid(weight[..., : blocks.places]) @ blocks.values[layer]
        own = weight[..., blocks.places :].transpose(1, 2).unsqueeze(3)
        return (near * own).sum(1).add_(self._to_rows(mixed))

    def _to_grid(self, rows: Tensor) -> Tensor:
        """``(rows, heads, n)`` to ``(groups, heads, rows of a group, n)``."""
        assert self._grid.cell is not None
        cells = rows.index_select(0, self._grid.cell)
        result: Tensor = cells.unflatten(0, (-1, self._grid.width)).transpose(1, 2)
        return result

    def _to_rows(self, grid: Tensor) -> Tensor:
        """Invert :meth:`_to_grid`."""
        return grid.transpose(1, 2)[self._grid.group, self._grid.rank]


def may_see(position: Tensor, open_at: Tensor, heads: int) -> Tensor:
    """``(rows, heads, places)``: what structured heads see of ``(rows, places)`` positions.

    The first head sees the symbols before the open constituent, which began at ``open_at``, the
    second the rest, the others all; if no constituent is open, both see everything.
    """
    head = torch.arange(heads, device=position.device).view(1, -1, 1)
    inside = (position >= open_at.unsqueeze(1)).unsqueeze(1)
    nothing = (open_at == 0).view(-1, 1, 1)
    return (inside == (head == 1)) | (head > 1) | nothing
