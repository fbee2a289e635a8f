"""Readers of the treebank samples that NLTK distributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from gardenpath.data.readers.base import SplitByIds, listed_ids
from gardenpath.data.readers.file_hashes import known_hash
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_trees
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import MissingCorpusError
from gardenpath.store.keys import digest, fingerprint


@dataclass(frozen=True, kw_only=True)
class PennTreebankSample(SplitByIds):
    """NLTK's ``treebank``: 3,914 trees of the Wall Street Journal, files 1 to 199.

    The corpus is split by file, so that no article is in two splits.
    """

    has_trees: ClassVar[bool] = True

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

    def _open(self) -> Any:
        return _open(
            "treebank",
            "combined/",
            "BracketParseCorpusReader",
            r"wsj_.*\.mrg",
            title="The Penn Treebank sample",
            root=self.root,
        )

    def _files(self, corpus: Any, split: str) -> list[str]:
        # The number of wsj_0123.mrg is 123.
        return [name for name in corpus.fileids() if int(name[4:8]) in self.ids[split]]


@dataclass(frozen=True, kw_only=True)
class SinicaTreebank(SplitByIds):
    """NLTK's ``sinica_treebank``: 10,000 clauses of Traditional Chinese.

    Clauses are split in corpus order. Their final punctuation is not part of the trees.
    """

    has_trees: ClassVar[bool] = True

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

    def _open(self) -> Any:
        return _open(
            "sinica_treebank",
            "",
            "SinicaTreebankCorpusReader",
            ["parsed"],
            title="The Sinica Treebank sample",
            root=self.root,
        )


def _open(
    name: str,
    folder: str,
    reader: str,
    *arguments: Any,
    title: str,
    root: str | None,
) -> Any:
    """Open an NLTK corpus below ``root`` if given, else in NLTK's default folders."""
    # Imported here because NLTK takes a second to load and most corpora do not need it.
    import nltk

    if root and root not in nltk.data.path:
        nltk.data.path.append(root)  # NLTK opens only files in its data folders
    paths = [root] if root else nltk.data.path
    for place in (f"corpora/{name}/{folder}", f"corpora/{name}.zip/{name}/{folder}"):
        try:
            return getattr(nltk.corpus.reader, reader)(nltk.data.find(place, paths), *arguments)
        except (LookupError, OSError):
            continue
    raise MissingCorpusError(
        corpus=title,
        looked_for=f"corpora/{name} in {', '.join(paths)}",
        licence=f"free for non-commercial use: python -m nltk.downloader {name}",
        setting="data.root=/path/to/nltk_data (or the environment variable NLTK_DATA)",
    )


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
