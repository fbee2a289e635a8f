"""The networks of syntactic models, which generate words and trees together: RNNG and PLM.

The RNNG is the generative, stack-only RNNG (Dyer et al. 2016; Kuncoro et al. 2017) in the
formulation of Noji and Oseki (2021). Training computes all trees of a batch level by level instead
of step by step; the loss is the same. Its weights, by name:

- ``word_embedding``, ``label_embedding``: vectors of words and labels; ``start``: read first
- ``stack.input.K``, ``stack.recurrent.K``, ``stack.bias.K``: layer K of the stack LSTM
- ``composition.*``: see :mod:`composition`
- ``to_output``: U and d of u = ReLU(U h + d)
- ``action_output``, ``word_output.linear``: scores of actions and of words, from u

Families build them; the search reads them through :mod:`rnng_search` and :mod:`plm_search`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.arrays import Bools
from gardenpath.data.batches.tokens import BRACKET_STRATEGY, BracketBatch
from gardenpath.data.batches.trees import StackBatch, TimedTreeBatch, TreeBatch
from gardenpath.data.trees.legality import BIT_SETS, KINDS, LEGAL_BIT, Kind, Strategy
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.models.output import BatchScores, make_output
from gardenpath.models.search_states import is_illegal, piece_bias, piece_row
from gardenpath.models.sequential.networks import Decoder
from gardenpath.models.syntactic.attention_composition import (
    AttentionComposition,
    AttentionInputs,
    Projected,
    ReaderWeights,
    UpperLayer,
    attention_states,
)
from gardenpath.models.syntactic.composition import LstmComposition, dropout_mask, stack_states
from gardenpath.models.syntactic.family import PlmSettings, RnngSettings


class StackLstm(nn.Module):
    """The LSTM that reads the stack; gates are in the order of :class:`torch.nn.LSTM`."""

    def __init__(self, *, embedding: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [embedding] + [hidden] * (layers - 1)
        bound = hidden**-0.5

        def weight(columns: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(4 * hidden, columns).uniform_(-bound, bound))

        self.input = nn.ParameterList(weight(width) for width in widths)
        self.recurrent = nn.ParameterList(weight(hidden) for _ in widths)
        self.bias = nn.ParameterList(nn.Parameter(torch.zeros(4 * hidden)) for _ in widths)
        self.dropout = nn.Dropout(dropout)

    @property
    def state_size(self) -> int:
        return 2 * len(self.recurrent) * int(self.recurrent[0].shape[1])

    def readers(self, like: Tensor, rows: int) -> tuple[ReaderWeights, tuple[UpperLayer, ...]]:
        """Return the weights of the lowest layer and of those above, with dropout masks drawn."""
        hidden = int(self.recurrent[0].shape[1])
        lowest = ReaderWeights(self.input[0], self.bias[0], self.recurrent[0])
        return lowest, tuple(
            UpperLayer(
                inputs=self.input[layer],
                bias=self.bias[layer],
                recurrent=self.recurrent[layer],
                mask=dropout_mask(self.dropout, like, rows, hidden),
            )
            for layer in range(1, len(self.input))
        )

    def forward(self, vectors: Tensor, batch: TreeBatch) -> Tensor:
        """``(rows, hidden)`` states of the top layer after each stack element of a batch."""
        # Each vector is projected once, regardless of how often it is pushed.
        projected = functional.linear(vectors, self.input[0], self.bias[0])
        inputs = functional.embedding(batch.stack_vector, projected)
        states = stack_states(inputs, self.recurrent[0], batch.stack_below, batch.stack_sizes)
        for layer in range(1, len(self.input)):
            inputs = functional.linear(self.dropout(states), self.input[layer], self.bias[layer])
            states = stack_states(
                inputs, self.recurrent[layer], batch.stack_below, batch.stack_sizes
            )
        return states


class RnngNetwork(nn.Module):
    """An RNNG: predicts actions and words from the state of a stack LSTM.

    ``is_continuation``, by token id, is given if words are generated piece by piece.
    """

    def __init__(
        self,
        settings: RnngSettings,
        *,
        vocabulary_size: int,
        label_count: int,
        is_continuation: Bools | None = None,
    ) -> None:
        super().__init__()
        shape = settings.shape
        layers, hidden, embedding = shape.layers, shape.hidden, shape.embedding
        strategy, dropout = settings.strategy, settings.dropout
        self.strategy = strategy
        self.action_norm = settings.action_norm
        self.word_embedding = nn.Embedding(vocabulary_size, embedding)
        self.label_embedding = nn.Embedding(label_count, embedding)
        self.start = nn.Parameter(torch.empty(embedding))
        self.stack = StackLstm(embedding=embedding, hidden=hidden, layers=layers, dropout=dropout)
        self.composition = (
            LstmComposition(size=embedding, dropout=dropout)
            if settings.composition == "lstm"
            else AttentionComposition(size=embedding, label_count=label_count, dropout=dropout)
        )
        self.to_output = nn.Linear(hidden, embedding)
        self.action_output = nn.Linear(embedding, action_count(strategy, label_count))
        self.word_output = make_output(
            settings.output, hidden=embedding, vocabulary_size=vocabulary_size,
            never=(PAD_ID, BEGIN_ID, END_ID), has_pieces=is_continuation is not None,
        )  # fmt: skip
        self.dropout = nn.Dropout(dropout)
        for weight in (self.word_embedding.weight, self.label_embedding.weight, self.start):
            # With much smaller values, repeatedly composed vectors would initially vanish.
            nn.init.normal_(weight, std=0.5)
        nn.init.zeros_(self.word_output.linear.bias)
        if settings.tied:
            self.word_output.linear.weight = self.word_embedding.weight
        self.legal_bias: Tensor
        self.register_buffer(
            "legal_bias", legal_bias(strategy, label_count, settings.action_norm), persistent=False
        )
        self.piece_bias: Tensor | None
        self.register_buffer("piece_bias", piece_bias(is_continuation), persistent=False)

    def score(self, batch: TreeBatch | TimedTreeBatch) -> BatchScores:
        """Return the log probabilities of the actions and words of a batch of trees."""
        output = self.outputs(batch)
        action, word = self.action_log_prob(output, batch), self.word_log_prob(output, batch)
        return BatchScores(
            log_prob={"action": action.sum(), "word": word.sum()},
            words=batch.words,
            sentences=batch.sentences,
        )

    def outputs(self, batch: TreeBatch | TimedTreeBatch) -> Tensor:
        """``(actions, embedding)``: u before each action."""
        words = self.dropout(self.word_embedding(batch.word_types))
        labels = self.dropout(self.label_embedding.weight)
        if isinstance(batch, TimedTreeBatch):
            hidden = self._hidden_with_attention(words, labels, batch)
        else:
            constituents = self.composition(words, labels, batch)
            # In the numbering of :class:`StackBatch`.
            vectors = torch.cat([words, labels, constituents, self.start.unsqueeze(0)])
            hidden = self.stack(vectors, batch)
        top = functional.embedding(batch.top, hidden)
        return functional.relu(self.to_output(self.dropout(top)))

    def _hidden_with_attention(
        self, words: Tensor, labels: Tensor, batch: TimedTreeBatch
    ) -> Tensor:
        part = self.composition
        assert isinstance(part, AttentionComposition)
        lowest, upper = self.stack.readers(words, len(batch.stack_vector))
        forward, backward = part.readers()
        known = torch.cat([words, labels, self.start.unsqueeze(0)])
        prepared = part.prepared(batch.constituent_label)
        inputs = AttentionInputs(
            projected=Projected(
                stack=functional.linear(known, lowest.inputs, lowest.bias),
                forward=functional.linear(words, forward.inputs, forward.bias),
                backward=functional.linear(words, backward.inputs, backward.bias),
            ),
            prepared=prepared,
            masks=part.masks(prepared.own, self.to_output.in_features),
            attention=part.weights(self.to_output),
            stack=lowest,
            forward=forward,
            backward=backward,
            upper=upper,
        )
        return attention_states(inputs, batch)

    def action_log_prob(self, output: Tensor, batch: StackBatch) -> Tensor:
        """``(actions,)`` log probabilities."""
        scores = self.action_output(output) + self.legal_bias[batch.legal]
        columns = action_column(batch.action, self.strategy)
        return -functional.cross_entropy(scores, columns, reduction="none")

    def word_log_prob(self, output: Tensor, batch: StackBatch) -> Tensor:
        """``(words,)`` log probabilities of words, given that the action is SHIFT."""
        states = functional.embedding(batch.shift_top, output)
        if self.piece_bias is None:
            return self.word_output.target_log_prob(states, batch.shift_word)
        scores = self.word_output.logits(states)
        scores = scores + self.piece_bias[piece_row(batch.legal[batch.shift_top])]
        return -functional.cross_entropy(scores, batch.shift_word, reduction="none")


def action_count(strategy: Strategy, label_count: int) -> int:
    """Count the columns of action scores: one for each label (NT) and one for each other kind."""
    return len(KINDS[strategy]) - 1 + label_count


def action_column(actions: Tensor, strategy: Strategy) -> Tensor:
    """Convert action ids to score columns; kinds that the strategy does not use have no column."""
    missing = len(Kind) - len(KINDS[strategy])
    return actions - missing * (actions >= Kind.OPEN).long() if missing else actions


def legal_bias(
    strategy: Strategy, label_count: int, action_norm: str, device: torch.device | None = None
) -> Tensor:
    """``(bits, actions)``: zero where the kind of an action is among the legal bits, else -inf."""
    single = [kind for kind in KINDS[strategy] if kind is not Kind.OPEN]
    kinds = single + [Kind.OPEN] * label_count
    bias = torch.zeros(BIT_SETS, len(kinds), device=device)
    if action_norm == "legal":
        for bits in range(len(bias)):
            for column, kind in enumerate(kinds):
                if not bits & LEGAL_BIT[kind]:
                    bias[bits, column] = -torch.inf
    return bias


# ----------------------------------------------------------------------------
# Parsing as language modelling: a Transformer over linearised trees (Qian et al. 2021).
#
# With ``structured_heads`` the model is their PLM-mask: in each layer, the first head attends only
# to the symbols before the innermost open constituent, the second only to that constituent.


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
            settings.output, hidden=shape.hidden, vocabulary_size=symbols, bias=False,
            never=(PAD_ID, BEGIN_ID, END_ID), singles=1 + label_count,
            has_pieces=is_continuation is not None,
        )  # fmt: skip
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
