"""The networks of sequential models, and their word scores.

Families build an LSTM or a decoder with the architecture of GPT-2; the PLM uses the decoder over
words and brackets. Runs call :class:`SequentialScorer`; networks that can do so compute what
sentences have in common once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.batches.tokens import TensorBatch, TokenBatch, plan_batches, token_batch
from gardenpath.data.corpus import BatchSettings
from gardenpath.data.encoding import EncodedSplit, PieceSets, encode_sentences, words_of_pieces
from gardenpath.data.sentence import PrefixTrie, Sharing, tries_by_size
from gardenpath.data.words.pieces import Boundary, Subwords
from gardenpath.data.words.vocabulary import END_ID, PAD_ID, Vocabulary
from gardenpath.errors import GardenpathError
from gardenpath.models.output import SequentialNetwork, make_output
from gardenpath.models.sequential.family import DecoderSettings, LstmSettings
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
    """A decoder with tied input and output embeddings."""

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


# ----------------------------------------------------------------------------
# Word scores.

# Maximum number of log probabilities gathered at a time.
_MOST_GATHERED = 1 << 22


class PieceMasses:
    """Sums of the probabilities of pieces that a choice of boundaries needs, on a device."""

    def __init__(
        self, sets: PieceSets, boundary: Boundary, device: torch.device | str = "cpu"
    ) -> None:
        self._boundary = boundary
        self._follows_word = torch.from_numpy(sets.follows_word).to(device)
        self._sorted_ids = torch.from_numpy(sets.sorted_ids).to(device)
        self._ranges = torch.from_numpy(sets.ranges).to(device)

    def __call__(self, log_probs: Tensor, targets: Tensor) -> Tensor:
        """``(rows,)`` log masses, from ``(rows, vocabulary)`` log probabilities and targets."""
        if self._boundary == "next":
            return log_probs.masked_fill(~self._follows_word, -torch.inf).logsumexp(1)
        # Sum over all pieces that begin with the target.
        own = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1)
        begin, end = self._ranges[targets].unbind(1)
        longest = int((end - begin).max()) if len(targets) else 0
        if longest <= 1:
            return own
        parts = []
        rows = max(1, _MOST_GATHERED // longest)
        steps = torch.arange(longest, device=targets.device)
        for start in range(0, len(targets), rows):
            chosen = slice(start, start + rows)
            places = begin[chosen, None] + steps
            is_alike = places < end[chosen, None]
            ids = self._sorted_ids[places.clamp(max=len(self._sorted_ids) - 1)]
            parts.append(
                log_probs[chosen].gather(1, ids).masked_fill(~is_alike, -torch.inf).logsumexp(1)
            )
        # The end of the sentence, and unknown characters, begin like nothing else.
        has_range = end > begin
        return torch.where(has_range & (targets != END_ID), torch.cat(parts), own)


# ----------------------------------------------------------------------------
# Distinct prefixes of sentences as tensors, for sequential networks.


@dataclass(frozen=True, slots=True)
class PrefixBatch(TensorBatch):
    """The arrays of a :class:`PrefixTrie` that a network needs.

    There are ``sizes[d]`` prefixes of length d.
    """

    tokens: Tensor
    parents: Tensor
    depths: Tensor
    first: Tensor
    last: Tensor
    contexts: Tensor
    targets: Tensor
    sizes: tuple[int, ...]

    @staticmethod
    def of(trie: PrefixTrie) -> PrefixBatch:
        """Convert the trie to tensors."""
        names = [field.name for field in fields(PrefixBatch) if field.name != "sizes"]
        tensors: dict[str, Any] = {n: torch.from_numpy(getattr(trie, n)) for n in names}
        return PrefixBatch(**tensors, sizes=tuple(np.bincount(trie.depths).tolist()))

    def is_ancestor(self) -> Tensor:
        """``(prefixes, prefixes)``: whether the second is a prefix of the first, or equal to it."""
        # Of two prefixes of one sentence, the shorter begins the longer; ``first`` is a sentence.
        is_shorter = self.depths <= self.depths[:, None]
        sentence = self.first[:, None]
        return is_shorter & (self.first <= sentence) & (sentence <= self.last)


@runtime_checkable
class PrefixNetwork(Protocol):
    """A network that can read shared prefixes, at most ``most_prefixes`` at a time."""

    most_prefixes: int

    def prefix_states(self, batch: PrefixBatch) -> Tensor:
        """``(prefixes, hidden)`` states from which the next token is predicted."""


# ----------------------------------------------------------------------------
# Score words with sequential models: the log probability of each word of a sentence.


_BATCHES = BatchSettings(max_tokens=8192, max_sentences=256)

# Log probabilities whose masses are summed at a time.
_MOST_LOG_PROBS = 1 << 24

# Below this fraction of shared predictions, ordinary batches are faster.
_LEAST_SAVED = 0.2


class SequentialScorer:
    """Scores words with a sequential network (LSTM or Transformer).

    With ``share_prefixes``, common prefixes of sentences are computed once, and ``sharing`` reports
    after a call how much that saved; the scores are the same. ``boundary`` says how the pieces of a
    word make its probability; it has no effect on models of whole words.
    """

    def __init__(
        self,
        *,
        model: SequentialNetwork,
        vocabulary: Vocabulary,
        subwords: Subwords | None = None,
        device: torch.device | str = "cpu",
        share_prefixes: bool = True,
        boundary: Boundary | None = None,
    ) -> None:
        self._model = model.to(device).eval()
        self._vocabulary = vocabulary
        self._subwords = subwords
        self._device = device
        self._shares_prefixes = share_prefixes and isinstance(model, PrefixNetwork)
        self.sharing = Sharing(0, 0)
        self._boundary: Boundary = boundary if subwords is not None and boundary else "none"
        self._masses: PieceMasses | None = None
        if self._boundary != "none":
            self._masses = PieceMasses(PieceSets(vocabulary), self._boundary, device)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence."""
        self.sharing = Sharing(0, 0)
        if not sentences:
            return []
        return self.split_log_probs(encode_sentences(sentences, self._vocabulary, self._subwords))

    def split_log_probs(self, split: EncodedSplit) -> list[Floats]:
        """Like :meth:`word_log_probs`, for sentences that are already encoded."""
        return [
            words_of_pieces(split, number, scores[0], scores[1], self._boundary)
            for number, scores in enumerate(self._token_scores(split))
        ]

    def _token_scores(self, split: EncodedSplit) -> list[_Scores]:
        """Return log probabilities of the tokens and end of each sentence, and their masses."""
        results: list[_Scores] = [(np.zeros(0), None)] * len(split)
        alone: list[int] = []
        computed = 0
        tries: Iterable[PrefixTrie] = ()
        if self._shares_prefixes and isinstance(self._model, PrefixNetwork):
            sentences = [split.sentence(number) for number in range(len(split))]
            tries = tries_by_size(sentences, most=self._model.most_prefixes)
        for trie in tries:
            if trie.sharing.saved < _LEAST_SAVED:
                alone += trie.numbers
                continue
            log_probs, masses = self._score_trie(trie)
            for number, rows in zip(trie.numbers, trie.predictions, strict=True):
                results[number] = log_probs[rows], None if masses is None else masses[rows]
            computed += trie.sharing.computed
        if not self._shares_prefixes:
            alone = list(range(len(split)))
        if alone:
            self._score_alone(split, np.sort(alone), results)
            computed += int(split.lengths[alone].sum()) + len(alone)
        self.sharing = Sharing(len(split.tokens) + len(split), computed)
        return results

    def _score_trie(self, trie: PrefixTrie) -> _Scores:
        network = self._model
        assert isinstance(network, PrefixNetwork)
        with torch.inference_mode():
            batch = PrefixBatch.of(trie).to(self._device)
            states = network.prefix_states(batch)
            if self._masses is None:
                log_prob = network.output.log_prob_after(states, batch.contexts, batch.targets)
                return _on_host(log_prob), None
            log_probs = functional.log_softmax(network.output.logits(states), dim=-1)
            rows = max(1, _MOST_LOG_PROBS // log_probs.shape[1])
            masses = [
                self._masses(log_probs[contexts], targets)
                for contexts, targets in zip(
                    batch.contexts.split(rows), batch.targets.split(rows), strict=True
                )
            ]
            log_prob = log_probs[batch.contexts, batch.targets]
            return _on_host(log_prob), _on_host(torch.cat(masses))

    def _score_alone(self, split: EncodedSplit, numbers: Ints, results: list[_Scores]) -> None:
        """Score sentences without sharing, in batches of similar length."""
        with torch.inference_mode():
            for rows in plan_batches(split.lengths[numbers], _BATCHES, shuffle_seed=None):
                members = numbers[rows]
                batch = token_batch(split, members).to(self._device)
                log_probs, masses = self._score_batch(self._model, batch)
                for row, number in enumerate(members.tolist()):
                    end = split.lengths[number] + 1
                    mass = None if masses is None else masses[row, :end]
                    results[number] = log_probs[row, :end], mass

    def _score_batch(self, network: SequentialNetwork, batch: TokenBatch) -> _Scores:
        """Return ``(sentences, length)`` log probabilities and masses."""
        if self._masses is None:
            return _on_host(network.log_prob(batch)), None
        states = network.states(batch)[batch.is_token]
        targets = batch.targets[batch.is_token]
        log_probs, masses = [], []
        rows = max(1, _MOST_LOG_PROBS // len(network.output.linear.weight))
        for some, wanted in zip(states.split(rows), targets.split(rows), strict=True):
            next_log_probs = functional.log_softmax(network.output.logits(some), dim=-1)
            log_probs.append(next_log_probs.gather(1, wanted.unsqueeze(1)).squeeze(1))
            masses.append(self._masses(next_log_probs, wanted))
        grid = torch.zeros(batch.targets.shape, dtype=states.dtype, device=states.device)
        return (
            _on_host(grid.masked_scatter(batch.is_token, torch.cat(log_probs))),
            _on_host(grid.masked_scatter(batch.is_token, torch.cat(masses))),
        )


# Log probabilities of tokens, and masses if the choice of boundaries needs them.
_Scores = tuple[Floats, Floats | None]


def _on_host(values: Tensor) -> Floats:
    array: Floats = values.double().cpu().numpy()
    return array
