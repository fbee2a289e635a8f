"""Train a model on a corpus: from typed settings to a complete run folder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gardenpath.console import console, log_to, quiet_libraries, show_counting
from gardenpath.data.preparation import PreparedCorpus, write_words
from gardenpath.data.sentence import Split
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.errors import DivergedError
from gardenpath.models.family import FAMILIES, NeuralFamily, NeuralSettings
from gardenpath.models.ngram.model import EstimatedFamily
from gardenpath.models.training.checkpoints import StopSignals, stop_signals
from gardenpath.models.training.distributed import ALONE, Placement, placed
from gardenpath.models.weights import require_finite
from gardenpath.runs.distributed import Orders, Team, following, leading
from gardenpath.runs.perplexity import score_split
from gardenpath.runs.run import Run
from gardenpath.settings.compose import load_settings
from gardenpath.settings.schema import plain
from gardenpath.settings.train import TrainSettings
from gardenpath.store.run_claim import ClaimedRun, claim, failures_recorded
from gardenpath.store.run_folder import (
    LOG_FILE,
    RUN_FORMAT,
    WEIGHTS_FILE,
    RunFolder,
    divergence,
    read_failure,
    require_whole,
)

# Loss, perplexity and so on, by split.
Metrics = dict[str, dict[str, float]]

_SCORED: tuple[Split, ...] = ("valid", "test")


def train(*settings: TrainSettings | str) -> Metrics:
    """Prepare the corpus, train the model, write its run folder, and return its metrics.

    The settings are those of the command line, ``train("model=rnng", "data=ptb_sample")``, or one
    :class:`TrainSettings`. With ``existing=resume``, an interrupted run is continued, and a
    finished run is left unchanged unless it may now train for more epochs.

    If ``torchrun`` or ``srun`` has started several processes for the training, each of them calls
    this function; the first one returns the metrics, and the others return nothing.
    """
    chosen = _typed(settings)
    is_neural = isinstance(FAMILIES[chosen.model.family], NeuralFamily)
    placement = placed(chosen.trainer)
    if placement.rank == 0:
        return _train(chosen, placement if is_neural else ALONE)
    if is_neural:
        _follow(chosen, placement)
    return {}


def _typed(settings: Sequence[TrainSettings | str]) -> TrainSettings:
    if len(settings) == 1 and isinstance(settings[0], TrainSettings):
        return settings[0]
    overrides = [setting for setting in settings if isinstance(setting, str)]
    if len(overrides) < len(settings):
        raise TypeError("train() takes strings such as 'model=rnng', or one TrainSettings")
    composed: TrainSettings = load_settings("train", overrides)
    return composed


def _train(settings: TrainSettings, placement: Placement) -> Metrics:
    folder = RunFolder(Path(settings.run_dir))
    config = _config_of(settings)
    with (
        stop_signals(folder) as stop,
        leading(placement, settings) as team,
        claim(folder, config, existing=settings.existing or "refuse") as claimed,
    ):
        if claimed.is_done:
            _require_useful(folder)
            text = f"{folder.path} is finished already"
            console.print(text, highlight=False, soft_wrap=True)
            return folder.result()
        if claimed.continues:
            _require_not_diverged(folder)
        with failures_recorded(claimed):
            return _fill(settings, claimed, team, stop)


def _fill(settings: TrainSettings, claimed: ClaimedRun, team: Team, stop: StopSignals) -> Metrics:
    """Train the model of a claimed run folder, and write its results."""
    preparation = settings.data.preparation()
    corpus = preparation.prepare(
        Path(settings.paths.cache),
        progress=show_counting,
        processes=settings.paths.preparation_processes,
    )
    stop.check()
    family = FAMILIES[settings.model.family]
    if isinstance(family, EstimatedFamily):
        _estimate(settings, family, corpus, claimed)
    else:
        assert isinstance(family, NeuralFamily)
        _train_network(settings, family, corpus, claimed, team, stop)
    run = Run(claimed.folder.path, device="cpu")
    metrics: Metrics = {
        split: score_split(run, preparation, corpus, split).as_metrics() for split in _SCORED
    }
    require_finite(run.trained.network(), metrics, claimed.folder)
    stop.check()
    claimed.finish(metrics)
    return metrics


def _require_useful(folder: RunFolder) -> None:
    """Refuse to skip a finished run whose files are damaged or whose weights are of no use."""
    require_whole(folder)
    if problem := divergence(folder):
        raise DivergedError(problem)


def _require_not_diverged(folder: RunFolder) -> None:
    """Refuse to resume a run that has diverged: the same settings would end in the same way."""
    failure = read_failure(folder)
    if failure is not None and failure.kind == "diverged":
        raise DivergedError(
            f"{folder.path}: is not resumed, because it would diverge again: "
            f"{failure.said_of(folder)}",
            step=failure.step,
        )


def _config_of(settings: TrainSettings) -> dict[str, Any]:
    """Return what config.yaml keeps of the settings: all that say what the run is."""
    content: dict[str, Any] = plain(settings)
    del content["existing"]
    return {"format": RUN_FORMAT, **content}


def _begin(
    claimed: ClaimedRun, settings: TrainSettings, corpus: PreparedCorpus, vocabulary: Vocabulary
) -> None:
    claimed.begin(
        _config_of(settings),
        lambda folder: write_words(folder, vocabulary, corpus.subwords),
        corpus=corpus.folder.name,
    )


def _estimate(
    settings: TrainSettings, family: EstimatedFamily, corpus: PreparedCorpus, claimed: ClaimedRun
) -> None:
    """Estimate an n-gram model."""
    model, vocabulary = family.estimate(settings.model, corpus)
    _begin(claimed, settings, corpus, vocabulary)
    model.save(claimed.folder / WEIGHTS_FILE)


def _train_network(
    settings: TrainSettings,
    family: NeuralFamily,
    corpus: PreparedCorpus,
    claimed: ClaimedRun,
    team: Team,
    stop: StopSignals,
) -> None:
    """Train a neural model."""
    from gardenpath.models.training.settings import end_loggers, make_loggers

    folder = claimed.folder
    network = _network(settings, family, corpus)
    _begin(claimed, settings, corpus, corpus.vocabulary)
    orders = Orders(corpus=corpus.folder, resume=claimed.may_continue)
    with log_to(folder / LOG_FILE), team.together(orders):
        loggers = make_loggers(settings.logger, folder=folder.path, config=plain(settings))
        try:
            _fit(settings, family, corpus, network, orders, team.placement, stop, loggers)
        finally:
            for text in end_loggers(loggers):
                console.print(text, highlight=False, soft_wrap=True)


def _follow(settings: TrainSettings, placement: Placement) -> None:
    """Train a neural model in one of the processes that follow the first one."""
    family = FAMILIES[settings.model.family]
    assert isinstance(family, NeuralFamily)
    folder = RunFolder(Path(settings.run_dir))
    with (
        stop_signals(folder, leads=False) as stop,
        following(placement, settings) as orders,
        quiet_libraries(),
    ):
        if orders is None:
            return
        corpus = PreparedCorpus(orders.corpus)
        network = _network(settings, family, corpus)
        _fit(settings, family, corpus, network, orders, placement, stop)


def _network(settings: TrainSettings, family: NeuralFamily, corpus: PreparedCorpus) -> Any:
    """Return the network with its initial weights, which depend on the random seed alone.

    Classes of words, if the network has any, follow from the training split.
    """
    from gardenpath.models.output import learn_classes
    from gardenpath.models.training.trainer import seed_everything

    seed_everything(settings.seed)
    network = family.build(settings.model, corpus.vocabulary)
    learn_classes(network, corpus.split("train"))
    return network


def _fit(
    settings: TrainSettings,
    family: NeuralFamily,
    corpus: PreparedCorpus,
    network: Any,
    orders: Orders,
    placement: Placement,
    stop: StopSignals,
    loggers: Sequence[Any] = (),
) -> None:
    """Train a network, in this process or together with the others."""
    from gardenpath.models.training.trainer import (
        CorpusDataModule,
        LanguageModelling,
        train_network,
    )

    model, seed = settings.model, settings.seed
    assert isinstance(model, NeuralSettings)
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
        folder=RunFolder(Path(settings.run_dir)),
        settings=settings.trainer,
        resume=orders.resume,
        stop=stop,
        loggers=loggers,
        placement=placement,
    )
