"""Score words with sequential models: the log probability of each word of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.batches.batch_loader import plan_batches
from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.data.batches.token_batches import TokenBatch, token_batch
from gardenpath.data.encoding.encoded import EncodedSplit, encode_sentences
from gardenpath.data.prefixes import PrefixTrie, Sharing, tries_by_size
from gardenpath.data.words.boundaries import Boundary
from gardenpath.data.words.piece_sets import PieceSets, words_of_pieces
from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.ngram.ngram import NgramModel
from gardenpath.models.ngram.ngram_masses import NgramMasses
from gardenpath.models.sequential.output import SequentialNetwork
from gardenpath.models.sequential.piece_masses import PieceMasses
from gardenpath.models.sequential.shared_prefixes import PrefixBatch, PrefixNetwork

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
    its probability (:mod:`boundaries`); it has no effect on models of whole words.
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
        for trie in self._tries(split):
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

    def _tries(self, split: EncodedSplit) -> Iterator[PrefixTrie]:
        if self._shares_prefixes and isinstance(self._model, PrefixNetwork):
            sentences = [split.sentence(number) for number in range(len(split))]
            yield from tries_by_size(sentences, most=self._model.most_prefixes)

    def _score_trie(self, trie: PrefixTrie) -> _Scores:
        network = self._model
        assert isinstance(network, PrefixNetwork) and isinstance(network, SequentialNetwork)
        with torch.inference_mode():
            batch = PrefixBatch.of(trie).to(self._device)
            states = network.prefix_states(batch)
            if self._masses is None:
                found = network.output.log_prob_after(states, batch.contexts, batch.targets)
                return _on_host(found), None
            log_probs = functional.log_softmax(network.output.logits(states), dim=-1)
            masses = self._masses_of(log_probs, batch.contexts, batch.targets)
            return _on_host(log_probs[batch.contexts, batch.targets]), masses

    def _masses_of(self, log_probs: Tensor, contexts: Tensor, targets: Tensor) -> Floats | None:
        """Return the masses of predictions from rows of log probabilities, in parts."""
        if not isinstance(self._masses, PieceMasses):
            return None
        rows = max(1, _MOST_LOG_PROBS // log_probs.shape[1])
        parts = [
            self._masses(log_probs[some], wanted)
            for some, wanted in zip(contexts.split(rows), targets.split(rows), strict=True)
        ]
        return _on_host(torch.cat(parts))

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
                log_probs, found = self._score_batch(model, batch)
                for row, number in enumerate(members.tolist()):
                    end = split.lengths[number] + 1
                    results[number] = (
                        log_probs[row, :end],
                        None if found is None else found[row, :end],
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
            found = functional.log_softmax(network.output.logits(some), dim=-1)
            log_probs.append(found.gather(1, wanted.unsqueeze(1)).squeeze(1))
            assert isinstance(self._masses, PieceMasses)
            masses.append(self._masses(found, wanted))
        grid = torch.zeros(batch.targets.shape, dtype=states.dtype, device=states.device)
        return (
            _on_host(grid.masked_scatter(batch.is_token, torch.cat(log_probs))),
            _on_host(grid.masked_scatter(batch.is_token, torch.cat(masses))),
        )


# Log probabilities of tokens, and masses if the choice of boundaries needs them.
_Scores = tuple[Floats, Floats | None]


def _on_host(values: Tensor) -> Floats:
    found: Floats = values.double().cpu().numpy()
    return found
