"""Reader of the constituent trees of GUM, the Georgetown University Multilayer corpus.

The trees are files of documents, ``const/GUM_news_nasa.ptb``, in a folder or in an archive. The
partitions are lists of documents in ``splits.md``, which is part of every release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from gardenpath.data.readers.base import hash_files
from gardenpath.data.readers.file_hashes import content_hash
from gardenpath.data.readers.tree_archive import archived_texts, is_archive
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_trees
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import InputError, MissingCorpusError
from gardenpath.store.files import read_text
from gardenpath.store.keys import Json, fingerprint

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
    """Folder above the files *.ptb and splits.md, or an archive of them (.tar.gz)."""
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
            if self.masked == "keep" or not all(_is_masked(tree) for _, tree in trees):
                for line, tree in trees:
                    yield Sentence(tree.words(), Source(f"{name}{_SUFFIX}", line), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        chosen: list[str] = [getattr(self, split) for split in splits]
        how: dict[str, Json] = {"masked": self.masked, "partitions": chosen}
        release = self._release()
        names = [name for partition in chosen for name in release.documents(partition)]
        if not isinstance(release, _Unpacked):
            return fingerprint("gum", 1, archive=content_hash(Path(self.root)), **how)
        files = [release.files[name] for name in names]
        return fingerprint("gum", 1, files=hash_files(files), names=names, **how)

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
        if is_archive(root):
            return _Archived(root)
        found = _Unpacked(root)
        if not found.files:
            raise MissingCorpusError(
                corpus="The GUM treebank",
                looked_for=root / "**" / f"*{_SUFFIX}",
                licence="free: https://github.com/amir-zeldes/gum (the folder const and splits.md)",
                setting="data.root=/path/to/gum (or its archive, gum_const.tar.gz)",
            )
        return found


class _Release:
    """The documents of a release and its lists of them."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path = path
        self._names = frozenset(names)

    def documents(self, partition: str) -> list[str]:
        """Return the names of the documents of a partition, in the order of its list."""
        path, text = self._splits()
        lists = partitions_of(text, path=path)
        if partition not in lists:
            raise InputError(f"has no list '## {partition}'", path=path, remedy=_SAME_RELEASE)
        if missing := [name for name in lists[partition] if name not in self._names]:
            problem = f"lists {missing[0]}, which is not in {self._path}"
            raise InputError(problem, path=path, remedy=_SAME_RELEASE)
        listed = {name for names in lists.values() for name in names}
        if unlisted := sorted(self._names - listed):
            raise InputError(f"does not list {unlisted[0]}", path=path, remedy=_SAME_RELEASE)
        return lists[partition]

    def trees(self, name: str) -> Iterator[tuple[int, Tree]]:
        """Yield the trees of a document with their line numbers, without the label ROOT."""
        path, text = self._document(name)
        for line, tree in read_trees(text.splitlines(), path=path):
            yield line, without_root(tree)

    def _splits(self) -> tuple[str, str]:
        """Return the path and the text of the lists of documents."""
        raise NotImplementedError

    def _document(self, name: str) -> tuple[str, str]:
        """Return the path and the text of a document."""
        raise NotImplementedError


_SAME_RELEASE = f"the trees and {SPLITS_FILE} must be of the same release"


class _Unpacked(_Release):
    """A folder."""

    def __init__(self, root: Path) -> None:
        self.files: Mapping[str, Path] = {
            path.stem: path for path in sorted(root.rglob(f"*{_SUFFIX}"), reverse=True)
        }
        super().__init__(root, list(self.files))

    def _splits(self) -> tuple[str, str]:
        # The root may be the folder of the trees, beside which the lists are.
        for path in (*sorted(self._path.rglob(SPLITS_FILE)), self._path.parent / SPLITS_FILE):
            if path.is_file():
                return str(path), read_text(path)
        raise _no_lists(self._path)

    def _document(self, name: str) -> tuple[str, str]:
        return str(self.files[name]), read_text(self.files[name])


class _Archived(_Release):
    """An archive, which is read into memory."""

    def __init__(self, path: Path) -> None:
        found = archived_texts(path, (_SUFFIX, SPLITS_FILE))
        self._texts = {Path(name).name: text for name, text in found.items()}
        names = [Path(name).stem for name in self._texts if name.endswith(_SUFFIX)]
        super().__init__(path, names)

    def _splits(self) -> tuple[str, str]:
        if SPLITS_FILE not in self._texts:
            raise _no_lists(self._path)
        return f"{self._path}/{SPLITS_FILE}", self._texts[SPLITS_FILE]

    def _document(self, name: str) -> tuple[str, str]:
        file = f"{name}{_SUFFIX}"
        return f"{self._path}/{file}", self._texts[file]


def _no_lists(path: Path) -> InputError:
    return InputError(
        f"has no {SPLITS_FILE}, which lists the documents of each partition",
        path=path,
        remedy="copy it from the release of GUM that the trees are from",
    )


def partitions_of(text: str, *, path: str) -> dict[str, list[str]]:
    """Return the documents listed below each heading of ``splits.md``."""
    lists: dict[str, list[str]] = {}
    seen: set[str] = set()
    current: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := _HEADING.fullmatch(line):
            current = lists.setdefault(heading[1], [])
        elif current is not None and (found := _DOCUMENT.fullmatch(line)):
            if found[1] in seen:
                problem = f"lists {found[1]} twice"
                raise InputError(problem, path=path, line=number, remedy="remove one of them")
            seen.add(found[1])
            current.append(found[1])
    return lists


def without_root(tree: Tree) -> Tree:
    """Drop the bracket ROOT around a constituent; around a single word it is the only one."""
    only = tree.children[0]
    is_outer = tree.label == _ROOT_LABEL and len(tree.children) == 1
    return only if is_outer and isinstance(only, Tree) and not only.is_preterminal else tree


def _is_masked(tree: Tree) -> bool:
    return all(_MASKED.fullmatch(word) for word in tree.words())
