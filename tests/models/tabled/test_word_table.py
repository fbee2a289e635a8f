"""The table of a run folder comes back to the last bit, or is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.adopted.tables import (
    TableOrigin,
    WordTable,
    is_word_table,
    read_word_table,
    write_word_table,
)
from gardenpath.errors import InputError
from tests.data.strategies import words

ORIGIN = TableOrigin(source="a.tsv", sha256="0", form="lm_zoo", unit="bits", boundary="next")
_values = st.one_of(st.floats(-1e3, 0), st.sampled_from([math.nan, -math.inf]))


@given(st.data())
def test_any_table_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    one_sentence = st.lists(words(), min_size=1, max_size=4).map(tuple)
    sentences = data.draw(st.lists(one_sentence, max_size=4, unique=True))
    table = WordTable(
        origin=ORIGIN,
        sentences={
            one: tuple(data.draw(_values) for _ in range(len(one) + 1)) for one in sentences
        },
    )
    path = tmp_path_factory.mktemp("table") / "t.jsonl"
    write_word_table(path, table)
    assert repr(read_word_table(path)) == repr(table) and is_word_table(path)


_HEADER = (
    '{"kind": "word_table", "format": 1, "source": "a", "sha256": "0", "form": "f", "unit": "bits",'
    ' "boundary": null, "notes": []}\n'
)
_ROW = '{"words": ["a", "b"], "log_probs": [-1, -2.5, null]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: is not a table of log probabilities"),
        (_ROW, ":1: is not a table of log probabilities"),
        (_HEADER.replace("1", "2", 1), "is not a table of log probabilities"),
        (_HEADER.replace("null", '"some"'), "first line is not complete"),
        (_HEADER.replace("[]", "[1]"), "first line is not complete"),
        (_HEADER + _ROW + _ROW, ":3: 'a b' occurs twice"),
        (_HEADER + _ROW.replace("-2.5, ", ""), "log_probs are not 3 numbers"),
        (_HEADER + _ROW.replace("-2.5", "60"), "60 is not a log probability"),
        (_HEADER + _ROW.replace("-2.5", "true"), "True is not a log probability"),
        (_HEADER + _ROW.replace("-2.5", "NaN"), "nan is not a log probability"),
        (_HEADER + _ROW.replace('"b"', '"b c"'), "words are not a list of words"),
        (_HEADER + _ROW.replace('"b"', "1"), "words are not a list of words"),
        (_HEADER + "{}\n", "not an object with words"),
        (_HEADER + "{\n", ":2: is not JSON"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_word_table(path)


def test_other_files_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff")
    (tmp_path / "b.json").write_text("[]")
    assert not any(map(is_word_table, (tmp_path, tmp_path / "a.json", tmp_path / "b.json")))
