"""Results of regions are those that SyntaxGym computes, and are read again."""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.forms import form_of, read_file
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.formula import Formula, FormulaError
from gardenpath.eval.suites.lint import lint
from gardenpath.eval.suites.regions import RegionTable
from gardenpath.eval.suites.suite import (
    Item,
    Prediction,
    Suite,
    SuiteError,
    Variant,
    with_single_variants,
)
from gardenpath.eval.suites.syntaxgym import (
    dump_results,
    dump_syntaxgym,
    load_syntaxgym,
    load_syntaxgym_csv,
    region_metrics,
    token_regions,
    unique_regions,
    word_regions,
)
from gardenpath.eval.suites.yaml_suites import dump_compact, load_compact
from tests.eval.suites.suite_samples import cats_suite, holds, small_suite, suites


def test_the_results_of_syntaxgym_itself(reference_data: Path) -> None:
    """Six metrics of every region, with the end of the sentence in the last."""
    folder = reference_data / "published" / "syntaxgym"
    suite = load_syntaxgym(folder / "test_in.json")
    file = read_file(folder / "test_surp_grnn.txt", "lm_zoo", PairingRules())
    tokens = [(one.tokens, one.values) for one in file.sentences]
    found = json.loads(dump_results(suite, token_regions(suite, tokens), model="grnn"))
    expected = json.loads((folder / "test_out_grnn.json").read_text(encoding="utf-8"))
    assert found["region_meta"] == expected["region_meta"]
    assert found["meta"]["model"] == expected["meta"]["model"]
    count = 0
    for item, known in zip(found["items"], expected["items"], strict=True):
        assert item["item_number"] == known["item_number"]
        for one, other in zip(item["conditions"], known["conditions"], strict=True):
            assert one["condition_name"] == other["condition_name"]
            for region, wanted in zip(one["regions"], other["regions"], strict=True):
                assert region["content"] == wanted["content"]
                assert region["metric_value"] == pytest.approx(wanted["metric_value"])
                count += 1
    assert count == 24


@given(st.lists(st.floats(0, 60), min_size=1, max_size=6))
def test_metrics(values: list[float]) -> None:
    found = region_metrics(values)
    assert found["sum"] == math.fsum(values) and found["max"] == max(values)
    assert found["mean"] == pytest.approx(mean(values)) and found["min"] == min(values)
    assert found["median"] == pytest.approx(median(values))
    assert found["range"] == max(values) - min(values)


def test_metrics_of_regions_without_words_or_numbers() -> None:
    assert region_metrics([])["sum"] == 0 and math.isnan(region_metrics([])["mean"])
    assert all(map(math.isnan, region_metrics([1.0, math.nan]).values()))
    assert math.isnan(region_metrics([math.inf, math.inf])["range"])


_bits = st.one_of(st.floats(0.001, 50), st.sampled_from([math.nan, math.inf]))


