"""The names of the package; ``gp.train``, ``gp.load`` and ``gp.find``."""

from __future__ import annotations

import ast
import functools
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import gardenpath as gp
from gardenpath.cli import train_job
from gardenpath.settings.compose import ConfigSource, composed, load_settings
from tests import small_runs
from tests.integration.commands import call
from tests.small_runs import NEURAL, arguments
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


# ----------------------------------------------------------------------------
# The names of the package: each resolves, for programs as for type checkers, and lazily.


SOURCE = Path(gp.__file__)
PUBLIC = [name for name in gp.__all__ if name != "__version__"]


def _for_type_checkers() -> dict[str, str]:
    """Names in the block of imports that only type checkers read, with their modules."""
    blocks = [
        node
        for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    found = {}
    for node in blocks[0].body:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names:
            assert alias.asname == alias.name, "marked as exported"
            found[alias.name] = node.module.removeprefix("gardenpath.")
    return found


def test_type_checkers_see_the_names_that_programs_see() -> None:
    assert _for_type_checkers() == gp._HOMES


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves_to_what_its_module_defines(name: str) -> None:
    value = getattr(gp, name)
    assert value.__module__ == f"gardenpath.{gp._HOMES[name]}"
    assert value.__name__ == name and value.__doc__
    assert getattr(gp, name) is value


def test_names_are_listed_and_unknown_ones_are_errors() -> None:
    assert set(dir(gp)) == set(gp.__all__) and len(gp.__all__) == len(set(gp.__all__))
    assert "__version__" in gp.__all__ and gp.__version__
    with pytest.raises(AttributeError, match="module 'gardenpath' has no attribute 'lod'"):
        _ = gp.lod


_HEAVY = ("torch", "pytorch_lightning", "matplotlib", "nltk")
# Statements in the order in which a new process executes them, and what is not loaded after each.
UNLOADED = {
    "dir(gp)": (*_HEAVY, "numpy", "pandas", "hydra", "omegaconf", "scipy", "rich"),
    "gp.load; gp.find; gp.evaluate; gp.TrainSettings; gp.WordSync": _HEAVY,
    "suites = gp.suites('reflexives/toy')": _HEAVY,
    "words = {s: [1.0] * len(s) for suite in suites for s in suite.sentences}\n"
    "gp.score(suites, {'mine': words}).summary": _HEAVY,
    "from gardenpath import *\nassert callable(load) and callable(evaluate) and Suite": (),
}


@functools.cache
def _loaded() -> list[list[str]]:
    """Modules that are loaded after each statement although they must not be."""
    lines = ["import sys", "import gardenpath as gp"]
    for statement, modules in UNLOADED.items():
        lines += [statement, f"print(*(name for name in {modules!r} if name in sys.modules))"]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return [line.split() for line in done.stdout.splitlines()]


def test_nothing_is_imported_before_it_is_used() -> None:
    assert _loaded()[0] == []


@pytest.mark.parametrize("number", range(1, len(UNLOADED) - 1))
def test_what_needs_no_model_needs_no_torch(number: int) -> None:
    assert _loaded()[number] == []


def test_all_names_can_be_imported_at_once() -> None:
    assert len(_loaded()) == len(UNLOADED)


# ----------------------------------------------------------------------------
# ``gp.train``: the settings of the command line, or typed ones.


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    small_runs.write_corpus(tmp_path / "corpus")
    return tmp_path


def test_strings_as_on_the_command_line(corpus: Path) -> None:
    metrics = gp.train(*arguments(corpus, "model=ngram", "seed=4"))
    run = gp.load(corpus / "runs" / "text" / "ngram" / "seed4")
    assert metrics == run.metrics and set(metrics) == {"valid", "test"}
    assert metrics["test"]["perplexity"] > 1
    assert set(metrics["test"]) == {"loss", "perplexity", "perplexity_without_end"}


def test_typed_settings(corpus: Path) -> None:
    settings: gp.TrainSettings = load_settings("train", arguments(corpus, "model=ngram"))
    assert isinstance(settings, gp.TrainSettings) and isinstance(settings.data, gp.DataSettings)
    first = gp.train(settings)
    order = replace(settings.model, network=replace(settings.model.network, order=1))
    other = gp.train(replace(settings, model=order, run_dir=str(corpus / "other")))
    assert other["test"]["perplexity"] != first["test"]["perplexity"]
    assert gp.load(corpus / "other").settings.model.network.order == 1


def test_numbers_are_those_of_the_command_line(corpus: Path) -> None:
    chosen = (*NEURAL, "trainer.max_epochs=1", "model=lstm")
    assert call("train.py", *arguments(corpus, *chosen, f"run_dir={corpus / 'theirs'}")) == 0
    metrics = gp.train(*arguments(corpus, *chosen, f"run_dir={corpus / 'mine'}"))
    mine, theirs = gp.load(corpus / "mine"), gp.load(corpus / "theirs")
    assert metrics == mine.metrics == theirs.metrics
    assert (mine.folder / "weights.safetensors").read_bytes() == (
        theirs.folder / "weights.safetensors"
    ).read_bytes()
    assert mine.model_key == theirs.model_key


def test_sweepers_minimise_the_validation_loss(corpus: Path) -> None:
    config = composed(ConfigSource("train"), arguments(corpus, "model=unigram"))
    loss = train_job(config)
    assert loss == gp.load(corpus / "runs" / "text" / "unigram" / "seed1").metrics["valid"]["loss"]


def test_a_finished_run_is_returned_if_it_is_resumed(corpus: Path) -> None:
    given = arguments(corpus, "model=unigram")
    first = gp.train(*given)
    with pytest.raises(gp.RunError, match=r"a finished run.*existing=skip.*existing=overwrite"):
        gp.train(*given)
    assert gp.train(*given, "existing=resume") == first


def test_mistakes_are_listed(corpus: Path) -> None:
    with pytest.raises(gp.ConfigError) as caught:
        gp.train(*arguments(corpus, "model=lsmt", "seed=-1", "trainer.max_epoch=3"))
    assert len(caught.value.mistakes) == 3
    assert not (corpus / "runs").exists()


@pytest.mark.parametrize("given", [(3,), (None,), ("model=ngram", 3), ({"model": "ngram"},)])
def test_wrong_types_are_refused(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"strings such as 'model=rnng', or one TrainSettings"):
        gp.train(*given)


def test_strings_and_settings_do_not_mix(corpus: Path) -> None:
    settings = load_settings("train", arguments(corpus, "model=unigram"))
    for given in ((settings, "seed=2"), (settings, settings)):
        with pytest.raises(TypeError, match="one TrainSettings"):
            gp.train(*given)
    assert not (corpus / "runs").exists()


def test_the_command_line_of_this_process_plays_no_part(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook, whose process has arguments of its own."""
    monkeypatch.setattr(sys, "argv", ["ipykernel", "-f", "kernel.json", "model=transformer"])
    gp.train(*arguments(corpus, "model=unigram"))
    assert gp.load(corpus / "runs" / "text" / "unigram" / "seed1").name.model == "unigram"


def test_training_works_in_any_folder(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (corpus / "work").mkdir()
    monkeypatch.chdir(corpus / "work")
    gp.train("model=unigram", "data=text", f"data.root={corpus / 'corpus'}")
    assert gp.load("runs/text/unigram/seed1").metrics
    assert sorted(path.name for path in Path.cwd().iterdir()) == [".cache", "runs"]
