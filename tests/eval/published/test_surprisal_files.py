"""Surprisals are read from our own tables and from SyntaxGym's."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import (
    read_lines,
    read_own_table,
    read_token_table,
    without_edges,
)

OWN = """\
# gardenpath 0.1
# unit: bits
run\tsentence_id\tword_id\tword\tseen\tsurprisal_bits
a\t1\t1\tThe\t1\t2.5
a\t1\t2\t"\t0\t9
a\t2\t1\t#\tTrue\t1e-3
b\t1\t1\tThe\tfalse\tinf
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "table.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_our_own_table(tmp_path: Path) -> None:
    first, second, other = read_own_table(_file(tmp_path, OWN))
    assert (first.run, first.sentence_id, first.tokens) == ("a", "1", ("The", '"'))
    assert first.surprisal_bits == (2.5, 9.0) and first.seen == (True, False)
    assert second.tokens == ("#",)
    assert (other.run, other.surprisal_bits, other.line) == ("b", (float("inf"),), 7)


def test_a_table_of_tokens(tmp_path: Path) -> None:
    text = (
        "sentence_id\ttoken_id\ttoken\tsurprisal\r\n1\t1\tA\t0\r\n1\t2\t<unk>\t3\r\n2\t1\t</s>\t1"
    )
    one, two = read_token_table(_file(tmp_path, text))
    assert one.tokens == ("A", "<unk>") and one.seen == (True, False)
    assert two.tokens == ("</s>",)
    assert without_edges(two).tokens == () and without_edges(one) == one


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the table is empty"),
        ("# only a comment\n", "the table is empty"),
        ("sentence_id\tword\n", ":1: the header has no column word_id, seen, surprisal_bits"),
        (OWN.replace("2.5", "two"), ":4: surprisal 'two' is not a number"),
        (OWN.replace("\t0\t9", "\tmaybe\t9"), ":5: seen is 'maybe'"),
        (OWN.replace("\t1e-3", ""), ":6: 5 columns, but the header has 6"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_own_table(_file(tmp_path, text))
    assert message in str(caught.value)


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = _file(tmp_path, "\ufeffa\u2028b\nc\x85d\n")
    assert read_lines(path) == ["a\u2028b", "c\x85d"]
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path / "absent")
