"""Sentences as numbers: raw splits, encoded splits in memory and on disk, pieces and words.

Called by the preparation, by batches, and by models that score words over pieces. Trees are large
objects, and a news corpus contains millions of them. Sentences are therefore turned into numbers as
they are read, with words and labels numbered in order of first appearance, and are renumbered when
the vocabulary is known. What is on disk is read when it is needed. No torch here.
"""

from __future__ import annotations

import bisect
import os
import weakref
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gardenpath.data.arrays import Bools, Floats, Ints, Tokens
from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.legality import Kind, kind_of
from gardenpath.data.trees.tree import Open
from gardenpath.data.words.pieces import Boundary, Subwords
from gardenpath.data.words.vocabulary import SPECIALS, Vocabulary
from gardenpath.errors import InputError


@dataclass(slots=True)
class Inventory:
    """Numbers strings in the order of their first appearance."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, item: str) -> int:
        """Return the number of an item; a new item gets the next number."""
        return self.numbers.setdefault(item, len(self.numbers))

    @property
    def items(self) -> list[str]:
        """Return all items, by number."""
        return list(self.numbers)


@dataclass(slots=True)
class RawSplit:
    """All sentences of a split: words, sentence ends, and top-down actions if it has trees."""

    words: Ints
    offsets: Ints
    actions: Ints
    action_offsets: Ints
    sources: list[str]

    @property
    def is_first(self) -> Bools:
        """Whether each word begins a sentence."""
        marks = np.zeros(len(self.words), dtype=bool)
        marks[self.offsets[:-1]] = True
        return marks

    def word_counts(self, items: Sequence[str]) -> Counter[tuple[str, bool]]:
        """Count each word at the beginning of a sentence (True) and elsewhere (False).

        ``items`` are the words by number.
        """
        counts: Counter[tuple[str, bool]] = Counter()
        for is_first in (True, False):
            chosen = self.words[self.is_first == is_first]
            for number, count in enumerate(np.bincount(chosen, minlength=len(items)).tolist()):
                if count:
                    counts[items[number], is_first] = count
        return counts


def collect(sentences: Iterable[Sentence], words: Inventory, labels: Inventory) -> RawSplit:
    """Read a split into arrays, numbering new words and labels along the way."""
    word_numbers, actions = array("q"), array("q")
    offsets, action_offsets = array("q", [0]), array("q", [0])
    sources = []
    for sentence in sentences:
        word_numbers.extend(words.number(word) for word in sentence.words)
        offsets.append(len(word_numbers))
        if sentence.tree is not None:
            for event in sentence.tree.events():
                if isinstance(event, Open):
                    actions.append(Kind.OPEN + labels.number(event.label))
                else:
                    actions.append(kind_of(event))
        action_offsets.append(len(actions))
        sources.append(str(sentence.source))
    return RawSplit(
        words=_int_array(word_numbers),
        offsets=_int_array(offsets),
        actions=_int_array(actions),
        action_offsets=_int_array(action_offsets),
        sources=sources,
    )


def _int_array(values: array[int]) -> Ints:
    return np.frombuffer(values, dtype=np.int64) if values else np.zeros(0, dtype=np.int64)


# ----------------------------------------------------------------------------
# Corpus splits as vocabulary ids, from which batches are built.


ARRAYS = ("tokens", "starts_word", "offsets", "actions", "action_offsets")


@dataclass(frozen=True)
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
        for name in ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    def take(self, sentences: Ints) -> EncodedSplit:
        """Return some sentences, given by number, as a split in memory, in this order."""
        begins, ends = self.offsets[sentences], self.offsets[sentences + 1]
        first, last = self.action_offsets[sentences], self.action_offsets[sentences + 1]
        return EncodedSplit(
            tokens=self._rows("tokens", begins, ends),
            starts_word=self._rows("starts_word", begins, ends),
            offsets=running_sum(ends - begins),
            actions=self._rows("actions", first, last),
            action_offsets=running_sum(last - first),
        )

    def _rows(self, name: str, begins: Ints, ends: Ints) -> npt.NDArray[Any]:
        """Return several ranges of an array, one after the other."""
        counts = ends - begins
        starts = running_sum(counts)
        rows = np.arange(starts[-1]) + np.repeat(begins - starts[:-1], counts)
        array: npt.NDArray[Any] = getattr(self, name)[rows]
        return array


def running_sum(counts: Ints) -> Ints:
    """Return where each of several parts begins and, last, where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


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
    starts = running_sum(lengths)
    flat = np.array([piece for number in range(len(pieces)) for piece in pieces[number]])
    per_word = lengths[raw.words]
    ends = running_sum(per_word)
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], per_word)
    tokens = flat[np.repeat(starts[raw.words], per_word) + within]

    repeats = np.ones(len(raw.actions), dtype=np.int64)
    repeats[raw.actions == Kind.SHIFT] = per_word if len(raw.actions) else 1
    return EncodedSplit(
        tokens=tokens.astype(np.int32),
        starts_word=within == 0,
        offsets=ends[raw.offsets],
        actions=np.repeat(_renumber_labels(raw.actions, label_ids), repeats),
        action_offsets=running_sum(repeats)[raw.action_offsets],
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


# ----------------------------------------------------------------------------
# Encoded splits on disk, of which only the sentences of a batch are read into memory.
#
# Arrays that are mapped into memory count as memory of the process as soon as they have been read,
# so that a training would slowly grow by the size of its corpus. Sentences are therefore read from
# the files, which the operating system caches. A file that was cut short while a training runs is
# an error here; a mapped one would end the process.


SOURCES_FILE = "sources.txt"

_REMEDY = "delete the cached corpus"
# NumPy reads the headers of arrays with Python's tokenizer, which has errors of its own.
_DAMAGE = (
    OSError, EOFError, ValueError, SyntaxError, TokenError, MemoryError, OverflowError,
)  # fmt: skip
# Arrays with one value per sentence, which are held in memory.
_OFFSETS = ("offsets", "action_offsets")


@dataclass(frozen=True)
class StoredSplit(EncodedSplit):
    """A split in a folder; offsets are in memory, and the other arrays are mapped when needed."""

    folder: Path
    _files: dict[str, ArrayFile] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def open(folder: Path) -> StoredSplit:
        """Open a folder written by :meth:`EncodedSplit.save`."""
        try:
            arrays: dict[str, Any] = {
                name: _array(folder / f"{name}.npy", is_mapped=name not in _OFFSETS)
                for name in ARRAYS
            }
        except _DAMAGE as error:
            raise InputError(
                f"is not a prepared split: {error}", path=folder, remedy=_REMEDY
            ) from error
        return StoredSplit(**arrays, folder=folder)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        # A process that is started anew opens the folder instead of receiving its content.
        return StoredSplit.open, (self.folder,)

    def _rows(self, name: str, begins: Ints, ends: Ints) -> npt.NDArray[Any]:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = ArrayFile(getattr(self, name), self.folder / f"{name}.npy")
        return file.rows(begins, ends)


def _array(path: Path, *, is_mapped: bool) -> npt.NDArray[Any]:
    """Read or map a list of numbers; NumPy would also open archives, text and other shapes."""
    array: Any = np.load(path, mmap_mode="r" if is_mapped else None, allow_pickle=False)
    is_list = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iub"
    if not is_list:
        raise ValueError(f"{path.name} is not a list of numbers")
    numbers: npt.NDArray[Any] = array
    return numbers


class ArrayFile:
    """A one-dimensional array in a ``.npy`` file, of which ranges are read."""

    def __init__(self, mapped: npt.NDArray[Any], path: Path) -> None:
        assert isinstance(mapped, np.memmap)
        self._path = path
        self._dtype = mapped.dtype
        self._begin = int(mapped.offset)
        # Reads name their position, so that forked processes can share the file.
        self._handle = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._handle)

    def rows(self, begins: Ints, ends: Ints) -> npt.NDArray[Any]:
        """Return the concatenation of ranges of the array."""
        size = self._dtype.itemsize
        content = bytearray(int((ends - begins).sum()) * size)
        starts, counts = (begins * size).tolist(), ((ends - begins) * size).tolist()
        filled = 0
        for begin, count in zip(starts, counts, strict=True):
            part = os.pread(self._handle, count, self._begin + begin)
            if len(part) != count:
                raise InputError("ends too early", path=self._path, remedy=_REMEDY)
            content[filled : filled + count] = part
            filled += count
        return np.frombuffer(content, dtype=self._dtype)


