"""Parsing as language modelling: a Transformer over linearised trees (Qian et al. 2021).

With ``structured_heads`` the model is their PLM-mask: in each layer the first head attends only to
what lies before the innermost open constituent, the second only to that constituent.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.batches.bracket_batches import BRACKET_STRATEGY, BracketBatch
from gardenpath.data.trees.actions import Kind
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.models.scores import BatchScores
from gardenpath.models.sequential.output import NextToken
from gardenpath.models.sequential.transformer import Decoder
from gardenpath.models.sizes import TRANSFORMER_SIZES, Size, shape_of
from gardenpath.models.states.transitions import is_illegal
from gardenpath.settings.bounds import Fraction, PositiveInt


class PlmNetwork(nn.Module):
    """A decoder over words and brackets, with tied input and output embeddings.

    ``action_norm`` says whether illegal next symbols are left out of the normalisation.
    """

    strategy = BRACKET_STRATEGY

    def __init__(
        self,
        *,
        vocabulary_size: int,
        label_count: int,
        size: Size = "base",
        layers: PositiveInt | None = None,
        hidden: PositiveInt | None = None,
        heads: PositiveInt | None = None,
        max_positions: PositiveInt = 1024,
        dropout: Fraction = 0.1,
        structured_heads: bool = False,
        action_norm: Literal["legal", "full"] = "legal",
    ) -> None:
        super().__init__()
        shape = shape_of(TRANSFORMER_SIZES, size, layers=layers, hidden=hidden, heads=heads)
        symbols = vocabulary_size + 1 + label_count
        self.vocabulary_size = vocabulary_size
        self.heads = shape.heads
        self.structured_heads = structured_heads
        self.action_norm = action_norm
        self.decoder = Decoder(
            vocabulary_size=symbols, shape=shape, max_positions=max_positions, dropout=dropout
        )
        self.output = NextToken(
            hidden=shape.hidden,
            vocabulary_size=symbols,
            bias=False,
            never=(PAD_ID, BEGIN_ID, END_ID),
        )
        self.output.linear.weight = self.decoder.token_embedding.weight

    @staticmethod
    def mistakes(
        *,
        size: Size,
        layers: int | None,
        hidden: int | None,
        heads: int | None,
        structured_heads: bool,
        **_: object,
    ) -> list[str]:
        """What is wrong with a combination of settings."""
        shape = shape_of(TRANSFORMER_SIZES, size, layers=layers, hidden=hidden, heads=heads)
        found = []
        if shape.hidden % shape.heads:
            found.append(f"hidden ({shape.hidden}) must be a multiple of heads ({shape.heads})")
        if structured_heads and shape.heads < 2:
            found.append("structured_heads=true needs at least two heads")
        return found

    def score(self, batch: BracketBatch) -> BatchScores:
        """Log probabilities of a batch: words, and brackets as actions."""
        log_prob = self.log_prob(batch)
        word = log_prob.masked_fill(~batch.is_word, 0.0).sum()
        return BatchScores(
            log_prob={"action": log_prob.sum() - word, "word": word},
            words=batch.words,
            sentences=batch.sentences,
        )

    def log_prob(self, batch: BracketBatch) -> Tensor:
        """``(sentences, length)`` log probabilities of the targets, zero on padding."""
        visible = structured_mask(batch.open_at, self.heads) if self.structured_heads else None
        states = self.decoder(batch.inputs, visible)
        logits = self.output.logits(states[batch.is_symbol])
        if self.action_norm == "legal":
            logits = self._without_illegal(logits, batch)
        targets = batch.targets[batch.is_symbol]
        negative = functional.cross_entropy(logits, targets, reduction="none")
        result = torch.zeros(batch.targets.shape, dtype=negative.dtype, device=negative.device)
        return result.masked_scatter(batch.is_symbol, -negative)

    def _without_illegal(self, logits: Tensor, batch: BracketBatch) -> Tensor:
        """Set words and closing brackets that may not come next to ``-inf``.

        An opening bracket may come anywhere in a top-down derivation. Words may not come at the
        beginning only, so the large block stays untouched but for a few rows.
        """
        legal = batch.legal[batch.is_symbol]
        closing = self.vocabulary_size
        logits = logits.clone()
        no_close = is_illegal(legal, Kind.REDUCE)
        logits[:, closing] = logits[:, closing].masked_fill(no_close, -torch.inf)
        logits[is_illegal(legal, Kind.SHIFT), :closing] = -torch.inf
        return logits


def structured_mask(open_at: Tensor, heads: int) -> Tensor:
    """``(sentences, heads, length, length)``: which positions each head may attend to.

    Where no constituent is open, the two structured heads attend to everything before.
    """
    sentences, length = open_at.shape
    position = torch.arange(length, device=open_at.device)
    causal = position <= position.unsqueeze(1)  # (length, length): attended <= attending
    is_inside = position >= open_at.unsqueeze(2)  # (sentences, length, length)
    nothing_open = (open_at == 0).unsqueeze(2)
    outside = causal & (~is_inside | nothing_open)
    inside = causal & (is_inside | nothing_open)
    others = causal.expand(sentences, heads - 2, length, length)
    return torch.cat([outside.unsqueeze(1), inside.unsqueeze(1), others], dim=1)
