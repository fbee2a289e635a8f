"""Models of run folders: complete in themselves, verified, and harmless to load."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from gardenpath.errors import DamagedRunError, RunError
from gardenpath.models.family import NeuralFamily
from gardenpath.models.ngram.model import NgramModel
from gardenpath.models.output import FactoredToken
from gardenpath.models.registry import FAMILIES, load_model, load_subwords, load_vocabulary
from gardenpath.models.weights import load_weights, save_weights
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.small_runs import NEURAL, loaded

MODELS = {
    "unigram": (),
    "ngram": (),
    "lstm": (*NEURAL, "trainer.max_epochs=1"),
    "transformer": (*NEURAL, "trainer.max_epochs=1"),
}

SENTENCES = [["the", "cat", "sleeps"], ["an", "unheard-of", "dog"]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of each model."""
    folder = tmp_path_factory.mktemp("runs")
    for model, overrides in MODELS.items():
        small_runs.run(folder, f"model={model}", *overrides)
    return folder / "runs" / "text"


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    """Copies of the runs, to be damaged."""
    shutil.copytree(trained, tmp_path / "copies")
    return tmp_path / "copies"


def _folder(runs: Path, model: str) -> RunFolder:
    return RunFolder(runs / model / "seed1")


def _model(folder: RunFolder) -> torch.nn.Module | NgramModel:
    """The model of a run folder, built from what the folder holds."""
    return load_model(folder, loaded(folder).settings.model, load_vocabulary(folder))


def _without_manifest(folder: RunFolder) -> RunFolder:
    """A run of format 1 has no checksums, so damage must be found in other ways."""
    (folder.path / "manifest.json").unlink()
    return folder


@pytest.mark.parametrize("model", MODELS)
def test_a_run_loads_without_corpus_and_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    run = small_runs.run(tmp_path / "here", f"model={model}", *MODELS[model])
    expected = loaded(run).word_log_probs(SENTENCES)
    shutil.move(run.path, tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    moved = RunFolder(tmp_path / "elsewhere")
    found = loaded(moved).word_log_probs(SENTENCES)
    for before, after in zip(expected, found, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("model", ["lstm", "transformer"])
def test_classes_of_words_are_part_of_the_weights(tmp_path: Path, model: str) -> None:
    """They were learned from the corpus, which is not there any more."""
    factored = "model.network.output=factored"
    run = small_runs.run(tmp_path / "here", f"model={model}", *MODELS[model], factored)
    expected = loaded(run).word_log_probs(SENTENCES)
    shutil.move(run.path, tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    moved = loaded(RunFolder(tmp_path / "elsewhere"))
    for before, after in zip(expected, moved.word_log_probs(SENTENCES), strict=True):
        np.testing.assert_array_equal(before, after)
    output = moved.network().output
    stored = load_file(tmp_path / "elsewhere" / "weights.safetensors")["output.word_class"]
    assert torch.equal(output.word_class, stored)
    by_frequency = FactoredToken(hidden=2, vocabulary_size=len(moved.vocabulary))
    assert not torch.equal(stored, by_frequency.word_class)


@pytest.mark.parametrize("model", MODELS)
def test_a_run_holds_what_the_documentation_lists(trained: Path, model: str) -> None:
    folder = _folder(trained, model)
    names = {path.name for path in folder.path.iterdir()}
    always = {
        "config.yaml", "vocabulary.json", "versions.txt", "weights.safetensors", "result.json",
        "gardenpath.json", "manifest.json", ".lock",
    }  # fmt: skip
    neural = {"metrics.csv", "checkpoints", "train.log"}
    assert names == (always | neural if isinstance(FAMILIES[model], NeuralFamily) else always)
    said = (folder.path / "versions.txt").read_text(encoding="utf-8")
    assert said.startswith("Gardenpath ") and " torch " in said


def test_the_configuration_is_whole_and_resolved(trained: Path) -> None:
    config = _folder(trained, "lstm").config()
    assert config["seed"] == 1
    assert config["format"] == 2
    assert config["model"]["network"]["size"] == "tiny" and "size" not in config["model"]
    assert config["data"]["reader"]["root"] == config["data"]["root"]
    assert "${" not in (_folder(trained, "lstm").path / "config.yaml").read_text(encoding="utf-8")


def test_the_vocabulary_is_identified_by_its_hash(trained: Path) -> None:
    hashes = {load_vocabulary(_folder(trained, model)).content_hash for model in MODELS}
    assert len(hashes) == 1


def test_checkpoints_load_without_running_code(trained: Path) -> None:
    for model in ("lstm", "transformer"):
        content = torch.load(_folder(trained, model).checkpoint_path, weights_only=True)
        assert content["global_step"] > 0


def test_models_are_loaded_in_evaluation_mode(trained: Path) -> None:
    network = _model(_folder(trained, "lstm"))
    assert isinstance(network, torch.nn.Module)
    assert not any(module.training for module in network.modules())


def test_weights_of_another_shape_are_named(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    model = loaded(folder).settings.model
    other = replace(model, network=replace(model.network, size="small"))
    with pytest.raises(RunError, match="do not fit") as caught:
        load_model(folder, other, load_vocabulary(folder))
    assert "embedding.weight" in str(caught.value)


def test_missing_and_superfluous_weights_are_named(tmp_path: Path) -> None:
    network = torch.nn.Linear(2, 2)
    save_weights(network, tmp_path / "w")
    weights = load_file(tmp_path / "w")
    save_file({"weight": weights["weight"], "extra": torch.zeros(1)}, tmp_path / "w")
    with pytest.raises(RunError, match="bias, extra"):
        load_weights(network, tmp_path / "w")


def test_an_ngram_model_over_other_words_is_refused(copied: Path) -> None:
    folder = _without_manifest(_folder(copied, "ngram"))
    path = folder.vocabulary_path
    path.write_text(path.read_text(encoding="utf-8").replace('"cat",', '"cat", "cow",'), "utf-8")
    with pytest.raises(RunError, match=r"vocabulary\.json"):
        _model(folder)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kept", [0, 4, 0.5, 0.999])
def test_truncated_weights_are_named(copied: Path, model: str, kept: float) -> None:
    folder = _without_manifest(_folder(copied, model))
    content = folder.weights_path.read_bytes()
    folder.weights_path.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    with pytest.raises(RunError, match="cannot be read") as caught:
        _model(folder)
    assert str(folder.weights_path) in str(caught.value)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["weights.safetensors", "vocabulary.json"])
def test_a_flipped_bit_is_named(copied: Path, model: str, name: str) -> None:
    folder = _folder(copied, model)
    path = folder.path / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(RunError, match="does not have the checksum") as caught:
        _model(folder)
    assert str(path) in str(caught.value) and "train again" in str(caught.value)


def test_pieces_are_verified(tmp_path: Path) -> None:
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=30")
    folder = small_runs.run(tmp_path, "model=unigram", *pieces)
    found = load_subwords(folder)
    assert found is not None
    assert found.content_hash == load_vocabulary(folder).subword_hash
    content = bytearray(folder.subwords_path.read_bytes())
    content[-1] ^= 1
    folder.subwords_path.write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"subwords\.model: is damaged"):
        load_subwords(folder)


def test_a_missing_vocabulary_is_named(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    (folder.path / "vocabulary.json").unlink()
    with pytest.raises(DamagedRunError, match=r"vocabulary\.json: cannot be read"):
        _model(folder)
