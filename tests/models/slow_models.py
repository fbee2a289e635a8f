"""RNNG, PLM and factored output, action by action: slow and obvious, the measure of the fast.

They use the weights of a network and nothing else of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.trees.legality import RULES, Action, Kind, ParserState, kind_of, legal_top_down
from gardenpath.data.trees.tree import Close, Open, Word
from gardenpath.data.words.vocabulary import BEGIN_ID, Vocabulary
from gardenpath.models.output import FactoredToken
from gardenpath.models.sequential.networks import Block
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.composition import LstmComposition
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork

State = tuple[Tensor, Tensor]


def lstm_cell(
    vector: Tensor, state: State, inward: Tensor, recurrent: Tensor, bias: Tensor
) -> State:
    """One step of an LSTM, gate by gate."""
    gates = inward @ vector + recurrent @ state[0] + bias
    into, forget, new, out = gates.chunk(4)
    cell = forget.sigmoid() * state[1] + into.sigmoid() * new.tanh()
    return out.sigmoid() * cell.tanh(), cell


class StepwiseRnng:
    """The stack of one sentence."""

    def __init__(self, network: RnngNetwork, vocabulary: Vocabulary) -> None:
        self._network = network
        self._vocabulary = vocabulary
        self._continues = vocabulary.is_continuation
        # Stack entries: the states of all layers, the vector, and for an open label its id.
        self._stack: list[tuple[list[State], Tensor, int | None]] = []
        # The number of pieces of the word on top.
        self._pieces = 1

    def log_prob(self, actions: list[Action]) -> tuple[Tensor, Tensor]:
        """Log probabilities of all actions and of all words of one derivation, summed."""
        self._stack = []
        self._push(self._network.start, None)
        state = ParserState(has_pieces=bool(self._continues.any()))
        action_total, word_total = torch.zeros(2, dtype=self._network.start.dtype).unbind()
        position = 0
        for action in actions:
            output = self._output()
            action_total = action_total + self._action_log_prob(output, action, state)
            if isinstance(action, Word):
                word = self._word_id(action.form, position)
                word_total = word_total + self._word_log_prob(output, word, state)
                self._push(self._network.word_embedding.weight[word], None)
                self._pieces = self._pieces + 1 if self._continues[word] else 1
                position += 1
            elif isinstance(action, Open):
                self._open(self._vocabulary.label_ids[action.label])
            elif isinstance(action, Close):
                self._reduce()
                self._pieces = 1
            state = state.apply(kind_of(action))
        return action_total, word_total

    def _word_id(self, form: str, position: int) -> int:
        return self._vocabulary.ids[self._vocabulary.seen_as(form, is_first=position == 0)]

    def _output(self) -> Tensor:
        top = self._stack[-1][0][-1][0]
        return functional.relu(self._network.to_output(top))

    def _action_log_prob(self, output: Tensor, action: Action, state: ParserState) -> Tensor:
        network = self._network
        in_order = network.strategy == "in_order"
        legal = RULES[network.strategy](state)
        order = [Kind.SHIFT, Kind.REDUCE, *([Kind.FINISH] if in_order else [])]
        kinds = order + [Kind.OPEN] * len(self._vocabulary.labels)
        scores = network.action_output(output)
        if network.action_norm == "legal":
            allowed = torch.tensor([kind in legal for kind in kinds])
            scores = scores.masked_fill(~allowed, -torch.inf)
        if isinstance(action, Open):
            column = len(order) + self._vocabulary.label_ids[action.label]
        else:
            column = order.index(kind_of(action))
        log_prob: Tensor = scores.log_softmax(0)[column]
        return log_prob

    def _word_log_prob(self, output: Tensor, word: int, state: ParserState) -> Tensor:
        layer = self._network.word_output
        scores = layer.linear(output)
        possible = torch.ones(len(scores), dtype=torch.bool)
        if state.last is not Kind.SHIFT:
            possible[self._continues] = False
        elif self._network.strategy == "in_order" and state.open_constituents == 0:
            possible[~self._continues] = False
        possible[:3] = False  # <pad>, <s> and </s> are never generated
        if isinstance(layer, FactoredToken):
            return slow_log_probs(layer, output, possible.tolist())[word]
        log_prob: Tensor = scores.masked_fill(~possible, -torch.inf).log_softmax(0)[word]
        return log_prob

    def _open(self, label: int) -> None:
        vector = self._network.label_embedding.weight[label]
        if self._network.strategy == "in_order":
            first_child = [self._stack.pop()[1] for _ in range(self._pieces)]
            self._push(vector, label)
            for element in reversed(first_child):
                self._push(element, None)
        else:
            self._push(vector, label)

    def _push(self, vector: Tensor, label: int | None) -> None:
        stack = self._network.stack
        states: list[State] = []
        layer_input = vector
        for layer in range(len(stack.input)):
            hidden = stack.recurrent[layer].shape[1]
            zero = torch.zeros(hidden, dtype=vector.dtype)
            below = self._stack[-1][0][layer] if self._stack else (zero, zero)
            state = lstm_cell(
                layer_input, below, stack.input[layer], stack.recurrent[layer], stack.bias[layer]
            )
            states.append(state)
            layer_input = state[0]
        self._stack.append((states, vector, label))

    def _reduce(self) -> None:
        children: list[Tensor] = []
        output = self._output()
        while True:
            _, vector, label = self._stack.pop()
            if label is not None:
                break
            children.append(vector)
        children.reverse()
        part = self._network.composition
        if isinstance(part, AttentionComposition):
            self._push(attend(part, label, children, output), None)
        else:
            self._push(read_children(part, vector, children), None)


def read_children(part: LstmComposition, label: Tensor, children: list[Tensor]) -> Tensor:
    """The vector of a constituent by a bidirectional LSTM."""
    zero = torch.zeros(part.size, dtype=label.dtype)
    ahead: State = (zero, zero)
    for vector in [label, *children]:
        ahead = lstm_cell(
            vector, ahead, part.forward_input, part.forward_recurrent, part.forward_bias
        )
    back: State = (zero, zero)
    for vector in [label, *reversed(children)]:
        back = lstm_cell(
            vector, back, part.backward_input, part.backward_recurrent, part.backward_bias
        )
    return functional.relu(part.output(torch.cat([ahead[0], back[0]])))


def attend(
    part: AttentionComposition, label: int, children: list[Tensor], output: Tensor
) -> Tensor:
    """The vector of a constituent by gated attention."""
    read = part.lstm(torch.stack(children).unsqueeze(1))[0].squeeze(1)
    query = torch.cat([part.label_query.weight[label], output])
    weights = torch.stack([(part.match(h) * query).sum() for h in read]).softmax(0)
    mean = sum(w * h for w, h in zip(weights, read, strict=True))
    own = part.label_vector.weight[label]
    gate = part.gate(torch.cat([own, mean])).sigmoid()
    return functional.relu(part.output(gate * own + (1 - gate) * mean))


# ----------------------------------------------------------------------------
# A PLM that reads sentence by sentence, attention spelled out: the measure of the fast one.


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


# ----------------------------------------------------------------------------
# A factored output layer token by token and class by class: slow and obvious.
#
# It uses the weights and the classes of a layer and nothing else of it.


def slow_log_probs(output: FactoredToken, state: Tensor, allowed: Sequence[bool]) -> Tensor:
    """``(vocabulary,)`` log probabilities after one state; ``-inf`` for what is not allowed."""
    groups: dict[int, list[int]] = {}
    words = len(output.word_class)
    for token in range(len(allowed)):
        is_word = token < words
        group = int(output.word_class[token]) if is_word else output.word_branches + token - words
        if allowed[token]:
            groups.setdefault(group, []).append(token)
    scores = [
        output.class_linear.weight[group] @ state + output.class_linear.bias[group]
        for group in groups
    ]
    found: list[Tensor] = [torch.tensor(-torch.inf, dtype=state.dtype)] * len(allowed)
    for log_prob, tokens in zip(torch.stack(scores).log_softmax(0), groups.values(), strict=True):
        within = torch.stack([_score(output, state, token) for token in tokens]).log_softmax(0)
        for token, one in zip(tokens, within, strict=True):
            found[token] = log_prob + one
    return torch.stack(found)


def _score(output: FactoredToken, state: Tensor, token: int) -> Tensor:
    score = output.linear.weight[token] @ state
    return score if output.linear.bias is None else score + output.linear.bias[token]
