"""Pretrained models through suites, statistics and report, beside runs of our own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from transformers import BertConfig, BertForMaskedLM

import gardenpath as gp
from gardenpath.errors import GardenpathError
from gardenpath.eval.surprisal.tables import read_surprisals
from gardenpath.store.manifest import read_side_car
from tests import toy_runs
from tests.adopted import masked_samples, tiny_models
from tests.integration.commands import call

SENTENCE = "the author knows the senator ."


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny random GPT-2, as transformers saves it."""
    folder = tmp_path_factory.mktemp("models") / "tiny-gpt2"
    tokeniser = tiny_models.tokeniser("gpt2")
    tokeniser.save_pretrained(folder)
    tiny_models.model("gpt2", len(tokeniser)).float().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny random BERT."""
    folder = tmp_path_factory.mktemp("models")
    tokeniser = masked_samples.wordpiece()
    config = BertConfig(
        vocab_size=len(tokeniser), pad_token_id=tokeniser.pad_token_id, hidden_size=16,
        num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=200,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(folder)
    tokeniser.save_pretrained(folder)
    return folder


def test_a_study_with_a_pretrained_model_beside_our_own(
    gpt2: Path, folder: Path, tmp_path: Path
) -> None:
    own = toy_runs.run_of(folder, "lstm")
    adopted = gp.adopt("hf", gpt2, run_dir=tmp_path / "run", name="tiny-gpt2")
    suites = gp.suites("reflexives")[:2]
    results = gp.evaluate([adopted, own], suites, items=12, allow_unknown=True)
    assert set(results.summary["model"]) == {"tiny-gpt2", "lstm"}
    assert not results.surprisals["surprisal_bits"].isna().any()
    report = results.report(tmp_path / "results")
    assert "tiny-gpt2" in report.read_text(encoding="utf-8")
    tables = pd.read_csv(tmp_path / "results" / "items.csv")
    found = tables.groupby("model")["boundary"].first().fillna("").to_dict()
    assert found == {"tiny-gpt2": "next", "lstm": ""}
    summary = pd.read_csv(tmp_path / "results" / "summary.csv")
    assert set(summary[summary["model"] == "tiny-gpt2"]["boundary"]) == {"next"}
    about = json.loads((tmp_path / "results" / "manifest.json").read_text("utf-8"))["about"]
    assert about["boundary"] == {str(tmp_path / "run"): "next"}


def test_mandarin_through_the_characters(gpt2: Path) -> None:
    """Words without blanks between them are differences of prefixes of the text."""
    run = gp.load(f"hf:{gpt2}")
    (scores,) = run.word_log_probs([["他", "喜欢", "猫"]])
    prefixes = run.prefix_log_probs("他喜欢猫", [0, 1, 3])
    np.testing.assert_allclose(scores[:2], np.diff(prefixes.log_probs), atol=1e-4)
    suite = gp.suites("mandarin/classifier_noun*")[0]
    results = gp.evaluate(run, suite, items=2)
    assert len(results.items) == 8


def test_the_commands(gpt2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text(f"{SENTENCE}\n", encoding="utf-8")
    assert call("evaluate.py", "task=adopt", "model=hf", f"name={gpt2}") == 0
    for run in ("runs/adopted/tiny-gpt2", f"hf:{gpt2}"):
        assert call("evaluate.py", "task=surprisal", f"run={run}", "input=in.txt") == 0
        rows, header = read_surprisals(Path("results/surprisal.tsv"))
        assert header.runs[0].boundary == "next" and len(rows) == 7
    arguments = ("task=surprisal", f"run=hf:{gpt2}", "input=in.txt", "boundary=none")
    assert call("evaluate.py", *arguments) == 0
    plain, header = read_surprisals(Path("results/surprisal.tsv"))
    assert header.runs[0].boundary == "none"
    assert plain[1].surprisal_bits != rows[1].surprisal_bits


def test_different_boundaries_are_not_mixed(gpt2: Path, tmp_path: Path) -> None:
    first = gp.adopt("hf", gpt2, run_dir=tmp_path / "a", name="a")
    gp.adopt("hf", gpt2, run_dir=tmp_path / "b", name="b")
    other = gp.load(tmp_path / "b", boundary="none")
    with pytest.raises(GardenpathError, match="cannot be compared"):
        gp.evaluate([first, other], gp.suites("reflexives")[:1], items=1)
    assert first.model_key != other.model_key


def test_masked_models_have_no_surprisals(
    bert: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = gp.adopt("masked", bert, run_dir=tmp_path / "bert", name="bert")
    frame = run.surprisal(SENTENCE, allow_unknown=True)
    assert "surprisal_bits" not in frame.columns and frame["pll_bits"].notna().sum() == 6
    own = toy_runs.run_of(folder, "lstm")
    with pytest.raises(GardenpathError, match="there is no perplexity"):
        run.perplexity(data=own.data)
    results = gp.evaluate([run, own], gp.suites("toy_english"), items=2, allow_unknown=True)
    words = results.surprisals
    assert words[words["model"] == "bert"]["surprisal_bits"].isna().all()
    assert words[words["model"] == "lstm"]["pll_bits"].isna().all()
    assert any("pseudo-log-likelihoods" in note for note in results.notes)
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text(f"{SENTENCE}\n", encoding="utf-8")
    arguments = ("task=surprisal", "input=in.txt", "task.allow_unknown=true")
    assert call("evaluate.py", *arguments, "run=bert") == 0
    table = Path("results/surprisal.tsv")
    assert "\tpll_bits\n" in table.read_text(encoding="utf-8")
    assert read_side_car(table)["measure"] == "pll"
    assert call("evaluate.py", *arguments, f"run=bert,{own.path}") == 2
