"""Wrong kinds of input, given to the commands as a user does: one line, exit code 2, no output."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from tests.integration.commands import call, start
from tests.toy_runs import arguments, evaluate

TREES = "(S (NP the boys) (VP knew) .)\n(S (NP the men) (VP knew) .)\n"
TEXT = "the boys knew .\nthe men knew .\n"
TABLE = "item,sentence\n1,the boys knew .\n2,the men knew .\n"
INPUTS = {
    "csv": (TABLE.encode(), "is a CSV table, not sentences"),
    "tsv": (TABLE.replace(",", "\t").encode(), "is a TSV table, not sentences"),
    "json": (b'{"sentence": "the boys knew ."}\n', "is JSON, not sentences"),
    "yaml": (b"items:\n  - the boys knew .\n", "is YAML, not sentences"),
    "gzip": (gzip.compress(TEXT.encode()), "is a gzip archive"),
    "utf16": (TEXT.encode("utf-16"), "is UTF-16 text"),
    "empty": (b"", "contains no sentences"),
    "blank": (b" \n\t\n", "contains no sentences"),
    "mixed": ((TEXT + TREES).encode(), ":3: is a bracketed tree"),
    "paragraph": (b"the boys knew . " * 500, ":1: has 2,000 words"),
    "mandarin": ("男孩 知道 。\n".encode(), "100% of 3 words are unknown (男孩, 知道, 。)"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_input_that_is_not_sentences_of_the_model(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, problem = INPUTS[name]
    path = tmp_path / "input.txt"
    path.write_bytes(content)
    for task, model in (("surprisal", "ngram"), ("parse", "rnng")):
        output = tmp_path / task
        given = arguments(folder, output, f"task={task}", f"input={path}", model=model)
        assert call("evaluate.py", *given) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ") and problem in said
        assert len(said.splitlines()) == 1
        assert not output.exists()


def test_unknown_words_can_be_asked_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "input.txt"
    path.write_text("男孩 知道 。\n", encoding="utf-8")
    given = ("task=surprisal", f"input={path}", "task.allow_unknown=true")
    evaluate(folder, tmp_path / "out", *given, model="ngram")
    assert "ngram/seed1: 100% of 3 words are unknown" in capsys.readouterr().out
    assert (tmp_path / "out" / "surprisal.tsv").is_file()


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_all_ends_of_lines(folder: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / "input.txt"
    path.write_bytes(TEXT.replace("\n", ending).encode())
    evaluate(folder, tmp_path / "out", "task=surprisal", f"input={path}", model="ngram")
    table = pd.read_csv(tmp_path / "out" / "surprisal.tsv", sep="\t", comment="#")
    assert table["sentence_id"].max() == 2


@pytest.mark.slow
def test_training_on_trees_as_text_is_refused(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(TREES, encoding="utf-8")
    common = (f"data.root={tmp_path}", "model=ngram", "paths.runs=runs", "paths.cache=cache")
    ended = start("train.py", "data=text", *common, folder=tmp_path)
    assert ended.returncode == 2
    assert f"{tmp_path / 'train.txt'}:1: is a bracketed tree" in ended.stderr
    assert "data=brackets" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize("task", ["export", "corpus"])
def test_other_tasks_refuse_trees_as_text(
    task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(TREES, encoding="utf-8")
    given = (f"task={task}", "data=text", f"data.root={tmp_path}", f"output={tmp_path / 'out'}",
             f"paths.cache={tmp_path / 'cache'}", f"run={tmp_path}")  # fmt: skip
    assert call("evaluate.py", *given) == 2
    assert "train.txt:1: is a bracketed tree" in capsys.readouterr().err


def test_text_as_brackets_is_refused_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(TEXT, encoding="utf-8")
    given = ("task=export", "data=brackets", f"data.root={tmp_path}", f"output={tmp_path / 'o'}",
             f"run={tmp_path}")  # fmt: skip
    assert call("evaluate.py", *given) == 2
    said = capsys.readouterr().err
    assert "train.txt:1: the leaf 'the' has no label" in said and "data=text" in said


def test_the_share_of_unusable_items_is_the_first_line(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("suite=islands", "suite.items=12", "task.allow_unknown=true")
    evaluate(folder, tmp_path, *given, model="ngram")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0].startswith("ngram (toy_english): ")
    assert "items have unknown critical words" in lines[0]
    assert any("tests left out: " in line for line in lines)
    summary = pd.read_csv(tmp_path / "islands" / "summary.csv")
    few = summary["usable"] < 10
    assert few.any() and summary.loc[few, ["low", "high"]].isna().all(axis=None)
    page = (tmp_path / "islands" / "report.html").read_text(encoding="utf-8")
    assert page.index("Items with unknown critical words: ") < page.index("<h2>Accuracy")
