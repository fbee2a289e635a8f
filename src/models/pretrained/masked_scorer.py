"""Score words with masked language models: pseudo-log-likelihoods.

Each token of a word is predicted with a mask in its place, from the tokens on both sides. The score
of a word is the sum over its tokens of log p(token | other tokens), where other tokens of the same
word are masked too, or not (:data:`Pll`). The sum over a sentence is its pseudo-log-likelihood,
which is not the logarithm of a probability: the scores of all sentences do not add up to one.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gardenpath.data.arrays import Floats
from gardenpath.data.words.spacing import Spacing
from gardenpath.data.words.unknown_words import UNKNOWN
from gardenpath.errors import GardenpathError
from gardenpath.models.pretrained.masked_family import Pll, Unscorable
from gardenpath.models.pretrained.masked_words import WordTokens, word_tokens
from gardenpath.text import Words

# A prediction: tokens with masks, and the position of the token to predict.
_Row = tuple[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The token whose log probability is part of the score of a word."""

    target: int
    sentence: Words
    word: int
    is_last: bool


class MaskedScorer:
    """Scores words with a masked language model; ``network`` is called when it is first needed.

    Predictions that several sentences share, such as those of a word that alone distinguishes two
    sentences, are computed once.
    """

    def __init__(
        self,
        tokenizer: Any,
        network: Callable[[], nn.Module],
        *,
        pll: Pll = "within_word_l2r",
        unscorable: Unscorable = "refuse",
        spacing: Spacing = "auto",
        max_batch_tokens: int = 4096,
        device: torch.device | str = "cpu",
        on_words: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._tokenizer = tokenizer
        self._load = network
        self._pll = pll
        self._unscorable = unscorable
        self._spacing: Spacing = spacing
        self._max_batch_tokens = max_batch_tokens
        self._device = torch.device(device)
        self._on_words = on_words

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the score (nats) of each word; that of the end is NaN."""
        asked = list(map(tuple, sentences))
        scores = {words: np.full(len(words) + 1, np.nan) for words in asked}
        rows: dict[_Row, list[_Asked]] = defaultdict(list)
        for words in scores:
            for row, one in self._predictions(words):
                rows[row].append(one)
                scores[words][one.word] = 0.0
        self._on_words(sum(int(np.isnan(one[:-1]).sum()) for one in scores.values()))
        for batch in self._batches(list(rows)):
            members = [(place, one) for place, row in enumerate(batch) for one in rows[row]]
            found = self._log_probs(batch, [(place, one.target) for place, one in members])
            for (_, one), value in zip(members, found, strict=True):
                scores[one.sentence][one.word] += value
            self._on_words(sum(one.is_last for _, one in members))
        return [scores[words].copy() for words in asked]

    def knows(self, word: str) -> bool:
        """Whether the word has no unknown token."""
        unknown = self._tokenizer.unk_token_id
        return unknown is None or unknown not in self._tokens((word,)).ids

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return the tokens of each word, separated by blanks."""
        found = self._tokens(tuple(words))
        names = [self._name(number) for number in found.ids]
        return [" ".join(names[place] for place in places) for places in found.positions]

    def _name(self, number: int) -> str:
        is_unknown = number == self._tokenizer.unk_token_id
        return UNKNOWN if is_unknown else str(self._tokenizer.convert_ids_to_tokens(number))

    def _tokens(self, words: Words) -> WordTokens:
        return word_tokens(self._tokenizer, words, self._spacing)

    def _predictions(self, words: Words) -> Iterator[tuple[_Row, _Asked]]:
        """Yield what has to be predicted for a sentence, in the order of its tokens."""
        tokens = self._tokens(words)
        if tokens.problems and self._unscorable == "refuse":
            raise GardenpathError(
                f"{_shown(words)}: {next(iter(tokens.problems.values()))}; leave out the values of "
                "such words with model.network.unscorable=missing, or choose another model"
            )
        self._require_room(words, len(tokens.ids))
        mask = self._tokenizer.mask_token_id
        for word, places in enumerate(tokens.positions):
            if word in tokens.problems:
                continue
            for number, place in enumerate(places):
                masked = list(tokens.ids)
                for other in self._masked_places(places, number):
                    masked[other] = mask
                is_last = number == len(places) - 1
                yield (tuple(masked), place), _Asked(tokens.ids[place], words, word, is_last)

    def _masked_places(self, places: Sequence[int], number: int) -> Sequence[int]:
        """Return the tokens of a word that are masked when one of them is predicted."""
        if self._pll == "whole_word":
            return places
        return places[number:] if self._pll == "within_word_l2r" else places[number : number + 1]

    def _require_room(self, words: Words, length: int) -> None:
        if length > self._longest:
            raise GardenpathError(
                f"{_shown(words)}: the sentence has {length} tokens with the special ones, but the "
                f"model reads at most {self._longest}; divide the sentence, or leave it out"
            )

    def _batches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Divide predictions into batches of equal length, so that nothing is padded."""
        by_length: dict[int, list[_Row]] = defaultdict(list)
        for row in rows:
            by_length[len(row[0])].append(row)
        for length, members in sorted(by_length.items()):
            size = max(1, self._max_batch_tokens // length)
            for start in range(0, len(members), size):
                yield members[start : start + size]

    def _log_probs(self, rows: Sequence[_Row], wanted: Sequence[tuple[int, int]]) -> list[float]:
        """Return log probabilities, each of a token in one of the rows."""
        ids = torch.tensor([ids for ids, _ in rows], device=self._device)
        places = torch.tensor([place for _, place in rows], device=self._device)
        with torch.inference_mode():
            logits = _logits_at(self._network, ids, places)
            logits = logits if logits.dtype == torch.float64 else logits.float()
            chosen = torch.tensor(wanted, device=self._device)
            found = logits.log_softmax(-1)[chosen[:, 0], chosen[:, 1]]
        values: list[float] = found.double().cpu().tolist()
        return values

    @functools.cached_property
    def _network(self) -> nn.Module:
        return self._load().to(self._device).eval()

    @functools.cached_property
    def _longest(self) -> int:
        """Number of tokens that the model and its tokeniser allow."""
        config: Any = self._network.config
        limits = [
            getattr(config, "max_position_embeddings", None),
            self._tokenizer.model_max_length,
        ]
        for name, part in self._network.named_modules():
            if name.endswith("position_embeddings") and isinstance(part, nn.Embedding):
                # RoBERTa counts positions from the one after the padding's.
                before = 0 if part.padding_idx is None else part.padding_idx + 1
                limits.append(part.num_embeddings - before)
        # -1 stands for no limit.
        return min(int(limit) for limit in limits if limit > 0)


def _logits_at(network: Any, ids: Tensor, places: Tensor) -> Tensor:
    """``(rows, vocabulary)`` logits at one position of each row.

    With a large vocabulary, the output layer costs as much as all others together. So the layer is
    given one state of each row; a network without such a layer computes the logits of all.
    """
    rows, length = ids.shape
    select = torch.arange(rows, device=ids.device)

    def at_places(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        states = inputs[0]
        if states.shape[:-1] != (rows, length):
            return None
        return (states[select, places].unsqueeze(1), *inputs[1:])

    output = network.get_output_embeddings()
    hook = None if output is None else output.register_forward_pre_hook(at_places)
    try:
        logits: Tensor = network(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    finally:
        if hook is not None:
            hook.remove()
    return logits[:, 0] if logits.shape[1] == 1 else logits[select, places]


def _shown(words: Words) -> str:
    text = " ".join(words)
    return repr(text if len(text) <= 100 else f"{text[:100]}…")
