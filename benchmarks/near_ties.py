"""Measure below which size differences of surprisal say nothing about a model.

    python -m benchmarks.near_ties --runs runs/toy/toy_english
    python -m benchmarks.near_ties --runs runs/demo --suites demo --wider 8

The same predictions of suites are scored twice, and the changes of their differences (bits) are
listed: largest, and largest among the differences below 0.1 bits, where an outcome can flip.
*alone* scores sentences one by one instead of in batches, *threads* with two threads instead of
one: this is rounding, above which ``task.near_tie_bits`` must lie. *wider beam* searches syntactic
models with beams that are so many times wider than those of ``make demo``: this is the unknown
error of a beam search, for which ``task.search_near_tie_bits`` stands. ``flips`` counts outcomes
that change between right and wrong; ``not tied`` those of them that are no near ties by default.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import gardenpath as gp
from gardenpath.eval.search.settings import WordSync
from gardenpath.eval.suites.outcomes import USUAL_TIES

_DEMO_BEAM = WordSync(action_beam=30, word_beam=5)
_SMALL = 0.1


@dataclass(frozen=True)
class Change:
    """How the differences of one model change if something else than the model changes."""

    model: str
    changed: str
    before: np.ndarray
    after: np.ndarray
    threshold: float

    def cells(self) -> Iterator[str]:
        """Yield the cells of a row of the table."""
        sizes = np.abs(self.after - self.before)
        small = np.abs(self.before) < _SMALL
        flips = np.sign(self.before) != np.sign(self.after)
        yield from (self.model, self.changed, str(len(sizes)), str(int(small.sum())))
        yield f"{sizes.max(initial=0.0):.1e}"
        yield f"{sizes[small].max(initial=0.0):.1e}"
        yield f"{np.quantile(sizes[small], 0.9) if small.any() else 0.0:.1e}"
        yield str(int(flips.sum()))
        yield str(int((flips & (np.abs(self.before) > self.threshold)).sum()))


class _Alone:
    """A run that scores sentences one by one."""

    def __init__(self, run: gp.Run) -> None:
        self.run, self.name, self.language, self.knows = run, "alone", run.language, run.knows

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[object]:
        return [self.run.word_log_probs([words])[0] for words in sentences]


def _differences(subject: object, suites: Sequence[gp.Suite]) -> np.ndarray:
    found = gp.evaluate(subject, suites, ties="exact").items["difference_bits"]  # type: ignore[arg-type]
    return np.asarray(found, dtype=np.float64)


def _with_threads(count: int, compute: Callable[[], np.ndarray]) -> np.ndarray:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        return compute()
    finally:
        torch.set_num_threads(before)


def changes(path: Path, suites: Sequence[gp.Suite], wider: int) -> Iterator[Change]:
    """Yield what changes the differences of a run."""
    run = gp.load(path, device="cpu", search=_DEMO_BEAM)
    fitting = [one for one in suites if one.language == run.language]
    threshold = USUAL_TIES.threshold_bits(None, is_searched=run.is_syntactic)
    usual = _with_threads(1, lambda: _differences(run, fitting))
    others: dict[str, Callable[[], np.ndarray]] = {
        "alone": lambda: _with_threads(1, lambda: _differences(_Alone(run), fitting)),
        "threads": lambda: _with_threads(2, lambda: _differences(run, fitting)),
    }
    if run.is_syntactic:
        search = replace(_DEMO_BEAM, action_beam=30 * wider, word_beam=5 * wider)
        others["wider beam"] = lambda: _differences(
            gp.load(path, device="cpu", search=search), fitting
        )
    for name, compute in others.items():
        after = compute()
        known = np.isfinite(usual) & np.isfinite(after)
        yield Change(run.name.model, name, usual[known], after[known], threshold)


def main() -> None:
    """Print the changes of all runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/toy"))
    parser.add_argument("--suites", default="toy_english")
    parser.add_argument("--items", type=int, default=5, help="items of each suite")
    parser.add_argument("--wider", type=int, default=8, help="how many times wider the beams are")
    asked = parser.parse_args()
    suites = [replace(one, items=one.items[: asked.items]) for one in gp.suites(asked.suites)]
    table = Table(title="Changes of differences, in bits")
    for name in ("model", "changed", "differences", f"below {_SMALL}", "largest change"):
        table.add_column(name, justify="left" if name in ("model", "changed") else "right")
    for name in ("of those below", "90 % of those", "flips", "not tied"):
        table.add_column(name, justify="right")
    for run in gp.find(asked.runs):
        for change in changes(run.path, suites, asked.wider):
            table.add_row(*change.cells())
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
