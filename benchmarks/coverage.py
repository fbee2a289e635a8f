"""How often the intervals of the unbiased search contain the surprisal of the model.

    python -m benchmarks.coverage --run RUN … [--sentences 12] [--seeds 8]
        [--settings unbiased:replicates=16 …] [--reference kind:key=value,…]

Test sentences of the run's own corpus are searched with several seeds and compared with a very
wide search of the same model. *Covered* is the share of words, ends of sentences included, whose
error is within the 95 % interval that the search states, *or negligible* adds those with an error
of at most 0.01 bits. Two columns say why it is not 95 %: the mean of the estimates of prefix
probabilities, relative to the reference, which is one on average, and the share of estimates below
the reference, one half only if estimates are not skewed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.error_and_cost import REFERENCE
from benchmarks.measured_search import Found, in_short, parse_setting, searched
from benchmarks.search_variant import spread
from benchmarks.surprisal_errors import covered, errors_of
from gardenpath.data.arrays import Floats
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.settings import Unbiased
from gardenpath.runs.run import Run
from gardenpath.util import Words

SETTINGS = (
    "unbiased:action_beam=30,word_beam=5",
    "unbiased",
    "unbiased:replicates=16",
    "unbiased:roulette=0.01",
    "unbiased:roulette=0.001",
    "unbiased:word_beam=40",
)
_POOL = 60
# Estimates that differ by less are equal: arithmetic of other batches, in nats.
_ROUNDING = 1e-4
# An error of so many bits decides nothing.
NEGLIGIBLE = 0.01


@dataclass(frozen=True)
class Coverage:
    """Intervals and estimates of one search, over all seeds.

    ``covered``: share of surprisals within their interval; ``fine``: within it or off by a
    negligible amount. ``error`` and ``width``: mean absolute error, and mean half width of the
    intervals (bits). ``ratio`` and ``below``: mean of the estimates of prefix probabilities
    relative to the reference, and share of those below it. ``cost``: CPU seconds per word.
    """

    words: int
    covered: float
    fine: float
    error: float
    width: float
    ratio: float
    below: float
    cost: float


def sentences_of(run: Run, count: int) -> list[Words]:
    """Return test sentences of the run's corpus with evenly spread lengths."""
    pool = [tuple(one.words) for one in run.data.preparation().sentences("test")]
    return [tuple(words) for words in spread(pool[: max(_POOL, count)], count)]


def coverage_of(
    run: Run, search: Unbiased, sentences: Sequence[Words], reference: Found, seeds: Sequence[int]
) -> Coverage:
    """Compare the search, with each of the seeds, with what the reference found."""
    runs = [searched(run, replace(search, seed=seed), sentences) for seed in seeds]
    expected = reference.log_probs
    ratios = np.concatenate([_log_ratios(each, reference) for each in runs])

    def share(negligible: float) -> float:
        shares = []
        for each in runs:
            widths = [np.maximum(one, negligible) for one in _widths(each)]
            shares.append(covered(each.log_probs, expected, widths))
        return float(np.mean(shares))

    return Coverage(
        words=len(runs) * sum(map(len, expected)),
        covered=share(0.0),
        fine=share(NEGLIGIBLE),
        error=float(np.mean([errors_of(r.log_probs, expected, sentences).mean for r in runs])),
        width=float(np.mean([np.concatenate(_widths(each)).mean() for each in runs])),
        ratio=float(np.exp(ratios).mean()),
        below=float((ratios < -_ROUNDING).mean()),
        cost=float(np.mean([each.cost for each in runs])),
    )


def _widths(found: Found) -> Sequence[Floats]:
    """Half widths of the intervals, in bits."""
    if found.errors_bits is None:
        raise GardenpathError("intervals need an unbiased search with at least 4 replicates")
    return found.errors_bits


def _log_ratios(found: Found, reference: Found) -> Floats:
    """Log of the estimated probability of each prefix, relative to that of the reference."""
    pairs = zip(found.log_probs, reference.log_probs, strict=True)
    return np.concatenate([np.cumsum(np.subtract(one, other)) for one, other in pairs])


def report(
    path: str, settings: Sequence[Unbiased], reference: str, *, count: int, seeds: int
) -> dict[str, Coverage]:
    """Measure and print the coverage for one run."""
    run, console = Run(path, device="cpu"), Console(width=140)
    sentences = sentences_of(run, count)
    expected = searched(run, parse_setting(reference), sentences)
    rows = {
        in_short(search): coverage_of(run, search, sentences, expected, range(1, seeds + 1))
        for search in settings
    }
    uncertainty = ""
    if expected.errors_bits is not None:
        widths = np.concatenate(expected.errors_bits)
        uncertainty = f", its own intervals ± {widths.mean():.3f} bits on average"
    console.print(_table(f"{path}; reference: {reference}{uncertainty}", rows))
    return rows


def _table(title: str, rows: dict[str, Coverage]) -> Table:
    table = Table(title=title)
    heads = ("search", "words × seeds", "covered", "or negligible", "mean error", "mean ±",
             "P̂/P", "P̂ < P", "CPU ms/word")  # fmt: skip
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left")
    for name, row in rows.items():
        table.add_row(
            name, f"{row.words:,}", f"{row.covered:.1%}", f"{row.fine:.1%}", f"{row.error:.4f}",
            f"{row.width:.4f}", f"{row.ratio:.3f}", f"{row.below:.0%}", f"{1000 * row.cost:.1f}",
        )  # fmt: skip
    return table


def _unbiased(text: str) -> Unbiased:
    search = parse_setting(text)
    if not isinstance(search, Unbiased):
        raise GardenpathError(f"{text}: has no intervals; use unbiased:key=value,…")
    return search


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the runs of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--run", nargs="+", required=True, help="run folders of RNNGs and PLMs")
    parser.add_argument("--sentences", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=8, help="repetitions with other seeds")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), help="kind:key=value,…")
    parser.add_argument("--reference", default=REFERENCE, help="the search that is taken as true")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = [_unbiased(text) for text in given.settings]
    for path in given.run:
        report(path, settings, given.reference, count=given.sentences, seeds=given.seeds)


if __name__ == "__main__":
    main()
