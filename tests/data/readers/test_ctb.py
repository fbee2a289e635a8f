"""The Chinese Treebank's files, in miniature: markup, encodings, genres, ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gardenpath.data.readers.treebanks import ChineseTreebank, genre_of, without_markup
from gardenpath.errors import InputError, MissingCorpusError, TreeError

FILE = """\
<DOC>
<DOCID> {name} </DOCID>
<BODY>
<S ID=1>
( (IP (NP-SBJ (NR {name}))
      (VP (VV 中文))) )
</S>
<S ID=2>
( (FRAG (NN 树库)) )
</S>
</BODY>
</DOC>
"""


def write(folder: Path, name: str, encoding: str = "utf-8") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(FILE.format(name=name).encode(encoding))
    return folder / name


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "bracketed"
    for name in ("0001.nw", "0301.nw", "1001.mz", "2001.bn", "4051.bc", "5001.wb", "6001.df"):
        write(folder, f"chtb_{name}")
    write(tmp_path / "data" / "raw", "chtb_0001.nw")
    write(tmp_path / "data" / "segmented", "chtb_0001.nw.seg")
    return tmp_path


def reader(root: Path, **settings: Any) -> ChineseTreebank:
    chosen = {"train": "1-9999", "valid": "301", "test": "1", **settings}
    return ChineseTreebank(root=str(root), **chosen)


def files_read(root: Path, split: str = "train", **settings: Any) -> list[str]:
    sentences = reader(root, **settings).read(split)
    return [s.source.path.removeprefix("chtb_") for s in sentences if len(s.words) == 2]


def test_markup_and_places(release: Path) -> None:
    one, two = reader(release).read("test")
    assert str(one.tree) == "(IP (NP-SBJ (NR chtb_0001.nw)) (VP (VV 中文)))"
    assert str(one.source) == "chtb_0001.nw:5"
    assert (two.words, str(two.source)) == (("树库",), "chtb_0001.nw:9")


def test_without_markup_keeps_lines() -> None:
    lines = ["<S ID=1>", "(NN 猫)", "  </S>", "(NN a<b)"]
    assert list(without_markup(lines)) == ["", "(NN 猫)", "", "(NN a<b)"]


def test_default_genres(release: Path) -> None:
    expected = ["0001.nw", "0301.nw", "1001.mz", "2001.bn", "4051.bc", "5001.wb"]
    assert files_read(release) == expected


def test_chosen_genres_and_ids(release: Path) -> None:
    assert files_read(release, genres=("df", "mz")) == ["1001.mz", "6001.df"]
    assert files_read(release, train="1-1000, 5001") == ["0001.nw", "0301.nw", "5001.wb"]
    assert files_read(release, "valid") == ["0301.nw"]


def test_older_releases(tmp_path: Path) -> None:
    """Without a genre in the name, the number tells it; files are in GB18030."""
    for name in ("chtb_001.fid", "chtb_1050.fid", "chtb_2500.fid"):
        write(tmp_path, name, "gb18030")
    assert files_read(tmp_path) == ["001.fid", "1050.fid", "2500.fid"]
    assert files_read(tmp_path, genres=("mz",)) == ["1050.fid"]
    assert [s.words[-1] for s in reader(tmp_path).read("test")] == ["中文", "树库"]


@pytest.mark.parametrize(
    ("number", "suffix", "genre"),
    [
        (1, "nw", "nw"),
        (1, "NW", "nw"),
        (931, "fid", "nw"),
        (1001, "fid", "mz"),
        (3145, "fid", "bn"),
        (9000, "fid", ""),
    ],
)
def test_genre_of(number: int, suffix: str, genre: str) -> None:
    assert genre_of(number, suffix) == genre


def test_mixed_encodings(tmp_path: Path) -> None:
    write(tmp_path, "chtb_0001.nw", "gb18030")
    write(tmp_path, "chtb_0002.nw", "utf-8")
    words = [s.words for s in reader(tmp_path).read("train") if len(s.words) == 1]
    assert words == [("树库",), ("树库",)]


def test_wrong_encoding(tmp_path: Path) -> None:
    path = write(tmp_path, "chtb_0001.nw", "gb18030")
    with pytest.raises(InputError, match="is not text in utf-8") as caught:
        list(reader(tmp_path, encoding="utf-8").read("train"))
    assert caught.value.path == str(path)
    path.write_bytes(b"\xff\xff")
    with pytest.raises(InputError, match="utf-8 or gb18030"):
        list(reader(tmp_path).read("train"))


def test_a_folder_named_raw_above_the_root(release: Path, tmp_path: Path) -> None:
    """Raw text of the release is passed over, but the release may lie anywhere."""
    write(tmp_path / "raw" / "ctb", "chtb_0001.nw")
    assert files_read(tmp_path / "raw" / "ctb") == ["0001.nw"]


def test_mistake_names_file_and_line(release: Path) -> None:
    path = release / "data" / "bracketed" / "chtb_0301.nw"
    path.write_text("<S ID=1>\n(IP (NN 猫))\n</S>\n<S ID=2>\n(IP (NN 猫)))\n</S>\n")
    with pytest.raises(TreeError, match="unexpected") as caught:
        list(reader(release).read("valid"))
    assert str(caught.value).startswith(f"{path}:5: ")


def test_fingerprint(release: Path) -> None:
    before = reader(release).fingerprint()
    assert reader(release).fingerprint() == before
    assert reader(release, genres=("nw",)).fingerprint() != before
    assert reader(release, test="2001").fingerprint() != before
    write(release / "data" / "bracketed", "chtb_0002.nw")
    assert reader(release).fingerprint() != before


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingCorpusError) as caught:
        list(reader(tmp_path).read("train"))
    message = str(caught.value)
    for part in ("Chinese Treebank", str(tmp_path), "LDC2016T13", "data.root=", "toy_mandarin"):
        assert part in message
