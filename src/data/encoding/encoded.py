"""Corpus splits as vocabulary ids, from which batches are built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from gardenpath.data.arrays import Bools, Floats, Ints, Tokens
from gardenpath.data.encoding.raw_split import RawSplit
from gardenpath.data.trees.actions import Kind
from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import InputError

# NumPy reads the headers of arrays with Python's tokenizer, which has errors of its own.
_DAMAGE = (
    OSError, EOFError, ValueError, SyntaxError, TokenError, MemoryError, OverflowError,
)  # fmt: skip
_ARRAYS = ("tokens", "starts_word", "offsets", "actions", "action_offsets")


@dataclass(frozen=True, slots=True)
class EncodedSplit:
    """All sentences of a split, concatenated.

    ``tokens`` are words or pieces; ``starts_word`` marks those that begin a word; sentence i is
    ``tokens[offsets[i]:offsets[i + 1]]``. ``actions`` are top-down (:class:`Kind`), with one SHIFT
    for each token, and empty if the corpus has no trees.
    """

    tokens: Tokens
    starts_word: Bools
    offsets: Ints
    actions: Tokens
    action_offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """Number of tokens of each sentence."""
        return np.diff(self.offsets)

    @property
    def word_count(self) -> int:
        """Number of words in all sentences; fewer than tokens if these are pieces."""
        return int(self.starts_word.sum())

    def sentence(self, number: int) -> Tokens:
        """Return the tokens of one sentence."""
        return self.tokens[self.offsets[number] : self.offsets[number + 1]]

    def begins_word(self, number: int) -> Bools:
        """``(tokens,)``: whether each token of a sentence begins a word."""
        return self.starts_word[self.offsets[number] : self.offsets[number + 1]]

    def word_starts(self, number: int) -> Ints:
        """``(words + 1,)`` positions of the first piece of each word and, last, of the end."""
        return np.flatnonzero(np.append(self.begins_word(number), True))

    def last_pieces(self, number: int) -> Ints:
        """``(words + 1,)`` positions of the last piece of each word and, last, of the end."""
        return last_pieces(self.begins_word(number))

    def sum_to_words(self, number: int, values: Floats) -> Floats:
        """``(words + 1,)`` sums over the pieces of each word, of ``(tokens + 1,)`` values.

        The last value belongs to the end of the sentence and is unchanged.
        """
        sums: Floats = np.add.reduceat(values, self.word_starts(number))
        return sums

    def save(self, folder: Path) -> None:
        """Write one ``.npy`` file per array."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @staticmethod
    def load(folder: Path) -> EncodedSplit:
        """Memory-map the arrays of a folder."""
        try:
            return EncodedSplit(**{name: _mapped(folder / f"{name}.npy") for name in _ARRAYS})
        # NumPy reads headers with Python's tokenizer, which has errors of its own.
        except (
            OSError,
            EOFError,
            ValueError,
            SyntaxError,
            TokenError,
            MemoryError,
            OverflowError,
        ) as error:
            raise InputError(
                f"is not a prepared split: {error}", path=folder, remedy="delete the cached corpus"
            ) from error


def _mapped(path: Path) -> Any:
    """Memory-map an array of numbers; NumPy would also open archives, text and other shapes."""
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    is_array = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iub"
    if not is_array:
        raise ValueError(f"{path.name} is not a list of numbers")
    return array


def last_pieces(begins_word: Bools) -> Ints:
    """``(words + 1,)`` positions of the last piece of each word and, last, of the end.

    ``begins_word`` marks the tokens of a sentence that begin a word.
    """
    next_starts = np.flatnonzero(np.append(begins_word, True))[1:]
    return np.append(next_starts - 1, len(begins_word))


def depth_after(actions: Ints) -> Ints:
    """Count the constituents open after each top-down action; every sentence ends with none."""
    change = np.where(actions >= Kind.OPEN, 1, np.where(actions == Kind.REDUCE, -1, 0))
    depth: Ints = np.cumsum(change)
    return depth


def encode_words(raw: RawSplit, *, elsewhere: Ints, first: Ints, label_ids: Ints) -> EncodedSplit:
    """Renumber a split: word n becomes ``first[n]`` at the start of a sentence."""
    tokens = np.where(raw.is_first, first[raw.words], elsewhere[raw.words])
    return EncodedSplit(
        tokens=tokens.astype(np.int32),
        starts_word=np.ones(len(tokens), dtype=bool),
        offsets=raw.offsets,
        actions=_renumber_labels(raw.actions, label_ids),
        action_offsets=raw.action_offsets,
    )


def encode_pieces(
    raw: RawSplit, *, pieces: Mapping[int, list[int]], label_ids: Ints
) -> EncodedSplit:
    """Renumber a split: word n becomes the sequence ``pieces[n]``, each piece with a SHIFT."""
    lengths = np.array([len(pieces[number]) for number in range(len(pieces))], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.array([piece for number in range(len(pieces)) for piece in pieces[number]])
    per_word = lengths[raw.words]
    ends = np.concatenate([[0], np.cumsum(per_word)])
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], per_word)
    tokens = flat[np.repeat(starts[raw.words], per_word) + within]

    repeats = np.ones(len(raw.actions), dtype=np.int64)
    repeats[raw.actions == Kind.SHIFT] = per_word if len(raw.actions) else 1
    action_ends = np.concatenate([[0], np.cumsum(repeats)])
    return EncodedSplit(
        tokens=tokens.astype(np.int32),
        starts_word=within == 0,
        offsets=ends[raw.offsets],
        actions=np.repeat(_renumber_labels(raw.actions, label_ids), repeats),
        action_offsets=action_ends[raw.action_offsets],
    )


def _renumber_labels(actions: Ints, label_ids: Ints) -> Tokens:
    result = actions.astype(np.int32)
    is_open = actions >= Kind.OPEN
    result[is_open] = Kind.OPEN + label_ids[actions[is_open] - Kind.OPEN]
    return result


def encode_sentences(
    sentences: Sequence[Sequence[str]], vocabulary: Vocabulary, subwords: Subwords | None
) -> EncodedSplit:
    """Encode sentences that are not part of a prepared corpus, without actions."""
    tokens: list[int] = []
    starts_word: list[bool] = []
    offsets = [0]
    for words in sentences:
        if subwords is None:
            pieces = [[token] for token in vocabulary.encode(words)]
        else:
            pieces = [subwords.encode(word, vocabulary) for word in words]
        for piece in pieces:
            tokens.extend(piece)
            starts_word.extend([True] + [False] * (len(piece) - 1))
        offsets.append(len(tokens))
    return EncodedSplit(
        tokens=np.array(tokens, dtype=np.int32),
        starts_word=np.array(starts_word, dtype=bool),
        offsets=np.array(offsets, dtype=np.int64),
        actions=np.zeros(0, dtype=np.int32),
        action_offsets=np.zeros(len(offsets), dtype=np.int64),
    )
