"""Benchmark output layers on large vocabularies: the speed of search, and perplexity.

    python -m benchmarks.vocabulary [--sizes 5000 27000 88000] [--models rnng plm] [--sentences 4]
    python -m benchmarks.vocabulary --tables perplexity --epochs 8

*Search* measures words per second of CPU time with a full and a factored output layer, in turn in
one process. Weights are random, but words, labels and actions have the frequencies of a treebank
(biases), so that the vocabulary does not change how much there is to search; *states/word* shows
this. *Training* measures steps of an LSTM on random sentences of the same frequencies.
*Perplexity* trains tiny models on the Penn Treebank sample (GARDENPATH_REFERENCE_DATA), with both
layers; syntactic models have joint perplexities.
"""

from __future__ import annotations

import argparse
import functools
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import gardenpath as gp
from benchmarks.search_variant import Model, Network, Variant, make_search
from gardenpath.data.batches.tokens import TokenBatch, token_batch
from gardenpath.data.encoding import encode_sentences
from gardenpath.data.trees.legality import Kind
from gardenpath.data.words.vocabulary import SPECIALS, Vocabulary
from gardenpath.models.family import OutputKind
from gardenpath.models.output import FactoredToken, NextToken
from gardenpath.models.sequential.family import LstmSettings
from gardenpath.models.sequential.networks import LstmNetwork
from gardenpath.models.syntactic.family import PlmSettings, RnngSettings
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork

OUTPUTS: tuple[OutputKind, ...] = ("full", "factored")
LABELS = 27
# Probabilities of a word, a closing and an opening bracket: about those of a treebank.
WORD, CLOSE, OPEN = 0.4, 0.3, 0.3


def zipf(count: int) -> Tensor:
    """``(count,)`` log probabilities in inverse proportion to the rank."""
    return (1.0 / torch.arange(1, count + 1, dtype=torch.float64)).log().log_softmax(0).float()


def invented(size: int) -> Vocabulary:
    """A vocabulary of ``size`` words, the most frequent first."""
    tokens = (*SPECIALS, *(f"w{number}" for number in range(size)))
    return Vocabulary(
        tokens=tokens, counts=(1,) * len(tokens), language="en", min_count=1,
        labels=tuple(f"L{number}" for number in range(LABELS)),
    )  # fmt: skip


def sentences(size: int, *, count: int, length: int) -> list[list[str]]:
    """Sentences of random words."""
    random = np.random.default_rng(0)
    probabilities = zipf(size).double().exp().numpy()
    drawn = random.choice(size, (count, length), p=probabilities / probabilities.sum())
    return [[f"w{number}" for number in row] for row in drawn]


@torch.no_grad()
def make_network(model: str, output: OutputKind, vocabulary: Vocabulary) -> Network:
    """Return a network whose words and actions have about the same frequencies at any size."""
    torch.manual_seed(0)
    words = len(vocabulary)
    frequency = torch.cat([torch.full((len(SPECIALS),), -20.0), zipf(words - len(SPECIALS))])
    brackets = torch.cat([torch.tensor([CLOSE]).log(), zipf(LABELS) + np.log(OPEN)])
    if model == "rnng":
        settings = RnngSettings(layers=2, hidden=256, embedding=256, output=output)
        rnng = RnngNetwork(settings, vocabulary_size=words, label_count=LABELS)
        rnng.word_embedding.weight.mul_(0.2)
        rnng.word_output.linear.bias.copy_(frequency)
        _set_classes(rnng.word_output, frequency)
        rnng.action_output.bias[Kind.SHIFT] = np.log(WORD)
        rnng.action_output.bias[1:] = brackets
        return rnng.eval()
    shape = PlmSettings(layers=4, hidden=256, heads=4, max_positions=8192, output=output)
    plm = PlmNetwork(shape, vocabulary_size=words, label_count=LABELS)
    # One coordinate of all states is one: its weights are biases.
    norm, scores = plm.decoder.final_norm, torch.cat([frequency + np.log(WORD), brackets])
    norm.weight[0], norm.bias[0] = 0.0, 1.0
    plm.output.linear.weight[:, 0] = scores
    _set_classes(plm.output, scores)
    return plm.eval()


def _set_classes(output: NextToken, scores: Tensor) -> None:
    """Give the classes the sums of the frequencies of their words."""
    if isinstance(output, FactoredToken):
        sums = scores.new_zeros(len(output.class_linear.bias))
        output.class_linear.bias.copy_(sums.index_add(0, output.branch, scores.exp()).log())
        output.class_linear.weight.mul_(0.2)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a function."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measured_search(
    model: str, size: int, *, count: int, length: int, repeats: int
) -> dict[OutputKind, dict[str, float]]:
    """Return the words per second and the states per word of both layers, measured in turn."""
    vocabulary = invented(size)
    material = sentences(size, count=count, length=length)
    found: dict[OutputKind, dict[str, float]] = {}
    searches = {}
    for output in OUTPUTS:
        network = make_network(model, output, vocabulary)
        variant = Variant(model=model, corpus="toy")  # type: ignore[arg-type]
        searches[output] = make_search(variant, Model(network, vocabulary, None))
        searches[output][0]([material[0][:2]])  # warm-up
        found[output] = {"seconds": 0.0, "states": -float(searches[output][1].expanded)}
    words = count * length * repeats
    for _ in range(repeats):
        for output, (search, _work) in searches.items():
            found[output]["seconds"] += cpu_seconds(functools.partial(search, material))
    for output, (_search, work) in searches.items():
        found[output]["speed"] = words / found[output]["seconds"]
        found[output]["states"] = (found[output]["states"] + work.expanded) / words
    return found


