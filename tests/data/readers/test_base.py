"""Lists of ids and hashes of files."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.corpus import READERS
from gardenpath.data.readers import base as file_hashes
from gardenpath.data.readers import base as pieces
from gardenpath.data.readers.base import (
    HASHES_FILE,
    MOST_WORDS,
    binary_kind,
    content_hash,
    hash_files,
    kind_of_lines,
    known_hash,
    parse_ids,
    remembered_hashes,
    require_sentences,
    require_text,
)
from gardenpath.data.readers.treebanks import BracketFiles, TextFiles
from gardenpath.data.sentence import Sentence
from gardenpath.errors import ConfigError, InputError
from gardenpath.eval.suites.library import load_suites, suite_names
from gardenpath.settings.compose import load_settings
from gardenpath.store.files import sha256_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2-4", {2, 3, 4}),
        ("23", {23}),
        (23, {23}),
        ("1-3, 7, 9-10", {1, 2, 3, 7, 9, 10}),
        ("1 3\n5", {1, 3, 5}),
        ("0001-0003", {1, 2, 3}),
    ],
)
def test_ids(text: str | int, expected: set[int]) -> None:
    assert parse_ids(text, setting="data.reader.train") == expected


@pytest.mark.parametrize("text", ["", "a", "1-b", "5-2", "-5", "5-", "1--2", "1.5"])
def test_wrong_ids(text: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.reader\.train: .* is not a list of numbers"):
        parse_ids(text, setting="data.reader.train")


def test_hash_follows_names_bytes_and_settings(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("cat")
    other.write_text("cat")
    hashes = [hash_files([one], a=1), hash_files([other], a=1), hash_files([one], a=2)]
    hashes.append(hash_files([one, other], a=1))
    one.write_text("dog")
    hashes.append(hash_files([one], a=1))
    assert len(set(hashes)) == 5
    one.write_text("cat")
    assert hash_files([one], a=1) == hashes[0]


def test_registry() -> None:
    single = {"toy", "ptb", "ptb_sample", "ctb", "sinica", "gum", "brackets", "text"}
    assert set(READERS) == {*single, "combined"}
    assert [name for name in single if not READERS[name].has_trees] == ["text"]


# ----------------------------------------------------------------------------
# Remembered hashes: unchanged files are not read, and changed ones always are.


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that counts as old enough."""
    monkeypatch.setattr(file_hashes, "_LEAST_AGE", -(10**12))
    path = tmp_path / "train.txt"
    path.write_text("the cat meows")
    return path


def is_read(path: Path, cache: Path) -> bool:
    """Whether the hash of a file is computed; it must be right either way."""
    read = []

    def compute() -> str:
        read.append(path)
        return sha256_of(path)

    with remembered_hashes(cache):
        assert known_hash(path, "sha256", compute) == sha256_of(path)
    return bool(read)


def test_a_file_is_read_once(corpus: Path, tmp_path: Path) -> None:
    assert is_read(corpus, tmp_path)
    assert not is_read(corpus, tmp_path)
    assert is_read(corpus, tmp_path / "another_cache")
    os.utime(corpus)
    assert is_read(corpus, tmp_path)


