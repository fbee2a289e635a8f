"""Readers of corpora: files of trees or text, toy treebanks, and published treebanks.

Readers are settings (`data.reader`) and sources of sentences at once; `data.corpus` lists them.
They divide corpora into splits as their documentation or published work does, name what is missing
and where to get it, and leave cleaning to others. Settings import this module: NLTK, archives, and
the grammars of toy treebanks, which need NumPy, are loaded when a corpus is read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from gardenpath.data.readers.base import (
    FileRange,
    FileReader,
    SplitByIds,
    cut_file,
    hash_files,
    known_hash,
    listed_ids,
    packed_texts,
    require_text,
)
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.tree import Tree, read_tree_file, read_trees, text_lines, without_outer
from gardenpath.errors import InputError, MissingCorpusError
from gardenpath.settings.schema import NonNegativeInt, PositiveInt
from gardenpath.store.files import Json, digest, fingerprint, open_text, read_text

if TYPE_CHECKING:
    from gardenpath.data.pcfg import Grammar

# ---- Corpora that anybody can make: files of bracketed trees or plain text


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
        sizes = [len(paths) for paths in files]
        return hash_files(itertools.chain(*files), sizes=sizes, **self._how_read())

    def pieces(self, split: str) -> list[FileRange]:
        cut = partial(cut_file, encoding=self.encoding, is_bracketed=self.has_trees)
        return list(itertools.chain.from_iterable(map(cut, self._files(split))))

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

    def _opened(self, piece: FileRange) -> AbstractContextManager[Iterator[str]]:
        require_text(piece.path, encoding=self.encoding)
        setting = "data.reader.encoding"
        return open_text(piece.path, encoding=self.encoding, part=piece.part, setting=setting)

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
        with self._opened(piece) as lines:
            for line, tree in read_trees(lines, path=piece.path, first_line=piece.first_line):
                yield Sentence(tree.words(), self._source(piece.path, line), tree)


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
        from gardenpath.data.pcfg import read_grammar

        return read_grammar(self.path)

    def read(self, split: str) -> Iterator[Sentence]:
        from gardenpath.data.pcfg import Sampler

        sampler = Sampler(self.rules, seed=self.seed * len(SPLITS) + SPLITS.index(split))
        for number in range(1, getattr(self, split) + 1):
            tree = sampler.draw()
            yield Sentence(tree.words(), Source(f"{self.path.stem}-{split}", number), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            shipped = ", ".join(sorted(path.stem for path in GRAMMARS.glob("*.pcfg")))
            remedy = f"give a grammar file or the name of an included grammar: {shipped}"
            problem = f"cannot be opened: {error.strerror}"
            raise InputError(problem, path=self.path, remedy=remedy) from error
        sizes: dict[str, int] = {split: getattr(self, split) for split in splits}
        return fingerprint("toy", 1, seed=self.seed, sizes=sizes, grammar=digest(content))


_WSJ_FILE = re.compile(r"wsj_(?P<section>\d\d)(?P<number>\d\d)\.mrg", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class PennTreebank(FileReader, SplitByIds):
    """The Wall Street Journal trees, split by section (default) or by file number.

    They are files ``.mrg``, as the LDC releases them.
    """

    kind: Literal["ptb"] = "ptb"
    root: str
    """Folder of the ``.mrg`` files, or any parent folder."""
    train: str = "2-21"
    valid: str = "22"
    test: str = "23"
    unit: Literal["section", "file"] = "section"
    """Whether the splits list sections or files."""

    def read_piece(self, piece: FileRange) -> Iterator[Sentence]:
        for line, tree in read_tree_file(piece.path, encoding="latin-1"):
            yield Sentence(tree.words(), Source(piece.path.name, line), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        files = [path for split in splits for path in self._files(split)]
        return hash_files(files, unit=self.unit, ids=listed_ids(self.ids, splits))

    def _files(self, split: str) -> list[Path]:
        files = []
        for path in Path(self.root).rglob("*"):
            if match := _WSJ_FILE.fullmatch(path.name):
                section = int(match["section"])
                number = section * 100 + int(match["number"])
                if (section if self.unit == "section" else number) in self.ids[split]:
                    files.append(path)
        if not files:
            raise MissingCorpusError(
                corpus=f"The {split} split of the Penn Treebank",
                looked_for=Path(self.root) / "**" / "wsj_*.mrg",
                licence="LDC99T42 (Treebank-3), Linguistic Data Consortium; the free sample that "
                "NLTK ships is data=ptb_sample",
                setting="data.root=/path/to/treebank_3/parsed/mrg/wsj",
            )
        return sorted(files, key=lambda path: path.name.lower())


Genre = Literal["nw", "mz", "bn", "bc", "wb", "df", "sc", "cs"]

_CHTB_FILE = re.compile(r"chtb_(?P<id>\d+)\.(?P<suffix>[a-z]+)", re.IGNORECASE)

# File names of releases before 7.0 do not contain the genre (chtb_001.fid); it follows from the id.
_GENRE_OF_OLD_IDS: tuple[tuple[range, Genre], ...] = (
    (range(0, 1000), "nw"),
    (range(1000, 2000), "mz"),
    (range(2000, 4000), "bn"),
)


@dataclass(frozen=True, kw_only=True)
class ChineseTreebank(FileReader, SplitByIds):
    """Chinese Treebank 9.0 or an older release, split by lists of file ids."""

    kind: Literal["ctb"] = "ctb"
    root: str
    """Folder of the bracketed files, or any parent folder."""
    genres: Sequence[Genre] = ("nw", "mz", "bn", "bc", "wb")
    """Genres to read: nw newswire, mz magazine, bn broadcast news, bc broadcast conversation,
    wb weblogs, df discussion forums, sc chat and text messages, cs conversational speech."""
    encoding: Literal["auto", "utf-8", "gb18030"] = "auto"
    """Encoding of the files; auto tries UTF-8 first, then GB18030."""

    @property
    def _encodings(self) -> tuple[str, ...]:
        return ("utf-8", "gb18030") if self.encoding == "auto" else (self.encoding,)

    def read_piece(self, piece: FileRange) -> Iterator[Sentence]:
        path = piece.path
        lines = without_markup(self._decode(path).splitlines())
        for line, tree in read_trees(lines, path=path):
            yield Sentence(tree.words(), Source(path.name, line), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        files = [path for split in splits for path in self._files(split)]
        ids = listed_ids(self.ids, splits)
        return hash_files(files, ids=ids, genres=sorted(self.genres), encodings=self._encodings)

    def _files(self, split: str) -> list[Path]:
        files = []
        for path in Path(self.root).rglob("chtb_*"):
            match = _CHTB_FILE.fullmatch(path.name)
            if match is None or "raw" in path.relative_to(Path(self.root)).parts:
                continue
            number = int(match["id"])
            if number in self.ids[split] and genre_of(number, match["suffix"]) in self.genres:
                files.append((number, path))
        if not files:
            raise MissingCorpusError(
                corpus=f"The {split} split of the Chinese Treebank",
                looked_for=Path(self.root) / "**" / "chtb_*",
                licence="LDC2016T13 (Chinese Treebank 9.0), Linguistic Data Consortium",
                setting="data.root=/path/to/ctb9.0/data/bracketed",
            )
        return [path for _, path in sorted(files)]

    def _decode(self, path: Path) -> str:
        data = path.read_bytes()
        for encoding in self._encodings:
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                continue
        problem = f"is not text in {' or '.join(self._encodings)}"
        remedy = "set data.reader.encoding, or convert the file"
        raise InputError(problem, path=path, remedy=remedy)


def genre_of(number: int, suffix: str) -> str:
    """Return the genre code of a file: its suffix or, for ``.fid`` files, the genre of its id."""
    if suffix.lower() != "fid":
        return suffix.lower()
    return next((genre for ids, genre in _GENRE_OF_OLD_IDS if number in ids), "")


def without_markup(lines: Iterable[str]) -> Iterator[str]:
    """Blank out markup lines (``<S ID=1>``), so that line numbers remain correct."""
    return ("" if line.lstrip().startswith("<") else line for line in lines)


class _NltkSample(SplitByIds):
    """A corpus that NLTK distributes, in its data folders."""

    has_trees: ClassVar[bool] = True
    # Name of the corpus, folder in it, NLTK's reader and its argument, and title for messages.
    _nltk: ClassVar[tuple[str, str, str, str | list[str], str]]

    root: str | None

    def _open(self) -> Any:
        """Open the corpus below ``root`` if given, else in NLTK's default folders."""
        # Imported here because NLTK takes a second to load and most corpora do not need it.
        import nltk

        name, folder, reader, files, title = self._nltk
        if self.root and self.root not in nltk.data.path:
            nltk.data.path.append(self.root)  # NLTK opens only files in its data folders
        paths = [self.root] if self.root else nltk.data.path
        for place in (f"corpora/{name}/{folder}", f"corpora/{name}.zip/{name}/{folder}"):
            try:
                return getattr(nltk.corpus.reader, reader)(nltk.data.find(place, paths), files)
            except (LookupError, OSError):
                continue
        raise MissingCorpusError(
            corpus=title,
            looked_for=f"corpora/{name} in {', '.join(paths)}",
            licence=f"free for non-commercial use: python -m nltk.downloader {name}",
            setting="data.root=/path/to/nltk_data (or the environment variable NLTK_DATA)",
        )


