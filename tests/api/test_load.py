"""``gp.load`` and ``gp.find``: whole runs, old ones too, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import gardenpath as gp
from tests.toy_runs import NARROW_SEARCH, run_of

MODELS = ("ngram", "lstm", "rnng", "plm")
SENTENCES = [["the", "boys", "knew", "."], ["the", "zebras", "that", "knew", "hated", "."]]


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """A run that may be damaged."""
    shutil.copytree(run_of(folder, "lstm").path, tmp_path / "copy")
    return tmp_path / "copy"


def test_several_folders(folder: Path) -> None:
    root = folder / "runs" / "toy_english"
    found = gp.find(root / "lstm", root / "ngram", folder / "runs", root / "lstm" / "seed1")
    paths = [run.path for run in found]
    assert paths[:2] == [root / "lstm" / "seed1", root / "ngram" / "seed1"]
    assert sorted(paths) == [run.path for run in gp.find(folder / "runs")]
    with pytest.raises(gp.GardenpathError, match="nothing: no finished runs"):
        gp.find(root, folder / "nothing")


def test_a_run_by_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run_of(folder, "rnng").path
    run = gp.load(path, device="cpu", search=NARROW_SEARCH)
    assert isinstance(run, gp.Run)
    assert (run.path, run.search, run.store) == (path, NARROW_SEARCH, None)
    assert gp.load(str(path)).name == run.name
    monkeypatch.chdir(path.parent)
    assert gp.load("seed1").name.model == "rnng"


def test_runs_below_a_folder(folder: Path) -> None:
    runs = gp.find(str(folder / "runs"))
    assert isinstance(runs, gp.Runs) and isinstance(runs, list)
    assert [run.name.model for run in runs] == ["lstm", "ngram", "plm", "rnng"]


def test_a_file_of_log_probabilities_serves_all_runs(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "below" / "cache.sqlite"
    runs = gp.find(folder / "runs", cache=cache, search=NARROW_SEARCH)
    first = runs.surprisal("the boys knew .")
    assert cache.is_file()
    for run in runs:
        shutil.copytree(run.path, tmp_path / run.name.model)
    weightless = gp.find(tmp_path, cache=str(cache), search=NARROW_SEARCH)
    for run in weightless:
        # The key is that of the weights; what is stored under it is not computed again.
        assert run.model_key in {one.model_key for one in runs}
    again = weightless.surprisal("the boys knew .")
    assert again["surprisal_bits"].tolist() == first["surprisal_bits"].tolist()


@pytest.mark.parametrize("name", ["absent", "empty", "file"])
def test_what_is_not_a_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text", encoding="utf-8")
    with pytest.raises(gp.RunError, match=rf"{name}: not a run folder"):
        gp.load(tmp_path / name)
    with pytest.raises(gp.RunError, match=rf"{name}: no finished runs at or below this folder"):
        gp.find(tmp_path / name)


def test_a_folder_with_a_result_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text("{}", encoding="utf-8")
    with pytest.raises(gp.RunError, match="not a run folder"):
        gp.load(tmp_path)


def test_an_unfinished_run_is_refused_with_a_remedy(copy: Path) -> None:
    (copy / "result.json").unlink()
    with pytest.raises(gp.RunError, match=r"the run is not finished.* existing=resume"):
        gp.load(copy)


@pytest.mark.parametrize("name", ["weights.safetensors", "vocabulary.json"])
def test_a_damaged_file_is_refused_before_it_gives_a_number(copy: Path, name: str) -> None:
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(bytes(content))
    run = gp.load(copy)
    with pytest.raises(gp.RunError, match=rf"{name}: is damaged: .*checksum.*train again"):
        run.surprisal("the boys knew .")


def test_a_run_of_a_newer_version_is_refused(copy: Path) -> None:
    config = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    (copy / "config.yaml").write_text(yaml.safe_dump({**config, "format": 99}), encoding="utf-8")
    (copy / "manifest.json").unlink()
    with pytest.raises(gp.RunError, match=r"format 99 is unknown.*update Gardenpath"):
        gp.load(copy)


def test_a_run_from_before_0_2_0_is_refused(copy: Path) -> None:
    config = yaml.safe_load((copy / "config.yaml").read_text(encoding="utf-8"))
    assert config.pop("format") == 2
    (copy / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (copy / "manifest.json").unlink()
    with pytest.raises(gp.RunError, match=r"before 0\.2\.0, whose runs are no longer read"):
        gp.load(copy)


def _without_manifest(path: Path) -> None:
    """Turn a run folder into one whose manifest was deleted; private settings are ignored."""
    config = yaml.safe_load((path / "config.yaml").read_text(encoding="utf-8"))
    config["_private"] = {"for": "interpolation"}
    (path / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    for name in ("manifest.json", ".lock"):
        (path / name).unlink()


@pytest.mark.parametrize("model", MODELS)
def test_a_run_without_its_manifest_loads_with_the_same_numbers(
    folder: Path, tmp_path: Path, model: str
) -> None:
    path = tmp_path / "old" / model
    shutil.copytree(run_of(folder, model).path, path)
    _without_manifest(path)
    old = gp.load(path, device="cpu", search=NARROW_SEARCH)
    new = run_of(folder, model)
    assert old.settings.model == new.settings.model and old.data == new.data
    assert old.model_key == new.model_key and old.metrics == new.metrics
    for found, expected in zip(
        old.word_log_probs(SENTENCES), new.word_log_probs(SENTENCES), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    assert [run.path for run in gp.find(tmp_path)] == [path]


def test_loading_writes_nothing(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "old"
    shutil.copytree(run_of(folder, "lstm").path, path)
    _without_manifest(path)
    before = {one: one.stat().st_mtime_ns for one in path.rglob("*")}
    gp.load(path).surprisal("the boys knew .")
    assert {one: one.stat().st_mtime_ns for one in path.rglob("*")} == before
    assert json.loads((path / "result.json").read_text(encoding="utf-8"))
