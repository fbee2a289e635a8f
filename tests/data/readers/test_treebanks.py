"""The Chinese Treebank's files, in miniature: markup, encodings, genres, ids."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gardenpath.data.readers.treebanks import (
    ChineseTreebank,
    GumTreebank,
    PennTreebank,
    PennTreebankSample,
    SinicaTreebank,
    genre_of,
    partitions_of,
    without_markup,
)
from gardenpath.data.sentence import SPLITS
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.errors import GardenpathError, InputError, MissingCorpusError, TreeError
from gardenpath.settings.compose import load_settings

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


# ----------------------------------------------------------------------------
# GUM's documents and partitions, in miniature and as released.


LISTS = """# Splits

Text about GUM_news_x.

## dev

  * GUM_news_b

## test
  * GUM_fiction_c
## test2
  * GENTLE_proof_d
## train
  * GUM_news_z
  * GUM_news_a
  * GUM_reddit_e
"""


def document(name: str) -> str:
    return f"(ROOT\n  (S\n    (NP-SBJ (NN {name}))\n    (VP (VBZ meows))))\n\n(ROOT (UH hey))\n"


FILES = {
    "splits.md": LISTS,
    **{
        f"const/{name}.ptb": document(name[-1])
        for name in ("GUM_news_a", "GUM_news_b", "GUM_fiction_c", "GENTLE_proof_d", "GUM_news_z")
    },
    "const/GUM_reddit_e.ptb": "(ROOT (S (NP (PRP _)) (VP (VBZ _____))))\n",
    "LICENSE.txt": "free",
}


def unpacked(folder: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def packed(path: Path, files: dict[str, str] = FILES) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.fixture(params=["folder", "archive", "inner"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "archive":
        return str(packed(tmp_path / "gum.tar.gz"))
    folder = unpacked(tmp_path / "gum")
    return str(folder / "const" if request.param == "inner" else folder)


def test_partitions(root: str) -> None:
    reader = GumTreebank(root=root)
    words = {split: [one.words for one in reader.read(split)] for split in SPLITS}
    assert words == {
        "train": [("z", "meows"), ("hey",), ("a", "meows"), ("hey",)],
        "valid": [("b", "meows"), ("hey",)],
        "test": [("c", "meows"), ("hey",)],
    }
    other = GumTreebank(root=root, test="test2")
    assert [one.words for one in other.read("test")] == [("d", "meows"), ("hey",)]


def test_trees_have_no_root_but_single_words_do(root: str) -> None:
    first, second = GumTreebank(root=root).read("valid")
    assert str(first.tree) == "(S (NP-SBJ (NN b)) (VP (VBZ meows)))"
    assert (str(first.source), str(second.source)) == ("GUM_news_b.ptb:1", "GUM_news_b.ptb:6")
    cleaned = [one.tree for one in Cleaning().apply([first, second])]
    assert list(map(str, cleaned)) == ["(S (NP b) (VP meows))", "(ROOT hey)"]


def test_masked_documents_are_a_setting(root: str) -> None:
    kept = [one.words for one in GumTreebank(root=root, masked="keep").read("train")]
    assert kept[-1] == ("_", "_____") and len(kept) == 5


def test_restored_documents_are_read(tmp_path: Path) -> None:
    files = {**FILES, "const/GUM_reddit_e.ptb": document("e")}
    found = GumTreebank(root=str(unpacked(tmp_path, files))).read("train")
    assert [one.words for one in found][-2:] == [("e", "meows"), ("hey",)]


def test_fingerprints(tmp_path: Path, root: str) -> None:
    before = GumTreebank(root=root).fingerprint()
    assert GumTreebank(root=root).fingerprint() == before
    for other in (GumTreebank(root=root, test="test2"), GumTreebank(root=root, masked="keep")):
        assert other.fingerprint() != before
    changed = {**FILES, "const/GUM_news_a.ptb": document("q")}
    if Path(root).is_file():
        packed(Path(root), changed)
    else:
        unpacked(tmp_path / "gum", changed)
    assert GumTreebank(root=root).fingerprint() != before


def test_a_partition_is_used_once() -> None:
    assert GumTreebank(root="x", valid="test").mistakes() == [
        "test=test is the partition of another split too"
    ]
    assert GumTreebank(root="x", test="test2").mistakes() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"splits.md": LISTS + "  * GUM_news_none\n"}, "lists GUM_news_none, which is not in"),
        ({"const/GUM_new_one.ptb": document("n")}, "does not list GUM_new_one"),
        ({"splits.md": LISTS.replace("## train", "## other")}, "has no list '## train'"),
        ({"splits.md": LISTS + "  * GUM_news_a\n"}, r"splits.md:17: lists GUM_news_a twice"),
        ({"const/GUM_news_a.ptb": "(ROOT (S"}, r"GUM_news_a.ptb:1: this bracket is never closed"),
    ],
)
@pytest.mark.parametrize("form", ["folder", "archive"])
def test_what_does_not_fit_together(
    tmp_path: Path, change: dict[str, str], message: str, form: str
) -> None:
    files = {**FILES, **change}
    made = packed(tmp_path / "g.tgz", files) if form == "archive" else unpacked(tmp_path, files)
    with pytest.raises((InputError, TreeError), match=message):
        list(GumTreebank(root=str(made)).read("train"))


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_without_lists(tmp_path: Path, form: str) -> None:
    files = {name: text for name, text in FILES.items() if name != "splits.md"}
    made = packed(tmp_path / "g.tgz", files) if form == "archive" else unpacked(tmp_path, files)
    with pytest.raises(InputError, match=r"has no splits\.md"):
        list(GumTreebank(root=str(made)).read("train"))


def test_missing_gum(tmp_path: Path) -> None:
    for method in ("read", "fingerprint"):
        reader = GumTreebank(root=str(tmp_path / "none"))
        with pytest.raises(MissingCorpusError, match=r"GUM treebank[\s\S]*data\.root="):
            reader.fingerprint() if method == "fingerprint" else list(reader.read("train"))


def test_damaged_archives(tmp_path: Path) -> None:
    path = packed(tmp_path / "gum.tar.gz")
    content = path.read_bytes()
    for damaged in (content[:-20], content[: len(content) // 2], b"no archive", b""):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"cannot be read: .*get the archive again"):
            list(GumTreebank(root=str(path)).read("train"))


def test_lists_of_documents() -> None:
    assert partitions_of("* early\n## a\n- x\n\n ## no\n## b\n", path="p") == {"a": ["x"], "b": []}


@pytest.mark.slow
def test_the_release(reference_data: Path, tmp_path: Path) -> None:
    """Counts of the release, and settings as users write them."""
    archive = reference_data / "corpora" / "gum" / "gum_const.tar.gz"
    data = load_settings("train", ["data=gum", f"data.root={archive}"]).data
    sizes = {}
    labels: set[str] = set()
    for split in SPLITS:
        sentences = list(data.preparation().sentences(split))
        sizes[split] = len(sentences)
        assert not any(set(word) == {"_"} for one in sentences for word in one.words)
        for one in sentences:
            assert one.tree is not None
            labels |= set(one.tree.labels())
    assert sizes == {"train": 10224, "valid": 1575, "test": 1464}
    assert {"S", "NP", "VP", "PP", "SBAR"} <= labels
    assert not any("-" in label for label in labels) and len(labels) < 32
    other = load_settings("train", ["data=gum", f"data.root={archive}", "data.reader.test=test2"])
    sources = {str(one.source) for one in other.data.preparation().sentences("test")}
    assert len(sources) == 1334 and all(one.startswith("GENTLE_") for one in sources)


def test_settings_name_the_mistake() -> None:
    with pytest.raises(GardenpathError, match=r"data\.reader\.test"):
        load_settings("train", ["data=gum", "data.reader.test=gentle"])


# ----------------------------------------------------------------------------
# The treebank samples that NLTK distributes.


REPOSITORY = Path(__file__).parents[3]

READ_WITHOUT_DATA = """
import nltk
nltk.data.path.clear()
from gardenpath.data.readers.treebanks import {reader}
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
def test_missing_nltk_corpora(tmp_path: Path, reader: str, title: str, name: str) -> None:
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


