"""Parsing as language modelling: a Transformer over linearised trees (Qian et al. 2021).

With ``structured_heads`` the model is their PLM-mask: in each layer, the first head attends only to
the symbols before the innermost open constituent, the second only to that constituent.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.arrays import Bools
from gardenpath.data.batches.tokens import BRACKET_STRATEGY, BracketBatch
from gardenpath.data.trees.legality import Kind
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.models.output import make_output
from gardenpath.models.scores import BatchScores
from gardenpath.models.search_states import is_illegal, piece_bias, piece_row
from gardenpath.models.sequential.networks import Decoder
from gardenpath.models.syntactic.family import PlmSettings


class PlmNetwork(nn.Module):
    """A decoder over words and brackets, with tied input and output embeddings.

    ``action_norm`` says whether illegal next symbols are excluded from the normalisation.
    ``is_continuation``, by token id, is given if words are generated piece by piece; pieces that
    would continue a word where none can be continued are always excluded.
    """

    strategy = BRACKET_STRATEGY

    def __init__(
        self,
        settings: PlmSettings,
        *,
        vocabulary_size: int,
        label_count: int,
        is_continuation: Bools | None = None,
    ) -> None:
        super().__init__()
        shape = settings.shape
        symbols = vocabulary_size + 1 + label_count
        self.vocabulary_size = vocabulary_size
        self.heads = shape.heads
        self.structured_heads = settings.structured_heads
        self.action_norm = settings.action_norm
        self.decoder = Decoder(settings, vocabulary_size=symbols)
        self.output = make_output(
            settings.output,
            hidden=shape.hidden,
            vocabulary_size=symbols,
            bias=False,
            never=(PAD_ID, BEGIN_ID, END_ID),
            singles=1 + label_count,
            has_pieces=is_continuation is not None,
        )
        self.output.linear.weight = self.decoder.token_embedding.weight
        self.piece_bias: Tensor | None
        self.register_buffer("piece_bias", piece_bias(is_continuation), persistent=False)

    def score(self, batch: BracketBatch) -> BatchScores:
        """Return the log probabilities of a batch: words, and brackets as actions."""
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
        states = self.decoder(batch.inputs, visible)[batch.is_symbol]
        logits = self.output.branch_logits(states)
        if self.piece_bias is not None:
            bias = self.piece_bias[piece_row(batch.legal[batch.is_symbol])]
            logits = logits + functional.pad(bias, (0, logits.shape[1] - self.vocabulary_size))
        if self.action_norm == "legal":
            logits = self._without_illegal(logits, batch)
        targets = batch.targets[batch.is_symbol]
        branches = self.output.branch_of(targets)
        log_prob = -functional.cross_entropy(logits, branches, reduction="none")
        words = batch.is_word[batch.is_symbol].nonzero().squeeze(1)
        within = self.output.within_log_prob(states[words], targets[words])
        log_prob = log_prob.index_add(0, words, within)
        result = torch.zeros(batch.targets.shape, dtype=log_prob.dtype, device=log_prob.device)
        return result.masked_scatter(batch.is_symbol, log_prob)

    def _without_illegal(self, logits: Tensor, batch: BracketBatch) -> Tensor:
        """Set the logits of words and closing brackets that may not come next to ``-inf``.

        In a top-down derivation, an opening bracket may come anywhere, and only the beginning
        excludes words, so the large block of word logits changes in only a few rows.
        """
        legal = batch.legal[batch.is_symbol]
        closing = self.output.word_branches
        logits = logits.clone()
        no_close = is_illegal(legal, Kind.REDUCE)
        logits[:, closing] = logits[:, closing].masked_fill(no_close, -torch.inf)
        logits[is_illegal(legal, Kind.SHIFT), :closing] = -torch.inf
        return logits


def structured_mask(open_at: Tensor, heads: int) -> Tensor:
    """``(sentences, heads, length, length)``: which positions each head may attend to.

    If no constituent is open, the two structured heads attend to all earlier positions.
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
