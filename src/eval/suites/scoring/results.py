"""Results as tidy tables: one row per run, item and comparison, and their summary."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.table import Table

from gardenpath.errors import InputError
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.scoring.aggregation import SUMMARY_KEYS, summarise
from gardenpath.eval.suites.scoring.criteria import with_criteria
from gardenpath.eval.suites.scoring.effects import ItemEffect
from gardenpath.eval.suites.scoring.item_scoring import ItemOutcome
from gardenpath.eval.suites.scoring.regions import Words
from gardenpath.store.files import whole_file

ITEMS_FILE = "items.csv"
SUMMARY_FILE = "summary.csv"
EFFECTS_FILE = "effects.csv"
SURPRISALS_FILE = "surprisals.tsv"

ITEM_COLUMNS = (
    "run", "model", "corpus", "seed", "suite", "class", "modifier", "item", "prediction",
    "outcome", "tie", "difference_bits", "unknown", "unknown_words",
)  # fmt: skip

SURPRISAL_COLUMNS = (
    "run", "model", "corpus", "seed", "suite", "item", "condition", "variant", "region",
    "word_id", "word", "seen", "surprisal_bits",
)  # fmt: skip

EFFECT_COLUMNS = (
    "run", "model", "corpus", "seed", "suite", "class", "modifier", "item", "effect", "value_bits",
)  # fmt: skip

_NUMBERS = {"seed": "Int64", "item": "int64", "unknown": "int64"}
_FLOATS = ("outcome", "difference_bits", "value_bits")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """Whose results these are."""

    run: str
    model: str
    corpus: str = ""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Outcomes of any number of runs on any number of suites, and remarks for the reader.

    With ``effects``, a table of effects, the file of the summary has flip and division too.
    """

    items: pd.DataFrame
    notes: tuple[str, ...] = ()
    effects: pd.DataFrame | None = None

    @property
    def summary(self) -> pd.DataFrame:
        """Accuracies with 95 % intervals; also by pronoun where items are labelled with one."""
        return summarise(self.items, by=_summary_keys(self.items))

    @property
    def by_class(self) -> pd.DataFrame:
        """Accuracies of classes: means over pronouns, modifiers and seeds."""
        return summarise(self.items, by=("model", "corpus", "class"))

    def write(self, folder: Path) -> None:
        """Write ``items.csv`` and ``summary.csv``."""
        summary = self.summary
        if self.effects is not None:
            summary = with_criteria(summary, self.effects, _summary_keys(self.items))
        write_table(folder / ITEMS_FILE, self.items)
        write_table(folder / SUMMARY_FILE, summary)

    def tables(self, *, title: str = "Accuracy") -> list[Table]:
        """For each corpus a table for the terminal: classes as rows, models as columns."""
        found = self.by_class
        corpora = list(dict.fromkeys(found["corpus"]))
        return [
            accuracy_table(
                found[found["corpus"] == corpus],
                title=f"{title} ({corpus})" if corpus else title,
                notes=self.notes if corpus == corpora[-1] else (),
            )
            for corpus in corpora
        ]


def items_frame(scored: Iterable[tuple[RunName, Sequence[ItemOutcome]]]) -> pd.DataFrame:
    """The table of items; labels become columns of their own."""
    rows = [_item_row(name, one) for name, outcomes in scored for one in outcomes]
    labels = dict.fromkeys(column for row in rows for column in row if column not in ITEM_COLUMNS)
    frame = pd.DataFrame(rows, columns=[*ITEM_COLUMNS, *labels])
    return _typed(frame)


def _item_row(name: RunName, one: ItemOutcome) -> dict[str, object]:
    return {
        **_whose(name, one),
        "prediction": one.prediction,
        "outcome": one.outcome,
        "tie": one.tie,
        "difference_bits": one.difference_bits,
        "unknown": len(one.unknown),
        "unknown_words": " ".join(one.unknown),
        **_labels(one.labels),
    }


def _whose(name: RunName, one: ItemOutcome | ItemEffect) -> dict[str, object]:
    """Whose result a row is, and on what."""
    return {
        "run": name.run,
        "model": name.model,
        "corpus": name.corpus,
        "seed": name.seed,
        "suite": one.suite,
        "class": one.kind,
        "modifier": one.modifier,
        "item": one.item,
    }


