"""GUM's documents and partitions, in miniature and as released."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from gardenpath.data.readers.treebanks import GumTreebank, partitions_of
from gardenpath.data.sentence import SPLITS
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.errors import GardenpathError, InputError, MissingCorpusError, TreeError
from gardenpath.settings.compose import load_settings

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


def test_missing(tmp_path: Path) -> None:
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
