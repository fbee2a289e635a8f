"""Models of Hugging Face are adopted with checksums, and nothing in them is run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gardenpath.adopted import checkpoints as hf_files
from gardenpath.adopted.families import HfFamily, HfModel, HfSettings
from gardenpath.errors import GardenpathError
from gardenpath.settings.schema import plain, read
from tests.models.pretrained import tiny_models
from tests.models.pretrained.tiny_models import KINDS, SENTENCES, Kind

FAMILY = HfFamily()


def save(folder: Path, kind: Kind) -> None:
    """Write a tiny model in single precision, with its tokeniser."""
    tokeniser = tiny_models.tokeniser(kind)
    tiny_models.model(kind, len(tokeniser) + 3).float().save_pretrained(folder)
    tokeniser.save_pretrained(folder)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "llama"
    save(folder, "llama")
    return folder


@pytest.fixture
def copied(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "copied"))


def _adopted(folder: Path, **settings: Any) -> HfModel:
    model = HfModel(name="tiny", network=HfSettings(**settings))
    return FAMILY.adopt(model, str(folder), folder / "unused")


@pytest.mark.parametrize("kind", KINDS)
def test_an_adopted_model_gives_the_numbers_of_the_network(kind: Kind, tmp_path: Path) -> None:
    save(tmp_path / "model", kind)
    adopted = _adopted(tmp_path / "model")
    assert adopted.network.source == str(tmp_path / "model")
    made = FAMILY.open(adopted, tmp_path, device="cpu", boundary="next")
    for one, other in zip(
        made.word_log_probs(SENTENCES),
        tiny_models.scorer(kind).word_log_probs(SENTENCES),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-3)
    assert made.seen_as(SENTENCES[0]) == tiny_models.scorer(kind).seen_as(SENTENCES[0])


def test_the_settings_name_every_file_and_can_be_stored(saved: Path) -> None:
    adopted = _adopted(saved)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {*adopted.network.files}
    assert all(len(one) == 64 for one in adopted.network.files.values())
    assert read(HfModel, json.loads(json.dumps(plain(adopted)))) == adopted


def test_the_identity_follows_from_files_and_settings(saved: Path, copied: Path) -> None:
    adopted = _adopted(saved)
    identity = FAMILY.identity(adopted, saved)
    assert FAMILY.identity(_adopted(copied), copied) == identity
    changes: list[dict[str, Any]] = [
        {"bos": "none"}, {"spacing": "blanks"}, {"precision": "bf16"}, {"context": "refuse"}
    ]  # fmt: skip
    for change in changes:
        other = replace(adopted, network=replace(adopted.network, **change))
        assert FAMILY.identity(other, saved) != identity
    smaller = replace(adopted, network=replace(adopted.network, batch_tokens=1))
    assert FAMILY.identity(smaller, saved) == identity


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: _flip(folder / "model.safetensors"),
        lambda folder: (folder / "tokenizer_config.json").unlink(),
        lambda folder: (folder / "added_tokens.json").write_text("{}"),
    ],
    ids=["changed", "removed", "added"],
)
def test_files_that_changed_are_refused(copied: Path, change: Callable[[Path], None]) -> None:
    adopted = _adopted(copied)
    change(copied)
    with pytest.raises(GardenpathError, match="changed after the model was adopted"):
        FAMILY.identity(adopted, copied)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_in_a_model_is_never_run(copied: Path, name: str, tmp_path: Path) -> None:
    content = json.loads((copied / name).read_text())
    content["auto_map"] = {"AutoConfig": "code.Mine", "AutoModelForCausalLM": "code.Mine"}
    (copied / name).write_text(json.dumps(content))
    (copied / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(GardenpathError, match=r"its own Python code \(auto_map\)"):
        _adopted(copied)
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_are_refused_with_a_remedy(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    torch.save({}, copied / "pytorch_model.bin")
    with pytest.raises(GardenpathError, match=r"only pytorch_model\.bin.*save_pretrained"):
        _adopted(copied)


def _without_weight(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _truncated(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_weight, "up_proj.weight are missing"),
        (_truncated, "cannot be loaded by transformers"),
        (lambda folder: (folder / "config.json").unlink(), "has no config.json"),
        (lambda folder: (folder / "config.json").write_text("[1]"), "is not a JSON object"),
        (lambda folder: (folder / "config.json").write_text("{"), "is not JSON"),
        (lambda folder: (folder / "config.json").write_text("{}"), "cannot be loaded by"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "cannot be loaded by"),
        (lambda folder: (folder / "model.safetensors").unlink(), "has no weights"),
        (lambda folder: (folder / "adapter_config.json").write_text("{}"), "has an adapter"),
    ],
)
def test_incomplete_models_are_refused(
    copied: Path, change: Callable[[Path], None], message: str
) -> None:
    change(copied)
    with pytest.raises(GardenpathError, match=message):
        _adopted(copied)


def test_models_that_are_not_causal_are_refused(copied: Path) -> None:
    network = tiny_models.model("bert", len(tiny_models.tokeniser("llama"))).float()
    network.save_pretrained(copied)
    with pytest.raises(GardenpathError, match="not a causal language model; use model=masked"):
        _adopted(copied)


def test_sources_that_are_nowhere_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def unreachable(*_: Any, **given: Any) -> str:
        raise OSError(f"no network, local_files_only={given['local_files_only']}")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(GardenpathError, match="neither a folder nor a name"):
        _adopted(Path("/nowhere/at all"))
    with pytest.raises(GardenpathError, match=r"could not be fetched .* local_files_only=False"):
        FAMILY.adopt(HfModel(name="x"), "someone/something", Path("unused"))


def test_files_of_the_hub_that_are_here_are_used(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked: list[tuple[str, str | None, bool]] = []

    def here(name: str, *, revision: str | None, local_files_only: bool, **given: Any) -> str:
        assert not {"*.bin", "*.py"} & {*given["allow_patterns"]}
        asked.append((name, revision, local_files_only))
        return str(saved)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", here)
    adopted = FAMILY.adopt(HfModel(name="x"), "someone/something", Path("unused"))
    assert adopted.network.source == "someone/something" and adopted.network.revision == saved.name
    assert asked == [("someone/something", None, True), ("someone/something", saved.name, True)]


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(GardenpathError, match=r"pip install 'gardenpath\[hf\]'"):
        FAMILY.adopt(HfModel(name="x"), "gpt2", Path("unused"))
    with pytest.raises(GardenpathError, match=r"pip install 'gardenpath\[hf\]'"):
        FAMILY.open(HfModel(name="x"), Path("unused"), device="cpu", boundary="next")


def test_settings_need_neither_torch_nor_transformers() -> None:
    program = (
        "import sys, gardenpath.adopted.families\n"
        "assert not {'torch', 'transformers', 'tokenizers'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_boundary_is_next_unless_something_else_is_asked() -> None:
    model = HfModel(name="x")
    assert FAMILY.boundary(model, "auto") == "next"
    assert FAMILY.boundary(model, "none") == "none"
    assert FAMILY.boundary(model, "leading") == "leading"
    unspaced = replace(model, network=HfSettings(spacing="none"))
    assert FAMILY.boundary(unspaced, "auto") == "leading"


def test_long_sentences_slide_or_are_refused(tmp_path: Path) -> None:
    tokeniser = tiny_models.tokeniser("gpt2")
    network = tiny_models.model("gpt2", len(tokeniser), positions=12)
    words = ["the", "kings", "see"] * 10
    made = tiny_models.scorer("gpt2", network=network)
    (found,) = made.word_log_probs([words])
    assert np.isfinite(found).all() and "context=slide" in made.notes[0]
    (start,) = made.word_log_probs([words[:8]])
    np.testing.assert_allclose(found[:8], start[:8], atol=1e-9)
    with pytest.raises(GardenpathError, match="has 30 tokens, but the model reads 11"):
        tiny_models.scorer("gpt2", network=network, context="refuse").word_log_probs([words])


def test_half_precision_is_that_of_the_weights(saved: Path) -> None:
    model = hf_files.load_causal(saved, "bf16", "cpu")
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    adopted = _adopted(saved, precision="bf16")
    made = FAMILY.open(adopted, saved, device="cpu", boundary="next")
    (rough,) = made.word_log_probs(SENTENCES[:1])
    (exact,) = tiny_models.scorer("llama").word_log_probs(SENTENCES[:1])
    assert 0 < np.abs(rough - exact).mean() < 0.3
