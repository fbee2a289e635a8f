"""Preferred sentences of pairs, as BabyLM's pipeline writes them and counts them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.words.segmenting import english_words, segmenter_named
from gardenpath.errors import InputError
from gardenpath.eval.suites.benchmarks import (
    Pair,
    blimp_pairs,
    dump_predictions,
    load_blimp,
    load_climp,
    pair_suite,
)
from gardenpath.eval.suites.lint import lint
from gardenpath.eval.suites.outcomes import TieRule, score_table
from gardenpath.eval.suites.regions import RegionTable
from gardenpath.eval.suites.suite import Suite, SuiteError
from tests.eval.suites.suite_samples import cats_suite, prediction_accuracies

PAIRS = (
    ("The cats sleep.", "The cats sleeps."),
    ("A dog isn't here.", "A dog aren't here."),
    ("Who knows?", "Who know?"),
)


def _suite(name: str = "agreement") -> Suite:
    pairs = [
        Pair(good, bad, number, {"paradigm": "number" if number < 3 else "questions"})
        for number, (good, bad) in enumerate(PAIRS, start=1)
    ]
    return pair_suite(pairs, path="pairs.jsonl", name=name)


def _rows(suite: Suite, totals: list[float]) -> list[list[float]]:
    """Surprisals whose sums over the words of each variant are these."""
    variants = [variant for item in suite.items for variant in item.variants]
    return [
        [total, *[0.0] * (len(variant.words) - 1)]
        for variant, total in zip(variants, totals, strict=True)
    ]


def test_the_form_of_the_pipeline() -> None:
    """Sentences are those of the file of the pairs, to the letter: the pipeline compares them."""
    suite = _suite()
    text = dump_predictions([(suite, _rows(suite, [1.0, 2.0, 4.0, 3.0, 5.0, 5.0]))])
    assert json.loads(text) == {
        "number": {
            "predictions": [
                {"id": "number_0", "pred": "The cats sleep."},
                {"id": "number_1", "pred": "A dog aren't here."},
            ]
        },
        # A tie: the pipeline takes the first.
        "questions": {"predictions": [{"id": "questions_0", "pred": "Who knows?"}]},
    }


@given(st.lists(st.floats(0, 50), min_size=6, max_size=6, unique=True))
def test_predictions_come_back_with_the_accuracy_of_the_suite(
    tmp_path_factory: pytest.TempPathFactory, totals: list[float]
) -> None:
    suite = _suite()
    rows = _rows(suite, totals)
    path = tmp_path_factory.mktemp("babylm") / "predictions.json"
    path.write_text(dump_predictions([(suite, rows)]), encoding="utf-8")
    table = RegionTable.from_rows(suite, rows)
    outcomes = [one.outcome for one in score_table(table, ties=TieRule(ties="exact"))]
    assert prediction_accuracies(path, [suite]) == {
        "number": sum(outcomes[:2]) / 2, "questions": outcomes[2]
    }  # fmt: skip


def test_suites_that_are_no_pairs_of_sentences() -> None:
    suite = _suite()
    for other in (cats_suite(), replace(suite, metric="mean"), replace(suite, predictions=())):
        with pytest.raises(SuiteError, match="BabyLM's predictions are for minimal pairs"):
            dump_predictions([(other, [])])
    with pytest.raises(SuiteError, match="agreement, item 2: a word has no surprisal"):
        dump_predictions([(suite, _rows(suite, [1.0, 2.0, math.nan, 3.0, 5.0, 6.0]))])


# ----------------------------------------------------------------------------
# BLiMP's JSON lines and the words of minimal pairs.


def load(folder: Path, *entries: object) -> Suite:
    path = folder / "pairs.jsonl"
    lines = (e if isinstance(e, str) else json.dumps(e, ensure_ascii=False) for e in entries)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return load_blimp(path)


BLIMP = {
    "sentence_good": "Sue doesn't like herself.",
    "sentence_bad": "Sue doesn't like himself.",
    "field": "syntax",
    "linguistics_term": "anaphor_agreement",
    "UID": "anaphor_gender_agreement",
    "simple_LM_method": True,
    "pairID": "0",
}
ZHOBLIMP = {
    "UID": "BA_deletion",
    "phenomenon": "BA",
    "sentence_good": "他把书买了。",
    "sentence_bad": "他书买了。",
    "pairID": 0,
}
SLING = {
    "sentence_good": "你有3个email?",
    "sentence_bad": "你有3本email?",
    "Phenomenon": "Classifier",
    "Paradigm": "cl",
    "pair_ID": 0,
    "field": "syntax",
}


def test_blimp(tmp_path: Path) -> None:
    suite = load(tmp_path, BLIMP, {**BLIMP, "sentence_bad": "Sue doesn't like itself."})
    assert (suite.name, suite.kind) == ("anaphor_gender_agreement", "anaphor_agreement")
    assert (suite.language, suite.spaced) == ("en", True)
    assert [str(p.formula) for p in suite.predictions] == ["(*;%bad%) > (*;%good%)"]
    assert suite.items[0].of_condition("good")[0].words == (
        "Sue",
        "does",
        "n't",
        "like",
        "herself",
        ".",
    )
    assert suite.items[1].number == 2
    assert suite.items[1].of_condition("bad")[0].words[-2] == "itself"
    assert suite.items[0].labels == {
        "paradigm": "anaphor_gender_agreement",
        "phenomenon": "anaphor_agreement",
        "field": "syntax",
    }
    assert not [c for c in lint(suite) if c.severity == "error"]


@pytest.mark.parametrize(
    ("entry", "name", "kind", "good"),
    [
        (ZHOBLIMP, "BA_deletion", "BA", ("他", "把", "书", "买", "了", "。")),
        (SLING, "cl", "Classifier", ("你", "有", "3", "个", "email", "?")),
        (
            {**SLING, "paradigm": "p", "phenomenon": "Ph"},
            "p",
            "Ph",
            ("你", "有", "3", "个", "email", "?"),
        ),
    ],
)
def test_chinese_spellings(
    tmp_path: Path, entry: dict[str, object], name: str, kind: str, good: tuple[str, ...]
) -> None:
    suite = load(tmp_path, entry)
    assert (suite.name, suite.kind) == (name, kind)
    assert (suite.language, suite.spaced) == ("zh", False)
    assert suite.items[0].of_condition("good")[0].words == good


def test_blanks_are_taken_as_given(tmp_path: Path) -> None:
    entry = {**ZHOBLIMP, "sentence_good": "他们 把 书 买 了 。", "sentence_bad": "他们 书 买 了 。"}
    suite = load(tmp_path, entry)
    assert suite.items[0].of_condition("bad")[0].words == ("他们", "书", "买", "了", "。")
    assert suite.spaced is False
    with pytest.raises(InputError, match="in all lines or in none") as caught:
        load(tmp_path, entry, ZHOBLIMP)
    assert caught.value.line == 2


def test_several_paradigms(tmp_path: Path) -> None:
    suite = load(tmp_path, BLIMP, "", {**BLIMP, "UID": "other"})
    assert suite.name == "pairs"
    assert [item.labels["paradigm"] for item in suite.items] == [BLIMP["UID"], "other"]


def test_language_can_be_given(tmp_path: Path) -> None:
    pairs = blimp_pairs(json.dumps(BLIMP), tmp_path)
    suite = pair_suite(pairs, path=tmp_path, name="pairs", language="ru")
    assert suite.language == "ru"


@pytest.mark.parametrize(
    ("entries", "line", "message"),
    [
        ([BLIMP, "{"], 2, "is not JSON"),
        ([BLIMP, "[]"], 2, "a JSON object"),
        ([{"sentence_god": "x", "sentence_bad": "y"}], 1, "did you mean 'sentence_god'?"),
        ([BLIMP, {**BLIMP, "sentence_bad": " "}], 2, "the bad sentence is empty"),
        ([], None, "contains no pairs"),
    ],
)
def test_mistakes(tmp_path: Path, entries: list[object], line: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, *entries)
    assert message in str(caught.value) and caught.value.line == line


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Who hadn't Bill's aunt (Mrs. Lee) seen?", "Who had n't Bill 's aunt ( Mrs. Lee ) seen ?"),
        ('"No," she\'ll say, "I won\'t..."', '" No , " she \'ll say , " I wo n\'t ... "'),
        ("The students' car isn't J. Doe's.", "The students ' car is n't J. Doe 's ."),
        ("It cost $1,000.50 in the U.S. and well-known U.K.", None),
        ("They’ve left — it’s 5 o'clock!", "They ’ve left — it ’s 5 o'clock !"),
        ("Plain words", "Plain words"),
    ],
)
def test_english_words(sentence: str, words: str | None) -> None:
    expected = words or "It cost $1,000.50 in the U.S. and well-known U.K ."
    assert english_words(sentence) == tuple(expected.split())


@given(st.text(alphabet="abn's.,?!()\"“” -'t…", max_size=30))
def test_no_sign_is_lost(sentence: str) -> None:
    words = english_words(sentence)
    assert "".join(words) == sentence.replace(" ", "")
    assert all(words)


def test_characters() -> None:
    found = segmenter_named("characters").segment("我用iPhone 12 。")
    assert found == ["我", "用", "iPhone", "12", "。"]


# ----------------------------------------------------------------------------
# CLiMP's CSV files, with header and without.


HEADED = """\
phenomenon,paradigm,sentence,label
classifier,adjective,他有一只大猫,1
classifier,adjective,他有一本大猫,0
classifier,adjective,他有一只新书,0
classifier,adjective,他有一本新书,1
"""


def load_climp_here(folder: Path, text: str) -> Suite:
    path = folder / "classifier_1000.csv"
    path.write_text(text, encoding="utf-8-sig")
    return load_climp(path)


def test_with_header(tmp_path: Path) -> None:
    suite = load_climp_here(tmp_path, HEADED)
    assert (suite.name, suite.kind, suite.language) == ("classifier_1000", "classifier", "zh")
    pairs = [[suite.text(variant) for variant in item.variants] for item in suite.items]
    assert pairs == [["他有一只大猫", "他有一本大猫"], ["他有一本新书", "他有一只新书"]]
    assert suite.items[0].variants[0].words == tuple("他有一只大猫")
    assert suite.items[0].labels == {"phenomenon": "classifier", "paradigm": "adjective"}
    assert [str(p.formula) for p in suite.predictions] == ["(*;%bad%) > (*;%good%)"]


def test_without_header_and_label(tmp_path: Path) -> None:
    text = "ba,simple,1,他把书买了\nba,simple,2,他把买了书\n"
    suite = load_climp_here(tmp_path, text)
    assert [suite.text(v) for v in suite.items[0].variants] == ["他把书买了", "他把买了书"]
    assert suite.items[0].labels == {"phenomenon": "ba", "paradigm": "simple"}


def test_words_with_blanks(tmp_path: Path) -> None:
    suite = load_climp_here(tmp_path, "sentence,label\n他 喜欢 猫,1\n他 喜欢 了 猫,0\n")
    assert suite.items[0].variants[0].words == ("他", "喜欢", "猫")
    assert suite.items[0].labels == {}


def test_english_sentences(tmp_path: Path) -> None:
    suite = load_climp_here(
        tmp_path, "id;sentence;label\n1;He doesn't sleep.;1\n2;He don't sleep.;0\n"
    )
    assert (suite.language, suite.spaced) == ("en", True)
    good, bad = suite.items[0].variants
    assert good.words == ("He", "does", "n't", "sleep", ".")
    assert (good.condition, bad.condition, bad.words[1]) == ("good", "bad", "do")


def test_one_row_per_pair(tmp_path: Path) -> None:
    text = "paradigm\tsentence_good\tsentence_bad\nnumber\tCats sleep.\tCats sleeps.\n"
    suite = load_climp_here(tmp_path, text)
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
def test_mistakes_climp(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_climp_here(tmp_path, text)
    assert message in str(caught.value)
    assert caught.value.line == line


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_climp(tmp_path / "none.csv")
