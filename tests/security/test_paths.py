"""Names that come from files do not lead out of the folder to which results are written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

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
