"""BLiMP's JSON lines and the words of minimal pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.words.segmenting import english_words, segmenter_named
from gardenpath.errors import InputError
from gardenpath.eval.suites.benchmarks import load_blimp
from gardenpath.eval.suites.lint import lint
from gardenpath.eval.suites.suite import Suite


def load(folder: Path, *entries: object, language: str | None = None) -> Suite:
    path = folder / "pairs.jsonl"
    lines = (e if isinstance(e, str) else json.dumps(e, ensure_ascii=False) for e in entries)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return load_blimp(path, language=language)


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
    assert load(tmp_path, BLIMP, language="ru").language == "ru"


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
