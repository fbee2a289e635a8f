"""Adopting masked language models: files, checksums, and what is refused."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from gardenpath.adopted.families import MaskedFamily, MaskedModel, MaskedSettings
from gardenpath.adopted.masked import MaskedScorer
from gardenpath.errors import ConfigError, DamagedRunError, GardenpathError, InputError
from gardenpath.models.family import AdoptedModel
from gardenpath.settings.schema import plain, read
from tests.models.pretrained import masked_samples

FAMILY = MaskedFamily()
SETTINGS = MaskedModel(name="bert", language="en")
SENTENCES = [["the", "king", "sings", "."], ["singers", "were", "kinder"]]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model, as it is published."""
    return masked_samples.saved(tmp_path_factory.mktemp("published") / "bert", "bert")


@pytest.fixture
def source(published: Path, tmp_path: Path) -> Path:
    """A copy of the model, which a test may change."""
    shutil.copytree(published, tmp_path / "model")
    return tmp_path / "model"


def _opened(settings: MaskedModel, folder: Path) -> AdoptedModel:
    return FAMILY.open(settings, folder, device="cpu", boundary=None)


def _changed(path: Path, **changes: object) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | changes), encoding="utf-8")


@pytest.mark.parametrize("name", masked_samples.MODELS)
def test_an_adopted_model_gives_the_numbers_of_the_model(tmp_path: Path, name: str) -> None:
    masked_samples.saved(tmp_path / "model", name)
    settings = FAMILY.adopt(SETTINGS, str(tmp_path / "model"), tmp_path)
    make_tokenizer, make_network = masked_samples.MODELS[name]
    tokenizer = make_tokenizer()
    network: Any = make_network(tokenizer)
    expected = MaskedScorer(tokenizer, lambda: network, spacing="auto").word_log_probs(SENTENCES)
    found = _opened(settings, tmp_path).word_log_probs(SENTENCES)
    for scores, known in zip(found, expected, strict=True):
        assert np.allclose(scores, known, rtol=0, atol=1e-4, equal_nan=True)
        assert np.isnan(scores[-1])


def test_settings_of_an_adopted_model_are_stored_and_read(source: Path, tmp_path: Path) -> None:
    settings = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert settings.network.source == str(source.resolve())
    assert set(settings.network.files) >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert read(MaskedModel, plain(settings), place="model") == settings
    assert FAMILY.measure == "pll"


def test_a_choice_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"network\.pll"):
        read(MaskedSettings, {"pll": "forwards"}, place="network")


