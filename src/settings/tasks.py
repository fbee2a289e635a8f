"""Settings of the tasks of evaluate.py, one dataclass each, and what several of them share.

:mod:`gardenpath.registry` lists them; :mod:`gardenpath.settings.evaluate` holds those of one task.
The docstrings below fields are what --help and the reference show. Nothing here scores or reads
runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from gardenpath import registry
from gardenpath.data.readers.base import (
    CorpusForm,
    ResultForm,
    SurprisalForm,
    TableColumns,
    TableForm,
)
from gardenpath.data.sentence import SPLITS, Split
from gardenpath.data.words.segmenting import segmenter_problem
from gardenpath.eval.published.files import ConditionSource, PairingRules, SurprisalSet
from gardenpath.eval.statistics.analysis import formula_mistake
from gardenpath.eval.statistics.formulas import Correction, Weighting
from gardenpath.eval.suites.library import ExportFormat
from gardenpath.eval.suites.outcomes import (
    MIN_ITEMS,
    NEAR_TIE_BITS,
    SEARCH_NEAR_TIE_BITS,
    TieCredit,
    TieRule,
    Ties,
)
from gardenpath.registry import Registered
from gardenpath.safe_text import parse_yaml
from gardenpath.settings.schema import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ProcessCount,
    Seed,
)
from gardenpath.util import CONFIG_DIR

# One path, several, or one for each training corpus: ``{ctb: FOLDER, xinhua: FOLDER}``.
SurprisalPaths = str | Sequence[str] | Mapping[str, str]
MaterialPaths = str | Sequence[str]

# Items of the published reflexives in Table 3: those that the paper used, or all released.
ItemChoice = Literal["paper", "all"]


def surprisal_sets(paths_or_sets: SurprisalPaths) -> list[SurprisalSet]:
    """Return the sets of surprisals that a setting names."""
    if isinstance(paths_or_sets, Mapping):
        return [
            SurprisalSet(path, corpus=str(corpus))
            for corpus, paths in paths_or_sets.items()
            for path in material_paths(paths)
        ]
    return [SurprisalSet(path) for path in material_paths(paths_or_sets)]


def material_paths(setting: MaterialPaths) -> list[Path]:
    """Return the paths that a setting names."""
    return [Path(setting)] if isinstance(setting, str) else [Path(path) for path in setting]


def shown_paths(setting: SurprisalPaths) -> str:
    """Return a setting as text, for reports."""
    return ", ".join(
        f"{source.corpus}: {source.path}" if source.corpus else str(source.path)
        for source in surprisal_sets(setting)
    )


# A run folder with a description in JSON, or a model of the library transformers.
SharedForm = Literal["safetensors", "huggingface"]

_A_FOLDER_OF_SURPRISALS = "the folder with one folder per model, or a table"


@dataclass(frozen=True, kw_only=True)
class ScoringSettings:
    """Settings of tasks that score sentences with runs."""

    processes: ProcessCount | None = "auto"
    """Number of processes, of one thread each, that share the sentences; auto starts them for long
    searches on a CPU, one in place of each thread; null scores in one process with all threads."""
    allow_unknown: bool = False
    """Whether to score input of which a run does not know most words."""


@dataclass(frozen=True, kw_only=True)
class TieSettings:
    """Which differences of surprisal are ties, and what a tie counts."""

    ties: Ties = "near"
    """Which differences are ties: near (too small to tell from zero) or exact (zero)."""
    near_tie_bits: NonNegativeFloat = NEAR_TIE_BITS
    """Largest difference (bits) that is a near tie, whatever the model."""
    search_near_tie_bits: NonNegativeFloat = SEARCH_NEAR_TIE_BITS
    """The same for models that are searched without an estimate of the search error; with one
    (search=unbiased), its 95 % interval takes this place."""
    tie_credit: TieCredit = "expectation"
    """Outcome of a tie: its expected value (1/2, or 1/3 for three values) or a seeded coin toss."""
    tie_seed: Seed = 0
    """Random seed of tie_credit=coin."""

    @property
    def tie_rule(self) -> TieRule:
        """The rule by which suites are scored."""
        return TieRule(
            ties=self.ties,
            near_tie_bits=self.near_tie_bits,
            search_near_tie_bits=self.search_near_tie_bits,
            credit=self.tie_credit,
            seed=self.tie_seed,
        )


@dataclass(frozen=True, kw_only=True)
class StatisticsSettings(TieSettings):
    """Which differences count, and how they are tested."""

    correction: Correction | None = None
    """Adjustment of the p values of each analysis for the number of its tests; null adjusts none.
    """
    min_items: PositiveInt = MIN_ITEMS
    """Least number of usable items (critical words known, surprisals present) for any test,
    interval or verdict; below it, the reason is given instead."""


@dataclass(frozen=True, kw_only=True)
class ReportSettings(StatisticsSettings):
    """What is written of the results of suites."""

    report: bool = True
    """Whether to write statistics, figures and the HTML report."""
    formula: str | None = None
    """A mixed model of one's own, in the notation of lme4, as in "local_bits ~ condition + (1 |
    item)"; the response is local_bits, difference_bits, value_bits, outcome or slor."""
    also: Sequence[ResultForm] = ()
    """Further forms in which to write results: syntaxgym (surprisals of regions), babylm (the
    preferred sentences of minimal pairs)."""

    def mistakes(self) -> list[str]:
        """Return a mistake in the formula."""
        if self.formula is None:
            return []
        mistakes = [] if self.report else ["formula= needs task.report=true"]
        problem = formula_mistake(self.formula)
        return [*mistakes, f"formula: {problem}"] if problem else mistakes


