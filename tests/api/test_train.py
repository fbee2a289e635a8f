"""``gp.train``: the settings of the command line, or typed ones."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gardenpath as gp
from gardenpath.cli import train_job
from gardenpath.settings.compose import ConfigSource, composed, load_settings
from tests import small_runs
from tests.integration.commands import call
from tests.small_runs import NEURAL, arguments


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
