"""Tables of surprisal, and what goes with them."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.data.sentence import Sentence, Source
from gardenpath.runs.text import rows_and_header, stacked
from gardenpath.store.surprisals import Stored
from tests import small_runs
from tests.toy_runs import run_of

WORDS = ("the", "boys", "zebras")


def test_rows_and_header_by_hand(folder: Path) -> None:
    run = run_of(folder, "rnng")
    other = ("boys",)
    sentences = [Sentence(WORDS, Source("in.txt", 3)), Sentence(other, Source("in.txt", 9))]
    scored = {
        WORDS: Stored([-math.log(2), -2 * math.log(2), math.nan, math.nan], remedy="wider"),
        other: Stored([-math.log(2), 0.0]),
    }
    rows, header = rows_and_header(run, sentences, scored, end=True)
    assert [row.surprisal_bits for row in rows[:2]] == pytest.approx([1.0, 2.0])
    assert [row.word for row in rows] == [*WORDS, "</s>", "boys", "</s>"]
    assert [row.seen for row in rows] == [True, True, False, True, True, True]
    (failure,) = header.failures
    assert (failure.sentence_id, failure.place, failure.word_id) == (1, "in.txt:3", 3)
    assert failure.remedy == "wider"
    assert (header.run, header.model, header.search) == (str(run.path), "rnng", "word_sync")
    assert header.settings["action_beam"] == 10 and "kind" not in header.settings


def test_a_search_that_did_not_take_place_is_not_described(folder: Path) -> None:
    run = run_of(folder, "ngram")
    sentences = [Sentence(WORDS, Source("in.txt", 1))]
    _, header = rows_and_header(run, sentences, run.scored([WORDS]), end=False)
    assert (header.search, header.settings, header.failures) == ("none", {}, ())


def test_pieces_are_shown_in_the_place_of_words(tmp_path: Path) -> None:
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=30")
    run = small_runs.loaded(small_runs.run(tmp_path, "model=ngram", *pieces))
    table = run.surprisal(["the old cat", "the 猫"], end=False)
    assert run.subwords is not None
    shown = table["seen_as"].tolist()
    assert shown[:3] == [" ".join(run.subwords.split(word)) for word in ("the", "old", "cat")]
    assert table["seen"].tolist() == [True, True, True, True, False]
    # Pieces cover any word, so that no word counts as out of the vocabulary in suites.
    assert run.knows("unheard-of") and run.unigram_log_prob is None


def test_stacked_tables_keep_what_was_measured(folder: Path) -> None:
    frames = [run_of(folder, model).surprisal("the boys") for model in ("ngram", "lstm")]
    lengths = [len(frame) for frame in frames]
    table = stacked(frames)
    assert len(table) == sum(lengths) and table.index.tolist() == list(range(len(table)))
    assert [one["model"] for one in table.attrs["runs"]] == ["ngram", "lstm"]
    assert isinstance(table, pd.DataFrame)
