"""Runs: trained models as one asks them."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from gardenpath.errors import RunError
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.settings import Unbiased, WordSync
from gardenpath.models.sequential.scorer import SequentialScorer
from gardenpath.runs.find import find, load
from gardenpath.runs.run import Run
from gardenpath.util import Words
from tests.toy_runs import run_of

MODELS = ("ngram", "lstm", "rnng", "plm")
OLD, NEW = ("the", "boys", "knew", "."), ("the", "man", "knew", ".")


def test_all_finished_runs_below_a_folder(folder: Path) -> None:
    runs = find(folder / "runs")
    assert [run.name.model for run in runs] == ["lstm", "ngram", "plm", "rnng"]
    (one,) = find(run_of(folder, "plm").path)
    assert (one.name.model, one.name.corpus, one.name.seed) == ("plm", "toy_english", 1)
    assert one.name.run == str(one.path) and one.language == "en"


def test_no_runs_at_all(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no finished runs .* 'python train.py'"):
        find(tmp_path)


def test_an_unfinished_run_is_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("done", "begun"):
        shutil.copytree(run_of(folder, "ngram").path, tmp_path / name)
    (tmp_path / "begun" / "result.json").unlink()
    (found,) = find(tmp_path)
    assert found.path.name == "done"


def test_what_a_run_knows_of_itself(folder: Path) -> None:
    run = run_of(folder, "rnng")
    assert run.settings.data.name == "toy_english" and run.settings.seed == 1
    assert run.metrics == run.folder.result() and set(run.metrics) == {"valid", "test"}
    assert run.is_syntactic and run.strategy == "top_down"
    assert not run_of(folder, "lstm").is_syntactic
    assert run.knows("boys") and not run.knows("zebras")
    assert repr(run) == f"Run({str(run.path)!r})"
    network = run.network()
    assert not any(module.training for module in network.modules())


def test_unigram_probabilities_are_those_of_training_plus_one(folder: Path) -> None:
    run = run_of(folder, "ngram")
    assert run.unigram_log_prob is not None
    counts = dict(zip(run.vocabulary.tokens, run.vocabulary.counts, strict=True))
    total = sum(counts.values()) + len(counts)
    assert run.unigram_log_prob("the") == pytest.approx(math.log((counts["the"] + 1) / total))
    assert run.unigram_log_prob("zebras") == pytest.approx(math.log(1 / total))
    assert sum(math.exp(run.unigram_log_prob(word)) for word in counts) == pytest.approx(1.0)


def test_syntactic_models_are_searched(folder: Path) -> None:
    kinds = {model: type(run_of(folder, model).scorer()) for model in MODELS}
    assert kinds == {
        "ngram": SequentialScorer,
        "lstm": SequentialScorer,
        "rnng": StructuredScorer,
        "plm": StructuredScorer,
    }


def test_the_search_of_the_run_is_used_unless_another_is_given(folder: Path) -> None:
    path = run_of(folder, "rnng").path
    chosen = Unbiased(action_beam=7)
    scorer = Run(path, device="cpu", search=chosen).scorer()
    assert isinstance(scorer, StructuredScorer) and scorer.settings == chosen
    other = WordSync(action_beam=5, word_beam=2)
    again = Run(path, device="cpu", search=chosen).scorer(search=other)
    assert isinstance(again, StructuredScorer) and again.settings == other
    usual = Run(path, device="cpu").scorer()
    assert isinstance(usual, StructuredScorer) and usual.settings == WordSync()


def test_devices(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run_of(folder, "ngram").path
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert Run(path).device == torch.device("cuda")
    assert Run(path, device="cpu").device == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert Run(path).device == torch.device("cpu")


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Run:
    """A copy of the LSTM, to be changed."""
    path = tmp_path / "copy"
    shutil.copytree(run_of(folder, "lstm").path, path)
    return Run(path, device="cpu")


def _change(run: Run, model: Mapping[str, Any], **top: Any) -> Run:
    """Replace parts of the settings in the configuration, as an editor would."""
    config = run.folder.config()
    config["model"].update(model)
    config.update(top)
    run.folder.config_path.write_text(yaml.safe_dump(config), encoding="utf-8")
    (run.path / "manifest.json").unlink(missing_ok=True)
    return Run(run.path, device="cpu")


@pytest.mark.parametrize("family", ["recurrent", None, ["lstm"], "os.system"])
def test_an_unknown_family_is_refused(copied: Run, family: object) -> None:
    changed = _change(copied, {"family": family})
    with pytest.raises(RunError, match=r"model\.family=.*lstm") as caught:
        changed.network()
    assert "config.yaml" in str(caught.value) and "train again" in str(caught.value)


@pytest.mark.parametrize("place", ["model", "network", "top"])
def test_nothing_named_in_a_configuration_is_run(copied: Run, place: str) -> None:
    """A configuration from elsewhere can name a program, but not start it."""
    trap = copied.path.parent / "trap"
    poison = {"_target_": "pathlib.Path.touch", "_args_": [str(trap)]}
    network = copied.folder.config()["model"]["network"]
    if place == "network":
        changed = _change(copied, {"network": {**network, **poison}})
    elif place == "model":
        changed = _change(copied, poison)
    else:
        changed = _change(copied, {}, **poison)
    assert "_target_" in changed.folder.config_path.read_text(encoding="utf-8")
    changed.word_log_probs([OLD])
    assert not trap.exists()


def test_python_objects_in_a_configuration_are_refused(copied: Run) -> None:
    trap = copied.path.parent / "trap"
    text = f'model: !!python/object/apply:os.mkdir ["{trap}"]\n'
    copied.folder.config_path.write_text(text, encoding="utf-8")
    (copied.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="not a run folder"):
        copied.network()
    assert not trap.exists()


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "just text\n"])
def test_a_configuration_that_is_none_is_refused(copied: Run, content: str) -> None:
    copied.folder.config_path.write_text(content, encoding="utf-8")
    (copied.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="not a configuration"):
        copied.network()


def test_settings_of_another_network_are_refused(copied: Run) -> None:
    changed = _change(copied, {"network": {"heads": 4, "layers": "two"}})
    with pytest.raises(RunError, match="heads is not a setting") as caught:
        changed.network()
    assert "layers=two" in str(caught.value)


def test_a_run_that_was_made_on_another_machine_loads(
    copied: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this machine lacks (a GPU, a logger) was needed for training only."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    trainer = {**copied.folder.config()["trainer"], "accelerator": "gpu", "devices": 4}
    expected = copied.word_log_probs([OLD])
    changed = _change(copied, {}, trainer=trainer, logger={"kind": "wandb"})
    loaded = load(changed.path)
    assert loaded.settings.trainer.accelerator == "gpu"
    np.testing.assert_array_equal(loaded.word_log_probs([OLD]), expected)


@pytest.mark.parametrize("model", MODELS)
def test_scores_are_those_of_the_model_and_the_same_through_the_store(
    folder: Path, tmp_path: Path, model: str
) -> None:
    sentences = [OLD, NEW, OLD]
    direct = run_of(folder, model).scorer().word_log_probs(sentences)
    kept = tmp_path / "kept.sqlite"
    for run in (
        run_of(folder, model),
        run_of(folder, model, store=kept),
        run_of(folder, model, store=kept),
    ):
        for found, expected in zip(run.word_log_probs(sentences), direct, strict=True):
            assert len(found) == 5
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    first, again = (run_of(folder, model, store=kept).scored(sentences) for _ in range(2))
    assert first == again


def test_only_new_sentences_are_computed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Words] = []
    real = SequentialScorer.word_log_probs

    def note(self: SequentialScorer, sentences: Sequence[Words]) -> object:
        asked.extend(sentences)
        return real(self, sentences)

    monkeypatch.setattr(SequentialScorer, "word_log_probs", note)
    kept = tmp_path / "kept.sqlite"
    run_of(folder, "ngram", store=kept).scored([OLD])
    found = run_of(folder, "ngram", store=kept).scored([OLD, NEW], parsed=[OLD, NEW])
    assert asked == [OLD, NEW]
    assert list(found) == [OLD, NEW]
    assert all(one.parses is None for one in found.values()), "n-grams have no parses"


def test_what_is_stored_needs_no_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.sqlite"
    expected = run_of(folder, "rnng", store=kept).scored([OLD, NEW], parsed=[OLD])

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(Run, "network", refuse)
    run = run_of(folder, "rnng", store=kept)
    assert run.scored([NEW, OLD], parsed=[OLD]) == {
        NEW: expected[NEW], OLD: expected[OLD],
    }  # fmt: skip
    with pytest.raises(AssertionError, match="a model was loaded"):
        run.scored([OLD, NEW], parsed=[NEW])


def test_parses_are_kept_for_the_sentences_that_are_asked_for(folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, "rnng", store=tmp_path / "kept.sqlite")
    found = run.scored([OLD, NEW], parsed=[OLD])
    assert found[NEW].parses is None
    parses = found[OLD].parses
    assert parses is not None and len(parses) >= 4
    for best in parses[:4]:
        assert 1 <= len(best) <= 3 and sum(share for share, _ in best) <= 1 + 1e-6


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("chunk", [1, 100])
def test_every_word_is_reported_once(folder: Path, tmp_path: Path, model: str, chunk: int) -> None:
    run = run_of(folder, model, store=tmp_path / "kept.sqlite")
    words: list[int] = []
    run.scored([OLD], on_words=words.append, chunk=chunk)
    assert sum(words) == 4
    words.clear()
    run.scored([OLD, NEW], on_words=words.append, chunk=chunk)
    assert sum(words) == 8
    words.clear()
    run.scored([OLD, NEW], on_words=words.append, chunk=chunk)
    assert sum(words) == 8
