"""The network of a word-level LSTM, and the log probabilities of words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.models.rnng.lstm_levels import stack_states
from gardenpath.models.word_lm.torch_files import Array
from gardenpath.models.word_lm.word_lm_files import (
    EMBEDDING_WEIGHT,
    OUTPUT_BIAS,
    OUTPUT_WEIGHT,
    layers_of,
)

# Logits that are computed at a time; vocabularies have tens of thousands of words.
_MOST_LOGITS = 1 << 24

State = tuple[Tensor, Tensor]


class WordLstm(nn.Module):
    """Embedding, LSTM and softmax over all words; tokens are the numbers of words."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        super().__init__()
        words, width = weights[EMBEDDING_WEIGHT].shape
        hidden = weights["rnn.weight_hh_l0"].shape[1]
        self.encoder = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, hidden, num_layers=layers_of(list(weights)))
        self.decoder = nn.Linear(hidden, words)
        if OUTPUT_WEIGHT not in weights:
            self.decoder.weight = self.encoder.weight
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(torch.from_numpy(weights[name]))
        assert OUTPUT_BIAS in weights

    def prefix_states(self, tokens: Tensor, parents: Tensor, sizes: tuple[int, ...]) -> Tensor:
        """``(prefixes, hidden)`` states after prefixes, shorter ones first.

        ``tokens`` are the last tokens of prefixes, ``parents`` the prefixes without them, and
        ``sizes`` the numbers of prefixes of each length. The first ones follow a zero state.
        """
        states: Tensor = self.encoder(tokens)
        for input_weight, weight, input_bias, bias in self.rnn.all_weights:
            inputs = functional.linear(states, input_weight, input_bias + bias)
            states = stack_states(inputs, weight, parents, sizes)
        return states

    def text_states(self, tokens: Tensor, state: State | None) -> tuple[Tensor, State]:
        """``(tokens, hidden)`` states of one text, and the state in which it ends."""
        states, after = self.rnn(self.encoder(tokens), state)
        return states, after

    def log_probs(self, states: Tensor, contexts: Tensor, targets: Tensor) -> Tensor:
        """``(predictions,)`` log probabilities of targets after states, given by their rows."""
        order = contexts.argsort()
        rows = max(1, _MOST_LOGITS // self.decoder.out_features)
        found = states.new_empty(len(contexts))
        for begin, some in _runs(contexts[order], rows):
            logits = self.decoder(states[begin : begin + rows])
            place = order[some]
            row = contexts[place] - begin
            found[place] = logits[row, targets[place]] - logits.logsumexp(dim=1)[row]
        return found


def _runs(contexts: Tensor, rows: int) -> Iterator[tuple[int, slice]]:
    """Yield the first row of each group of rows, and the predictions from it; sorted by rows."""
    if not len(contexts):
        return
    begins = range(0, int(contexts[-1]) + 1, rows)
    edges = torch.searchsorted(contexts, torch.tensor([*begins], device=contexts.device))
    places = [*edges.tolist(), len(contexts)]
    for begin, first, end in zip(begins, places[:-1], places[1:], strict=True):
        yield begin, slice(first, end)
