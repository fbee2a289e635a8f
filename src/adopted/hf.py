"""Probabilities of words and of characters from a causal model of Hugging Face.

:class:`HfFamily` opens :class:`CausalScorer`, which asks :class:`Covers` which sums of
probabilities of next tokens it needs, and :class:`ContextScores` for their values, each context
once. All contexts of a batch form one sequence in which each token attends to those before it in
its own context, with the positions that it has there. Models that compute something else in this
way, such as recurrent ones, read padded batches of contexts instead. Files are never read here.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gardenpath.adopted.covers import (
    EMPTY,
    ENDING,
    Contexts,
    Covered,
    Covers,
    Mark,
    TextTokens,
    TokenSets,
)  # fmt: skip
from gardenpath.adopted.families import HfSettings
from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.sentence import PrefixTrie, tries_by_size
from gardenpath.data.words.pieces import Boundary, SpacedText, joined_words
from gardenpath.errors import GardenpathError
from gardenpath.models.sequential.networks import PrefixBatch

# Probabilities that are added at once.
_MOST_ADDED = 1 << 22
# Logits that are in memory at once.
_MOST_LOGITS = 1 << 26
# The deepest difference between the two ways of computing, relative to the spread of logits.
_TOLERANCES = {torch.float64: 1e-7, torch.float32: 1e-3, torch.bfloat16: 0.1}


@dataclass(frozen=True, slots=True)
class Windows:
    """Which tokens of a long context a model reads.

    It reads the last ones: all of them if there are at most ``most``, otherwise windows begin at
    multiples of half of this number, so that at least half of them are read.
    """

    most: int | None

    def begin(self, depth: int) -> int:
        """Return the number of tokens that are left out of a context of a length."""
        if self.most is None or depth <= self.most:
            return 0
        stride = max(self.most // 2, 1)
        return -(-(depth - self.most) // stride) * stride


@dataclass(slots=True)
class _Reading:
    """A sequence of tokens that the model reads; contexts are given by their lengths in it."""

    tokens: list[int]
    contexts: list[tuple[int, int]] = field(default_factory=list)


class ContextScores:
    """Asks a causal language model for next tokens.

    ``begin`` is the token before each context; without one, nothing is known after the empty
    context. ``size`` is the number of tokens that the model reads at once.
    """

    def __init__(self, model: Any, *, begin: int | None, windows: Windows, size: int) -> None:
        self._model = model
        self._begin = begin
        self._windows = windows
        self._size = max(1, min(size, _MOST_LOGITS // int(model.config.vocab_size)))
        window = getattr(model.config, "sliding_window", None)
        self._deepest = int(window) if window else (1 << 30)
        self._tried = 0

    def sums(self, contexts: Contexts, on_share: Callable[[float], None]) -> Floats:
        """Return the logarithms of all sums; ``on_share`` gets the share that is done."""
        asked = _AskedSums(contexts)
        sums = np.full(len(contexts.askers), np.nan)
        readings = [
            reading
            for reading in self._readings(contexts)
            if reading.tokens or self._begin is not None
        ]
        done = 0
        with torch.inference_mode():
            for logits, rows in self._logits(readings):
                numbers, values = asked.sums(logits, rows)
                sums[numbers] = values
                done += len(rows)
                on_share(done / len(contexts.parents))
        on_share(1.0)
        return sums

    # ---- What the model reads.

    def _readings(self, contexts: Contexts) -> Iterator[_Reading]:
        """Divide contexts after which something is asked into sequences that contain them."""
        pending = {*contexts.askers}
        # Longer contexts first: shorter ones are mostly their beginnings.
        for context in sorted(pending, key=lambda context: -contexts.depths[context]):
            if context not in pending:
                continue
            tokens = contexts.sequence(context)
            path = contexts.path(tokens)
            begin = self._windows.begin(len(tokens))
            reading = _Reading(tokens[begin:])
            for depth in range(begin, len(tokens) + 1):
                if path[depth] in pending and self._windows.begin(depth) == begin:
                    pending.remove(path[depth])
                    reading.contexts.append((path[depth], depth - begin))
            yield reading

    # ---- Reading: each yields logits (rows, vocabulary) and the row of each context.

    def _logits(self, readings: Sequence[_Reading]) -> Iterator[tuple[Tensor, dict[int, int]]]:
        alone: list[_Reading] = []
        sentences = [np.array(reading.tokens, dtype=np.int32) for reading in readings]
        for trie in tries_by_size(sentences, most=self._size):
            members = [readings[number] for number in trie.numbers]
            if self.reads_trees(trie.length + 1):
                yield self._read_tree(trie, members)
            else:
                alone += members
        yield from self._read_alone(alone)

    def _read_tree(
        self, trie: PrefixTrie, readings: Sequence[_Reading]
    ) -> tuple[Tensor, dict[int, int]]:
        shift = 1 if self._begin is None else 0  # the row of the empty prefix is left out
        rows = {
            context: int(trie.paths[number, depth]) - shift
            for number, reading in enumerate(readings)
            for context, depth in reading.contexts
            if depth or not shift
        }
        batch = PrefixBatch.of(trie).to(self._model.device)
        tokens, depths = batch.tokens[shift:], batch.depths[shift:] - shift
        if self._begin is not None:
            tokens[0] = self._begin
        return self._tree_logits(tokens, depths, batch.is_ancestor()[shift:, shift:]), rows

    def _tree_logits(self, tokens: Tensor, positions: Tensor, visible: Tensor) -> Tensor:
        hidden = torch.finfo(self._model.dtype).min
        mask = torch.zeros(visible.shape, dtype=self._model.dtype, device=tokens.device)
        mask.masked_fill_(~visible, hidden)
        logits: Tensor = self._model(
            input_ids=tokens[None], attention_mask=mask[None, None], position_ids=positions[None],
            use_cache=False,
        ).logits  # fmt: skip
        return logits[0]

    def _read_alone(self, readings: Sequence[_Reading]) -> Iterator[tuple[Tensor, dict[int, int]]]:
        """Read padded batches of sequences of similar length; padding is at the end."""
        lead = [] if self._begin is None else [self._begin]
        ordered = sorted(readings, key=lambda reading: -len(reading.tokens))
        while ordered:
            count = max(1, self._size // (len(ordered[0].tokens) + 1))
            batch, ordered = ordered[:count], ordered[count:]
            logits = self._plain_logits([lead + reading.tokens for reading in batch])
            width = logits.shape[1]
            rows = {
                context: number * width + depth - 1 + len(lead)
                for number, reading in enumerate(batch)
                for context, depth in reading.contexts
                if depth or lead
            }
            yield logits.flatten(0, 1), rows

    def _plain_logits(self, sequences: Sequence[Sequence[int]]) -> Tensor:
        width = max(len(tokens) for tokens in sequences)
        padded = [[*tokens] + [0] * (width - len(tokens)) for tokens in sequences]
        lengths = torch.tensor([len(tokens) for tokens in sequences])
        mask = (torch.arange(width) < lengths[:, None]).long().to(self._model.device)
        tokens = torch.tensor(padded, device=self._model.device)
        logits: Tensor = self._model(input_ids=tokens, attention_mask=mask, use_cache=False).logits
        return logits

    # ---- Which way to read.

    def reads_trees(self, length: int) -> bool:
        """Whether the model reads trees of sequences of a length correctly; tried once each."""
        while self._tried < length <= self._deepest:
            most = (1 << 30) if self._windows.most is None else self._windows.most + 1
            longer = min(max(2 * self._tried, 16), self._deepest, most)
            if longer <= self._tried:
                break
            if not self._is_same(longer):
                self._deepest = self._tried
                break
            self._tried = longer
        return length <= min(self._tried, self._deepest)

    def _is_same(self, length: int) -> bool:
        """Compare two sequences that differ at the end, read as a tree and each on its own."""
        generator = torch.Generator().manual_seed(length)
        size = int(self._model.config.vocab_size)
        tokens = torch.randint(size, (length + 2,), generator=generator)
        tokens[0] = tokens[0] if self._begin is None else self._begin
        # The last two tokens are an alternative to the two before them.
        parents = [*range(-1, length - 1), length - 3, length]
        visible = torch.zeros((length + 2, length + 2), dtype=torch.bool)
        for row, parent in enumerate(parents):
            if parent >= 0:
                visible[row] = visible[parent]
            visible[row, row] = True
        positions = visible.sum(1) - 1
        device = self._model.device
        try:
            with torch.inference_mode():
                tree = self._tree_logits(
                    tokens.to(device), positions.to(device), visible.to(device)
                )
                other = torch.cat([tokens[: length - 2], tokens[length:]])
                plain = self._plain_logits([tokens[:length].tolist(), other.tolist()])
        except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError):
            return False  # the model has no such arguments
        pairs = zip(tree[[length - 1, length + 1]], plain[:, length - 1], strict=True)
        tolerance = _TOLERANCES.get(self._model.dtype, 0.1)
        return all(
            float((a.float() - b.float()).abs().max()) <= tolerance * float(b.float().std())
            for a, b in pairs
        )


class _AskedSums:
    """The sums that are asked after each context, as arrays."""

    def __init__(self, contexts: Contexts) -> None:
        self._tokens = torch.from_numpy(contexts.token_sets.tokens)
        self._ending = torch.from_numpy(contexts.token_sets.ending)
        self._numbers: dict[int, list[int]] = defaultdict(list)
        for number, context in enumerate(contexts.askers):
            self._numbers[context].append(number)
        self._sets: Ints = np.array(contexts.sets, dtype=np.int64).reshape(-1, 2)

    def sums(self, logits: Tensor, rows: dict[int, int]) -> tuple[Ints, Floats]:
        """Return the numbers of the sums after some contexts, and their logarithms.

        Contexts have rows in the logits ``(rows, vocabulary)``.
        """
        pairs = [
            (number, row) for context, row in rows.items() for number in self._numbers[context]
        ]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        numbers, places = table[:, 0], table[:, 1]
        logits = logits if logits.dtype == torch.float64 else logits.float()
        is_ending = self._sets[numbers, 0] == ENDING[0]
        values = np.empty(len(numbers))
        values[~is_ending] = self._ranges(logits, places[~is_ending], numbers[~is_ending])
        if is_ending.any():
            ending = self._ending.to(logits.device)
            parts = [logits[int(row)][ending].logsumexp(0) for row in places[is_ending]]
            values[is_ending] = torch.stack(parts).double().cpu().numpy()
        totals = logits.logsumexp(1).double().cpu().numpy()
        return numbers, values - totals[places]

    def _ranges(self, logits: Tensor, rows: Ints, numbers: Ints) -> Floats:
        """Logarithms of sums of exponentials over ranges of tokens."""
        begins, ends = self._sets[numbers].T
        # Ranges are added in parts of limited size.
        groups = np.cumsum(ends - begins) // _MOST_ADDED
        edges = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(numbers)]
        values = np.empty(len(numbers))
        for first, last in itertools.pairwise(edges):
            part = slice(first, last)
            values[part] = _log_sums(logits, self._tokens, rows[part], begins[part], ends[part])
        return values


def _log_sums(logits: Tensor, tokens: Tensor, rows: Ints, begins: Ints, ends: Ints) -> Floats:
    lengths = torch.from_numpy(ends - begins)
    segments = torch.repeat_interleave(torch.arange(len(rows)), lengths)
    offsets = torch.arange(len(segments)) - (lengths.cumsum(0) - lengths)[segments]
    columns = tokens[torch.from_numpy(begins)[segments] + offsets].to(logits.device)
    values = logits[torch.from_numpy(rows)[segments].to(logits.device), columns].cpu().double()
    nothing = torch.full((len(rows),), -torch.inf, dtype=torch.float64)
    peaks = nothing.scatter_reduce(0, segments, values, "amax")
    shifted = (values - peaks.clamp(min=torch.finfo(torch.float64).min)[segments]).exp()
    totals = torch.zeros_like(peaks).index_add(0, segments, shifted)
    sums: Floats = (peaks + totals.log()).numpy()
    return sums


def require_causal(model: Any) -> None:
    """Raise an error if a prediction depends on tokens that follow it."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(int(model.config.vocab_size), (2, 6), generator=generator)
    tokens[1, :4] = tokens[0, :4]
    tokens[1, 4:] = (tokens[0, 4:] + 1) % int(model.config.vocab_size)
    with torch.inference_mode():
        logits = model(input_ids=tokens.to(model.device), use_cache=False).logits[:, :4].float()
    difference = float((logits[0] - logits[1]).abs().max())
    tolerance = _TOLERANCES.get(model.dtype, 0.1)
    if not difference <= tolerance * float(logits.std()):
        raise GardenpathError(
            "the model reads words that follow, so that it has no surprisal: it is not a causal "
            "language model; use model=masked"
        )


