"""The settings of evaluate.py: one dataclass per task, and the root that holds one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, ClassVar, Literal

from gardenpath.data.sentence import Split
from gardenpath.errors import ConfigError
from gardenpath.eval.search.search_settings import SEARCHES, SearchSettings, WordSync
from gardenpath.eval.suites.library.catalogue import ExportFormat
from gardenpath.eval.suites.scoring.outcome import TieRule
from gardenpath.models.training.training_settings import LOGGERS, LoggerSettings, NoLogger
from gardenpath.settings.bounds import NonNegativeInt, PositiveInt, Seed
from gardenpath.settings.check import Tagged
from gardenpath.settings.paths import Paths

_A_FOLDER_OF_SURPRISALS = "the folder with one folder per model"


@dataclass(frozen=True, kw_only=True)
class PerplexityTask:
    """Perplexity on a split of each run's own corpus, beside the exact grammar for toy corpora."""

    name: Literal["perplexity"] = "perplexity"
    split: Split = "test"
    """Split of each run's corpus."""
    marginal_sentences: NonNegativeInt | None = None
    """Sentences on which syntactic models are also searched: the first so many, all (null) or
    none (0)."""


@dataclass(frozen=True, kw_only=True)
class SurprisalTask:
    """Surprisal in bits of every word of the input, from every run."""

    REMEDIES: ClassVar[Mapping[str, str]] = {
        "input": "a file of sentences, or - for standard input"
    }

    name: Literal["surprisal"] = "surprisal"
    input: str
    """Sentences, plain or as bracketed trees; - is standard input."""
    end: bool = True
    """Whether the end of each sentence has a row of its own (</s>)."""
    file: str | None = None
    """Output file: .tsv, .jsonl or .parquet; null is surprisal.tsv in the output folder."""
    chunk: PositiveInt = 256
    """Sentences that are scored together; an interrupted job loses at most these."""


@dataclass(frozen=True, kw_only=True)
class ParseTask:
    """The best trees of every sentence, and labelled bracketing F1 against gold trees."""

    name: Literal["parse"] = "parse"
    input: str | None = None
    """Sentences, plain or as bracketed trees; null parses a split of each run's corpus."""
    split: Split = "test"
    """Split of each run's corpus."""
    sentences: PositiveInt | None = None
    """Number of sentences, from the first on; null takes all."""
    k_best: PositiveInt = 1
    """Trees per sentence that are written."""
    ignore_punctuation: bool = True
    """Whether punctuation is left out of F1 (EVALB's convention)."""
    convergence: bool = False
    """Whether to measure how much surprisal changes with beams two and four times as wide."""


@dataclass(frozen=True, kw_only=True)
class SuiteTask:
    """Test suites: accuracies, effects, statistics, figures and a report of every fitting run."""

    name: Literal["suite"] = "suite"
    ties: TieRule = "expectation"
    """How a tie counts: as its chance (1/2, or 1/3 of three), or by a seeded coin."""
    tie_seed: Seed = 0
    """Random seed of ties=coin."""
    report: bool = True
    """Whether statistics, figures and the HTML report are made."""
    perplexity: bool = False
    """Whether the report also shows perplexities on a split of each run's corpus."""
    split: Split = "test"
    """Split of perplexity=true."""
    perplexity_sentences: NonNegativeInt | None = 100
    """Sentences on which syntactic models are searched for perplexity=true; null takes all."""
    parsed_items: NonNegativeInt = 8
    """Items of each suite for which the report shows partial parses."""


@dataclass(frozen=True, kw_only=True)
class SuitesTask:
    """List the test suites, with counts and an example of each; export them."""

    name: Literal["suites"] = "suites"
    examples: bool = True
    """Whether an example of each suite is shown."""
    export: ExportFormat | None = None
    """Format in which the suites are written to the output folder."""


@dataclass(frozen=True, kw_only=True)
class RescoreTask:
    """Score surprisals that other models produced."""

    REMEDIES: ClassVar[Mapping[str, str]] = {"surprisals": _A_FOLDER_OF_SURPRISALS}

    name: Literal["rescore"] = "rescore"
    surprisals: str
    """Folder of surprisals, one folder per model."""
    materials: str | None = None
    """Folder of the published materials; null scores Gardenpath's own suites."""
    ties: TieRule = "expectation"
    """How a tie counts: as its chance (1/2, or 1/3 of three), or by a seeded coin."""
    tie_seed: Seed = 0
    """Random seed of ties=coin."""
    report: bool = True
    """Whether statistics, figures and the HTML report are made."""


