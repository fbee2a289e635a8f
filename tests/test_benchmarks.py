"""The benchmarks run, and what they compare is the same computation."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks import pretrained, processes, scale, training, vocabulary
from benchmarks import search as search_benchmark
from benchmarks.copying_rnng import copied_stacks
from benchmarks.launches import PER_STEP, PER_TOKEN, watched_search
from benchmarks.memory import in_own_process, peak_gb
from benchmarks.peer_search import PeerSearch
from benchmarks.recomputing_plm import recomputed_prefixes
from benchmarks.search_variant import Model, Variant, measure, operations_per_word, spread, texts
from gardenpath.adopted.families import HfSettings
from gardenpath.adopted.hf import CausalScorer
from gardenpath.eval.search.settings import WordSync
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from tests.integration.searching import log_probs, make_network, search, tiny_vocabulary
from tests.no_skips import NEEDS_PROC

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


@pytest.mark.parametrize("schedule", training.SCHEDULES)
def test_a_schedule_is_measured(schedule: training.Schedule) -> None:
    found = training.measure(training.Task(schedule=schedule, corpus="toy", batch=2, steps=2))
    assert found["sentences"] > 0
    assert found["launches"] > 0
    assert 0 < found["products"] < 1
    assert ("planning" in found) == (schedule == "by level")


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
