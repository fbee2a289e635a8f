"""The key under which log probabilities are stored: all that decides them, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.torch import load_file, save_file

from gardenpath.errors import DamagedRunError
from gardenpath.eval.search.settings import Limits, SearchSettings, Unbiased, WordSync
from gardenpath.runs import run as run_module
from gardenpath.runs.run import Run
from tests import small_runs
from tests.toy_runs import run_of

# For each setting of a search another value than its default.
OTHER: dict[str, Any] = {
    "max_open": 7,
    "max_consecutive": 3,
    "shared_compositions": False,
    "share_prefixes": False,
    "fixed_shapes": True,
    "memory_gb": 0.5,
    "action_beam": 11,
    "word_beam": 4,
    "fast_track": 0,
    "marginal": "candidates",
    "stop": "beam_full",
    "bounded": False,
    "lazy_words": False,
    "margin_bits": 3.0,
    "cuda_graphs": True,
    "replicates": 5,
    "tolerance": 0.2,
    "max_replicates": 9,
    "roulette": 0.3,
    "seed": 9,
}
SEARCHES: tuple[SearchSettings, ...] = (WordSync(), Unbiased())
CASES = [
    (search, field.name)
    for search in SEARCHES
    for field in dataclasses.fields(search)
    if field.name != "kind"
]
WORK_ONLY = {
    "shared_compositions", "share_prefixes", "fixed_shapes", "memory_gb", "bounded", "lazy_words",
    "cuda_graphs",
}  # fmt: skip


def _key(path: Path, search: SearchSettings | None = None) -> str:
    return Run(path, device="cpu", search=search).model_key


def _copy(folder: Path, model: str, path: Path) -> Path:
    shutil.copytree(run_of(folder, model).path, path)
    return path


def _edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
    change(config)
    (path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (path / "manifest.json").unlink(missing_ok=True)


def test_the_key_of_a_copy_is_that_of_the_original(folder: Path, tmp_path: Path) -> None:
    for model in ("ngram", "lstm", "rnng", "plm"):
        copy = _copy(folder, model, tmp_path / "elsewhere" / model)
        assert _key(copy) == _key(run_of(folder, model).path)


def test_every_model_has_a_key_of_its_own(folder: Path) -> None:
    keys = {_key(run_of(folder, model).path) for model in ("ngram", "lstm", "rnng", "plm")}
    assert len(keys) == 4


@pytest.mark.parametrize("model", ["lstm", "rnng"])
def test_the_key_changes_with_a_weight(folder: Path, tmp_path: Path, model: str) -> None:
    path = _copy(folder, model, tmp_path / "copy")
    file = path / "weights.safetensors"
    weights = load_file(file)
    next(iter(weights.values())).view(-1)[0] += 1e-3
    save_file(weights, file)
    (path / "manifest.json").unlink()
    assert _key(path) != _key(run_of(folder, model).path)


def test_the_key_changes_with_the_vocabulary(folder: Path, tmp_path: Path) -> None:
    path = _copy(folder, "rnng", tmp_path / "copy")
    (path / "manifest.json").unlink()
    file = path / "vocabulary.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    place = content["tokens"].index("boys")
    content["tokens"][place] = "zebras"
    file.write_text(json.dumps(content), encoding="utf-8")
    assert _key(path) != _key(run_of(folder, "rnng").path)


def test_another_segmentation_than_that_of_the_vocabulary_is_refused(tmp_path: Path) -> None:
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=30")
    first = small_runs.run(tmp_path, "model=unigram", *pieces)
    assert small_runs.loaded(first).subwords is not None
    before = _key(first.path)
    (first.path / "manifest.json").unlink()
    assert _key(first.path) == before
    other = small_runs.run(
        tmp_path, "model=unigram", pieces[0], "data.subwords.pieces=31",
        f"run_dir={tmp_path / 'other'}",
    )  # fmt: skip
    assert _key(other.path) != before
    shutil.copy(other.path / "subwords.model", first.path / "subwords.model")
    with pytest.raises(DamagedRunError, match=r"subwords\.model: is missing or damaged"):
        _key(first.path)
    first.subwords_path.unlink()
    with pytest.raises(DamagedRunError, match=r"subwords\.model: is missing or damaged"):
        _key(first.path)


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [("rnng", "action_norm", "full"), ("rnng", "strategy", "in_order"),
     ("plm", "action_norm", "full"), ("plm", "structured_heads", True), ("lstm", "tied", True)],
)  # fmt: skip
def test_the_key_changes_with_the_network(
    folder: Path, tmp_path: Path, model: str, name: str, value: object
) -> None:
    """The same weights in another network give other numbers."""
    path = _copy(folder, model, tmp_path / "copy")
    before = _key(path)
    assert before == _key(run_of(folder, model).path)
    _edit(path, lambda config: config["model"]["network"].update({name: value}))
    if name == "tied":  # needs equal widths
        _edit(path, lambda config: config["model"]["network"].update({"embedding": 8}))
    assert _key(path) != before


def test_the_usual_output_layer_has_the_key_from_before_there_was_another(
    folder: Path, tmp_path: Path
) -> None:
    for model in ("lstm", "plm"):
        path = _copy(folder, model, tmp_path / model)
        before = _key(path)
        _edit(path, lambda config: config["model"]["network"].pop("output"))
        assert _key(path) == before
        _edit(path, lambda config: config["model"]["network"].update(output="factored"))
        assert _key(path) != before


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config.update(seed=7),
        lambda config: config.update(run_dir="elsewhere"),
        lambda config: config["trainer"].update(max_epochs=99),
        lambda config: config["paths"].update(cache="elsewhere"),
        lambda config: config["model"].update(name="mine"),
        lambda config: config["data"].update(name="mine", min_count=5),
        lambda config: config["data"]["cleaning"].update(lowercase=True),
    ],
)
def test_the_key_does_not_change_with_how_the_model_came_about(
    folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    """Weights and vocabulary tell all of it; words are stored as the model reads them."""
    path = _copy(folder, "rnng", tmp_path / "copy")
    _edit(path, change)
    assert _key(path) == _key(run_of(folder, "rnng").path)


def test_every_setting_of_a_search_has_another_value_here() -> None:
    assert {name for _, name in CASES} == set(OTHER)
    for search, name in CASES:
        assert getattr(search, name) != OTHER[name]
    assert Limits.WORK_ONLY | WordSync.WORK_ONLY == WORK_ONLY


@pytest.mark.parametrize(("search", "name"), CASES)
@pytest.mark.parametrize("model", ["rnng", "plm"])
def test_the_key_changes_with_settings_of_search_that_change_results(
    folder: Path, model: str, search: SearchSettings, name: str
) -> None:
    path = run_of(folder, model).path
    changed = replace(search, **{name: OTHER[name]})
    assert (_key(path, changed) == _key(path, search)) is (name in WORK_ONLY)


def test_the_key_changes_with_the_kind_of_search(folder: Path) -> None:
    path = run_of(folder, "rnng").path
    assert _key(path, Unbiased()) != _key(path, WordSync()) == _key(path)


@pytest.mark.parametrize(("search", "name"), CASES)
@pytest.mark.parametrize("model", ["ngram", "lstm"])
def test_the_key_of_a_sequential_model_does_not_depend_on_search(
    folder: Path, model: str, search: SearchSettings, name: str
) -> None:
    path = run_of(folder, model).path
    assert _key(path, replace(search, **{name: OTHER[name]})) == _key(path)


def test_the_key_changes_with_the_version_of_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {model: _key(run_of(folder, model).path) for model in ("lstm", "rnng")}
    monkeypatch.setattr(run_module, "SEARCH_VERSION", 1000)
    after = {model: _key(run_of(folder, model).path) for model in ("lstm", "rnng")}
    assert after["rnng"] != before["rnng"] and after["lstm"] == before["lstm"]
    monkeypatch.setattr(run_module, "MODEL_KEY_VERSION", 1000)
    assert _key(run_of(folder, "lstm").path) != before["lstm"]


@pytest.mark.parametrize("model", ["rnng", "plm"])
@pytest.mark.parametrize(
    "usual",
    [WordSync(action_beam=10, word_beam=3), Unbiased(action_beam=10, word_beam=3)],
    ids=["beam", "unbiased"],
)
def test_settings_of_work_only_do_not_change_results(
    folder: Path, model: str, usual: SearchSettings
) -> None:
    """What the key leaves out must not matter: each such setting, against the search without."""
    sentences = [
        ("the", "boys", "knew", "."),
        ("the", "boys", "that", "knew", "hated", "."),
        ("the", "man", "that", "the", "boys", "knew", "hated", "the", "man", "."),
    ]
    run = run_of(folder, model)
    expected = run.scorer(search=usual).word_log_probs(sentences)
    # What needs a GPU is compared in tests/integration/test_replayed_search.py.
    for name in sorted(usual.WORK_ONLY - {"cuda_graphs"}):
        others = {**OTHER, "memory_gb": 1e-6}
        changed = replace(usual, **{name: others[name]})
        found = run.scorer(search=changed).word_log_probs(sentences)
        for one, other in zip(found, expected, strict=True):
            assert one.tolist() == pytest.approx(other.tolist(), abs=1e-5), name
