"""The best trees of sentences, from the search of a syntactic model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gardenpath.data.arrays import Words
from gardenpath.data.encoding.encoded import EncodedSplit
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import RunError
from gardenpath.eval.parsing.parses import k_best
from gardenpath.eval.search.result import SentenceResult
from gardenpath.eval.search.structured_scorer import StructuredScorer

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Trees with their shares of the probability of all that the search found.
Ranked = list[tuple[float, Tree]]


def parses_of(run: Run, sentences: Sequence[Words], *, k: int) -> list[Ranked]:
    """The ``k`` best trees of each sentence; none for one that no hypothesis survived."""
    results, split = searched(run, sentences)
    return ranked(run, sentences, results, split, k=k)


def searched(
    run: Run, sentences: Sequence[Words], *, on_words: Callable[[int], None] = lambda _: None
) -> tuple[list[SentenceResult], EncodedSplit]:
    """Search sentences and keep what their trees can be read from."""
    if not run.is_syntactic:
        raise RunError(
            f"{run.path}: model={run.settings.model.name} has no trees; parse with a syntactic "
            "model such as rnng or plm"
        )
    scorer = run.scorer(on_words=on_words)
    assert isinstance(scorer, StructuredScorer)
    return scorer.search(sentences, keeps_history=True)


def ranked(
    run: Run,
    sentences: Sequence[Words],
    results: Sequence[SentenceResult],
    split: EncodedSplit,
    *,
    k: int,
) -> list[Ranked]:
    """The ``k`` best trees of each result of a search."""
    return [
        k_best(
            result, words, labels=run.vocabulary.labels, strategy=run.strategy, k=k,
            starts_word=split.begins_word(number),
        )
        for number, (result, words) in enumerate(zip(results, sentences, strict=True))
    ]  # fmt: skip
