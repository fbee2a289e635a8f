"""Probabilities of words and of characters from a causal model of Hugging Face."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.words.boundaries import Boundary
from gardenpath.data.words.spacing import SpacedText, joined_words
from gardenpath.errors import GardenpathError
from gardenpath.models.pretrained.context_scores import ContextScores, Windows, require_causal
from gardenpath.models.pretrained.contexts import EMPTY, Contexts, TokenSets
from gardenpath.models.pretrained.covers import Covered, Covers, Mark
from gardenpath.models.pretrained.hf_family import HfSettings
from gardenpath.models.pretrained.text_tokens import TextTokens

# Texts whose contexts are collected before the model reads them.
_TEXTS = 512


@dataclass(frozen=True, slots=True)
class PrefixScores:
    """Log probabilities (nats) of prefixes of a text, and of the end of the text after all of it.

    ``end`` is that of the whole text and its end, so that ``end - log_probs[-1]`` is that of the
    end if the last prefix is the text; it is NaN if the model has no token for the end.
    """

    log_probs: Floats
    end: float


class CausalScorer:
    """Scores words and characters; ``load`` returns the model when it is first needed.

    ``notes`` are sentences for the user about what differs from the usual.
    """

    def __init__(
        self,
        *,
        load: Callable[[], Any],
        config: Any,
        tokeniser: Any,
        settings: HfSettings,
        boundary: Boundary,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._load = load
        self._settings = settings
        self._boundary = boundary
        self._on_words = on_words
        self._text_config = config.get_text_config()
        self._tokeniser = tokeniser
        self._tokens = TextTokens(tokeniser.backend_tokenizer)
        self._notes: dict[str, None] = {}
        self._begin = self._first_token()
        self._end = tokeniser.eos_token_id
        self._windows = Windows(self._most_tokens())

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        return tuple(self._notes)

    def check(self) -> None:
        """Raise an error if the model cannot be used; loads the weights."""
        self.prefix_log_probs("a", [1])

    # ---- Words.

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence."""
        results: list[Floats] = [np.zeros(0)] * len(sentences)
        texts = [joined_words(words, self._settings.spacing) for words in sentences]
        for numbers in _sorted_parts([one.text for one in texts]):
            part = [texts[number] for number in numbers]
            words = sum(len(one.ends) for one in part)
            found = self._parts(part, _Progress(self._on_words, words))
            for number, log_probs in zip(numbers, found, strict=True):
                results[number] = log_probs
        return results

    def knows(self, word: str) -> bool:
        """Whether the tokens of a word are its characters, not a symbol for unknown ones."""
        return self._tokens.is_known(joined_words([word], self._settings.spacing).text)

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return the tokens of each word, with blanks between them.

        A token that spans several words is listed with each of them.
        """
        text = joined_words(words, self._settings.spacing)
        (tokens,) = self._tokens.encode([text.text])
        pieces = self._tokens.pieces(tokens)
        owners = list(self._owners(text, tokens))
        return [
            " ".join(piece for piece, (a, b) in zip(pieces, owners, strict=True) if a <= n <= b)
            for n in range(len(words))
        ]

    # ---- Characters.

    def prefix_log_probs(self, text: str, boundaries: Sequence[int]) -> PrefixScores:
        """Return the log probability that a text begins with ``text[:b]``, for each boundary b."""
        (found,) = self.all_prefix_log_probs([text], [boundaries])
        return found

    def all_prefix_log_probs(
        self, texts: Sequence[str], boundaries: Sequence[Sequence[int]]
    ) -> list[PrefixScores]:
        """Do the same for many texts; equal prefixes are computed once."""
        for text, places in zip(texts, boundaries, strict=True):
            if list(places) != sorted(places) or not all(0 <= b <= len(text) for b in places):
                raise GardenpathError(f"boundaries must ascend from 0 to {len(text)}: {places}")
        results: list[PrefixScores] = [PrefixScores(np.zeros(0), 0.0)] * len(texts)
        for numbers in _sorted_parts(texts):
            part = [texts[number] for number in numbers]
            marks: list[list[Mark]] = [[(b, "anything") for b in boundaries[n]] for n in numbers]
            found = self._prefixes(part, marks)
            for number, (covered, end) in zip(numbers, found, strict=True):
                results[number] = self._defined(np.array([value for value, _ in covered]), end)
        return results

    def _defined(self, values: Floats, end: float) -> PrefixScores:
        if self._begin is None:  # nothing is known about the first token
            return PrefixScores(np.full(len(values), np.nan), np.nan)
        return PrefixScores(values, end)

    # ---- Computing.

    def _parts(self, texts: Sequence[SpacedText], progress: _Progress) -> Iterator[Floats]:
        """Score sentences together."""
        marks = [self._marks(one) for one in texts]
        found = self._prefixes([one.text for one in texts], marks, texts, progress)
        for covered, end in found:
            values, firsts = np.array([(value, first) for value, first in covered]).reshape(-1, 2).T
            if self._begin is None:
                yield _given_first(values, firsts, end)
            else:
                yield np.diff(np.array([0.0, *values, end]))

    def _marks(self, text: SpacedText) -> list[Mark]:
        if self._boundary == "next":
            return list(zip(text.ends, text.after, strict=True))
        return [(end, "anything") for end in text.ends]

    def _prefixes(
        self,
        texts: Sequence[str],
        marks: Sequence[Sequence[Mark]],
        words: Sequence[SpacedText] | None = None,
        progress: _Progress | None = None,
    ) -> list[tuple[list[tuple[float, int | None]], float]]:
        """Return log probabilities and first tokens of prefixes, and that of text and end."""
        contexts = Contexts(self._sets)
        covers = Covers(self._tokens, contexts)
        whole = covers.whole(texts)
        if self._boundary == "none" and words is not None:
            covered = [self._by_tokens(*one, contexts) for one in zip(words, whole, strict=True)]
        else:
            covered = covers.prefixes(texts, marks)
        has_end = self._end is not None
        ends = [contexts.ask(path[-1], self._sets.end) for path in whole] if has_end else []
        self._require_context(contexts)
        sums = self._scores.sums(contexts, progress or (lambda _: None))
        log_probs = contexts.log_probs(sums)
        if self._begin is None:
            covered = [[one.given_first(contexts) for one in found] for found in covered]
        return [
            (
                [(one.log_prob(log_probs, sums), one.first_token) for one in found],
                float(log_probs[path[-1]] + sums[ends[number]]) if has_end else np.nan,
            )
            for number, (found, path) in enumerate(zip(covered, whole, strict=True))
        ]

    def _by_tokens(self, text: SpacedText, path: list[int], contexts: Contexts) -> list[Covered]:
        """Return, for each word, the context of all tokens up to its last one."""
        tokens = [contexts.tokens[context] for context in path[1:]]
        ends = [EMPTY] * len(text.ends)
        for number, (first, last) in enumerate(self._owners(text, tokens)):
            if first != last:
                (piece,) = self._tokens.pieces(tokens[number : number + 1])
                one, other = (text.text[text.starts[n] : text.ends[n]] for n in (first, last))
                raise GardenpathError(
                    f"the token {piece!r} of {text.text!r} spans the words {one!r} and {other!r}: "
                    "probabilities of tokens are not those of words; select boundary=next or "
                    "boundary=leading"
                )
            ends[first] = path[number + 1]
        return [Covered(((context, None),), tokens[0]) for context in ends]

    def _owners(self, text: SpacedText, tokens: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The first and the last word of each token; blanks belong to the word that follows."""
        data = self._tokens.data(text.text)
        ends = [len(self._tokens.data(text.text[:end])) for end in text.ends]
        offset = 0
        for token in tokens:
            content = self._tokens.bytes.content[token] or b""
            end = offset + len(content)
            begin = end - len(data[offset:end].lstrip(b" "))
            first = int(np.searchsorted(ends, begin, side="right"))
            yield first, max(first, int(np.searchsorted(ends, end, side="left")))
            offset = end

    # ---- The model.

    @cached_property
    def _sets(self) -> TokenSets:
        return TokenSets(self._tokens.bytes, self._settings.spacing, self._end)

    @cached_property
    def _scores(self) -> ContextScores:
        model = self._load()
        require_causal(model)
        size = self._settings.batch_tokens
        return ContextScores(model, begin=self._begin, windows=self._windows, size=size)

    def _first_token(self) -> int | None:
        """Return the token before each sentence; anything but exactly one BOS is announced."""
        choice = self._settings.bos
        own = self._tokeniser.bos_token_id
        if own is None:
            own = self._text_config.bos_token_id
        if choice == "auto":
            added = self._tokeniser("a").input_ids[:1]
            own = own if added == [own] else None
            adds = "no BOS" if own is None else "a BOS"
            self._note(f"bos=auto: the tokeniser puts {adds} before sentences")
        elif choice == "none":
            own = None
        elif own is None:
            own = self._tokeniser.eos_token_id
            if own is None:
                raise GardenpathError(
                    "the model has neither a BOS nor an EOS token, so that the first word has no "
                    "probability; set bos=none to score the other words"
                )
            self._note("the model has no BOS token; EOS stands before each sentence")
        if own is None:
            self._note(f"bos={choice}: the first word of a sentence has no probability (NaN)")
        return None if own is None else int(own)

    def _most_tokens(self) -> int | None:
        """Number of tokens after BOS that the model can read; None if there is no limit."""
        positions = getattr(self._text_config, "max_position_embeddings", None)
        return None if positions is None else int(positions) - (self._begin is not None)

    def _require_context(self, contexts: Contexts) -> None:
        most, longest = self._windows.most, max(contexts.depths)
        if most is None or longest <= most:
            return
        if self._settings.context == "refuse":
            raise GardenpathError(
                f"a sentence has {longest} tokens, but the model reads {most}; split it, or set "
                "context=slide"
            )
        self._note(
            f"context=slide: of sentences longer than {most} tokens, at least the last "
            f"{most - max(most // 2, 1) + 1} tokens before each token are read"
        )

    def _note(self, text: str) -> None:
        self._notes[text] = None


class _Progress:
    """Turns shares that are done into numbers of words."""

    def __init__(self, on_words: Callable[[int], None], words: int) -> None:
        self._on_words, self._words, self._done = on_words, words, 0

    def __call__(self, share: float) -> None:
        done = int(share * self._words)
        if done > self._done:
            self._on_words(done - self._done)
            self._done = done


def _sorted_parts(texts: Sequence[str]) -> Iterator[list[int]]:
    """Divide texts into parts in which those with equal beginnings are together."""
    order = sorted(range(len(texts)), key=lambda number: texts[number])
    for begin in range(0, len(order), _TEXTS):
        yield order[begin : begin + _TEXTS]


def _given_first(values: Floats, firsts: Floats, end: float) -> Floats:
    """Differences of log probabilities given the first token, where it is the same."""
    found = np.diff(np.array([np.nan, *values, end]))
    is_other = np.flatnonzero(firsts[1:] != firsts[:-1]) + 1
    found[is_other] = np.nan
    return found
