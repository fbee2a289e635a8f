"""Text in other encodings is recognised, and the command that converts it is named."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.safe_text import (
    MOST_NESTED,
    MalformedTextError,
    how_to_convert,
    parse_json,
    parse_yaml,
    probable_encoding,
    yaml_tree,
)
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


# ----------------------------------------------------------------------------
# YAML and JSON: plain data, with limits and the line of every mistake.


def test_plain_data() -> None:
    text = "a: [1, 2.5, x]\nb: &b {c: 2021-01-02, d: null}\ne: {<<: *b, d: true}\n"
    expected = {"c": date(2021, 1, 2), "d": None}
    assert parse_yaml(text) == {"a": [1, 2.5, "x"], "b": expected, "e": {**expected, "d": True}}
    assert parse_yaml("") is None and yaml_tree("# nothing\n") is None
    assert parse_json('{"a": [1, null, "\\ud83d\\ude00"]}') == {"a": [1, None, "\U0001f600"]}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: [", 3, "did not find expected"),
        ("a: 1\nb: {x: 1,\n x: 2}", 3, "'x' occurs twice in a mapping, first in line 2"),
        ("a: &a\n - *a", 2, "the alias *a contains itself"),
        ("a: !!python/name:os.system x", 1, "could not determine a constructor"),
        ("a:\n  - " + "[" * 200, 2, f"nested more than {MOST_NESTED} deep"),
        ("a: 2021-13-45", None, "month must be in"),
        ("a: " + "9" * 5000, None, "cannot be read"),
        ("a: \0", None, "is not YAML"),
        ("? [a]\n: 1", 1, "unhashable key"),
    ],
)
def test_mistakes_in_yaml(text: str, line: int | None, problem: str) -> None:
    with pytest.raises(MalformedTextError) as caught:
        parse_yaml(text)
    assert problem in caught.value.problem and caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{"a": 1,\n "b" 2}', 2, "is not JSON: Expecting ':' delimiter"),
        ("[" * 100_000, None, "nested more than"),
        ("[" * 150 + "]" * 150, None, "nested more than"),
        ("9" * 5000, None, "is not JSON"),
        ('["\\ud800"]', None, "is not Unicode text"),
    ],
)
def test_mistakes_in_json(text: str, line: int | None, problem: str) -> None:
    with pytest.raises(MalformedTextError) as caught:
        parse_json(text)
    assert problem in caught.value.problem and caught.value.line == line


def test_levels_up_to_the_limit() -> None:
    assert parse_yaml("[" * MOST_NESTED + "]" * MOST_NESTED)
    assert parse_json("[" * MOST_NESTED + "]" * MOST_NESTED)


def test_aliases_that_repeat_a_little_are_read() -> None:
    lists = parse_yaml("a: &a [1, 2, 3]\nb: [" + ", ".join(["*a"] * 100) + "]\n")
    assert lists["b"] == [[1, 2, 3]] * 100
