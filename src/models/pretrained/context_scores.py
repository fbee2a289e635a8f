"""Compute sums of probabilities of next tokens after many contexts, each context once.

All contexts of a batch form one sequence in which each token attends to those before it in its own
context, with the positions that it has there. Models that compute something else in this way, such
as recurrent ones, read padded batches of contexts instead; :class:`ContextScores` finds out which.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.prefixes import PrefixTrie, tries_by_size
from gardenpath.errors import GardenpathError
from gardenpath.models.pretrained.contexts import ENDING, Contexts
from gardenpath.models.sequential.shared_prefixes import PrefixBatch

# Probabilities that are added at once.
_MOST_ADDED = 1 << 22
# Logits that are in memory at once.
_MOST_LOGITS = 1 << 26
# The deepest difference between the two ways of computing, relative to the spread of logits.
_TOLERANCES = {torch.float64: 1e-7, torch.float32: 1e-3, torch.bfloat16: 0.1}
_FIRST_TRIED = 16


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
        asked = _Asked(contexts)
        found = np.full(len(contexts.askers), np.nan)
        readings = list(self._readings(contexts))
        done = 0
        with torch.inference_mode():
            for logits, rows in self._logits(
                [one for one in readings if one.tokens or self._begin is not None]
            ):
                numbers, values = asked.sums(logits, rows)
                found[numbers] = values
                done += len(rows)
                on_share(done / len(contexts.parents))
        on_share(1.0)
        return found

    # ---- What the model reads.

    def _readings(self, contexts: Contexts) -> Iterator[_Reading]:
        """Divide contexts after which something is asked into sequences that contain them."""
        pending = {*contexts.askers}
        # Longer contexts first: shorter ones are mostly their beginnings.
        for context in sorted(pending, key=lambda one: -contexts.depths[one]):
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
        sentences = [np.array(one.tokens, dtype=np.int32) for one in readings]
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
        found: Tensor = self._model(
            input_ids=tokens[None], attention_mask=mask[None, None], position_ids=positions[None],
            use_cache=False,
        ).logits[0]  # fmt: skip
        return found

    def _read_alone(self, readings: Sequence[_Reading]) -> Iterator[tuple[Tensor, dict[int, int]]]:
        """Read padded batches of sequences of similar length; padding is at the end."""
        lead = [] if self._begin is None else [self._begin]
        ordered = sorted(readings, key=lambda one: -len(one.tokens))
        for batch in _batches(ordered, self._size):
            tokens = [lead + one.tokens for one in batch]
            logits = self._plain_logits(tokens)
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
        found: Tensor = self._model(input_ids=tokens, attention_mask=mask, use_cache=False).logits
        return found

    # ---- Which way to read.

    def reads_trees(self, length: int) -> bool:
        """Whether the model reads trees of sequences of a length correctly; tried once each."""
        while self._tried < length <= self._deepest:
            longer = max(2 * self._tried, _FIRST_TRIED)
            longer = min(longer, self._deepest, self._longest())
            if longer <= self._tried:
                break
            if not self._is_same(longer):
                self._deepest = self._tried
                break
            self._tried = longer
        return length <= min(self._tried, self._deepest)

    def _longest(self) -> int:
        return (1 << 30) if self._windows.most is None else self._windows.most + 1

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
                one, other = tokens[:length], torch.cat([tokens[: length - 2], tokens[length:]])
                plain = self._plain_logits([one.tolist(), other.tolist()])
        except (TypeError, ValueError, RuntimeError, IndexError, NotImplementedError):
            return False  # the model has no such arguments
        pairs = zip(
            tree[[length - 1, length + 1]].float(), plain[:, length - 1].float(), strict=True
        )
        tolerance = _TOLERANCES.get(self._model.dtype, 0.1)
        return all(float((a - b).abs().max()) <= tolerance * float(b.std()) for a, b in pairs)


class _Asked:
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
        found = np.empty(len(numbers))
        found[~is_ending] = self._ranges(logits, places[~is_ending], numbers[~is_ending])
        found[is_ending] = self._endings(logits, places[is_ending])
        totals = logits.logsumexp(1).double().cpu().numpy()
        return numbers, found - totals[places]

    def _endings(self, logits: Tensor, rows: Ints) -> Floats:
        tokens = self._ending.to(logits.device)
        parts = [logits[int(row)][tokens].logsumexp(0) for row in rows]
        found: Floats = torch.stack(parts).double().cpu().numpy() if parts else np.empty(0)
        return found

    def _ranges(self, logits: Tensor, rows: Ints, numbers: Ints) -> Floats:
        """Logarithms of sums of exponentials over ranges of tokens."""
        begins, ends = self._sets[numbers].T
        sizes = np.cumsum(ends - begins)
        found = []
        for first, last in _parts(sizes):
            found.append(
                _log_sums(
                    logits, self._tokens, rows[first:last], begins[first:last], ends[first:last]
                )
            )
        return np.concatenate(found) if found else np.empty(0)


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
    found: Floats = (peaks + totals.log()).numpy()
    return found


def _parts(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Divide ranges, given their cumulated sizes, into parts of limited size."""
    groups = itertools.groupby(range(len(sizes)), key=lambda n: int(sizes[n]) // _MOST_ADDED)
    for _, members in groups:
        numbers = list(members)
        yield numbers[0], numbers[-1] + 1


def _batches(readings: Iterable[_Reading], size: int) -> Iterator[list[_Reading]]:
    """Divide sequences, longest first, into batches of limited size."""
    batch: list[_Reading] = []
    for one in readings:
        if batch and (len(batch) + 1) * (len(batch[0].tokens) + 1) > size:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


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