@given(st.data())
def test_results_are_read_again(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    suite = cats_suite()
    variants = [variant for item in suite.items for variant in item.variants]
    # Every sentence has numbers of its own, so that no two beginnings disagree.
    rows = [[data.draw(_bits) for _ in variant.words] for variant in variants]
    rows[0] = [1.0 for _ in rows[0]]
    path = tmp_path_factory.mktemp("results") / "lstm.json"
    path.write_text(dump_results(suite, word_regions(suite, rows), model="lstm"), encoding="utf-8")
    assert form_of(path) == "syntaxgym"
    rules = PairingRules(prefixes=False)
    (run,) = import_tables([suite], [SurprisalSet(path)], rules).runs
    found = RegionTable.from_rows(run.suite, run.rows)
    expected = RegionTable.from_rows(suite, rows)
    for key, values in expected.values.items():
        for one, other in zip(found.values[key], values, strict=True):
            assert one == pytest.approx(other, nan_ok=True)


# ----------------------------------------------------------------------------
# SyntaxGym's JSON, in and out.


def load(folder: Path, content: Any) -> Suite:
    path = folder / "suite.json"
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return load_syntaxgym(path)


def minimal() -> dict[str, Any]:
    """A suite as SyntaxGym's users write it."""
    contents = {"that": ["I know that", " ", "left ."], "what": ["I know what", "", " left  ."]}
    return {
        "meta": {"name": "test", "metric": "sum", "author": "", "comment": "why"},
        "region_meta": {"1": "prefix", "2": "verb", "3": "verb"},
        "predictions": [{"type": "formula", "formula": "[(3;%that%) < (3;%what%)]"}],
        "items": [
            {
                "item_number": 7,
                "conditions": [
                    {
                        "condition_name": name,
                        "regions": [
                            {"region_number": n, "content": text}
                            for n, text in enumerate(texts, start=1)
                        ],
                    }
                    for name, texts in contents.items()
                ],
            }
        ],
    }


def test_a_suite_as_others_write_it(tmp_path: Path) -> None:
    suite = load(tmp_path, minimal())
    assert suite.regions == ("prefix", "verb", "verb.3")
    assert suite.conditions == ("that", "what")
    assert suite.items[0].number == 7
    assert suite.items[0].variants[1] == Variant("what", (("I", "know", "what"), (), ("left", ".")))
    assert [(p.name, str(p.formula)) for p in suite.predictions] == [
        ("prediction_1", "(verb.3;%that%) < (verb.3;%what%)")
    ]
    assert (suite.critical, suite.differing) == (("verb.3",), ("prefix",))
    assert (suite.language, suite.spaced, suite.description) == ("en", True, "why")


def test_all_that_is_said_about_a_suite_is_kept(tmp_path: Path) -> None:
    further = {
        "author": "A. Writer",
        "tags": ["wh", "gap"],
        "year": 2001,
        "more": {"a": None},
    }
    content = minimal()
    content["meta"] |= further
    suite = load(tmp_path, content)
    assert suite.meta == further
    written = json.loads(dump_syntaxgym(suite))
    assert {key: written["meta"][key] for key in content["meta"]} == content["meta"]
    assert load(tmp_path, written) == suite


def test_the_suite_itself_wins_over_what_is_said_about_it(tmp_path: Path) -> None:
    suite = replace(load(tmp_path, minimal()), meta={"name": "other", "tags": []})
    meta = json.loads(dump_syntaxgym(suite))["meta"]
    assert (meta["name"], meta["tags"], meta["author"]) == ("test", [], "")


def test_nothing_is_said_with_null(tmp_path: Path) -> None:
    content = minimal()
    content["meta"] |= {"comment": None, "reference": None, "language": None, "metric": None}
    suite = load(tmp_path, content)
    assert (suite.description, suite.reference) == ("", "")
    assert (suite.language, suite.metric) == ("en", "sum")


@given(suites(most_variants=1))
def test_what_is_written_is_read(suite: Suite) -> None:
    usable = replace(
        suite, regions=unique_regions(suite.regions), critical=(), differing=(), predictions=()
    )
    with tempfile.TemporaryDirectory() as folder:
        assert load(Path(folder), dump_syntaxgym(usable)) == usable


def test_a_suite_may_give_its_chance(tmp_path: Path) -> None:
    suite = replace(small_suite(), chance=1 / 3)
    written = json.loads(dump_syntaxgym(suite))
    assert written["meta"]["chance"] == 1 / 3 and load(tmp_path, written) == suite
    assert "chance" not in json.loads(dump_syntaxgym(small_suite()))["meta"]


def test_both_forms_load_to_the_same_suite(tmp_path: Path) -> None:
    suite = small_suite()
    (tmp_path / "suite.yaml").write_text(dump_compact(suite), encoding="utf-8")
    assert load(tmp_path, dump_syntaxgym(suite)) == load_compact(tmp_path / "suite.yaml") == suite


def test_syntaxgym_reads_numbers_and_round_brackets() -> None:
    both = Formula.parse("[(noun;%match%) < 1] & [(*;%match%) - [(end;%match%) - 1] > 0]")
    written = json.loads(
        dump_syntaxgym(replace(small_suite(), predictions=(Prediction("p", both),)))
    )
    assert written["predictions"][0] == {
        "type": "formula",
        "formula": "((3;%match%) < 1) & ((*;%match%) - ((4;%match%) - 1) > 0)",
        "name": "p",
    }


def averaged(suite: Suite, item: Item, surprisal: Callable[[Variant, int], float]) -> Any:
    def lookup(region: str, condition: str) -> float:
        found = item.of_condition(condition)
        place = suite.region_index(region)
        return math.fsum(surprisal(variant, place) for variant in found) / len(found)

    return lookup


@given(st.data())
def test_means_as_sums_of_numbered_conditions(data: st.DataObject) -> None:
    """Halves, thirds and sixths: predictions come out alike, whatever the surprisals."""
    counts = {"a": 2, "b": 3, "c": 1}
    variants = tuple(
        Variant(condition, ((f"{condition}{k}",), ("x",)))
        for condition, count in counts.items()
        for k in range(count)
    )
    texts = ["(r;%a%) > (r;%b%) - 1", "[(r;%c%) > (r;%a%) - [(r;%b%) - 2]] | [(s;%a%) < (r;%c%)]"]
    suite = Suite(
        name="s",
        language="en",
        regions=("r", "s"),
        conditions=("a", "b", "c"),
        predictions=tuple(Prediction(t, Formula.parse(t)) for t in texts),
        items=(Item(1, variants),),
    )
    # Multiples of 6 have exact means.
    bits = {word: 6.0 * data.draw(st.integers(0, 4)) for v in variants for word in v.words}
    single = with_single_variants(suite)
    assert single.conditions == ("a_1", "a_2", "b_1", "b_2", "b_3", "c")

    def surprisal(variant: Variant, place: int) -> float:
        return bits[variant.regions[place][0]]

    for old, new in zip(suite.predictions, single.predictions, strict=True):
        expected = holds(old.formula, averaged(suite, suite.items[0], surprisal))
        assert holds(new.formula, averaged(single, single.items[0], surprisal)) == expected
    with tempfile.TemporaryDirectory() as folder:
        exported = load(Path(folder), dump_syntaxgym(suite))
    assert (exported.items, exported.predictions) == (single.items, single.predictions)


def test_unequal_numbers_of_variants() -> None:
    suite = small_suite()
    more = replace(suite.items[0], variants=(*suite.items[0].variants, suite.items[0].variants[0]))
    with pytest.raises(SuiteError, match="1 or 2 variants of 'match'"):
        dump_syntaxgym(replace(suite, items=(more, suite.items[1])))


def test_conditions_that_syntaxgym_cannot_read() -> None:
    item = Item(1, (Variant("+filler", (("x",),)),))
    suite = Suite("s", "en", ("r",), ("+filler",), (), (item,))
    with pytest.raises(SuiteError, match=r"'\+filler'"):
        dump_syntaxgym(suite)


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    content = minimal()
    place: Any = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{\n  nothing", "suite.json:2: is not JSON"),
        ([], "is not a suite"),
        ({"meta": {}}, "is not a suite: KeyError"),
        (changed(["meta", "metric"], "median"), "unknown metric 'median'"),
        (changed(["meta", "chance"], 1.5), r"1\.5 is not a number in \[0, 1\]"),
        (changed(["region_meta", "5"], "more"), "number the regions from 1"),
        (changed(["items"], []), "at least one item"),
        (changed(["items", 0, "conditions", 0, "regions"], []), r"item 7, that: regions \[\]"),
        (changed(["predictions", 0, "formula"], "(1;%that%) >"), "the end of the formula"),
        (changed(["predictions", 0], {"relation": "lessthan"}), "region_number, l_operand"),
    ],
)
def test_mistakes(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(tmp_path, content)


def test_region_names_that_formulas_can_use() -> None:
    assert unique_regions(["NP", "NP", "", "2", "a;b (c)", "*"]) == (
        "NP",
        "NP.2",
        "region_3",
        "region_4",
        "a b c",
        "region_6",
    )


def published(reference_data: Path) -> list[Path]:
    return sorted((reference_data / "published" / "syntaxgym").glob("*.json"))


def test_published_suites_round_trip(reference_data: Path, tmp_path: Path) -> None:
    paths = published(reference_data)
    assert len(paths) == 15
    for path in paths:
        suite = load_syntaxgym(path)
        assert load(tmp_path, dump_syntaxgym(suite)) == suite
        (tmp_path / "suite.yaml").write_text(dump_compact(suite), encoding="utf-8")
        assert load_compact(tmp_path / "suite.yaml") == suite


def test_published_suites_keep_every_word(reference_data: Path) -> None:
    """Against the JSON itself: contents by number, blanks made single."""
    for path in published(reference_data):
        content = json.loads(path.read_text(encoding="utf-8"))
        written = json.loads(dump_syntaxgym(load_syntaxgym(path)))
        assert written["region_meta"] == content["region_meta"]
        kept = {key: written["meta"][key] for key in content["meta"]}
        assert kept | {"metric": ""} == content["meta"] | {"metric": ""}
        for old, new in zip(content["items"], written["items"], strict=True):
            assert old["item_number"] == new["item_number"]
            for before, after in zip(old["conditions"], new["conditions"], strict=True):
                assert before["condition_name"] == after["condition_name"]
                texts = [" ".join(r["content"].split()) for r in before["regions"]]
                assert texts == [r["content"] for r in after["regions"]]


def test_published_suites_lint(reference_data: Path) -> None:
    found = {path.stem: lint(load_syntaxgym(path)) for path in published(reference_data)}
    assert not [c for complaints in found.values() for c in complaints if c.severity == "error"]
    warned = {stem: [(c.item, c.region) for c in cs] for stem, cs in found.items() if cs}
    assert warned == {
        "fgd_object": [(10, "verb")],
        "number_prep": [(number, "continuation") for number in (11, 16, 17, 18)],
        "test_out_grnn": [(None, "")],
    }


# ----------------------------------------------------------------------------
# SyntaxGym's long CSV.


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
def test_mistakes_syntaxgym_csv(
    tmp_path: Path, old: str, new: str, line: int | None, message: str
) -> None:
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