class ArrayWriter:
    """Writes a one-dimensional array piece by piece, in the same bytes as ``np.save`` at once."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file: IO[bytes] = path.open("wb")
        self.length = 0
        self._write_header()

    def append(self, values: npt.NDArray[Any]) -> None:
        """Add values to the end."""
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Complete the header, which has room for any length."""
        self._file.seek(0)
        self._write_header()
        self._file.close()

    def _write_header(self) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self.length,),
        }
        np.lib.format.write_array_header_1_0(self._file, header)


class SplitWriter:
    """Writes a split block by block, in the same bytes as :meth:`EncodedSplit.save` at once."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        types: dict[str, npt.DTypeLike] = {
            "tokens": np.int32,
            "starts_word": np.bool_,
            "offsets": np.int64,
            "actions": np.int32,
            "action_offsets": np.int64,
        }
        self._arrays = {name: ArrayWriter(folder / f"{name}.npy", types[name]) for name in ARRAYS}
        self._sources: IO[bytes] = (folder / SOURCES_FILE).open("wb")
        self.sentences = self.words = 0
        for name in _OFFSETS:
            self._arrays[name].append(np.zeros(1, dtype=np.int64))

    @property
    def tokens(self) -> int:
        """Number of tokens so far."""
        return self._arrays["tokens"].length

    @property
    def actions(self) -> int:
        """Number of actions so far."""
        return self._arrays["actions"].length

    def append(self, block: EncodedSplit, sources: bytes) -> None:
        """Add sentences, and their sources as lines of text."""
        self._arrays["offsets"].append(block.offsets[1:] + self.tokens)
        self._arrays["action_offsets"].append(block.action_offsets[1:] + self.actions)
        for name in ("tokens", "starts_word", "actions"):
            self._arrays[name].append(getattr(block, name))
        self._sources.write(sources)
        self.sentences += len(block)
        self.words += block.word_count

    def close(self) -> None:
        """Complete all files."""
        for content in self._arrays.values():
            content.close()
        self._sources.close()


# ----------------------------------------------------------------------------
# Sets of pieces whose total probability makes word probabilities from those of pieces (`Boundary`).


# Comes after any character of a piece in sorted order.
_AFTER_ALL = "\U0010ffff"


@dataclass(frozen=True)
class PieceSets:
    """The pieces of a vocabulary: which of them can follow a word, and which begin alike."""

    vocabulary: Vocabulary

    @cached_property
    def follows_word(self) -> Bools:
        """``(vocabulary,)``: whether a token begins a word or ends the sentence."""
        return ~self.vocabulary.is_continuation

    @cached_property
    def sorted_ids(self) -> Ints:
        """The ids of all pieces, sorted: those that begin alike are neighbours."""
        tokens = self.vocabulary.tokens
        return np.array(sorted(range(len(SPECIALS), len(tokens)), key=tokens.__getitem__))

    @cached_property
    def ranges(self) -> Ints:
        """``(vocabulary, 2)``: for each piece, the range of ``sorted_ids`` that begin with it.

        Special symbols have empty ranges: nothing but themselves begins with them.
        """
        tokens = self.vocabulary.tokens
        in_order = [tokens[number] for number in self.sorted_ids.tolist()]
        result = np.zeros((len(tokens), 2), dtype=np.int64)
        for number in self.sorted_ids.tolist():
            begin = bisect.bisect_left(in_order, tokens[number])
            end = bisect.bisect_right(in_order, tokens[number] + _AFTER_ALL)
            result[number] = begin, end
        return result

    def alike(self, token: int) -> Ints:
        """Return the ids of all pieces that begin with the characters of a piece."""
        begin, end = self.ranges[token]
        return self.sorted_ids[begin:end] if end > begin else np.array([token])


def words_of_pieces(
    split: EncodedSplit, number: int, log_probs: Floats, masses: Floats | None, boundary: Boundary
) -> Floats:
    """``(words + 1,)`` log probabilities of the words of a sentence and of its end.

    ``log_probs`` are ``(tokens + 1,)`` log probabilities of pieces and end. ``masses`` are, for
    ``next``, those of all tokens that can follow a word, in place of each piece; for ``leading``,
    those of all pieces that begin with it; for ``none``, there are none.
    """
    if boundary == "none" or masses is None:
        return split.sum_to_words(number, log_probs)
    if boundary == "next":
        begins = masses[split.word_starts(number)]
        words = split.sum_to_words(number, log_probs) - begins
        words[:-1] += begins[1:]
        return words
    last = split.last_pieces(number)[:-1]
    before = np.cumsum(log_probs) - log_probs
    prefixes = np.append(before[last] + masses[last], log_probs.sum())
    return np.diff(prefixes, prepend=0.0)
