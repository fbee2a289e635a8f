"""Compare the search of a run with the published implementation, with the same weights.

    python -m benchmarks.peer --peer CHECKOUT --run RUN [--sentences 12] [--variants 200] ...

An RNNG is compared with rnng-pytorch (Noji and Oseki 2021), a PLM with transformers-struct-guidance
(Qian et al. 2021); ``--peer`` is a checkout of their code, which is imported from there. Everything
is measured in one run with one thread, in CPU time, alternately. Printed are

- how far surprisals differ if both search the same hypotheses,
- words per second at equal beams, on independent sentences and on minimal variants of a suite; the
  published code at its best batch size, and the fastest of several rounds of each search,
- error and cost of several settings of both, measured once, and words per second at equal error,
  for those settings of the published code that no other of its settings beats. The error is the
  mean absolute difference of word surprisals (bits) from a very wide search of ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.error_figure import write_figure
from benchmarks.error_rows import Row, make_row, rows_table, write_rows
from benchmarks.material import SUITES, add_corpus, independent, variants
from benchmarks.measured_search import Found, in_short, parse_setting, searched, series_of, timed
from benchmarks.peer_beams import Beams, Peer, parse_beams
from benchmarks.published_plm import PublishedPlm
from benchmarks.rnng_pytorch import RnngPytorch
from benchmarks.surprisal_errors import cost_at_error, errors_of, frontier
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from gardenpath.runs.run import Run
from gardenpath.util import Words

OUR_LADDER = (
    "10/2/1", "10/2/2", "25/3/3", "50/5/1", "50/5/5", "100/10/1", "100/10/10", "200/20/20",
    "400/40/40",
)  # fmt: skip
# More of ours: beams that adapt, from narrow to wide, and the unbiased search.
OUR_SEARCHES = (
    "word_sync:action_beam=20,word_beam=15,margin_bits=5",
    "word_sync:action_beam=30,word_beam=30,margin_bits=6",
    "word_sync:action_beam=50,word_beam=40,margin_bits=7",
    "word_sync:action_beam=100,word_beam=80,margin_bits=8",
    "word_sync:action_beam=200,word_beam=150,margin_bits=10",
    "unbiased:replicates=1",
    "unbiased",
    "unbiased:replicates=16",
)
REFERENCE = "unbiased:action_beam=600,word_beam=150,replicates=4,seed=77"


@dataclass(frozen=True)
class Peers:
    """A published implementation as it is, and with our model; the same object if they agree."""

    published: Peer
    aligned: Peer


def load_peers(checkout: Path, run: Run) -> Peers:
    """Return the published implementation for the model of a run."""
    network = run.trained.network()
    if isinstance(network, PlmNetwork):
        plm = PublishedPlm(checkout, network, run.vocabulary)
        return Peers(plm, plm)
    assert isinstance(network, RnngNetwork), "the run must be of an RNNG or a PLM"
    return Peers(
        RnngPytorch(checkout, network, run.vocabulary),
        RnngPytorch(checkout, network, run.vocabulary, is_aligned=True),
    )


def agreement(peers: Peers, run: Run, sentences: Sequence[Words]) -> str:
    """Say how far surprisals differ if both search the same hypotheses."""
    beams = peers.aligned.same_beams
    ours = searched(run, peers.aligned.same_search, sentences).log_probs
    said = f"The same search, beams {beams}: surprisals differ by at most "
    found = errors_of(peers.aligned.log_probs(sentences, beams), ours, sentences, with_ends=False)
    said += f"{found.largest:.1g} bits"
    if peers.published is peers.aligned:
        return said
    found = errors_of(peers.published.log_probs(sentences, beams), ours, sentences, with_ends=False)
    return f"{said}; as published, with the length of the sentence known, {found.largest:.1g} bits"


Search = Callable[[], Found]
_MANY = "Gardenpath, more sentences"


def fastest(searches: dict[str, Search], rounds: int) -> dict[str, Found]:
    """Run searches alternately; return the fastest of the rounds of each."""
    best: dict[str, Found] = {}
    for _ in range(rounds):
        for name, search in searches.items():
            found = search()
            if name not in best or found.seconds < best[name].seconds:
                best[name] = found
    return best


def of_peer(peer: Peer, sentences: Sequence[Words], beams: Beams, batch: int = 1) -> Found:
    """Measure a search of the published implementation."""
    before = peer.states
    found = timed(lambda: peer.log_probs(sentences, beams, batch=batch), sentences)
    after = peer.states
    return found if before is None or after is None else replace(found, states=after - before)


def equal_settings(
    title: str, peer: Peer, run: Run, few: Sequence[Words], many: Sequence[Words], rounds: int
) -> Table:
    """Compare speeds at the same beams.

    All searches get the same ``few`` sentences. Ours also gets ``many``, because it shares work
    between sentences; the published code has no use for more.
    """
    beams = peer.usual_beams
    same = replace(beams.ours(), stop="beam_full")
    theirs = [f"{peer.name}, batch {batch}" for batch in peer.batches]
    searches: dict[str, Search] = {
        name: (lambda batch=batch: of_peer(peer, few, beams, batch))  # type: ignore[misc]
        for name, batch in zip(theirs, peer.batches, strict=True)
    }
    searches["Gardenpath, stop rule of the other"] = lambda: searched(run, same, few)
    searches["Gardenpath"] = lambda: searched(run, beams.ours(), few)
    searches[_MANY] = lambda: searched(run, beams.ours(), many)
    found = fastest(searches, rounds)
    best = max(found[name].speed for name in theirs)
    table = Table(title=f"{title}, beams {beams}")
    for number, head in enumerate(("search", "sentences", "words", "words/s", "ratio to best")):
        table.add_column(head, justify="right" if number else "left")
    for name, one in found.items():
        count = len(many) if name == _MANY else len(few)
        table.add_row(
            name, f"{count}", f"{one.words}", f"{one.speed:.2f}", f"{one.speed / best:.1f}"
        )
    return table


def ladder_rows(
    peer: Peer,
    run: Run,
    sentences: Sequence[Words],
    theirs: Sequence[Beams],
    ours: Sequence[SearchSettings],
    reference: SearchSettings,
) -> list[Row]:
    """Measure error and cost of settings of both, alternately."""
    expected = searched(run, reference, sentences).log_probs
    rows = []
    for number in range(max(len(theirs), len(ours))):
        if number < len(theirs):
            found = of_peer(peer, sentences, theirs[number])
            rows.append(
                make_row(
                    found, expected, sentences, table="peer", series=peer.name,
                    setting=str(theirs[number]), with_ends=False,
                )
            )  # fmt: skip
        if number < len(ours):
            found = searched(run, ours[number], sentences)
            rows.append(
                make_row(
                    found, expected, sentences, table="peer", series=series_of(ours[number]),
                    setting=in_short(ours[number]), with_ends=False,
                )
            )  # fmt: skip
    return sorted(rows, key=lambda row: row.cpu_ms_per_word)


def equal_error(theirs: Sequence[Row], ours: Sequence[Row]) -> Table:
    """Compare speeds at the errors of the best settings of the published implementation.

    A setting counts only if no other of its settings is both cheaper and more accurate.
    """
    points = [row.point for row in ours]
    best = frontier([row.point for row in theirs])
    table = Table(title="Words per second at equal error")
    for number, head in enumerate(
        ("setting of the other", "error", "its words/s", "ours", "ratio")
    ):
        table.add_column(head, justify="right" if number else "left")
    for row in (row for row in theirs if row.point in best):
        cost = cost_at_error(points, row.mean_error_bits)
        numbers = (
            ("–", "–") if cost is None else (f"{1 / cost:.1f}", f"{row.point.cost / cost:.1f}")
        )
        table.add_row(
            row.setting, f"{row.mean_error_bits:.4f}", f"{1 / row.point.cost:.2f}", *numbers
        )
    return table


def report(arguments: argparse.Namespace) -> None:
    """Measure and print table by table."""
    torch.set_num_threads(1)
    console = Console(width=120)
    run = Run(arguments.run, device="cpu")
    peers = load_peers(Path(arguments.peer), run)
    sentences = independent(arguments.corpus, arguments.sentences)
    console.print(agreement(peers, run, sorted(sentences, key=len)[:2]))
    if "speed" in arguments.tables:
        console.print(
            equal_settings(
                "Independent sentences", peers.published, run, sentences,
                independent(arguments.corpus, arguments.our_sentences), arguments.rounds,
            )
        )  # fmt: skip
    if "suite" in arguments.tables:
        suite = arguments.suite or SUITES[arguments.corpus]
        many = variants(suite, arguments.variants)
        few = many[: arguments.peer_variants]
        console.print(
            equal_settings(
                f"Variants of {suite}", peers.published, run, few, many, arguments.rounds
            )
        )
    if "error" in arguments.tables:
        ladder = arguments.ladder or peers.aligned.ladder
        rows = ladder_rows(
            peers.aligned, run, sentences, [parse_beams(one) for one in ladder],
            [parse_beams(one).ours() for one in arguments.our_ladder]
            + [parse_setting(one) for one in arguments.settings],
            parse_setting(arguments.reference),
        )  # fmt: skip
        name = peers.aligned.name
        theirs = [row for row in rows if row.series == name]
        ours = [row for row in rows if row.series != name]
        for title, part in ((name, theirs), ("Gardenpath", ours)):
            console.print(rows_table(f"{title}: error and cost", part))
        console.print(equal_error(theirs, ours))
        if arguments.csv:
            write_rows(rows, Path(arguments.csv))
        if arguments.figure:
            write_figure(rows, Path(arguments.figure))


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    tables = ["speed", "suite", "error"]
    parser.add_argument("--peer", required=True, help="checkout of the published code")
    parser.add_argument("--run", required=True, help="run folder of a trained RNNG or PLM")
    add_corpus(parser)
    parser.add_argument("--tables", nargs="+", choices=tables, default=tables)
    parser.add_argument("--sentences", type=int, default=12)
    parser.add_argument("--our-sentences", type=int, default=60, help="more sentences for ours")
    parser.add_argument("--suite", help="a suite of minimal variants")
    parser.add_argument("--variants", type=int, default=200, help="sentences of the suite")
    parser.add_argument("--peer-variants", type=int, default=12, help="those the other searches")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ladder", nargs="+", help="beams of the other")
    parser.add_argument("--our-ladder", nargs="+", default=list(OUR_LADDER), help="our beams")
    parser.add_argument(
        "--settings", nargs="*", default=list(OUR_SEARCHES), help="more of ours: kind:key=value,…"
    )
    parser.add_argument("--reference", default=REFERENCE, help="the search that errors refer to")
    parser.add_argument("--csv", help="file for the rows of error and cost")
    parser.add_argument("--figure", help="SVG file for error against cost")
    return parser


if __name__ == "__main__":
    report(make_parser().parse_args())
