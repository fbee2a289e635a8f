"""Adopted ARPA files and word-level LSTMs are runs: with tables, a store and errors that help."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gardenpath.errors import GardenpathError
from gardenpath.runs.adopting import adopt
from gardenpath.runs.run import Run
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.util import NATS_PER_LOG10
from tests.adopted.word_models import make_model, save, step_by_step, write_vocabulary
from tests.models.ngram.random_arpa import random_arpa

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
