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

from gardenpath.data.packed_files import PackedText, packed_texts
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.data.trees.brackets import read_trees
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import InputError, MissingCorpusError
from gardenpath.store.files import read_text
from gardenpath.store.keys import digest, fingerprint

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
            if self.masked == "keep" or not all(_is_masked(tree) for _, tree in trees):
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
        found = _Release(root) if root.exists() else None
        if found is None or not found.texts:
            raise MissingCorpusError(
                corpus="The GUM treebank",
                looked_for=root / "**" / f"*{_SUFFIX}",
                licence="free: https://github.com/amir-zeldes/gum (the folder const and splits.md)",
                setting="data.root=/path/to/gum (or its archive, gum_const.tar.gz)",
            )
        return found


class _Release:
    """The documents of a release, by name, and its lists of them; read into memory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        files = packed_texts(root, lambda name: name == SPLITS_FILE or name.endswith(_SUFFIX))
        self._lists = [(one.path, one.text) for one in files if one.parts[-1] == SPLITS_FILE]
        self.texts: Mapping[str, PackedText] = {
            one.stem: one for one in files if one.parts[-1] != SPLITS_FILE
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
        one = self.texts[name]
        for line, tree in read_trees(one.text.splitlines(), path=one.path):
            yield line, without_root(tree)

    def _splits(self) -> tuple[str, str]:
        """Return the path and the text of the lists of documents."""
        if self._lists:
            return self._lists[0]
        # The root may be the folder of the trees, beside which the lists are.
        beside = self._root.parent / SPLITS_FILE
        if self._root.is_dir() and beside.is_file():
            return str(beside), read_text(beside)
        raise _no_lists(self._root)


_SAME_RELEASE = f"the trees and {SPLITS_FILE} must be of the same release"


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
