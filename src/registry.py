"""Tasks and model families by name, and the module that has each: what is not here is never run.

A run folder or a command line names an entry of these tables, never a module, so that no file can
choose code. Entries are imported when they are asked for. The packages beside the core
(``adopted``, ``annotate``, ``playground``, ``sharing``, ``studies``) are found here and imported by
nothing in the core: if the folder of one is deleted, its entries are gone, and the rest goes on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

_PACKAGE = Path(__file__).resolve().parent
_Value = TypeVar("_Value")

# The settings of each task of evaluate.py, and the function that performs it.
TASKS = {
    "perplexity": ("settings.tasks:PerplexityTask", "tasks.score:run_perplexity"),
    "surprisal": ("settings.tasks:SurprisalTask", "tasks.score:run_surprisal"),
    "parse": ("settings.tasks:ParseTask", "tasks.score:run_parse"),
    "suite": ("settings.tasks:SuiteTask", "tasks.suites:run_suites"),
    "suites": ("settings.tasks:SuitesTask", "tasks.materials:run_list_suites"),
    "new_suite": ("settings.tasks:NewSuiteTask", "tasks.materials:run_new_suite"),
    "rescore": ("settings.tasks:RescoreTask", "tasks.suites:run_rescore"),
    "corpus": ("settings.tasks:CorpusTask", "tasks.runs:run_corpus"),
    "export": ("settings.tasks:ExportTask", "tasks.runs:run_export"),
    "share": ("settings.tasks:ShareTask", "sharing.share:run_share"),
    "annotate": ("annotate.raw:AnnotateTask", "annotate.annotation:run_annotate"),
    "merge": ("settings.tasks:MergeTask", "tasks.runs:run_merge"),
    "runs": ("settings.tasks:RunsTask", "tasks.runs:run_list_runs"),
    "study": ("settings.tasks:StudyTask", "studies.replicate:run_study"),
    "adopt": ("settings.tasks:AdoptTask", "tasks.runs:run_adopt"),
}

# Families of models that are trained here.
TRAINED_FAMILIES = {
    "unigram": "models.ngram.model:UnigramFamily",
    "ngram": "models.ngram.model:KneserNeyFamily",
    "lstm": "models.sequential.family:LstmFamily",
    "transformer": "models.sequential.family:TransformerFamily",
    "rnng": "models.syntactic.family:RnngFamily",
    "plm": "models.syntactic.family:PlmFamily",
}

# Families of models that others trained.
ADOPTED_FAMILIES = {
    "hf": "adopted.families:HfFamily",
    "masked": "adopted.families:MaskedFamily",
    "table": "adopted.tables:TableFamily",
    "arpa": "models.ngram.arpa:ArpaFamily",
    "grnn": "adopted.families:GrnnFamily",
}

# Readers of the materials and surprisals that studies published, in the layouts of their authors.
LAYOUTS = {"import": "studies.layouts:import_layout"}


class Registered(Mapping[str, _Value]):
    """The entries of a table whose packages are there, each imported when it is first asked for."""

    def __init__(
        self, places: Mapping[str, str], convert: Callable[[Any], _Value] = lambda value: value
    ) -> None:
        self._places = places
        self._convert = convert
        self._values: dict[str, _Value] = {}

    def __getitem__(self, name: str) -> _Value:
        if not self._is_there(name):
            raise KeyError(name)
        if name not in self._values:
            module, _, attribute = self._places[name].partition(":")
            value = getattr(importlib.import_module(f"gardenpath.{module}"), attribute)
            self._values[name] = self._convert(value)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return filter(self._is_there, self._places)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _is_there(self, name: object) -> bool:
        if not isinstance(name, str) or name not in self._places:
            return False
        module = self._places[name].partition(":")[0]
        return (_PACKAGE / module.split(".")[0] / "__init__.py").is_file()