@dataclass(frozen=True, kw_only=True)
class PennTreebankSample(_NltkSample):
    """NLTK's ``treebank``: 3,914 trees of the Wall Street Journal, files 1 to 199.

    The corpus is split by file, so that no article is in two splits.
    """

    _nltk = (
        "treebank", "combined/", "BracketParseCorpusReader", r"wsj_.*\.mrg",
        "The Penn Treebank sample",
    )  # fmt: skip

    kind: Literal["ptb_sample"] = "ptb_sample"
    root: str | None = None
    """Folder of NLTK's data; null searches NLTK's default folders."""
    train: str = "1-159"
    valid: str = "160-179"
    test: str = "180-199"

    def read(self, split: str) -> Iterator[Sentence]:
        corpus = self._open()
        for name in self._files(corpus, split):
            for line, tree in read_trees(corpus.raw(name).splitlines(), path=name):
                yield Sentence(tree.words(), Source(name, line), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        corpus = self._open()
        files: dict[str, list[list[str]]] = {
            split: [[name, _text_hash(corpus, name)] for name in self._files(corpus, split)]
            for split in splits
        }
        return fingerprint("ptb_sample", 1, files=files)

    def _files(self, corpus: Any, split: str) -> list[str]:
        # The number of wsj_0123.mrg is 123.
        return [name for name in corpus.fileids() if int(name[4:8]) in self.ids[split]]


@dataclass(frozen=True, kw_only=True)
class SinicaTreebank(_NltkSample):
    """NLTK's ``sinica_treebank``: 10,000 clauses of Traditional Chinese.

    Clauses are split in corpus order. Their final punctuation is not part of the trees.
    """

    _nltk = (
        "sinica_treebank", "", "SinicaTreebankCorpusReader", ["parsed"],
        "The Sinica Treebank sample",
    )  # fmt: skip

    kind: Literal["sinica"] = "sinica"
    root: str | None = None
    """Folder of NLTK's data; null searches NLTK's default folders."""
    train: str = "1-9000"
    valid: str = "9001-9500"
    test: str = "9501-10000"

    def read(self, split: str) -> Iterator[Sentence]:
        for number, parsed in enumerate(self._open().parsed_sents(), start=1):
            if number in self.ids[split]:
                tree = _from_nltk(parsed)
                yield Sentence(tree.words(), Source("sinica_treebank", number), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        text = _text_hash(self._open(), "parsed")
        return fingerprint("sinica", 1, ids=listed_ids(self.ids, splits), text=text)


def _text_hash(corpus: Any, name: str) -> str:
    """Return a hash of the text of a file, which may be in an archive."""
    pointer = corpus.abspath(name)
    archive = getattr(getattr(pointer, "zipfile", None), "filename", None)
    path = Path(str(pointer) if archive is None else archive)
    return known_hash(path, f"text of {name}", lambda: digest(corpus.raw(name)))


def _from_nltk(tree: Any) -> Tree:
    """Convert an NLTK tree; these trees are shallow, so recursion is safe."""
    children = tuple(c if isinstance(c, str) else _from_nltk(c) for c in tree)
    return Tree(tree.label(), children)


# ---- Reader of the constituent trees of GUM, the Georgetown University Multilayer corpus
#
# The trees are files of documents, ``const/GUM_news_nasa.ptb``, in a folder or in an archive. The
# partitions are lists of documents in ``splits.md``, which is part of every release.

Partition = Literal["train", "dev", "test", "test2"]

SPLITS_FILE = "splits.md"
_SUFFIX = ".ptb"
_ROOT_LABEL = "ROOT"
_HEADING = re.compile(r"##\s+(\S+)\s*")
_DOCUMENT = re.compile(r"\s*[*-]\s+(\S+)\s*")
_SAME_RELEASE = f"the trees and {SPLITS_FILE} must be of the same release"
# Words of documents whose text may not be distributed.
_MASKED = re.compile(r"_+")


@dataclass(frozen=True, kw_only=True)
class GumTreebank:
    """GUM and, as its partition test2, GENTLE: English of many genres, split by document."""

    has_trees: ClassVar[bool] = True

    kind: Literal["gum"] = "gum"
    root: str
    """Folder above the files *.ptb and splits.md, or an archive of them (.tar.gz, .zip)."""
    train: Partition = "train"
    """Partition of the corpus that is the training split."""
    valid: Partition = "dev"
    """Partition of the corpus that is the validation split."""
    test: Partition = "test"
    """Partition of the corpus that is the test split; test2 is GENTLE, of other genres."""
    masked: Literal["skip", "keep"] = "skip"
    """What to do with documents (from Reddit) in which all words are replaced by underscores."""

    def read(self, split: str) -> Iterator[Sentence]:
        release = self._release()
        for name in release.documents(getattr(self, split)):
            trees = list(release.trees(name))
            words = (word for _, tree in trees for word in tree.words())
            if self.masked == "keep" or not all(map(_MASKED.fullmatch, words)):
                for line, tree in trees:
                    yield Sentence(tree.words(), Source(f"{name}{_SUFFIX}", line), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        chosen: list[str] = [getattr(self, split) for split in splits]
        release = self._release()
        names = [name for partition in chosen for name in release.documents(partition)]
        texts = [[name, digest(release.texts[name].text.encode())] for name in names]
        return fingerprint("gum", 1, texts=texts, masked=self.masked, partitions=chosen)

    def mistakes(self) -> list[str]:
        """Return a mistake if two splits are the same partition."""
        chosen = [getattr(self, split) for split in SPLITS]
        return [
            f"{split}={partition} is the partition of another split too"
            for place, (split, partition) in enumerate(zip(SPLITS, chosen, strict=True))
            if partition in chosen[:place]
        ]

    def _release(self) -> _Release:
        root = Path(self.root)
        release = _Release(root) if root.exists() else None
        if release is None or not release.texts:
            raise MissingCorpusError(
                corpus="The GUM treebank",
                looked_for=root / "**" / f"*{_SUFFIX}",
                licence="free: https://github.com/amir-zeldes/gum (the folder const and splits.md)",
                setting="data.root=/path/to/gum (or its archive, gum_const.tar.gz)",
            )
        return release


class _Release:
    """The documents of a release, by name, and its lists of them; read into memory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        files = packed_texts(root, lambda name: name == SPLITS_FILE or name.endswith(_SUFFIX))
        self._lists = [file for file in files if file.parts[-1] == SPLITS_FILE]
        self.texts = {file.stem: file for file in files if file not in self._lists}

    def documents(self, partition: str) -> list[str]:
        """Return the names of the documents of a partition, in the order of its list."""
        path, text = self._splits()
        lists = partitions_of(text, path=path)
        if partition not in lists:
            raise InputError(f"has no list '## {partition}'", path=path, remedy=_SAME_RELEASE)
        if missing := [name for name in lists[partition] if name not in self.texts]:
            problem = f"lists {missing[0]}, which is not in {self._root}"
            raise InputError(problem, path=path, remedy=_SAME_RELEASE)
        listed = {name for names in lists.values() for name in names}
        if unlisted := sorted(self.texts.keys() - listed):
            raise InputError(f"does not list {unlisted[0]}", path=path, remedy=_SAME_RELEASE)
        return lists[partition]

    def trees(self, name: str) -> Iterator[tuple[int, Tree]]:
        """Yield the trees of a document with their line numbers, without the label ROOT."""
        file = self.texts[name]
        for line, tree in read_trees(file.text.splitlines(), path=file.path):
            yield line, without_outer(tree, (_ROOT_LABEL,))

    def _splits(self) -> tuple[str, str]:
        """Return the path and the text of the lists of documents."""
        if self._lists:
            return self._lists[0].path, self._lists[0].text
        # The root may be the folder of the trees, beside which the lists are.
        beside = self._root.parent / SPLITS_FILE
        if self._root.is_dir() and beside.is_file():
            return str(beside), read_text(beside)
        problem = f"has no {SPLITS_FILE}, which lists the documents of each partition"
        remedy = "copy it from the release of GUM that the trees are from"
        raise InputError(problem, path=self._root, remedy=remedy)


def partitions_of(text: str, *, path: str) -> dict[str, list[str]]:
    """Return the documents listed below each heading of ``splits.md``."""
    lists: dict[str, list[str]] = {}
    seen: set[str] = set()
    current: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := _HEADING.fullmatch(line):
            current = lists.setdefault(heading[1], [])
        elif current is not None and (entry := _DOCUMENT.fullmatch(line)):
            name = entry[1]
            if name in seen:
                problem = f"lists {name} twice"
                raise InputError(problem, path=path, line=number, remedy="remove one of them")
            seen.add(name)
            current.append(name)
    return lists
