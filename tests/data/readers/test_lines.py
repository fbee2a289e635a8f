"""Corpora in three files: trees in brackets, and plain text."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.data.readers.files import BracketFiles, TextFiles
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.errors import InputError, MissingCorpusError, TreeError

WITH_POS = "(S (NP (DT the) (JJ hungry) (NN cat)) (VP (VBZ meows)))\n(NP (NN cat))\n"
WITHOUT_POS = "(S (NP the hungry cat) (VP meows))\n(NP cat)\n"
LINEARISED = "(S (NP the hungry cat ) (VP meows ) )\n(NP cat )\n"


def write_splits(folder: Path, text: str) -> None:
    for split in ("train", "valid", "test"):
        (folder / f"{split}.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("text", [WITH_POS, WITHOUT_POS, LINEARISED])
def test_three_forms_of_one_corpus(tmp_path: Path, text: str) -> None:
    write_splits(tmp_path, text)
    sentences = list(Cleaning().apply(BracketFiles(root=str(tmp_path)).read("train")))
    assert [str(s.tree) for s in sentences] == ["(S (NP the hungry cat) (VP meows))", "(NP cat)"]
    assert [s.words for s in sentences] == [("the", "hungry", "cat", "meows"), ("cat",)]
    assert [str(s.source) for s in sentences] == ["train.txt:1", "train.txt:2"]


def test_names_and_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_bytes("(NN 中文)".encode("gb18030"))
    reader = BracketFiles(root=str(tmp_path), valid="a.mrg", encoding="gb18030")
    (sentence,) = reader.read("valid")
    assert (sentence.words, str(sentence.source)) == (("中文",), "a.mrg:1")


def test_text(tmp_path: Path) -> None:
    write_splits(tmp_path, "the hungry  cat\n\n \n猫 叫 。\n")
    sentences = list(TextFiles(root=str(tmp_path)).read("test"))
    assert [s.words for s in sentences] == [("the", "hungry", "cat"), ("猫", "叫", "。")]
    assert [str(s.source) for s in sentences] == ["test.txt:1", "test.txt:4"]
    assert all(s.tree is None for s in sentences)
    assert (TextFiles.has_trees, BracketFiles.has_trees) == (False, True)


def test_mistakes_name_file_and_line(tmp_path: Path) -> None:
    write_splits(tmp_path, "(NP cat)\ncat\n")
    with pytest.raises(TreeError) as caught:
        list(BracketFiles(root=str(tmp_path)).read("valid"))
    assert str(caught.value).startswith(f"{tmp_path / 'valid.txt'}:2: the leaf 'cat'")
    (tmp_path / "train.txt").write_bytes(b"cat\n\xff\n")
    with pytest.raises(InputError) as not_text:
        list(TextFiles(root=str(tmp_path)).read("train"))
    assert str(not_text.value).startswith(f"{tmp_path / 'train.txt'}:2: is not UTF-8")


@pytest.mark.parametrize("kind", [BracketFiles, TextFiles])
def test_fingerprint(tmp_path: Path, kind: type[BracketFiles | TextFiles]) -> None:
    write_splits(tmp_path, WITH_POS)
    before = kind(root=str(tmp_path)).fingerprint()
    assert kind(root=str(tmp_path)).fingerprint() == before
    assert kind(root=str(tmp_path), encoding="latin-1").fingerprint() != before
    assert kind(root=str(tmp_path), test="valid.txt").fingerprint() != before
    (tmp_path / "test.txt").write_text("(NP dog)\n")
    assert kind(root=str(tmp_path)).fingerprint() != before


def test_an_end_symbol_is_not_a_word(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("the cat <eos>\n<eos>\na <eos> dog\n")
    plain, ended = TextFiles(root=str(tmp_path)), TextFiles(root=str(tmp_path), end="<eos>")
    words = [one.words for one in ended.read("train")]
    assert words == [("the", "cat"), ("a", "<eos>", "dog")]
    assert [len(one.words) for one in plain.read("train")] == [3, 1, 3]
    assert plain.fingerprint(["train"]) != ended.fingerprint(["train"])


def test_a_split_may_be_many_files(tmp_path: Path) -> None:
    for name, text in (
        ("b/cf01", "(S (NN b1))"),
        ("a/cf02", "(S (NN a2))"),
        ("a/cf09", "(S (NN v))"),
    ):
        path = tmp_path / f"{name}.mrg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")

    def reader(train: str, valid: str) -> BracketFiles:
        return BracketFiles(root=str(tmp_path), train=train, valid=valid)

    found = list(reader("c*[1-8].mrg", "c*9.mrg").read("train"))
    assert [one.words for one in found] == [("a2",), ("b1",)]
    assert [str(one.source) for one in found] == ["a/cf02.mrg:1", "b/cf01.mrg:1"]
    keys = {
        reader(*patterns).fingerprint(["train", "valid"])
        for patterns in (
            ("c*[1-8].mrg", "c*9.mrg"),
            ("c*2.mrg", "c*[19].mrg"),
            ("c*.mrg", "c*9.mrg"),
        )
    }
    assert len(keys) == 3
    with pytest.raises(MissingCorpusError):
        list(reader("x*.mrg", "c*9.mrg").read("train"))


def test_only_the_splits_in_use_need_exist(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a b\n")
    reader = TextFiles(root=str(tmp_path))
    assert reader.fingerprint(["train"]) == TextFiles(root=str(tmp_path)).fingerprint(["train"])
    with pytest.raises(MissingCorpusError):
        reader.fingerprint()


@pytest.mark.parametrize(
    ("kind", "title"), [(BracketFiles, "bracketed trees"), (TextFiles, "plain text")]
)
def test_missing(tmp_path: Path, kind: type[BracketFiles | TextFiles], title: str) -> None:
    write_splits(tmp_path, WITH_POS)
    (tmp_path / "valid.txt").unlink()
    with pytest.raises(MissingCorpusError) as caught:
        list(kind(root=str(tmp_path)).read("valid"))
    message = str(caught.value)
    for part in (title, "valid split", "valid.txt", "own data", "data.root=", "toy_english"):
        assert part in message
    with pytest.raises(MissingCorpusError):
        kind(root=str(tmp_path)).fingerprint()


def test_parsed_novel(reference_data: Path) -> None:
    reader = BracketFiles(root=str(reference_data / "corpora" / "dickens"))
    sentences = list(reader.read("train"))
    assert len(sentences) == 6_904
    assert sentences[0].words[:6] == ("It", "was", "the", "best", "of", "times")
    assert str(sentences[0].source) == "train.txt:1"
    assert str(sentences[-1].source) == "train.txt:6904"
