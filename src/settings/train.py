"""Settings of train.py, of run folders, and the paths that both scripts share.

``settings.compose`` reads them from conf/ and the command line, runs from their folders. The
docstrings below fields are what --help and the reference show. Nothing here trains, and nothing
may import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gardenpath.data.corpus import DataSettings
from gardenpath.models.family import (
    ADOPTED_MODELS,
    FAMILIES,
    MODELS,
    AdoptedSettings,
    ModelSettings,
)
from gardenpath.models.training.settings import LOGGERS, LoggerSettings, NoLogger, TrainerSettings
from gardenpath.settings.schema import PositiveInt, Seed, Tagged
from gardenpath.store.run_claim import Existing


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Folders of runs, corpora and caches."""

    runs: str = "runs"
    """Run folders are written below this folder."""
    corpora: str = "corpora"
    """Corpora are read below this folder, each in a folder of its name, unless data.root is set."""
    cache: str = ".cache/corpora"
    """Folder of prepared corpora."""
    surprisals: str = ".cache/surprisals.sqlite"
    """File of computed surprisals, so that no sentence is scored twice."""
    preparation_processes: PositiveInt | None = None
    """Number of processes that read and clean a new corpus; null uses all cores for large
    corpora. The result is the same."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """Everything that determines a training run."""

    # Short names that users may write instead of longer ones.
    SHORT: ClassVar[Mapping[str, str]] = {
        "model.size": "model.network.size",
        "data.parts": "data.reader.parts",
    }
    # Settings that hold corpora by name and are set by a list of choices of data=.
    CORPORA: ClassVar[frozenset[str]] = frozenset({"data.reader.parts"})
    # Settings whose lists may be written without brackets.
    LISTS: ClassVar[frozenset[str]] = frozenset()
    TEXTS: ClassVar[frozenset[str]] = frozenset()
    PLURALS: ClassVar[frozenset[str]] = frozenset()
    FORMULAS: ClassVar[frozenset[str]] = frozenset()

    data: DataSettings
    """Corpus."""
    model: Annotated[ModelSettings, Tagged("family", MODELS)]
    """Model."""
    trainer: TrainerSettings = TrainerSettings()
    """Duration and hardware of training."""
    logger: Annotated[LoggerSettings, Tagged("kind", LOGGERS)] = NoLogger()
    """Where to send metrics, in addition to the run folder."""
    paths: Paths = Paths()
    """Folders of runs and caches."""
    seed: Seed = 1
    """Random seed of the initial weights, the order of batches and dropout."""
    existing: Existing | None = None
    """What to do if the folder contains a run: skip leaves a finished run alone and continues an
    interrupted one, resume also continues a finished run if trainer.max_epochs was raised,
    overwrite replaces it, refuse is an error. null is skip in a sweep and refuse elsewhere. Runs
    with other settings are refused by skip and resume."""
    run_dir: str
    """Run folder."""

    def unavailable(self) -> list[str]:
        """Return a mistake if the model cannot be trained."""
        if self.model.family not in ADOPTED_MODELS:
            return []
        kind = self.model.family
        return [
            f"model={kind} is not trained here; adopt it with 'evaluate.py task=adopt model={kind}'"
        ]

    def mistakes(self) -> list[str]:
        """Return the mistakes in the combination of corpus and model."""
        mistakes = []
        if FAMILIES[self.model.family].needs_trees and not self.data.reader.has_trees:
            mistakes.append(
                f"model={self.model.name} learns from trees, but data={self.data.name} has none; "
                "use a treebank, or model=lstm, transformer or ngram"
            )
        is_factored = getattr(self.model.network, "output", "full") == "factored"
        if is_factored and self.data.subwords.algorithm != "none":
            mistakes.append(
                "model.network.output=factored needs whole words, but data.subwords.algorithm="
                f"{self.data.subwords.algorithm} divides them; use output=full, which is fast with "
                "so few pieces"
            )
        return mistakes


@dataclass(frozen=True, kw_only=True)
class AdoptedRunSettings:
    """What is known of a model that others trained: stored in its run folder."""

    model: Annotated[AdoptedSettings, Tagged("family", ADOPTED_MODELS)]
    """Model."""
    corpus: str
    """Name of the corpus it was trained on, which is not here."""
    seed: Seed = 1
    """Number of the model among those that differ in their random seeds only."""
