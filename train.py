"""Train a language model.

    python train.py model=lstm data=ptb_sample seed=3
    python train.py -m model=rnng,transformer seed=1,2,3

The run folder that comes out of it (runs/<data>/<model>/seed<k>) is all that evaluate.py needs.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig

from gardenpath.console import exit_on_error, log_to, show_progress
from gardenpath.data.batches.batch_loader import BatchSettings
from gardenpath.data.preparation import PreparedCorpus, write_words
from gardenpath.models.families import FAMILIES
from gardenpath.models.training.loggers import make_loggers
from gardenpath.models.training.optimisation import OptimiserSettings
from gardenpath.models.training.trainer_settings import TrainerSettings
from gardenpath.runs.split_scores import score_split
from gardenpath.settings.compose import Settings, check_command_line, make_preparation, plain
from gardenpath.store.run_claim import ClaimedRun, claim
from gardenpath.store.run_folder import RunFolder


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def run(config: DictConfig) -> None:
    """Hydra calls this once for each job of a sweep."""
    with exit_on_error():
        train(plain(config))


def train(settings: Settings) -> None:
    """Prepare the corpus, train the model, and leave a complete run folder."""
    folder = RunFolder(Path(settings["run_dir"]))
    with claim(
        folder, settings, resume=settings["resume"], overwrite=settings["overwrite"]
    ) as claimed:
        if claimed.is_done:
            print(f"{folder.path} is finished already")
            return
        preparation = make_preparation(settings["data"])
        corpus = preparation.prepare(Path(settings["paths"]["cache"]), progress=show_progress)
        if FAMILIES[settings["model"]["family"]].is_neural:
            train_neural(settings, corpus, claimed)
        else:
            estimate(settings, corpus, claimed)
        result = {
            split: score_split(folder, preparation, corpus, split).as_metrics()
            for split in ("valid", "test")
        }
        claimed.finish(result)
    for name, value in result["test"].items():
        if name.endswith("perplexity"):
            print(f"{folder.path}: test {name.replace('_', ' ')} {value:.3f}")


def estimate(settings: Settings, corpus: PreparedCorpus, claimed: ClaimedRun) -> None:
    """Estimate an n-gram model."""
    model = settings["model"]
    estimator = FAMILIES[model["family"]].build(**model["network"])
    ngram, vocabulary = estimator.estimate(corpus)
    claimed.begin(settings, lambda folder: write_words(folder, vocabulary, corpus.subwords))
    with log_to(claimed.folder.log_path):
        ngram.save(claimed.folder.weights_path)


def train_neural(settings: Settings, corpus: PreparedCorpus, claimed: ClaimedRun) -> None:
    """Train a neural model."""
    # Lightning takes seconds to load; --help and counting n-grams need not wait for it.
    from gardenpath.models.training.data_module import CorpusDataModule
    from gardenpath.models.training.lightning_module import LanguageModelling
    from gardenpath.models.training.trainer import seed_everything, train_network

    model, seed = settings["model"], settings["seed"]
    family, vocabulary = FAMILIES[model["family"]], corpus.vocabulary
    seed_everything(seed)
    network = family.build(**family.dimensions(vocabulary), **model["network"])
    claimed.begin(settings, lambda path: write_words(path, vocabulary, corpus.subwords))
    folder = claimed.folder
    with log_to(folder.log_path):
        train_network(
            module=LanguageModelling(
                network=network, optimiser=OptimiserSettings(**model["optimiser"]), seed=seed
            ),
            data=CorpusDataModule(
                corpus=corpus,
                make_collate=functools.partial(
                    family.make_collate, vocabulary=vocabulary, settings=model["network"]
                ),
                batches=BatchSettings(**model["batches"]),
                seed=seed,
            ),
            folder=folder,
            settings=TrainerSettings(**settings["trainer"]),
            resume=settings["resume"],
            loggers=make_loggers(settings["logger"], folder=folder.path, config=settings),
        )


def main() -> None:
    with exit_on_error():
        check_command_line("train", sys.argv[1:])
    run()


if __name__ == "__main__":
    main()