def test_the_identity_is_that_of_the_files_not_of_their_place(source: Path, tmp_path: Path) -> None:
    settings = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    shutil.copytree(source, tmp_path / "moved")
    moved = FAMILY.adopt(SETTINGS, str(tmp_path / "moved"), tmp_path)
    assert FAMILY.identity(settings, tmp_path) == FAMILY.identity(moved, tmp_path)
    weights = load_file(source / "model.safetensors")
    name = next(iter(weights))
    save_file({**weights, name: weights[name] + 1}, source / "model.safetensors", {"format": "pt"})
    other = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert FAMILY.identity(other, tmp_path) != FAMILY.identity(moved, tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_file_that_was_changed_since_is_refused(source: Path, tmp_path: Path, name: str) -> None:
    settings = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    with (source / name).open("ab") as file:
        file.write(b" ")
    for act in (FAMILY.identity, _opened):
        with pytest.raises(DamagedRunError, match=f"{name} changed after the model was adopted"):
            act(settings, tmp_path)


def test_a_file_that_is_missing_or_new_is_refused(source: Path, tmp_path: Path) -> None:
    settings = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    (source / "added_tokens.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DamagedRunError, match=r"added_tokens\.json changed"):
        FAMILY.identity(settings, tmp_path)
    (source / "added_tokens.json").unlink()
    (source / "tokenizer_config.json").unlink()
    with pytest.raises(DamagedRunError, match=r"tokenizer_config\.json changed"):
        FAMILY.identity(settings, tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_is_refused(source: Path, tmp_path: Path, name: str) -> None:
    (source / "modeling.py").write_text("raise SystemExit('code was run')", encoding="utf-8")
    _changed(source / name, auto_map={"AutoModelForMaskedLM": "modeling.Model"})
    with pytest.raises(InputError, match=f"{name}: the model brings its own Python code"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_pickled_weights_are_refused(source: Path, tmp_path: Path) -> None:
    weights = load_file(source / "model.safetensors")
    (source / "model.safetensors").unlink()
    torch.save(weights, source / "pytorch_model.bin")
    with pytest.raises(GardenpathError, match=r"only pytorch_model\.bin, which can contain code"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_weights_in_several_files(source: Path, tmp_path: Path) -> None:
    settings = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    expected = _opened(settings, tmp_path).word_log_probs(SENTENCES)
    weights = load_file(source / "model.safetensors")
    (source / "model.safetensors").unlink()
    names = sorted(weights)
    halves = {"model-00001-of-00002.safetensors": names[::2],
              "model-00002-of-00002.safetensors": names[1::2]}  # fmt: skip
    for file, members in halves.items():
        save_file({name: weights[name] for name in members}, source / file, {"format": "pt"})
    index = {name: file for file, members in halves.items() for name in members}
    path = source / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": index}), encoding="utf-8")
    divided = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert set(halves) < set(divided.network.files)
    for scores, known in zip(
        _opened(divided, tmp_path).word_log_probs(SENTENCES), expected, strict=True
    ):
        assert np.array_equal(scores, known, equal_nan=True)
    _changed(path, weight_map={"a": "../model.safetensors"})
    with pytest.raises(InputError, match="not a file of weights"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_other_files_of_the_folder_are_not_read(source: Path, tmp_path: Path) -> None:
    (source / "chat_template.jinja").write_text("{{ 1 / 0 }}")
    settings = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert _opened(settings, tmp_path).knows("king")
    # The library would apply an adapter that it finds in the folder.
    (source / "adapter_config.json").write_text('{"base_model_name_or_path": "x"}')
    with pytest.raises(GardenpathError, match="has an adapter"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_a_model_without_its_prediction_layer_is_refused(source: Path, tmp_path: Path) -> None:
    """Random weights in its place would give plausible numbers."""
    weights = load_file(source / "model.safetensors")
    kept = {name: one for name, one in weights.items() if not name.startswith("cls.")}
    assert len(kept) < len(weights)
    save_file(kept, source / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"lacks weights .*cls\.predictions"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_decoders_are_refused(source: Path, tmp_path: Path) -> None:
    _changed(source / "config.json", is_decoder=True)
    with pytest.raises(InputError, match="is a decoder"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_causal_models_are_refused(source: Path, tmp_path: Path) -> None:
    _changed(source / "config.json", model_type="gpt2")
    with pytest.raises(GardenpathError, match="cannot be loaded by transformers"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_a_tokeniser_without_a_mask_is_refused(source: Path, tmp_path: Path) -> None:
    path = source / "tokenizer_config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["mask_token"]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="no mask token"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_a_tokeniser_that_does_not_add_its_special_tokens_is_refused(
    source: Path, tmp_path: Path
) -> None:
    _changed(source / "tokenizer.json", post_processor=None)
    with pytest.raises(InputError, match=r"does not add \[CLS\] to a sentence exactly once"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_bfloat16_is_close(source: Path, tmp_path: Path) -> None:
    settings = FAMILY.adopt(SETTINGS, str(source), tmp_path)
    half = replace(settings, network=replace(settings.network, precision="bf16"))
    exact = _opened(settings, tmp_path).word_log_probs(SENTENCES)
    for scores, known in zip(_opened(half, tmp_path).word_log_probs(SENTENCES), exact, strict=True):
        assert not np.allclose(scores[:-1], known[:-1], atol=1e-6)
        assert np.allclose(scores[:-1], known[:-1], atol=0.5)


def test_what_is_not_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match=r"has no config\.json"):
        FAMILY.adopt(SETTINGS, str(tmp_path), tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(InputError, match="is not a JSON object"):
        FAMILY.adopt(SETTINGS, str(tmp_path), tmp_path)
    with pytest.raises(InputError, match="is a file"):
        FAMILY.adopt(SETTINGS, str(tmp_path / "config.json"), tmp_path)
    with pytest.raises(
        GardenpathError, match="neither a folder nor a name on the Hugging Face hub"
    ):
        FAMILY.adopt(SETTINGS, "not a/name of/any model", tmp_path)


def test_a_model_of_the_hub_keeps_its_commit(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef"
    shutil.copytree(source, tmp_path / "snapshots" / commit)
    asked: list[tuple[str, str | None]] = []

    def download(name: str, *, revision: str | None, **_: object) -> str:
        asked.append((name, revision))
        return str(tmp_path / "snapshots" / commit)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    settings = FAMILY.adopt(SETTINGS, "somebody/bert", tmp_path)
    assert (settings.network.source, settings.network.revision) == ("somebody/bert", commit)
    _opened(settings, tmp_path)
    assert asked == [("somebody/bert", None), ("somebody/bert", commit)]


def test_a_missing_library_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(GardenpathError, match=r"pip install 'gardenpath\[hf\]'"):
        FAMILY.adopt(SETTINGS, str(source), tmp_path)
