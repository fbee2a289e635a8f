"""CLiMP's CSV files, with header and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.suites.benchmarks import load_climp
from gardenpath.eval.suites.suite import Suite

HEADED = """\
phenomenon,paradigm,sentence,label
classifier,adjective,他有一只大猫,1
classifier,adjective,他有一本大猫,0
classifier,adjective,他有一只新书,0
classifier,adjective,他有一本新书,1
"""


def load(folder: Path, text: str) -> Suite:
    path = folder / "classifier_1000.csv"
    path.write_text(text, encoding="utf-8-sig")
    return load_climp(path)


def test_with_header(tmp_path: Path) -> None:
    suite = load(tmp_path, HEADED)
    assert (suite.name, suite.kind, suite.language) == ("classifier_1000", "classifier", "zh")
    pairs = [[suite.text(variant) for variant in item.variants] for item in suite.items]
    assert pairs == [["他有一只大猫", "他有一本大猫"], ["他有一本新书", "他有一只新书"]]
    assert suite.items[0].variants[0].words == tuple("他有一只大猫")
    assert suite.items[0].labels == {"phenomenon": "classifier", "paradigm": "adjective"}
    assert [str(p.formula) for p in suite.predictions] == ["(*;%bad%) > (*;%good%)"]


def test_without_header_and_label(tmp_path: Path) -> None:
    text = "ba,simple,1,他把书买了\nba,simple,2,他把买了书\n"
    suite = load(tmp_path, text)
    assert [suite.text(v) for v in suite.items[0].variants] == ["他把书买了", "他把买了书"]
    assert suite.items[0].labels == {"phenomenon": "ba", "paradigm": "simple"}


def test_words_with_blanks(tmp_path: Path) -> None:
    suite = load(tmp_path, "sentence,label\n他 喜欢 猫,1\n他 喜欢 了 猫,0\n")
    assert suite.items[0].variants[0].words == ("他", "喜欢", "猫")
    assert suite.items[0].labels == {}


def test_english_sentences(tmp_path: Path) -> None:
    suite = load(tmp_path, "id;sentence;label\n1;He doesn't sleep.;1\n2;He don't sleep.;0\n")
    assert (suite.language, suite.spaced) == ("en", True)
    good, bad = suite.items[0].variants
    assert good.words == ("He", "does", "n't", "sleep", ".")
    assert (good.condition, bad.condition, bad.words[1]) == ("good", "bad", "do")


def test_one_row_per_pair(tmp_path: Path) -> None:
    text = "paradigm\tsentence_good\tsentence_bad\nnumber\tCats sleep.\tCats sleeps.\n"
    suite = load(tmp_path, text)
    words = [variant.words for variant in suite.items[0].variants]
    assert words == [("Cats", "sleep", "."), ("Cats", "sleeps", ".")]
    assert suite.items[0].labels == {"paradigm": "number"}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "is empty"),
        ("a,b\n", None, "contains no sentences"),
        (HEADED + "classifier,adjective,他来,1\n", 6, "no partner"),
        (HEADED.replace("大猫,0", "大猫,1"), 2, "one good and one bad"),
        (HEADED.replace("他有一本大猫,0", "他有一本大猫"), 3, "3 columns, but other lines have 4"),
        ("x,1\n他,0\ny,1\n他,0\n", 1, "no column is named sentence or contains a Chinese"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value)
    assert caught.value.line == line


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_climp(tmp_path / "none.csv")
