"""Text in other encodings is recognised, and the command that converts it is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.safe_text import how_to_convert, probable_encoding
from gardenpath.store.files import open_text, read_text

GERMAN = "Der König schläft über Ähren .\n"
CHINESE = "他 喜欢 猫 。\n" * 3
QUOTED = "the king said “no” – she didn’t .\n"


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        (GERMAN, "latin-1", "LATIN1"),
        (QUOTED, "cp1252", "WINDOWS-1252"),
        (GERMAN, "utf-16", "UTF-16"),
        (GERMAN, "utf-16-le", "UTF-16LE"),
        (GERMAN, "utf-16-be", "UTF-16BE"),
        (GERMAN, "utf-32", "UTF-32"),
        (CHINESE, "gb18030", "GB18030"),
    ],
)
def test_the_named_command_converts_the_file(
    text: str, encoding: str, named: str, tmp_path: Path
) -> None:
    path = tmp_path / "my items.csv"
    path.write_bytes(text.encode(encoding))
    assert probable_encoding(path.read_bytes()) == named
    with pytest.raises(InputError, match=f"iconv -f {named} -t UTF-8") as caught:
        read_text(path)
    command = caught.value.remedy.removeprefix("convert it with: ")
    assert command == how_to_convert(named, path).removeprefix("convert it with: ")
    subprocess.run(command, shell=True, check=True)
    assert read_text(tmp_path / "my items.utf8.csv") == text


def test_lines_of_another_encoding_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"the king\n" * 2 + GERMAN.encode("latin-1"))
    with (
        pytest.raises(InputError, match=r"a\.txt:3: .*LATIN1.*data\.reader\.encoding=LATIN1"),
        open_text(path, setting="data.reader.encoding") as lines,
    ):
        list(lines)
