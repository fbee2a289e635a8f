"""Gated attention composition (Kuncoro et al. 2017), which reads the stack.

The children, read by a bidirectional LSTM, are weighted by their match with the label and the state
u in which the constituent is closed; a gate mixes their weighted mean with the label's vector::

    a_i ∝ exp(h_i · V [o_label; u])        m = Σ a_i h_i
    g = σ(G [t_label; m] + b)              vector = ReLU(W (g ⊙ t_label + (1 - g) ⊙ m) + c)

The stack cannot be read before the constituents on it are composed, and these cannot be composed
before the stack is read, so both are computed together (:mod:`attention_rounds`).
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from gardenpath.models.rnng.attention_cells import AttentionMasks, AttentionWeights, Prepared
from gardenpath.models.rnng.attention_inputs import ReaderWeights
from gardenpath.models.rnng.lstm_levels import dropout_mask


class AttentionComposition(nn.Module):
    """Weights: ``lstm`` over children; ``label_query`` (o), ``label_vector`` (t), ``match`` (V),
    ``gate`` (G, b) and ``output`` (W, c).
    """

    def __init__(self, *, size: int, label_count: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.lstm = nn.LSTM(size, size, bidirectional=True)
        self.label_query = nn.Embedding(label_count, size)
        self.label_vector = nn.Embedding(label_count, 2 * size)
        self.match = nn.Linear(2 * size, 2 * size, bias=False)
        self.gate = nn.Linear(4 * size, 2 * size)
        self.output = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(dropout)

    def prepared(self, labels: Tensor) -> Prepared:
        """Compute what depends only on the labels of constituents."""
        size = self.size
        # h · V [o; u] = h · (V_o o + V_u u), so labels and children need no product with V.
        query = self.label_query.weight @ self.match.weight[:size]
        own = self.dropout(self.label_vector(labels))
        gate = functional.linear(own, self.gate.weight[:, : 2 * size], self.gate.bias)
        return Prepared(query=functional.embedding(labels, query), own=own, gate=gate)

    def weights(self, to_output: nn.Linear) -> AttentionWeights:
        """Return the weights of the attention; ``to_output`` computes u."""
        return AttentionWeights(
            to_state=to_output.weight,
            state_bias=to_output.bias,
            match=self.match.weight[self.size :],
            gate=self.gate.weight[:, 2 * self.size :],
            output=self.output.weight,
            bias=self.output.bias,
        )

    def readers(self) -> tuple[ReaderWeights, ReaderWeights]:
        """Return the weights of the two directions of the LSTM."""
        weights = dict(self.lstm.named_parameters())
        forward, backward = (
            ReaderWeights(
                inputs=weights[f"weight_ih_l0{suffix}"],
                bias=weights[f"bias_ih_l0{suffix}"] + weights[f"bias_hh_l0{suffix}"],
                recurrent=weights[f"weight_hh_l0{suffix}"],
            )
            for suffix in ("", "_reverse")
        )
        return forward, backward

    def masks(self, own: Tensor, hidden: int) -> AttentionMasks:
        """Draw the dropout masks of a batch, with a row for each row of ``own``."""
        return AttentionMasks(
            hidden=dropout_mask(self.dropout, own, len(own), hidden),
            mean=dropout_mask(self.dropout, own, *own.shape),
        )
