"""Results: replaced as a whole, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import RunError
from gardenpath.store.files import locked
from gardenpath.store.manifest import read_results_manifest, results_folder, verify_files

ABOUT = {"command": "evaluate.py suite=cats", "runs": {"runs/a": "0123"}, "settings": {"k": 1}}


def write(path: Path, text: str, *names: str) -> None:
    with results_folder(path, about=ABOUT) as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def names(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def refused(path: Path, match: str) -> str:
    with pytest.raises(RunError, match=match) as caught, results_folder(path, about=ABOUT):
        raise AssertionError("computed, only to be refused")
    return str(caught.value)


def test_results_have_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "results" / "cats"
    write(path, "new", "items.csv", "figures/a.svg")
    manifest = read_results_manifest(path)
    assert manifest.kind == "results" and manifest.about == ABOUT
    assert set(manifest.files) == {"items.csv", "figures/a.svg"}
    assert " torch " in manifest.versions and len(manifest.fingerprint) == 20
    verify_files(path, manifest, remedy="evaluate again")
    assert {one.name for one in path.parent.iterdir()} == {"cats", ".cats.lock"}


def test_nothing_stale_stays(tmp_path: Path) -> None:
    path = tmp_path / "cats"
    write(path, "old", "items.csv", "figures/a.svg", "statistics/old.csv")
    write(path, "new", "items.csv", "figures/b.svg")
    assert names(path) == {"items.csv", "figures/b.svg", "manifest.json"}
    assert (path / "items.csv").read_text(encoding="utf-8") == "new"


def test_a_failure_leaves_the_old_results(tmp_path: Path) -> None:
    path = tmp_path / "cats"
    write(path, "old", "items.csv")
    with pytest.raises(ZeroDivisionError), results_folder(path, about=ABOUT) as folder:
        (folder / "items.csv").write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    assert names(path) == {"items.csv", "manifest.json"}
    assert (path / "items.csv").read_text(encoding="utf-8") == "old"
    verify_files(path, read_results_manifest(path), remedy="")


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "cats").mkdir()
    write(tmp_path / "cats", "new", "items.csv")
    assert names(tmp_path / "cats") == {"items.csv", "manifest.json"}


@pytest.mark.parametrize(
    "old",
    [
        {"items.csv", "report.html", "figures/accuracy.svg", "surprisals.tsv"},
        {"items.csv", "summary.csv", "statistics/licensing.R", "word_pairs.csv"},
        {"statistics.csv", "lengths.csv", "report.html", "perplexity.csv"},
    ],
)
def test_results_of_older_versions_are_replaced(tmp_path: Path, old: set[str]) -> None:
    for name in old:
        (tmp_path / "cats" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cats" / name).write_text("old", encoding="utf-8")
    write(tmp_path / "cats", "new", "items.csv")
    assert names(tmp_path / "cats") == {"items.csv", "manifest.json"}


@pytest.mark.parametrize(
    "mine",
    [{"thesis.tex"}, {"items.csv"}, {"items.csv", "report.html", "notes.txt"}, {"report.html"}],
)
def test_other_folders_are_refused(tmp_path: Path, mine: set[str]) -> None:
    (tmp_path / "cats").mkdir()
    for name in mine:
        (tmp_path / "cats" / name).write_text("mine", encoding="utf-8")
    said = refused(tmp_path / "cats", "no evaluation wrote")
    assert "output=" in said and "move them" in said
    assert names(tmp_path / "cats") == mine


@pytest.mark.parametrize("mine", ["notes.txt", "statistics/mine.csv"])
def test_files_of_others_beside_results_are_safe(tmp_path: Path, mine: str) -> None:
    path = tmp_path / "cats"
    write(path, "old", "items.csv", "statistics/a.csv")
    (path / mine).write_text("mine", encoding="utf-8")
    assert mine in refused(path, "no evaluation wrote")
    assert (path / mine).exists() and (path / "items.csv").exists()
    (path / mine).unlink()
    (path / ".DS_Store").write_text("", encoding="utf-8")
    write(path, "new", "items.csv")


def test_a_run_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("config.yaml", "result.json", "manifest.json"):
        (tmp_path / "run" / name).write_text("{}", encoding="utf-8")
    refused(tmp_path / "run", "no evaluation wrote")


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cats").write_text("mine", encoding="utf-8")
    refused(tmp_path / "cats", "is a file")


def test_a_folder_that_is_being_written_is_refused(tmp_path: Path) -> None:
    with (
        results_folder(tmp_path / "cats", about=ABOUT) as folder,
        pytest.raises(RunError, match=r"results folder .*cats is in use by process") as caught,
        results_folder(tmp_path / "cats", about=ABOUT, wait=0.05),
    ):
        (folder / "items.csv").write_text("new", encoding="utf-8")
    assert "output=" in str(caught.value)
    with locked(tmp_path / ".cats.lock", what="it"):
        pass


def test_a_linked_folder_is_replaced_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "disk" / "results")
    write(tmp_path / "results", "new", "items.csv")
    assert (tmp_path / "results").is_symlink()
    assert names(tmp_path / "disk" / "results") == {"items.csv", "manifest.json"}
    assert (tmp_path / "disk" / ".results.lock").exists()
