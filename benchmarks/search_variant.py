"""Measure one search variant; :mod:`benchmarks.search` runs it in its own process."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

import gardenpath
from benchmarks.copying_rnng import copied_stacks
from benchmarks.memory import in_own_process, peak_gb
from benchmarks.operators import ProductCounter
from benchmarks.peer_search import PeerSearch
from benchmarks.recomputing_plm import recomputed_prefixes
from gardenpath.data.corpus import DataSettings
from gardenpath.data.encoding import encode_sentences
from gardenpath.data.preparation import Preparation
from gardenpath.data.readers.base import Reader
from gardenpath.data.readers.treebanks import PennTreebankSample, ToyTreebank
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.words.pieces import Subwords
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.eval.search.protocol import Work
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.search.settings import WordSync
from gardenpath.eval.suites.library import load_suites
from gardenpath.models.syntactic.family import PlmSettings, RnngSettings
from gardenpath.models.syntactic.networks import PlmNetwork, RnngNetwork
from gardenpath.models.syntactic.plm_search import PlmSearch
from gardenpath.models.syntactic.rnng_search import RnngSearch
from gardenpath.util import bits

Corpus = Literal["toy", "ptb_sample"]
Words = Sequence[str]
Network = RnngNetwork | PlmNetwork

# Number of sentences over which operations are counted.
_COUNTED = 2


@dataclass(frozen=True, kw_only=True)
class Variant:
    """The material, the model and the settings of a search.

    ``material``: sentences of the corpus, minimal pairs of an included suite, or texts of exactly
    ``length`` words. ``count`` of them are searched, chosen from ``out_of`` such that their lengths
    are evenly spread. ``baseline``: use the baseline search, in batches of ``batch`` sentences.
    ``changes``: settings that differ from the defaults. ``run``: run folder of a trained model;
    without one, weights are random.
    """

    model: Literal["rnng", "plm"]
    corpus: Corpus
    run: str = ""
    material: Literal["sentences", "pairs", "texts"] = "sentences"
    count: int = 60
    out_of: int = 60
    length: int = 0
    baseline: bool = False
    batch: int = 6
    changes: dict[str, Any] = field(default_factory=dict)
    counts_operations: bool = False

    def measured(self) -> dict[str, Any]:
        """Run :func:`measure` in its own process."""
        return in_own_process("benchmarks.search", asdict(self))


@dataclass(frozen=True)
class Model:
    """A network with its vocabulary."""

    network: Network
    vocabulary: Vocabulary
    subwords: Subwords | None


def preparation(corpus: Corpus) -> Preparation:
    """Return the preparation of a corpus."""
    reader: Reader = ToyTreebank(grammar="english")
    if corpus == "ptb_sample":
        root = os.environ["GARDENPATH_REFERENCE_DATA"]
        reader = PennTreebankSample(root=f"{root}/nltk_data")
    return DataSettings(
        name="benchmark", reader=reader, cleaning=Cleaning(pos_in_source="present"), language="en"
    ).preparation()


def load_model(variant: Variant) -> Model:
    """Load the model of a run folder, or build one with reproducible random weights."""
    if variant.run:
        run = gardenpath.load(variant.run)
        network = run.trained.network()
        assert isinstance(network, RnngNetwork | PlmNetwork), "the run must be of a syntactic model"
        return Model(network, run.vocabulary, run.trained.subwords)
    prepared = preparation(variant.corpus).prepare(
        Path(tempfile.gettempdir()) / "gardenpath-benchmark"
    )
    vocabulary = prepared.vocabulary
    words, labels = len(vocabulary), len(vocabulary.labels)
    torch.manual_seed(0)
    if variant.model == "rnng":
        random: Network = RnngNetwork(
            RnngSettings(layers=2, hidden=256, embedding=256),
            vocabulary_size=words,
            label_count=labels,
        )
    else:
        # With random weights, trees can become arbitrarily long.
        settings = PlmSettings(layers=4, hidden=256, heads=4, max_positions=8192)
        random = PlmNetwork(settings, vocabulary_size=words, label_count=labels)
    return Model(random.eval(), vocabulary, prepared.subwords)


def load_sentences(variant: Variant) -> list[Words]:
    """Return the material of a variant."""
    pool = [list(sentence.words) for sentence in preparation(variant.corpus).sentences("test")]
    order = np.random.default_rng(0).permutation(len(pool))
    shuffled: list[Words] = [pool[number] for number in order]
    if variant.material == "texts":
        return texts(shuffled, variant.length, variant.count)
    if variant.material == "pairs":
        return _pairs(variant.corpus)[: variant.count]
    return spread(shuffled[: variant.out_of], variant.count)


def spread(sentences: Sequence[Words], count: int) -> list[Words]:
    """Choose ``count`` sentences with evenly spread lengths."""
    ordered = sorted(sentences, key=len)
    count = min(count, len(ordered))
    return [ordered[int((part + 0.5) * len(ordered) / count)] for part in range(count)]


def texts(sentences: Sequence[Words], length: int, count: int) -> list[Words]:
    """Build texts of exactly ``length`` words by joining and cutting sentences."""
    words = [word for sentence in sentences for word in sentence]
    starts = [number * length % max(len(words) - length, 1) for number in range(count)]
    return [words[start : start + length] for start in starts]


def _pairs(corpus: Corpus) -> list[Words]:
    """Return the sentences of a suite, item by item, with the variants of an item adjacent."""
    name = "reflexives/toy" if corpus == "toy" else "islands"
    return [words for suite in load_suites(name) for words in suite.sentences]


Search = Callable[[Sequence[Words]], list[list[float]]]


def make_search(variant: Variant, model: Model) -> tuple[Search, Work]:
    """Return a function from sentences to log probabilities of words and ends, and its work."""
    settings = WordSync(**variant.changes)
    network = model.network
    if variant.baseline:
        return _baseline(model, settings, variant.batch)
    scorer = StructuredScorer(
        model=RnngSearch(network, is_packed=True, shared_compositions=settings.shared_compositions)
        if isinstance(network, RnngNetwork)
        else PlmSearch(network, is_packed=True, max_open=settings.max_open),
        vocabulary=model.vocabulary,
        subwords=model.subwords,
        settings=settings,
        is_packed=True,
    )
    return lambda sentences: [s.tolist() for s in scorer.word_log_probs(sentences)], scorer.work


def _baseline(model: Model, settings: WordSync, batch: int) -> tuple[Search, Work]:
    network = model.network
    begin = copied_stacks if isinstance(network, RnngNetwork) else recomputed_prefixes
    search = PeerSearch(begin(network), settings)  # type: ignore[arg-type]

    def run(sentences: Sequence[Words]) -> list[list[float]]:
        split = encode_sentences(sentences, model.vocabulary, model.subwords)
        tokens = [split.sentence(number).tolist() for number in range(len(split))]
        found = search.run(tokens, batch=batch)
        return [np.diff(np.array(each), prepend=0.0).tolist() for each in found]

    return run, search.work


def measure(variant: Variant) -> dict[str, Any]:
    """Measure speed, memory and work of a variant."""
    model, sentences = load_model(variant), load_sentences(variant)
    search, work = make_search(variant, model)
    log_probs: list[list[float]] = []
    before: dict[str, int] = {}
    duration = 0.0

    def run() -> None:
        nonlocal duration
        search([sentences[0][:2]])  # warm-up
        before.update(asdict(work))
        begin = time.perf_counter()
        log_probs.extend(search(sentences))
        duration = time.perf_counter() - begin

    memory = peak_gb(run)
    words = sum(map(len, sentences))
    result: dict[str, Any] = {
        "sentences": len(sentences),
        "words": words,
        "speed": words / duration,
        "memory": memory,
        **{name: (count - before[name]) / words for name, count in asdict(work).items()},
        "bits": bits(sum(map(sum, log_probs)) / words),
    }
    if variant.counts_operations:
        result["operations"] = operations_per_word(search, sentences)
    if variant.baseline:
        result["difference"] = _difference(variant, model, sentences, log_probs)
    return result


def _difference(
    variant: Variant, model: Model, sentences: Sequence[Words], expected: list[list[float]]
) -> float:
    """Return the largest difference (bits) from Gardenpath's search with the same settings."""
    ours = Variant(model=variant.model, corpus=variant.corpus, changes=variant.changes)
    found = make_search(ours, model)[0](sentences)
    pairs = zip(found, expected, strict=True)
    return bits(-max(float(np.abs(np.subtract(a, b)).max()) for a, b in pairs))


def operations_per_word(search: Search, sentences: Sequence[Words]) -> float:
    """Count floating-point operations in matrix products, over a few sentences."""
    few = spread(sentences, _COUNTED)
    with ProductCounter() as counter:
        search(few)
    operations: int = counter.operations
    return operations / sum(map(len, few))
