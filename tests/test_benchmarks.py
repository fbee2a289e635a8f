"""The benchmarks run, and what they compare is the same computation."""

from __future__ import annotations

import csv
import math
import random
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks import error_and_cost, pretrained, processes, scale, training, vocabulary
from benchmarks import search as search_benchmark
from benchmarks.copying_rnng import copied_stacks
from benchmarks.hard_knocks import STAGES, Stage, contents, knock, leftovers
from benchmarks.launches import PER_STEP, PER_TOKEN, watched_search
from benchmarks.material import independent
from benchmarks.measured_search import in_short, parse_setting, searched, series_of
from benchmarks.memory import in_own_process, peak_gb
from benchmarks.peer_search import PeerSearch
from benchmarks.recomputing_plm import recomputed_prefixes
from benchmarks.search_variant import Model, Variant, measure, operations_per_word, spread, texts
from benchmarks.surprisal_errors import Point, cost_at_error, errors_of, frontier, is_mark
from benchmarks.wider_vocabulary import widened
from gardenpath.adopted.families import HfSettings
from gardenpath.adopted.hf import CausalScorer
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from gardenpath.runs.run import Run
from gardenpath.runs.training import train
from tests.integration.commands import toy
from tests.integration.searching import log_probs, make_network, search, tiny_vocabulary
from tests.no_skips import NEEDS_PROC
from tests.toy_runs import run_of

SENTENCES = ("abc", "cabba", "a", "bb", "abcabcabcabc")
TINY: dict[str, Any] = {"action_beam": 10, "word_beam": 3}


def usual_search(network: RnngNetwork | PlmNetwork, settings: WordSync) -> PeerSearch:
    if isinstance(network, RnngNetwork):
        return PeerSearch(copied_stacks(network), settings)
    return PeerSearch(recomputed_prefixes(network), settings)


@torch.no_grad()
def decided(network: RnngNetwork | PlmNetwork) -> RnngNetwork | PlmNetwork:
    """With scores far apart, as those of trained models are."""
    if isinstance(network, RnngNetwork):
        network.action_output.weight.mul_(8)
    else:
        network.decoder.final_norm.weight.mul_(4)
    return network


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rnng", "plm"])
@pytest.mark.parametrize("is_decided", [False, True])
@pytest.mark.parametrize(
    "changes",
    [
        {"action_beam": 10, "word_beam": 3, "max_consecutive": 4},
        {"action_beam": 20, "word_beam": 5, "fast_track": 0},
        {"action_beam": 10, "word_beam": 10, "fast_track": 3, "max_open": 3},
    ],
)
def test_the_usual_search_finds_what_ours_finds(
    name: str, is_decided: bool, changes: dict[str, Any]
) -> None:
    settings = WordSync(**{**search_benchmark.SAME_SEARCH, **changes})
    vocabulary = tiny_vocabulary()
    network = make_network(name, vocabulary)
    if is_decided:
        network = decided(network)
    tokens = [vocabulary.encode(list(words)) for words in SENTENCES]
    usual = usual_search(network, settings)
    found = usual.run(tokens, batch=3)
    expected = log_probs(search(network, tokens, settings))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    assert usual.work.words == sum(map(len, SENTENCES)) + len(SENTENCES)
    # The usual search asks for the word at every state, at the roots too.
    assert usual.work.word_scores > usual.work.expanded > 0


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rnng", "plm"])
@pytest.mark.parametrize("baseline", [False, True])
def test_a_variant_is_measured(model: Any, baseline: bool) -> None:
    changes = {**TINY, **search_benchmark.SAME_SEARCH} if baseline else TINY
    variant = Variant(
        model=model, corpus="toy", count=2, out_of=4, baseline=baseline, changes=changes,
        counts_operations=not baseline,
    )  # fmt: skip
    found = measure(variant)
    assert found["sentences"] == 2
    assert found["speed"] > 0
    assert found["bits"] > 0
    if baseline:
        assert found["difference"] < 1e-3
    else:
        assert found["operations"] > 0


def test_pairs_share_prefixes() -> None:
    pairs = Variant(model="rnng", corpus="toy", material="pairs", count=8, changes=TINY)
    alone = replace(pairs, changes={**TINY, "share_prefixes": False})
    shared, separate = measure(pairs), measure(alone)
    assert shared["expanded"] < separate["expanded"]
    assert shared["bits"] == pytest.approx(separate["bits"], rel=1e-5)


def test_sentences_are_chosen_by_length_and_texts_have_the_length_asked_for() -> None:
    sentences = [["a"] * length for length in (9, 1, 5, 3, 7, 2)]
    assert [len(words) for words in spread(sentences, 3)] == [2, 5, 9]
    assert spread(sentences, 20) == sorted(sentences, key=len)
    assert [len(words) for words in texts(sentences, 11, 4)] == [11] * 4


