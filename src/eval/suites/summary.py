"""Scored suites as tidy tables: items, effects, words, and the summary with its criteria.

``runs`` makes its result tables here from outcomes and effects; commands print the accuracies of
:class:`ScoredItems`. Means and intervals come from ``eval.means``; nothing is scored here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from gardenpath.console import FittedTable
from gardenpath.eval.display import models_in_order
from gardenpath.eval.means import near_tied, summarise
from gardenpath.eval.suites.effects import (
    WH_GAP,
    WH_NO_GAP,
    Criterion,
    ItemEffect,
    WhEffects,
    criterion,
    flip_rate,
)
from gardenpath.eval.suites.outcomes import MIN_ITEMS, ItemOutcome, is_enough
from gardenpath.eval.suites.suite import Suite
from gardenpath.store.tables import (
    BOUNDARY_COLUMN,
    COULD_FLIP,
    EFFECTS,
    ERROR_COLUMNS,
    ITEMS,
    NEAR_TIE,
    NEAR_TIES,
    SENTENCES,
    SUMMARY,
    SUMMARY_KEYS,
    write_table,
)
from gardenpath.util import spaced

# Flip and island contrast, criteria for filler-gap constructions, as columns of the summary.
#
# They are computed from the wh-effects of items (see ``effects``) and the items' label ``island``:
# ``no`` if the gap is accessible to a filler, ``yes`` if it is inside an island. Rows without such
# items have no criteria.

CRITERIA = ("flip_rate", "flip", "island_contrast")

_OUTSIDE, _INSIDE = "no", "yes"


def with_criteria(
    summary: pd.DataFrame, effects: pd.DataFrame, keys: Sequence[str], *, min_items: int = MIN_ITEMS
) -> pd.DataFrame:
    """Return the summary, one row per combination of ``keys``, with the columns ``CRITERIA``.

    ``effects`` is a table of effects (see ``results``). A criterion is empty if it cannot be
    decided, as with fewer usable items than ``min_items``. If no row has a criterion, the summary
    is returned unchanged.
    """
    if "island" not in effects.columns:
        return summary
    keys = list(keys)
    # An effect that cannot be told from zero has no direction.
    directed = effects.assign(value_bits=effects["value_bits"].where(~near_tied(effects), 0.0))
    items, signs = _wh_items(effects, keys), _wh_items(directed, keys)
    rows = [
        {**dict(zip(keys, key, strict=True)), **_criteria(group, signs.loc[group.index])}
        for key, group in items.groupby(keys, sort=False)
        if (group["island"] == _OUTSIDE).any()
    ]
    if not rows:
        return summary
    merged = summary.merge(pd.DataFrame(rows), on=keys, how="left", validate="one_to_one")
    merged = merged.astype({"flip": "boolean", "island_contrast": "boolean"})
    if "usable" in merged.columns:
        counts = zip(merged["usable"], merged["items"], strict=True)
        few = [not is_enough(usable, items, min_items) for usable, items in counts]
        merged.loc[few, ["flip", "island_contrast"]] = pd.NA
    return merged


def _wh_items(effects: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    of_items = ("run", "suite", "item", "island", "depth")
    lacking = {name: "" for name in (*keys, *of_items) if name not in effects.columns}
    chosen = effects.assign(**lacking)
    chosen = chosen[
        chosen["effect"].isin([WH_GAP, WH_NO_GAP]) & chosen["island"].isin([_OUTSIDE, _INSIDE])
    ]
    index = list(dict.fromkeys([*keys, *of_items]))
    wide = chosen.set_index([*index, "effect"])["value_bits"].unstack("effect", sort=False)
    return wide.reindex(columns=[WH_GAP, WH_NO_GAP]).reset_index()


def _criteria(items: pd.DataFrame, signs: pd.DataFrame) -> dict[str, object]:
    """Return the criteria; ``signs`` are the same items, with near ties as zero."""
    outside = items[items["island"] == _OUTSIDE]
    inside = items[items["island"] == _INSIDE]
    directed = signs[signs["island"] == _OUTSIDE]
    rates = [flip_rate(_pairs(run)) for _, run in directed.groupby("run", sort=False)]
    # Effects decrease with depth, so only items of the same depths are compared.
    depths = set(outside["depth"]) & set(inside["depth"])
    near, far = (_effects_over_runs(part[part["depth"].isin(depths)]) for part in (outside, inside))
    return {
        "flip_rate": pd.Series(rates, dtype="float64").mean(),
        "flip": _is_met(criterion(_effects_over_runs(outside))),
        "island_contrast": _is_met(criterion(near, far)) if near and far else None,
    }


def _effects_over_runs(items: pd.DataFrame) -> list[WhEffects]:
    return _pairs(items.groupby(["suite", "item"], sort=False)[[WH_GAP, WH_NO_GAP]].mean())


def _pairs(items: pd.DataFrame) -> list[WhEffects]:
    return [WhEffects(*map(float, pair)) for pair in items[[WH_GAP, WH_NO_GAP]].to_numpy()]


def _is_met(own: Criterion) -> bool | None:
    """Whether a criterion is met; None if no value is finite, as with the exact grammar."""
    return None if math.isnan(own.gap) or math.isnan(own.nogap) else own.is_met


# Scored items as tidy tables: one row per run, item and prediction, and their summary.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """The run that produced a result: its name, model, corpus and random seed."""

    run: str
    model: str
    corpus: str = ""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredItems:
    """Outcomes of any number of runs on any number of suites, and notes for the reader.

    With ``effects``, a table of effects, the summary file also contains flip and island contrast.
    Intervals and criteria need ``min_items`` usable items.
    """

    items: pd.DataFrame
    notes: tuple[str, ...] = ()
    effects: pd.DataFrame | None = None
    min_items: int = MIN_ITEMS

    @property
    def summary(self) -> pd.DataFrame:
        """Accuracies with 95 % intervals; also by pronoun if items have this label."""
        return summarise(self.items, by=_summary_keys(self.items), min_items=self.min_items)

    @property
    def by_class(self) -> pd.DataFrame:
        """Accuracies of classes: means over pronouns, modifiers and seeds."""
        return summarise(self.items, by=("model", "corpus", "class"), min_items=self.min_items)

    def write(self, folder: Path) -> None:
        """Write ``items.csv`` and ``summary.csv``."""
        summary = self.summary
        if self.effects is not None:
            summary = with_criteria(
                summary, self.effects, _summary_keys(self.items), min_items=self.min_items
            )
        if BOUNDARY_COLUMN in self.items.columns:
            choices = self.items.groupby("model", sort=False)[BOUNDARY_COLUMN].first()
            summary = summary.assign(**{BOUNDARY_COLUMN: summary["model"].map(choices)})
        write_table(folder / ITEMS.file, self.items)
        write_table(folder / SUMMARY.file, summary)

    def tables(self, *, title: str = "Accuracy") -> list[FittedTable]:
        """Return a table for the terminal per corpus: classes as rows, models as columns."""
        means = self.by_class
        corpora = list(dict.fromkeys(means["corpus"]))
        return [
            _accuracy_table(
                means[means["corpus"] == corpus],
                title=f"{title} ({corpus})" if corpus else title,
                notes=self.notes if corpus == corpora[-1] else (),
            )
            for corpus in corpora
        ]


def items_frame(scored: Iterable[tuple[RunName, Sequence[ItemOutcome]]]) -> pd.DataFrame:
    """Return the table of items; each label becomes a column.

    Standard errors are columns if any is known.
    """
    rows = []
    for name, outcomes in scored:
        for own in outcomes:
            error = {
                ERROR_COLUMNS["difference_bits"]: own.difference_se,
                COULD_FLIP: own.could_flip,
            }
            rows.append(
                {
                    **_whose(name, own),
                    "prediction": own.prediction,
                    "outcome": own.outcome,
                    "tie": own.tie,
                    "difference_bits": own.difference_bits,
                    "unknown": len(own.unknown),
                    "unknown_words": " ".join(own.unknown),
                    NEAR_TIE: own.near_tie,
                    **({} if own.could_flip is None else error),
                    **label_columns(own.labels),
                }
            )
    return ITEMS.frame(rows)


def _whose(name: RunName, own: ItemOutcome | ItemEffect) -> dict[str, object]:
    item = {"suite": own.suite, "class": own.kind, "modifier": own.modifier, "item": own.item}
    return {**asdict(name), **item}


def effects_frame(measured: Iterable[tuple[RunName, Sequence[ItemEffect]]]) -> pd.DataFrame:
    """Return one row per run, item and effect, in bits; each label becomes a column.

    Standard errors are a column if any is known.
    """
    rows = []
    for name, effects in measured:
        for own in effects:
            error = {ERROR_COLUMNS["value_bits"]: own.value_se}
            rows.append(
                {
                    **_whose(name, own),
                    "effect": own.effect,
                    "value_bits": own.value_bits,
                    NEAR_TIE: own.near_tie,
                    **({} if math.isnan(own.value_se) else error),
                    **label_columns(own.labels),
                }
            )
    return EFFECTS.frame(rows)


def label_columns(labels: Mapping[str, str]) -> dict[str, object]:
    """Return labels as columns; labels named like another column get a prefix."""
    names = {*ITEMS.names, *EFFECTS.names, *SENTENCES.names}
    taken = {*names, *ERROR_COLUMNS.values(), COULD_FLIP, NEAR_TIE}
    return {f"label_{name}" if name in taken else name: text for name, text in labels.items()}


def _summary_keys(items: pd.DataFrame) -> tuple[str, ...]:
    return (*SUMMARY_KEYS, "pronoun") if "pronoun" in items.columns else SUMMARY_KEYS


def word_rows(
    name: RunName,
    suite: Suite,
    surprisals: Iterable[Sequence[float]],
    *,
    unknown: Collection[str] = (),
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the table of surprisals: one per word of every variant of every item.

    ``surprisals`` contains the surprisals (bits) of the words of each variant, in the suite's
    order.
    """
    fixed = (name.run, name.model, name.corpus, name.seed, suite.name)
    values = iter(surprisals)
    for item in suite.items:
        for number, variant in item.numbered_variants():
            pairs = zip(suite.regions, variant.regions, strict=True)
            regions = [region for region, words in pairs for _ in words]
            words = zip(regions, variant.words, next(values), strict=True)
            for place, (region, word, bits) in enumerate(words, start=1):
                here = (item.number, variant.condition, number, region, place, word)
                yield (*fixed, *here, word not in unknown, bits)


