"""Alignment of the sentences of a surprisal file with the sentences of a suite, by order.

A few published tables were made from earlier versions of their suites. If a sentence of the table
differs from that of the suite, only the surprisals of the common first and last words are used; the
words in between have no surprisal (NaN), and only predictions about them are undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import ScoredSentence, without_edges
from gardenpath.eval.suites.design.suite import Item, Suite, Variant
from gardenpath.eval.suites.scoring.alignment import AlignmentError, is_unknown, word_surprisals
from gardenpath.text import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSurprisals:
    """The surprisals of one run on one suite.

    ``rows``: surprisals (bits) of the words of every variant of every item, in order; ``unknown``:
    the out-of-vocabulary words; ``reworded``: the number of sentences that differ in the file.
    """

    rows: tuple[tuple[float, ...], ...]
    unknown: frozenset[str]
    reworded: int


def fit(suite: Suite, sentences: Sequence[ScoredSentence], *, path: Path) -> FittedSurprisals:
    """Align the sentences of a file, which must be in the order of the suite.

    The file may contain one sentence for every variant, or every distinct sentence once.
    """
    scored = _in_order(suite, [without_edges(sentence) for sentence in sentences], path)
    variants = [(item, variant) for item in suite.items for variant in item.variants]
    rows = []
    unknown: set[str] = set()
    reworded = 0
    for (item, variant), sentence in zip(variants, scored, strict=True):
        row = _row(suite, item, variant, sentence)
        if row is None:
            reworded += 1
            row = common_surprisals(variant.words, sentence)
        rows.append(row)
        unknown.update(_unknown(variant.words, sentence))
    return FittedSurprisals(rows=tuple(rows), unknown=frozenset(unknown), reworded=reworded)


def tokens_by_sentence(
    suite: Suite, sentences: Sequence[ScoredSentence], *, path: Path
) -> dict[Words, tuple[Sequence[str], Sequence[float]]]:
    """Return the tokens of each sentence and their surprisals (bits), including sentence edges.

    This is the input of ``RegionTable.from_tokens``, where tokens may be larger than words.
    """
    scored = _in_order(suite, sentences, path)
    variants = [variant.words for item in suite.items for variant in item.variants]
    return {
        words: (sentence.tokens, sentence.surprisal_bits)
        for words, sentence in zip(variants, scored, strict=True)
    }


def _in_order(
    suite: Suite, sentences: Sequence[ScoredSentence], path: Path
) -> Sequence[ScoredSentence]:
    """Return one sentence for every variant of every item."""
    variants = [variant.words for item in suite.items for variant in item.variants]
    if len(sentences) == len(variants):
        return sentences
    if len(sentences) == len(suite.sentences):
        by_words = dict(zip(suite.sentences, sentences, strict=True))
        return [by_words[words] for words in variants]
    raise InputError(
        f"has {len(sentences)} sentences, but suite {suite.name} has {len(variants)}"
        + ("" if len(variants) == len(suite.sentences) else f", {len(suite.sentences)} distinct"),
        path=path,
    )


def _row(
    suite: Suite, item: Item, variant: Variant, sentence: ScoredSentence
) -> tuple[float, ...] | None:
    """Return the surprisals of the words if the tokens match them, else None."""
    try:
        return word_surprisals(suite, item, variant, sentence.tokens, sentence.surprisal_bits)
    except AlignmentError:
        return None


def _unknown(words: Words, sentence: ScoredSentence) -> set[str]:
    """Return the out-of-vocabulary words if each word has its own token, else nothing."""
    if len(words) != len(sentence.tokens):
        return set()
    pairs = zip(words, sentence.seen, strict=True)
    return {word for word, seen in pairs if not seen}


def common_surprisals(words: Words, sentence: ScoredSentence) -> tuple[float, ...]:
    """Return surprisals of the first and last words shared with a different sentence, else NaN."""
    tokens = sentence.tokens
    shorter = min(len(words), len(tokens))
    before = _common(words, tokens, shorter)
    after = _common(words[::-1], tokens[::-1], shorter - before)
    values = [math.nan] * len(words)
    values[:before] = sentence.surprisal_bits[:before]
    if after:
        values[-after:] = sentence.surprisal_bits[-after:]
    return tuple(values)


def _common(words: Sequence[str], tokens: Sequence[str], most: int) -> int:
    """Return how many of the first tokens equal the words or are ``<unk>``."""
    for number in range(most):
        if tokens[number] != words[number] and not is_unknown(tokens[number]):
            return number
    return most
