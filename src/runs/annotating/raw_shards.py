"""Shards of raw files: their sentences, divided into words, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gardenpath.data.raw.passages import LeftOut, Passage, format_of, read_passages
from gardenpath.data.raw.raw_files import chosen_encoding, is_compressed
from gardenpath.data.raw.sentence_splitter import passage_sentences
from gardenpath.data.readers.pieces import PIECE_BYTES, Piece, cut_file
from gardenpath.data.segmenting.nltk_segmenter import treebank_quotes
from gardenpath.data.segmenting.segmenter import segmenter_named
from gardenpath.data.words.unknown_words import Language
from gardenpath.settings.task_settings import AnnotateTask
from gardenpath.text import Words

# Characters of a sentence that are shown in the log.
SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file of raw text, and how it is read."""

    path: Path
    encoding: str
    format: str

    @staticmethod
    def of(path: Path, task: AnnotateTask, language: Language) -> RawFile:
        """Look at a file; raise an error if it is no raw text."""
        encoding = chosen_encoding(path, task.raw, language)
        return RawFile(path, encoding, format_of(path, task.raw, encoding))

    def pieces(self, task: AnnotateTask) -> Iterator[Piece]:
        """Yield the parts of the file that can be read on their own."""
        is_cut = self.format == "text" and task.raw.paragraphs == "lines"
        if not is_cut or is_compressed(self.path):
            yield Piece(self.path)
        else:
            yield from cut_file(self.path, encoding=self.encoding, is_bracketed=False)


@dataclass(frozen=True, slots=True)
class FoundSentence:
    """The words of a sentence, its file and line, and the line where its document begins."""

    words: Words
    path: str
    line: int
    document: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A sentence or a line that is not written, and why."""

    path: str
    line: int
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class RawShard:
    """Some pieces of files, which are read by one process."""

    pieces: tuple[tuple[RawFile, Piece], ...]

    def read(self, task: AnnotateTask, language: Language) -> Iterator[FoundSentence | Skipped]:
        """Yield the sentences and what was left out, in order."""
        for file, piece in self.pieces:
            for one in read_passages(piece, task.raw, encoding=file.encoding, format=file.format):
                if isinstance(one, LeftOut):
                    yield Skipped(str(file.path), one.line, one.reason, one.detail)
                else:
                    yield from _sentences(one, file, task, language)


def raw_shards(files: Sequence[RawFile], task: AnnotateTask) -> list[RawShard]:
    """Divide files into shards; they depend on the files and the settings only."""
    groups: list[list[tuple[RawFile, Piece]]] = []
    room = 0
    for file in files:
        for piece in file.pieces(task):
            if not groups or piece.byte_count > room:
                groups.append([])
                room = PIECE_BYTES
            groups[-1].append((file, piece))
            room -= piece.byte_count
    return [RawShard(tuple(group)) for group in groups]


def _sentences(
    passage: Passage, file: RawFile, task: AnnotateTask, language: Language
) -> Iterator[FoundSentence | Skipped]:
    segmenter = segmenter_named(task.segmenter_for(language))
    path = str(file.path)
    for line, text in passage_sentences(passage, language=language, settings=task.sentences):
        words = segmenter.segment(text)
        if task.quotes == "treebank":
            words = treebank_quotes(text, words)
        if not words:
            yield Skipped(path, line, "no words", text[:SHOWN_CHARACTERS])
        elif task.max_tokens is not None and len(words) > task.max_tokens:
            yield Skipped(path, line, "too long", f"{len(words)} tokens: {text[:SHOWN_CHARACTERS]}")
        else:
            yield FoundSentence(tuple(words), path, line, passage.document)


def as_record(one: FoundSentence | Skipped) -> list[Any]:
    """Convert to JSON types."""
    if isinstance(one, FoundSentence):
        return [list(one.words), one.path, one.line, one.document]
    return [None, one.path, one.line, one.reason, one.detail]


def from_record(record: Sequence[Any]) -> FoundSentence | Skipped:
    """Convert from JSON types."""
    words, path, line, *rest = record
    if words is None:
        return Skipped(path, line, rest[0], rest[1])
    return FoundSentence(tuple(words), path, line, rest[0])
