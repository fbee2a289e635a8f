"""Benchmark the search with RNNGs and PLMs against baselines.

    python -m benchmarks.search [--rnng-run FOLDER] [--plm-run FOLDER] [--sentences 60]
        [--baseline-sentences 6] [--plm-baseline-sentences 2] [--tables usual savings ...]

Sentences come from the Penn Treebank sample if GARDENPATH_REFERENCE_DATA is set, otherwise from the
toy corpus. The baselines are a search that copies the stacks of its hypotheses
(:mod:`benchmarks.copying_rnng`) and a PLM that reads every hypothesis from the beginning
(:mod:`benchmarks.recomputing_plm`); they are timed on fewer sentences. *Same search* uses the
baseline's stop rule and skips no hypothesis, so that only the implementation differs. Without run
folders, weights are random, and an untrained model has to search much more than a trained one.
*Of peak* is the time that the matrix products would take at the measured rate of a large product,
divided by the actual time. Each row is measured in its own process; memory excludes model and
corpus.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.operators import matmul_rate
from benchmarks.search_variant import Variant, measure

NAMES = {"rnng": "RNNG", "plm": "PLM"}
USUAL = {"rnng": "copying stacks", "plm": "recomputing prefixes"}
SAVINGS = {
    "rnng": ("bounded", "lazy_words", "shared_compositions"),
    "plm": ("bounded", "lazy_words"),
}
# The search of the baseline: words compete for places, and its stop rule counts hypotheses, so none
# may be skipped.
SAME_SEARCH = {"fast_track": 1, "stop": "beam_full", "bounded": False, "lazy_words": False}
Found = dict[str, Any]
Row = tuple[Variant, Found]


@dataclass(frozen=True)
class Plan:
    """What to measure, from the command line."""

    variants: tuple[Variant, ...]
    baseline_counts: dict[str, int]
    few: int
    beams: tuple[int, ...]
    lengths: tuple[int, ...]
    words: int

    def baseline(self, variant: Variant) -> Variant:
        """Return the baseline of a variant, with fewer sentences."""
        count = self.baseline_counts[variant.model]
        return replace(changed(variant, **SAME_SEARCH), baseline=True, count=count)


def changed(variant: Variant, **changes: Any) -> Variant:
    """Return a variant with other search settings."""
    return replace(variant, changes={**variant.changes, **changes})


def new_table(title: str, *columns: str) -> Table:
    """Return a table whose first two columns are text and the others numbers."""
    table = Table(title=title)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < 2 else "right")
    return table


def speed_and_work(found: Found) -> tuple[str, ...]:
    """Return the cells common to all tables."""
    return (
        f"{found['sentences']}", f"{found['speed']:.2f}", f"{found['memory']:.2f}",
        f"{found['expanded']:,.0f}", f"{found['word_scores']:,.0f}",
    )  # fmt: skip


WORK_COLUMNS = ("sentences", "words/s", "peak GB", "states/word", "word scores/word")


def usual_table(plan: Plan) -> Table:
    """Compare with the baselines on independent sentences."""
    rate = matmul_rate()
    table = new_table(
        f"Independent sentences; matmul {rate / 1e9:.0f} GFLOP/s",
        "model", "search", *WORK_COLUMNS, "of peak", "speed-up",
    )  # fmt: skip
    differences = []
    for variant in plan.variants:
        counted = replace(variant, counts_operations=True)
        usual = plan.baseline(counted).measured()
        rows = {
            USUAL[variant.model]: usual,
            "Gardenpath, same search": changed(counted, **SAME_SEARCH).measured(),
            "Gardenpath": counted.measured(),
        }
        for name, found in rows.items():
            share = found["operations"] * found["speed"] / rate
            table.add_row(
                NAMES[variant.model], name, *speed_and_work(found), f"{share:.0%}",
                f"{found['speed'] / usual['speed']:.1f}",
            )  # fmt: skip
        differences.append(f"{NAMES[variant.model]} {usual['difference']:.1g} bits")
        table.add_section()
    table.caption = (
        "The same search for the same sentences: surprisals differ from the baseline by at most "
        + ", ".join(differences)
    )
    return table


def pairs_table(plan: Plan) -> Table:
    """Compare minimal pairs with and without shared prefixes."""
    table = new_table("Minimal pairs", "model", "search", *WORK_COLUMNS, "speed-up")
    for variant in (replace(variant, material="pairs") for variant in plan.variants):
        baseline = plan.baseline(variant)
        usual = replace(baseline, count=max(4, baseline.count // 4 * 4)).measured()
        rows = {
            USUAL[variant.model]: usual,
            "Gardenpath, prefixes not shared": changed(variant, share_prefixes=False).measured(),
            "Gardenpath": variant.measured(),
        }
        for name, found in rows.items():
            table.add_row(
                NAMES[variant.model], name, *speed_and_work(found),
                f"{found['speed'] / usual['speed']:.1f}",
            )  # fmt: skip
        table.add_section()
    return table


def savings_table(plan: Plan) -> Table:
    """Turn off each exact saving in turn."""
    table = new_table("Exact savings, each turned off", "model", "off", *WORK_COLUMNS)
    for variant in (replace(variant, count=plan.few) for variant in plan.variants):
        names = SAVINGS[variant.model]
        for off in ((), *((name,) for name in names), names):
            found = changed(variant, **dict.fromkeys(off, False)).measured()
            table.add_row(NAMES[variant.model], ", ".join(off) or "nothing", *speed_and_work(found))
        table.add_section()
    return table


def beams_table(plan: Plan) -> Table:
    """Measure growth with the beam width; the word beam is a tenth of the action beam."""
    return _growth_table(
        "Growth with the beam width", "action beam", plan,
        lambda variant: (
            (size, replace(
                changed(variant, action_beam=size, word_beam=max(size // 10, 1)), count=plan.few
            ))
            for size in plan.beams
        ),
    )  # fmt: skip


def lengths_table(plan: Plan) -> Table:
    """Measure growth with sentence length, for about the same total number of words."""
    return _growth_table(
        "Growth with sentence length", "words per sentence", plan,
        lambda variant: (
            (length, replace(
                variant, material="texts", length=length, count=max(plan.words // length, 1)
            ))
            for length in plan.lengths
        ),
    )  # fmt: skip


def _growth_table(
    title: str, name: str, plan: Plan, series: Callable[[Variant], Iterable[tuple[int, Variant]]]
) -> Table:
    table = new_table(title, "model", name, *WORK_COLUMNS, "bits/word")
    for variant in plan.variants:
        for size, member in series(variant):
            found = member.measured()
            table.add_row(
                NAMES[variant.model], str(size), *speed_and_work(found), f"{found['bits']:.3f}"
            )
        table.add_section()
    return table


TABLES: dict[str, Callable[[Plan], Table]] = {
    "usual": usual_table,
    "pairs": pairs_table,
    "savings": savings_table,
    "beams": beams_table,
    "lengths": lengths_table,
}


def report(plan: Plan, tables: Iterable[str]) -> None:
    """Measure and print table by table."""
    console = Console(width=120)
    for variant in plan.variants:
        weights = f"weights of {variant.run}" if variant.run else "random weights, not trained"
        console.print(f"{NAMES[variant.model]}: {weights}; {variant.corpus}")
    for name in tables:
        console.print(TABLES[name](plan))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rnng-run", default="", help="run folder of a trained RNNG")
    parser.add_argument("--plm-run", default="", help="run folder of a trained PLM")
    parser.add_argument("--models", nargs="+", choices=list(NAMES), default=list(NAMES))
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    default = "ptb_sample" if "GARDENPATH_REFERENCE_DATA" in os.environ else "toy"
    parser.add_argument("--corpus", choices=["toy", "ptb_sample"], default=default)
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--baseline-sentences", type=int, default=6)
    parser.add_argument("--plm-baseline-sentences", type=int, default=2)
    parser.add_argument("--few", type=int, default=12, help="sentences for savings and beams")
    parser.add_argument("--action-beam", type=int, default=100)
    parser.add_argument("--word-beam", type=int, default=10)
    parser.add_argument("--beams", type=int, nargs="+", default=[10, 50, 100, 200, 400])
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 20, 40, 80, 160])
    parser.add_argument("--words", type=int, default=320, help="total words of each length")
    parser.add_argument("--only", help="measure one variant, given as JSON, and print JSON")
    return parser


def make_plan(arguments: argparse.Namespace) -> Plan:
    """Build the plan from the command line."""
    runs = {"rnng": arguments.rnng_run, "plm": arguments.plm_run}
    changes = {"action_beam": arguments.action_beam, "word_beam": arguments.word_beam}
    return Plan(
        variants=tuple(
            Variant(
                model=name, corpus=arguments.corpus, run=runs[name], count=arguments.sentences,
                out_of=arguments.sentences, changes=changes,
            )
            for name in arguments.models
        ),
        baseline_counts={
            "rnng": arguments.baseline_sentences,
            "plm": arguments.plm_baseline_sentences,
        },
        few=arguments.few,
        beams=tuple(arguments.beams),
        lengths=tuple(arguments.lengths),
        words=arguments.words,
    )  # fmt: skip


def main() -> None:
    """Parse the command line and print the tables."""
    arguments = make_parser().parse_args()
    if arguments.only:
        print(json.dumps(measure(Variant(**json.loads(arguments.only)))))
    else:
        report(make_plan(arguments), arguments.tables)


if __name__ == "__main__":
    main()
