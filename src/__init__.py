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

__version__ = "0.3.0"

if TYPE_CHECKING:
    from gardenpath.data.corpus import DataSettings as DataSettings
    from gardenpath.data.sentence import Scorer as Scorer
    from gardenpath.data.trees.tree import Tree as Tree
    from gardenpath.data.trees.tree import parse_tree as parse_tree
    from gardenpath.data.trees.tree import read_trees as read_trees
    from gardenpath.errors import ConfigError as ConfigError
    from gardenpath.errors import GardenpathError as GardenpathError
    from gardenpath.errors import InputError as InputError
    from gardenpath.errors import RunError as RunError
    from gardenpath.eval.search.settings import Unbiased as Unbiased
    from gardenpath.eval.search.settings import WordSync as WordSync
    from gardenpath.eval.suites.formula import Formula as Formula
    from gardenpath.eval.suites.suite import Item as Item
    from gardenpath.eval.suites.suite import Suite as Suite
    from gardenpath.runs.evaluation import evaluate as evaluate
    from gardenpath.runs.evaluation import read_suite as read_suite
    from gardenpath.runs.evaluation import score as score
    from gardenpath.runs.evaluation import suites as suites
    from gardenpath.runs.find import Runs as Runs
    from gardenpath.runs.find import adopt as adopt
    from gardenpath.runs.find import find as find
    from gardenpath.runs.find import load as load
    from gardenpath.runs.results import Results as Results
    from gardenpath.runs.run import Run as Run
    from gardenpath.runs.training import train as train
    from gardenpath.settings.train import TrainSettings as TrainSettings
    from gardenpath.studies.replicate import Replication as Replication
    from gardenpath.studies.replicate import study as study

# The module that defines each public name.
_HOMES = {
    "load": "runs.find",
    "find": "runs.find",
    "adopt": "runs.find",
    "Run": "runs.run",
    "Runs": "runs.find",
    "suites": "runs.evaluation",
    "read_suite": "runs.evaluation",
    "evaluate": "runs.evaluation",
    "score": "runs.evaluation",
    "Results": "runs.results",
    "study": "studies.replicate",
    "Replication": "studies.replicate",
    "train": "runs.training",
    "TrainSettings": "settings.train",
    "DataSettings": "data.corpus",
    "WordSync": "eval.search.settings",
    "Unbiased": "eval.search.settings",
    "Scorer": "data.sentence",
    "Suite": "eval.suites.suite",
    "Item": "eval.suites.suite",
    "Formula": "eval.suites.formula",
    "Tree": "data.trees.tree",
    "parse_tree": "data.trees.tree",
    "read_trees": "data.trees.tree",
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
