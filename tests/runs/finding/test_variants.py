"""Runs of one model whose settings differ are not averaged."""

from __future__ import annotations

from pathlib import Path

import gardenpath as gp
from tests import small_runs
from tests.runs.own_suite import agreement


def trained(folder: Path, name: str, *overrides: str) -> Path:
    path = folder / "runs" / name
    return small_runs.run(folder, "model=ngram", f"run_dir={path}", *overrides).path


def models(runs: gp.Runs) -> list[str]:
    return [run.name.model for run in runs]


def test_the_settings_that_differ_are_part_of_the_name(tmp_path: Path) -> None:
    first = trained(tmp_path, "a", "model.network.order=2")
    trained(tmp_path, "b", "model.network.order=3")
    trained(tmp_path, "c", "model.network.order=3", "seed=2")
    assert models(gp.find(tmp_path / "runs")) == [
        "ngram (order=2)", "ngram (order=3)", "ngram (order=3)",
    ]  # fmt: skip
    assert models(gp.find(first)) == ["ngram"]


def test_seeds_and_machines_do_not_matter(tmp_path: Path) -> None:
    trained(tmp_path, "a")
    trained(tmp_path, "b", "seed=2", "trainer=auto", f"paths.cache={tmp_path / 'elsewhere'}")
    assert models(gp.find(tmp_path / "runs")) == ["ngram", "ngram"]


def test_they_have_rows_of_their_own(tmp_path: Path) -> None:
    paths = [trained(tmp_path, str(count), f"data.min_count={count}") for count in (1, 2)]
    suite = agreement()
    results = gp.evaluate([gp.load(path) for path in paths], suite, allow_unknown=True)
    assert set(results.summary["model"]) == {"ngram (min_count=1)", "ngram (min_count=2)"}
    assert set(results.summary["seeds"]) == {1}
