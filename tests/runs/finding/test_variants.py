"""Runs of one model whose settings differ are not averaged."""

from __future__ import annotations

from pathlib import Path

import gardenpath as gp
from gardenpath.settings.compose import load_settings
from gardenpath.tasks.output import asked_runs
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


def test_sizes_of_generated_corpora_are_settings_of_the_model(tmp_path: Path) -> None:
    toy = ("data=toy_english", "data.reader.valid=5", "data.reader.test=5", "data.root=null")
    for size in (20, 40):
        trained(tmp_path, str(size), *toy, f"data.reader.train={size}")
    found = gp.find(tmp_path / "runs")
    assert models(found) == ["ngram (train=20)", "ngram (train=40)"]


def test_one_name_for_two_corpora(tmp_path: Path) -> None:
    """The corpora of two folders are told apart, the same corpus in two folders is not."""
    small_runs.write_corpus(tmp_path / "corpus")
    small_runs.write_corpus(tmp_path / "same")
    small_runs.write_corpus(tmp_path / "other", train_sentences=30)
    trained(tmp_path, "a")
    trained(tmp_path, "b", f"data.root={tmp_path / 'same'}", "seed=2")
    assert models(gp.find(tmp_path / "runs")) == ["ngram", "ngram"]
    trained(tmp_path, "c", f"data.root={tmp_path / 'other'}")
    first, second = (f"ngram (root={tmp_path / name})" for name in ("corpus", "other"))
    assert models(gp.find(tmp_path / "runs")) == [first, first, second]


def test_a_corpus_that_was_changed_in_its_folder(tmp_path: Path) -> None:
    trained(tmp_path, "a")
    small_runs.write_corpus(tmp_path / "corpus", train_sentences=30)
    trained(tmp_path, "b")
    first, second = gp.find(tmp_path / "runs")
    assert first.name.model != second.name.model
    assert second.name.model == f"ngram (vocabulary={second.vocabulary.content_hash[:8]})"


def test_a_damaged_vocabulary_is_not_another_corpus(tmp_path: Path) -> None:
    trained(tmp_path, "a")
    damaged = trained(tmp_path, "b", "seed=2") / "vocabulary.json"
    damaged.write_bytes(damaged.read_bytes().replace(b"cat", b"bat"))
    assert models(gp.find(tmp_path / "runs")) == ["ngram", "ngram"]


def test_settings_of_skipped_runs_are_not_part_of_names(tmp_path: Path) -> None:
    trained(tmp_path, "a", "model.network.order=2")
    weights = trained(tmp_path, "b", "model.network.order=3") / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    given = ["task=perplexity", f"run={tmp_path / 'runs'}", f"output={tmp_path / 'out'}"]
    found = asked_runs(load_settings("evaluate", given))
    assert [run.name.model for run in found] == ["ngram"]
    assert [one.state for one in found.skipped] == ["damaged"]
