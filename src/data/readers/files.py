"""Corpora that anybody can make: files of bracketed trees or plain text, and toy treebanks.

Readers are settings (`data.reader`) and sources of sentences at once; `data.corpus` lists them.
They read what is there and leave cleaning to others. Settings import this module, so that the
grammar of a toy treebank, which needs NumPy, is loaded when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.data.readers.base import FileRange, FileReader, cut_file, hash_files, require_text
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.tree import read_trees, text_lines
from gardenpath.errors import InputError, MissingCorpusError
from gardenpath.settings.schema import NonNegativeInt, PositiveInt
from gardenpath.store.files import Json, digest, fingerprint, open_text

if TYPE_CHECKING:
    from gardenpath.data.pcfg.grammar import Grammar


@dataclass(frozen=True, kw_only=True)
class _ThreeFiles(FileReader):
    """A folder with one file per split, or with files that match a pattern."""

    _title: ClassVar[str] = ""

    root: str
    """Folder of the three files."""
    train: str = "train.txt"
    """File of the training split, or a pattern such as *.mrg for files in all folders below."""
    valid: str = "valid.txt"
    """File of the validation split, or a pattern such as *.mrg for files in all folders below."""
    test: str = "test.txt"
    """File of the test split, or a pattern such as *.mrg for files in all folders below."""
    encoding: str = "utf-8"
    """Encoding of the files."""
    origin: str | None = None
    """Where to get the corpus, for the message if it is missing."""

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        files = [self._files(split) for split in splits]
        return hash_files(
            [path for paths in files for path in paths],
            sizes=[len(paths) for paths in files],
            **self._how_read(),
        )

    def pieces(self, split: str) -> list[FileRange]:
        return [
            piece
            for path in self._files(split)
            for piece in cut_file(path, encoding=self.encoding, is_bracketed=self.has_trees)
        ]

    def _how_read(self) -> dict[str, Json]:
        # The same file gives different sentences as trees and as text.
        return {"kind": type(self).__name__, "encoding": self.encoding}

    def _files(self, split: str) -> list[Path]:
        name: str = getattr(self, split)
        root = Path(self.root)
        is_pattern = any(char in name for char in "*?[")
        named = sorted(root.rglob(name)) if is_pattern else [root / name]
        files = [path for path in named if path.is_file()]
        if not files:
            raise MissingCorpusError(
                corpus=f"The {split} split of {self._title}",
                looked_for=root / name,
                licence=self.origin
                or "this is your own data; docs/corpora.md describes the format",
                setting=f"data.root=/path/to/folder (and data.reader.{split}=FILE if it has "
                "another name)",
            )
        return files

    @contextmanager
    def _opened(self, piece: FileRange) -> Iterator[Iterator[str]]:
        """Open a piece, which must be text."""
        require_text(piece.path, encoding=self.encoding)
        setting = "data.reader.encoding"
        with open_text(
            piece.path, encoding=self.encoding, part=piece.part, setting=setting
        ) as lines:
            yield lines

    def _source(self, path: Path, line: int) -> Source:
        return Source(path.relative_to(self.root).as_posix(), line)


@dataclass(frozen=True, kw_only=True)
class BracketFiles(_ThreeFiles):
    """Trees in brackets, with or without part-of-speech tags, usually one per line.

    The linearised form with spaces before closing brackets, ``(S (NP the hungry cat ) … )``, is
    read in the same way.
    """

    _title: ClassVar[str] = "a corpus of bracketed trees"

    kind: Literal["brackets"] = "brackets"

    def read_piece(self, piece: FileRange) -> Iterator[Sentence]:
        path = piece.path
        with self._opened(piece) as lines:
            for line, tree in read_trees(lines, path=path, first_line=piece.first_line):
                yield Sentence(tree.words(), self._source(path, line), tree)


@dataclass(frozen=True, kw_only=True)
class TextFiles(_ThreeFiles):
    """Tokenised text: one sentence per line, tokens separated by spaces; skips empty lines."""

    has_trees: ClassVar[bool] = False
    _title: ClassVar[str] = "a corpus of plain text"

    kind: Literal["text"] = "text"
    end: str | None = None
    """Symbol at the ends of sentences that is not a word, such as <eos>; null has none."""

    def _how_read(self) -> dict[str, Json]:
        return {**super()._how_read(), "end": self.end}

    def read_piece(self, piece: FileRange) -> Iterator[Sentence]:
        path, first = piece.path, piece.first_line
        with self._opened(piece) as lines:
            remedy = "use data=brackets to read trees"
            checked = text_lines(lines, path=path, first_line=first, remedy=remedy)
            for number, line in enumerate(checked, start=first):
                words = tuple(line.split())
                if self.end is not None and words[-1:] == (self.end,):
                    words = words[:-1]
                if words:
                    yield Sentence(words, self._source(path, number))


# ----------------------------------------------------------------------------
# Toy treebanks: trees sampled from a grammar whose exact probabilities are known.


GRAMMARS = Path(__file__).parents[1] / "grammars"


@dataclass(frozen=True, kw_only=True)
class ToyTreebank:
    """Sentences sampled from a probabilistic grammar.

    Each split has its own random generator, so that resizing one split does not change the others.
    """

    has_trees: ClassVar[bool] = True

    kind: Literal["toy"] = "toy"
    grammar: str
    """A grammar file, or the name of an included grammar: english, mandarin or demo_english."""
    seed: NonNegativeInt = 0
    """Random seed of the sampled sentences."""
    train: PositiveInt = 8000
    """Number of sentences of the training split."""
    valid: PositiveInt = 500
    """Number of sentences of the validation split."""
    test: PositiveInt = 500
    """Number of sentences of the test split."""

    @property
    def path(self) -> Path:
        """The grammar file."""
        shipped = GRAMMARS / f"{self.grammar}.pcfg"
        return shipped if shipped.is_file() else Path(self.grammar)

    @cached_property
    def rules(self) -> Grammar:
        """Return the grammar of the corpus, for exact probabilities."""
        # Imported here, and below, because NumPy takes long to load and settings do not need it.
        from gardenpath.data.pcfg.grammar import read_grammar

        return read_grammar(self.path)

    def read(self, split: str) -> Iterator[Sentence]:
        from gardenpath.data.pcfg.grammar import Sampler

        sampler = Sampler(self.rules, seed=self.seed * len(SPLITS) + SPLITS.index(split))
        for number in range(1, getattr(self, split) + 1):
            tree = sampler.draw()
            yield Sentence(tree.words(), Source(f"{self.path.stem}-{split}", number), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            shipped = ", ".join(sorted(path.stem for path in GRAMMARS.glob("*.pcfg")))
            raise InputError(
                f"cannot be opened: {error.strerror}",
                path=self.path,
                remedy=f"give a grammar file or the name of an included grammar: {shipped}",
            ) from error
        sizes: dict[str, int] = {split: getattr(self, split) for split in splits}
        return fingerprint("toy", 1, seed=self.seed, sizes=sizes, grammar=digest(content))
