"""The Penn Treebank's directory of .mrg files, in miniature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gardenpath.data.readers.treebanks import PennTreebank
from gardenpath.errors import MissingCorpusError, TreeError


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Sections 0 to 24 with two files each; each file has two trees, one over two lines."""
    for section in range(25):
        folder = tmp_path / "parsed" / "mrg" / "wsj" / f"{section:02d}"
        folder.mkdir(parents=True)
        for number in (1, 2):
            name = f"{section:02d}{number:02d}"
            text = f"\n( (S (NP-SBJ (NN w{name}))\n  (VP (VBZ meows))) )\n( (FRAG (NN x{name})) )\n"
            (folder / f"wsj_{name}.mrg").write_text(text)
    (tmp_path / "parsed" / "mrg" / "wsj" / "02" / "readme.txt").write_text("not a tree")
    return tmp_path


def first_words(root: Path, split: str, **settings: Any) -> list[str]:
    return [sentence.words[0] for sentence in PennTreebank(root=str(root), **settings).read(split)]


@pytest.mark.parametrize(
    ("split", "sections"), [("train", range(2, 22)), ("valid", [22]), ("test", [23])]
)
def test_default_split(release: Path, split: str, sections: list[int]) -> None:
    expected = [
        f"{letter}{section:02d}{number:02d}"
        for section in sections
        for number in (1, 2)
        for letter in "wx"
    ]
    assert first_words(release, split) == expected


def test_trees_and_their_places(release: Path) -> None:
    sentences = list(PennTreebank(root=str(release)).read("valid"))
    assert [str(sentence.source) for sentence in sentences] == [
        "wsj_2201.mrg:2",
        "wsj_2201.mrg:4",
        "wsj_2202.mrg:2",
        "wsj_2202.mrg:4",
    ]
    assert str(sentences[0].tree) == "(S (NP-SBJ (NN w2201)) (VP (VBZ meows)))"
    assert sentences[0].words == ("w2201", "meows")


def test_other_sections_and_files(release: Path) -> None:
    assert first_words(release, "test", test="0, 24") == [
        *("w0001", "x0001", "w0002", "x0002"),
        *("w2401", "x2401", "w2402", "x2402"),
    ]
    by_file = {"unit": "file", "train": "201-202, 2401", "valid": "1", "test": "2"}
    assert first_words(release, "train", **by_file) == [
        *("w0201", "x0201", "w0202", "x0202", "w2401", "x2401")
    ]


def test_root_may_be_any_folder_above(release: Path) -> None:
    deep = release / "parsed" / "mrg" / "wsj" / "22"
    assert first_words(deep, "valid") == first_words(release, "valid")


def test_upper_case_names(tmp_path: Path) -> None:
    (tmp_path / "WSJ_2201.MRG").write_text("( (NN cat) )")
    assert first_words(tmp_path, "valid") == ["cat"]


def test_fingerprint(release: Path) -> None:
    before = PennTreebank(root=str(release)).fingerprint()
    assert PennTreebank(root=str(release)).fingerprint() == before
    assert PennTreebank(root=str(release), valid="24").fingerprint() != before
    path = release / "parsed" / "mrg" / "wsj" / "10" / "wsj_1001.mrg"
    path.write_text("( (NN dog) )")
    assert PennTreebank(root=str(release)).fingerprint() != before


def test_mistake_names_file_and_line(release: Path) -> None:
    path = release / "parsed" / "mrg" / "wsj" / "22" / "wsj_2202.mrg"
    path.write_text("( (NN dog) )\n( (NN ) )\n")
    with pytest.raises(TreeError, match="empty constituent") as caught:
        list(PennTreebank(root=str(release)).read("valid"))
    assert str(caught.value).startswith(f"{path}:2: ")


@pytest.mark.parametrize("method", ["read", "fingerprint"])
def test_missing(tmp_path: Path, method: str) -> None:
    reader = PennTreebank(root=str(tmp_path / "none"))
    with pytest.raises(MissingCorpusError) as caught:
        reader.fingerprint() if method == "fingerprint" else list(reader.read("train"))
    message = str(caught.value)
    for part in ("Penn Treebank", str(tmp_path / "none"), "LDC99T42", "data.root=", "toy_english"):
        assert part in message
