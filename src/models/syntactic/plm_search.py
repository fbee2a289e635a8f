"""A PLM under the search: its states are keys and values that hypotheses share.

:class:`PlmSearch` is what the search calls. Nothing is computed twice, and nothing is copied when
hypotheses branch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
from gardenpath.models.syntactic.plm import PlmNetwork
from gardenpath.models.syntactic.plm_attention import (
    NO_SYMBOL,
    RowGrid,
    SharedAttention,
    Survivors,
    SymbolMemory,
    compacted,
    empty_blocks,
    even_grid,
    may_see,
    packed_grid,
    planned,
)


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