def test_operations_are_counted() -> None:
    rows, size, length = 6, 8, 5
    weight, bias = torch.ones(4 * size, size), torch.zeros(4 * size)

    def work(_: Any) -> list[list[float]]:
        with torch.inference_mode():
            inputs, zero = torch.ones(length, rows, size), torch.zeros(1, rows, size)
            torch.lstm(
                inputs, (zero, zero), [weight, weight, bias, bias],
                True, 1, 0.0, False, False, False,
            )  # fmt: skip
            query = torch.ones(2, 3, length, size)
            torch.nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True)
            torch.nn.functional.linear(inputs, weight)
        return []

    lstm = 2 * (2 * length * rows * 4 * size * size)
    attention = 2 * (2 * 2 * 3 * length * length * size)
    linear = 2 * length * rows * 4 * size * size
    assert operations_per_word(work, [["word"]]) == lstm + attention + linear


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason=NEEDS_PROC)
def test_a_peak_is_not_hidden_by_an_earlier_one() -> None:
    def fill(megabytes: int) -> Tensor:
        return torch.ones(megabytes << 18)

    large = peak_gb(lambda: fill(256))
    small = peak_gb(lambda: fill(64))
    assert large == pytest.approx(0.25, abs=0.03)
    assert small == pytest.approx(0.0625, abs=0.03)


@pytest.mark.slow
def test_a_variant_is_measured_in_a_process_of_its_own() -> None:
    variant = Variant(model="rnng", corpus="toy", count=1, out_of=2, changes=TINY)
    found = in_own_process("benchmarks.search", asdict(variant))
    assert found["sentences"] == 1
    assert found["memory"] > 0


@pytest.mark.parametrize("name", search_benchmark.TABLES)
def test_tables_have_a_row_for_everything(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(variant: Variant) -> dict[str, Any]:
        return {
            "sentences": variant.count, "speed": 2.0 if variant.baseline else 30.0, "memory": 0.1,
            "expanded": 100, "word_scores": 10, "bits": 7.0, "operations": 1e9, "difference": 1e-6,
        }  # fmt: skip

    monkeypatch.setattr(Variant, "measured", measured)
    arguments = search_benchmark.make_parser().parse_args(["--corpus", "toy"])
    plan = search_benchmark.make_plan(arguments)
    table = search_benchmark.TABLES[name](plan)
    rows = {"usual": 6, "pairs": 6, "savings": 9, "beams": 10, "lengths": 10}
    assert table.row_count == rows[name]
    if name in ("usual", "pairs"):
        assert list(table.columns[-1].cells) == ["1.0", "15.0", "15.0"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("composition", training.COMPOSITIONS)
def test_both_schedules_train_alike(composition: training.Composition) -> None:
    curves = [
        training.curve(
            training.Task(
                schedule=name, corpus="toy", batch=2, steps=3, is_curve=True, is_double=True,
                composition=composition,
            )
        )
        for name in training.SCHEDULES
    ]  # fmt: skip
    np.testing.assert_allclose(curves[0], curves[1], rtol=0, atol=1e-9)
    assert curves[0][0] != curves[0][-1]


@pytest.mark.slow
@pytest.mark.parametrize("schedule", training.SCHEDULES)
def test_a_schedule_is_measured(schedule: training.Schedule) -> None:
    found = training.measure(training.Task(schedule=schedule, corpus="toy", batch=2, steps=2))
    assert found["sentences"] > 0
    assert found["launches"] > 0
    assert 0 < found["products"] < 1
    assert ("planning" in found) == (schedule == "by level")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason=NEEDS_PROC)
def test_scale_is_measured(tmp_path: Path) -> None:
    scale.make_corpus(tmp_path, 60)
    job = scale.Job(kind="prepare", folder=str(tmp_path), sentences=60, steps=2)
    assert scale.measure(job)["seconds"] > 0
    memory = scale.measure(replace(job, kind="train"))
    assert 0 < memory["steady"] <= memory["peak"]
    speed = scale.measure(replace(job, kind="speed", model="rnng"))
    assert 0 < speed["trained"] < speed["built"]


def test_the_tables_of_scale_have_a_row_for_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = ("seconds", "megabytes", "steady", "peak", "trained", "built")
    monkeypatch.setattr(scale, "in_own_process", lambda *_: dict.fromkeys(numbers, 2.0))
    scale.report(tmp_path, [20, 30], ["lstm", "plm"], 5)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("| ")]) == 2 + 2 + 4
    assert (tmp_path / "corpus30" / "train.txt").read_text().count("\n") == 30


@pytest.mark.parametrize("model", ["rnng", "plm"])
def test_output_layers_are_measured(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    vocabulary.main([
        "--models", model, "--sizes", "30", "--sentences", "1", "--length", "2", "--repeats", "1"
    ])  # fmt: skip
    shown = capsys.readouterr().out
    assert shown.count("factored") == 2 and "states/word" in shown


def test_words_and_actions_have_the_same_frequencies_with_both_layers() -> None:
    """So that searches do the same work."""
    words = vocabulary.invented(200)
    found = []
    for output in vocabulary.OUTPUTS:
        network = vocabulary.make_network("rnng", output, words)
        assert isinstance(network, RnngNetwork)
        found.append(network.word_output.logits(torch.zeros(1, 256)).log_softmax(1))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-4)