@dataclass(frozen=True, kw_only=True)
class CorpusTask:
    """Corpora in numbers: sizes, unknown words, lengths, given words, constructions."""

    name: Literal["corpus"] = "corpus"
    words: Sequence[str] = ("himself", "herself", "themselves")
    """Words that are counted in every split, ignoring case."""
    effects: str | None = None
    """effects.csv of 'evaluate.py suite=filler_gap', to correlate licensing with frequency."""
    split: Split = "test"
    """Split of the perplexities."""
    marginal_sentences: NonNegativeInt | None = 0
    """Sentences on which syntactic models are also searched: the first so many, all (null) or
    none (0)."""


Task = (
    PerplexityTask | SurprisalTask | ParseTask | SuiteTask | SuitesTask | RescoreTask | CorpusTask
)

TASKS: Mapping[str, type[Task]] = {
    "perplexity": PerplexityTask,
    "surprisal": SurprisalTask,
    "parse": ParseTask,
    "suite": SuiteTask,
    "suites": SuitesTask,
    "rescore": RescoreTask,
    "corpus": CorpusTask,
}


@dataclass(frozen=True, kw_only=True)
class SuiteSettings:
    """A set of test suites."""

    name: str | None = None
    """Name of the set and of the folder of its results; null takes the names of the files."""
    suites: Sequence[str]
    """Names of suites, with * for any, or files of one's own."""
    in_vocabulary: bool = False
    """Whether only items are used whose words all models know."""
    items: PositiveInt | None = None
    """Items of each suite, from the first on; null takes all."""

    @property
    def label(self) -> str:
        """The name of the set or, without one, of its first file and how many follow."""
        if self.name is not None:
            return self.name
        stems = [PurePath(one).stem for one in self.suites]
        return stems[0] if len(stems) == 1 else f"{stems[0]}_and_{len(stems) - 1}_more"

    def mistakes(self) -> list[str]:
        """Whether any suite is named."""
        return [] if self.suites else ["name files, as in 'suite.suites=[mine.yaml]'"]


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """Everything that decides an evaluation."""

    # What users may write in the place of longer names.
    SHORT: ClassVar[Mapping[str, str]] = {
        "input": "task.input",
        "surprisals": "task.surprisals",
        "materials": "task.materials",
    }

    task: Annotated[Task, Tagged("name", TASKS)]
    """What to do."""
    suite: SuiteSettings | None = None
    """Test suites."""
    search: Annotated[SearchSettings, Tagged("kind", SEARCHES)] = WordSync()
    """How syntactic models are searched."""
    logger: Annotated[LoggerSettings, Tagged("kind", LOGGERS)] = NoLogger()
    """Where results are sent, beside the output folder."""
    paths: Paths = Paths()
    """Folders of runs and caches."""
    run: str
    """A run folder, or a folder above several: all finished runs below it are evaluated."""
    output: str = "results"
    """Folder of tables, figures and reports."""
    device: str = "auto"
    """Device of the models; auto takes a GPU if one is available."""

    @property
    def suites(self) -> SuiteSettings:
        """The test suites; an error where none are named."""
        if self.suite is None:
            raise ConfigError(_suite_is_missing())
        return self.suite

    def mistakes(self) -> list[str]:
        """What is wrong with the combination of settings, on this machine."""
        found = []
        if self.suite is None and isinstance(self.task, SuiteTask | RescoreTask):
            found += _suite_is_missing()
        if problem := device_problem(self.device):
            found.append(f"device={self.device}: {problem}")
        return found


def _suite_is_missing() -> list[str]:
    return ["suite is missing: try suite=mandarin, and task=suites to see them all"]


def device_problem(name: str) -> str:
    """Why a device cannot be used; empty if it can."""
    if name in ("auto", "cpu"):
        return ""
    # Here, because torch takes seconds to load and the usual names need no check.
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        return "not a device; valid: auto, cpu, cuda, cuda:1 and so on"
    if device.type == "cuda" and not torch.cuda.is_available():
        return "no GPU is available; set device=auto or device=cpu"
    return ""
