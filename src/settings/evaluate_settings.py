"""Settings of evaluate.py: one dataclass per task, and the root that contains one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal

from gardenpath.data.corpus_files import CorpusForm
from gardenpath.data.data_settings import DataSettings
from gardenpath.data.sentence import SPLITS, Split
from gardenpath.errors import ConfigError
from gardenpath.eval.published.import_settings import ConditionSource, PairingRules
from gardenpath.eval.search.search_settings import SEARCHES, SearchSettings, WordSync
from gardenpath.eval.statistics.choices import Correction
from gardenpath.eval.studies.study_parts import ItemChoice
from gardenpath.eval.suites.library.catalogue import ExportFormat
from gardenpath.eval.suites.scoring.outcome import TieRule
from gardenpath.models.training.training_settings import LOGGERS, LoggerSettings, NoLogger
from gardenpath.settings.bounds import NonNegativeInt, PositiveInt, Seed
from gardenpath.settings.check import Tagged
from gardenpath.settings.paths import Paths
from gardenpath.settings.surprisal_sources import MaterialPaths, SurprisalPaths

_A_FOLDER_OF_SURPRISALS = "the folder with one folder per model, or a table"


@dataclass(frozen=True, kw_only=True)
class PerplexityTask:
    """Perplexity on a split of each run's own corpus, or of the corpora in data= and corpora=."""

    name: Literal["perplexity"] = "perplexity"
    split: Split = "test"
    """Split of the corpora."""
    marginal_sentences: NonNegativeInt | None = None
    """Number of sentences, from the first, on which syntactic models are also scored by search;
    null uses all, 0 none."""


@dataclass(frozen=True, kw_only=True)
class SurprisalTask:
    """Surprisal in bits of every word of the input, from every run."""

    REMEDIES: ClassVar[Mapping[str, str]] = {
        "input": "a file of sentences, or - for standard input"
    }

    name: Literal["surprisal"] = "surprisal"
    input: str
    """File of sentences, plain or as bracketed trees; - reads standard input."""
    end: bool = True
    """Whether to add a row for the end of each sentence (</s>)."""
    file: str | None = None
    """Output file: .tsv, .jsonl or .parquet; null writes surprisal.tsv to the output folder."""
    chunk: PositiveInt = 256
    """Number of sentences scored together; an interrupted job loses at most one chunk."""


@dataclass(frozen=True, kw_only=True)
class ParseTask:
    """The best trees of every sentence, and labelled bracketing F1 against gold trees."""

    name: Literal["parse"] = "parse"
    input: str | None = None
    """File of sentences, plain or as bracketed trees; null parses a split of each run's corpus."""
    split: Split = "test"
    """Split of each run's corpus."""
    sentences: PositiveInt | None = None
    """Number of sentences, from the first; null uses all."""
    k_best: PositiveInt = 1
    """Number of trees written per sentence."""
    ignore_punctuation: bool = True
    """Whether to ignore punctuation in F1 (EVALB's convention)."""
    convergence: bool = False
    """Whether to measure the change of surprisal with beams two and four times as wide."""


@dataclass(frozen=True, kw_only=True)
class SuiteTask:
    """Test suites: accuracies, effects, statistics, figures and a report for all matching runs."""

    name: Literal["suite"] = "suite"
    ties: TieRule = "expectation"
    """Outcome of a tie: its expected value (1/2, or 1/3 for three values) or a seeded coin toss."""
    tie_seed: Seed = 0
    """Random seed of ties=coin."""
    report: bool = True
    """Whether to write statistics, figures and the HTML report."""
    correction: Correction | None = None
    """Adjustment of the p values of each analysis for the number of its tests; null adjusts none.
    """
    perplexity: bool = False
    """Whether the report also shows perplexities on a split of each run's corpus."""
    split: Split = "test"
    """Split for perplexity=true."""
    perplexity_sentences: NonNegativeInt | None = 100
    """Number of sentences on which syntactic models are searched for perplexity=true; null uses
    all."""
    parsed_items: NonNegativeInt = 8
    """Number of items of each suite for which the report shows partial parses."""


@dataclass(frozen=True, kw_only=True)
class SuitesTask:
    """List the test suites, with counts and an example of each; export them."""

    name: Literal["suites"] = "suites"
    examples: bool = True
    """Whether to show an example of each suite."""
    export: ExportFormat | None = None
    """Format in which to write the suites to the output folder."""


