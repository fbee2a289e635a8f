"""Files of tokens are read sentence by sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import (
    read_lines,
    read_tabs,
    read_token_table,
    read_two_columns,
    without_edges,
)

HEADER = "sentence_id\ttoken_id\ttoken\tsurprisal"


def _file(folder: Path, text: str) -> Path:
    path = folder / "table.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_of_tokens(tmp_path: Path) -> None:
    text = f"{HEADER}\r\n1\t1\tA\t0\r\n1\t2\t<unk>\t3\r\n2\t1\t</s>\t1"
    one, two = read_token_table(_file(tmp_path, text))
    assert (one.tokens, one.values, one.line) == (("A", "<unk>"), (0, 3), 2)
    assert (two.tokens, two.line) == (("</s>",), 4)
    assert without_edges(two).tokens == () and without_edges(one) is one


def test_columns_may_be_in_another_order(tmp_path: Path) -> None:
    text = "model\ttoken\tsurprisal\tsentence_id\ttoken_id\nx\tA\t2.5\t1\t1\n"
    (one,) = read_token_table(_file(tmp_path, text))
    assert (one.tokens, one.values) == (("A",), (2.5,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the table is empty"),
        ("sentence_id\ttoken\n", ":1: the header has no column token_id, surprisal"),
        (f"{HEADER}\n1\t1\tA\ttwo\n", ":2: surprisal 'two' is not a number"),
        (f"{HEADER}\n1\t1\tA\n", ":2: 3 columns, but the header has 4"),
        (
            f"{HEADER}\n1\t1\tA\t1\n1\t3\tB\t1\n",
            ":3: sentence 1, token 3 where sentence 1, token 2",
        ),
        (f"{HEADER}\n2\t1\tA\t1\n", ":2: sentence 2, token 1 where sentence 1, token 1"),
        (
            f"{HEADER}\n1\t1\tA\t1\n1\t1\tB\t1\n",
            ":3: sentence 1, token 1 where sentence 2, token 1",
        ),
        (
            f"{HEADER}\n1\t1\tA\t1\n3\t1\tB\t1\n",
            ":3: sentence 3, token 1 where sentence 2, token 1",
        ),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_token_table(_file(tmp_path, text))
    assert message in str(caught.value)


def test_two_columns(tmp_path: Path) -> None:
    path = _file(tmp_path, "a\t1\nb 2\n<eos>\t0\n<eos>\t0\n\nc\t3\n<eos>\t-0.0\n")
    first, second = read_two_columns(path, [])
    assert (first.tokens, first.values, first.line) == (("a", "b"), (1, 2), 1)
    assert (second.tokens, second.line) == (("c",), 6)
    path = _file(tmp_path, "a\t1\nb 2\nc\t3\n")
    assert [one.tokens for one in read_two_columns(path, [1, 2])] == [("a",), ("b", "c")]


def test_tables_with_comments(tmp_path: Path) -> None:
    path = _file(tmp_path, '# x\nword\tbits\n"\t1\n\n#\t2\n')
    rows = list(read_tabs(path, ["word"]))
    assert rows == [(3, {"word": '"', "bits": "1"}), (5, {"word": "#", "bits": "2"})]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = _file(tmp_path, "\ufeffa\u2028b\nc\x85d\n")
    assert read_lines(path) == ["a\u2028b", "c\x85d"]
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path / "absent")