# ----------------------------------------------------------------------------
# The Penn Treebank's directory of .mrg files, in miniature.


@pytest.fixture
def release_ptb(tmp_path: Path) -> Path:
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
def test_default_split(release_ptb: Path, split: str, sections: list[int]) -> None:
    expected = [
        f"{letter}{section:02d}{number:02d}"
        for section in sections
        for number in (1, 2)
        for letter in "wx"
    ]
    assert first_words(release_ptb, split) == expected


def test_trees_and_their_places(release_ptb: Path) -> None:
    sentences = list(PennTreebank(root=str(release_ptb)).read("valid"))
    assert [str(sentence.source) for sentence in sentences] == [
        "wsj_2201.mrg:2",
        "wsj_2201.mrg:4",
        "wsj_2202.mrg:2",
        "wsj_2202.mrg:4",
    ]
    assert str(sentences[0].tree) == "(S (NP-SBJ (NN w2201)) (VP (VBZ meows)))"
    assert sentences[0].words == ("w2201", "meows")


def test_other_sections_and_files(release_ptb: Path) -> None:
    assert first_words(release_ptb, "test", test="0, 24") == [
        *("w0001", "x0001", "w0002", "x0002"),
        *("w2401", "x2401", "w2402", "x2402"),
    ]
    by_file = {"unit": "file", "train": "201-202, 2401", "valid": "1", "test": "2"}
    assert first_words(release_ptb, "train", **by_file) == [
        *("w0201", "x0201", "w0202", "x0202", "w2401", "x2401")
    ]


