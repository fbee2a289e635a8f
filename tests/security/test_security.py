"""Files of others run nothing and write nowhere but where they may."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from gardenpath.errors import GardenpathError
from gardenpath.eval.report.figures.all import slug
from gardenpath.eval.statistics.rscript import write_result
from gardenpath.eval.suites.library import export
from gardenpath.eval.suites.summary import RunName
from gardenpath.eval.suites.yaml_suites import load_compact
from gardenpath.runs.find import file_places
from gardenpath.store.files import write_text
from gardenpath.store.manifest import read_manifest, results_folder
from gardenpath.util import file_stem
from tests import small_runs


class _Canary:
    """Creates a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self._path),)


def payloads(canary: Path) -> list[bytes]:
    """Content of files that makes a folder if it is read without care."""
    bird = _Canary(canary)
    array = io.BytesIO()
    np.save(array, np.array([bird], dtype=object), allow_pickle=True)
    checkpoint = io.BytesIO()
    torch.save({"state_dict": bird}, checkpoint)
    old = io.BytesIO()
    torch.save({"state_dict": bird}, old, _use_new_zipfile_serialization=False)
    tag = f"name: !!python/object/apply:os.mkdir ['{canary}']\n"
    call = f"__import__('os').mkdir('{canary}')"
    return [
        *(pickle.dumps(bird), pickle.dumps(bird, protocol=0), array.getvalue()),
        *(checkpoint.getvalue(), old.getvalue(), tag.encode(), call.encode()),
    ]


def test_the_canaries_sing(tmp_path: Path) -> None:
    """The payloads do run when they are loaded without care."""
    payload = payloads(tmp_path / "canary")
    np.load(io.BytesIO(payload[2]), allow_pickle=True)
    assert (tmp_path / "canary").is_dir()
    (tmp_path / "canary").rmdir()
    torch.load(io.BytesIO(payload[3]), weights_only=False)
    assert (tmp_path / "canary").is_dir()


def _message(run: Callable[[], Any]) -> str:
    with pytest.raises(GardenpathError) as caught:
        run()
    return str(caught.value)


def test_files_of_a_run(tmp_path: Path) -> None:
    """Every file of a run folder in turn, and the checkpoint from which it would resume."""
    canary = tmp_path / "canary"
    folder = small_runs.run(tmp_path / "work", "trainer.max_epochs=1")
    finished = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    payload = payloads(canary)[3]
    for path in finished:
        path.write_bytes(payload)
        try:
            small_runs.loaded(folder).surprisal("the cat")
        except GardenpathError as error:
            assert "\n" not in str(error).strip()
        path.write_bytes(finished[path])
        assert not canary.exists(), path
    (folder / "result.json").unlink()
    (folder / "checkpoints/last.ckpt").parent.mkdir(exist_ok=True)
    (folder / "checkpoints/last.ckpt").write_bytes(payload)
    message = _message(lambda: small_runs.run(tmp_path / "work", "existing=resume"))
    assert "last.ckpt" in message and not canary.exists()


# ----------------------------------------------------------------------------
# Names that come from files do not lead out of the folder to which results are written.


NAMES = (
    *("../../x", "/etc/x", "..", ".", "", "a/b", "a\\b", "a\0b", "a\nb", "x" * 5000, "猫" * 500),
    *("~/x", "$HOME", "C:\\x", ".hidden", "\u2028", "%2e%2e%2f", "..\\..", "CON", "-rf"),
)


def _inside(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files(name: str, tmp_path: Path) -> None:
    for stem in (file_stem(name), f"x{slug(name)}"):
        (tmp_path / "out").mkdir(exist_ok=True)
        write_text(tmp_path / "out" / f"{stem}.txt", "x")
        assert (tmp_path / "out" / f"{stem}.txt").parent.resolve() == tmp_path / "out"
    assert _inside(tmp_path) == _inside(tmp_path / "out")


@pytest.mark.parametrize("name", NAMES)
def test_names_of_suites(name: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        "name: a\nlanguage: en\nregions: [x]\npredictions: {}\nitems: {1: {c: word}}\n",
        encoding="utf-8",
    )
    suite = replace(load_compact(path), name=name)
    folder = tmp_path / "in" / "out"
    written = export(suite, folder)
    assert written.parent == folder and _inside(tmp_path) == {written, path}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_runs_of_others(name: str) -> None:
    """``data.name`` and ``model.name`` in the config.yaml of a run."""
    run = SimpleNamespace(
        name=RunName(run="a", model=name, corpus=name, seed=1),
        path=Path("a"),
        settings=SimpleNamespace(model=SimpleNamespace(name=name)),
        mark="",
    )
    (place,) = file_places(cast(Any, [run]))
    assert not place.is_absolute() and ".." not in place.parts and len(place.parts) == 1
    assert len(place.name.encode()) < 255 and "\0" not in place.name


@pytest.mark.parametrize("name", NAMES)
def test_names_of_analyses(name: str, tmp_path: Path) -> None:
    analysis = SimpleNamespace(name=name, title="x")
    result = SimpleNamespace(analysis=analysis, sentences=[], notes=[], skipped=[], is_empty=True)
    folder = tmp_path / "in" / "out"
    write_result(folder, cast(Any, result))
    assert {path.parent for path in _inside(tmp_path)} == {folder}


def test_links_in_an_output_folder_are_replaced_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine", encoding="utf-8")
    (tmp_path / "out").mkdir()
    link = tmp_path / "out" / "table.txt"
    link.symlink_to(outside)
    write_text(link, "results")
    assert outside.read_text(encoding="utf-8") == "mine"
    assert not link.is_symlink() and link.read_text(encoding="utf-8") == "results"


def test_a_linked_folder_among_results_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine", encoding="utf-8")
    out = tmp_path / "out"
    with results_folder(out, about={}) as folder:
        write_text(folder / "a.txt", "first")
    (out / ".link").symlink_to(outside)
    with results_folder(out, about={}) as folder:
        write_text(folder / "a.txt", "second")
    assert (outside / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert not (out / ".link").exists()


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", ""])
def test_a_manifest_names_only_files_of_its_folder(name: str, tmp_path: Path) -> None:
    content = (
        '{"kind": "run", "format": 1, "fingerprint": "", "created": "", "versions": "", '
        f'"about": {{}}, "files": {{"{name}": {{"size": 1, "sha256": ""}}}}}}'
    )
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    with pytest.raises(GardenpathError, match="not a path within the folder"):
        read_manifest(tmp_path, kind="run", format=1, remedy="train again")
