"""Evaluate trained models.

    python evaluate.py suite=mandarin
    python evaluate.py task=perplexity run=runs/ptb_sample
    python evaluate.py task=surprisal run=runs/ptb_sample/rnng/seed1 input=sentences.txt

Each run folder holds all that is needed of its model; `run` may name one or a folder above many.
"""

from __future__ import annotations

import sys

import hydra
from omegaconf import DictConfig

from gardenpath.console import exit_on_error
from gardenpath.settings.compose import check_command_line, plain
from gardenpath.tasks import (
    corpus,
    parse,
    perplexity,
    rescore,
    surprisal,
)
from gardenpath.tasks import (
    list_suites as suites,
)
from gardenpath.tasks import (
    score_suites as suite,
)

TASKS = {
    "perplexity": perplexity.run,
    "surprisal": surprisal.run,
    "parse": parse.run,
    "suite": suite.run,
    "suites": suites.run,
    "rescore": rescore.run,
    "corpus": corpus.run,
}


@hydra.main(version_base="1.3", config_path="conf", config_name="evaluate")
def run(config: DictConfig) -> None:
    """Hydra calls this with the composed configuration."""
    with exit_on_error():
        settings = plain(config)
        name = settings["task"]["name"]
        if name == "auto":
            name = "perplexity" if settings["suite"] is None else "suite"
        TASKS[name](settings)


def main() -> None:
    with exit_on_error():
        check_command_line("evaluate", sys.argv[1:])
    run()


if __name__ == "__main__":
    main()
