"""Train a model on a corpus: from typed settings to a complete run folder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gardenpath.console import console, log_to, show_progress
from gardenpath.data.preparation import PreparedCorpus, write_words
from gardenpath.data.sentence import Split
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.models.families import FAMILIES
from gardenpath.models.family import EstimatedFamily, NeuralFamily, NeuralSettings
from gardenpath.runs.run import Run
from gardenpath.runs.split_scores import score_split
from gardenpath.settings.check import plain
from gardenpath.settings.compose import load_settings
from gardenpath.settings.train_settings import TrainSettings
from gardenpath.store.run_claim import ClaimedRun, claim
from gardenpath.store.run_folder import RUN_FORMAT, RunFolder

# Loss, perplexity and so on, by split.
Metrics = dict[str, dict[str, float]]

_SCORED: tuple[Split, ...] = ("valid", "test")


def train(*settings: TrainSettings | str) -> Metrics:
    """Prepare the corpus, train the model, write its run folder, and return its metrics.

    The settings are those of the command line, ``train("model=rnng", "data=ptb_sample")``, or one
    :class:`TrainSettings`. With ``existing=resume``, an interrupted run is continued, and a
    finished run is left unchanged unless it may now train for more epochs.
    """
    return _train(_typed(settings))


def _typed(settings: Sequence[TrainSettings | str]) -> TrainSettings:
    if len(settings) == 1 and isinstance(settings[0], TrainSettings):
        return settings[0]
    overrides = [one for one in settings if isinstance(one, str)]
    if len(overrides) < len(settings):
        raise TypeError("train() takes strings such as 'model=rnng', or one TrainSettings")
    found: TrainSettings = load_settings("train", overrides)
    return found


def _train(settings: TrainSettings) -> Metrics:
    folder = RunFolder(Path(settings.run_dir))
    config = _config_of(settings)
    with claim(folder, config, existing=settings.existing or "refuse") as claimed:
        if claimed.is_done:
            text = f"{folder.path} is finished already"
            console.print(text, highlight=False, soft_wrap=True)
            return folder.result()
        preparation = settings.data.preparation()
        corpus = preparation.prepare(Path(settings.paths.cache), progress=show_progress)
        family = FAMILIES[settings.model.family]
        if isinstance(family, EstimatedFamily):
            _estimate(settings, family, corpus, claimed)
        else:
            assert isinstance(family, NeuralFamily)
            _train_network(settings, family, corpus, claimed)
        run = Run(folder.path, device="cpu")
        metrics: Metrics = {
            split: score_split(run, preparation, corpus, split).as_metrics() for split in _SCORED
        }
        claimed.finish(metrics)
    return metrics


def _config_of(settings: TrainSettings) -> dict[str, Any]:
    """Return what config.yaml keeps of the settings: all that say what the run is."""
    content: dict[str, Any] = plain(settings)
    del content["existing"]
    return {"format": RUN_FORMAT, **content}


def _begin(
    claimed: ClaimedRun, settings: TrainSettings, corpus: PreparedCorpus, vocabulary: Vocabulary
) -> None:
    claimed.begin(
        _config_of(settings), lambda folder: write_words(folder, vocabulary, corpus.subwords)
    )


def _estimate(
    settings: TrainSettings, family: EstimatedFamily, corpus: PreparedCorpus, claimed: ClaimedRun
) -> None:
    """Estimate an n-gram model."""
    model, vocabulary = family.estimate(settings.model, corpus)
    _begin(claimed, settings, corpus, vocabulary)
    model.save(claimed.folder.weights_path)


def _train_network(
    settings: TrainSettings, family: NeuralFamily, corpus: PreparedCorpus, claimed: ClaimedRun
) -> None:
    """Train a neural model."""
    from gardenpath.models.training.data_module import CorpusDataModule
    from gardenpath.models.training.lightning_module import LanguageModelling
    from gardenpath.models.training.loggers import make_loggers
    from gardenpath.models.training.trainer import seed_everything, train_network

    model, seed, folder = settings.model, settings.seed, claimed.folder
    assert isinstance(model, NeuralSettings)
    seed_everything(seed)
    network: Any = family.build(model, corpus.vocabulary)
    _begin(claimed, settings, corpus, corpus.vocabulary)
    with log_to(folder.log_path):
        train_network(
            module=LanguageModelling(network=network, optimiser=model.optimiser, seed=seed),
            data=CorpusDataModule(
                corpus=corpus,
                make_collate=functools.partial(
                    family.make_collate, model, vocabulary=corpus.vocabulary
                ),
                batches=model.batches,
                seed=seed,
            ),
            folder=folder,
            settings=settings.trainer,
            resume=claimed.may_continue,
            loggers=make_loggers(settings.logger, folder=folder.path, config=plain(settings)),
        )
