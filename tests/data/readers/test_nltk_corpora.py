"""The treebank samples that NLTK distributes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gardenpath.data.readers.treebanks import PennTreebankSample, SinicaTreebank

REPOSITORY = Path(__file__).parents[3]

READ_WITHOUT_DATA = """
import nltk
nltk.data.path.clear()
from gardenpath.data.readers.nltk_corpora import {reader}
from gardenpath.errors import MissingCorpusError
try:
    list({reader}(root={root!r}).read("train"))
except MissingCorpusError as error:
    print(error)
"""


def test_penn_treebank_sample(nltk_root: str) -> None:
    reader = PennTreebankSample(root=nltk_root)
    splits = {split: list(reader.read(split)) for split in ("train", "valid", "test")}
    assert sum(map(len, splits.values())) == 3_914
    files = {split: {s.source.path for s in sentences} for split, sentences in splits.items()}
    assert [len(files[split]) for split in splits] == [159, 20, 20]
    assert not (files["train"] & files["valid"] or files["valid"] & files["test"])
    first = splits["train"][0]
    assert first.words[:3] == ("Pierre", "Vinken", ",")
    assert (first.source.path, first.source.line) == ("wsj_0001.mrg", 2)
    assert first.tree is not None and list(first.tree.labels())[:2] == ["S", "NP-SBJ"]


def test_other_split_of_the_sample(nltk_root: str) -> None:
    reader = PennTreebankSample(root=nltk_root, train="2-3", valid="1", test="199")
    assert {s.source.path for s in reader.read("train")} == {"wsj_0002.mrg", "wsj_0003.mrg"}
    assert len(list(reader.read("valid"))) == 2
    assert reader.fingerprint() != PennTreebankSample(root=nltk_root).fingerprint()
    again = PennTreebankSample(root=nltk_root, train="2-3", valid="1", test="199")
    assert reader.fingerprint() == again.fingerprint()


def test_sinica(nltk_root: str) -> None:
    sentences = list(SinicaTreebank(root=nltk_root, valid="1-2, 9001-10000").read("valid"))
    assert [s.words for s in sentences[:2]] == [("一",), ("友情",)]
    assert [s.source.line for s in sentences] == [1, 2, *range(9001, 10_001)]
    assert str(sentences[-1].source) == "sinica_treebank:10000"
    assert all(s.tree is not None and s.tree.words() == s.words for s in sentences)


def test_fingerprint_of_sinica(nltk_root: str) -> None:
    before = SinicaTreebank(root=nltk_root).fingerprint()
    assert SinicaTreebank(root=nltk_root).fingerprint() == before
    assert SinicaTreebank(root=nltk_root, test="9502-10000").fingerprint() != before


@pytest.mark.parametrize(
    ("reader", "title", "name"),
    [
        ("PennTreebankSample", "Penn Treebank sample", "treebank"),
        ("SinicaTreebank", "Sinica Treebank sample", "sinica_treebank"),
    ],
)
def test_missing(tmp_path: Path, reader: str, title: str, name: str) -> None:
    """In a process of its own, for NLTK keeps what it has found once."""
    code = READ_WITHOUT_DATA.format(reader=reader, root=str(tmp_path))
    environment = {key: value for key, value in os.environ.items() if key != "NLTK_DATA"}
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for part in (title, str(tmp_path), f"nltk.downloader {name}", "data.root=", "toy_english"):
        assert part in result.stdout
