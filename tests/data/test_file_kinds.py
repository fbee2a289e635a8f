"""Archives, documents and other encodings are named before they are decoded."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sqlite3
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.readers.base import binary_kind, require_text
from gardenpath.data.readers.files import BracketFiles, TextFiles
from gardenpath.errors import InputError

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
