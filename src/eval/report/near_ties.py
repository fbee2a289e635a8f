"""How much near ties matter for what a figure shows, as columns beside its means."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pandas as pd

from gardenpath.eval.report.means import accuracies
from gardenpath.eval.suites.scoring.aggregation import near_tied
from gardenpath.store.tables import NEAR_TIE

# The accuracy if near ties counted as wrong, and if they counted as right.
IF_WRONG, IF_RIGHT = "near_ties_wrong", "near_ties_right"
# The share of near ties among the values of a mean in bits.
NEAR_SHARE = "near_tie_share"
# From this share on, a mean in bits is drawn as a near tie.
MOSTLY_NEAR = 0.5


def with_near_range(table: pd.DataFrame, items: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return accuracies with the columns ``IF_WRONG`` and ``IF_RIGHT``, if there are near ties."""
    near = near_tied(items)
    if not near.any():
        return table
    for column, credit in ((IF_WRONG, 0.0), (IF_RIGHT, 1.0)):
        counted = items.assign(outcome=items["outcome"].mask(near, credit))
        # No intervals: they take most of the time, and nobody looks at them.
        means = accuracies(counted, by=by, min_items=sys.maxsize)
        table = table.merge(means[[*by, "mean"]].rename(columns={"mean": column}), on=list(by))
    return table


def with_near_share(table: pd.DataFrame, rows: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return means in bits with the column ``NEAR_SHARE``, if there are near ties."""
    near = near_tied(rows)
    if not near.any():
        return table
    groups = rows.assign(**{NEAR_TIE: near}).groupby(list(by), sort=False, dropna=False)
    shares = groups[NEAR_TIE].mean().rename(NEAR_SHARE).reset_index()
    return table.merge(shares, on=list(by), how="left")