# ---- The scorer.

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
        # Tokens after BOS that the model can read.
        positions = getattr(self._text_config, "max_position_embeddings", None)
        begins = self._begin is not None
        self._windows = Windows(None if positions is None else int(positions) - begins)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        return tuple(self._notes)

    def check(self) -> None:
        """Raise an error if the model cannot be used; loads the weights."""
        self.prefix_log_probs("a", [1])

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence."""
        results: list[Floats] = [np.zeros(0)] * len(sentences)
        texts = [joined_words(words, self._settings.spacing) for words in sentences]
        # Those with equal beginnings are scored together.
        order = sorted(range(len(texts)), key=lambda number: texts[number].text)
        for begin in range(0, len(order), _TEXTS):
            numbers = order[begin : begin + _TEXTS]
            scores = self._score([texts[number] for number in numbers])
            for number, log_probs in zip(numbers, scores, strict=True):
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

    def prefix_log_probs(self, text: str, boundaries: Sequence[int]) -> PrefixScores:
        """Return the log probability that a text begins with ``text[:b]``, for each boundary b."""
        is_ascending = list(boundaries) == sorted(boundaries)
        if not is_ascending or not all(0 <= b <= len(text) for b in boundaries):
            raise GardenpathError(f"boundaries must ascend from 0 to {len(text)}: {boundaries}")
        marks: list[Mark] = [(b, "anything") for b in boundaries]
        ((scored, end),) = self._prefixes([text], [marks])
        if self._begin is None:  # nothing is known about the first token
            return PrefixScores(np.full(len(scored), np.nan), np.nan)
        return PrefixScores(np.array([log_prob for log_prob, _ in scored]), end)

    def _score(self, texts: Sequence[SpacedText]) -> Iterator[Floats]:
        """Score sentences together."""
        marks: list[list[Mark]] = [
            list(zip(text.ends, text.after, strict=True))
            if self._boundary == "next"
            else [(end, "anything") for end in text.ends]
            for text in texts
        ]
        words, done = sum(len(text.ends) for text in texts), 0

        def on_share(share: float) -> None:
            nonlocal done
            if int(share * words) > done:
                self._on_words(int(share * words) - done)
                done = int(share * words)

        scored = self._prefixes([text.text for text in texts], marks, texts, on_share)
        for prefixes, end in scored:
            values, firsts = np.array(prefixes, dtype=np.float64).reshape(-1, 2).T
            if self._begin is not None:
                yield np.diff(np.array([0.0, *values, end]))
                continue
            # Differences given the first token are defined where it is the same.
            log_probs = np.diff(np.array([np.nan, *values, end]))
            log_probs[np.flatnonzero(firsts[1:] != firsts[:-1]) + 1] = np.nan
            yield log_probs

    def _prefixes(
        self,
        texts: Sequence[str],
        marks: Sequence[Sequence[Mark]],
        words: Sequence[SpacedText] | None = None,
        on_share: Callable[[float], None] = lambda _: None,
    ) -> list[tuple[list[tuple[float, int | None]], float]]:
        """Return log probabilities and first tokens of prefixes, and that of text and end."""
        contexts = Contexts(self._sets)
        covers = Covers(self._tokens, contexts)
        whole = covers.whole(texts)
        if self._boundary == "none" and words is not None:
            covered = [self._by_tokens(*word, contexts) for word in zip(words, whole, strict=True)]
        else:
            covered = covers.prefixes(texts, marks)
        has_end = self._end is not None
        ends = [contexts.ask(path[-1], self._sets.end) for path in whole] if has_end else []
        self._require_context(contexts)
        sums = self._scores.sums(contexts, on_share)
        log_probs = contexts.log_probs(sums)
        if self._begin is None:
            covered = [[prefix.given_first(contexts) for prefix in text] for text in covered]
        return [
            (
                [(prefix.log_prob(log_probs, sums), prefix.first_token) for prefix in prefixes],
                float(log_probs[path[-1]] + sums[ends[number]]) if has_end else np.nan,
            )
            for number, (prefixes, path) in enumerate(zip(covered, whole, strict=True))
        ]

    def _by_tokens(self, text: SpacedText, path: list[int], contexts: Contexts) -> list[Covered]:
        """Return, for each word, the context of all tokens up to its last one."""
        tokens = [contexts.tokens[context] for context in path[1:]]
        ends = [EMPTY] * len(text.ends)
        for number, (first, last) in enumerate(self._owners(text, tokens)):
            if first != last:
                (piece,) = self._tokens.pieces(tokens[number : number + 1])
                spanned = [text.text[text.starts[n] : text.ends[n]] for n in (first, last)]
                raise GardenpathError(
                    f"the token {piece!r} of {text.text!r} spans the words {spanned[0]!r} and "
                    f"{spanned[1]!r}: probabilities of tokens are not those of words; select "
                    "boundary=next or boundary=leading"
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
