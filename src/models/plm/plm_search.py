"""PLM states for the search: keys and values shared between hypotheses.

Every new symbol is a node of an append-only arena, with its keys and values and a pointer to the
previous symbol. At each word, the symbols read by the surviving hypotheses are gathered into blocks
(:mod:`shared_attention`). Nothing is computed twice, and nothing is copied when hypotheses branch.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.trees.actions import Column, Kind
from gardenpath.data.trees.legality import OPENS_AT_END
from gardenpath.data.words.vocabulary import BEGIN_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.plm.plm import PlmNetwork
from gardenpath.models.plm.shared_attention import (
    QueryRows,
    SharedAttention,
    Survivors,
    additive,
    compacted,
    empty_blocks,
)
from gardenpath.models.sequential.transformer import Block
from gardenpath.models.states.arena import Arena
from gardenpath.models.states.lazy_words import MOST_LOGITS
from gardenpath.models.states.piece_bias import BEGINS, continuations, piece_row
from gardenpath.models.states.transitions import (
    STEPS_PER_WORD,
    LegalActions,
    is_illegal,
    structural_columns,
)


class PlmSearch:
    """The states of a PLM's derivations, by node.

    ``max_open`` is the maximum number of open constituents; with structured heads, the model stores
    where each of them began.
    """

    def __init__(self, network: PlmNetwork, *, is_packed: bool, max_open: int = 100) -> None:
        self._network = network
        self._is_packed = is_packed
        self._closing = network.vocabulary_size
        embedding = network.decoder.token_embedding
        self._hidden = embedding.embedding_dim
        self._layers = len(network.decoder.blocks)
        self._remembered = max_open + 2 if network.structured_heads else 0
        labels = embedding.num_embeddings - self._closing - 1
        self.is_open, self.is_close = structural_columns(labels, self.device)
        self.opens_at_end = OPENS_AT_END[network.strategy]
        self.is_continuation = continuations(network.piece_bias)
        has_pieces = self.is_continuation is not None
        self._legal = LegalActions(network.strategy, self.device, has_pieces=has_pieces)
        self.begin()

    @property
    def device(self) -> torch.device:
        """Device of the network."""
        return self._network.decoder.token_embedding.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the network."""
        return self._network.decoder.token_embedding.weight.dtype

    def group_bytes(self, *, action_beam: int, word_beam: int, length: int) -> int:
        """Estimate the memory of a group that reads a sentence of ``length`` tokens."""
        # About three symbols per token, and those that the survivors do not share; block and copy.
        places = 3 * length + 8 * word_beam
        number = torch.finfo(self.dtype).bits // 8
        block = 4 * places * self._layers * self._hidden * number
        attention = 4 * action_beam * places * self._network.heads * number
        return STEPS_PER_WORD * action_beam * self._arena.row_bytes + block + attention

    def _arena_columns(self) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        number = ((), torch.long)
        return {
            "keys": ((self._layers, self._hidden), self.dtype),
            "values": ((self._layers, self._hidden), self.dtype),
            "state": ((self._hidden,), self.dtype),
            # The logsumexp of all word scores; log probabilities of the columns.
            "words": ((), self.dtype),
            "log_probs": ((len(self.is_open),), self.dtype),
            **self._piece_columns(),
            # The survivor that the node descends from, and the previous node since then (or -1).
            "group": number,
            "slot": number,
            "before": number,
            "position": number,
            "depth": number,
            # Positions where the open constituents began, by depth.
            "began": ((self._remembered,), torch.long),
        }

    def _piece_columns(self) -> dict[str, tuple[tuple[int, ...], torch.dtype]]:
        if self.is_continuation is None:
            return {}
        # The pieces that may come next, and the log probability that the word has ended.
        return {"piece_row": ((), torch.long), "word_end": ((), self.dtype)}

    @torch.inference_mode()
    def begin(self) -> None:
        """Read the begin symbol; its node is the root, whose group is always the first."""
        heads = self._network.heads
        self._arena = Arena(self._arena_columns(), self.device)
        self._blocks = empty_blocks(
            layers=self._layers, heads=heads, width=self._hidden // heads, device=self.device,
            dtype=self.dtype,
        )  # fmt: skip
        # Nodes below this number are in the blocks; at most ``_steps`` symbols were read since.
        self._settled, self._steps, self._beam = 0, 0, 1
        zero = torch.zeros(1, dtype=torch.long, device=self.device)
        self._read(
            zero + BEGIN_ID, group=zero, slot=zero, before=zero - 1, position=zero, depth=zero,
            began=zero.new_zeros((1, self._remembered)), legal=self._legal.at_start(zero), width=1,
        )  # fmt: skip
        self.settle(zero.new_zeros((0, 1)), zero.new_zeros((0, 1), dtype=torch.bool))

    def log_probs(self, nodes: Tensor) -> Tensor:
        """``(rows, columns)``: see :class:`TransitionModel`."""
        return self._arena["log_probs"][nodes]

    def word_log_prob(self, nodes: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` log probabilities of words, given that the next event is a word."""
        output, states = self._network.output, self._arena["state"][nodes]
        log_prob = output.branch_score(states, words) - self._arena["words"][nodes]
        log_prob = log_prob + output.within_log_prob(states, words)
        bias = self._network.piece_bias
        return log_prob if bias is None else log_prob + bias[self._arena["piece_row"][nodes], words]

    def word_bound(self, nodes: Tensor, words: Tensor) -> Tensor:
        """``(rows,)`` exact log probabilities, because the normaliser is known."""
        return self.word_log_prob(nodes, words)

    def word_end_log_prob(self, nodes: Tensor) -> Tensor:
        """``(rows,)`` log probabilities that the word just read does not continue."""
        return self._arena["word_end"][nodes]

    def shift(self, nodes: Tensor, words: Tensor) -> Tensor:
        """Read words."""
        depth = self._arena["depth"][nodes]
        legal = self._legal.after(Kind.SHIFT, depth)
        began = self._arena["began"][nodes]
        return self._append(nodes, words, depth, began, legal, width=self._beam)

    def advance(self, nodes: Tensor, columns: Tensor) -> Tensor:
        """Read brackets."""
        arena = self._arena
        is_close = columns == Column.CLOSE
        opening = columns - Column.FIRST_OPEN + self._closing + 1
        symbols = torch.where(is_close, self._closing, opening)
        depth, began = arena["depth"][nodes], arena["began"][nodes]
        if self._remembered:
            place = (depth + 1).clamp(min=0, max=self._remembered - 1).unsqueeze(1)
            opened = began.scatter(1, place, arena["position"][nodes].unsqueeze(1) + 1)
            began = torch.where(is_close.unsqueeze(1), began, opened)
        depth = depth + torch.where(is_close, -1, 1)
        width = max(len(nodes) // max(self._blocks.groups - 1, 1), 1)
        last = torch.where(is_close, int(Kind.REDUCE), int(Kind.OPEN))
        legal = self._legal.after_each(last, depth)
        return self._append(nodes, symbols, depth, began, legal, width=width)

    def _append(
        self,
        nodes: Tensor,
        symbols: Tensor,
        depth: Tensor,
        began: Tensor,
        legal: Tensor,
        *,
        width: int,
    ) -> Tensor:
        arena = self._arena
        self._steps += 1
        return self._read(
            symbols, group=arena["group"][nodes], slot=arena["slot"][nodes],
            before=self._link(nodes), position=arena["position"][nodes] + 1, depth=depth,
            began=began, legal=legal, width=width,
        )  # fmt: skip

    def _link(self, nodes: Tensor) -> Tensor:
        """Return each node if it was read since the last word, else -1."""
        return torch.where(nodes < self._settled, -1, nodes)

    def _chain(self, last: Tensor, steps: int) -> Tensor:
        """``(…, steps)`` nodes read since the last word, latest first, padded with -1."""
        links, current = [last], last
        for _ in range(steps - 1):
            current = torch.where(current >= 0, self._arena["before"][current.clamp(min=0)], -1)
            links.append(current)
        return torch.stack(links[:steps], dim=-1) if steps else last.new_zeros((*last.shape, 0))

    def _read(
        self,
        symbols: Tensor,
        *,
        group: Tensor,
        slot: Tensor,
        before: Tensor,
        position: Tensor,
        depth: Tensor,
        began: Tensor,
        legal: Tensor,
        width: int,
    ) -> Tensor:
        """Run the network over new symbols and append their nodes."""
        decoder = self._network.decoder
        chain = self._chain(before, max(self._steps - 1, 0))
        grid, width = self._grid(group, width)
        far, near = self._visible(group, slot, chain, position, _at_depth(began, depth))
        rows = QueryRows(grid=grid, width=width, chain=chain.clamp(min=0), far=far, near=near)
        attention = SharedAttention(self._blocks, self._arena, rows)
        states = decoder.token_embedding(symbols) + self._position_vectors(position)
        keys, values = [], []
        for layer, block in enumerate(decoder.blocks):
            assert isinstance(block, Block)
            states, key, value = _through(block, layer, states, attention)
            keys.append(key)
            values.append(value)
        states = decoder.final_norm(states)
        return self._arena.append(
            keys=torch.stack(keys, dim=1), values=torch.stack(values, dim=1), state=states,
            group=group, slot=slot, before=before, position=position, depth=depth, began=began,
            **self._next_symbol(states, depth, legal),
        )  # fmt: skip

    def _grid(self, group: Tensor, width: int) -> tuple[Tensor, int]:
        """Place rows side by side within their groups; rows are ordered by group.

        ``width`` suffices if the rows of all groups are present, dead or alive.
        """
        number = torch.arange(self._blocks.groups, device=group.device)
        first = torch.searchsorted(group, number)
        rank = torch.arange(len(group), device=group.device) - first[group]
        if self._is_packed:
            width = int(rank.max()) + 1 if len(rank) else 1
        return group * width + rank, width

    def _position_vectors(self, position: Tensor) -> Tensor:
        if self._is_packed:
            self._require_positions(position)
        table = self._network.decoder.position_embedding
        result: Tensor = table(position.clamp(max=table.num_embeddings - 1))
        return result

    def _require_positions(self, position: Tensor) -> None:
        limit = self._network.decoder.position_embedding.num_embeddings
        if len(position) and int(position.max()) >= limit:
            raise GardenpathError(
                f"a hypothesis has more than {limit} symbols, the maximum of this model: train "
                "with a larger model.network.max_positions, or remove long sentences"
            )

    def _visible(
        self, group: Tensor, slot: Tensor, chain: Tensor, position: Tensor, open_at: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return additive masks over the block, and over the chain and the symbol."""
        far = self._blocks.is_read[group, slot].unsqueeze(1)
        near = functional.pad(chain >= 0, (0, 1), value=True).unsqueeze(1)
        if self._remembered:
            recent = self._arena["position"][chain.clamp(min=0)]
            recent = torch.cat([recent, position.unsqueeze(1)], dim=1)
            far = far & self._may_see(self._blocks.position[group], open_at)
            near = near & self._may_see(recent, open_at)
        return additive(far, self.dtype), additive(near, self.dtype)

    def _may_see(self, position: Tensor, open_at: Tensor) -> Tensor:
        """``(rows, heads, places)``: the first head sees the symbols before the open constituent,
        the second the rest, the others all; if no constituent is open, both see everything.
        """
        inside = position >= open_at.unsqueeze(1)
        nothing = (open_at == 0).unsqueeze(1)
        others = [torch.ones_like(inside)] * (self._network.heads - 2)
        return torch.stack([~inside | nothing, inside | nothing, *others], dim=1)

    def _next_symbol(self, states: Tensor, depth: Tensor, legal: Tensor) -> dict[str, Tensor]:
        """Return the normaliser of the words and the log probabilities of all columns.

        An opening bracket may come anywhere in a top-down derivation.
        """
        words, brackets = [], []
        begins: list[Tensor] = []
        # With classes of words, the whole vocabulary is never needed.
        closing = self._network.output.word_branches
        count = max(1, MOST_LOGITS // (closing + 1))
        for some, bits in zip(states.split(count), legal.split(count), strict=True):
            logits = self._network.output.branch_logits(some)
            sums = self._word_sums(logits[:, :closing], bits)
            words.append(sums[0])
            begins += sums[1:]
            brackets.append(logits[:, closing:])
        word, bracket = torch.cat(words), torch.cat(brackets)
        close = bracket[:, 0].masked_fill(is_illegal(legal, Kind.REDUCE), -torch.inf)
        legal_word = word.masked_fill(is_illegal(legal, Kind.SHIFT), -torch.inf)
        if self._network.action_norm == "legal":
            possible = torch.cat([legal_word.unsqueeze(1), close.unsqueeze(1), bracket[:, 1:]], 1)
        else:
            possible = torch.cat([word.unsqueeze(1), bracket], dim=1)
        # Closing the root ends the sentence.
        is_root = self._legal.is_last_reduce(depth)
        end = close.masked_fill(~is_root, -torch.inf)
        close = close.masked_fill(is_root, -torch.inf)
        scores = torch.cat([torch.stack([legal_word, end, close], dim=1), bracket[:, 1:]], dim=1)
        total = possible.logsumexp(1, keepdim=True)
        found = {"words": word, "log_probs": scores - total}
        if begins:
            # All but a piece that continues the word.
            others = torch.cat([torch.cat(begins).unsqueeze(1), possible[:, 1:]], dim=1)
            found["word_end"] = others.logsumexp(1) - total.squeeze(1)
            found["piece_row"] = piece_row(legal)
        return found

    def _word_sums(self, logits: Tensor, legal: Tensor) -> tuple[Tensor, ...]:
        """Return logsumexp over words and, for a model over pieces, over those that begin one."""
        bias = self._network.piece_bias
        if bias is None:
            return (logits.logsumexp(1),)
        begins = (logits + bias[BEGINS]).logsumexp(1)
        return (logits + bias[piece_row(legal)]).logsumexp(1), begins

    def settle(self, nodes: Tensor, is_alive: Tensor) -> Tensor:
        """Gather the symbols that these nodes have read into blocks; the root's group is first."""
        groups, beam = nodes.shape
        arena = self._arena
        nodes = torch.cat([nodes.new_zeros((1, beam)), torch.where(is_alive, nodes, 0)])
        is_alive = torch.cat([is_alive.new_ones((1, beam)), is_alive])
        chain = self._chain(self._link(nodes), max(self._steps, 1))
        first_alive = is_alive.int().argmax(1, keepdim=True)
        survivors = Survivors(
            source=arena["group"][nodes.gather(1, first_alive).squeeze(1)],
            slot=arena["slot"][nodes],
            is_alive=is_alive,
            chain=chain.clamp(min=0),
            is_link=(chain >= 0) & is_alive.unsqueeze(2),
        )
        self._require_positions(arena["position"][nodes].masked_fill(~is_alive, 0).flatten())
        self._blocks = compacted(self._blocks, survivors, arena)
        arena.keep(torch.cat([nodes.new_zeros(1), nodes[1:].flatten()]))
        number = torch.arange(groups * beam, device=self.device)
        arena["group"][1:] = number // max(beam, 1) + 1
        arena["slot"][1:] = number % max(beam, 1)
        arena["before"].fill_(-1)
        self._settled, self._steps, self._beam = len(arena), 0, beam
        # Replicates may have the same hypothesis, which stays one node.
        same = nodes[1:].unsqueeze(2) == nodes[1:].unsqueeze(1)
        first = same.to(torch.int8).argmax(2)
        return number.view(groups, beam)[:, :1] + first + 1


def _at_depth(began: Tensor, depth: Tensor) -> Tensor:
    """Return where the innermost open constituent began; zero if none is open or stored."""
    if not began.shape[1]:
        return torch.zeros_like(depth)
    place = depth.clamp(min=0, max=began.shape[1] - 1).unsqueeze(1)
    return began.gather(1, place).squeeze(1).masked_fill(depth <= 0, 0)


def _through(
    block: Block, layer: int, states: Tensor, attention: SharedAttention
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the states after a block, and their keys and values in it."""
    query, key, value = block.attention.query_key_value(block.attention_norm(states)).chunk(3, 1)
    states = states + block.attention.project(attention(layer, query, key, value))
    inner = functional.gelu(block.expand(block.feed_forward_norm(states)), approximate="tanh")
    return states + block.contract(inner), key, value
