"""Adopted models and runs over pieces of words, from the commands to tables and reports."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from transformers import BertConfig, BertForMaskedLM

import gardenpath as gp
from benchmarks import word_sums
from gardenpath.errors import GardenpathError, RunError
from gardenpath.eval.surprisal.tables import read_surprisals
from gardenpath.runs.adopting import adopt
from gardenpath.runs.run import Run
from gardenpath.store.manifest import read_side_car
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.util import NATS_PER_LOG10
from tests import toy_runs
from tests.adopted import masked_samples, tiny_models
from tests.adopted.word_models import make_model, save, step_by_step, write_vocabulary
from tests.integration.commands import call, toy
from tests.models.ngram.random_arpa import random_arpa

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


# ----------------------------------------------------------------------------
# Adopted ARPA files and word-level LSTMs are runs: with tables, a store and errors that help.


WORDS = (("the", "cat", "sees", "dogs"), ("the", "cat"), ("The", "zebra", "."))


def _model(folder: Path) -> Path:
    write_vocabulary(folder / "vocab.txt")
    return save(make_model(1), folder / "lstm.pt")


@pytest.mark.parametrize("state", ["eos", "fresh", "carry"])
def test_a_word_level_lstm_is_a_run(state: str, tmp_path: Path) -> None:
    path = _model(tmp_path)
    run = adopt("grnn", path, run_dir=tmp_path / "run", state=state)
    path.unlink()
    (tmp_path / "vocab.txt").unlink()
    expected = step_by_step(make_model(1), WORDS, state)
    for _ in range(2):  # computed, and from the store
        found = Run(run.path, store=SurprisalStore(tmp_path / "store.sqlite")).scored(WORDS)
        for words, scores in zip(WORDS, expected, strict=True):
            np.testing.assert_allclose(found[words].log_probs, scores, atol=2e-6)
    assert (tmp_path / "store.sqlite").exists() == (state != "carry")
    assert (run.knows("cat"), run.knows("zebra")) == (True, False)
    assert run.model.seen_as(("the", "zebra")) == ("the", "<unk>")
    assert run.is_adopted
    assert run.boundary is None and run.model.is_order_dependent == (state == "carry")


def test_settings_that_change_numbers_have_other_keys(tmp_path: Path) -> None:
    path = _model(tmp_path)
    keys = {
        adopt("grnn", path, run_dir=tmp_path / name, state=state).model_key
        for name, state in {"a": "eos", "b": "fresh", "c": "carry", "d": "eos"}.items()
    }
    assert len(keys) == 3


def test_a_repeated_sentence_has_no_single_score_in_a_text(tmp_path: Path) -> None:
    run = adopt("grnn", _model(tmp_path), run_dir=tmp_path / "run", state="carry")
    with pytest.raises(GardenpathError, match="occurs twice"):
        run.scored([("the",), ("the",)])


def test_an_arpa_file_is_a_run(tmp_path: Path) -> None:
    arpa = random_arpa(1, order=3)
    (tmp_path / "news.arpa").write_text(arpa.text, encoding="utf-8")
    run = adopt("arpa", tmp_path / "news.arpa", run_dir=tmp_path / "run")
    assert run.name.model == "news"
    words = ("the", "cat", "狗")
    text = ("<s>", *words, "</s>")
    expected = [arpa.log10_prob(text[n], text[:n]) * NATS_PER_LOG10 for n in range(1, len(text))]
    found = Run(run.path, store=SurprisalStore(tmp_path / "store.sqlite")).scored([words])
    np.testing.assert_allclose(found[words].log_probs, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["weights.safetensors", "words.json"])
def test_damage_is_noticed(name: str, tmp_path: Path) -> None:
    run = adopt("grnn", _model(tmp_path), run_dir=tmp_path / "run")
    content = bytearray((run.path / name).read_bytes())
    content[-3] ^= 1
    (run.path / name).write_bytes(bytes(content))
    with pytest.raises(GardenpathError, match=name):
        Run(run.path).verify()


def test_a_file_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"\x80\x02cos\nsystem\n(X\x01\x00\x00\x00ltR.")
    with pytest.raises(GardenpathError, match=r"model\.pt.*os\.system"):
        adopt("grnn", tmp_path / "model.pt", run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


# ----------------------------------------------------------------------------
# A run over pieces of words, from training to tables: its words are probabilities.


PIECES = ("data.subwords.algorithm=bpe", "data.subwords.pieces=100")
SMALL = ("trainer=cpu", "trainer.max_epochs=1", "model.network.layers=1", "model.network.hidden=8")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of an n-gram model and of an RNNG."""
    folder = tmp_path_factory.mktemp("pieces")
    gp.train(*toy(folder, "model=ngram", *PIECES))
    gp.train(*toy(folder, "model=rnng", *PIECES, *SMALL))
    return folder / "runs" / "toy_english"


def test_sums_over_the_words_of_the_grammar(
    pieces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word_sums.main([str(pieces / "ngram" / "seed1")])
    header, line = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["run", "prefix", "words", "none", "next"]
    *_, count, plain, corrected = line.split("\t")
    assert int(count) == 348
    assert 0.5 < float(corrected) <= 1.0
    assert float(plain) != float(corrected)


def test_the_choice_is_in_keys_and_headers(
    pieces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pieces / "ngram" / "seed1"
    runs = {choice: gp.load(path, boundary=choice) for choice in ("next", "none", "leading")}
    assert len({run.model_key for run in runs.values()}) == 3
    assert gp.load(path).model_key == runs["next"].model_key
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("the author knows the senator .\n", encoding="utf-8")
    for choice in ("next", "none"):
        arguments = ("task=surprisal", f"run={path}", "input=in.txt", f"boundary={choice}")
        assert call("evaluate.py", *arguments) == 0
        _, header = read_surprisals(Path("results/surprisal.tsv"))
        assert header.runs[0].boundary == choice


def test_suites_name_the_choice(pieces: Path, tmp_path: Path) -> None:
    results = gp.evaluate(gp.load(pieces / "ngram" / "seed1"), gp.suites("toy_english"), items=2)
    assert set(results.items["boundary"]) == {"next"}
    folder = results.write(tmp_path / "results")
    assert "boundary" in (folder / "summary.csv").read_text("utf-8").splitlines()[0].split(",")


def test_a_search_over_pieces(pieces: Path) -> None:
    path = pieces / "rnng" / "seed1"
    search = gp.WordSync(action_beam=20, word_beam=5)
    run = gp.load(path, search=search)
    assert run.boundary == "next"
    sentence = ["the", "author", "knows", "the", "senator", "."]
    corrected = run.word_log_probs([sentence])[0]
    plain = gp.load(path, search=search, boundary="none").word_log_probs([sentence])[0]
    # Words and end add up to the sentence, whatever the choice.
    assert corrected.sum() == pytest.approx(plain.sum(), abs=1e-4)
    assert not math.isclose(corrected[1], plain[1], abs_tol=1e-3)
    assert run.parse(" ".join(sentence))
    with pytest.raises(RunError, match="boundary=leading is not defined"):
        gp.load(path, boundary="leading").word_log_probs([sentence])
