"""The networks of sequential models: an LSTM, and a decoder with the architecture of GPT-2.

Families build them; the PLM uses the decoder over words and brackets.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.batches.tokens import TokenBatch
from gardenpath.data.words.vocabulary import PAD_ID
from gardenpath.errors import GardenpathError
from gardenpath.models.output import SequentialNetwork, make_output
from gardenpath.models.sequential.family import DecoderSettings, LstmSettings
from gardenpath.models.sequential.scorer import PrefixBatch
from gardenpath.models.syntactic.composition import stack_states


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


# ----------------------------------------------------------------------------
# A Transformer language model with the architecture of GPT-2.


class Decoder(nn.Module):
    """Pre-norm blocks with learned position embeddings."""

    def __init__(self, settings: DecoderSettings, *, vocabulary_size: int) -> None:
        super().__init__()
        shape, dropout = settings.shape, settings.dropout
        self.token_embedding = nn.Embedding(vocabulary_size, shape.hidden)
        self.position_embedding = nn.Embedding(settings.max_positions, shape.hidden)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(hidden=shape.hidden, heads=shape.heads, dropout=dropout)
            for _ in range(shape.layers)
        )
        self.final_norm = nn.LayerNorm(shape.hidden)
        self._initialise(shape.layers)

    def forward(
        self, tokens: Tensor, visible: Tensor | None = None, positions: Tensor | None = None
    ) -> Tensor:
        """``(sentences, length, hidden)`` states after each token.

        ``visible``, ``(sentences, heads, length, length)``, says which positions a head may attend
        to; without it, all heads attend to the current and all earlier positions. ``positions`` are
        needed if tokens are not consecutive; the caller checks them (:meth:`require_positions`).
        """
        if positions is None:
            self.require_positions(tokens.shape[1])
            positions = torch.arange(tokens.shape[1], device=tokens.device)
        states = self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))
        for block in self.blocks:
            states = block(states, visible)
        normed: Tensor = self.final_norm(states)
        return normed

    def require_positions(self, length: int) -> None:
        """Raise an error if a sequence is longer than the number of learned positions."""
        limit = self.position_embedding.num_embeddings
        if length > limit:
            raise GardenpathError(
                f"a sentence has {length - 1} symbols, but the model has positions for "
                f"{limit - 1}: raise model.network.max_positions or set data.cleaning.max_tokens"
            )

    def _initialise(self, layers: int) -> None:
        """Initialise like GPT-2: normal(0.02), smaller for weights of the residual stream."""
        for name, weight in self.named_parameters():
            if name.endswith(("project.weight", "contract.weight")):
                nn.init.normal_(weight, std=0.02 / math.sqrt(2 * layers))
            elif weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)


class TransformerNetwork(SequentialNetwork):
    """A decoder with tied input and output embeddings.

    ``size`` sets layers, hidden and heads; each can also be set individually.
    """

    # All prefixes of a trie attend to each other with a mask, whose size grows quadratically.
    most_prefixes = 512

    def __init__(self, settings: DecoderSettings, *, vocabulary_size: int) -> None:
        super().__init__()
        self.decoder = Decoder(settings, vocabulary_size=vocabulary_size)
        hidden = settings.shape.hidden
        self.output = make_output(
            settings.output, hidden=hidden, vocabulary_size=vocabulary_size, bias=False
        )
        self.output.linear.weight = self.decoder.token_embedding.weight

    def states(self, batch: TokenBatch) -> Tensor:
        """``(sentences, length, hidden)`` states after each input."""
        # Padding is only at the end, and attention is causal.
        states: Tensor = self.decoder(batch.inputs)
        return states

    def prefix_states(self, batch: PrefixBatch) -> Tensor:
        """``(prefixes, hidden)`` states after shared prefixes, without dropout.

        All prefixes form one sequence, and each attends to its own prefixes.
        """
        self.decoder.require_positions(len(batch.sizes))
        visible = batch.is_ancestor()[None, None]
        states: Tensor = self.decoder(batch.tokens[None], visible, batch.depths[None])
        return states[0]


class Block(nn.Module):
    """Attention and a feed-forward layer, each on normalised input, with residual connections."""

    def __init__(self, *, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden)
        self.attention = CausalAttention(hidden=hidden, heads=heads, dropout=dropout)
        self.feed_forward_norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, visible: Tensor | None) -> Tensor:
        states = states + self.dropout(self.attention(self.attention_norm(states), visible))
        inner = functional.gelu(self.expand(self.feed_forward_norm(states)), approximate="tanh")
        result: Tensor = states + self.dropout(self.contract(inner))
        return result


class CausalAttention(nn.Module):
    """Multi-head attention to the current and all earlier positions."""

    def __init__(self, *, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.project = nn.Linear(hidden, hidden)

    def forward(self, states: Tensor, visible: Tensor | None) -> Tensor:
        sentences, length, hidden = states.shape
        # (3, sentences, heads, length, hidden / heads)
        split = self.query_key_value(states).view(sentences, length, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=visible,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=visible is None,
        )
        result: Tensor = self.project(mixed.transpose(1, 2).reshape(sentences, length, hidden))
        return result
