"""The content of a report, in one record.

Tables have the columns listed in ``gardenpath.store.tables``. The report omits the parts for which
a study has no data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.display import models_in_order
from gardenpath.eval.perplexity.comparison import PerplexityRow
from gardenpath.eval.report.means import accuracies, bit_means
from gardenpath.eval.report.order import arranged, ranked
from gardenpath.eval.suites.design.chance import USUAL_CHANCE
from gardenpath.eval.suites.library.modifiers import Chain, modifier_orders
from gardenpath.eval.suites.scoring.scored_items import RunName
from gardenpath.eval.usable import MIN_ITEMS, ItemCount, unusable_items, with_usable
from gardenpath.store.tables import (
    AGGREGATE,
    EFFECTS,
    ITEMS,
    METRICS,
    RUN_COLUMNS,
    SUMMARY,
    SURPRISALS,
    read_table,
)
from gardenpath.text import Words, key, plural

# Characters of title and answer of a statistical question that fit on a line of 1,060 pixels.
_LINE = 118
# Run, suite, item, condition, variant, word_id.
ParseKey = tuple[str, str, int | str, str, int | str, int]
# Glosses of each condition and variant, and the translation of the first one.
Glossed = tuple[Mapping[tuple[str, int], Words], str]
# Posterior probability and partial tree: ``(S (NP the cat) (VP``.
Parse = tuple[float, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One statistical analysis in the report: title, results as sentences, and tables.

    ``found`` marks, for each sentence, whether it reports a significant result; if it is empty, all
    sentences are treated alike. The table ``estimates`` (or, if there is none, every table with the
    columns of ``ESTIMATES``) is also drawn as a figure. ``skipped`` lists comparisons that could
    not be tested, with reasons; ``notes`` say which rows were left out.
    """

    title: str
    sentences: Sequence[str] = ()
    found: Sequence[bool] = ()
    skipped: Sequence[str] = ()
    notes: Sequence[str] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def told(self) -> tuple[list[str], list[str]]:
        """Return the significant sentences and the others; a single sentence is never hidden."""
        is_all = not self.found or len(self.sentences) == 1
        found = [True] * len(self.sentences) if is_all else self.found
        pairs = list(zip(self.sentences, found, strict=True))
        return [said for said, is_found in pairs if is_found], [
            said for said, is_found in pairs if not is_found
        ]

    def _fits(self, text: str) -> bool:
        return len(self.title) + len(text) <= _LINE

    def _short_answer(self, sentence: str) -> str:
        """Return a sentence, its claim without numbers, or only whether there is a difference."""
        claim = f"{sentence.partition(': ')[0].rstrip('.')}."
        for text in (sentence, claim):
            if self._fits(text):
                return text
        if not self.found:
            return "1 result."
        return "A significant difference." if self.found[0] else "No significant difference."

    @property
    def count(self) -> str:
        """Number of significant comparisons as a sentence; empty for fewer than two."""
        if len(self.found) < 2:
            return ""
        differ = "differs" if sum(self.found) == 1 else "differ"
        count = f"{sum(self.found)} of {len(self.found)} comparisons"
        return f"{count} {differ} significantly from zero (p < .05)."

    @property
    def line(self) -> str:
        """The answer in one line beside the title: a sentence, or how many differ from zero."""
        if len(self.sentences) == 1:
            return self._short_answer(self.sentences[0])
        if self.count:
            total = f"{sum(self.found)} of {len(self.found)} significant."
            return self.count if self._fits(self.count) else total
        if self.sentences:
            return f"{plural(len(self.sentences), 'result')}."
        return f"Not tested in {plural(len(self.skipped), 'case')}." if self.skipped else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The training metrics of a run: the table of its ``metrics.csv``."""

    model: str
    corpus: str
    seed: int | None
    metrics: pd.DataFrame

    @classmethod
    def read(cls, path: Path, name: RunName) -> Curve | None:
        """Read the metrics of a run; return None if the table cannot be read."""
        try:
            metrics = read_table(path, METRICS)
        except InputError:
            return None
        return cls(model=name.model, corpus=name.corpus, seed=name.seed, metrics=metrics)

    @property
    def is_joint(self) -> bool:
        """Whether the loss is the joint loss of words and trees."""
        return "valid/joint_perplexity" in self.metrics.columns


@dataclass(frozen=True, kw_only=True)
class Study:
    """The results of an evaluation.

    ``facts`` describe the evaluation (models, corpora, seeds, search, versions), in display order.
    ``critical`` maps suites to their critical regions, ``chance`` maps classes to chance levels
    (default: 1/2). ``modifier_orders`` rank modifiers from simple to complex. ``lengths`` counts,
    for each corpus, the sentences of each length in words. ``glosses`` maps suite and item to the
    glosses of its variants, by condition and number, and its translation. ``notes`` stand below
    the answer. Intervals need ``min_items`` usable items. ``aggregate`` has the accuracies on
    published minimal pairs.
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
    glosses: Mapping[tuple[str, int | str], Glossed] = field(default_factory=dict)
    modifier_orders: Sequence[Chain] = field(default_factory=modifier_orders)
    min_items: int = MIN_ITEMS
    aggregate: pd.DataFrame = field(default_factory=lambda: AGGREGATE.frame([]))

    def __post_init__(self) -> None:
        """Raise an error if a table lacks a column."""
        for schema in (ITEMS, SUMMARY, SURPRISALS, EFFECTS):
            if missing := schema.missing(getattr(self, schema.name).columns):
                lacking = ", ".join(missing)
                raise GardenpathError(f"the table {schema.name!r} lacks the columns {lacking}")

    def chance_of(self, name: str) -> float:
        """Return the chance level of a class."""
        return self.chance.get(name, USUAL_CHANCE)

    def modifiers(self, values: Iterable[str]) -> list[str]:
        """Return the distinct modifiers, from simple to complex."""
        return ranked(values, self.modifier_orders)

    def ranks(self, values: Iterable[str]) -> bool:
        """Whether every modifier is ranked in some order."""
        known = {key(name) for chain in self.modifier_orders for name in chain}
        return all(key(value) in known for value in values)

    @cached_property
    def by_model(self) -> pd.DataFrame:
        """Mean accuracy over classes: model, corpus, mean, low, high, and counts."""
        return self._accuracies("model", "corpus")

    @cached_property
    def by_class(self) -> pd.DataFrame:
        """Accuracy of each class, averaged over modifiers."""
        return self._accuracies("model", "corpus", "class")

    @cached_property
    def by_modifier(self) -> pd.DataFrame:
        """Accuracy of each class with each modifier."""
        return self._accuracies("model", "corpus", "class", "modifier")

    def _accuracies(self, *by: str) -> pd.DataFrame:
        return accuracies(self.items, by=by, min_items=self.min_items)

    def bit_means(self, table: pd.DataFrame, *, value: str, by: Sequence[str]) -> pd.DataFrame:
        """Return means in bits of rows of items or effects, with intervals if items suffice."""
        marked = with_usable(table, self.items)
        return bit_means(marked, value=value, by=by, min_items=self.min_items)

    @cached_property
    def unusable(self) -> list[ItemCount]:
        """The models with unusable items, the worst first."""
        return unusable_items(self.items)

    def suites(self) -> list[str]:
        """Return every suite with surprisals, by class and by modifier from simple to complex."""
        known = self.items[["suite", "class", "modifier"]].drop_duplicates("suite")
        found = pd.DataFrame({"suite": self.surprisals["suite"].unique()})
        found = found.merge(known, on="suite", how="left")
        found["class"] = found["class"].fillna(found["suite"])
        found["modifier"] = found["modifier"].fillna("")
        return list(arranged(found, ["class", "modifier"], self.modifier_orders)["suite"])

    def runs(self) -> pd.DataFrame:
        """Return every scored run once, with models in the order of their families."""
        tables = [table[list(RUN_COLUMNS)] for table in (self.items, self.surprisals)]
        runs = pd.concat([table for table in tables if len(table)] or tables[:1])
        runs = runs.drop_duplicates("run").astype({"seed": "Int64"})
        order = {model: place for place, model in enumerate(models_in_order(runs["model"]))}
        key = runs["model"].map(order)
        runs = runs.assign(order=key).sort_values(["corpus", "order", "seed"], kind="stable")
        return runs.drop(columns="order").reset_index(drop=True)


def corpus_groups(table: pd.DataFrame) -> list[list[str]]:
    """Group corpora whose models were scored on the same suites and can be compared."""
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
