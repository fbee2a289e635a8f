"""Errors of searches and their costs: the numbers, and the tables that show them."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import error_and_cost
from benchmarks.material import independent
from benchmarks.measured_search import in_short, parse_setting, searched, series_of
from benchmarks.surprisal_errors import Point, cost_at_error, errors_of, frontier, is_mark
from benchmarks.wider_vocabulary import widened
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.models.syntactic.networks import RnngNetwork
from gardenpath.runs.run import Run
from gardenpath.runs.training import train
from tests.integration.commands import toy
from tests.integration.searching import log_probs, make_network, search, tiny_vocabulary
from tests.toy_runs import run_of

LOG2 = math.log(2)


def test_errors_are_in_bits_and_shared_between_words_and_marks() -> None:
    sentences = [("the", "dog", "."), ("it",)]
    expected = [[-1.0, -1.0, -1.0, -1.0], [-1.0, -1.0]]
    found = [[-1.0, -1.0 + LOG2, -1.0 - 2 * LOG2, -1.0], [math.nan, -1.0 - LOG2]]
    errors = errors_of(found, expected, sentences)
    assert errors.mean == pytest.approx(4 / 5)
    assert errors.largest == pytest.approx(2.0)
    assert errors.at_marks == pytest.approx(3 / 4)
    assert errors.undefined == 1
    words = errors_of(found, expected, sentences, with_ends=False)
    assert words.mean == pytest.approx(1.0)
    assert words.at_marks == pytest.approx(2 / 3)


def test_nothing_known_and_nothing_wrong_have_no_share() -> None:
    assert errors_of([[-1.0, -1.0]], [[-1.0, -1.0]], [("a",)]).at_marks == 0.0
    assert math.isnan(errors_of([[math.nan, math.nan]], [[-1.0, -1.0]], [("a",)]).mean)


@pytest.mark.parametrize("word", [".", "''", "--", "。"])
def test_punctuation_has_no_letters_or_digits(word: str) -> None:
    assert is_mark(word)
    assert not is_mark(f"a{word}") and not is_mark(f"1{word}")


def test_the_frontier_has_no_point_that_another_beats() -> None:
    points = [Point(0.5, 1.0), Point(0.6, 2.0), Point(0.1, 4.0), Point(0.1, 8.0)]
    points.append(Point(math.nan, 0.1))
    assert frontier(points[::-1]) == [points[0], points[2]]


def test_the_cost_of_an_error_is_interpolated_between_its_neighbours() -> None:
    points = [Point(0.8, 1.0), Point(0.2, 4.0), Point(0.05, 64.0)]
    assert cost_at_error(points, 0.4) == pytest.approx(2.0, rel=0.01)
    assert cost_at_error(points, 0.1) == pytest.approx(16.0, rel=0.01)
    assert cost_at_error(points, 0.2) == pytest.approx(4.0, rel=0.01)
    # The same error, but for rounding.
    assert cost_at_error(points, 0.05 - 1e-6) == pytest.approx(64.0, rel=0.01)
    # Nothing is cheaper than the cheapest, and nothing reaches an error below the smallest.
    assert cost_at_error(points, 3.0) == 1.0
    assert cost_at_error(points, 0.01) is None
    assert cost_at_error([], 1.0) is None
    assert cost_at_error([Point(0.5, 1.0), Point(0.0, 3.0)], 0.1) == 3.0


def test_settings_are_read_and_named() -> None:
    found = parse_setting("word_sync:action_beam=200,word_beam=20,stop=beam_full,bounded=false")
    assert found == WordSync(action_beam=200, word_beam=20, stop="beam_full", bounded=False)
    assert in_short(found) == "word_sync 200/20/word_beam stop=beam_full"
    assert parse_setting("unbiased") == Unbiased()
    assert in_short(Unbiased(replicates=8)) == "unbiased 100/10 replicates=8"
    assert series_of(Unbiased()) == "unbiased"
    assert series_of(WordSync(fast_track=1)) == "word_sync, fast track 1"
    assert series_of(WordSync()) == "word_sync, words need no place"
    assert series_of(WordSync(fast_track=10)) == "word_sync, fast track = word beam"
    assert series_of(WordSync(word_beam=40, margin_bits=7.0)) == "word_sync, within a margin"


@pytest.mark.parametrize("text", ["depth_first:a=1", "word_sync:no_such=1"])
def test_settings_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(GardenpathError, match=text):
        parse_setting(text)


@pytest.mark.parametrize("name", ["rnng", "plm", "plm_full"])
def test_a_wider_vocabulary_changes_no_probability(name: str) -> None:
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    tokens = [vocabulary.encode(list(words)) for words in ("abc", "ca")]
    settings = WordSync(action_beam=20, word_beam=5)
    expected = log_probs(search(network, tokens, settings))
    wider = widened(network, 3)
    found = log_probs(search(wider, tokens, settings))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    sizes = [sum(p.numel() for p in each.parameters()) for each in (network, wider)]
    assert sizes[0] < sizes[1]
    output = wider.word_output if isinstance(wider, RnngNetwork) else wider.output
    assert torch.isinf(output.excluded).sum() == 3 + 2 * len(vocabulary)


def test_parts_of_sentences_give_the_same_numbers(folder: Path) -> None:
    run = run_of(folder, "rnng")
    sentences = [("the", "king", "sleeps", "."), ("a", "king", "sleeps", "."), ("the", "king")]
    whole = searched(run, run.search, sentences)
    parts = searched(run, run.search, sentences, together=1)
    for one, other in zip(whole.log_probs, parts.log_probs, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4)
    assert whole.words == 10 and whole.seconds > 0
    assert whole.states is not None and parts.states is not None
    assert whole.states <= parts.states


def test_a_sequential_model_has_no_search(folder: Path) -> None:
    with pytest.raises(GardenpathError, match="RNNG or a PLM"):
        searched(run_of(folder, "lstm"), WordSync(), [("the",)])


def test_long_sentences_can_be_chosen() -> None:
    found = independent("toy", 5, shortest=9)
    assert len(found) == 5 and all(len(words) >= 9 for words in found)
    assert min(map(len, independent("toy", 5))) < 9


def test_models_over_pieces_and_in_order_have_errors_and_costs_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors are those of words: the reference itself has none, and the table has all words."""
    small = ("trainer=cpu", "trainer.max_epochs=1", "model.network.hidden=8")
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=60")
    in_order = "model.network.strategy=in_order"
    train(*toy(tmp_path, "model=rnng", in_order, *pieces, *small))
    run = Run(tmp_path / "runs" / "toy_english" / "rnng" / "seed1", device="cpu")
    assert run.trained.subwords is not None and run.boundary == "next"
    search = "unbiased:action_beam=10,word_beam=4"
    monkeypatch.setattr(error_and_cost, "PUBLISHED", WordSync(action_beam=6, word_beam=2))
    monkeypatch.setattr(error_and_cost, "FAST", WordSync(action_beam=4, word_beam=2))
    error_and_cost.main(
        [
            "--run", str(run.path), "--corpus", "toy", "--sentences", "2", "--factors", "2",
            "--reference", search, "--settings", search, "--tables", "vocabulary", "sentences",
            "--together", "2", "--csv", str(tmp_path / "rows.csv"),
        ]
    )  # fmt: skip
    assert "reads pieces of words; no table of growing vocabularies" in capsys.readouterr().out
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        rows = {row["setting"]: row for row in csv.DictReader(file)}
    assert len(rows) == 3
    words = str(sum(map(len, independent("toy", 2))))
    assert {row["words"] for row in rows.values()} == {words}
    same = rows[in_short(parse_setting(search))]
    assert float(same["largest_error_bits"]) == pytest.approx(0.0, abs=1e-6)
    assert float(same["covered"]) == 1.0
    assert all(float(row["largest_error_bits"]) > 0.01 for row in rows.values() if row is not same)


