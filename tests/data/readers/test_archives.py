"""Text files in folders and archives; archives that no honest program makes are refused."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gardenpath.data.readers import base as packed_files
from gardenpath.data.readers.base import packed_texts
from gardenpath.errors import InputError

FILES = {
    "data/b.txt": "两\n",
    "data/a.txt": "\N{BYTE ORDER MARK}one\n",
    "data/deep/c.TXT": "three",
    "data/notes.md": "no",
    "data/.hidden.txt": "no",
    "__MACOSX/data/._a.txt": "no",
}
EXPECTED = [
    (("data", "a.txt"), "one\n"),
    (("data", "b.txt"), "两\n"),
    (("data", "deep", "c.TXT"), "three"),
]


def is_text(name: str) -> bool:
    return name.lower().endswith(".txt")


def _folder(path: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, encoding="utf-8")
    return path


def _zip(path: Path, files: Mapping[str, str]) -> Path:
    made = path / "set.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/", "")
        for name, text in files.items():
            archive.writestr(name, text)
    return made


def _tar(path: Path, files: Mapping[str, str], name: str = "set.tar.gz") -> Path:
    made = path / name
    with tarfile.open(made, "w" if name.endswith(".tar") else "w:gz") as archive:
        for member, text in files.items():
            info = tarfile.TarInfo(member)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return made


MAKERS: dict[str, Callable[[Path, Mapping[str, str]], Path]] = {
    "folder": _folder,
    "zip": _zip,
    "tar.gz": _tar,
    "tar": lambda path, files: _tar(path, files, "set.tar"),
    "tgz": lambda path, files: _tar(path, files, "SET.TGZ"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_folders_and_archives_have_the_same_texts(tmp_path: Path, kind: str) -> None:
    root = MAKERS[kind](tmp_path, FILES)
    found = packed_texts(root, is_text)
    assert [(one.parts[1:], one.text) for one in found] == EXPECTED
    assert all(one.parts[0] == root.name for one in found)
    assert [one.stem for one in found] == ["a", "b", "c"]
    assert found[2].folders == (root.name, "data", "deep")
    assert found[0].path == str(root / "data" / "a.txt")


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
@pytest.mark.parametrize(
    "name", ["/etc/a.txt", "../a.txt", "x/../../a.txt", "..\\a.txt", "C:/a.txt"]
)
def test_names_that_lead_out_are_refused(tmp_path: Path, kind: str, name: str) -> None:
    root = MAKERS[kind](tmp_path, {"a.txt": "fine", name: "not"})
    with pytest.raises(InputError, match="leads out of the archive"):
        packed_texts(root, is_text)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("a.txt")
    info.type, info.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as archive:
        archive.addfile(info)
    with pytest.raises(InputError, match="is a link or a device"):
        packed_texts(tmp_path / "set.tar.gz", is_text)


def test_links_in_zip_are_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("a.txt")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(InputError, match="is a link or a device"):
        packed_texts(tmp_path / "set.zip", is_text)


@pytest.mark.parametrize("kind", MAKERS)
def test_large_files_are_refused(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = MAKERS[kind](tmp_path, {"a.txt": "x" * 100, "b.txt": "y" * 101})
    monkeypatch.setattr(packed_files, "LARGEST_FILE", 101)
    assert len(packed_texts(root, is_text)) == 2
    monkeypatch.setattr(packed_files, "LARGEST_FILE", 100)
    with pytest.raises(InputError, match=r"b\.txt: has more than 100 bytes"):
        packed_texts(root, is_text)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_the_total_is_bounded(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = MAKERS[kind](tmp_path, {f"{n}.txt": "x" * 5000 for n in range(10)})
    monkeypatch.setattr(packed_files, "LARGEST_TOTAL", 45_000)
    with pytest.raises(InputError, match="has more than 45,000 bytes"):
        packed_texts(root, is_text)


def test_what_is_skipped_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = _tar(tmp_path, {"other.bin": "0" * 100_000, "a.txt": "x"})
    monkeypatch.setattr(packed_files, "LARGEST_TOTAL", 50_000)
    with pytest.raises(InputError, match="has more than 50,000 bytes"):
        packed_texts(root, is_text)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_the_number_of_files_is_bounded(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = MAKERS[kind](tmp_path, {f"{n}.md": "x" for n in range(10)})
    monkeypatch.setattr(packed_files, "MOST_FILES", 5)
    with pytest.raises(InputError, match="has more than 5 files"):
        packed_texts(root, is_text)


def test_a_size_that_the_header_denies_is_noticed(tmp_path: Path) -> None:
    """The sizes in the headers of an archive may lie."""
    root = _zip(tmp_path, {"a.txt": "x" * 1000})
    content = root.read_bytes()
    size = (1000).to_bytes(4, "little")
    assert content.count(size) == 2
    root.write_bytes(content.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(InputError, match="cannot be read"):
        packed_texts(root, is_text)


@pytest.mark.parametrize("name", ["set.zip", "set.tar.gz", "set.tar"])
@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", gzip.compress(b"no archive" * 99, mtime=0)],
    ids=["empty", "text", "packed text"],
)
def test_damaged_archives_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}: cannot be read"):
        packed_texts(tmp_path / name, is_text)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_cut_archives_are_refused(tmp_path: Path, kind: str) -> None:
    root = MAKERS[kind](tmp_path, {f"{n}.txt": f"{n}" * 999 for n in range(9)})
    root.write_bytes(root.read_bytes()[:-200])
    with pytest.raises(InputError, match="cannot be read"):
        packed_texts(root, is_text)


def test_what_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(InputError, match=r"a\.txt:2: is not UTF-8 text"):
        packed_texts(tmp_path, is_text)


def test_what_is_neither_folder_nor_archive(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(InputError, match="is not an archive"):
        packed_texts(tmp_path / "a.txt", is_text)
    with pytest.raises(InputError, match=r"none\.zip: does not exist"):
        packed_texts(tmp_path / "none.zip", is_text)
