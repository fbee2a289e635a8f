"""The data of the item explorer in a report, and the item on which it opens.

``page`` embeds the data, which ``assets/explorer.js`` reads; ``evaluation`` asks for the opening to
parse that item. Words and trees are stored once and referred to by number; surprisals have two
decimals, ``-1`` denotes infinity and ``null`` a missing value.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.means import near_tied
from gardenpath.eval.report.content import ReportContent
from gardenpath.eval.suites.outcomes import USABLE, with_usable
from gardenpath.store.tables import ERROR_COLUMNS
from gardenpath.util import spaced


class Opening(NamedTuple):
    """An item, the run with the largest difference in it, and the reason in words."""

    suite: str
    item: int | str
    run: str
    reason: str


def opening(content: ReportContent) -> Opening | None:
    """Return the item on which the models of a corpus disagree most; None if nothing is known.

    Compared are the differences of a prediction in bits, averaged over random seeds. The exact
    grammar is no model. With a single model, it is the item with the largest difference. Items with
    out-of-vocabulary critical words do not count, and if some items have parses, only those do.
    The run is that with the largest difference, one with parses if there is any.
    """
    rows = _candidates(content)
    if not len(rows):
        return None
    keys = ["suite", "item", "corpus", "prediction"]
    means = rows.groupby([*keys, "model"], sort=False)["difference_bits"].mean().reset_index()
    groups = means.groupby(keys, sort=False)["difference_bits"]
    sizes = pd.DataFrame({"models": groups.size(), "range": groups.max() - groups.min()})
    sizes["largest"] = groups.apply(lambda bits: float(bits.abs().max()))
    is_compared = bool((sizes["models"] > 1).any())
    column = "range" if is_compared else "largest"
    best = sizes[column].idxmax()
    reason = f"the item with the largest effect ({float(sizes.loc[best, column]):.1f} bits)"
    if is_compared:
        of_models = means[(means[keys] == list(best)).all(axis="columns")]
        bits = of_models.set_index("model")["difference_bits"]
        high, low = (
            f"{bits[model]:+.1f}".replace("-", "−") + f" bits in {model}"
            for model in (bits.idxmax(), bits.idxmin())
        )
        reason = (
            f"the item on which the models disagree most: {high}, {low} ({spaced(str(best[-1]))})"
        )
    of_item = rows[(rows[keys] == list(best)).all(axis="columns")]
    with_parses = of_item[of_item["run"].isin({run for run, *_ in content.parses})]
    chosen = with_parses if len(with_parses) else of_item
    run = chosen.loc[chosen["difference_bits"].abs().idxmax(), "run"]
    return Opening(str(best[0]), best[1], str(run), reason)


def _candidates(content: ReportContent) -> pd.DataFrame:
    if not len(content.items):
        return content.items
    items = with_usable(content.items, content.items)
    shown = set(zip(content.surprisals["suite"], content.surprisals["item"], strict=True))
    parsed = {(suite, item) for _, suite, item, *_ in content.parses} & shown
    is_known = np.isfinite(items["difference_bits"].astype("float64"))
    rows = items[is_known & (items["model"] != EXACT)]
    for wanted in (shown, parsed):
        is_in = [place in wanted for place in zip(rows["suite"], rows["item"], strict=True)]
        rows = rows[np.array(is_in, dtype=bool)] if any(is_in) or wanted is shown else rows
    usable = rows[rows[USABLE].astype(bool)]
    return usable if len(usable) else rows


INFINITE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorerLimits:
    """Limits on the data in the page: first items of each suite, best parses of each word.

    Partial parses for every word need much space, so fewer items have parses than surprisals. The
    item on which the explorer opens is always in the page, with its parses.
    """

    items: int = 30
    items_with_parses: int = 8
    parses: int = 3
    # Notes beside the answer; more are folded.
    notes: int = 2


class Numbers:
    """Numbers distinct values in order of first appearance."""

    def __init__(self) -> None:
        self.of: dict[Hashable, int] = {}

    def __call__(self, value: Hashable) -> int:
        return self.of.setdefault(value, len(self.of))

    @property
    def values(self) -> list[Any]:
        return list(self.of)


def explorer_data(content: ReportContent, limits: ExplorerLimits) -> dict[str, Any]:
    return _Data(content, limits).finished()


def _plain(value: object) -> int | str:
    """Return the name of an item or variant for JSON: an integer if it is one, else text."""
    return int(value) if isinstance(value, int) or hasattr(value, "__index__") else str(value)


def _rounded(value: float) -> float | None:
    """Return a surprisal for the page: rounded, None if missing, -1 if infinite."""
    if math.isnan(value):
        return None
    return INFINITE if math.isinf(value) else round(value, 2)


class _Data:
    """The data of the explorer, which grow while tables are read."""

    def __init__(self, content: ReportContent, limits: ExplorerLimits) -> None:
        self._content, self._limits = content, limits
        self._table_of_runs = content.runs()
        self._runs = {run: place for place, run in enumerate(self._table_of_runs["run"])}
        self._words, self._trees, self._glosses = Numbers(), Numbers(), Numbers()
        self._first = opening(content)
        pairs = content.surprisals[["suite", "item"]].drop_duplicates()
        items = {name: part.tolist() for name, part in pairs.groupby("suite")["item"]}
        self._suites = {name: self._suite(name, items[name]) for name in content.suites()}

    def _suite(self, name: str, items: list[Any]) -> dict[str, Any]:
        """Return a suite with the items of the page, still without data.

        These are the first ones, with the one on which the explorer opens.
        """
        first = self._first
        kept = items[: self._limits.items]
        if first is not None and first.suite == name and first.item not in kept:
            kept = [*kept[: max(0, self._limits.items - 1)], first.item]
        return {
            "name": name,
            "total": len(items),
            "regions": Numbers(),
            "predictions": Numbers(),
            "items": [{"id": _plain(item), "variants": [], "places": {}, "s": {}} for item in kept],
            "numbers": {_plain(item): place for place, item in enumerate(kept)},
        }

    def finished(self) -> dict[str, Any]:
        self._add_surprisals()
        self._add_outcomes()
        self._add_parses()
        self._add_glosses()
        first = self._first
        runs = self._table_of_runs[["model", "corpus", "seed"]].itertuples(index=False)
        data: dict[str, Any] = {
            "runs": [
                {"model": model, "corpus": corpus, "seed": None if pd.isna(seed) else int(seed)}
                for model, corpus, seed in runs
            ],
            "words": self._words.values,
            "trees": self._trees.values,
        }
        if self._glosses.of:
            data["glosses"] = self._glosses.values
        if first is not None:
            data["open"] = {
                "suite": list(self._suites).index(first.suite),
                "item": self._suites[first.suite]["numbers"][_plain(first.item)],
                "run": self._runs[first.run],
            }
        data["suites"] = []
        for name, suite in self._suites.items():
            for item in suite["items"]:
                del item["places"]
            regions = suite["regions"].of
            critical = [str(region) for region in self._content.critical.get(name, ())]
            data["suites"].append(
                {
                    "name": name,
                    "total": suite["total"],
                    "regions": suite["regions"].values,
                    "predictions": suite["predictions"].values,
                    "critical": [regions[region] for region in critical if region in regions],
                    "items": suite["items"],
                }
            )
        return data

    def _rows(self, table: pd.DataFrame, columns: Sequence[str]) -> Iterator[Any]:
        """Yield suite, item and the values of these columns, of the items that are in the page."""
        values = zip(*(table[column].tolist() for column in columns), strict=True)
        names = zip(table["suite"].tolist(), table["item"].tolist(), strict=True)
        for (suite_name, item_name), row in zip(names, values, strict=True):
            suite = self._suites.get(str(suite_name))
            place = None if suite is None else suite["numbers"].get(_plain(item_name))
            if suite is not None and place is not None:
                yield suite, suite["items"][place], row

    def _add_surprisals(self) -> None:
        """Add the variants, taken from the first run, and the surprisals of every run."""
        columns = ["run", "condition", "variant", "region", "word", "seen", "surprisal_bits"]
        first: dict[tuple[str, object], object] = {}
        for suite, item, row in self._rows(self._content.surprisals, columns):
            run, condition, variant, region, word, seen, value = row
            name = (str(condition), _plain(variant))
            place = item["places"].setdefault(name, len(item["variants"]))
            if place == len(item["variants"]):
                item["variants"].append({"c": name[0], "v": name[1], "w": [], "r": []})
            if first.setdefault((suite["name"], item["id"]), run) == run:
                item["variants"][place]["w"].append(self._words(str(word)))
                item["variants"][place]["r"].append(suite["regions"](str(region)))
            values = _list_at(item["s"], self._runs[run], place)
            if not seen:
                _list_at(item.setdefault("u", {}), self._runs[run], place).append(len(values))
            values.append(_rounded(value))

    def _add_outcomes(self) -> None:
        """Add prediction, outcome, difference, its error and whether it is a near tie, by run."""
        items, error_name = self._content.items, ERROR_COLUMNS["difference_bits"]
        errors = items[error_name] if error_name in items.columns else math.nan
        table = items.assign(error=errors, near=near_tied(items))
        columns = ["run", "prediction", "outcome", "difference_bits", "error", "near"]
        for suite, item, row in self._rows(table, columns):
            run, prediction, outcome, difference, error, near = row
            value = None if math.isnan(outcome) else round(float(outcome), 3)
            gap = None if not math.isfinite(difference) else round(float(difference), 2)
            shown = [suite["predictions"](str(prediction)), value, gap]
            if math.isfinite(error) or near:
                shown.append(round(float(error), 3) if math.isfinite(error) else None)
            if near:
                shown.append(1)
            item.setdefault("o", {}).setdefault(self._runs[run], []).append(shown)

    def _add_parses(self) -> None:
        """Add posterior probability and tree of the best parses by run, variant and word."""
        first, most = self._first, self._limits.items_with_parses
        for key, parses in self._content.parses.items():
            run, name, item_name, condition, variant, word_id = key
            suite = self._suites.get(name)
            place = None if suite is None else suite["numbers"].get(_plain(item_name))
            if suite is None or place is None or run not in self._runs:
                continue
            is_first = first is not None and (name, item_name) == (first.suite, first.item)
            if place >= most and not (is_first and most):
                continue
            item = suite["items"][place]
            spot = item["places"][condition, _plain(variant)]
            best = sorted(parses, key=lambda parse: -parse[0])[: self._limits.parses]
            row = [[round(share, 3), self._trees(tree)] for share, tree in best]
            variants = item.setdefault("p", {}).setdefault(self._runs[run], {})
            variants.setdefault(spot, {})[word_id - 1] = row

    def _add_glosses(self) -> None:
        """Add the gloss of every word (``g``) and the translation (``t``), where there are any."""
        for name, suite in self._suites.items():
            for item in suite["items"]:
                glosses, translation = self._content.glosses.get((name, item["id"]), ({}, ""))
                variants = item["variants"]
                rows = [glosses.get((variant["c"], variant["v"]), ()) for variant in variants]
                if any(map(any, rows)):
                    item["g"] = [
                        [self._glosses(w) for w in row] if len(row) == len(variant["w"]) else []
                        for variant, row in zip(variants, rows, strict=True)
                    ]
                if translation:
                    item["t"] = translation


def _list_at(store: dict[int, list[list[Any]]], run: int, place: int) -> list[Any]:
    variants = store.setdefault(run, [])
    while len(variants) <= place:
        variants.append([])
    return variants[place]