def test_a_change_is_noticed_even_if_size_and_time_are_the_same(
    corpus: Path, tmp_path: Path
) -> None:
    assert is_read(corpus, tmp_path)
    before = corpus.stat()
    corpus.write_text("the dog barks")
    os.utime(corpus, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert corpus.stat().st_size == before.st_size
    assert is_read(corpus, tmp_path)


def test_a_replaced_file_is_noticed(corpus: Path, tmp_path: Path) -> None:
    assert is_read(corpus, tmp_path)
    other = tmp_path / "other"
    other.write_text("the dog barks")
    other.replace(corpus)
    assert is_read(corpus, tmp_path)


def test_a_file_that_was_just_written_is_not_trusted(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_hashes, "_LEAST_AGE", 10**15)
    assert is_read(corpus, tmp_path)
    assert is_read(corpus, tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"sha256: x": 3}'])
def test_a_damaged_memory_is_ignored(corpus: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / HASHES_FILE).write_text(content.replace("x", str(corpus)))
    assert is_read(corpus, tmp_path)
    assert not is_read(corpus, tmp_path)


def test_kinds_are_apart(corpus: Path, tmp_path: Path) -> None:
    with remembered_hashes(tmp_path):
        assert known_hash(corpus, "one", lambda: "1") == "1"
        assert known_hash(corpus, "two", lambda: "2") == "2"
        assert known_hash(corpus, "one", lambda: "3") == "1"
    assert content_hash(corpus) == sha256_of(corpus), "without a memory, nothing is remembered"


def test_a_folder_that_cannot_be_written_is_no_reason_to_stop(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert is_read(corpus, tmp_path / "file")


# ----------------------------------------------------------------------------
# Pieces of files: the same sentences, lines and errors as in the whole file.


TREES = (
    "(S (NP the cat) (VP meows))",
    "(S (NP the\n dog)\n\n (VP barks))",
    "(S (NP a) (VP b)) (S (NP c) (VP d))",
    "( (S (NP -LRB- x)\r\n (VP y)) )",
    "",
    "(FRAG 好 吗)",
)


@pytest.fixture
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 40)


def from_pieces(reader: BracketFiles | TextFiles) -> Iterator[Sentence]:
    for piece in reader.pieces("train"):
        yield from reader.read_piece(piece)


@pytest.mark.usefixtures("_small_pieces")
@given(
    chosen=st.lists(st.sampled_from(TREES), max_size=12), end=st.sampled_from(["\n", "\r\n", "\r"])
)
def test_pieces_of_brackets(
    tmp_path_factory: pytest.TempPathFactory, chosen: list[str], end: str
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "train.txt").write_bytes(end.join(chosen).encode())
    reader = BracketFiles(root=str(folder))
    assert list(from_pieces(reader)) == list(reader.read("train"))


@pytest.mark.usefixtures("_small_pieces")
@given(
    lines=st.lists(st.sampled_from(["the cat meows .", "", "你好 世界", "a"]), max_size=20),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_pieces_of_text(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "train.txt").write_bytes(end.join(lines).encode())
    reader = TextFiles(root=str(folder))
    assert list(from_pieces(reader)) == list(reader.read("train"))


@pytest.mark.usefixtures("_small_pieces")
def test_files_are_cut(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("\n".join([TREES[0], TREES[1]] * 10))
    found = BracketFiles(root=str(tmp_path)).pieces("train")
    assert len(found) > 8
    assert [piece.first_line for piece in found][:3] == [1, 6, 11]
    assert sum(piece.byte_count for piece in found) == (tmp_path / "train.txt").stat().st_size


@pytest.mark.usefixtures("_small_pieces")
def test_a_tree_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("(S\n" + "(NP cat)\n" * 200 + ")\n(S x)\n")
    assert len(BracketFiles(root=str(tmp_path)).pieces("train")) == 2


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_are_not_cut(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "train.txt").write_text("the cat\n" * 100, encoding=encoding)
    reader = TextFiles(root=str(tmp_path), encoding=encoding)
    assert [piece.part for piece in reader.pieces("train")] == [None]
    assert len(list(from_pieces(reader))) == 100


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize(
    ("wrong", "line"),
    [(")", 31), ("(S (NP x)", 31), ("word", 31), ("(S ())", 31), ("(S\n(NP x)", 31)],
)
def test_errors_have_the_same_place(tmp_path: Path, wrong: str, line: int) -> None:
    lines = [TREES[0]] * 30 + [wrong] + ([TREES[0]] * 20 if "S (NP" not in wrong else [])
    (tmp_path / "train.txt").write_text("\n".join(lines))
    reader = BracketFiles(root=str(tmp_path))
    with pytest.raises(InputError) as whole:
        list(reader.read("train"))
    with pytest.raises(InputError) as cut:
        list(from_pieces(reader))
    assert str(cut.value) == str(whole.value)
    assert cut.value.line == line


@pytest.mark.usefixtures("_small_pieces")
def test_undecodable_bytes_have_the_same_place(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(b"the cat\n" * 50 + b"\xff\n" + b"the cat\n" * 50)
    reader = TextFiles(root=str(tmp_path))
    with pytest.raises(InputError, match=r"train\.txt:51: is not UTF-8 text"):
        list(from_pieces(reader))


# ----------------------------------------------------------------------------
# Archives, documents and other encodings are named before they are decoded.


TEXT = "the cat sleeps .\nthe dog barks .\n"


def _zip() -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("xl/workbook.xml", TEXT)
    return written.getvalue()


KINDS = {
    "gzip": gzip.compress(TEXT.encode()),
    "bzip2": bz2.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
    "zip": _zip(),
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-32": TEXT.encode("utf-32"),
    "UTF-16 text without": TEXT.encode("utf-16-le"),
    "PDF": b"%PDF-1.7\n",
    "binary": b"ab\x00cd\x01",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str, tmp_path: Path) -> None:
    for name in ("train.txt", "valid.txt", "test.txt"):
        (tmp_path / name).write_bytes(KINDS[kind])
    for reader in (TextFiles(root=str(tmp_path)), BracketFiles(root=str(tmp_path))):
        with pytest.raises(InputError, match=rf"train\.txt: is .*{kind}.*not (UTF-8 )?text \("):
            list(reader.read("train"))


def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("create table t (x)")
    with pytest.raises(InputError, match="an SQLite database"):
        require_text(path)


def test_an_encoding_that_is_asked_for_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_bytes(TEXT.encode("utf-16"))
    read = TextFiles(root=str(tmp_path), encoding="utf-16").read("train")
    assert [sentence.words[1] for sentence in read] == ["cat", "dog"]


@given(st.text(st.characters(exclude_characters="\x00"), min_size=1))
def test_text_in_utf_8_is_never_refused(text: str) -> None:
    # These beginnings are those of files that nobody writes as sentences.
    if not text.startswith(("BZh", "PK\x03\x04", "%PDF", "PAR1")):
        assert binary_kind(text.encode("utf-8", "replace")) is None


def test_what_cannot_be_opened_is_left_to_the_reader(tmp_path: Path) -> None:
    require_text(tmp_path / "missing.txt")
    require_text(tmp_path)


# ----------------------------------------------------------------------------
# Tables, JSON, YAML and mark-up are told from sentences by their content.


OTHERS = {
    "item,condition,sentence\n1,match,the cat sleeps .\n2,match,the dog barks .\n": "a CSV table",
    'sentence,label\n"the cat , it sleeps .",good\nthe dog barks .,bad\n': "a CSV table",
    "item;sentence\n1;the cat sleeps .\n": "a CSV table",
    "sentence_id\tword\tbits\n1\tthe\t4.5\n1\tcat\t9.1\n": "a TSV table",
    "# header\nword\tbits\nthe\t4.5\n": "a TSV table",
    '{"sentence": "the cat sleeps ."}\n{"sentence": "the dog ."}\n': "JSON",
    '{\n "sentences": [\n  "the cat sleeps ."\n ]\n}\n': "JSON",
    '["the cat sleeps .", "the dog barks ."]\n': "JSON",
    "name: mine\nregions:\n  - subject\n  - verb\nitems:\n  - [the cat, sleeps]\n": "YAML",
    "---\n- the cat sleeps .\n- the dog .\n": "YAML",
    "<?xml version='1.0'?>\n<s>the cat</s>\n": "HTML or XML",
    "<!DOCTYPE html>\n<p>the cat</p>\n": "HTML or XML",
}
TEXTS = [
    "the cat sleeps .\nthe dog , it barks .\n",
    "Well, he said.\nNo, she said.\n",
    "He paid 1,000 dollars .\nShe paid 2,500 dollars .\n",
    "He came ; she left .\nShe came ; he left .\n",
    "Anna: where are you?\nBert: here.\nAnna: good.\n",
    "Note : this is text .\nAnother : line .\n",
    "[ laughs ] he said .\n[ cries ] she said .\n",
    "{ sic } he said .\n",
    "- he said .\n- she said .\n",
    "# one\n# two\n",
    "1\n2\n",
    "他 说 ， 好 。\n她 说 ， 不 。\n",
    "a|b is a choice .\n",
    "",
    "\n \n",
]


@pytest.mark.parametrize(("text", "kind"), OTHERS.items())
def test_what_is_not_text(text: str, kind: str) -> None:
    assert kind_of_lines(text.splitlines(keepends=True)) == kind


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_text(text: str) -> None:
    assert kind_of_lines(text.splitlines(keepends=True)) is None
    require_sentences(text.splitlines(keepends=True), path="a.txt")


def test_the_error_names_the_file_and_the_remedy() -> None:
    with pytest.raises(InputError, match=r"^a\.txt: is a CSV table, not sentences \(write the"):
        require_sentences(["a,b\n", "1,2\n"], path="a.txt")
    with pytest.raises(InputError, match=r"^a\.csv: is a CSV table"):
        require_sentences(["sentence\n", "the cat sleeps .\n"], path="a.csv")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a\x00b", "NUL"),
        ("one .\u2028two .", r"U\+2028"),
        ("one .\x85two .", r"U\+0085"),
        ("word " * (MOST_WORDS + 1), r"1,001 words; a sentence has at most 1,000"),
    ],
)
def test_lines_that_are_no_sentences(line: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"^a.txt:2: .*{problem}"):
        require_sentences(["the cat .", line], path="a.txt")
    require_sentences(["word " * MOST_WORDS], path="a.txt")


_cells = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
_names = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(_names, min_size=2, max_size=4),
    st.lists(st.lists(_cells, min_size=4, max_size=4), min_size=1, max_size=5),
    st.sampled_from(",\t;"),
)
def test_every_table_with_a_header_is_found(
    header: list[str], rows: list[list[str]], mark: str
) -> None:
    written = io.StringIO()
    table = csv.writer(written, delimiter=mark)
    table.writerow(header)
    table.writerows(row[: len(header)] for row in rows)
    lines = written.getvalue().splitlines(keepends=True)
    assert kind_of_lines(lines) is not None


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(_names, st.lists(_cells, min_size=1, max_size=3), min_size=1, max_size=3))
def test_json_and_yaml_are_found(content: dict[str, list[str]]) -> None:
    for text in (json.dumps(content), json.dumps(content, indent=1)):
        assert kind_of_lines(text.splitlines()) == "JSON"
    text = yaml.safe_dump({"suite": content}, allow_unicode=True)
    assert kind_of_lines(text.splitlines()) == "YAML"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_lines_are_judged(lines: list[str]) -> None:
    kind_of_lines(lines)


def _require_text(sentences: list[str]) -> None:
    for begin in range(0, len(sentences), 2):
        assert kind_of_lines(sentences[begin : begin + 2]) is None, sentences[begin : begin + 2]


def test_no_sentence_of_the_suites_is_refused() -> None:
    suites = load_suites(suite_names())
    found = dict.fromkeys(" ".join(words) for suite in suites for words in suite.sentences)
    _require_text(list(found))


@pytest.mark.parametrize("corpus", ["ptb_sample", "sinica"])
def test_no_sentence_of_a_corpus_is_refused(corpus: str, nltk_root: str) -> None:
    data = load_settings("train", [f"data={corpus}", f"data.root={nltk_root}"]).data
    _require_text([" ".join(sentence.words) for sentence in data.reader.read("test")])
