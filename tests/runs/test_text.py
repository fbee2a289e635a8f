"""Sentences that a user gives in Python."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import parse_tree
from gardenpath.errors import GardenpathError, TreeError
from gardenpath.eval.suites.suite import Item
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.find import Runs
from gardenpath.runs.run import Run
from gardenpath.runs.text import (
    UnknownWords,
    is_single,
    require_known,
    rows_and_header,
    sentences_of_given,
    stacked,
    unknown_words,
)
from gardenpath.settings.compose import load_settings
from gardenpath.store.surprisals import Stored
from tests import small_runs
from tests.runs.own_suite import agreement
from tests.toy_runs import run_of

WORDS = ("the", "cat", "sat", ".")
TREE = "(S (NP (DT the) (NN cat)) (VP (VBD sat) (NP (-NONE- *T*))) (. .))"


def _words(given: Any, **cleaning: Any) -> list[tuple[str, ...]]:
    return [one.words for one in sentences_of_given(given, Cleaning(**cleaning))]


@pytest.mark.parametrize(
    "given",
    [
        "the cat sat .",
        "  the   cat\tsat . \n",
        ["the cat sat ."],
        [["the", "cat", "sat", "."]],
        (("the", "cat", "sat", "."),),
        TREE,
        [TREE],
        parse_tree(TREE),
        [parse_tree(TREE)],
    ],
)
def test_every_form_of_one_sentence(given: Any) -> None:
    assert _words(given) == [WORDS]


def test_several_sentences_in_different_forms() -> None:
    found = _words(["the cat sat .", ["it", "slept"], parse_tree(TREE), "(S (NP it))"])
    assert found == [WORDS, ("it", "slept"), WORDS, ("it",)]


def test_trees_keep_their_trees_and_strings_have_none() -> None:
    one, other = sentences_of_given([TREE, "the cat"], Cleaning())
    assert one.tree is not None and one.tree.words() == WORDS and other.tree is None


def test_sentences_are_cleaned_as_the_corpus_was() -> None:
    assert _words("The Cat sat", lowercase=True) == [("the", "cat", "sat")]
    assert _words("The Cat sat") == [("The", "Cat", "sat")]
    assert _words(TREE, drop_traces=False) == [("the", "cat", "sat", "*T*", ".")]


def test_long_sentences_are_never_left_out() -> None:
    assert len(_words(["the cat sat .", "a b"], max_tokens=2)) == 2


def test_only_a_string_or_a_tree_is_a_single_sentence() -> None:
    assert is_single("the cat") and is_single(parse_tree(TREE))
    assert not is_single(["the cat"]) and not is_single([["the", "cat"]])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("", "sentence 1 has no words"),
        ("   ", "sentence 1 has no words"),
        ([], "sentence 1 has no words"),
        (["the cat", ""], "sentence 2 has no words"),
        (["the cat", []], "sentence 2 has no words"),
        (["the cat", "(S (-NONE- *T*))", "a"], "sentence 2 has no words"),
        ([["the", 3]], "3 is not a word"),
        ([["the", ""]], "'' is not a word"),
        ([["New York", "is"]], "'New York' is not a word"),
        ([["the", None]], "None is not a word"),
        ([[["the", "cat"]]], "is not a word"),
    ],
)
def test_what_is_no_sentence_is_named(given: Any, problem: str) -> None:
    with pytest.raises(GardenpathError, match=problem.replace("(", r"\(")):
        sentences_of_given(given, Cleaning())


def test_a_broken_tree_is_an_error() -> None:
    with pytest.raises(TreeError, match="never closed"):
        sentences_of_given("(S (NP the cat)", Cleaning())


# ----------------------------------------------------------------------------
# Input of which a model does not know most words is refused, with the share and a hint.


ENGLISH = "the boys knew ."
MANDARIN = "男孩 知道 了 。"


def test_words_are_counted_and_the_first_are_named(folder: Path) -> None:
    run = run_of(folder, "ngram")
    found = unknown_words(run, [ENGLISH.split(), ["the", "wug", "wug", "zebras", "."]])
    assert (found.words, found.unknown) == (9, 3)
    assert found.listed == ("wug", "zebras")
    assert str(found) == f"{run.path}: 33% of 9 words are unknown (wug, zebras)"
    assert unknown_words(run, []).share == 0.0


def test_another_language_is_refused(folder: Path) -> None:
    run = run_of(folder, "ngram")
    message = r"ngram/seed1: 100% of 4 words are unknown \(男孩, .*task\.allow_unknown=true"
    with pytest.raises(GardenpathError, match=message):
        run.surprisal(MANDARIN)
    with pytest.raises(GardenpathError, match=r"allow_unknown=True"):
        Runs([run]).surprisal([MANDARIN])
    frame = run.surprisal(MANDARIN, allow_unknown=True)
    assert not frame["seen"][:-1].any() and frame.attrs["unknown"] == 1.0
    assert run.surprisal(ENGLISH).attrs["unknown"] == 0.0


def test_half_of_the_words_may_be_unknown(folder: Path) -> None:
    run = run_of(folder, "ngram")
    assert len(run.surprisal("the wug zib .", end=False)) == 4
    with pytest.raises(GardenpathError, match="60% of 5 words"):
        run.surprisal("the wug zib zab .")


def test_parses_are_refused_too(folder: Path) -> None:
    run = run_of(folder, "rnng")
    with pytest.raises(GardenpathError, match="100% of 4 words"):
        run.parse(MANDARIN)


def test_suites_of_unknown_words_are_refused(folder: Path) -> None:
    suite = agreement()
    run = run_of(folder, "ngram")
    assert evaluate(run, suite).items["unknown"].sum() > 0
    strange = replace(suite, items=tuple(map(_strange, suite.items)))
    with pytest.raises(GardenpathError, match="100% of"):
        evaluate(run, strange)
    assert len(evaluate(run, strange, allow_unknown=True).items) == 2


def _strange(item: Item) -> Item:
    """The same item in words that no run knows."""
    variants = [
        replace(one, regions=tuple(tuple(f"x{w}" for w in region) for region in one.regions))
        for one in item.variants
    ]
    return replace(item, variants=tuple(variants))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("THE BOYS KNEW .", "known in lower case"),
        ("the boys. boys, men,", "without the punctuation"),
        ("男孩知道了他的名字 男孩知道了她的名字", "long strings of Han characters"),
        ("wug zib zab", ""),
    ],
)
def test_hints(folder: Path, text: str, hint: str) -> None:
    found = unknown_words(run_of(folder, "ngram"), [text.split()])
    assert found.is_large
    assert (hint in found.hint) if hint else found.hint == ""


def test_capital_letters(tmp_path: Path) -> None:
    small_runs.write_corpus(tmp_path / "corpus")
    for path in (tmp_path / "corpus").iterdir():
        path.write_text(path.read_text(encoding="utf-8").title(), encoding="utf-8")
    run = small_runs.loaded(small_runs.run(tmp_path, "model=ngram"))
    assert "capital letter" in unknown_words(run, [["cat", "dog"]]).hint


def test_the_worst_of_several_runs_is_named() -> None:
    one = UnknownWords(run="a", words=10, unknown=6, listed=("x",))
    other = UnknownWords(run="b", words=10, unknown=9, listed=("x",))
    with pytest.raises(GardenpathError, match=r"^b: 90% .*and for 1 other run\)"):
        require_known([one, other], allow_unknown=False)
    require_known([one, other], allow_unknown=True)
    require_known([UnknownWords(run="c", words=10, unknown=5)], allow_unknown=False)


@pytest.fixture(scope="module")
def of_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pieces")
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=60")
    return small_runs.run(folder, "model=lstm", *small_runs.NEURAL, *pieces).path


def test_pieces_do_not_hide_another_language(of_pieces: Path) -> None:
    run = Run(of_pieces, device="cpu")
    own = unknown_words(run, [small_runs.WORDS])
    assert own.unknown == 0
    assert unknown_words(run, [MANDARIN.split()]).share == 1.0
    # Letters of the corpus in words that it does not have: spelled out letter by letter.
    spelled = unknown_words(run, [["tghl", "ohlt", "cat", "dlog", "rthe"]])
    assert spelled.listed == ("tghl", "ohlt")
    with pytest.raises(GardenpathError, match="100% of 4 words"):
        run.surprisal(MANDARIN)


def test_another_corpus_is_refused(folder: Path, tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text("wug zib zab\n", encoding="utf-8")
    data = load_settings("train", ["data=text", f"data.root={tmp_path}"]).data
    run = run_of(folder, "ngram")
    with pytest.raises(GardenpathError, match="100% of 3 words"):
        run.perplexity(data=data)
    assert len(run.perplexity(data=data, allow_unknown=True)) == 1


# ----------------------------------------------------------------------------
# Tables of surprisal, and what goes with them.


WORDS_SURPRISALS = ("the", "boys", "zebras")


def test_rows_and_header_by_hand(folder: Path) -> None:
    run = run_of(folder, "rnng")
    other = ("boys",)
    sentences = [
        Sentence(WORDS_SURPRISALS, Source("in.txt", 3)),
        Sentence(other, Source("in.txt", 9)),
    ]
    scored = {
        WORDS_SURPRISALS: Stored(
            [-math.log(2), -2 * math.log(2), math.nan, math.nan], remedy="wider"
        ),
        other: Stored([-math.log(2), 0.0]),
    }
    rows, header = rows_and_header(run, sentences, scored, end=True)
    assert [row.surprisal_bits for row in rows[:2]] == pytest.approx([1.0, 2.0])
    assert [row.word for row in rows] == [*WORDS_SURPRISALS, "</s>", "boys", "</s>"]
    assert [row.seen for row in rows] == [True, True, False, True, True, True]
    (failure,) = header.failures
    assert (failure.sentence_id, failure.place, failure.word_id) == (1, "in.txt:3", 3)
    assert failure.remedy == "wider"
    assert (header.run, header.model, header.search) == (str(run.path), "rnng", "word_sync")
    assert header.settings["action_beam"] == 10 and "kind" not in header.settings


def test_a_search_that_did_not_take_place_is_not_described(folder: Path) -> None:
    run = run_of(folder, "ngram")
    sentences = [Sentence(WORDS_SURPRISALS, Source("in.txt", 1))]
    _, header = rows_and_header(run, sentences, run.scored([WORDS_SURPRISALS]), end=False)
    assert (header.search, header.settings, header.failures) == ("none", {}, ())


def test_pieces_are_shown_in_the_place_of_words(tmp_path: Path) -> None:
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=30")
    run = small_runs.loaded(small_runs.run(tmp_path, "model=ngram", *pieces))
    table = run.surprisal(["the old cat", "the 猫"], end=False)
    assert run.trained.subwords is not None
    shown = table["seen_as"].tolist()
    assert shown[:3] == [
        " ".join(run.trained.subwords.split(word)) for word in ("the", "old", "cat")
    ]
    assert table["seen"].tolist() == [True, True, True, True, False]
    # Pieces cover any word, so that no word counts as out of the vocabulary in suites.
    assert run.knows("unheard-of") and run.model.unigram_log_prob is None


def test_stacked_tables_keep_what_was_measured(folder: Path) -> None:
    frames = [run_of(folder, model).surprisal("the boys") for model in ("ngram", "lstm")]
    lengths = [len(frame) for frame in frames]
    table = stacked(frames)
    assert len(table) == sum(lengths) and table.index.tolist() == list(range(len(table)))
    assert [one["model"] for one in table.attrs["runs"]] == ["ngram", "lstm"]
    assert isinstance(table, pd.DataFrame)
