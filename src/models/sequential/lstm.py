"""An LSTM language model."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.batches.token_batches import TokenBatch
from gardenpath.data.words.vocabulary import PAD_ID
from gardenpath.models.factored.factored_output import make_output
from gardenpath.models.rnng.lstm_levels import stack_states
from gardenpath.models.sequential.lstm_family import LstmSettings
from gardenpath.models.sequential.output import SequentialNetwork
from gardenpath.models.sequential.shared_prefixes import PrefixBatch


class LstmNetwork(SequentialNetwork):
    """Embedding, LSTM layers and softmax; each sentence starts from a zero state."""

    most_prefixes = 8192

    def __init__(self, settings: LstmSettings, *, vocabulary_size: int) -> None:
        super().__init__()
        shape, dropout = settings.shape, settings.dropout
        self.embedding = nn.Embedding(vocabulary_size, shape.embedding, padding_idx=PAD_ID)
        self.lstm = nn.LSTM(
            shape.embedding,
            shape.hidden,
            num_layers=shape.layers,
            dropout=dropout if shape.layers > 1 else 0.0,
            batch_first=True,
        )
        self.dropout = nn.Dropout(dropout)
        self.output = make_output(
            settings.output, hidden=shape.hidden, vocabulary_size=vocabulary_size
        )
        self._initialise()
        if settings.tied:
            self.output.linear.weight = self.embedding.weight

    def states(self, batch: TokenBatch) -> Tensor:
        """``(sentences, length, hidden)`` states after each input."""
        embedded = self.dropout(self.embedding(batch.inputs))
        # Padding is only at the end, so it cannot affect earlier positions.
        states, _ = self.lstm(embedded)
        dropped: Tensor = self.dropout(states)
        return dropped

    def prefix_states(self, batch: PrefixBatch) -> Tensor:
        """``(prefixes, hidden)`` states after shared prefixes, without dropout.

        All prefixes of the same length are computed in one step, from the states of their parents.
        """
        states: Tensor = self.embedding(batch.tokens)
        for input_weight, weight, input_bias, bias in self.lstm.all_weights:
            inputs = functional.linear(states, input_weight, input_bias + bias)
            states = stack_states(inputs, weight, batch.parents, batch.sizes)
        return states

    def _initialise(self) -> None:
        for name, weight in self.lstm.named_parameters():
            if "weight_hh" in name:
                for gate in weight.data.chunk(4):
                    nn.init.orthogonal_(gate)
            elif "bias_ih" in name:  # one of the two biases of each gate suffices
                weight.data.zero_()
                hidden = len(weight) // 4
                weight.data[hidden : 2 * hidden] = 1.0  # forget gate: remember at first
            elif "bias_hh" in name:
                weight.data.zero_()
        nn.init.normal_(self.embedding.weight, std=0.5)
        with torch.no_grad():
            self.embedding.weight[PAD_ID] = 0.0
        nn.init.zeros_(self.output.linear.bias)
