"""Tables: their columns, and files that are read back as they were written."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.errors import InputError
from gardenpath.store import tables
from gardenpath.store.tables import (
    EFFECTS,
    ITEMS,
    SUMMARY,
    SURPRISALS,
    Column,
    Schema,
    read_table,
    write_table,
)

SCHEMAS = [one for one in vars(tables).values() if isinstance(one, Schema)]


def test_columns_are_described_and_different() -> None:
    assert len(SCHEMAS) > 10
    for schema in SCHEMAS:
        columns = [*schema.columns, *schema.optional]
        assert len({column.name for column in columns}) == len(columns), schema.name
        assert all(column.meaning for column in columns), schema.name
        bits = [column for column in columns if column.name.endswith("_bits")]
        assert all("bits" in column.meaning for column in bits), schema.name


def test_files_of_an_evaluation_have_different_names() -> None:
    files = [schema.file for schema in SCHEMAS if schema.file]
    assert len(set(files)) == len(files)


ROWS: list[dict[str, object]] = [
    {"run": "r", "model": "lstm", "corpus": "toy", "seed": 1, "suite": "s", "class": "c",
     "modifier": "none", "item": 1, "effect": "e", "value_bits": 1.25, "island": "no"},
    {"run": "x", "model": "exact grammar", "corpus": "", "seed": None, "suite": "s", "class": "c",
     "modifier": "a, b", "item": 2, "effect": "e", "value_bits": math.inf},
    {"run": "x", "model": 'say "x"', "corpus": "", "seed": None, "suite": "s", "class": "c",
     "modifier": "", "item": 3, "effect": "e", "value_bits": math.nan},
]  # fmt: skip


def test_tables_are_read_back_as_they_were(tmp_path: Path) -> None:
    frame = EFFECTS.frame(ROWS)
    assert tuple(frame.columns) == (*EFFECTS.names, "island")
    assert frame["seed"].tolist() == [1, pd.NA, pd.NA] and frame["island"].tolist() == [
        "no",
        "",
        "",
    ]
    path = tmp_path / "new" / EFFECTS.file
    write_table(path, frame)
    text = path.read_text(encoding="utf-8")
    assert text.splitlines()[1] == "r,lstm,toy,1,s,c,none,1,e,1.25,no"
    assert text.splitlines()[2] == 'x,exact grammar,,,s,c,"a, b",2,e,inf,'
    read = read_table(path, EFFECTS)
    pd.testing.assert_frame_equal(read, frame)
    write_table(path, read)
    assert path.read_text(encoding="utf-8") == text


def test_flags_and_optional_columns(tmp_path: Path) -> None:
    columns = (Column("a", "flag", "a"), Column("b", "optional flag", "b"))
    schema = Schema(name="flags", columns=columns[:1], optional=columns[1:])
    rows: list[dict[str, object]] = [{"a": True, "b": None}, {"a": False, "b": True}]
    frame = schema.frame(rows)
    assert frame["a"].tolist() == [True, False] and frame["b"].tolist() == [pd.NA, True]
    write_table(tmp_path / "flags.csv", frame)
    pd.testing.assert_frame_equal(read_table(tmp_path / "flags.csv", schema), frame)
    (tmp_path / "less.csv").write_text("a\nTrue\n", encoding="utf-8")
    assert read_table(tmp_path / "less.csv", schema)["a"].tolist() == [True]


def test_quotes_are_words_too(tmp_path: Path) -> None:
    fixed = ("r", "lstm", "toy", 1, "s", 1, "c", 1, "end")
    words = ['"', "''", ",", "nan"]
    frame = SURPRISALS.frame([(*fixed, n, word, True, 0.5) for n, word in enumerate(words, 1)])
    path = tmp_path / SURPRISALS.file
    write_table(path, frame)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[10] for line in lines[1:]] == words
    pd.testing.assert_frame_equal(read_table(path, SURPRISALS), frame)


def test_rows_may_be_written_without_a_frame(tmp_path: Path) -> None:
    rows = [{"epoch": 0, "loss": 0.1, "seconds": 2.0}, {"epoch": 1, "new": 1e-05}]
    write_table(tmp_path / "metrics.csv", rows)
    text = (tmp_path / "metrics.csv").read_text(encoding="utf-8")
    assert text == "epoch,loss,seconds,new\n0,0.1,2.0,\n1,,,1e-05\n"


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    for schema in SCHEMAS:
        path = tmp_path / f"{schema.name}.csv"
        write_table(path, schema.frame([]))
        assert path.read_text(encoding="utf-8") == ",".join(schema.names) + "\n"
        assert len(read_table(path, schema)) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run,model\na,b\n", r"items\.csv:1: is not a table of items: no column corpus, seed, .*"),
        ("", r"items\.csv: is not a table of items: .*evaluate\.py"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "items.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "items.csv", ITEMS)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"summary\.csv: is not a table of summary"):
        read_table(tmp_path / "summary.csv", SUMMARY)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (9, "much", "effects.csv:3: column value_bits: 'much' is not a number"),
        (7, "", "effects.csv:3: column item: '' is not a whole number"),
        (3, "1.5", "effects.csv:3: column seed: '1.5' is not a whole number"),
    ],
)
def test_values_of_a_wrong_type_are_named(
    tmp_path: Path, place: int, value: str, message: str
) -> None:
    fields = ["r", "m", "c", "1", "s", "k", "n", "1", "e", "2.5"]
    wrong = [value if number == place else field for number, field in enumerate(fields)]
    lines = [",".join(EFFECTS.names), ",".join(fields), ",".join(wrong)]
    (tmp_path / "effects.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / "effects.csv", EFFECTS)
    assert message in str(caught.value)


def test_columns_are_known_without_pandas() -> None:
    code = "import sys; import gardenpath.store.tables; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
