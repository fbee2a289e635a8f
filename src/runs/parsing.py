"""Find the best trees of sentences by the search of a syntactic model, using the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gardenpath.data.sentence import OnWords
from gardenpath.data.trees.tree import Tree, Word, format_tree, from_events, parse_tree
from gardenpath.errors import RunError
from gardenpath.eval.parsing import best_shares_of, k_best
from gardenpath.eval.search.scorer import StructuredScorer, word_log_probs_of
from gardenpath.store.files import fingerprint
from gardenpath.store.surprisals import Stored, first_call_of, score_through
from gardenpath.util import Words

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Trees with their shares of the total probability of all trees found by the search.
Ranked = list[tuple[float, Tree]]

# Increment whenever the stored form of parses changes.
_FORMAT = 1


@dataclass(frozen=True)
class Parsed:
    """The best trees of a sentence; none if no hypothesis survived.

    ``best_shares`` contains, after each word and at the end, the share of the best hypothesis in
    the total probability of all survivors.
    """

    trees: Ranked
    best_shares: tuple[float, ...]


def parsed(
    run: Run,
    sentences: Sequence[Words],
    *,
    k: int,
    on_words: OnWords = lambda _: None,
    chunk: int | None = None,
) -> list[Parsed]:
    """Return the ``k`` best trees of each sentence; computed trees are kept in the run's store."""
    if not run.is_syntactic:
        raise RunError(
            f"{run.path}: model={run.settings.model.name} does not generate trees; parse with a "
            "syntactic model such as rnng or plm"
        )
    from gardenpath.runs.processes import ScoringJob, spread_jobs

    spread_jobs([ScoringJob(run, sentences, chunk=chunk, k_best=k)])
    stored = score_through(
        run.store,
        parses_key(run, k),
        sentences,
        Parsing(run, k, on_words),
        chunk=chunk or run.chunk,
        chunk_words=run.chunk_words,
        progress=first_call_of(on_words),
    )
    return [_from_stored(stored[tuple(words)], words) for words in sentences]


def parses_key(run: Run, k: int) -> str:
    """Return the key under which the ``k`` best trees of a run are stored."""
    return fingerprint("parses", _FORMAT, model=run.model_key, k=k)


class Parsing:
    """Searches sentences; loads the model when it is first needed."""

    def __init__(self, run: Run, k: int, on_words: OnWords) -> None:
        self._run = run
        self._k = k
        self._on_words = on_words
        self._scorer: StructuredScorer | None = None

    def __call__(self, sentences: Sequence[Words]) -> list[Stored]:
        if self._scorer is None:
            scorer = self._run.scorer(on_words=self._on_words)
            assert isinstance(scorer, StructuredScorer)
            self._scorer = scorer
        results, split = self._scorer.search(sentences, keeps_history=True)
        entries = []
        for number, (words, result) in enumerate(zip(sentences, results, strict=True)):
            trees = k_best(
                result, words, labels=self._run.vocabulary.labels,
                strategy=self._run.trained.strategy, k=self._k,
                starts_word=split.begins_word(number),
            )  # fmt: skip
            remedy = result.failure.remedy if result.failure is not None else None
            shares = [float(share) for share in best_shares_of(result, split, number)]
            boundary = self._scorer.boundary
            log_probs = word_log_probs_of(result, split, number, boundary=boundary).tolist()
            entries.append(_as_stored(log_probs, remedy, Parsed(trees, tuple(shares))))
        return entries


def _as_stored(log_probs: Sequence[float], remedy: str | None, parses: Parsed) -> Stored:
    """Convert to an entry of the store: shares in the first list, trees in the second."""
    shares = [(share, "") for share in parses.best_shares]
    trees = [(share, format_tree(tree)) for share, tree in parses.trees]
    return Stored(log_probs, remedy=remedy, parses=(shares, trees))


def _from_stored(stored: Stored, words: Words) -> Parsed:
    assert stored.parses is not None
    shares, trees = stored.parses
    ranked = [(share, with_words(parse_tree(text), words)) for share, text in trees]
    return Parsed(ranked, tuple(share for share, _ in shares))


def with_words(tree: Tree, words: Words) -> Tree:
    """Return a tree over the given words: brackets in text are ambiguous (``-LRB-``)."""
    following = iter(words)
    return from_events(
        Word(next(following)) if isinstance(event, Word) else event for event in tree.events()
    )


def trees_text(parses: Sequence[Ranked]) -> str:
    """Format one tree per line; several trees per sentence form a block, with their shares."""
    if all(len(best) <= 1 for best in parses):
        lines = [format_tree(best[0][1]) if best else "" for best in parses]
        return "\n".join(lines) + "\n"
    blocks = ["\n".join(f"{share:.4f}\t{format_tree(tree)}" for share, tree in b) for b in parses]
    return "\n\n".join(blocks) + "\n"
