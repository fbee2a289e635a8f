"""Surprisals that were computed before."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.arrays import Words
from gardenpath.eval.surprisal_cache import ScoredSentences, cache_path, load, save

A, B, C = ("the", "cat"), ("the", "dog"), ("a", '"')

_WORD = st.text(min_size=1, max_size=5).filter(lambda word: not any(c.isspace() for c in word))
_SENTENCE = st.lists(_WORD, min_size=1, max_size=4).map(tuple)


@given(st.dictionaries(_SENTENCE, st.lists(st.floats(allow_nan=False), max_size=4), max_size=4))
def test_what_is_saved_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, bits: dict[Words, list[float]]
) -> None:
    """Also infinite surprisals, and words of any script."""
    path = tmp_path_factory.getbasetemp() / "surprisal_cache.json"
    scored = ScoredSentences(
        bits, {words: [[(0.5, "(S the")]] for words in bits}, dict.fromkeys(bits, "raise it")
    )
    save(path, scored)
    assert load(path) == scored


def test_undefined_surprisals_stay_undefined(tmp_path: Path) -> None:
    save(tmp_path / "cache.json", ScoredSentences({A: [1.0, math.nan]}))
    first, second = load(tmp_path / "cache.json").surprisal_bits[A]
    assert first == 1.0 and math.isnan(second)


def test_sentences_that_are_lacking() -> None:
    scored = ScoredSentences({A: [1.0], B: [2.0]}, {A: [[]]})
    assert scored.lacking([A, B, C, C], []) == [C]
    assert scored.lacking([B, A], [A, B]) == [B]
    assert scored.lacking([A], [A, C]) == []


def test_new_results_replace_old_ones() -> None:
    scored = ScoredSentences({A: [1.0]}, {}, {A: "raise it"})
    scored.update(ScoredSentences({A: [3.0], B: [2.0]}, {B: [[]]}))
    assert scored == ScoredSentences({A: [3.0], B: [2.0]}, {B: [[]]}, {A: "raise it"})


def test_a_file_belongs_to_one_model_and_one_search(tmp_path: Path) -> None:
    search = {"kind": "word_sync", "word_beam": 10}
    one = cache_path(tmp_path, {"run": "a", "search": search})
    same = cache_path(tmp_path, {"search": dict(reversed(search.items())), "run": "a"})
    assert one == same
    assert one != cache_path(tmp_path, {"run": "a", "search": {**search, "word_beam": 9}})
    assert one != cache_path(tmp_path, {"run": "b", "search": search})


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"surprisal_bits": [], "parses": {}, "failures": {}}',
        '{"surprisal_bits": {}, "parses": {"a": [[["x", "y"]]]}, "failures": {}}',
        '{"surprisal_bits": {"a": 3}, "parses": {}, "failures": {}}',
        '{"surprisal_bits": {"a": ["x"]}, "parses": {}, "failures": {}}',
    ],
)
def test_a_damaged_file_counts_for_nothing(tmp_path: Path, content: str) -> None:
    path = tmp_path / "cache.json"
    path.write_text(content, encoding="utf-8")
    assert load(path) == ScoredSentences()
    save(path, ScoredSentences({A: [1.0]}))
    assert load(path).surprisal_bits == {A: [1.0]}


def test_no_file_is_no_results(tmp_path: Path) -> None:
    assert load(tmp_path / "absent.json") == ScoredSentences()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_whole_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    save(path, ScoredSentences({A: [1.0]}))
    with pytest.raises(TypeError):
        save(path, ScoredSentences({A: [object()]}))  # type: ignore[list-item]
    assert json.loads(path.read_text(encoding="utf-8"))["surprisal_bits"] == {"the cat": [1.0]}
    assert [one.name for one in tmp_path.iterdir()] == ["cache.json"]