def test_processes_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    processes.main(["--models", "lstm", "--size", "tiny", "--sentences", "5", "--processes", "1"])
    output = capsys.readouterr().out
    assert "lstm" in output and "1 × 1 thread" in output


def test_pretrained_models_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    pretrained.main(["--suites", "reflexives/toy", "--items", "1", "--layers", "1", "--width", "8"])
    output = capsys.readouterr().out
    assert "reflexives/toy" in output and "ratio to one by one" in output


def test_the_loop_adds_the_same_tokens_as_the_scorer() -> None:
    sentences = [("the", "king", "sleeps", "."), ("the", "kings", "sleep", ".")]
    model, tokeniser = pretrained.random_gpt2(sentences, 1, 8)
    scorer = CausalScorer(
        load=lambda: model, config=model.config, tokeniser=tokeniser, settings=HfSettings(),
        boundary="none",
    )  # fmt: skip
    expected = [float(one[:-1].sum()) for one in scorer.word_log_probs(sentences)]
    for batch in (1, 2):
        found = pretrained.loop(model, tokeniser, sentences, batch)
        np.testing.assert_allclose([float(one.sum()) for one in found], expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["rnng", "plm"])
@pytest.mark.parametrize("is_packed", [True, False])
def test_launches_are_counted_by_part(name: str, is_packed: bool) -> None:
    vocabulary = tiny_vocabulary()
    model = Model(make_network(name, vocabulary), vocabulary, None)
    watched, total, _ = watched_search(
        model, [["a", "b"], ["c"]], WordSync(**TINY), is_packed=is_packed, counts=True
    )
    parts = {each: watched.launches[each] for each in (*PER_STEP, *PER_TOKEN)}
    assert all(parts[each] > 0 for each in parts if is_packed or each != "word_bound")
    assert sum(parts.values()) < total
    assert watched.calls["settle"] == 3


# ----------------------------------------------------------------------------
# Errors of searches and their costs: the numbers, and the tables that show them.


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


@pytest.mark.slow
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


@pytest.mark.slow
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


# ----------------------------------------------------------------------------
# The kill campaign: its short version, and that it notices what went wrong.


# A job that goes on where it was killed, one line at a time.
_JOB = """
import sys, time
from pathlib import Path
place = Path(sys.argv[1])
place.parent.mkdir(exist_ok=True)
for number in range(10):
    lines = place.read_text().splitlines() if place.exists() else []
    if str(number) not in lines:
        new = place.parent / ".new.part"
        new.write_text("".join(line + chr(10) for line in [*lines, str(number)]))
        new.rename(place)
    time.sleep(0.03)
"""


def test_the_stages_are_those_promised() -> None:
    names = [stage.name for stage in STAGES]
    assert names == ["preparation", "training", "steps", "surprisal", "suite", "report", "sweep"]


@pytest.mark.slow
def test_a_job_that_goes_on_is_equal(tmp_path: Path) -> None:
    def command(_common: Path, folder: Path) -> list[str]:
        return [sys.executable, "-c", _JOB, str(folder / "out" / "lines.txt")]

    outcome = knock(Stage("lines", command, ("out",)), 3, seed=1, work=tmp_path, say=lambda _: None)
    assert outcome.is_good and outcome.kills == outcome.restarts == 3
    assert outcome.compared == 1 and outcome.left_out == []


@pytest.mark.slow
def test_differences_and_leftovers_are_found(tmp_path: Path) -> None:
    """A job that cannot go on writes something else after a kill."""
    program = (
        "import sys, time; from pathlib import Path\n"
        "place = Path(sys.argv[1]); place.mkdir(exist_ok=True)\n"
        "seen = (place / '.seen').exists(); (place / '.seen').touch()\n"
        "time.sleep(0.5)\n"
        "(place / 'out.txt').write_text('again' if seen else 'first')\n"
        "if seen: (place / '.out.txt.part').touch()\n"
    )

    def command(_common: Path, folder: Path) -> list[str]:
        return [sys.executable, "-c", program, str(folder / "out")]

    outcome = knock(Stage("bad", command, ("out",)), 2, seed=1, work=tmp_path, say=lambda _: None)
    assert not outcome.is_good and outcome.equal < outcome.rounds
    assert set(outcome.different) == {"out/out.txt"}
    assert "out/.out.txt.part" in outcome.leftovers


def test_times_are_not_compared(tmp_path: Path) -> None:
    for folder, value in (("a", 1), ("b", 2)):
        (tmp_path / folder / "run").mkdir(parents=True)
        place = tmp_path / folder / "run"
        (place / "result.json").write_text(f'{{"loss": 3, "seconds": {value}}}', encoding="utf-8")
        (place / "metrics.csv").write_text(f"epoch,seconds\n0,{value}\n", encoding="utf-8")
        (place / "train.log").write_text(str(random.random()), encoding="utf-8")
    one, other = (contents(tmp_path / folder, ("run",)) for folder in "ab")
    assert one == other and set(one) == {"run/result.json", "run/metrics.csv"}
    assert leftovers(tmp_path) == []
