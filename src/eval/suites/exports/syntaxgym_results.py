"""Results in the form of SyntaxGym: the suite, with metrics over the units of every region.

SyntaxGym computes sum, mean, median, range, maximum and minimum over the tokens of a region; the
end of a sentence belongs to its last region. Where a run has only words, its units are words.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.formats.syntaxgym import dump_syntaxgym
from gardenpath.eval.suites.scoring.alignment import region_tokens
from gardenpath.eval.suites.scoring.regions import ByRegion, exact_mean, exact_sum
from gardenpath.safe_text import parse_json


def word_regions(suite: Suite, rows: Sequence[Sequence[float]]) -> list[ByRegion]:
    """Return the surprisals of each region of every variant, from those of words (bits)."""
    variants = [variant for item in suite.items for variant in item.variants]
    found: list[ByRegion] = []
    for variant, row in zip(variants, rows, strict=True):
        values = iter(row)
        found.append(tuple(tuple(next(values) for _ in region) for region in variant.regions))
    return found


def token_regions(
    suite: Suite, sentences: Sequence[tuple[Sequence[str], Sequence[float]]]
) -> list[ByRegion]:
    """Return the surprisals of each region of every variant, from tokens and their bits."""
    variants = [(item, variant) for item in suite.items for variant in item.variants]
    return [
        region_tokens(suite, item, variant, tokens, values, end_counts=True)
        for (item, variant), (tokens, values) in zip(variants, sentences, strict=True)
    ]


def dump_results(suite: Suite, by_region: Sequence[ByRegion], *, model: str) -> str:
    """Return the results of a model as SyntaxGym's JSON.

    ``by_region`` has the surprisals (bits) of the units of each region of every variant, in order.
    NaN is written as null.
    """
    content = parse_json(dump_syntaxgym(suite))
    content["meta"]["model"] = model
    rows = iter(by_region)
    for item in content["items"]:
        for condition in item["conditions"]:
            for region, values in zip(condition["regions"], next(rows), strict=True):
                region["metric_value"] = {
                    name: _json_number(value) for name, value in region_metrics(values).items()
                }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def region_metrics(surprisal_bits: Sequence[float]) -> dict[str, float]:
    """Return SyntaxGym's metrics of a region; only the sum of a region without units is defined."""
    total = exact_sum(surprisal_bits)
    if not surprisal_bits or any(map(math.isnan, surprisal_bits)):
        others = dict.fromkeys(("mean", "median", "range", "max", "min"), math.nan)
        return {"sum": total, **others}
    largest, smallest = max(surprisal_bits), min(surprisal_bits)
    return {
        "sum": total,
        "mean": exact_mean(surprisal_bits),
        "median": float(np.median(surprisal_bits)),
        "range": math.nan if largest == smallest == math.inf else largest - smallest,
        "max": largest,
        "min": smallest,
    }


def _json_number(value: float) -> Any:
    """Return a number as JSON; NaN becomes null and infinities text, as JSON has neither."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
