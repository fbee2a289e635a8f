"""The families of models that configurations and run folders may name."""

from __future__ import annotations

import shutil
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.trees.legality import Column
from gardenpath.data.trees.tree import parse_tree
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import ConfigError, DamagedRunError, RunError
from gardenpath.eval.search.protocol import ROOT_NODE, TransitionModel
from gardenpath.eval.search.settings import WordSync
from gardenpath.models.family import (
    ADOPTED,
    FAMILIES,
    MODELS,
    NeuralFamily,
    SyntacticFamily,
    load_model,
    load_subwords,
    load_vocabulary,
)
from gardenpath.models.ngram.model import EstimatedFamily, NgramModel
from gardenpath.models.output import FactoredToken, SequentialNetwork
from gardenpath.models.weights import load_arrays, load_weights, save_arrays, save_weights
from gardenpath.settings.compose import load_settings
from gardenpath.settings.schema import read
from gardenpath.store.run_folder import RunFolder
from gardenpath.util import CONFIG_DIR
from tests import small_runs
from tests.small_runs import NEURAL, loaded
from tests.tree_samples import encode_trees

CHOICES = sorted(p.stem for p in (CONFIG_DIR / "model").glob("[!_]*.yaml"))
TREES = [parse_tree("(S (A a b) c)"), parse_tree("(S c)")]


def test_the_families_and_what_they_are() -> None:
    trained = {"unigram", "ngram", "lstm", "transformer", "rnng", "plm"}
    assert trained == FAMILIES.keys() - ADOPTED.keys()
    assert {"arpa", "grnn"} <= ADOPTED.keys()
    kinds = {
        name: [kind for kind in (EstimatedFamily, NeuralFamily, SyntacticFamily)
               if isinstance(family, kind)]
        for name, family in FAMILIES.items()
    }  # fmt: skip
    assert kinds["unigram"] == kinds["ngram"] == [EstimatedFamily]
    assert kinds["lstm"] == kinds["transformer"] == [NeuralFamily]
    assert kinds["rnng"] == kinds["plm"] == [NeuralFamily, SyntacticFamily]


@pytest.mark.parametrize("name", FAMILIES)
def test_syntactic_families_need_trees_and_others_do_not(name: str) -> None:
    family = FAMILIES[name]
    assert family.needs_trees == isinstance(family, SyntacticFamily)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_settings_of_a_family_name_it(name: str) -> None:
    settings = FAMILIES[name].settings
    assert MODELS[name] is settings and is_dataclass(settings)
    (family,) = [one for one in fields(settings) if one.name == "family"]
    assert family.default == name


def test_every_family_has_a_configuration() -> None:
    trained = [name for name in CHOICES if name not in ADOPTED]
    families = {load_settings("train", [f"model={name}"]).model.family for name in trained}
    assert families == FAMILIES.keys() - ADOPTED.keys()
    assert {name for name in CHOICES if name in ADOPTED} == ADOPTED.keys()
    for name in ADOPTED:
        adopted = load_settings("evaluate", ["task=adopt", f"model={name}", "task.source=x"])
        assert adopted.model is not None and adopted.model.family == name


@pytest.mark.parametrize("name", FAMILIES)
def test_the_settings_of_every_family_are_checked(name: str) -> None:
    content = {"name": "mine", "network": {"nonsense": 1}}
    with pytest.raises(ConfigError, match=r"model\.network\.nonsense is not a setting"):
        read(MODELS[name], content, place="model")


def _encoded() -> tuple[EncodedSplit, Vocabulary]:
    return encode_trees(TREES)


@pytest.mark.parametrize("name", ["lstm", "transformer", "rnng", "plm"])
def test_networks_score_the_batches_of_their_family(name: str) -> None:
    """What a family makes fits together: settings, network and batches."""
    family = FAMILIES[name]
    assert isinstance(family, NeuralFamily)
    settings = load_settings("train", [f"model={name}", "model.size=tiny"]).model
    split, vocabulary = _encoded()
    network = family.build(settings, vocabulary)
    assert isinstance(network, SequentialNetwork) != isinstance(family, SyntacticFamily)
    batch = family.make_collate(settings, split, vocabulary)(np.arange(len(split)))
    with torch.inference_mode():
        loss = network.eval().score(batch).loss()  # type: ignore[operator]
    assert torch.isfinite(loss) and loss > 0


@pytest.mark.parametrize("composition", ["lstm", "attention"])
@pytest.mark.parametrize("strategy", ["top_down", "in_order"])
def test_the_order_of_an_rnng_is_that_of_its_settings(strategy: str, composition: str) -> None:
    overrides = [f"model.network.strategy={strategy}", f"model.network.composition={composition}"]
    settings = load_settings("train", ["model=rnng", "model.size=tiny", *overrides]).model
    family = FAMILIES["rnng"]
    assert isinstance(family, SyntacticFamily)
    assert family.strategy(settings) == strategy
    split, vocabulary = _encoded()
    network = family.build(settings, vocabulary).eval()
    batch = family.make_collate(settings, split, vocabulary)(np.arange(len(split)))
    with torch.inference_mode():
        assert torch.isfinite(network.score(batch).loss())  # type: ignore[operator]


