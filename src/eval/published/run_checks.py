"""Comparisons of the runs of an import: copies, and units that differ between runs of a model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from gardenpath.errors import InputError
from gardenpath.eval.published.imported_runs import ImportedRun
from gardenpath.eval.published.value_checks import unit_problem
from gardenpath.eval.suites.scoring.scored_items import RunName
from gardenpath.store.keys import digest

# Fewest words from which surprisals of two runs are compared, and fewest different surprisals.
_ENOUGH_FOR_UNITS = 100
_ENOUGH_FOR_COPIES = 20
_FEWEST_DIFFERENT = 5


def check_units(runs: Sequence[ImportedRun]) -> None:
    """Refuse runs of one model whose surprisals differ by the ratio of two units."""
    means: dict[tuple[str, str, str], dict[str, float]] = {}
    for run in runs:
        known = [bits for row in run.rows for bits in row if math.isfinite(bits)]
        key = (run.name.model, run.name.corpus, run.suite.name)
        if len(known) >= _ENOUGH_FOR_UNITS:
            means.setdefault(key, {})[run.name.run] = math.fsum(known) / len(known)
    for (_, _, suite), found in means.items():
        reference = sorted(found.values())[len(found) // 2]
        for run_, mean in found.items():
            if mean and reference and (problem := unit_problem(mean / reference)):
                raise InputError(
                    f"{suite}: the mean surprisal of this run is {mean:.3f}, that of another run "
                    f"of the model {reference:.3f}: they differ by a factor of {problem}",
                    path=run_,
                    remedy="give all surprisals in one unit",
                )


def copies(runs: Sequence[ImportedRun]) -> list[str]:
    """Return notes on runs with the same surprisals, where this is not a mistake.

    These are runs of a model whose runs are all equal, such as an n-gram model, and runs on a few
    words. Other copies are refused: a file of one run in the folder of another, a run that is given
    under the names of two models or corpora, and a run that is given twice.
    """
    digests: dict[RunName, dict[str, str]] = {}
    for run in runs:
        digests.setdefault(run.name, {})[run.suite.name] = _numbers_digest(run)
    long = {run.suite.name for run in runs if _is_long(run)}
    notes = []
    for one, other in itertools.combinations(digests, 2):
        common = digests[one].keys() & digests[other].keys()
        copied = sorted(name for name in common if digests[one][name] == digests[other][name])
        if not copied:
            continue
        is_mistake = len(copied) < len(common) or not _is_deterministic(one, other, digests)
        if is_mistake and not long.isdisjoint(copied):
            raise InputError(
                f"has the same surprisals as {other.run} on {copied[0]}"
                + (f" and {len(copied) - 1} more suites" if len(copied) > 1 else ""),
                path=one.run,
                remedy="give every run once, with its own files",
            )
        notes.append(f"{one.run} and {other.run} have the same surprisals")
    return notes


def _is_deterministic(one: RunName, other: RunName, digests: dict[RunName, dict[str, str]]) -> bool:
    """Whether both are runs of a model whose runs are all equal."""
    if (one.model, one.corpus) != (other.model, other.corpus):
        return False
    own = [
        found
        for name, found in digests.items()
        if (name.model, name.corpus) == (one.model, one.corpus)
    ]
    return all(first == second for first, second in itertools.pairwise(own))


def _is_long(run: ImportedRun) -> bool:
    """Whether two models cannot have the same surprisals on these words by chance."""
    known = [bits for row in run.rows for bits in row if math.isfinite(bits)]
    return len(known) >= _ENOUGH_FOR_COPIES and len(set(known)) >= _FEWEST_DIFFERENT


def _numbers_digest(run: ImportedRun) -> str:
    return digest(" ".join(f"{bits:.6f}" for row in run.rows for bits in row))