@dataclass(frozen=True, kw_only=True)
class PerplexityTask(ScoringSettings):
    """Perplexity on a split of each run's own corpus, or of the corpora in data= and corpora=."""

    name: Literal["perplexity"] = "perplexity"
    split: Split = "test"
    """Split of the corpora."""
    marginal_sentences: NonNegativeInt | None = None
    """Number of sentences, from the first, on which syntactic models are also scored by search;
    null uses all, 0 none."""


@dataclass(frozen=True, kw_only=True)
class SurprisalTask(ScoringSettings):
    """Surprisal in bits of every word of the input, from every run."""

    REMEDIES: ClassVar[Mapping[str, str]] = {
        "input": "a sentence, a file of sentences, or - for standard input"
    }

    name: Literal["surprisal"] = "surprisal"
    input: str | Sequence[str]
    """A sentence, several as [A,B], or a file: plain text, bracketed trees, or a table (.csv, .tsv,
    .xlsx); - reads standard input."""
    column: str | Sequence[str] | None = None
    """Column of a table that holds the sentences, or columns of regions as [A,B]; null finds the
    column sentence, or reads one row per region (item, condition, region, content)."""
    tokenised: bool = False
    """Whether blanks alone separate words; otherwise text is divided as each model's corpus is."""
    segmenter: str | None = None
    """What divides Chinese text into words: jieba, characters, spacy:MODEL or pkuseg:MODEL; null
    requires blanks between words, except for models that read text."""
    shown: NonNegativeInt = 10
    """Number of sentences up to which surprisals are printed; 0 prints none."""
    end: bool = True
    """Whether to add a row for the end of each sentence (</s>)."""
    file: str | None = None
    """Output file: .csv, .tsv, .jsonl or .parquet; null writes to output=, in a folder as
    surprisal.tsv."""
    format: Literal["csv", "tsv", "jsonl", "parquet"] | None = None
    """Format of the table on standard output (output=-) or in a folder; null writes csv to standard
    output and tsv to a folder. The name of a file chooses its format."""
    form: TableForm = "own"
    """Columns of the table: our own, or those of LM Zoo (one run; .tsv)."""
    columns: TableColumns = "all"
    """Whether the table also has the columns of the search of syntactic models (all), or only the
    surprisal (surprisal)."""
    chunk: PositiveInt | None = None
    """Number of sentences scored together; an interrupted job loses at most one chunk. Null uses 64
    for a search on a CPU, 256 otherwise."""

    def mistakes(self) -> list[str]:
        """Return a mistake if a segmenter has no work to do."""
        both = self.tokenised and self.segmenter is not None
        return ["segmenter= has no effect with tokenised=true"] if both else []

    def unavailable(self) -> list[str]:
        """Return a mistake if the segmenter is unknown or not installed."""
        problem = segmenter_problem(self.segmenter) if self.segmenter else ""
        return [problem] if problem else []


@dataclass(frozen=True, kw_only=True)
class ParseTask(ScoringSettings):
    """The best trees of every sentence, and labelled bracketing F1 against gold trees."""

    name: Literal["parse"] = "parse"
    input: str | Sequence[str] | None = None
    """A sentence, several as [A,B], or a file, plain or as bracketed trees; null parses a split of
    each run's corpus."""
    tokenised: bool = False
    """Whether blanks alone separate words; otherwise text is divided as each model's corpus is."""
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
class SuiteTask(ReportSettings, ScoringSettings):
    """Test suites: accuracies, effects, statistics, figures and a report for all matching runs."""

    name: Literal["suite"] = "suite"
    weights: Weighting = "none"
    """Weights of rows in linear mixed models: none, or error, by the search error of their response
    (search=unbiased)."""
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
    """List the test suites, with counts; show one with an example; export them."""

    name: Literal["suites"] = "suites"
    show: str | None = None
    """Name of a suite to show with its conditions, predictions and first item, or the beginning of
    names (mandarin/verb_noun), whose suites are listed; null lists the classes of all suites."""
    examples: bool = False
    """Whether to list every suite with an example."""
    export: ExportFormat | None = None
    """Format in which to write the suites to the output folder."""


@dataclass(frozen=True, kw_only=True)
class NewSuiteTask:
    """Write a commented starting point for a suite of your own: name.yaml and name.csv."""

    REMEDIES: ClassVar[Mapping[str, str]] = {"source": "the name of the suite, as in name=mine"}

    name: Literal["new_suite"] = "new_suite"
    source: str
    """Name of the suite and of its files; files that exist are never overwritten."""