def _accuracy_table(by_class: pd.DataFrame, *, title: str, notes: Sequence[str]) -> FittedTable:
    """Return mean accuracies of one corpus, classes as rows and models as columns.

    The last rows count exact and near ties, outcomes within the search error, missing surprisals
    and out-of-vocabulary words.
    """
    table = FittedTable(title, "\n".join(notes))
    table.column("class")
    models = models_in_order(by_class["model"])
    for name in models:
        table.column(name, right=True)
    # Not pivot_table, which drops models without any accuracy.
    wide = by_class.set_index(["class", "model"])["accuracy"].unstack("model", sort=False)
    for name, row in wide.iterrows():
        table.add_row(spaced(name) or "all items", *(_cell(row.get(m), ".3f") for m in models))
    table.add_section()
    table.add_row("mean", *(_cell(wide[m].mean(), ".3f") for m in models))
    counted = ("ties", NEAR_TIES, COULD_FLIP, "missing", "unknown")
    names = [name for name in counted if name in by_class]
    counts = by_class.groupby("model", sort=False)[names].sum(min_count=1)
    for name in names:
        if name in ("ties", NEAR_TIES) or counts[name].sum() > 0:
            table.add_row(
                spaced(name), *(_cell(counts[name][m], ".0f") for m in models), style="dim"
            )
    return table


def _cell(value: float | None, form: str) -> str:
    return "" if value is None or pd.isna(value) else format(float(value), form)