def test_root_may_be_any_folder_above(release_ptb: Path) -> None:
    deep = release_ptb / "parsed" / "mrg" / "wsj" / "22"
    assert first_words(deep, "valid") == first_words(release_ptb, "valid")


def test_upper_case_names(tmp_path: Path) -> None:
    (tmp_path / "WSJ_2201.MRG").write_text("( (NN cat) )")
    assert first_words(tmp_path, "valid") == ["cat"]


def test_fingerprint_ptb(release_ptb: Path) -> None:
    before = PennTreebank(root=str(release_ptb)).fingerprint()
    assert PennTreebank(root=str(release_ptb)).fingerprint() == before
    assert PennTreebank(root=str(release_ptb), valid="24").fingerprint() != before
    path = release_ptb / "parsed" / "mrg" / "wsj" / "10" / "wsj_1001.mrg"
    path.write_text("( (NN dog) )")
    assert PennTreebank(root=str(release_ptb)).fingerprint() != before


def test_mistake_names_file_and_line_ptb(release_ptb: Path) -> None:
    path = release_ptb / "parsed" / "mrg" / "wsj" / "22" / "wsj_2202.mrg"
    path.write_text("( (NN dog) )\n( (NN ) )\n")
    with pytest.raises(TreeError, match="empty constituent") as caught:
        list(PennTreebank(root=str(release_ptb)).read("valid"))
    assert str(caught.value).startswith(f"{path}:2: ")


@pytest.mark.parametrize("method", ["read", "fingerprint"])
def test_missing_ptb(tmp_path: Path, method: str) -> None:
    reader = PennTreebank(root=str(tmp_path / "none"))
    with pytest.raises(MissingCorpusError) as caught:
        reader.fingerprint() if method == "fingerprint" else list(reader.read("train"))
    message = str(caught.value)
    for part in ("Penn Treebank", str(tmp_path / "none"), "LDC99T42", "data.root=", "toy_english"):
        assert part in message
