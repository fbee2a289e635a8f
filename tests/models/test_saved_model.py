"""Models of run folders: complete in themselves, verified, and harmless to load."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from gardenpath.errors import InputError, RunError
from gardenpath.models.families import FAMILIES
from gardenpath.models.saved_model import load_model, load_subwords, load_vocabulary
from gardenpath.models.sequential.sequential_scorer import SequentialScorer
from gardenpath.models.weights import load_weights, save_weights
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.small_runs import NEURAL

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


def _change(folder: RunFolder, change: Mapping[str, Any]) -> None:
    """Replace parts of the model's settings in the configuration."""
    config = folder.config()
    config["model"].update(change)
    (folder.path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")


def _without_manifest(folder: RunFolder) -> RunFolder:
    """A run of format 1 has no checksums, so damage must be found in other ways."""
    (folder.path / "manifest.json").unlink()
    return folder


@pytest.mark.parametrize("model", MODELS)
def test_a_run_loads_without_corpus_and_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    run = small_runs.run(tmp_path / "here", f"model={model}", *MODELS[model])
    expected = SequentialScorer.load(run).word_log_probs(SENTENCES)
    shutil.move(run.path, tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    moved = RunFolder(tmp_path / "elsewhere")
    found = SequentialScorer.load(moved).word_log_probs(SENTENCES)
    for before, after in zip(expected, found, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("model", MODELS)
def test_a_run_holds_what_the_documentation_lists(trained: Path, model: str) -> None:
    folder = _folder(trained, model)
    names = {path.name for path in folder.path.iterdir()}
    always = {
        "config.yaml", "vocabulary.json", "versions.txt", "weights.safetensors", "result.json",
        "train.log", "gardenpath.json", "manifest.json", ".lock",
    }  # fmt: skip
    neural = {"metrics.csv", "checkpoints"} if FAMILIES[model].is_neural else set()
    assert names == always | neural
    said = (folder.path / "versions.txt").read_text(encoding="utf-8")
    assert said.startswith("Gardenpath ") and " torch " in said


def test_the_configuration_is_whole_and_resolved(trained: Path) -> None:
    config = _folder(trained, "lstm").config()
    assert config["seed"] == 1
    assert config["format"] == 2
    assert config["model"]["size"] == "tiny" and "size" not in config["model"]["network"]
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
    network = load_model(_folder(trained, "lstm"))
    assert isinstance(network, torch.nn.Module)
    assert not any(module.training for module in network.modules())


@pytest.mark.parametrize("family", ["recurrent", None, ["lstm"], "os.system"])
def test_an_unknown_family_is_refused(copied: Path, family: object) -> None:
    folder = _folder(copied, "lstm")
    _change(folder, {"family": family})
    with pytest.raises(RunError, match="no known model family") as caught:
        load_model(folder)
    assert "config.yaml" in str(caught.value) and "lstm" in str(caught.value)


@pytest.mark.parametrize("place", ["model", "network", "top"])
def test_nothing_named_in_a_configuration_is_run(copied: Path, place: str) -> None:
    """A configuration from elsewhere can name a program, but not start it."""
    folder = _folder(copied, "lstm")
    trap = copied / "trap"
    poison = {"_target_": "pathlib.Path.touch", "_args_": [str(trap)]}
    if place == "network":
        _change(folder, {"network": {**folder.config()["model"]["network"], **poison}})
    elif place == "model":
        _change(folder, poison)
    else:
        text = yaml.safe_dump({**folder.config(), **poison})
        folder.config_path.write_text(text, encoding="utf-8")
    assert "_target_" in folder.config_path.read_text(encoding="utf-8")
    load_model(folder)
    assert not trap.exists()


def test_python_objects_in_a_configuration_are_refused(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    trap = copied / "trap"
    text = f'model: !!python/object/apply:os.mkdir ["{trap}"]\n'
    (folder.path / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RunError, match="not a run folder"):
        load_model(folder)
    assert not trap.exists()


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "just text\n"])
def test_a_configuration_that_is_none_is_refused(copied: Path, content: str) -> None:
    folder = _folder(copied, "lstm")
    (folder.path / "config.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(RunError, match="not a configuration"):
        load_model(folder)


def test_settings_of_another_network_are_refused(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    _change(folder, {"network": {"heads": 4, "layers": "two"}})
    with pytest.raises(RunError, match="heads is not a setting") as caught:
        load_model(folder)
    assert "layers=two" in str(caught.value)


def test_weights_of_another_shape_are_named(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    _change(folder, {"size": "small"})
    with pytest.raises(RunError, match="do not fit") as caught:
        load_model(folder)
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
        load_model(folder)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kept", [0, 4, 0.5, 0.999])
def test_truncated_weights_are_named(copied: Path, model: str, kept: float) -> None:
    folder = _without_manifest(_folder(copied, model))
    content = folder.weights_path.read_bytes()
    folder.weights_path.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    with pytest.raises(RunError, match="cannot be read") as caught:
        load_model(folder)
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
        load_model(folder)
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


def test_a_run_of_format_1_loads_with_the_same_numbers(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    expected = SequentialScorer.load(folder).word_log_probs(SENTENCES)
    config = folder.config()
    del config["format"]
    config["model"]["network"]["size"] = config["model"]["size"]
    config["demo"] = {"epochs": {"lstm": 4}}
    folder.config_path.write_text(yaml.safe_dump(config), encoding="utf-8")
    for name in ("gardenpath.json", "manifest.json", ".lock"):
        (folder.path / name).unlink()
    found = SequentialScorer.load(folder).word_log_probs(SENTENCES)
    for before, after in zip(expected, found, strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_missing_vocabulary_is_named(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    (folder.path / "vocabulary.json").unlink()
    with pytest.raises(InputError, match=r"vocabulary\.json"):
        load_model(folder)
