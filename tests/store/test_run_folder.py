"""Run folders: the raw files, and configurations as they are stored."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from gardenpath.errors import RunError
from gardenpath.store.run_claim import claim
from gardenpath.store.run_folder import RUN_FORMAT, RunFolder, stored_config
from tests.store.sample_runs import CONFIG, find_runs, sample_run, write_words


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A finished run."""
    folder = RunFolder(tmp_path / "runs" / "cats" / "lstm" / "seed1")
    with claim(folder, CONFIG) as claimed:
        claimed.begin(CONFIG, write_words)
        (folder / "weights.safetensors").write_bytes(b"weights")
        claimed.finish({"test": {"loss": 1.5}})
    return folder


def test_a_run_keeps_its_configuration_in_the_current_format(run: RunFolder) -> None:
    assert run.config() == {"format": RUN_FORMAT, **CONFIG}
    text = (run / "config.yaml").read_text(encoding="utf-8")
    assert text.startswith("format: 2\n")
    changed = run.config()
    changed["seed"] = 99
    assert run.config()["seed"] == 1, "what is returned is a copy"


def test_a_finished_run_has_a_result(run: RunFolder) -> None:
    assert run.is_begun and run.is_finished and run.is_marked
    assert run.result() == {"test": {"loss": 1.5}}
    (run / "result.json").unlink()
    assert not run.is_finished
    with pytest.raises(RunError, match="existing=resume"):
        run.result()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {}),
        ({"model": None}, {"model": None}),
        ({"model": {"network": None}}, {"model": {"network": None}}),
        ({"model": {"network": {"order": 5}}}, {"model": {"network": {"order": 5}}}),
        ({"_helper": 1, "data": {"_x": 2, "y": 3}}, {"data": {"y": 3}}),
        ({"demo": 1, "format": 2}, {"demo": 1}),
    ],
)
def test_what_is_stored(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = yaml.safe_dump(old)
    stored = stored_config(old)
    assert stored == {"format": RUN_FORMAT, **new}
    assert yaml.safe_dump(old) == before, "the argument is left as it is"
    assert stored_config(stored) == stored


@pytest.mark.parametrize("number", [0, 3, "2", None])
def test_an_unknown_format_is_refused(run: RunFolder, number: object) -> None:
    (run / "config.yaml").write_text(yaml.safe_dump({**CONFIG, "format": number}), encoding="utf-8")
    (run.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="update Gardenpath") as caught:
        run.config()
    assert str(run / "config.yaml") in str(caught.value)


@pytest.mark.parametrize("old", [CONFIG, {**CONFIG, "format": 1}])
def test_a_run_from_before_0_2_0_is_refused(run: RunFolder, old: dict[str, Any]) -> None:
    (run / "config.yaml").write_text(yaml.safe_dump(old), encoding="utf-8")
    (run / "manifest.json").unlink()
    with pytest.raises(RunError, match=r"before 0\.2\.0, .* train again") as caught:
        run.config()
    assert str(run / "config.yaml") in str(caught.value)


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "just text\n"])
def test_a_configuration_that_is_none_is_refused(run: RunFolder, content: str) -> None:
    (run / "config.yaml").write_text(content, encoding="utf-8")
    (run.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="not a configuration"):
        run.config()


def test_what_is_no_run_is_refused(tmp_path: Path, run: RunFolder) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        RunFolder(tmp_path).config()
    (run / "config.yaml").write_bytes(b"\xff\xfe\x00")
    (run.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="not a run folder"):
        run.config()


def test_markers(run: RunFolder, tmp_path: Path) -> None:
    assert run.is_marked
    assert not RunFolder(tmp_path).is_marked
    (run / "vocabulary.json").unlink()
    assert run.is_marked, "by its manifest"
    for content in ("", "[]", '{"kind": "results"}', "{"):
        (run / "manifest.json").write_text(content, encoding="utf-8")
        assert not run.is_marked
    write_words(run.path)
    assert run.is_marked, "the files of a run are enough"


def test_damage_is_named(run: RunFolder) -> None:
    run.verify()
    run.verify("weights.safetensors", "config.yaml", "result.json")
    (run / "weights.safetensors").write_bytes(b"weightz")
    run.verify("vocabulary.json")
    for names in ((), ("weights.safetensors",)):
        with pytest.raises(RunError, match="does not have the checksum") as caught:
            run.verify(*names)
        assert str(run / "weights.safetensors") in str(caught.value)
        assert "train again with existing=overwrite" in str(caught.value)
    with pytest.raises(RunError, match=r"metrics\.csv: is not in manifest\.json"):
        run.verify("metrics.csv")


def test_runs_without_a_manifest_have_nothing_to_verify(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "run")
    (run / "manifest.json").unlink()
    assert run.manifest() is None
    run.verify()
    run.verify("weights.safetensors")


def test_the_fingerprint_follows_what_decides_numbers(run: RunFolder, tmp_path: Path) -> None:
    before = run.fingerprint()
    manifest = run.manifest()
    assert manifest is not None and manifest.fingerprint == before
    shutil.copytree(run.path, tmp_path / "copy")
    assert RunFolder(tmp_path / "copy").fingerprint() == before
    (run / "metrics.csv").write_text("epoch\n", encoding="utf-8")
    assert run.fingerprint() == before
    found = {before}
    for path in (
        run / "weights.safetensors",
        run / "config.yaml",
        run / "vocabulary.json",
        run / "subwords.model",
    ):
        path.write_bytes(b"other")
        found.add(run.fingerprint())
    assert len(found) == 5
    (run / "weights.safetensors").unlink()
    with pytest.raises(RunError, match=r"weights\.safetensors: cannot be read"):
        run.fingerprint()


def test_runs_are_found_at_and_below_a_folder(run: RunFolder, tmp_path: Path) -> None:
    other = sample_run(tmp_path / "runs" / "other", {**CONFIG, "seed": 2})
    sample_run(tmp_path / "runs" / "unfinished", is_finished=False)
    assert find_runs(tmp_path) == [run, other]
    assert find_runs(other.path) == [other]
    assert find_runs(tmp_path / "absent") == []
