"""Score words with sequential models: the log probability of each word of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.batches.batch_loader import plan_batches
from gardenpath.data.batches.batch_settings import BatchSettings
from gardenpath.data.batches.token_batches import token_batch
from gardenpath.data.encoding.encoded import EncodedSplit, encode_sentences
from gardenpath.data.prefixes import PrefixTrie, Sharing, tries_by_size
from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.ngram.ngram import NgramModel
from gardenpath.models.sequential.output import SequentialNetwork
from gardenpath.models.sequential.shared_prefixes import PrefixBatch, PrefixNetwork

_BATCHES = BatchSettings(max_tokens=8192, max_sentences=256)

# Below this fraction of shared predictions, ordinary batches are faster.
_LEAST_SAVED = 0.2


class SequentialScorer:
    """Scores words with a sequential model (LSTM, Transformer or n-gram).

    With ``share_prefixes``, common prefixes of sentences are computed once, and ``sharing`` reports
    after a call how much that saved; the scores are the same. N-gram models do not share prefixes,
    because a lookup costs less than finding them.
    """

    def __init__(
        self,
        *,
        model: SequentialNetwork | NgramModel,
        vocabulary: Vocabulary,
        subwords: Subwords | None = None,
        device: torch.device | str = "cpu",
        share_prefixes: bool = True,
    ) -> None:
        self._model = model.to(device).eval() if isinstance(model, nn.Module) else model
        self._vocabulary = vocabulary
        self._subwords = subwords
        self._device = device
        self._shares_prefixes = share_prefixes and isinstance(model, PrefixNetwork)
        self.sharing = Sharing(0, 0)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence.

        The log probability of a word is the sum over its pieces.
        """
        self.sharing = Sharing(0, 0)
        if not sentences:
            return []
        return self.split_log_probs(encode_sentences(sentences, self._vocabulary, self._subwords))

    def split_log_probs(self, split: EncodedSplit) -> list[Floats]:
        """Like :meth:`word_log_probs`, for sentences that are already encoded."""
        return [
            split.sum_to_words(number, scores)
            for number, scores in enumerate(self._token_log_probs(split))
        ]

    def _token_log_probs(self, split: EncodedSplit) -> list[Floats]:
        results: list[Floats] = [np.zeros(0)] * len(split)
        alone: list[int] = []
        computed = 0
        for trie in self._tries(split):
            if trie.sharing.saved < _LEAST_SAVED:
                alone += trie.numbers
                continue
            scores = self._score_trie(trie)
            for number, rows in zip(trie.numbers, trie.predictions, strict=True):
                results[number] = scores[rows]
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

    def _score_trie(self, trie: PrefixTrie) -> Floats:
        assert isinstance(self._model, PrefixNetwork)
        with torch.inference_mode():
            found = self._model.prefix_log_prob(PrefixBatch.of(trie).to(self._device))
            scores: Floats = found.double().cpu().numpy()
        return scores

    def _score_alone(self, split: EncodedSplit, numbers: Ints, results: list[Floats]) -> None:
        """Score sentences without sharing, in batches of similar length."""
        model = self._model
        if isinstance(model, NgramModel):
            sentences = [split.sentence(number).astype(np.int64) for number in numbers]
            for number, scores in zip(numbers, model.score(sentences), strict=True):
                results[number] = scores
            return
        with torch.inference_mode():
            for rows in plan_batches(split.lengths[numbers], _BATCHES, shuffle_seed=None):
                members = numbers[rows]
                batch = token_batch(split, members).to(self._device)
                found = model.log_prob(batch).double().cpu().numpy()
                for row, number in enumerate(members.tolist()):
                    results[number] = found[row, : split.lengths[number] + 1]