@pytest.mark.parametrize("model", ["rnng", "plm"])
def test_error_and_cost_are_printed_together(
    model: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    small = WordSync(action_beam=6, word_beam=2), WordSync(action_beam=6, word_beam=2, fast_track=2)
    monkeypatch.setattr(error_and_cost, "PUBLISHED", small[0])
    monkeypatch.setattr(error_and_cost, "FAST", small[1])
    monkeypatch.setattr(error_and_cost, "LADDER", small)
    error_and_cost.main(
        [
            "--run", str(run_of(folder, model).path), "--corpus", "toy", "--sentences", "2",
            "--settings", "unbiased:action_beam=10,word_beam=4", "--reference",
            "word_sync:action_beam=20,word_beam=4", "--beams", "5", "20", "--lengths", "3", "5",
            "--texts", "2", "--factors", "1", "2", "--together", "1", "2", "50",
            "--csv", str(tmp_path / "rows.csv"), "--figure", str(tmp_path / "figure.svg"),
        ]
    )  # fmt: skip
    output = capsys.readouterr().out
    for _, title, _ in error_and_cost.TABLES.values():
        assert title in output
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counts = {name: sum(row["table"] == name for row in rows) for name in error_and_cost.TABLES}
    assert counts == {"settings": 3, "beam": 4, "length": 6, "vocabulary": 6, "sentences": 6}
    by_size = [
        float(row["mean_error_bits"])
        for row in rows
        if row["table"] == "vocabulary" and row["series"] == series_of(small[0])
    ]
    assert by_size[0] == pytest.approx(by_size[1], abs=1e-3)
    assert "</svg>" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