@pytest.mark.parametrize(
    "choices",
    [
        ["model=lstm"],
        ["model=transformer"],
        ["model=plm"],
        ["model=plm_mask"],
        *(
            [f"model={name}", "model.network.output=factored"]
            for name in ("lstm", "transformer", "rnng", "plm", "plm_mask")
        ),
        ["model=rnng", "model.network.output=factored", "model.network.tied=false"],
        *(
            ["model=rnng", f"model.network.composition={composition}",
             f"model.network.strategy={strategy}", f"model.network.tied={tied}"]
            for composition in ("lstm", "attention")
            for strategy in ("top_down", "in_order")
            for tied in ("true", "false")
        ),
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_weight_is_used_for_every_sentence(choices: list[str]) -> None:
    """Distributed training waits for the gradients of all weights, in all processes."""
    settings = load_settings("train", [*choices, "model.size=tiny"]).model
    family = FAMILIES[settings.family]
    assert isinstance(family, NeuralFamily)
    split, vocabulary = _encoded()
    network = family.build(settings, vocabulary)
    collate = family.make_collate(settings, split, vocabulary)
    for sentence in range(len(split)):
        network.zero_grad(set_to_none=True)
        network.score(collate(np.array([sentence]))).loss().backward()  # type: ignore[operator]
        assert [name for name, one in network.named_parameters() if one.grad is None] == []


@pytest.mark.parametrize("name", ["rnng", "plm"])
def test_syntactic_networks_can_be_searched(name: str) -> None:
    family = FAMILIES[name]
    assert isinstance(family, SyntacticFamily)
    settings = load_settings("train", [f"model={name}", "model.size=tiny"]).model
    network = family.build(settings, _encoded()[1]).eval()
    searched: TransitionModel = family.as_searched(network, WordSync(), is_packed=True)
    with torch.inference_mode():
        searched.begin()
        found = searched.log_probs(torch.tensor([ROOT_NODE]))
    # At the root no sentence may end and nothing can be closed.
    assert searched.label_count and torch.isfinite(found[0, Column.FIRST_OPEN :]).all()
    assert found[0, Column.CLOSE] == -torch.inf


# ----------------------------------------------------------------------------
# Models of run folders: complete in themselves, verified, and harmless to load.


MODELS_SAVED_MODEL = {
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
    for model, overrides in MODELS_SAVED_MODEL.items():
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
    model: torch.nn.Module | NgramModel = load_model(
        folder, loaded(folder).settings.model, load_vocabulary(folder)
    )
    return model


def _without_manifest(folder: RunFolder) -> RunFolder:
    """Without the checksums, damage must be found in other ways."""
    (folder.path / "manifest.json").unlink()
    return folder


@pytest.mark.parametrize("model", MODELS_SAVED_MODEL)
def test_a_run_loads_without_corpus_and_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    run = small_runs.run(tmp_path / "here", f"model={model}", *MODELS_SAVED_MODEL[model])
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
    run = small_runs.run(tmp_path / "here", f"model={model}", *MODELS_SAVED_MODEL[model], factored)
    expected = loaded(run).word_log_probs(SENTENCES)
    shutil.move(run.path, tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "here")
    moved = loaded(RunFolder(tmp_path / "elsewhere"))
    for before, after in zip(expected, moved.word_log_probs(SENTENCES), strict=True):
        np.testing.assert_array_equal(before, after)
    output = moved.trained.network().output
    stored = load_file(tmp_path / "elsewhere" / "weights.safetensors")["output.word_class"]
    assert torch.equal(output.word_class, stored)
    by_frequency = FactoredToken(hidden=2, vocabulary_size=len(moved.vocabulary))
    assert not torch.equal(stored, by_frequency.word_class)


@pytest.mark.parametrize("model", MODELS_SAVED_MODEL)
def test_a_run_holds_what_the_documentation_lists(trained: Path, model: str) -> None:
    folder = _folder(trained, model)
    names = {path.name for path in folder.path.iterdir()}
    always = {
        "config.yaml", "vocabulary.json", "versions.txt", "weights.safetensors", "result.json",
        "manifest.json", ".lock",
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
    hashes = {load_vocabulary(_folder(trained, model)).content_hash for model in MODELS_SAVED_MODEL}
    assert len(hashes) == 1


def test_checkpoints_load_without_running_code(trained: Path) -> None:
    for model in ("lstm", "transformer"):
        content = torch.load(_folder(trained, model) / "checkpoints/last.ckpt", weights_only=True)
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
    weights = load_arrays(tmp_path / "w")
    save_arrays({"weight": weights["weight"], "extra": np.zeros(1)}, tmp_path / "w")
    with pytest.raises(RunError, match="bias, extra"):
        load_weights(network, tmp_path / "w")


def test_an_ngram_model_over_other_words_is_refused(copied: Path) -> None:
    folder = _without_manifest(_folder(copied, "ngram"))
    path = folder / "vocabulary.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"cat",', '"cat", "cow",'), "utf-8")
    with pytest.raises(RunError, match=r"vocabulary\.json"):
        _model(folder)


@pytest.mark.parametrize("model", MODELS_SAVED_MODEL)
@pytest.mark.parametrize("kept", [0, 4, 0.5, 0.999])
def test_truncated_weights_are_named(copied: Path, model: str, kept: float) -> None:
    folder = _without_manifest(_folder(copied, model))
    content = (folder / "weights.safetensors").read_bytes()
    size = int(kept if kept >= 1 else kept * len(content))
    (folder / "weights.safetensors").write_bytes(content[:size])
    with pytest.raises(RunError, match="cannot be read") as caught:
        _model(folder)
    assert str(folder / "weights.safetensors") in str(caught.value)


@pytest.mark.parametrize("model", MODELS_SAVED_MODEL)
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
    content = bytearray((folder / "subwords.model").read_bytes())
    content[-1] ^= 1
    (folder / "subwords.model").write_bytes(bytes(content))
    with pytest.raises(RunError, match=r"subwords\.model: is damaged"):
        load_subwords(folder)


def test_a_missing_vocabulary_is_named(copied: Path) -> None:
    folder = _folder(copied, "lstm")
    (folder.path / "vocabulary.json").unlink()
    with pytest.raises(DamagedRunError, match=r"vocabulary\.json: cannot be read"):
        _model(folder)
