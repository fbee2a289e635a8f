"""SyntaxGym's long CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.suites.formula import FormulaError
from gardenpath.eval.suites.suite import Variant
from gardenpath.eval.suites.syntaxgym import load_syntaxgym, load_syntaxgym_csv

SAMPLE = """\
item_number,condition_name,region_number,region_name,content
1,near,1,demonstrative,This
1,near,2,rest,"is, I think, an example ."
1,far,1,demonstrative, That
1,far,2,rest,
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "sample.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_sample(tmp_path: Path) -> None:
    path = write(tmp_path, SAMPLE)
    suite = load_syntaxgym_csv(path, predictions={"near": "(2;%near%) < (2;%far%)"})
    assert (suite.name, suite.regions) == ("sample", ("demonstrative", "rest"))
    assert suite.conditions == ("near", "far")
    rest = ("is,", "I", "think,", "an", "example", ".")
    assert suite.items[0].variants == (
        Variant("near", (("This",), rest)),
        Variant("far", (("That",), ())),
    )
    assert [(p.name, str(p.formula)) for p in suite.predictions] == [
        ("near", "(rest;%near%) < (rest;%far%)")
    ]
    assert load_syntaxgym_csv(path).predictions == ()


def test_regions_need_no_names(tmp_path: Path) -> None:
    lines = [line.split(",") for line in SAMPLE.splitlines() if "think" not in line]
    text = "".join(",".join([*row[:3], row[4]]) + "\n" for row in lines)
    suite = load_syntaxgym_csv(write(tmp_path, text))
    assert suite.regions == ("region_1", "region_2")
    assert suite.items[0].variants[0].regions[1] == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("condition_name", "condition", 1, "no column condition_name"),
        ("1,far,2,", "1,far,two,", 5, "must be integers"),
        ("1,far,2,rest", "1,far,2,other", 5, "region 2 is named 'rest' in an earlier line"),
        ("1,far,2,rest", "1,far,1,demonstrative", 5, "region 1 occurs twice"),
        ("1,far,2,rest", "1,far,4,more", None, "not numbered from 1"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, line: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_syntaxgym_csv(write(tmp_path, SAMPLE.replace(old, new)))
    assert message in str(caught.value)
    assert caught.value.line == line


def test_empty_and_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no items"):
        load_syntaxgym_csv(write(tmp_path, SAMPLE.splitlines()[0] + "\n"))
    with pytest.raises(FormulaError):
        load_syntaxgym_csv(write(tmp_path, SAMPLE), predictions={"p": "(1;%near%) <"})


def test_published_suites_are_the_same_as_csv(reference_data: Path, tmp_path: Path) -> None:
    paths = sorted((reference_data / "published" / "syntaxgym").glob("*_*.json"))
    for path in [p for p in paths if not p.stem.startswith("test")]:
        content = json.loads(path.read_text(encoding="utf-8"))
        target = tmp_path / f"{path.stem}.csv"
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(
                ["item_number", "condition_name", "region_number", "region_name", "content"]
            )
            for item in content["items"]:
                for condition in item["conditions"]:
                    for region in condition["regions"]:
                        number = region["region_number"]
                        name = content["region_meta"][str(number)]
                        head = (item["item_number"], condition["condition_name"])
                        writer.writerow([*head, number, name, region["content"]])
        known = load_syntaxgym(path)
        formulas = {one.name: str(one.formula) for one in known.predictions}
        suite = load_syntaxgym_csv(target, predictions=formulas)
        assert suite.items == known.items
        assert (suite.regions, suite.conditions) == (known.regions, known.conditions)
        assert suite.predictions == known.predictions
        assert (suite.critical, suite.differing) == (known.critical, known.differing)
