"""``task=surprisal`` on what people type and have: sentences, tables, standard output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.surprisal.tables import read_surprisals
from gardenpath.settings.compose import CommandLine, ConfigSource
from gardenpath.store.manifest import read_side_car
from gardenpath.tasks import run_task
from tests.toy_runs import arguments, evaluate, run_of


def _command(folder: Path, output: str | Path, *overrides: str, model: str = "ngram") -> None:
    """Run the task from a command line as a shell passes it on."""
    given = [*arguments(folder, Path(output), *overrides, model=model), "task=surprisal"]
    given = [f"output={output}" if one.startswith("output=") else one for one in given]
    run_task(CommandLine(ConfigSource("evaluate"), given).settings())


def _words(path: Path) -> list[str]:
    return [row.word for row in read_surprisals(path)[0]]


def test_a_sentence_is_divided_and_cased_as_the_corpus(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(
        folder, tmp_path, "input=The boys, that knew, hated the man.", "task.allow_unknown=true"
    )
    found = _words(tmp_path / "surprisal.tsv")
    assert found == ["the", "boys", ",", "that", "knew", ",", "hated", "the", "man", ".", "</s>"]
    shown = capsys.readouterr().out
    assert "1  The boys, that knew, hated the man." in shown
    assert "read as: the boys , that knew , hated the man ." in shown
    rows, _ = read_surprisals(tmp_path / "surprisal.tsv")
    for row in rows:
        assert f"{row.surprisal_bits:.2f}" in shown


def test_one_mark_that_stands_alone_does_not_keep_the_last_one_attached(
    folder: Path, tmp_path: Path
) -> None:
    _command(folder, tmp_path, "input=the boys , that knew , hated the man.",
             "task.allow_unknown=true", "task.end=false")  # fmt: skip
    assert _words(tmp_path / "surprisal.tsv")[-2:] == ["man", "."]


def test_tokenised_text_is_not_touched(folder: Path, tmp_path: Path) -> None:
    _command(folder, tmp_path, "input=the boys knew.", "tokenised=true")
    assert _words(tmp_path / "surprisal.tsv") == ["the", "boys", "knew.", "</s>"]


def test_several_sentences_and_quotation_marks(folder: Path, tmp_path: Path) -> None:
    _command(folder, tmp_path, 'input=[the boys knew .,"the man, hated the boys ."]',
             "task.allow_unknown=true", "task.end=false")  # fmt: skip
    rows, _ = read_surprisals(tmp_path / "surprisal.tsv")
    assert [row.word for row in rows if row.sentence_id == 2][:3] == ["the", "man", ","]
    _command(folder, tmp_path, "input=the boys didn't hate the boys' man = him", "task.end=false",
             "task.allow_unknown=true")  # fmt: skip
    assert "=" in _words(tmp_path / "surprisal.tsv")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("sentense.txt", r"sentense\.txt: no such file"),
        ("my data/stimuli.csv", "no such file"),
        ("stimuli/first", "no such file"),
        ("fell", "a single word is not accepted as a sentence"),
    ],
)
def test_misspelt_files_are_not_sentences(
    folder: Path, tmp_path: Path, given: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _command(folder, tmp_path, f"input={given}")
    assert list(tmp_path.iterdir()) == []


def test_unknown_words_are_marked_counted_and_warned_of(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(folder, tmp_path, "input=the wug knew the boys .")
    shown = " ".join(capsys.readouterr().out.split())
    assert "WARNING: more than 10% unknown words." in shown
    assert "17% of 6 words are unknown (wug)" in shown
    assert "* unknown word: the number is that of its class" in shown
    bits = read_surprisals(tmp_path / "surprisal.tsv")[0][1].surprisal_bits
    assert f"{bits:.2f}*" in shown
    _command(folder, tmp_path, "input=the boys knew .", model="")
    assert "4 runs: no unknown words" in " ".join(capsys.readouterr().out.split())


def test_many_sentences_are_not_printed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for shown in ("1", "0"):
        _command(folder, tmp_path, "input=the boys knew .", f"task.shown={shown}")
        assert ("surprisal in bits" in capsys.readouterr().out) is (shown == "1")


SENTENCES = "item,condition,sentence,word\n1,a,the boys knew.,x\n2,b,the man hated the boys.,y\n"
REGIONS = """item\tcondition\tregion\tcontent\tlist
1\ta\tsubject\tThe boys\tA
1\ta\tverb\tknew\tA
1\ta\tend\t.\tA
1\tb\tsubject\tThe man\tB
1\tb\tverb\t\tB
1\tb\tend\thated.\tB
"""


def _sheet(path: Path, text: str, separator: str) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in csv.reader(io.StringIO(text), delimiter=separator):
        book.active.append([int(cell) if cell.isdecimal() else cell for cell in row])
    book.save(path)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_columns_of_a_table_are_carried_along(folder: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mine{suffix}"
    _sheet(path, SENTENCES, ",") if suffix == ".xlsx" else path.write_text(SENTENCES)
    _command(folder, tmp_path / "out.csv", f"input={path}")
    frame = pd.read_csv(tmp_path / "out.csv")
    assert list(frame.columns)[-3:] == ["item", "condition", "given_word"]
    assert frame["word"].tolist()[:5] == ["the", "boys", "knew", ".", "</s>"]
    assert frame["condition"].tolist() == ["a"] * 5 + ["b"] * 7
    assert frame["seen"].dtype == bool
    about = read_side_car(tmp_path / "out.csv")
    assert about["unit"] == "bits" and about["runs"][0]["search"] == "none"


def test_a_row_per_region(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "regions.tsv"
    path.write_text(REGIONS)
    _command(folder, tmp_path / "out.jsonl", f"input={path}")
    rows, _ = read_surprisals(tmp_path / "out.jsonl")
    found = [(row.sentence_id, row.word, row.given["region"], row.given["list"]) for row in rows]
    regions = ["subject", "subject", "verb", "end", ""]
    words = ["the", "boys", "knew", ".", "</s>"]
    assert found[:5] == [(1, *one, "A") for one in zip(words, regions, strict=True)]
    regions = ["subject", "subject", "end", "end", ""]
    words = ["the", "man", "hated", ".", "</s>"]
    assert found[5:] == [(2, *one, "B") for one in zip(words, regions, strict=True)]


def test_columns_of_regions_are_named(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("item,who,what\n1,the boys,knew .\n")
    _command(folder, tmp_path, f"input={path}", "column=[who,what]")
    rows, _ = read_surprisals(tmp_path / "surprisal.tsv")
    assert [row.given["region"] for row in rows] == ["who", "who", "what", "what", ""]
    with pytest.raises(InputError, match=r"wide\.csv:1: has no column of sentences \(name"):
        _command(folder, tmp_path, f"input={path}")
    with pytest.raises(InputError, match=r"has no column 'whom' \(its columns: item, who, what"):
        _command(folder, tmp_path, f"input={path}", "column=whom")


def test_scattered_rows_and_empty_sentences_are_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("item,condition,content\n1,a,the\n1,b,the\n1,a,boys\n")
    with pytest.raises(InputError, match=r"mine\.csv:4: the rows of item 1, condition a do not"):
        _command(folder, tmp_path, f"input={path}")
    path.write_text("item,sentence\n1,\n")
    with pytest.raises(InputError, match=r"mine\.csv:2: the sentence is empty"):
        _command(folder, tmp_path, f"input={path}")


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_standard_output_has_the_table_alone(
    folder: Path, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    _command(folder, "-", "input=the boys knew .", f"task.format={form}", model="")
    found = capsys.readouterr()
    if form == "jsonl":
        rows = [json.loads(line) for line in found.out.splitlines()]
    else:
        separator = "," if form == "csv" else "\t"
        rows = list(csv.DictReader(io.StringIO(found.out), delimiter=separator))
    assert [row["word"] for row in rows[:5]] == ["the", "boys", "knew", ".", "</s>"]
    assert len(rows) == 20 and "1 sentence from 4 runs" in found.err
    assert [path.name for path in tmp_path.iterdir()] == []


def test_other_tasks_do_not_write_to_standard_output(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match="output=-: task=perplexity writes a folder"):
        evaluate(folder, Path("-"), "task=perplexity")


def test_python_reads_sentences_as_the_command_does(folder: Path) -> None:
    run = run_of(folder, "ngram")
    frame = run.surprisal("The boys knew.")
    assert frame["word"].tolist() == ["the", "boys", "knew", ".", "</s>"]
    assert run.surprisal([["the", "boys", "knew."]])["word"].tolist()[2] == "knew."
    kept = run.surprisal("the boys knew.", tokenised=True)
    assert kept["word"].tolist()[2] == "knew."


def test_a_table_replaces_that_of_an_earlier_job(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "words.csv"
    for text in ("the boys knew the man .", "the man knew the boys ."):
        _command(folder, output, f"input={text}", "task.shown=0")
    assert _words(output)[:2] == ["the", "man"]


@pytest.mark.parametrize(
    ("output", "more", "message"),
    [
        ("words.xlsx", (), r"cannot be written as \.xlsx.*choose one of"),
        ("stimuli.csv", (), "is the input, which would be overwritten"),
        ("words.csv", ("task.format=jsonl",), "no file of the format jsonl"),
        ("stimuli.csv/words.csv", (), "Not a directory"),
    ],
)
def test_outputs_that_are_refused(
    folder: Path, tmp_path: Path, output: str, more: tuple[str, ...], message: str
) -> None:
    table = tmp_path / "stimuli.csv"
    table.write_text("item,condition,sentence\n1,a,the boys knew the man .\n")
    with pytest.raises((GardenpathError, OSError), match=message):
        _command(folder, tmp_path / output, f"input={table}", *more)
    assert [one.name for one in tmp_path.iterdir()] == ["stimuli.csv"]


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        ("item|condition|sentence\n1|a|b c\n", (), r"separated by \|"),
        ('item,sentence\n1,a b\n2,"c d\n', (), "csv:3: a quotation mark is not closed"),
        ('item,sentence\n1,"a b\n2,c ""d"\n', (), "csv:3: the sentence has several lines"),
        ("item,condition,word,frase\n1,a,knew,b c\n2,a,saw,d e\n", (), "one word per sentence"),
        ("nr,stim\n1,a b\n", ("column=nr,stim",), r"write 'column=\[nr,stim\]'"),
        ("item,sentence\n", (), "csv: has a header and no rows.*write a row"),
        ("item,sentence\n1,a,b\n", (), "csv:2: 3 columns, but the header has 2.*quotation marks"),
    ],
)
def test_tables_that_are_no_stimuli(
    folder: Path, tmp_path: Path, content: str, more: tuple[str, ...], message: str
) -> None:
    table = tmp_path / "stimuli.csv"
    table.write_text(content)
    with pytest.raises(InputError, match=message):
        _command(folder, tmp_path / "out", f"input={table}", *more)
    assert not (tmp_path / "out").exists()


def test_inputs_that_are_no_sentences(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the boys knew the man .\n")
    for given, message in (
        ("input=", "is empty"),
        (f"input=[the boys knew .,{tmp_path / 'a.txt'}]", "is a file in a list of sentences"),
    ):
        with pytest.raises(InputError, match=message):
            _command(folder, tmp_path / "out", given)
    with pytest.raises(InputError, match=r"has no columns.*leave out column="):
        _command(folder, tmp_path / "out", "input=the boys knew .", "column=sentence")


def test_models_are_printed_in_one_order(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _command(folder, tmp_path, "input=the boys knew the man .", model="")
    lines = capsys.readouterr().out.splitlines()
    names = [line.split("/")[0].strip() for line in lines if "/seed1 " in line and "." in line]
    assert [one for one in names if one in ("ngram", "lstm", "rnng", "plm")][:4] == [
        "ngram", "lstm", "rnng", "plm"
    ]  # fmt: skip