@dataclass(frozen=True, kw_only=True)
class RescoreTask:
    """Score surprisals produced by other models."""

    REMEDIES: ClassVar[Mapping[str, str]] = {"surprisals": _A_FOLDER_OF_SURPRISALS}

    name: Literal["rescore"] = "rescore"
    surprisals: SurprisalPaths
    """Folder with one folder per model, or a table; several as [A,B], or as {corpus: A, …}."""
    materials: MaterialPaths | None = None
    """Folder of the published materials, or several; null scores the suites of suite=."""
    columns: Mapping[str, str] | None = None
    """Names of columns of tables of surprisals, as {word: token, surprisal: surp}."""
    conditions: ConditionSource = "sentences"
    """Conditions of the published reflexives: from the sentences, or from the labels as published.
    """
    pairing: PairingRules = PairingRules()
    """How strictly sentences must equal those of the materials, and the unit of surprisals."""
    ties: TieRule = "expectation"
    """Outcome of a tie: its expected value (1/2, or 1/3 for three values) or a seeded coin toss."""
    tie_seed: Seed = 0
    """Random seed of ties=coin."""
    report: bool = True
    """Whether to write statistics, figures and the HTML report."""
    correction: Correction | None = None
    """Adjustment of the p values of each analysis for the number of its tests; null adjusts none.
    """


@dataclass(frozen=True, kw_only=True)
class CorpusTask:
    """Corpus statistics: sizes, out-of-vocabulary rates, lengths, word and construction counts."""

    name: Literal["corpus"] = "corpus"
    words: Sequence[str] = ("himself", "herself", "themselves")
    """Words to count in every split, ignoring case."""
    constructions: bool = True
    """Whether to count constructions in the unmodified trees of all splits (English treebanks)."""
    split: Split = "test"
    """Split of the perplexities of runs."""
    marginal_sentences: NonNegativeInt | None = 0
    """Number of sentences, from the first, on which syntactic models are also scored by search;
    null uses all, 0 none."""


@dataclass(frozen=True, kw_only=True)
class ExportTask:
    """Write the cleaned splits of corpora to files, as bracketed trees or plain text."""

    name: Literal["export"] = "export"
    form: CorpusForm = "trees"
    """Bracketed trees, as data=brackets reads them, or plain text, as data=text reads it."""
    splits: Sequence[Split] = SPLITS
    """Splits to write."""


@dataclass(frozen=True, kw_only=True)
class StudyTask:
    """A published study: tables, figures and claims, from released surprisals and from runs."""

    name: Literal["study"] = "study"
    surprisals: SurprisalPaths | None = None
    """Folder of released surprisals; several as [A,B], or as {corpus: A, …}."""
    materials: MaterialPaths | None = None
    """Folder of the published materials, or several; runs are scored on them too. Null uses the
    suites of Gardenpath."""
    conditions: ConditionSource = "sentences"
    """Conditions of the published reflexives: from the sentences, or from the labels as published.
    """
    items: ItemChoice = "paper"
    """Items of the published reflexives in Table 3: those that the paper used, or all released."""
    pairing: PairingRules = PairingRules()
    """How strictly sentences must equal those of the materials, and the unit of surprisals."""
    correction: Correction | None = None
    """Adjustment of the p values of each analysis for the number of its tests; null adjusts none.
    """
    marginal_sentences: NonNegativeInt | None = 100
    """Number of sentences, from the first, on which syntactic models are searched for perplexities
    on the first corpus in corpora=; null uses all, 0 none."""


Task = (
    PerplexityTask
    | SurprisalTask
    | ParseTask
    | SuiteTask
    | SuitesTask
    | RescoreTask
    | CorpusTask
    | ExportTask
    | StudyTask
)

TASKS: Mapping[str, type[Task]] = {
    "perplexity": PerplexityTask,
    "surprisal": SurprisalTask,
    "parse": ParseTask,
    "suite": SuiteTask,
    "suites": SuitesTask,
    "rescore": RescoreTask,
    "corpus": CorpusTask,
    "export": ExportTask,
    "study": StudyTask,
}
# Tasks to which data= and corpora= belong.
_TASKS_OF_CORPORA = (PerplexityTask, CorpusTask, ExportTask, StudyTask)


