"""Score words with an adopted word-level LSTM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from gardenpath.data.arrays import Floats
from gardenpath.data.prefixes import PrefixTrie, tries_by_size
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, SPECIALS
from gardenpath.errors import DamagedRunError, GardenpathError
from gardenpath.models.sequential.shared_prefixes import PrefixBatch
from gardenpath.models.tensor_files import load_arrays
from gardenpath.models.word_lm.grnn_family import WORDS_FILE, GrnnSettings
from gardenpath.models.word_lm.word_lm_files import EMBEDDING_WEIGHT, expected_shapes
from gardenpath.models.word_lm.word_lstm import State, WordLstm
from gardenpath.safe_text import parse_json
from gardenpath.store.run_folder import WEIGHTS_FILE

# Distinct prefixes that are computed together.
_MOST_PREFIXES = 4096
# Tokens of a text that are computed together, from the state in which the last ones ended.
_TEXT_TOKENS = 512
# In prefix tries the words follow the special symbols.
_FIRST = len(SPECIALS)
_AGAIN = "copy the run folder again, or adopt the model again"


class GrnnLm:
    """An adopted word-level LSTM; its files are read when they are first needed."""

    def __init__(
        self,
        folder: Path,
        settings: GrnnSettings,
        *,
        device: str = "cpu",
        on_words: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._device = device
        self._on_words = on_words

    @property
    def is_order_dependent(self) -> bool:
        """Whether the score of a sentence depends on the sentences before it."""
        return self._settings.state == "carry"

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        With ``state=fresh``, the first word is not predicted, and its value is NaN. With
        ``state=carry``, the sentences are one text in this order.
        """
        if not sentences:
            return []
        _ = self._network  # before anything else: it must have these words
        numbers = [self._encode(words) for words in sentences]
        with torch.inference_mode():
            if self.is_order_dependent:
                return self._score_text(numbers)
            results: list[Floats] = [np.zeros(0)] * len(numbers)
            tokens = [np.array(one, dtype=np.int64) + _FIRST for one in numbers]
            for trie in tries_by_size(tokens, most=_MOST_PREFIXES):
                scores = self._score_trie(trie)
                for number, rows in zip(trie.numbers, trie.predictions, strict=True):
                    results[number] = scores[rows]
                self._on_words(int(trie.lengths.sum()))
        return results

    def knows(self, word: str) -> bool:
        """Whether the vocabulary contains the word, in this case."""
        return word in self._ids and word not in (self._settings.eos, self._settings.unknown)

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return each word, or the symbol of unknown words for it."""
        return [word if self.knows(word) else self._settings.unknown for word in words]

    def _encode(self, words: Sequence[str]) -> list[int]:
        seen = self.seen_as(words)
        if self._settings.unknown not in self._ids and self._settings.unknown in seen:
            word = words[seen.index(self._settings.unknown)]
            raise GardenpathError(
                f"{self._folder}: the model does not know {word!r}, and its vocabulary has no "
                f"symbol {self._settings.unknown} for unknown words; name the symbol with "
                "model.network.unknown= when you adopt the model"
            )
        return [self._ids[word] for word in seen]

    def _score_trie(self, trie: PrefixTrie) -> Floats:
        """``(predictions,)`` log probabilities of a trie."""
        batch = PrefixBatch.of(trie).to(self._device)
        eos = self._ids[self._settings.eos]
        tokens, targets = batch.tokens - _FIRST, batch.targets - _FIRST
        tokens[batch.tokens == BEGIN_ID] = eos
        targets[batch.targets == END_ID] = eos
        network = self._network
        if self._settings.state == "eos":
            states = network.prefix_states(tokens, batch.parents, batch.sizes)
            return _on_host(network.log_probs(states, batch.contexts, targets))
        # Without a symbol before it, nothing predicts the first word: row 0 has no state.
        found = torch.full(targets.shape, torch.nan, dtype=network.decoder.weight.dtype)
        is_later = batch.contexts > 0
        if is_later.any():
            states = network.prefix_states(tokens[1:], batch.parents[1:] - 1, batch.sizes[1:])
            later = network.log_probs(states, batch.contexts[is_later] - 1, targets[is_later])
            found[is_later.cpu()] = later.cpu()
        return _on_host(found)

    def _score_text(self, sentences: Sequence[Sequence[int]]) -> list[Floats]:
        """Score all sentences as one text, separated by the end symbol, which begins it."""
        eos = self._ids[self._settings.eos]
        text = [eos, *(token for one in sentences for token in (*one, eos))]
        tokens = torch.tensor(text, device=self._device)
        state: State | None = None
        scores = []
        for begin in range(0, len(text) - 1, _TEXT_TOKENS):
            inputs, targets = tokens[:-1][begin:][:_TEXT_TOKENS], tokens[1:][begin:][:_TEXT_TOKENS]
            states, state = self._network.text_states(inputs, state)
            rows = torch.arange(len(inputs), device=self._device)
            scores.append(_on_host(self._network.log_probs(states, rows, targets)))
            self._on_words(int((targets != eos).sum()))
        ends = np.cumsum([len(one) + 1 for one in sentences])
        return np.split(np.concatenate(scores), ends[:-1])

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        path = self._folder / WORDS_FILE
        try:
            words = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DamagedRunError(f"{path}: cannot be read ({error}); {_AGAIN}") from error
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise DamagedRunError(f"{path}: is not a list of words; {_AGAIN}")
        ids = {word: number for number, word in enumerate(words)}
        if len(ids) != len(words) or self._settings.eos not in ids:
            raise DamagedRunError(f"{path}: a word is missing or occurs twice; {_AGAIN}")
        return ids

    @cached_property
    def _network(self) -> WordLstm:
        path = self._folder / WEIGHTS_FILE
        weights = load_arrays(path)
        shapes = {name: array.shape for name, array in weights.items()}
        is_sound = all(array.dtype == np.float32 for array in weights.values())
        if not is_sound or not shapes or shapes != expected_shapes(weights):
            raise DamagedRunError(f"{path}: are not the weights of an LSTM; {_AGAIN}")
        if len(weights[EMBEDDING_WEIGHT]) != len(self._ids):
            raise DamagedRunError(
                f"{path}: the model has {len(weights[EMBEDDING_WEIGHT])} words, but {WORDS_FILE} "
                f"next to it has {len(self._ids)}; {_AGAIN}"
            )
        return WordLstm(weights).to(self._device).eval()


def _on_host(values: torch.Tensor) -> Floats:
    found: Floats = values.double().cpu().numpy()
    return found