def search_table(given: argparse.Namespace) -> Table:
    """Compare the search at all sizes with that of a full layer at the smallest."""
    table = new_table("Search", "states/word", "words/s", "of full", "of smallest, full")
    for model in given.models:
        smallest = 0.0
        for size in given.sizes:
            found = measured_search(
                model, size, count=given.sentences, length=given.length, repeats=given.repeats
            )
            smallest = smallest or found["full"]["speed"]
            for output in OUTPUTS:
                speed = found[output]["speed"]
                table.add_row(
                    model, f"{size:,}", output, f"{found[output]['states']:,.0f}", f"{speed:.2f}",
                    f"{speed / found['full']['speed']:.2f}", f"{speed / smallest:.2f}",
                )  # fmt: skip
        table.add_section()
    return table


def measured_training(size: int, *, repeats: int) -> dict[OutputKind, float]:
    """Return the words per second of training an LSTM with both layers, measured in turn."""
    vocabulary = invented(size)
    split = encode_sentences(sentences(size, count=64, length=20), vocabulary, None)
    batch = token_batch(split, np.arange(64))
    seconds = dict.fromkeys(OUTPUTS, 0.0)
    networks = {
        output: LstmNetwork(LstmSettings(output=output), vocabulary_size=len(vocabulary))
        for output in OUTPUTS
    }
    for number in range(repeats + 1):
        for output, network in networks.items():
            network.zero_grad()
            spent = cpu_seconds(functools.partial(_step, network, batch))
            seconds[output] += spent if number else 0.0  # the first is a warm-up
    return {output: repeats * len(split.tokens) / one for output, one in seconds.items()}


def _step(network: LstmNetwork, batch: TokenBatch) -> None:
    network.score(batch).loss().backward()


def training_table(given: argparse.Namespace) -> Table:
    """Compare gradients of a small LSTM."""
    table = new_table("Training (forward and backward)", "words/s", "of full")
    for size in given.sizes:
        found = measured_training(size, repeats=given.repeats)
        for output in OUTPUTS:
            table.add_row(
                "lstm", f"{size:,}", output, f"{found[output]:,.0f}",
                f"{found[output] / found['full']:.1f}",
            )  # fmt: skip
    return table


def trained(model: str, output: OutputKind, given: argparse.Namespace, folder: Path) -> Any:
    """Return the metrics of a tiny model of the Penn Treebank sample."""
    root = Path(os.environ["GARDENPATH_REFERENCE_DATA"]) / "nltk_data"
    return gp.train(
        f"model={model}", "model.size=tiny", f"model.network.output={output}", "data=ptb_sample",
        f"data.root={root}", "trainer=cpu", f"trainer.max_epochs={given.epochs}",
        "trainer.progress=false", f"paths.cache={folder / 'cache'}",
        f"run_dir={folder / f'{model}-{output}'}",
    )  # fmt: skip


def perplexity_table(given: argparse.Namespace) -> Table:
    """Compare perplexities after the same number of epochs."""
    table = new_table("Perplexity", "validation", "test", "CPU seconds")
    with tempfile.TemporaryDirectory() as folder:
        for model in given.models:
            for output in OUTPUTS:
                begin = time.process_time()
                found = trained(model, output, given, Path(folder))
                spent = time.process_time() - begin
                shown = [_perplexity(found[split]) for split in ("valid", "test")]
                table.add_row(model, "", output, *shown, f"{spent:.0f}")
            table.add_section()
    return table


def _perplexity(metrics: dict[str, float]) -> str:
    (name,) = (one for one in ("perplexity", "joint_perplexity") if one in metrics)
    return f"{metrics[name]:.1f}"


def new_table(title: str, *columns: str) -> Table:
    """Return a table of models, sizes, layers and numbers."""
    table = Table(title=title)
    for column in ("model", "vocabulary", "output"):
        table.add_column(column)
    for column in columns:
        table.add_column(column, justify="right")
    return table


TABLES: dict[str, Callable[[argparse.Namespace], Table]] = {
    "search": search_table,
    "training": training_table,
    "perplexity": perplexity_table,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5000, 27000, 88000])
    parser.add_argument("--models", nargs="+", default=["rnng", "plm"])
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=["search", "training"])
    parser.add_argument("--sentences", type=int, default=4)
    parser.add_argument("--length", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=8)
    given = parser.parse_args(arguments)
    console = Console(width=120)
    for name in given.tables:
        console.print(TABLES[name](given))


if __name__ == "__main__":
    main()
