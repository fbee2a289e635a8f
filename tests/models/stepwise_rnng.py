"""An RNNG that plays each sentence action by action: slow and obvious, the measure of the fast.

It uses the weights of a network and nothing else of it.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from gardenpath.data.trees.legality import RULES, Action, Kind, ParserState, kind_of
from gardenpath.data.trees.tree import Close, Open, Word
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.output import FactoredToken
from gardenpath.models.syntactic.attention_composition import AttentionComposition
from gardenpath.models.syntactic.composition import LstmComposition
from gardenpath.models.syntactic.networks import RnngNetwork
from tests.models.slow_factored import slow_log_probs

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
