"""Usable items: those whose critical words a model knows and whose surprisals are present.

An unknown critical word has the surprisal of its class, so an item with one says little about the
word. Such items stay in accuracies and analyses, as in the published studies, but they are counted:
a statistic needs enough usable items, and the share of the others is the first thing that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gardenpath.text import spaced

if TYPE_CHECKING:
    import pandas as pd

# Least number of usable items behind a statistic: a test, an interval, a correlation, a verdict.
# Items are the independent units of a suite; seeds and conditions of an item do not add to them.
# Below 6 items no sign test can reach p < .05, and a bootstrap interval repeats the values; the
# published designs have more. Ten leaves room for suites that lose some.
MIN_ITEMS = 10
# Column that marks the rows of usable items; analyses count them and drop it.
USABLE = "_usable"
# Above this share of unusable items an accuracy says little about a model.
LARGE_SHARE = 0.25

# What a reason for a statistic that was not computed contains.
TOO_FEW = "statistics need at least"

_ITEM = ["run", "suite", "item"]
# Number of suites that a warning names.
_MOST_SUITES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemCount:
    """The usable items of a model among all, and why others are not usable."""

    name: str
    items: int
    unknown: int
    missing: int
    suites: tuple[str, ...] = ()

    @property
    def unusable(self) -> int:
        """Number of items with unknown critical words or without surprisals."""
        return self.unknown + self.missing

    @property
    def share(self) -> float:
        """The share of unusable items."""
        return self.unusable / self.items if self.items else 0.0

    @property
    def is_large(self) -> bool:
        """Whether so many items are unusable that accuracies say little."""
        return self.share > LARGE_SHARE

    def __str__(self) -> str:
        said = []
        if self.unknown:
            said.append(f"{self.unknown} of {self.items} items have unknown critical words")
        if self.missing:
            said.append(f"{self.missing} of {self.items} items lack a surprisal")
        text = f"{self.name}: {', and '.join(said)} ({self.share:.0%})"
        if self.is_large:
            text += "; its accuracies say little"
        if self.suites:
            text += f" (most in {', '.join(self.suites)})"
        return text


def usable_items(items: pd.DataFrame) -> pd.DataFrame:
    """Return one row per run, suite and item of a table of items, with the flag ``USABLE``."""
    marked = items[_ITEM].assign(**{USABLE: (items["unknown"] == 0) & items["outcome"].notna()})
    return marked.groupby(_ITEM, sort=False, dropna=False)[USABLE].all().reset_index()


def with_usable(table: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Return a table of items, effects or sentences with the flag ``USABLE`` of each item.

    Items of suites without predictions have no outcomes and count as usable.
    """
    if table.empty or items.empty or not {*_ITEM} <= set(table.columns):
        return table
    known = usable_items(items)
    flags = dict(zip(known[_ITEM].itertuples(index=False, name=None), known[USABLE], strict=True))
    rows = table[_ITEM].itertuples(index=False, name=None)
    return table.assign(**{USABLE: [flags.get(row, True) for row in rows]})


def usable_counts(items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the numbers of items, of usable, unknown and missing ones, in order of appearance.

    An item is counted once, and is usable if it is for every run; ``unknown`` are items with
    unknown critical words, ``missing`` others without a surprisal.
    """
    import pandas as pd  # here, because settings need only the constants of this module

    keys = list(by)
    marked = items.assign(_unknown=items["unknown"] > 0, _missing=items["outcome"].isna())
    single = list(dict.fromkeys([*keys, "suite", "item"]))
    flags = marked.groupby(single, dropna=False, sort=False)[["_unknown", "_missing"]].any()
    flags["_missing"] &= ~flags["_unknown"]
    groups = flags.reset_index().groupby(keys, dropna=False, sort=False)
    counts = pd.DataFrame(
        {
            "items": groups.size(),
            "unknown": groups["_unknown"].sum(),
            "missing": groups["_missing"].sum(),
        }
    ).astype("int64")
    counts["usable"] = counts["items"] - counts["unknown"] - counts["missing"]
    return counts.reset_index()


def unusable_items(items: pd.DataFrame) -> list[ItemCount]:
    """Return the models with unusable items, those with the largest share first."""
    if items.empty:
        return []
    by = ["model", "corpus"]
    of_suites = usable_counts(items, [*by, "suite"])
    found = []
    for row in usable_counts(items, by).to_dict("records"):
        if row["usable"] == row["items"]:
            continue
        own = of_suites[(of_suites[by] == [row["model"], row["corpus"]]).all(axis=1)]
        name = f"{row['model']} ({row['corpus']})" if row["corpus"] else str(row["model"])
        found.append(
            ItemCount(
                name=name,
                items=row["items"],
                unknown=row["unknown"],
                missing=row["missing"],
                suites=_worst(own),
            )
        )
    return sorted(found, key=lambda one: -one.share)


def _worst(suites: pd.DataFrame) -> tuple[str, ...]:
    """Return the suites with the largest shares of unusable items; none if there is only one."""
    if len(suites) < 2:
        return ()
    unusable = suites["items"] - suites["usable"]
    worst = suites.assign(_unusable=unusable, _share=unusable / suites["items"])
    worst = worst[worst["_share"] > LARGE_SHARE].sort_values("_share", ascending=False)
    rows = worst.head(_MOST_SUITES).to_dict("records")
    return tuple(f"{spaced(row['suite'])}: {row['_unusable']} of {row['items']}" for row in rows)


def is_enough(usable: int, items: int, least: int) -> bool:
    """Whether a statistic may be computed: usable items are enough, and not the smaller part."""
    return usable >= least and 2 * usable >= items


def too_few(usable: int, items: int, least: int, *, whose: str = "") -> str:
    """Say that a statistic is not computed: ``7 of 40 items are usable; …``."""
    verb = "is" if usable == 1 else "are"
    said = f"{usable} of {items} items {verb} usable" + (f" ({whose})" if whose else "")
    if usable < least:
        return f"{said}; {TOO_FEW} {least} (task.min_items)"
    return f"{said}; {TOO_FEW} half of the items (suite.in_vocabulary=true uses only these)"


def counted_with(items: pd.DataFrame, by: Sequence[str], least: int) -> Iterator[tuple[str, str]]:
    """Yield the groups with too few usable items, each with its name and the reason."""
    for row in usable_counts(items, by).to_dict("records"):
        if not is_enough(row["usable"], row["items"], least):
            name = ", ".join(spaced(row[key]) for key in by if row[key] not in ("", None))
            yield name, too_few(row["usable"], row["items"], least)