def effects_frame(measured: Iterable[tuple[RunName, Sequence[ItemEffect]]]) -> pd.DataFrame:
    """One row per run, item and effect, in bits; labels become columns of their own."""
    rows = [
        {
            **_whose(name, one),
            "effect": one.effect,
            "value_bits": one.value_bits,
            **_labels(one.labels),
        }
        for name, effects in measured
        for one in effects
    ]
    labels = dict.fromkeys(column for row in rows for column in row if column not in EFFECT_COLUMNS)
    return _typed(pd.DataFrame(rows, columns=[*EFFECT_COLUMNS, *labels]))


def _labels(labels: Mapping[str, str]) -> dict[str, object]:
    """Labels as columns; one that is called like another column is marked."""
    taken = {*ITEM_COLUMNS, *EFFECT_COLUMNS}
    return {f"label_{name}" if name in taken else name: text for name, text in labels.items()}


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns in their types; texts that are not given are empty, not missing."""
    for column in frame.columns:
        if column in _NUMBERS:
            frame[column] = pd.to_numeric(frame[column]).astype(_NUMBERS[column])
        elif column in _FLOATS:
            frame[column] = pd.to_numeric(frame[column]).astype("float64")
        elif column == "tie":
            frame[column] = frame[column].astype(str) == "True"
        else:
            frame[column] = frame[column].fillna("").astype(str)
    return frame


def _summary_keys(items: pd.DataFrame) -> tuple[str, ...]:
    return (*SUMMARY_KEYS, "pronoun") if "pronoun" in items.columns else SUMMARY_KEYS


def read_items(path: Path) -> pd.DataFrame:
    """A table of items as it was written."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InputError(f"is not a table: {error}", path=path) from error
    if missing := [column for column in ITEM_COLUMNS if column not in frame.columns]:
        raise InputError(f"has no column {', '.join(missing)}", path=path)
    for column in ("seed", "outcome", "difference_bits"):
        frame[column] = frame[column].replace("", None)
    return _typed(frame)


def surprisal_rows(
    name: RunName,
    suite: Suite,
    surprisals: Mapping[Words, Sequence[float]],
    *,
    unknown: Collection[str] = (),
) -> pd.DataFrame:
    """Every word of a suite with its region and surprisal, in bits."""
    fixed = (name.run, name.model, name.corpus, name.seed, suite.name)
    rows = []
    for item in suite.items:
        numbers: dict[str, int] = {}
        for variant in item.variants:
            number = numbers[variant.condition] = numbers.get(variant.condition, 0) + 1
            regions = [
                region
                for region, words in zip(suite.regions, variant.regions, strict=True)
                for _ in words
            ]
            values = surprisals[variant.words]
            for place, word in enumerate(variant.words):
                here = (variant.condition, number, regions[place], place + 1, word)
                seen = word not in unknown
                rows.append((*fixed, item.number, *here, seen, values[place]))
    frame = pd.DataFrame(rows, columns=list(SURPRISAL_COLUMNS))
    frame["seed"] = frame["seed"].astype("Int64")
    return frame


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as a whole: tabs and no quotes for ``.tsv``, commas otherwise."""
    is_tabbed = path.suffix == ".tsv"
    with whole_file(path) as temporary:
        frame.to_csv(
            temporary,
            index=False,
            sep="\t" if is_tabbed else ",",
            quoting=csv.QUOTE_NONE if is_tabbed else csv.QUOTE_MINIMAL,
            quotechar=None if is_tabbed else '"',
            lineterminator="\n",
            encoding="utf-8",
        )


def accuracy_table(by_class: pd.DataFrame, *, title: str, notes: Sequence[str] = ()) -> Table:
    """Mean accuracies of one corpus, classes as rows and models as columns.

    Ties, gaps and unknown words are counted in the last rows.
    """
    table = Table(title=title, caption="\n".join(notes) or None)
    table.add_column("class", no_wrap=True)
    models = list(dict.fromkeys(by_class["model"]))
    for name in models:
        table.add_column(name, justify="right", overflow="fold")
    found = by_class.pivot_table(index="class", columns="model", values="accuracy", sort=False)
    for name, row in found.iterrows():
        table.add_row(str(name).replace("_", " "), *(_accuracy(row.get(m)) for m in models))
    table.add_section()
    table.add_row("mean", *(_accuracy(found[m].mean()) for m in models))
    counts = by_class.groupby("model", sort=False)[["ties", "missing", "unknown"]].sum()
    for name in ("ties", "missing", "unknown"):
        if name == "ties" or counts[name].sum() > 0:
            table.add_row(name, *(str(int(counts[name][m])) for m in models), style="dim")
    return table


def _accuracy(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{value:.3f}"
