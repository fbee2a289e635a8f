"""Everything a report is made from, in one record.

Tables are tidy: one row per observation, with the columns that are named below. Whatever a study
does not have stays empty, and the report leaves its place out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from src.eval.comparison import EXACT, Row
from src.eval.report.means import accuracies

RUN_COLUMNS = ("run", "model", "corpus", "seed")
ITEM_COLUMNS = (
    *RUN_COLUMNS,
    *("suite", "class", "modifier", "item", "prediction"),
    *("outcome", "tie", "difference_bits", "unknown"),
)
SUMMARY_COLUMNS = (
    *("model", "corpus", "class", "modifier"),
    *("accuracy", "items", "ties", "seeds", "low", "high"),
)
SENTENCE_COLUMNS = ("suite", "item", "condition", "variant")
SURPRISAL_COLUMNS = (
    *RUN_COLUMNS,
    *SENTENCE_COLUMNS,
    *("region", "word_id", "word", "seen", "surprisal_bits"),
)
EFFECT_COLUMNS = (
    *RUN_COLUMNS,
    *("suite", "class", "modifier", "item", "effect", "value_bits"),
)
ESTIMATE_COLUMNS = ("term", "estimate", "low", "high")

# Run, suite, item, condition, variant, word_id.
ParseKey = tuple[str, str, int | str, str, int | str, int]
# Posterior share, and the tree as far as it has grown: ``(S (NP the cat) (VP``.
Parse = tuple[float, str]

# Model families from plain to structured; models of other names come after them.
FAMILIES = ("unigram", "ngram", "lstm", "rnng", "transformer", "plm", "plm_mask")


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """One statistical analysis: its question, its answer in words, and its numbers.

    The table ``estimates``, or without it every table with the columns of ``ESTIMATE_COLUMNS``, is
    drawn as well as printed. ``skipped`` says what could not be answered, and why.
    """

    title: str
    sentences: Sequence[str] = ()
    skipped: Sequence[str] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What a run wrote down while it was trained: the table of its ``metrics.csv``."""

    model: str
    corpus: str
    seed: int | None
    metrics: pd.DataFrame

    @property
    def is_joint(self) -> bool:
        """Whether the loss is that of words and trees together."""
        return "valid/joint_perplexity" in self.metrics.columns


def _empty(columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({column: [] for column in columns})


@dataclass(frozen=True, kw_only=True)
class Study:
    """The results of an evaluation.

    ``facts`` say what was run, in the order in which they are to be read (versions, beam sizes,
    corpora, seeds). ``critical`` names the critical regions of each suite, ``chance`` the accuracy
    of guessing in each class where it is not one half. ``lengths`` counts, for each corpus, the
    sentences of each length in words. ``notes`` are remarks that belong on the first page.
    """

    title: str
    description: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    items: pd.DataFrame = field(default_factory=lambda: _empty(ITEM_COLUMNS))
    summary: pd.DataFrame = field(default_factory=lambda: _empty(SUMMARY_COLUMNS))
    surprisals: pd.DataFrame = field(default_factory=lambda: _empty(SURPRISAL_COLUMNS))
    effects: pd.DataFrame = field(default_factory=lambda: _empty(EFFECT_COLUMNS))
    perplexity: Sequence[Row] = ()
    analyses: Sequence[Analysis] = ()
    parses: Mapping[ParseKey, Sequence[Parse]] = field(default_factory=dict)
    curves: Sequence[Curve] = ()
    lengths: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    critical: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse tables that lack a column, by name."""
        for name, columns in (
            ("items", ITEM_COLUMNS),
            ("summary", SUMMARY_COLUMNS),
            ("surprisals", SURPRISAL_COLUMNS),
            ("effects", EFFECT_COLUMNS),
        ):
            missing = [column for column in columns if column not in getattr(self, name).columns]
            if missing:
                raise ValueError(f"the table {name!r} of a study lacks {', '.join(missing)}")

    def chance_of(self, name: str) -> float:
        """The accuracy of guessing in a class."""
        return self.chance.get(name, 0.5)

    @cached_property
    def by_model(self) -> pd.DataFrame:
        """Mean accuracy over classes: model, corpus, mean, low, high, and counts."""
        return accuracies(self.items, by=["model", "corpus"])

    @cached_property
    def by_class(self) -> pd.DataFrame:
        """Accuracy of each class, modifiers averaged."""
        return accuracies(self.items, by=["model", "corpus", "class"])

    @cached_property
    def by_modifier(self) -> pd.DataFrame:
        """Accuracy of each class with each modifier."""
        return accuracies(self.items, by=["model", "corpus", "class", "modifier"])

    def runs(self) -> pd.DataFrame:
        """Every run that was scored once, models in the order of their families."""
        tables = [table[list(RUN_COLUMNS)] for table in (self.items, self.surprisals)]
        runs = pd.concat([table for table in tables if len(table)] or tables[:1])
        runs = runs.drop_duplicates("run").astype({"seed": "Int64"})
        order = {model: place for place, model in enumerate(in_order(runs["model"]))}
        key = runs["model"].map(order)
        runs = runs.assign(order=key).sort_values(["corpus", "order", "seed"], kind="stable")
        return runs.drop(columns="order").reset_index(drop=True)


def family(model: str) -> str:
    """The family that a model's name speaks of, or the name itself: ``LSTM (3)`` is an lstm."""
    name = model.lower().replace("-", "").replace(" ", "_")
    if name.startswith("trans"):
        return "transformer"
    found = [known for known in FAMILIES if name.startswith(known)]
    return max(found, key=len) if found else model


def in_order(models: Sequence[str] | pd.Series) -> list[str]:
    """Different models: known families from plain to structured, others, the exact grammar."""

    def place(model: str) -> int:
        if model == EXACT:
            return len(FAMILIES) + 1
        known = family(model)
        return FAMILIES.index(known) if known in FAMILIES else len(FAMILIES)

    return sorted(dict.fromkeys(models), key=place)


def corpus_groups(table: pd.DataFrame) -> list[list[str]]:
    """Corpora whose models took the same suites, together: only those can be compared."""
    groups: list[tuple[set[str], list[str]]] = []
    for corpus, rows in table.groupby("corpus", sort=False):
        suites = set(rows["suite"])
        members = [str(corpus)]
        apart = []
        for others, names in groups:
            if suites & others:
                suites |= others
                members = [*names, *members]
            else:
                apart.append((others, names))
        groups = [*apart, (suites, members)]
    return [names for _, names in groups]