@dataclass(frozen=True, kw_only=True)
class RescoreTask(ReportSettings):
    """Score surprisals produced by other models."""

    REMEDIES: ClassVar[Mapping[str, str]] = {"surprisals": _A_FOLDER_OF_SURPRISALS}

    name: Literal["rescore"] = "rescore"
    surprisals: SurprisalPaths
    """Folder with one folder per model, or a table; several as [A,B], or as {corpus: A, …}."""
    materials: MaterialPaths | None = None
    """Folder of the published materials, or several; null scores the suites of suite=."""
    columns: Mapping[str, str] | None = None
    """Names of columns of tables of surprisals, as {word: token, surprisal: surp}."""
    form: SurprisalForm = "auto"
    """Form of the files of surprisals; auto recognises it by their content."""
    conditions: ConditionSource = "sentences"
    """Conditions of the published reflexives: from the sentences, or from the labels as published.
    """
    pairing: PairingRules = PairingRules()
    """How strictly sentences must equal those of the materials, and the unit of surprisals."""
    ties: Ties = "exact"
    """Which differences are ties: exact (zero, as published scores have it) or near (too small to
    tell from zero)."""


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
class ShareTask:
    """Write runs to folders for others, with a text that says how to load them."""

    name: Literal["share"] = "share"
    form: SharedForm = "safetensors"
    """A run folder without logs and checkpoints, or a model of the library transformers."""


@dataclass(frozen=True, kw_only=True)
class MergeTask:
    """Put the surprisals of several files into one, as after an evaluation on several machines."""

    REMEDIES: ClassVar[Mapping[str, str]] = {
        "stores": "files of surprisals, as [a.sqlite,b.sqlite]"
    }

    name: Literal["merge"] = "merge"
    stores: Sequence[str]
    """Files of surprisals, which are added to paths.surprisals; entries there are kept."""


@dataclass(frozen=True, kw_only=True)
class RunsTask:
    """A table of runs in any state, with the settings in which they differ, and results."""

    name: Literal["runs"] = "runs"
    watch: PositiveFloat | None = None
    """Seconds after which the table is printed again, until it is interrupted; null prints it once.
    The flag --watch stands for task.watch=5."""


@dataclass(frozen=True, kw_only=True)
class StudyTask(StatisticsSettings, ScoringSettings):
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
    weights: Weighting = "none"
    """Weights of rows in linear mixed models: none, or error, by the search error of their response
    (search=unbiased)."""
    ties: Ties = "exact"
    """Which differences are ties: exact (zero, as in the papers) or near (too small to tell from
    zero)."""
    marginal_sentences: NonNegativeInt | None = 100
    """Number of sentences, from the first, on which syntactic models are searched for perplexities
    on the first corpus in corpora=; null uses all, 0 none."""


@dataclass(frozen=True, kw_only=True)
class AdoptTask:
    """Make a model that others trained a run like any other; model= is its kind."""

    REMEDIES: ClassVar[Mapping[str, str]] = {
        "source": "the file, the folder or the name of the model, as in name=gpt2"
    }

    name: Literal["adopt"] = "adopt"
    source: str
    """File or folder of the model, or its name on the Hugging Face hub."""
    run_dir: str | None = None
    """Run folder; null uses adopted/<name of the model> below the folder of runs."""
    corpus: str = "elsewhere"
    """Name of the corpus that the model was trained on, in tables."""
    seed: Seed = 1
    """Number of the model among those that differ in their random seeds only."""
    existing: Literal["skip", "overwrite", "refuse"] = "refuse"
    """What to do if the folder contains a run."""


class Task(Protocol):
    """The settings of a task of evaluate.py: a frozen dataclass that names the task."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """The name of the task."""


# The settings classes of the tasks, by name.
TASKS: Mapping[str, type[Task]] = Registered(
    {name: kind for name, (kind, _) in registry.TASKS.items()}
)
# Tasks to which data= and corpora= belong.
TASKS_OF_CORPORA = (PerplexityTask, CorpusTask, ExportTask, StudyTask)


# ----------------------------------------------------------------------------
# The sets of suites that ``suite=`` and ``study=`` accept.


def suites_of_set(name: str) -> Sequence[str]:
    """Return the names of the suites in a set; any other name is returned unchanged."""
    path = CONFIG_DIR / "suite" / f"{name}.yaml"
    if "/" in name or not path.is_file():
        return [name]
    content = parse_yaml(path.read_text(encoding="utf-8"))
    # The set ``file`` is empty: it stands for files that a user names.
    return list(content["suites"]) or [name]


def suites_of_study(name: str) -> Sequence[str]:
    """Return the sets of suites on which runs are scored for a study."""
    content = parse_yaml((CONFIG_DIR / "study" / f"{name}.yaml").read_text(encoding="utf-8"))
    return list(content["suites"])
