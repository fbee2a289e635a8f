"""Corpora in the forms of those that the documents name, with sentences of the toy grammars."""

from __future__ import annotations

import functools
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from gardenpath.data.readers.files import ToyTreebank
from gardenpath.data.sentence import SPLITS
from gardenpath.data.trees.tree import format_tree
from tests.integration.miniature import write_corpora

_SENTENCES = 40
_DOCUMENTS = 20
# Files of each treebank that are in its training, validation and test split.
_PTB = {"train": "02/wsj_0201.mrg", "valid": "22/wsj_2201.mrg", "test": "23/wsj_2301.mrg"}
_BROWN = {"train": "ca01.mrg", "valid": "ca09.mrg", "test": "ca10.mrg"}
_PTB_SAMPLE = {"train": "wsj_0001.mrg", "valid": "wsj_0160.mrg", "test": "wsj_0180.mrg"}
_GUM = {"train": "GUM_news_a", "valid": "GUM_news_b", "test": "GUM_news_c"}
_LISTS = "## train\n  * GUM_news_a\n## dev\n  * GUM_news_b\n## test\n  * GUM_news_c\n"

MANDARIN_NEWS = """\
<DOC id="X.1">
<TEXT>
<P>
他看见了一只猫。学生喜欢那本书。
</P>
</TEXT>
</DOC>
"""


@functools.cache
def sentences(split: str, language: str = "english") -> Sequence[tuple[str, str]]:
    """The trees and the words of a split, each as a line."""
    size = _SENTENCES if split == "train" else 10
    toy = ToyTreebank(grammar=language, seed=3, train=size, valid=size, test=size)
    return [(format_tree(one.tree), " ".join(one.words)) for one in toy.read(split) if one.tree]


def write_all(folder: Path) -> None:
    """Write every corpus, below ``corpora`` and elsewhere, as a reader of the documents has it."""
    write_corpora(folder / "corpora")
    _write_treebank(folder / "corpora" / "ptb" / "parsed" / "mrg" / "wsj", _PTB)
    _write_treebank(folder / "corpora" / "brown", _BROWN)
    _write_treebank(folder / "nltk_data" / "corpora" / "treebank" / "combined", _PTB_SAMPLE)
    for split in SPLITS:
        trees, words = zip(*sentences(split), strict=True)
        _write(folder / "my_corpus" / f"{split}.txt", trees)
        _write(folder / "my_text" / f"{split}.txt", words)
        marked = [f"{line} <eos>" for line in words]
        _write(folder / "corpora" / "wikipedia" / f"{split}.txt", marked)
    _write_gum(folder / "gum_const.tar.gz")
    for number, (_, text) in enumerate(sentences("train")[:_DOCUMENTS]):
        _write(folder / "news" / f"{number}.txt", [text])
    _write(folder / "LDC95T13" / "a.sgm", [MANDARIN_NEWS])


def _write_treebank(folder: Path, files: dict[str, str]) -> None:
    for split, name in files.items():
        _write(folder / name, [f"( {tree} )" for tree, _ in sentences(split)])


def _write_gum(path: Path) -> None:
    texts = {"splits.md": _LISTS}
    for split, name in _GUM.items():
        texts[f"const/{name}.ptb"] = "\n".join(f"(ROOT {tree})" for tree, _ in sentences(split))
    with tarfile.open(path, "w:gz") as archive:
        for name, text in texts.items():
            _write(path.parent / "corpora" / "gum" / name, [text])
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
