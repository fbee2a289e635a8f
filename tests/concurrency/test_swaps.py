"""Results and prepared corpora whose writers are killed at any step: whole, old or new."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gardenpath.store import files, manifest
from gardenpath.store.files import recover_folder
from gardenpath.store.manifest import (
    read_results_manifest,
    results_folder,
    stored_corpus,
    verify_corpus,
    verify_files,
)
from tests.concurrency.kills import every_step


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flushes matter to power failures only, and asking for versions takes long."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(manifest, "versions", lambda *_: "versions")


def write(path: Path, text: str) -> None:
    with results_folder(path, about={"text": text}) as folder:
        (folder / "figures").mkdir()
        for name in ("items.csv", f"only_{text}.csv", "figures/a.svg"):
            (folder / name).write_text(text * 1000, encoding="utf-8")


def whole(path: Path) -> str:
    """Which results are there; they must be whole, and nothing beside them."""
    found = read_results_manifest(path)
    verify_files(path, found, remedy="")
    text = str(found.about["text"])
    assert {one.name for one in path.rglob("*")} == {
        "items.csv", f"only_{text}.csv", "figures", "a.svg", "manifest.json"
    }  # fmt: skip
    return text


@pytest.mark.slow
@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_results_are_old_or_new_after_a_kill_at_any_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    path = tmp_path / "results" / "cats"
    if way == "renames":
        monkeypatch.setattr(files, "exchange", lambda *_: False)

    def prepare() -> None:
        shutil.rmtree(path.parent, ignore_errors=True)
        write(path, "old")

    found = []
    for _ in every_step(lambda: write(path, "new"), prepare=prepare, root=tmp_path):
        if way == "renames" and not path.exists():
            recover_folder(path)
        found.append(whole(path))
        write(path, "newer")
        assert whole(path) == "newer"
        assert {one.name for one in path.parent.iterdir()} == {"cats", ".cats.lock"}
    assert found == sorted(found, reverse=True), "old, and from some step on new"
    assert set(found) == {"old", "new"}


def build(folder: Path) -> None:
    (folder / "train").mkdir()
    for name in ("vocabulary.json", "train/tokens.npy"):
        (folder / name).write_text(name * 1000, encoding="utf-8")


def test_a_corpus_is_whole_or_absent_after_a_kill_at_any_step(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    found = []
    for _ in every_step(
        lambda: verify_corpus(stored_corpus(cache, "key", build)),
        prepare=lambda: shutil.rmtree(cache, ignore_errors=True),
        root=tmp_path,
    ):
        found.append((cache / "key").exists())
        if found[-1]:
            verify_corpus(cache / "key")
        verify_corpus(stored_corpus(cache, "key", build))
    assert found == sorted(found) and set(found) == {False, True}
