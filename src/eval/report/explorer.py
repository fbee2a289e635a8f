"""The item on which the explorer opens: where models disagree most, or with the largest effect."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.means import near_tied
from gardenpath.eval.report.content import ReportContent
from gardenpath.eval.suites.outcomes import USABLE, with_usable
from gardenpath.store.tables import ERROR_COLUMNS, SENTENCE_COLUMNS
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
    size = float(sizes.loc[best, column])
    part = rows[(rows[keys] == list(best)).all(axis="columns")]
    of_models = means[(means[keys] == list(best)).all(axis="columns")]
    reason = (
        f"the item on which the models disagree most: {_extremes(of_models, best[-1])}"
        if is_compared
        else f"the item with the largest effect ({size:.1f} bits)"
    )
    return Opening(str(best[0]), best[1], _run(content, part), reason)


def _extremes(means: pd.DataFrame, prediction: object) -> str:
    """Name the models with the largest and the smallest difference in a prediction."""
    bits = means.set_index("model")["difference_bits"]
    high, low = (
        f"{bits[model]:+.1f}".replace("-", "−") + f" bits in {model}"
        for model in (bits.idxmax(), bits.idxmin())
    )
    return f"{high}, {low} ({spaced(str(prediction))})"


def _candidates(content: ReportContent) -> pd.DataFrame:
    """Return the rows of models with a known difference, of items that can be shown in full."""
    if not len(content.items):
        return content.items
    items = with_usable(content.items, content.items)
    shown = set(zip(content.surprisals["suite"], content.surprisals["item"], strict=True))
    parsed = {(suite, item) for _, suite, item, *_ in content.parses} & shown
    is_known = np.isfinite(items["difference_bits"].astype("float64"))
    rows = items[is_known & (items["model"] != EXACT)]
    for wanted in (shown, parsed):
        is_in = [one in wanted for one in zip(rows["suite"], rows["item"], strict=True)]
        rows = rows[np.array(is_in, dtype=bool)] if any(is_in) or wanted is shown else rows
    usable = rows[rows[USABLE].astype(bool)]
    return usable if len(usable) else rows


def _run(content: ReportContent, rows: pd.DataFrame) -> str:
    """Return the run with the largest difference, one with parses if there is any."""
    parsed = {run for run, *_ in content.parses}
    with_parses = rows[rows["run"].isin(parsed)]
    chosen = with_parses if len(with_parses) else rows
    sizes = chosen["difference_bits"].abs()
    assert not math.isnan(float(sizes.max()))
    return str(chosen.loc[sizes.idxmax(), "run"])


# ----------------------------------------------------------------------------
# The data of the item explorer, in a compact form that is embedded in the page.
#
# Words and trees are stored once and referred to by number; surprisals have two decimals, ``-1``
# denotes infinity and ``null`` a missing value.


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
    """Return the data of the explorer, ready for JSON."""
    runs = content.runs()
    known_runs = {run: place for place, run in enumerate(runs["run"])}
    words, trees, glosses = Numbers(), Numbers(), Numbers()
    first = opening(content)
    suites = _suites(content, limits, first)
    for suite in suites.values():
        suite["numbers"] = {item["id"]: place for place, item in enumerate(suite["items"])}
    _add_surprisals(content, suites, known_runs, words)
    _add_outcomes(content, suites, known_runs)
    _add_parses(content, suites, known_runs, trees, limits, first)
    _add_glosses(content, suites, glosses)
    return {
        "runs": [
            {"model": model, "corpus": corpus, "seed": None if pd.isna(seed) else int(seed)}
            for model, corpus, seed in runs[["model", "corpus", "seed"]].itertuples(index=False)
        ],
        "words": words.values,
        "trees": trees.values,
        **({"glosses": glosses.values} if glosses.of else {}),
        **({} if first is None else {"open": _place(first, suites, known_runs)}),
        "suites": [_finished(suite) for suite in suites.values()],
    }


def _place(
    first: Opening, suites: dict[str, dict[str, Any]], runs: dict[str, int]
) -> dict[str, int]:
    """Return the numbers of suite, item and run on which the explorer opens."""
    number = suites[first.suite]["numbers"][_plain(first.item)]
    place = list(suites).index(first.suite)
    return {"suite": place, "item": number, "run": runs[first.run]}


def _plain(value: object) -> int | str:
    """Return the name of an item or variant for JSON: an integer if it is one, else text."""
    return int(value) if isinstance(value, int) or hasattr(value, "__index__") else str(value)


def _rounded(value: float) -> float | None:
    """Return a surprisal for the page: rounded, None if missing, -1 if infinite."""
    if math.isnan(value):
        return None
    return INFINITE if math.isinf(value) else round(value, 2)


def _items(
    suite: str, items: list[Any], limits: ExplorerLimits, first: Opening | None
) -> list[Any]:
    """Return the first items of a suite, with the one on which the explorer opens."""
    kept = items[: limits.items]
    if first is not None and first.suite == suite and first.item not in kept:
        return [*kept[: max(0, limits.items - 1)], first.item]
    return kept


def _suites(
    content: ReportContent, limits: ExplorerLimits, first: Opening | None
) -> dict[str, dict[str, Any]]:
    """Return the suites in order, with the items of the page, still without data."""
    pairs = content.surprisals[["suite", "item"]].drop_duplicates()
    by_suite = dict(list(pairs.groupby("suite", sort=False)["item"]))
    suites: dict[str, dict[str, Any]] = {}
    for suite, items in ((name, by_suite[name]) for name in content.suites()):
        kept: list[dict[str, Any]] = [
            {"id": _plain(item), "variants": [], "places": {}, "s": {}}
            for item in _items(str(suite), items.tolist(), limits, first)
        ]
        suites[str(suite)] = {
            "name": str(suite),
            "total": len(items),
            "regions": Numbers(),
            "predictions": Numbers(),
            "critical": [str(region) for region in content.critical.get(str(suite), ())],
            "items": kept,
        }
    return suites


def _add_glosses(content: ReportContent, suites: dict[str, dict[str, Any]], texts: Numbers) -> None:
    """Add the gloss of every word (``g``) and the translation (``t``) of items that have them."""
    for name, suite in suites.items():
        for item in suite["items"]:
            glosses, translation = content.glosses.get((name, item["id"]), ({}, ""))
            variants = item["variants"]
            rows = [glosses.get((one["c"], one["v"]), ()) for one in variants]
            if any(map(any, rows)):
                item["g"] = [
                    [texts(word) for word in row] if len(row) == len(one["w"]) else []
                    for one, row in zip(variants, rows, strict=True)
                ]
            if translation:
                item["t"] = translation


def _kept(table: pd.DataFrame, suites: dict[str, dict[str, Any]]) -> pd.DataFrame:
    """Return the rows of items that are in the page."""
    keys = {(name, item["id"]) for name, suite in suites.items() for item in suite["items"]}
    rows = zip(table["suite"].tolist(), table["item"].tolist(), strict=True)
    kept = [(str(suite), _plain(item)) in keys for suite, item in rows]
    return table[np.array(kept, dtype=bool)]


def _add_surprisals(
    content: ReportContent, suites: dict[str, dict[str, Any]], runs: dict[str, int], words: Numbers
) -> None:
    """Add the variants, taken from the first run, and the surprisals of every run."""
    columns = ["run", *SENTENCE_COLUMNS, "region", "word", "seen", "surprisal_bits"]
    first: dict[tuple[str, object], object] = {}
    table = _kept(content.surprisals, suites)
    rows = zip(*(table[column].tolist() for column in columns), strict=True)
    for run, suite_name, item_name, condition, variant, region, word, seen, value in rows:
        suite = suites[str(suite_name)]
        item = suite["items"][suite["numbers"][_plain(item_name)]]
        name = (str(condition), _plain(variant))
        place = item["places"].setdefault(name, len(item["variants"]))
        if place == len(item["variants"]):
            item["variants"].append({"c": name[0], "v": name[1], "w": [], "r": []})
        if first.setdefault((suite_name, item["id"]), run) == run:
            item["variants"][place]["w"].append(words(str(word)))
            item["variants"][place]["r"].append(suite["regions"](str(region)))
        values = _list_at(item["s"], runs[run], place)
        if not seen:
            _list_at(item.setdefault("u", {}), runs[run], place).append(len(values))
        values.append(_rounded(value))


def _list_at(store: dict[int, list[Any]], run: int, place: int) -> list[Any]:
    """Return the list of a variant of a run, which is created if needed."""
    variants = store.setdefault(run, [])
    while len(variants) <= place:
        variants.append([])
    found: list[Any] = variants[place]
    return found


def _add_outcomes(
    content: ReportContent, suites: dict[str, dict[str, Any]], runs: dict[str, int]
) -> None:
    """Add prediction, outcome, difference, its error and whether it is a near tie, for each run."""
    columns = ["run", "suite", "item", "prediction", "outcome", "difference_bits"]
    error_name = ERROR_COLUMNS["difference_bits"]
    table = _kept(content.items, suites)
    errors = table[error_name] if error_name in table.columns else [math.nan] * len(table)
    rows = table[columns].itertuples(index=False, name=None)
    for (run, name, item_name, prediction, outcome, difference), error, near in zip(
        rows, errors, near_tied(table), strict=True
    ):
        suite = suites[str(name)]
        item = suite["items"][suite["numbers"][_plain(item_name)]]
        value = None if math.isnan(outcome) else round(float(outcome), 3)
        gap = None if not math.isfinite(difference) else round(float(difference), 2)
        row = [suite["predictions"](str(prediction)), value, gap]
        if math.isfinite(error) or near:
            row.append(round(float(error), 3) if math.isfinite(error) else None)
        if near:
            row.append(1)
        item.setdefault("o", {}).setdefault(runs[run], []).append(row)


def _add_parses(
    content: ReportContent,
    suites: dict[str, dict[str, Any]],
    runs: dict[str, int],
    trees: Numbers,
    limits: ExplorerLimits,
    first: Opening | None,
) -> None:
    """Add posterior probability and tree of the best parses for each run, variant and word."""
    for (run, name, item_name, condition, variant, word_id), parses in content.parses.items():
        suite = suites.get(name)
        place = None if suite is None else suite["numbers"].get(_plain(item_name))
        if suite is None or place is None or run not in runs:
            continue
        is_first = first is not None and (name, item_name) == (first.suite, first.item)
        if place >= limits.items_with_parses and not (is_first and limits.items_with_parses):
            continue
        item = suite["items"][place]
        spot = item["places"][condition, _plain(variant)]
        best = sorted(parses, key=lambda parse: -parse[0])[: limits.parses]
        row = [[round(share, 3), trees(tree)] for share, tree in best]
        variants = item.setdefault("p", {}).setdefault(runs[run], {})
        variants.setdefault(spot, {})[word_id - 1] = row


def _finished(suite: dict[str, Any]) -> dict[str, Any]:
    """Return the final record of a suite, with plain lists only."""
    regions: Numbers = suite["regions"]
    for item in suite["items"]:
        del item["places"]
    critical = [regions.of[name] for name in suite["critical"] if name in regions.of]
    return {
        "name": suite["name"],
        "total": suite["total"],
        "regions": regions.values,
        "predictions": suite["predictions"].values,
        "critical": critical,
        "items": suite["items"],
    }
