"""Everything a report is made from, in one record.

Tables have the columns that ``gardenpath.store.tables`` lists. Whatever a study does not have stays
empty, and the report leaves its place out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.perplexity.comparison import PerplexityRow
from gardenpath.eval.report.means import accuracies
from gardenpath.eval.report.order import arranged, models_in_order, ranked
from gardenpath.eval.suites.design.chance import USUAL_CHANCE
from gardenpath.eval.suites.library.modifiers import Chain, modifier_orders
from gardenpath.eval.suites.scoring.scored_items import RunName
from gardenpath.store.tables import (
    EFFECTS,
    ITEMS,
    METRICS,
    RUN_COLUMNS,
    SUMMARY,
    SURPRISALS,
    read_table,
)
from gardenpath.text import key

# Run, suite, item, condition, variant, word_id.
ParseKey = tuple[str, str, int | str, str, int | str, int]
# Posterior share, and the tree as far as it has grown: ``(S (NP the cat) (VP``.
Parse = tuple[float, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One statistical analysis as it is shown: question, answer in words, and numbers.

    ``found`` says for each sentence whether it tells of something that was found; without it all
    sentences are shown alike. The table ``estimates``, or without it every table with the columns
    of ``ESTIMATES``, is drawn as well as printed. ``skipped`` says what could not be answered, and
    why.
    """

    title: str
    sentences: Sequence[str] = ()
    found: Sequence[bool] = ()
    skipped: Sequence[str] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def told(self) -> tuple[list[str], list[str]]:
        """The sentences that tell of something, and the others; a single one is always told."""
        is_all = not self.found or len(self.sentences) == 1
        found = [True] * len(self.sentences) if is_all else self.found
        pairs = list(zip(self.sentences, found, strict=True))
        return [said for said, is_found in pairs if is_found], [
            said for said, is_found in pairs if not is_found
        ]

    @property
    def count(self) -> str:
        """How many comparisons differ from zero, where that is known of more than one."""
        if len(self.found) < 2:
            return ""
        differ = "differs" if sum(self.found) == 1 else "differ"
        count = f"{sum(self.found)} of {len(self.found)} comparisons"
        return f"{count} {differ} from zero (p < .05)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What a run wrote down while it was trained: the table of its ``metrics.csv``."""

    model: str
    corpus: str
    seed: int | None
    metrics: pd.DataFrame

    @classmethod
    def read(cls, path: Path, name: RunName) -> Curve | None:
        """Read the metrics of a run; None if there is no such table."""
        try:
            metrics = read_table(path, METRICS)
        except InputError:
            return None
        return cls(model=name.model, corpus=name.corpus, seed=name.seed, metrics=metrics)

    @property
    def is_joint(self) -> bool:
        """Whether the loss is that of words and trees together."""
        return "valid/joint_perplexity" in self.metrics.columns


@dataclass(frozen=True, kw_only=True)
class Study:
    """The results of an evaluation.

    ``facts`` say what was run, in the order in which they are to be read (versions, beam sizes,
    corpora, seeds). ``critical`` names the critical regions of each suite, ``chance`` the accuracy
    of guessing in each class (1/2 if not given). ``modifier_orders`` rank modifiers from plain to
    complex. ``lengths`` counts, for each corpus, the sentences of each length in words.
    ``notes`` are remarks that belong on the first page.
    """

    title: str
    description: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    items: pd.DataFrame = field(default_factory=lambda: ITEMS.frame([]))
    summary: pd.DataFrame = field(default_factory=lambda: SUMMARY.frame([]))
    surprisals: pd.DataFrame = field(default_factory=lambda: SURPRISALS.frame([]))
    effects: pd.DataFrame = field(default_factory=lambda: EFFECTS.frame([]))
    perplexity: Sequence[PerplexityRow] = ()
    analyses: Sequence[Shown] = ()
    parses: Mapping[ParseKey, Sequence[Parse]] = field(default_factory=dict)
    curves: Sequence[Curve] = ()
    lengths: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    critical: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    modifier_orders: Sequence[Chain] = field(default_factory=modifier_orders)

    def __post_init__(self) -> None:
        """Refuse tables that lack a column, by name."""
        for schema in (ITEMS, SUMMARY, SURPRISALS, EFFECTS):
            if missing := schema.missing(getattr(self, schema.name).columns):
                lacking = ", ".join(missing)
                raise GardenpathError(f"the table {schema.name!r} of a study lacks {lacking}")

    def chance_of(self, name: str) -> float:
        """The accuracy of guessing in a class."""
        return self.chance.get(name, USUAL_CHANCE)

    def modifiers(self, values: Iterable[str]) -> list[str]:
        """Different modifiers from plain to complex."""
        return ranked(values, self.modifier_orders)

    def ranks(self, values: Iterable[str]) -> bool:
        """Whether some order says of each modifier how complex it is."""
        known = {key(name) for chain in self.modifier_orders for name in chain}
        return all(key(value) in known for value in values)

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

    def suites(self) -> list[str]:
        """Every suite with surprisals: classes together, modifiers from plain to complex."""
        known = self.items[["suite", "class", "modifier"]].drop_duplicates("suite")
        found = pd.DataFrame({"suite": self.surprisals["suite"].unique()})
        found = found.merge(known, on="suite", how="left")
        found["class"] = found["class"].fillna(found["suite"])
        found["modifier"] = found["modifier"].fillna("")
        return list(arranged(found, ["class", "modifier"], self.modifier_orders)["suite"])

    def runs(self) -> pd.DataFrame:
        """Every run that was scored once, models in the order of their families."""
        tables = [table[list(RUN_COLUMNS)] for table in (self.items, self.surprisals)]
        runs = pd.concat([table for table in tables if len(table)] or tables[:1])
        runs = runs.drop_duplicates("run").astype({"seed": "Int64"})
        order = {model: place for place, model in enumerate(models_in_order(runs["model"]))}
        key = runs["model"].map(order)
        runs = runs.assign(order=key).sort_values(["corpus", "order", "seed"], kind="stable")
        return runs.drop(columns="order").reset_index(drop=True)


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
