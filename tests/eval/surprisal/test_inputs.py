"""Sentences come from plain text or trees, from files or a pipe."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import Tree, format_tree, parse_tree
from gardenpath.errors import InputError, TreeError
from gardenpath.eval.surprisal.inputs import check_alignment, read_given, read_sentences
from tests.data.strategies import trees, words


def _file(folder: Path, text: str, name: str = "in.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


class _Pipe:
    """Stands for standard input."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def _found(sentences: list[Sentence]) -> list[tuple[int, str]]:
    return [(sentence.source.line, " ".join(sentence.words)) for sentence in sentences]


def test_plain_text_keeps_the_numbers_of_its_lines(tmp_path: Path) -> None:
    path = _file(tmp_path, "\n the  hungry cat\tmeows \n\n \n猫 叫 。")
    first, second = read_sentences(path)
    assert (first.words, first.source.line) == (("the", "hungry", "cat", "meows"), 2)
    assert (second.words, str(second.source)) == (("猫", "叫", "。"), f"{path}:5")
    assert first.tree is None


def test_only_ends_of_lines_end_lines(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes("\ufeffa b\r\nc\x0bd\ne".encode())
    assert _found(read_sentences(path)) == [(1, "a b"), (2, "c d"), (3, "e")]


TREES = """

( (S (NP-SBJ-1 (DT the) (NN cat)) (VP (VBD was) (VP (VBN fed) (NP (-NONE- *-1))))) )
(S (-NONE- *))
(S (NP (NN x))) (S
  (NP (-LRB- -LRB-) (NN Y)))
"""


def test_trees_are_cleaned_as_corpora_are(tmp_path: Path) -> None:
    found = read_sentences(_file(tmp_path, TREES))
    assert _found(found) == [(3, "the cat was fed"), (5, "x"), (5, "( Y")]
    assert found[0].tree == parse_tree("(S (NP the cat) (VP was (VP fed)))")


def test_cleaning_is_optional_and_can_be_that_of_a_run(tmp_path: Path) -> None:
    path = _file(tmp_path, TREES)
    as_they_are = read_sentences(path, cleaning=None)
    assert _found(as_they_are)[:2] == [(3, "the cat was fed *-1"), (4, "*")]
    lower = read_sentences(path, cleaning=Cleaning(lowercase=True, max_tokens=1))
    assert _found(lower)[-1] == (5, "( y"), "no sentence is left out for its length"
    plain = _file(tmp_path, "The Cat\n")
    assert _found(read_sentences(plain, cleaning=Cleaning(lowercase=True))) == [(1, "the cat")]


def test_a_text_is_read_once_and_cleaned_for_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Pipe(TREES.encode()))
    given = read_given(None)
    assert _found(given.cleaned(None))[0] == (3, "the cat was fed *-1")
    assert _found(given.cleaned(Cleaning()))[-1] == (5, "( Y")
    assert _found(given.cleaned(Cleaning(lowercase=True)))[-1] == (5, "( y")


def test_runs_may_differ_in_case(tmp_path: Path) -> None:
    given = read_given(_file(tmp_path, TREES))
    cleanings = {"a": Cleaning(), "b": Cleaning(lowercase=True), "c": Cleaning(keep_pos=True)}
    check_alignment({run: given.cleaned(cleaning) for run, cleaning in cleanings.items()})
    check_alignment({"alone": given.cleaned(None)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (X a))\n(S (X a) (-NONE- *))", "in.txt:2: .*: 'a' and 'a [*]'"),
        ("(S (X a))\n(S (-NONE- *))", "in.txt:2: .*: nothing and '[*]'"),
        ("(S (-NONE- *)) (S (X a))", "in.txt:1: .*: 'a' and '[*]'"),
    ],
)
def test_runs_that_find_other_words_are_refused(tmp_path: Path, text: str, message: str) -> None:
    given = read_given(_file(tmp_path, text))
    usual = given.cleaned(Cleaning())
    with_traces = given.cleaned(Cleaning(drop_traces=False))
    with pytest.raises(InputError, match=message) as caught:
        check_alignment({"runs/a": usual, "runs/b": usual, "runs/c": with_traces})
    assert "runs/a and runs/c were trained on differently cleaned corpora" in caught.value.problem
    assert "run=" in caught.value.remedy


def test_a_bracket_at_the_beginning_can_be_a_word(tmp_path: Path) -> None:
    path = _file(tmp_path, "( laughter )\n(S (X y))\n")
    with pytest.raises(TreeError):
        read_sentences(path)
    assert _found(read_sentences(path, form="plain")) == [(1, "( laughter )"), (2, "(S (X y))")]
    text = _file(tmp_path, "a (\n")
    assert _found(read_sentences(text)) == [(1, "a (")]
    with pytest.raises(TreeError):
        read_sentences(text, form="bracketed")


@pytest.mark.parametrize("path", [None, Path("-")])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, path: Path | None) -> None:
    monkeypatch.setattr(sys, "stdin", _Pipe("\r\n猫 叫\r\nb".encode()))
    found = read_sentences(path)
    assert _found(found) == [(2, "猫 叫"), (3, "b")]
    assert str(found[1].source) == "<stdin>:3"


def test_standard_input_that_is_not_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Pipe(b"a\nb \xff\n"))
    with pytest.raises(InputError, match="<stdin>:2: is not UTF-8 text"):
        read_sentences(None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "in.txt: contains no sentences"),
        (" \n\n", "in.txt: contains no sentences"),
        ("(S (-NONE- *))\n", "in.txt: contains no sentences"),
        ("\n(S (NP a)\n\n(S b)", "in.txt:2: this bracket is never closed"),
        ("(S (NP a))\n(S b))", "in.txt:2: unexpected ')'"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sentences(_file(tmp_path, text))
    assert message in str(caught.value)
    assert ("bracket" in message or "')'" in message) == isinstance(caught.value, TreeError)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        read_sentences(tmp_path / "absent.txt")
    (tmp_path / "bad.txt").write_bytes(b"a\nb\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"bad\.txt:3"):
        read_sentences(tmp_path / "bad.txt")


@given(st.lists(st.lists(words(), min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_words_come_back_from_plain_text(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]]
) -> None:
    path = _file(tmp_path_factory.mktemp("in"), "\n\n".join(" ".join(s) for s in sentences))
    found = read_sentences(path, form="plain")
    assert [list(sentence.words) for sentence in found] == sentences
    assert [sentence.source.line for sentence in found] == list(range(1, 2 * len(sentences), 2))


@given(st.lists(trees(), min_size=1, max_size=3))
def test_any_trees_come_back(tmp_path_factory: pytest.TempPathFactory, forest: list[Tree]) -> None:
    path = _file(tmp_path_factory.mktemp("in"), "\n".join(map(format_tree, forest)))
    found = read_sentences(path, cleaning=None)
    assert [sentence.tree for sentence in found] == forest
    assert [sentence.words for sentence in found] == [tree.words() for tree in forest]
