"""Gardenpath: train language models, compute surprisal, and test syntactic knowledge.

All public names are attributes of this package and are imported on first use::

    import gardenpath as gp

    run = gp.load("runs/ptb_sample/rnng/seed3")
    run.surprisal("the cat sat .")

Names that are not in ``gardenpath.__all__`` may change between versions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from gardenpath.data.data_settings import DataSettings as DataSettings
    from gardenpath.data.trees.brackets import parse_tree as parse_tree
    from gardenpath.data.trees.brackets import read_trees as read_trees
    from gardenpath.data.trees.tree import Tree as Tree
    from gardenpath.errors import ConfigError as ConfigError
    from gardenpath.errors import GardenpathError as GardenpathError
    from gardenpath.errors import InputError as InputError
    from gardenpath.errors import RunError as RunError
    from gardenpath.eval.search.search_settings import Unbiased as Unbiased
    from gardenpath.eval.search.search_settings import WordSync as WordSync
    from gardenpath.eval.suites.design.formula import Formula as Formula
    from gardenpath.eval.suites.design.suite import Item as Item
    from gardenpath.eval.suites.design.suite import Suite as Suite
    from gardenpath.eval.word_scorer import Scorer as Scorer
    from gardenpath.runs.adoption.adopting import adopt as adopt
    from gardenpath.runs.evaluation import evaluate as evaluate
    from gardenpath.runs.evaluation import read_suite as read_suite
    from gardenpath.runs.evaluation import score as score
    from gardenpath.runs.evaluation import suites as suites
    from gardenpath.runs.finding.loading import Runs as Runs
    from gardenpath.runs.finding.loading import find as find
    from gardenpath.runs.finding.loading import load as load
    from gardenpath.runs.results import Results as Results
    from gardenpath.runs.run import Run as Run
    from gardenpath.runs.studies.replication import Replication as Replication
    from gardenpath.runs.studies.replication import study as study
    from gardenpath.runs.training import train as train
    from gardenpath.settings.train_settings import TrainSettings as TrainSettings

# The module that defines each public name.
_HOMES = {
    "load": "runs.finding.loading",
    "find": "runs.finding.loading",
    "adopt": "runs.adoption.adopting",
    "Run": "runs.run",
    "Runs": "runs.finding.loading",
    "suites": "runs.evaluation",
    "read_suite": "runs.evaluation",
    "evaluate": "runs.evaluation",
    "score": "runs.evaluation",
    "Results": "runs.results",
    "study": "runs.studies.replication",
    "Replication": "runs.studies.replication",
    "train": "runs.training",
    "TrainSettings": "settings.train_settings",
    "DataSettings": "data.data_settings",
    "WordSync": "eval.search.search_settings",
    "Unbiased": "eval.search.search_settings",
    "Scorer": "eval.word_scorer",
    "Suite": "eval.suites.design.suite",
    "Item": "eval.suites.design.suite",
    "Formula": "eval.suites.design.formula",
    "Tree": "data.trees.tree",
    "parse_tree": "data.trees.brackets",
    "read_trees": "data.trees.brackets",
    "GardenpathError": "errors",
    "ConfigError": "errors",
    "InputError": "errors",
    "RunError": "errors",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
