"""Word scores of sequential models: the log probability of each word and the end of a sentence.

Runs call :class:`SequentialScorer`, for networks and n-gram models alike. Networks that can do so
compute what sentences have in common once.
"""

from __future__ import annotations

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
from gardenpath.data.words.vocabulary import END_ID, Vocabulary
from gardenpath.models.ngram.model import NgramMasses, NgramModel
from gardenpath.models.output import SequentialNetwork

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
        return self._of_alike(log_probs, targets)

    def _of_alike(self, log_probs: Tensor, targets: Tensor) -> Tensor:
        """Sum over all pieces that begin with the target."""
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
    """Scores words with a sequential model (LSTM, Transformer or n-gram).

    With ``share_prefixes``, common prefixes of sentences are computed once, and ``sharing`` reports
    after a call how much that saved; the scores are the same. N-gram models do not share prefixes,
    because a lookup costs less than finding them. ``boundary`` says how the pieces of a word make
    its probability (``words.pieces``); it has no effect on models of whole words.
    """

    def __init__(
        self,
        *,
        model: SequentialNetwork | NgramModel,
        vocabulary: Vocabulary,
        subwords: Subwords | None = None,
        device: torch.device | str = "cpu",
        share_prefixes: bool = True,
        boundary: Boundary | None = None,
    ) -> None:
        self._model = model.to(device).eval() if isinstance(model, nn.Module) else model
        self._vocabulary = vocabulary
        self._subwords = subwords
        self._device = device
        self._shares_prefixes = share_prefixes and isinstance(model, PrefixNetwork)
        self.sharing = Sharing(0, 0)
        self._boundary: Boundary = boundary if subwords is not None and boundary else "none"
        self._masses: PieceMasses | NgramMasses | None = None
        if self._boundary != "none":
            sets = PieceSets(vocabulary)
            if isinstance(model, NgramModel):
                self._masses = NgramMasses(model, sets, self._boundary)
            else:
                self._masses = PieceMasses(sets, self._boundary, device)

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
        assert isinstance(network, PrefixNetwork) and isinstance(network, SequentialNetwork)
        with torch.inference_mode():
            batch = PrefixBatch.of(trie).to(self._device)
            states = network.prefix_states(batch)
            if self._masses is None:
                log_prob = network.output.log_prob_after(states, batch.contexts, batch.targets)
                return _on_host(log_prob), None
            log_probs = functional.log_softmax(network.output.logits(states), dim=-1)
            assert isinstance(self._masses, PieceMasses)
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
        model = self._model
        if isinstance(model, NgramModel):
            sentences = [split.sentence(number).astype(np.int64) for number in numbers]
            masses = self._masses(sentences) if isinstance(self._masses, NgramMasses) else None
            for place, (number, scores) in enumerate(
                zip(numbers, model.score(sentences), strict=True)
            ):
                results[number] = scores, None if masses is None else masses[place]
            return
        with torch.inference_mode():
            for rows in plan_batches(split.lengths[numbers], _BATCHES, shuffle_seed=None):
                members = numbers[rows]
                batch = token_batch(split, members).to(self._device)
                log_probs, masses_of_batch = self._score_batch(model, batch)
                for row, number in enumerate(members.tolist()):
                    end = split.lengths[number] + 1
                    results[number] = (
                        log_probs[row, :end],
                        None if masses_of_batch is None else masses_of_batch[row, :end],
                    )

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
            assert isinstance(self._masses, PieceMasses)
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
