"""The trees of the reference treebanks, read one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gardenpath.data.readers.files import BracketFiles
from gardenpath.data.readers.treebanks import PennTreebankSample, SinicaTreebank
from gardenpath.data.sentence import SPLITS, Sentence

# NLTK's two treebanks and the parsed novel, with the number of trees in each.
TREEBANKS = {"ptb_sample": 3_914, "sinica": 10_000, "dickens": 7_543}


def sentences(name: str, reference_data: Path) -> Iterator[Sentence]:
    """All sentences of a treebank, as annotated."""
    nltk_root = str(reference_data / "nltk_data")
    if name == "dickens":
        novel = BracketFiles(root=str(reference_data / "corpora" / "dickens"))
        return (sentence for split in SPLITS for sentence in novel.read(split))
    if name == "ptb_sample":
        return PennTreebankSample(root=nltk_root, train="1-199").read("train")
    return SinicaTreebank(root=nltk_root, train="1-10000").read("train")
