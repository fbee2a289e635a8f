"""Count the operators that a search launches per action and per token, by the part that does.

    python -m benchmarks.launches [--rnng-run FOLDER] [--plm-run FOLDER] [--sentences 12]
        [--action-beam 100] [--word-beam 10] [--profile]

A launch is an operator that is not a view; a step is an action of all hypotheses. Without run
folders, weights are random. The model's part of a step are ``log_probs``, ``word_bound``,
``word_log_prob`` and ``advance``; ``shift`` and ``settle`` come once per token. *Search* is
everything else, per step. All sentences advance to their next token together: *steps/token* is how
many steps the slowest of them takes, with fixed shapes up to the next check whether hypotheses are
left. With ``--profile``, the share of each part in the CPU time is printed as
well.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.operators import LaunchCounter
from benchmarks.search import NAMES, new_table
from benchmarks.search_variant import Model, Variant, Words, load_model, load_sentences
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.settings import WordSync
from gardenpath.models.syntactic.networks import RnngNetwork
from gardenpath.models.syntactic.plm_search import PlmSearch
from gardenpath.models.syntactic.rnng_search import RnngSearch

PER_STEP = ("log_probs", "word_bound", "word_log_prob", "advance")
PER_TOKEN = ("shift", "settle")


class Watched:
    """A model whose calls are measured: launches, seconds of CPU time and number of calls."""

    def __init__(self, model: RnngSearch | PlmSearch, counter: LaunchCounter) -> None:
        self._model = model
        self._counter = counter
        self.launches: Counter[str] = Counter()
        self.seconds: dict[str, float] = dict.fromkeys((*PER_STEP, *PER_TOKEN), 0.0)
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        return self._measured(name, found) if name in (*PER_STEP, *PER_TOKEN) else found

    def _measured(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            before, begin = self._counter.count, time.process_time()
            result = call(*arguments)
            self.seconds[name] += time.process_time() - begin
            self.launches[name] += self._counter.count - before
            self.calls[name] += 1
            return result

        return run


def watched_search(
    model: Model, sentences: list[Words], settings: WordSync, *, is_packed: bool, counts: bool
) -> tuple[Watched, int, float]:
    """Search sentences; return the measured model, all launches and the CPU time."""
    network = model.network
    searched: RnngSearch | PlmSearch = (
        RnngSearch(network, is_packed=is_packed)
        if isinstance(network, RnngNetwork)
        else PlmSearch(network, is_packed=is_packed, max_open=settings.max_open)
    )
    counter = LaunchCounter()
    watched = Watched(searched, counter)
    scorer = StructuredScorer(
        model=watched, vocabulary=model.vocabulary, subwords=model.subwords, settings=settings,
        is_packed=is_packed,
    )  # fmt: skip
    begin = time.process_time()
    if counts:
        with counter:
            scorer.word_log_probs(sentences)
    else:
        scorer.word_log_probs(sentences)
    return watched, counter.count, time.process_time() - begin


def launches_table(variants: list[tuple[Variant, bool]]) -> Table:
    """Count launches by part; per step, but for ``shift`` and ``settle`` per token."""
    table = new_table(
        "Launches per step", "model", "shapes", *PER_STEP, "model's part", "search", "step",
        *(f"{name} (token)" for name in PER_TOKEN), "steps/token",
    )  # fmt: skip
    for variant, is_packed in variants:
        watched, total, _ = watched_search(
            load_model(variant), list(load_sentences(variant)), WordSync(**variant.changes),
            is_packed=is_packed, counts=True,
        )  # fmt: skip
        steps, tokens = watched.calls["log_probs"], watched.calls["settle"]
        parts = [watched.launches[name] / steps for name in PER_STEP]
        once = [watched.launches[name] / tokens for name in PER_TOKEN]
        rest = total / steps - sum(parts) - sum(once) * tokens / steps
        table.add_row(
            NAMES[variant.model], "packed" if is_packed else "fixed",
            *(f"{number:.1f}" for number in (*parts, sum(parts), rest, sum(parts) + rest, *once)),
            f"{steps / tokens:.1f}",
        )  # fmt: skip
    return table


def profile_table(variants: list[tuple[Variant, bool]]) -> Table:
    """Measure the share of each part in the CPU time."""
    names = (*PER_STEP, *PER_TOKEN)
    table = new_table("CPU time", "model", "shapes", *names, "search", "seconds")
    for variant, is_packed in variants:
        watched, _, seconds = watched_search(
            load_model(variant), list(load_sentences(variant)), WordSync(**variant.changes),
            is_packed=is_packed, counts=False,
        )  # fmt: skip
        parts = [watched.seconds[name] / seconds for name in names]
        table.add_row(
            NAMES[variant.model], "packed" if is_packed else "fixed",
            *(f"{part:.0%}" for part in (*parts, 1 - sum(parts))), f"{seconds:.2f}",
        )  # fmt: skip
    return table


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rnng-run", default="", help="run folder of a trained RNNG")
    parser.add_argument("--plm-run", default="", help="run folder of a trained PLM")
    parser.add_argument("--models", nargs="+", choices=list(NAMES), default=list(NAMES))
    parser.add_argument("--shapes", nargs="+", choices=["packed", "fixed"], default=["packed"])
    default = "ptb_sample" if "GARDENPATH_REFERENCE_DATA" in os.environ else "toy"
    parser.add_argument("--corpus", choices=["toy", "ptb_sample"], default=default)
    parser.add_argument("--sentences", type=int, default=12)
    parser.add_argument("--action-beam", type=int, default=100)
    parser.add_argument("--word-beam", type=int, default=10)
    parser.add_argument("--profile", action="store_true", help="print shares in the CPU time")
    arguments = parser.parse_args()
    runs = {"rnng": arguments.rnng_run, "plm": arguments.plm_run}
    changes = {"action_beam": arguments.action_beam, "word_beam": arguments.word_beam}
    variants = [
        (
            Variant(
                model=name, corpus=arguments.corpus, run=runs[name], count=arguments.sentences,
                changes=changes,
            ),
            shapes == "packed",
        )
        for name in arguments.models
        for shapes in arguments.shapes
    ]  # fmt: skip
    console = Console(width=140)
    console.print(launches_table(variants))
    if arguments.profile:
        console.print(profile_table(variants))


if __name__ == "__main__":
    main()
