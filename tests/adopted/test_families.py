"""Models of Hugging Face are adopted with checksums, and nothing in them is run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import gardenpath as gp
from gardenpath.adopted import checkpoints as hf_files
from gardenpath.adopted.families import (
    Bos,
    HfFamily,
    HfModel,
    HfSettings,
    MaskedFamily,
    MaskedModel,
    MaskedSettings,
)
from gardenpath.adopted.hf import CausalScorer
from gardenpath.adopted.masked import MaskedScorer
from gardenpath.data.arrays import Floats
from gardenpath.data.words.pieces import Boundary
from gardenpath.errors import ConfigError, DamagedRunError, GardenpathError, InputError
from gardenpath.models.family import AdoptedModel
from gardenpath.settings.schema import plain, read
from gardenpath.util import bits
from tests.adopted import masked_samples, tiny_models
from tests.adopted.tiny_models import KINDS, SENTENCES, Kind
from tests.models import samples as contract
from tests.no_skips import NEEDS_REAL_MODEL

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


# ----------------------------------------------------------------------------
# Adopting masked language models: files, checksums, and what is refused.


FAMILY_MASKED_FAMILY = MaskedFamily()
SETTINGS = MaskedModel(name="bert", language="en")
SENTENCES_MASKED_FAMILY = [["the", "king", "sings", "."], ["singers", "were", "kinder"]]


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
    return FAMILY_MASKED_FAMILY.open(settings, folder, device="cpu", boundary=None)


def _changed(path: Path, **changes: object) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(content | changes), encoding="utf-8")


@pytest.mark.parametrize("name", masked_samples.MODELS)
def test_an_adopted_model_gives_the_numbers_of_the_model(tmp_path: Path, name: str) -> None:
    masked_samples.saved(tmp_path / "model", name)
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(tmp_path / "model"), tmp_path)
    make_tokenizer, make_network = masked_samples.MODELS[name]
    tokenizer = make_tokenizer()
    network: Any = make_network(tokenizer)
    expected = MaskedScorer(tokenizer, lambda: network, spacing="auto").word_log_probs(
        SENTENCES_MASKED_FAMILY
    )
    found = _opened(settings, tmp_path).word_log_probs(SENTENCES_MASKED_FAMILY)
    for scores, known in zip(found, expected, strict=True):
        assert np.allclose(scores, known, rtol=0, atol=1e-4, equal_nan=True)
        assert np.isnan(scores[-1])


def test_settings_of_an_adopted_model_are_stored_and_read(source: Path, tmp_path: Path) -> None:
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert settings.network.source == str(source.resolve())
    assert set(settings.network.files) >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert read(MaskedModel, plain(settings), place="model") == settings
    assert FAMILY_MASKED_FAMILY.measure == "pll"


def test_a_choice_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"network\.pll"):
        read(MaskedSettings, {"pll": "forwards"}, place="network")


def test_the_identity_is_that_of_the_files_not_of_their_place(source: Path, tmp_path: Path) -> None:
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    shutil.copytree(source, tmp_path / "moved")
    moved = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(tmp_path / "moved"), tmp_path)
    assert FAMILY_MASKED_FAMILY.identity(settings, tmp_path) == FAMILY_MASKED_FAMILY.identity(
        moved, tmp_path
    )
    weights = load_file(source / "model.safetensors")
    name = next(iter(weights))
    save_file({**weights, name: weights[name] + 1}, source / "model.safetensors", {"format": "pt"})
    other = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert FAMILY_MASKED_FAMILY.identity(other, tmp_path) != FAMILY_MASKED_FAMILY.identity(
        moved, tmp_path
    )


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_file_that_was_changed_since_is_refused(source: Path, tmp_path: Path, name: str) -> None:
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    with (source / name).open("ab") as file:
        file.write(b" ")
    for act in (FAMILY_MASKED_FAMILY.identity, _opened):
        with pytest.raises(DamagedRunError, match=f"{name} changed after the model was adopted"):
            act(settings, tmp_path)


def test_a_file_that_is_missing_or_new_is_refused(source: Path, tmp_path: Path) -> None:
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    (source / "added_tokens.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DamagedRunError, match=r"added_tokens\.json changed"):
        FAMILY_MASKED_FAMILY.identity(settings, tmp_path)
    (source / "added_tokens.json").unlink()
    (source / "tokenizer_config.json").unlink()
    with pytest.raises(DamagedRunError, match=r"tokenizer_config\.json changed"):
        FAMILY_MASKED_FAMILY.identity(settings, tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_code_is_refused(source: Path, tmp_path: Path, name: str) -> None:
    (source / "modeling.py").write_text("raise SystemExit('code was run')", encoding="utf-8")
    _changed(source / name, auto_map={"AutoModelForMaskedLM": "modeling.Model"})
    with pytest.raises(InputError, match=f"{name}: the model brings its own Python code"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_pickled_weights_are_refused(source: Path, tmp_path: Path) -> None:
    weights = load_file(source / "model.safetensors")
    (source / "model.safetensors").unlink()
    torch.save(weights, source / "pytorch_model.bin")
    with pytest.raises(GardenpathError, match=r"only pytorch_model\.bin, which can contain code"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_weights_in_several_files(source: Path, tmp_path: Path) -> None:
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    expected = _opened(settings, tmp_path).word_log_probs(SENTENCES_MASKED_FAMILY)
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
    divided = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert set(halves) < set(divided.network.files)
    for scores, known in zip(
        _opened(divided, tmp_path).word_log_probs(SENTENCES_MASKED_FAMILY), expected, strict=True
    ):
        assert np.array_equal(scores, known, equal_nan=True)
    _changed(path, weight_map={"a": "../model.safetensors"})
    with pytest.raises(InputError, match="not a file of weights"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_other_files_of_the_folder_are_not_read(source: Path, tmp_path: Path) -> None:
    (source / "chat_template.jinja").write_text("{{ 1 / 0 }}")
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    assert _opened(settings, tmp_path).knows("king")
    # The library would apply an adapter that it finds in the folder.
    (source / "adapter_config.json").write_text('{"base_model_name_or_path": "x"}')
    with pytest.raises(GardenpathError, match="has an adapter"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_a_model_without_its_prediction_layer_is_refused(source: Path, tmp_path: Path) -> None:
    """Random weights in its place would give plausible numbers."""
    weights = load_file(source / "model.safetensors")
    kept = {name: one for name, one in weights.items() if not name.startswith("cls.")}
    assert len(kept) < len(weights)
    save_file(kept, source / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"lacks weights .*cls\.predictions"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_decoders_are_refused(source: Path, tmp_path: Path) -> None:
    _changed(source / "config.json", is_decoder=True)
    with pytest.raises(InputError, match="is a decoder"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_causal_models_are_refused(source: Path, tmp_path: Path) -> None:
    _changed(source / "config.json", model_type="gpt2")
    with pytest.raises(GardenpathError, match="cannot be loaded by transformers"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_a_tokeniser_without_a_mask_is_refused(source: Path, tmp_path: Path) -> None:
    path = source / "tokenizer_config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["mask_token"]
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match="no mask token"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_a_tokeniser_that_does_not_add_its_special_tokens_is_refused(
    source: Path, tmp_path: Path
) -> None:
    _changed(source / "tokenizer.json", post_processor=None)
    with pytest.raises(InputError, match=r"does not add \[CLS\] to a sentence exactly once"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


def test_bfloat16_is_close(source: Path, tmp_path: Path) -> None:
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)
    half = replace(settings, network=replace(settings.network, precision="bf16"))
    exact = _opened(settings, tmp_path).word_log_probs(SENTENCES_MASKED_FAMILY)
    for scores, known in zip(
        _opened(half, tmp_path).word_log_probs(SENTENCES_MASKED_FAMILY), exact, strict=True
    ):
        assert not np.allclose(scores[:-1], known[:-1], atol=1e-6)
        assert np.allclose(scores[:-1], known[:-1], atol=0.5)


def test_what_is_not_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match=r"has no config\.json"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(tmp_path), tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(InputError, match="is not a JSON object"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(tmp_path), tmp_path)
    with pytest.raises(InputError, match="is a file"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(tmp_path / "config.json"), tmp_path)
    with pytest.raises(
        GardenpathError, match="neither a folder nor a name on the Hugging Face hub"
    ):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, "not a/name of/any model", tmp_path)


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
    settings = FAMILY_MASKED_FAMILY.adopt(SETTINGS, "somebody/bert", tmp_path)
    assert (settings.network.source, settings.network.revision) == ("somebody/bert", commit)
    _opened(settings, tmp_path)
    assert asked == [("somebody/bert", None), ("somebody/bert", commit)]


def test_a_missing_library_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(GardenpathError, match=r"pip install 'gardenpath\[hf\]'"):
        FAMILY_MASKED_FAMILY.adopt(SETTINGS, str(source), tmp_path)


# ----------------------------------------------------------------------------
# A real pretrained model has the preferences that speakers have, in English and Mandarin.
#
# ``python -m tests.real_model FOLDER`` makes the model; ``GARDENPATH_REAL_MODEL`` names the
# folder.


FOLDER = os.environ.get("GARDENPATH_REAL_MODEL", "")


@cache
def _parts() -> tuple[Any, Any, Any]:
    """Configuration, tokeniser and weights, which take long to load."""
    folder = Path(FOLDER)
    model = hf_files.load_causal(folder, "fp32", "cpu")
    return hf_files.load_config(folder), hf_files.load_tokeniser(folder), model


def _opened_real_model(boundary: Boundary = "next", bos: Bos = "required") -> CausalScorer:
    config, tokeniser, model = _parts()
    return CausalScorer(
        load=lambda: model, config=config, tokeniser=tokeniser, settings=HfSettings(bos=bos),
        boundary=boundary,
    )  # fmt: skip


@pytest.fixture(scope="module")
def real() -> CausalScorer:
    """The model as it is adopted."""
    adopted = HfFamily().adopt(HfModel(name="real"), FOLDER, Path(FOLDER))
    return HfFamily().open(adopted, Path(FOLDER), device="cpu", boundary="next")


def _bits(scorer: CausalScorer, context: str, continuations: list[str]) -> list[float]:
    """Surprisal of each continuation of a context."""
    sentences = [f"{context} {one}".split() for one in continuations]
    begin = len(context.split())
    found = scorer.word_log_probs(sentences)
    return [bits(float(one[begin:-1].sum())) for one in found]


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
@pytest.mark.parametrize(
    ("context", "better", "worse"),
    [
        ("The keys to the cabinet", "are", "is"),
        ("The author near the senators", "is", "are"),
        ("The queen said that the king hurt", "himself", "herself"),
        ("The women in the village saw", "themselves", "himself"),
        ("No student in this class has", "ever", "never"),
        ("I know what the boy", "ate .", "ate it ."),
        ("She has three", "children", "child"),
        ("Yesterday she", "went", "goes"),
        ("The children have", "eaten", "ate"),
        ("My sister is taller", "than", "then"),
        ("我 买 了 一 本", "书", "桌子"),
        ("他 养 了 一 条", "狗", "书"),
        ("桌子 上 有 一 张", "纸", "人"),
        ("他 骑 了 一 匹", "马", "狗"),
        ("门口 停 着 一 辆", "车", "鸟"),
        ("虽然 下雨 ，", "但是", "因为"),
        ("他 把 门", "关上", "喜欢"),
        ("天空 中 飞 过 一 只", "鸟", "车"),
    ],
)
def test_known_preferences(real: CausalScorer, context: str, better: str, worse: str) -> None:
    good, bad = _bits(real, context, [better, worse])
    assert good < bad - 1.0


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
@pytest.mark.parametrize(
    ("ambiguous", "clear", "word"),
    [
        ("The horse raced past the barn", "The horse that was raced past the barn", "fell"),
        ("While the man hunted the deer", "While the man hunted , the deer", "ran"),
    ],
)
def test_garden_paths(real: CausalScorer, ambiguous: str, clear: str, word: str) -> None:
    (surprised,), (expecting,) = _bits(real, ambiguous, [word]), _bits(real, clear, [word])
    assert surprised > expecting + 2.0


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
def test_a_missing_begin_reverses_a_preference() -> None:
    """Why exactly one BOS is the default."""
    good, bad = _bits(_opened_real_model(), "The keys to the cabinet", ["are", "is"])
    without = _opened_real_model(bos="none")
    wrong_good, wrong_bad = _bits(without, "The keys to the cabinet", ["are", "is"])
    assert good < bad and wrong_good > wrong_bad
    assert "NaN" in without.notes[0]


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
def test_words_are_probabilities_of_words(real: CausalScorer) -> None:
    """Words of which others are beginnings: un goes on, and then it is another word."""
    words = ["king", "kings", "kingdom", "kingdoms", "kin", "ki", "k", "queen", "keys", "key"]
    assert contract.sum_of_probabilities(real, ["Long", "live", "the"], words) <= 1.0
    (word,), (pieces,) = (
        _bits(_opened_real_model(boundary), "It was an", ["un"]) for boundary in ("next", "none")
    )
    assert word > pieces + 3.0


SENTENCES_REAL_MODEL = [
    ["The", "keys", "to", "the", "cabinet", "are", "n't", "here", "."],
    ["The", "keys", "to", "the", "cabinet", "is", "n't", "here", "."],
    ["The", "king", "'s", "friends", "-LRB-", "all", "of", "them", "-RRB-", "slept", "."],
    ["他", "喜欢", "读书", "。"],
    ["他", "喜欢", "研究", "生命", "。"],
    ["他", "喜欢", "研究生", "𠮷", "。"],
]


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
def test_the_contract_holds(real: CausalScorer) -> None:
    contract.check_form(real, SENTENCES_REAL_MODEL)
    contract.check_single(real, SENTENCES_REAL_MODEL, atol=2e-3)
    contract.check_order(real, SENTENCES_REAL_MODEL, atol=2e-3)
    assert contract.check_prefixes(real, SENTENCES_REAL_MODEL, atol=2e-3) >= 8


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
def test_tokens_are_those_of_sentencepiece(real: CausalScorer) -> None:
    """The tokeniser was converted; these divisions are known."""
    assert real.seen_as(["The", "keys", "to", "the", "cabinet"]) == [
        "The", "▁keys", "▁to", "▁the", "▁cabinet"
    ]  # fmt: skip
    assert real.seen_as(["𠮷", "野", "家"])[0] == "<0xF0> <0xA0> <0xAE> <0xB7>"


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
def test_mandarin_suites_end_to_end(real: CausalScorer) -> None:
    suites = gp.suites("mandarin/classifier_noun/none", "mandarin/verb_noun/none")
    results = gp.evaluate(real, suites, items=12)
    accuracy = results.summary.set_index("class")["accuracy"]
    assert accuracy["classifier_noun"] > 0.7 and accuracy["verb_noun"] > 0.7


@pytest.mark.skipif(not FOLDER, reason=NEEDS_REAL_MODEL)
def test_characters_add_up_to_words(real: CausalScorer) -> None:
    text = "研究生命"
    found: Floats = real.prefix_log_probs(text, range(5)).log_probs
    (words,) = real.word_log_probs([["研究", "生命"]])
    np.testing.assert_allclose(np.diff(found[[0, 2, 4]]), words[:2], atol=2e-3)
    assert (np.diff(found) <= 1e-6).all()
