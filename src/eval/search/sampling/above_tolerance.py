"""Words whose standard error is still above the tolerance: how many, and how to say so."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.text import plural


def not_converged(
    errors: Sequence[float] | Floats, positions: Collection[int] | None, tolerance: float
) -> int:
    """Count the words that matter (None: all) whose standard error is above the tolerance."""
    found = np.asarray(errors)
    chosen = found if positions is None else found[sorted(positions)]
    return int((chosen > tolerance).sum())


def tolerance_note(run: str, above: Sequence[int], of: str, tolerance: float) -> str | None:
    """Say how many words are above the tolerance; None if there are none.

    ``above``: their number in each sentence; ``of``: which words they are among, such as ``12
    words``.
    """
    if not sum(above):
        return None
    sentences = plural(sum(count > 0 for count in above), "sentence")
    return (
        f"{run}: the standard error of {sum(above)} of {of}, in {sentences}, is above "
        f"search.tolerance={tolerance:g} bits; give the search more work, or expect less precise "
        "differences (difference_se)"
    )
