"""Published treebanks, read as they are released: Penn, Chinese, NLTK's samples, and GUM.

Readers are settings (`data.reader`) and sources of sentences at once; `data.corpus` lists them.
They divide corpora into splits as their documentation or published work does, name what is missing
and where to get it, and leave cleaning to others. Settings import this module: NLTK and archives
are opened when a corpus is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from gardenpath.data.archives import PackedText, packed_texts
from gardenpath.data.readers.base import (
    FileRange,
    FileReader,
    SplitByIds,
    hash_files,
    known_hash,
    listed_ids,
)
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.tree import Tree, read_tree_file, read_trees, without_outer
from gardenpath.errors import InputError, MissingCorpusError
from gardenpath.store.files import digest, fingerprint, read_text

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


# ----------------------------------------------------------------------------
# Reader of the Chinese Treebank: bracketed files with SGML-like markup around the trees.


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
        return hash_files(
            files,
            ids=listed_ids(self.ids, splits),
            genres=sorted(self.genres),
            encodings=self._encodings,
        )

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
        raise InputError(
            f"is not text in {' or '.join(self._encodings)}",
            path=path,
            remedy="set data.reader.encoding, or convert the file",
        )


def genre_of(number: int, suffix: str) -> str:
    """Return the genre code of a file: its suffix or, for ``.fid`` files, the genre of its id."""
    if suffix.lower() != "fid":
        return suffix.lower()
    return next((genre for ids, genre in _GENRE_OF_OLD_IDS if number in ids), "")


def without_markup(lines: Iterable[str]) -> Iterator[str]:
    """Blank out markup lines (``<S ID=1>``), so that line numbers remain correct."""
    return ("" if line.lstrip().startswith("<") else line for line in lines)


# ----------------------------------------------------------------------------
# Readers of the treebank samples that NLTK distributes.


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
        corpus = self._open()
        wanted = self.ids[split]
        for number, parsed in enumerate(corpus.parsed_sents(), start=1):
            if number in wanted:
                tree = _from_nltk(parsed)
                yield Sentence(tree.words(), Source("sinica_treebank", number), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        corpus = self._open()
        text = _text_hash(corpus, "parsed")
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


# ----------------------------------------------------------------------------
# Reader of the constituent trees of GUM, the Georgetown University Multilayer corpus.
#
# The trees are files of documents, ``const/GUM_news_nasa.ptb``, in a folder or in an archive. The
# partitions are lists of documents in ``splits.md``, which is part of every release.


Partition = Literal["train", "dev", "test", "test2"]

SPLITS_FILE = "splits.md"
_SUFFIX = ".ptb"
_ROOT_LABEL = "ROOT"
_HEADING = re.compile(r"##\s+(\S+)\s*")
_DOCUMENT = re.compile(r"\s*[*-]\s+(\S+)\s*")
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
        lists = [file for file in files if file.parts[-1] == SPLITS_FILE]
        self._lists = [(file.path, file.text) for file in lists]
        self.texts: Mapping[str, PackedText] = {
            file.stem: file for file in files if file not in lists
        }

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
            return self._lists[0]
        # The root may be the folder of the trees, beside which the lists are.
        beside = self._root.parent / SPLITS_FILE
        if self._root.is_dir() and beside.is_file():
            return str(beside), read_text(beside)
        raise InputError(
            f"has no {SPLITS_FILE}, which lists the documents of each partition",
            path=self._root,
            remedy="copy it from the release of GUM that the trees are from",
        )


_SAME_RELEASE = f"the trees and {SPLITS_FILE} must be of the same release"


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
