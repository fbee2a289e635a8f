"""Tables of users as programs write them: headers, separators, missing numbers, other divisions."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.checks import RunBeginnings
from gardenpath.eval.published.files import PairingRules, ScoredSentence, SurprisalSet
from gardenpath.eval.published.importing import Imported
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.library import load_suites

ITEMS = """item,condition,subject,verb,rest
1,a,The cats,sleep,well .
1,b,The cats,sleeps,well .
2,a,Dogs,bark,.
2,b,Dogs,barks,.
"""
WORDS = (
    "The 2.0 cats 8.0 sleep 5.0 well 3.0 . 1.0",
    "The 2.0 cats 8.0 sleeps 9.0 well 4.0 . 1.5",
    "Dogs 9.0 bark 4.0 . 2.0",
    "Dogs 9.0 barks 3.0 . 1.25",
)
KEYS = ("1 a", "1 b", "2 a", "2 b")
ROWS = tuple(tuple(map(float, text.split()[1::2])) for text in WORDS)
DESCRIPTION = """name: agreement
language: en
table: items.csv
conditions: {a: match, b: mismatch}
predictions:
  agreement: (verb;%mismatch%) > (verb;%match%)
"""
REGIONS = "regions: [subject, verb, rest]\n"


def _long(header: str, separator: str = ",", *, keys: tuple[str, ...] = KEYS) -> str:
    """A table with one row per word: item, condition, word, surprisal."""
    lines = [header]
    for key, text in zip(keys, WORDS, strict=True):
        cells = text.split()
        for word, value in zip(cells[::2], cells[1::2], strict=True):
            lines.append(separator.join((*key.split(), word, value)))
    return "\n".join(lines) + "\n"


def _import(
    folder: Path,
    surprisals: str,
    items: str = ITEMS,
    description: str = DESCRIPTION + REGIONS,
    rules: PairingRules | None = None,
) -> Imported:
    (folder / "items.csv").write_text(items, encoding="utf-8")
    (folder / "suite.yaml").write_text(description, encoding="utf-8")
    path = folder / "model.csv"
    path.write_text(surprisals, encoding="utf-8")
    suites = load_suites(str(folder / "suite.yaml"))
    return import_tables(suites, [SurprisalSet(path)], rules or PairingRules(unit="bits"))


HEADER = "item,condition,word,surprisal"
TWO_COLUMNS = "".join(
    f"{word}\t{value}\n"
    for text in WORDS
    for word, value in zip(text.split()[::2], text.split()[1::2], strict=True)
)


@pytest.mark.parametrize(
    "surprisals",
    [
        _long("Item,Condition,Word,Surprisal"),
        _long("Item Number;Condition.Name;TOKEN;Surp", ";"),
        _long("item condition word surprisal", " "),
        "token surprisal\n" + TWO_COLUMNS.replace("\t", "  "),
        TWO_COLUMNS.replace("\t", ","),
        TWO_COLUMNS.replace("\t", ";"),
        _long(HEADER).replace("cats", "UNK-LC-s"),
        _long(HEADER, keys=("01 a", "01 b", "02 a", "02 b")),
    ],
)
def test_headers_and_separators(tmp_path: Path, surprisals: str) -> None:
    (run,) = _import(tmp_path, surprisals).runs
    assert run.rows == ROWS


def test_headers_of_materials_in_capitals(tmp_path: Path) -> None:
    items = ITEMS.replace("item,condition", "Item,Condition")
    assert _import(tmp_path, _long(HEADER), items).runs[0].rows == ROWS


@pytest.mark.parametrize("missing", ["NA", "", "NaN", "None"])
def test_words_without_a_number_are_not_scored(tmp_path: Path, missing: str) -> None:
    found = _import(tmp_path, _long(HEADER).replace("The,2.0", f"The,{missing}"))
    assert math.isnan(found.runs[0].rows[0][0]) and found.notes == ()
    found = _import(tmp_path, _long(HEADER).replace("bark,4.0", f"bark,{missing}"))
    assert any("1 sentence without a surprisal in a critical" in note for note in found.notes)


def test_items_may_have_names(tmp_path: Path) -> None:
    items = ITEMS.replace("\n1,", "\ncats,").replace("\n2,", "\ndogs,")
    keys = ("dogs a", "dogs b", "cats a", "cats b")
    table = _long(HEADER, keys=("cats a", "cats b", "dogs a", "dogs b"))
    (run,) = _import(tmp_path, table, items).runs
    assert run.rows == ROWS
    assert [item.labels["item_name"] for item in run.suite.items] == ["cats", "dogs"]
    with pytest.raises(InputError, match=r"of another length|misplaced"):
        _import(tmp_path, _long(HEADER, keys=keys), items)


def test_one_table_with_suites_in_any_column(tmp_path: Path) -> None:
    """The column that selects the items selects the surprisals as well."""
    regions = {"The": "subject", "cats": "subject", "Dogs": "subject", "well": "rest", ".": "rest"}
    lines = ["experiment,item,condition,region,word,surprisal"]
    for name, add in (("agreement", 0.0), ("other", 1.0)):
        for line in _long(HEADER).strip().split("\n")[1:]:
            item, condition, word, value = line.split(",")
            region = regions.get(word, "verb")
            lines.append(f"{name},{item},{condition},{region},{word},{float(value) + add}")
    table = "\n".join(lines) + "\n"
    description = DESCRIPTION + "only: {experiment: other}\n"
    found = _import(tmp_path, table, table, description)
    assert found.runs[0].rows == tuple(tuple(value + 1 for value in row) for row in ROWS)
    assert any("rows of other suites" in one for one in found.receipt.left_out)
    several = table.replace("experiment,", "suite,")
    with pytest.raises(InputError, match=r"holds several suites: .*'only: {suite: agreement}'"):
        _import(tmp_path, several, several, DESCRIPTION)


def test_a_token_may_span_words_of_one_region(tmp_path: Path) -> None:
    table = _long(HEADER).replace("1,a,well,3.0\n1,a,.,1.0", "1,a,well.,4.0")
    (run,) = _import(tmp_path, table).runs
    assert run.rows == ((2.0, 8.0, 5.0, 4.0), *ROWS[1:])
    assert run.suite.items[0].variants[0].words == ("The", "cats", "sleep", "well.")
    table = _long(HEADER).replace("2,a,bark,4.0\n2,a,.,2.0", "2,a,bark.,6.0")
    with pytest.raises(InputError, match=r"1 sentence with tokens that belong to two regions"):
        _import(tmp_path, table)


def test_a_missing_full_stop_is_named(tmp_path: Path) -> None:
    lines = [line for line in _long(HEADER).split("\n") if ",.," not in line]
    with pytest.raises(InputError, match="write the final full stop in both, or in neither"):
        _import(tmp_path, "\n".join(lines))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("5.0", '"5,0"', r"'5,0' is not a number \(write decimal points, not commas\)"),
        ("5.0", "1_0", "'1_0' is not a number"),
        ("5.0", "٥", "is not a number"),
        ("1,a,sleep", "7,1,a,sleep", "give it a name"),
    ],
)
def test_mistakes_in_cells(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        _import(tmp_path, _long(HEADER).replace(old, new))


def test_files_of_a_folder_that_are_not_tables_are_noted(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(ITEMS, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(DESCRIPTION + REGIONS, encoding="utf-8")
    folder = tmp_path / "models"
    (folder / "lstm").mkdir(parents=True)
    (folder / "lstm" / "agreement.csv").write_text(_long(HEADER), encoding="utf-8")
    (folder / "gpt2_agreement.csv").write_text(_long(HEADER), encoding="utf-8")
    suites = load_suites(str(tmp_path / "suite.yaml"))
    found = import_tables(suites, [SurprisalSet(folder)], PairingRules(unit="bits"))
    assert [name.run for name in found.names] == ["lstm"]
    assert found.receipt.left_out == (str(folder / "gpt2_agreement.csv"),)


def test_probabilities_that_sum_to_more_than_one() -> None:
    """Words that begin with another one, and equal surprisals, are counted once."""
    values = {"a": 0.5, "ab": 0.6, "b": 3.0, "c": 3.0}
    fine = [ScoredSentence((word,), (bits,), 1) for word, bits in values.items()]
    run = RunBeginnings("lstm")
    run.add(fine, "one", Path("x.tsv"))
    assert run.check_sums() == []
    run.add([ScoredSentence(("d",), (1.0,), 2)], "two", Path("y.tsv"))
    with pytest.raises(InputError, match=r"the probabilities of first words sum to 1\.33"):
        run.check_sums()
    lenient = RunBeginnings("lstm", is_strict=False)
    lenient.add([*fine, ScoredSentence(("d",), (1.0,), 2)], "one", Path("x.tsv"))
    assert "may be in another unit" in lenient.check_sums()[0]
