"""Tables, JSON, YAML and mark-up are told from sentences by their content."""

from __future__ import annotations

import csv
import io
import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gardenpath.data.readers.base import MOST_WORDS, kind_of_lines, require_sentences
from gardenpath.errors import InputError
from gardenpath.eval.suites.library import load_suites, suite_names
from gardenpath.settings.compose import load_settings

OTHERS = {
    "item,condition,sentence\n1,match,the cat sleeps .\n2,match,the dog barks .\n": "a CSV table",
    'sentence,label\n"the cat , it sleeps .",good\nthe dog barks .,bad\n': "a CSV table",
    "item;sentence\n1;the cat sleeps .\n": "a CSV table",
    "sentence_id\tword\tbits\n1\tthe\t4.5\n1\tcat\t9.1\n": "a TSV table",
    "# header\nword\tbits\nthe\t4.5\n": "a TSV table",
    '{"sentence": "the cat sleeps ."}\n{"sentence": "the dog ."}\n': "JSON",
    '{\n "sentences": [\n  "the cat sleeps ."\n ]\n}\n': "JSON",
    '["the cat sleeps .", "the dog barks ."]\n': "JSON",
    "name: mine\nregions:\n  - subject\n  - verb\nitems:\n  - [the cat, sleeps]\n": "YAML",
    "---\n- the cat sleeps .\n- the dog .\n": "YAML",
    "<?xml version='1.0'?>\n<s>the cat</s>\n": "HTML or XML",
    "<!DOCTYPE html>\n<p>the cat</p>\n": "HTML or XML",
}
TEXTS = [
    "the cat sleeps .\nthe dog , it barks .\n",
    "Well, he said.\nNo, she said.\n",
    "He paid 1,000 dollars .\nShe paid 2,500 dollars .\n",
    "He came ; she left .\nShe came ; he left .\n",
    "Anna: where are you?\nBert: here.\nAnna: good.\n",
    "Note : this is text .\nAnother : line .\n",
    "[ laughs ] he said .\n[ cries ] she said .\n",
    "{ sic } he said .\n",
    "- he said .\n- she said .\n",
    "# one\n# two\n",
    "1\n2\n",
    "他 说 ， 好 。\n她 说 ， 不 。\n",
    "a|b is a choice .\n",
    "",
    "\n \n",
]


@pytest.mark.parametrize(("text", "kind"), OTHERS.items())
def test_what_is_not_text(text: str, kind: str) -> None:
    assert kind_of_lines(text.splitlines(keepends=True)) == kind


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_text(text: str) -> None:
    assert kind_of_lines(text.splitlines(keepends=True)) is None
    require_sentences(text.splitlines(keepends=True), path="a.txt")


def test_the_error_names_the_file_and_the_remedy() -> None:
    with pytest.raises(InputError, match=r"^a\.txt: is a CSV table, not sentences \(write the"):
        require_sentences(["a,b\n", "1,2\n"], path="a.txt")
    with pytest.raises(InputError, match=r"^a\.csv: is a CSV table"):
        require_sentences(["sentence\n", "the cat sleeps .\n"], path="a.csv")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a\x00b", "NUL"),
        ("one .\u2028two .", r"U\+2028"),
        ("one .\x85two .", r"U\+0085"),
        ("word " * (MOST_WORDS + 1), r"1,001 words; a sentence has at most 1,000"),
    ],
)
def test_lines_that_are_no_sentences(line: str, problem: str) -> None:
    with pytest.raises(InputError, match=f"^a.txt:2: .*{problem}"):
        require_sentences(["the cat .", line], path="a.txt")
    require_sentences(["word " * MOST_WORDS], path="a.txt")


_cells = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
_names = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(_names, min_size=2, max_size=4),
    st.lists(st.lists(_cells, min_size=4, max_size=4), min_size=1, max_size=5),
    st.sampled_from(",\t;"),
)
def test_every_table_with_a_header_is_found(
    header: list[str], rows: list[list[str]], mark: str
) -> None:
    written = io.StringIO()
    table = csv.writer(written, delimiter=mark)
    table.writerow(header)
    table.writerows(row[: len(header)] for row in rows)
    lines = written.getvalue().splitlines(keepends=True)
    assert kind_of_lines(lines) is not None


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(_names, st.lists(_cells, min_size=1, max_size=3), min_size=1, max_size=3))
def test_json_and_yaml_are_found(content: dict[str, list[str]]) -> None:
    for text in (json.dumps(content), json.dumps(content, indent=1)):
        assert kind_of_lines(text.splitlines()) == "JSON"
    text = yaml.safe_dump({"suite": content}, allow_unicode=True)
    assert kind_of_lines(text.splitlines()) == "YAML"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=6))
def test_any_lines_are_judged(lines: list[str]) -> None:
    kind_of_lines(lines)


def _require_text(sentences: list[str]) -> None:
    for begin in range(0, len(sentences), 2):
        assert kind_of_lines(sentences[begin : begin + 2]) is None, sentences[begin : begin + 2]


def test_no_sentence_of_the_suites_is_refused() -> None:
    suites = load_suites(suite_names())
    found = dict.fromkeys(" ".join(words) for suite in suites for words in suite.sentences)
    _require_text(list(found))


@pytest.mark.parametrize("corpus", ["ptb_sample", "sinica"])
def test_no_sentence_of_a_corpus_is_refused(corpus: str, nltk_root: str) -> None:
    data = load_settings("train", [f"data={corpus}", f"data.root={nltk_root}"]).data
    _require_text([" ".join(sentence.words) for sentence in data.reader.read("test")])
