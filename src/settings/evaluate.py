"""Settings of evaluate.py: suites, studies, and the root, which contains those of one task.

``settings.compose`` reads them from conf/ and the command line. The docstrings below fields are
what --help and the reference show. Mistakes in combinations are found here, before any work;
nothing here may import torch at the top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal

from gardenpath.data.corpus import DataSettings
from gardenpath.data.words.pieces import BoundaryChoice
from gardenpath.data.words.segmenting import SEGMENTERS, jieba_problem
from gardenpath.errors import ConfigError
from gardenpath.eval.search.settings import SEARCHES, SearchSettings, WordSync
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.nodes import TABLE_SUFFIXES
from gardenpath.eval.suites.pairs import PAIR_SETS, PairSource, is_pair_pattern
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.tables import GivenCriteria
from gardenpath.models.family import ADOPTED_MODELS, AdoptedSettings
from gardenpath.models.training.settings import LOGGERS, LoggerSettings, NoLogger
from gardenpath.settings.schema import PositiveInt, Tagged, nearest
from gardenpath.settings.tasks import (
    TASKS,
    TASKS_OF_CORPORA,
    AdoptTask,
    StudyTask,
    SurprisalTask,
    Task,
)
from gardenpath.settings.train import Paths

# The name of standard output in settings.
STANDARD_OUTPUT = "-"

_NO_SUITE = "suite is missing: try suite=mandarin, or list all suites with task=suites"


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
    root: str | None = None
    """Folder or archive (zip, tar.gz) of a published set of minimal pairs: suite=blimp, climp,
    sling, sling_reflexives or zhoblimp."""
    segmenter: str | None = None
    """What divides the sentences of CLiMP, SLING and ZhoBLiMP into words: characters, jieba; null
    uses characters for models that read text, and is an error for models of words."""
    leave_out: Sequence[str] = ()
    """Names of suites that are left out, in which * matches anything."""
    predictions: str | Sequence[str] = ()
    """Predictions for tables of items (.csv, .tsv, .xlsx) that no YAML file describes, as in
    "agreement: (verb;%mismatch%) > (verb;%match%)"; several as ["a: …","b: …"]."""
    effects: str | Sequence[str] = ()
    """Quantities in bits for these tables, as in "(verb;%mismatch%) - (verb;%match%)"."""
    regions: Sequence[str] = ()
    """Columns of these tables that hold the regions, in order; none are needed if a column region
    names the region of each row."""

    @property
    def pairs(self) -> PairSource:
        """Where published minimal pairs are, and what divides them into words."""
        return PairSource(root=self.root, segmenter=self.segmenter)

    def load(self, pairs: PairSource) -> list[Suite]:
        """Return the suites; ``pairs`` says where published minimal pairs are."""
        return load_suites(
            self.suites, pairs=pairs, leave_out=self.leave_out, criteria=self.criteria
        )

    @property
    def criteria(self) -> GivenCriteria:
        """What is tested in tables of items that no file describes."""
        formulas = (self.predictions, self.effects)
        predictions, effects = (
            (formula,) if isinstance(formula, str) else formula for formula in formulas
        )
        return GivenCriteria(predictions=predictions, effects=effects, regions=self.regions)

    @property
    def label(self) -> str:
        """The name of the set or, without one, of its first file and the number of others."""
        if self.name is not None:
            return self.name
        stems = [PurePath(suite).stem for suite in self.suites]
        return stems[0] if len(stems) == 1 else f"{stems[0]}_and_{len(stems) - 1}_more"

    def mistakes(self) -> list[str]:
        """Return mistakes: no suite is named, or a setting of published pairs has no effect."""
        mistakes = [] if self.suites else ["name files, as in 'suite.suites=[mine.yaml]'"]
        has_pairs = any(is_pair_pattern(name) for name in self.suites)
        for name in ("root", "segmenter"):
            if getattr(self, name) is not None and self.suites and not has_pairs:
                sets = ", ".join(PAIR_SETS)
                mistakes.append(f"{name} is only used by published minimal pairs: suite={sets}")
        if self.criteria and not any(
            suite.lower().endswith(TABLE_SUFFIXES) for suite in self.suites
        ):
            mistakes.append(
                "predictions=, effects= and regions= are for tables of items, as in "
                "'suite.suites=[items.csv]'; other suites have their own"
            )
        if self.segmenter is not None and self.segmenter not in SEGMENTERS:
            hint = nearest(self.segmenter, SEGMENTERS)
            mistakes.append(f"segmenter: {self.segmenter!r} is unknown; {hint}")
        return mistakes

    def unavailable(self) -> list[str]:
        """Return a mistake if the package of the segmenter is not installed."""
        problem = jieba_problem() if self.segmenter == "jieba" else ""
        return [problem] if problem else []


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
        "name": "task.source",
        "input": "task.input",
        "column": "task.column",
        "tokenised": "task.tokenised",
        "segmenter": "task.segmenter",
        "parser": "task.parser",
        "surprisals": "task.surprisals",
        "materials": "task.materials",
        "data.parts": "data.reader.parts",
        "predictions": "suite.predictions",
        "effects": "suite.effects",
        "regions": "suite.regions",
        "formula": "task.formula",
        "columns": "task.columns",
        "form": "task.form",
        "stores": "task.stores",
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
    LISTS: ClassVar[frozenset[str]] = frozenset(
        {"run", "suite.suites", "suite.leave_out", "suite.regions"}
    )
    # Those of them that are lists even if they have one element.
    PLURALS: ClassVar[frozenset[str]] = LISTS - {"run"}
    # Settings that are text as written, with commas, colons and quotation marks.
    TEXTS: ClassVar[frozenset[str]] = frozenset(
        {"task.input", "task.column", "task.formula", "task.source"}
    )
    # Settings that are formulas, which may begin with a bracket; their lists have quotation marks.
    FORMULAS: ClassVar[frozenset[str]] = frozenset({"suite.predictions", "suite.effects"})

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
    model: Annotated[AdoptedSettings, Tagged("family", ADOPTED_MODELS)] | None = None
    """Kind of model to adopt (task=adopt)."""
    data: DataSettings | None = None
    """Corpus of task=corpus, perplexity, export and study; null uses the corpora of the runs, in a
    study none."""
    corpora: Mapping[str, DataSettings] = field(default_factory=dict)
    """Several corpora by name, as in corpora=[ctb,xinhua] corpora.ctb.root=FOLDER."""
    run: str | Sequence[str] | None
    """A run folder, or a folder that contains several: all finished runs in it are evaluated.
    Several folders are separated by commas."""
    unfinished: Literal["skip", "include"] = "skip"
    """Whether to evaluate runs that were stopped, by their best weights so far; tables mark them.
    """
    boundary: BoundaryChoice = "auto"
    """How the pieces of a word make its probability, for models over pieces: next includes that the
    word ends there, leading does not, none is the product of the pieces; auto is next or, for text
    without blanks, leading."""
    output: str = "results"
    """Folder of tables, figures and reports; for task=surprisal also a file (.csv, .tsv, .jsonl,
    .parquet), or - for standard output."""
    device: str = "auto"
    """Device of the models; auto uses a GPU if one is available."""

    @property
    def suites(self) -> SuiteSettings:
        """The test suites; raises an error if none are named."""
        if self.suite is None:
            raise ConfigError([_NO_SUITE])
        return self.suite

    @property
    def run_folders(self) -> tuple[str, ...]:
        """The folders in which to look for runs."""
        return (self.run,) if isinstance(self.run, str) else tuple(self.run or ())

    @property
    def named_corpora(self) -> list[DataSettings]:
        """The corpora that the settings name, each once."""
        named = [*([] if self.data is None else [self.data]), *self.corpora.values()]
        return [corpus for place, corpus in enumerate(named) if corpus not in named[:place]]

    @classmethod
    def absent(cls, content: Mapping[str, Any]) -> list[str]:
        """What the task requires."""
        task = content.get("task")
        name = task.get("name") if isinstance(task, Mapping) else None
        is_needed = name in ("suite", "rescore") and content.get("suite") is None
        has_corpus = content.get("data") is not None or content.get("corpora")
        missing = [_NO_SUITE] if is_needed else []
        if isinstance(task, Mapping) and name == "study":
            if content.get("study") is None:
                missing.append(
                    "study is missing: try study=mandarin, reflexives, suppression or filler_gap"
                )
            elif task.get("surprisals") is None and content.get("run") is None:
                missing.append(
                    "a study needs surprisals=FOLDER materials=FOLDER, or runs as in run=runs/ctb"
                )
        if name == "adopt" and content.get("model") is None:
            missing.append("model is missing: name the kind of the model, as in model=hf")
        if name == "export" and not has_corpus:
            missing.append("data is missing: name the corpus to write, as in data=ptb_sample")
        return missing

    def mistakes(self) -> list[str]:
        """Return the mistakes in the combination of a task, runs and corpora."""
        mistakes = []
        if self.suite is not None and isinstance(self.task, StudyTask):
            mistakes.append("suite= has no effect on a study; study.suites=[…] names other suites")
        if self.run is None and not isinstance(self.task, StudyTask):
            mistakes.append("run is missing: name a run folder, or a folder that contains runs")
        if self.output == EvaluateSettings.output and hasattr(self.task, "OUTPUT_REMEDY"):
            mistakes.append(f"output is missing: {self.task.OUTPUT_REMEDY}")
        if self.named_corpora and not isinstance(self.task, TASKS_OF_CORPORA):
            mistakes.append(f"data= and corpora= have no effect on task={self.task.name}")
        if self.output == STANDARD_OUTPUT and not isinstance(self.task, SurprisalTask):
            mistakes.append(f"output=-: task={self.task.name} writes a folder; name it")
        if self.output == STANDARD_OUTPUT and getattr(self.task, "format", None) == "parquet":
            mistakes.append("task.format=parquet: name a file, as in output=words.parquet")
        if self.model is not None and not isinstance(self.task, AdoptTask):
            mistakes.append(f"model= has no effect on task={self.task.name}; name runs with run=")
        names = [corpus.name for corpus in self.named_corpora]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            mistakes.append(f"two corpora are called {twice[0]}; set the name of one of them")
        return mistakes

    def unavailable(self) -> list[str]:
        """What this machine lacks for these settings."""
        problem = device_problem(self.device)
        return [f"device={self.device}: {problem}"] if problem else []


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
