"""Measure error and cost of the searches of a run together, and how they grow.

    python -m benchmarks.error_and_cost --run RUN [--sentences 12] [--shortest 1]
        [--settings kind:key=value,...]
        [--csv FILE] [--figure FILE.svg] [--tables settings beam length vocabulary sentences]

The error is the mean absolute difference (bits per word, ends of sentences included) from a very
wide unbiased search (``--reference``); wide beams miss too much to be a reference. *At marks* is
the share of the error at punctuation and ends of sentences, *covered* the share of words whose
error is within the 95 % interval that the search states. Costs are CPU time of one thread and
hypotheses that the model advanced. The tables of growth vary the beams, the length of texts, the
number of words in the vocabulary (:mod:`benchmarks.wider_vocabulary`), and the number of sentences
searched together, for the published setting, for the default, and for ``--settings``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console

from benchmarks.error_figure import write_figure
from benchmarks.error_rows import Row, make_row, rows_table, write_rows
from benchmarks.material import Corpus, add_corpus, independent, of_length
from benchmarks.measured_search import in_short, parse_setting, searched, series_of
from benchmarks.surprisal_errors import LogProbs
from benchmarks.wider_vocabulary import wider_run
from gardenpath.eval.search.settings import SearchSettings, Unbiased, WordSync
from gardenpath.runs.run import Run
from gardenpath.util import Words

REFERENCE = "unbiased:action_beam=600,word_beam=150,replicates=4,seed=77"
PUBLISHED = WordSync(fast_track=1)
FAST = WordSync()
LADDER: tuple[SearchSettings, ...] = (
    PUBLISHED,
    FAST,
    WordSync(action_beam=50, word_beam=5),
    WordSync(word_beam=20),
    WordSync(action_beam=200, word_beam=20, fast_track=1),
    WordSync(action_beam=200, word_beam=20),
    WordSync(action_beam=400, word_beam=40, fast_track=1),
    WordSync(action_beam=400, word_beam=40),
    WordSync(action_beam=30, word_beam=30, margin_bits=6),
    WordSync(action_beam=50, word_beam=40, margin_bits=7),  # search=adaptive
    WordSync(action_beam=100, word_beam=80, margin_bits=8),
    Unbiased(replicates=1),
    Unbiased(replicates=4),
    Unbiased(replicates=16),
)


@dataclass(frozen=True)
class Plan:
    """What to measure, from the command line."""

    run: str
    corpus: Corpus
    sentences: tuple[Words, ...]
    settings: tuple[SearchSettings, ...]
    reference: SearchSettings
    beams: tuple[int, ...]
    lengths: tuple[int, ...]
    texts: int
    factors: tuple[int, ...]
    together: tuple[int, ...]

    @property
    def growing(self) -> tuple[SearchSettings, ...]:
        """The settings in the tables of growth."""
        return (PUBLISHED, FAST, *self.settings)

    def load(self) -> Run:
        """Return the run."""
        return Run(self.run, device="cpu")

    def expected(self, sentences: Sequence[Words]) -> LogProbs:
        """Return what the reference finds."""
        return searched(self.load(), self.reference, sentences).log_probs


Rows = list[Row]


def _row(
    run: Run,
    search: SearchSettings,
    sentences: Sequence[Words],
    expected: LogProbs,
    table: str,
    *,
    size: str = "",
    together: int | None = None,
) -> Row:
    found = searched(run, search, sentences, together=together)
    return make_row(
        found, expected, sentences, table=table, series=series_of(search),
        setting=in_short(search), size=size,
    )  # fmt: skip


def setting_rows(plan: Plan, expected: LogProbs) -> Rows:
    """Measure all settings."""
    searches = (*LADDER, *plan.settings)
    return [_row(plan.load(), one, plan.sentences, expected, "settings") for one in searches]


def beam_rows(plan: Plan, expected: LogProbs) -> Rows:
    """Measure growing beams; the word beam is a tenth of the action beam."""
    rows = []
    for size in plan.beams:
        narrow = max(size // 10, 1)
        for search in (
            WordSync(action_beam=size, word_beam=narrow, fast_track=1),
            WordSync(action_beam=size, word_beam=narrow),
        ):
            rows.append(_row(plan.load(), search, plan.sentences, expected, "beam", size=f"{size}"))
    return rows


def length_rows(plan: Plan, _: LogProbs) -> Rows:
    """Measure texts of growing length, each length with as many texts."""
    rows = []
    for length in plan.lengths:
        texts = of_length(plan.corpus, length, plan.texts)
        expected = plan.expected(texts)
        rows += [
            _row(plan.load(), one, texts, expected, "length", size=f"{length}")
            for one in plan.growing
        ]
    return rows


def vocabulary_rows(plan: Plan, expected: LogProbs) -> Rows:
    """Measure growing vocabularies, whose new words do not change surprisals."""
    words = len(plan.load().vocabulary)
    return [
        _row(
            wider_run(plan.run, factor), one, plan.sentences, expected, "vocabulary",
            size=f"{words * factor}",
        )
        for factor in plan.factors
        for one in plan.growing
    ]  # fmt: skip


def sentence_rows(plan: Plan, expected: LogProbs) -> Rows:
    """Measure growing numbers of sentences that are searched together."""
    return [
        _row(
            plan.load(), one, plan.sentences, expected, "sentences", size=f"{count}",
            together=count,
        )
        for count in plan.together
        if count <= len(plan.sentences)
        for one in plan.growing
    ]  # fmt: skip


# Each table with its rows, its title and the head of the column of sizes.
TABLES: dict[str, tuple[Callable[[Plan, LogProbs], Rows], str, str]] = {
    "settings": (setting_rows, "Error and cost", ""),
    "beam": (beam_rows, "Growth with the beams", "action beam"),
    "length": (length_rows, "Growth with the length", "words per text"),
    "vocabulary": (vocabulary_rows, "Growth with the vocabulary", "vocabulary"),
    "sentences": (sentence_rows, "Growth with the sentences searched together", "together"),
}


def report(plan: Plan, tables: Sequence[str]) -> Rows:
    """Measure and print table by table; return all rows."""
    torch.set_num_threads(1)
    console = Console(width=140)
    console.print(f"{plan.run}; reference: {in_short(plan.reference)}")
    expected = [] if list(tables) == ["length"] else plan.expected(plan.sentences)
    rows: Rows = []
    for name in tables:
        if name == "vocabulary" and plan.load().trained.subwords is not None:
            left_out = f"{plan.run}: reads pieces of words; no table of growing vocabularies"
            console.print(left_out, soft_wrap=True)
            continue
        measure, title, size_name = TABLES[name]
        found = measure(plan, expected)
        # Rows of one search follow each other, from the smallest to the largest size.
        order = list(dict.fromkeys(row.series for row in found))
        found.sort(key=lambda row, order=order: order.index(row.series))  # type: ignore[misc]
        console.print(rows_table(title, found, size_name=size_name))
        rows += found
    return rows


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--run", required=True, help="run folder of a trained RNNG or PLM")
    add_corpus(parser)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--sentences", type=int, default=12)
    parser.add_argument("--shortest", type=int, default=1, help="least words of a sentence")
    parser.add_argument("--settings", nargs="*", default=[], help="more searches: kind:key=value,…")
    parser.add_argument("--reference", default=REFERENCE, help="the search that errors refer to")
    parser.add_argument("--beams", type=int, nargs="+", default=[20, 50, 100, 200, 400])
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 20, 40, 80])
    parser.add_argument("--texts", type=int, default=4, help="number of texts of each length")
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--together", type=int, nargs="+", default=[1, 3, 12])
    parser.add_argument("--csv", help="file for all rows")
    parser.add_argument("--figure", help="SVG file for error against cost")
    return parser


def make_plan(arguments: argparse.Namespace) -> Plan:
    """Build the plan from the command line."""
    return Plan(
        run=arguments.run,
        corpus=arguments.corpus,
        sentences=tuple(
            independent(arguments.corpus, arguments.sentences, shortest=arguments.shortest)
        ),
        settings=tuple(map(parse_setting, arguments.settings)),
        reference=parse_setting(arguments.reference),
        beams=tuple(arguments.beams),
        lengths=tuple(arguments.lengths),
        texts=arguments.texts,
        factors=tuple(arguments.factors),
        together=tuple(arguments.together),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write what was asked for."""
    given = make_parser().parse_args(arguments)
    rows = report(make_plan(given), given.tables)
    if given.csv:
        write_rows(rows, Path(given.csv))
    if given.figure:
        write_figure([row for row in rows if row.table in ("settings", "beam")], Path(given.figure))


if __name__ == "__main__":
    main()
