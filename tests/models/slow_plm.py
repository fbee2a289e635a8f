"""A PLM that reads sentence by sentence, attention spelled out: the measure of the fast one."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.trees.legality import Action, Kind, ParserState, kind_of, legal_top_down
from gardenpath.data.trees.tree import Close, Open, Word
from gardenpath.data.words.vocabulary import BEGIN_ID, Vocabulary
from gardenpath.models.output import FactoredToken
from gardenpath.models.sequential.networks import Block
from gardenpath.models.syntactic.networks import PlmNetwork
from tests.models.slow_factored import slow_log_probs


class SlowPlm:
    """Scores derivations, complete or begun."""

    def __init__(self, network: PlmNetwork, vocabulary: Vocabulary) -> None:
        self._network = network
        self._vocabulary = vocabulary

    def log_prob(self, actions: list[Action]) -> tuple[Tensor, Tensor]:
        """Log probabilities of all brackets and of all words, summed."""
        symbols = [self._symbol(action) for action in actions]
        states = self._states([BEGIN_ID, *symbols[:-1]])
        totals = {
            True: torch.zeros((), dtype=states.dtype),
            False: torch.zeros((), dtype=states.dtype),
        }
        parser = ParserState()
        for state, symbol, action in zip(states, symbols, actions, strict=True):
            log_prob = self._log_probs(state, parser)[symbol]
            is_word = isinstance(action, Word)
            totals[is_word] = totals[is_word] + log_prob
            parser = parser.apply(kind_of(action))
        return totals[False], totals[True]

    def _log_probs(self, state: Tensor, parser: ParserState) -> Tensor:
        scores = self._network.decoder.token_embedding.weight @ state
        allowed = [self._may_come(symbol, parser) for symbol in range(len(scores))]
        if isinstance(self._network.output, FactoredToken):
            return slow_log_probs(self._network.output, state, allowed)
        return scores.masked_fill(~torch.tensor(allowed), -torch.inf).log_softmax(0)

    def _symbol(self, action: Action) -> int:
        size = len(self._vocabulary)
        match action:
            case Word(form):
                return self._vocabulary.ids[form]
            case Open(label):
                return size + 1 + self._vocabulary.label_ids[label]
            case Close():
                return size
        raise ValueError(f"a PLM has no symbol for {action}")

    def _may_come(self, symbol: int, parser: ParserState) -> bool:
        if symbol < 3:  # <pad>, <s> and </s> are never generated
            return False
        is_word = symbol < len(self._vocabulary)
        if is_word and self._vocabulary.is_continuation[symbol] and parser.last is not Kind.SHIFT:
            return False
        if self._network.action_norm == "full":
            return True
        size = len(self._vocabulary)
        kind = Kind.SHIFT if symbol < size else Kind.REDUCE if symbol == size else Kind.OPEN
        return kind in legal_top_down(parser)

    def _states(self, symbols: list[int]) -> Tensor:
        decoder = self._network.decoder
        states = decoder.token_embedding.weight[symbols]
        states = states + decoder.position_embedding.weight[: len(symbols)]
        visible = [self._visible(symbols, head) for head in range(self._network.heads)]
        for block in decoder.blocks:
            assert isinstance(block, Block)
            states = states + self._attend(block, block.attention_norm(states), visible)
            inner = functional.gelu(
                block.expand(block.feed_forward_norm(states)), approximate="tanh"
            )
            states = states + block.contract(inner)
        normed: Tensor = decoder.final_norm(states)
        return normed

    def _visible(self, symbols: list[int], head: int) -> list[list[bool]]:
        """What each position may attend to, from a stack of open brackets."""
        closing = len(self._vocabulary)
        rows, opened = [], list[int]()
        for position, symbol in enumerate(symbols):
            if symbol > closing:
                opened.append(position)
            elif symbol == closing:
                opened.pop()
            row = [other <= position for other in range(len(symbols))]
            if self._network.structured_heads and head < 2 and opened:
                inside = [other >= opened[-1] for other in range(len(symbols))]
                wanted = head == 1
                row = [seen and i == wanted for seen, i in zip(row, inside, strict=True)]
            rows.append(row)
        return rows

    def _attend(self, block: Block, states: Tensor, visible: list[list[list[bool]]]) -> Tensor:
        attention = block.attention
        query, key, value = attention.query_key_value(states).chunk(3, dim=1)
        width = states.shape[1] // attention.heads
        mixed = []
        for head in range(attention.heads):
            columns = slice(head * width, (head + 1) * width)
            fit = query[:, columns] @ key[:, columns].t() / math.sqrt(width)
            weights = fit.masked_fill(~torch.tensor(visible[head]), -torch.inf).softmax(1)
            mixed.append(weights @ value[:, columns])
        result: Tensor = attention.project(torch.cat(mixed, dim=1))
        return result