@dataclass(frozen=True, kw_only=True)
class SuiteSettings:
    """A set of test suites."""

    name: str | None = None
    """Name of the set and of its results folder; null uses the names of the files."""
    suites: Sequence[str]
    """Names of suites, in which * matches anything, or suite files."""
    in_vocabulary: bool = False
    """Whether to use only items whose words are in the vocabularies of all models."""
    items: PositiveInt | None = None
    """Number of items of each suite, from the first; null uses all."""

    @property
    def label(self) -> str:
        """The name of the set or, without one, of its first file and the number of others."""
        if self.name is not None:
            return self.name
        stems = [PurePath(one).stem for one in self.suites]
        return stems[0] if len(stems) == 1 else f"{stems[0]}_and_{len(stems) - 1}_more"

    def mistakes(self) -> list[str]:
        """Return a mistake if no suite is named."""
        return [] if self.suites else ["name files, as in 'suite.suites=[mine.yaml]'"]


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """A published study, and the suites on which runs of our own are scored for it."""

    name: str
    """Name of the study and of its results folder."""
    suites: Sequence[str]
    """Sets of suites, or names of suites, for runs; materials= replaces them by the published ones.
    """
    in_vocabulary: bool = False
    """Whether to use only items whose words are in the vocabularies of all models."""
    items: PositiveInt | None = None
    """Number of items of each suite, from the first; null uses all."""


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings:
    """Everything that determines an evaluation."""

    # Short names that users may write instead of longer ones.
    SHORT: ClassVar[Mapping[str, str]] = {
        "input": "task.input",
        "surprisals": "task.surprisals",
        "materials": "task.materials",
        "data.parts": "data.reader.parts",
        "columns": "task.columns",
        "conditions": "task.conditions",
        "unit": "task.pairing.unit",
        "reworded": "task.pairing.reworded",
        "misplaced": "task.pairing.misplaced",
        "prefixes": "task.pairing.prefixes",
        "words": "task.pairing.words",
    }
    # Settings that hold corpora by name and are set by a list of choices of data=.
    CORPORA: ClassVar[frozenset[str]] = frozenset({"corpora", "data.reader.parts"})
    # Settings whose lists may be written without brackets.
    LISTS: ClassVar[frozenset[str]] = frozenset({"run"})

    task: Annotated[Task, Tagged("name", TASKS)]
    """Task to perform."""
    suite: SuiteSettings | None = None
    """Test suites."""
    study: StudySettings | None = None
    """Published study."""
    search: Annotated[SearchSettings, Tagged("kind", SEARCHES)] = WordSync()
    """Search settings of syntactic models."""
    logger: Annotated[LoggerSettings, Tagged("kind", LOGGERS)] = NoLogger()
    """Where to send results, in addition to the output folder."""
    paths: Paths = Paths()
    """Folders of runs and caches."""
    data: DataSettings | None = None
    """Corpus of task=corpus, perplexity, export and study; null uses the corpora of the runs, in a
    study none."""
    corpora: Mapping[str, DataSettings] = field(default_factory=dict)
    """Several corpora by name, as in corpora=[ctb,xinhua] corpora.ctb.root=FOLDER."""
    run: str | Sequence[str] | None
    """A run folder, or a folder that contains several: all finished runs in it are evaluated.
    Several folders are separated by commas."""
    output: str = "results"
    """Folder of tables, figures and reports."""
    device: str = "auto"
    """Device of the models; auto uses a GPU if one is available."""

    @property
    def suites(self) -> SuiteSettings:
        """The test suites; raises an error if none are named."""
        if self.suite is None:
            raise ConfigError(_suite_is_missing())
        return self.suite

    @property
    def run_folders(self) -> tuple[str, ...]:
        """The folders in which to look for runs."""
        return (self.run,) if isinstance(self.run, str) else tuple(self.run or ())

    @property
    def named_corpora(self) -> list[DataSettings]:
        """The corpora that the settings name, each once."""
        named = [*([] if self.data is None else [self.data]), *self.corpora.values()]
        return [one for place, one in enumerate(named) if one not in named[:place]]

    @classmethod
    def absent(cls, content: Mapping[str, Any]) -> list[str]:
        """What the task requires."""
        task = content.get("task")
        name = task.get("name") if isinstance(task, Mapping) else None
        is_needed = name in ("suite", "rescore") and content.get("suite") is None
        has_corpus = content.get("data") is not None or content.get("corpora")
        missing = _suite_is_missing() if is_needed else []
        if isinstance(task, Mapping) and name == "study":
            missing += _missing_in_study(content, task)
        if name == "export" and not has_corpus:
            missing.append("data is missing: name the corpus to write, as in data=ptb_sample")
        return missing

    def mistakes(self) -> list[str]:
        """Return the mistakes in the combination of a task, runs and corpora."""
        found = []
        if self.run is None and not isinstance(self.task, StudyTask):
            found.append("run is missing: name a run folder, or a folder that contains runs")
        if self.named_corpora and not isinstance(self.task, _TASKS_OF_CORPORA):
            found.append(f"data= and corpora= have no effect on task={self.task.name}")
        names = [one.name for one in self.named_corpora]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            found.append(f"two corpora are called {twice[0]}; set the name of one of them")
        return found

    def unavailable(self) -> list[str]:
        """What this machine lacks for these settings."""
        problem = device_problem(self.device)
        return [f"device={self.device}: {problem}"] if problem else []


def _missing_in_study(content: Mapping[str, Any], task: Mapping[str, Any]) -> list[str]:
    """Return what a study lacks: its name, or surprisals and runs to compute it from."""
    if content.get("study") is None:
        return ["study is missing: try study=mandarin, reflexives, suppression or filler_gap"]
    if task.get("surprisals") is None and content.get("run") is None:
        return ["a study needs surprisals=FOLDER materials=FOLDER, or runs as in run=runs/ctb"]
    return []


def _suite_is_missing() -> list[str]:
    return ["suite is missing: try suite=mandarin, or list all suites with task=suites"]


def device_problem(name: str) -> str:
    """Return why a device cannot be used; empty if it can."""
    if name in ("auto", "cpu"):
        return ""
    # Imported here because torch takes seconds to load and the usual names need no check.
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        return "not a device; valid: auto, cpu, cuda, cuda:1 and so on"
    if device.type == "cuda" and not torch.cuda.is_available():
        return "no GPU is available; set device=auto or device=cpu"
    return ""
