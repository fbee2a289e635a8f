"""Whether the tokens of a file spell a sentence of the materials, and how they differ from it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.eval.suites.design.suite import Item, Suite, Variant
from gardenpath.eval.suites.scoring.alignment import AlignmentError, align_words, is_unknown
from gardenpath.store.keys import digest
from gardenpath.text import Words


def wording_digest(suite: str, place: int, words: Words) -> str:
    """Return the digest that identifies a sentence at a place (from 0) of a file."""
    return digest(f"{suite}:{place}:{' '.join(words)}")[:12]


def same_words(words: Sequence[str], tokens: Sequence[str]) -> bool:
    """Whether every token is the word at its place, ignoring case and ``<unk>``."""
    return len(words) == len(tokens) and all(map(same_word, words, tokens))


def same_word(word: str, token: str) -> bool:
    """Whether a token is a word, ignoring case and ``<unk>``."""
    return word == token or word.lower() == token.lower() or is_unknown(token)


def joined_variant(
    suite: Suite, item: Item, variant: Variant, sentence: ScoredSentence
) -> tuple[Variant, tuple[float, ...]] | None:
    """Return the variant and the surprisals of its words if the tokens spell it, else None.

    Tokens are joined to words. Words that a token spans (*has n't* in *hasn't*) become one word,
    if they are of one region.
    """
    try:
        covered = align_words(suite, item, variant, sentence.tokens)
    except AlignmentError:
        return None
    regions = [n for n, region in enumerate(variant.regions) for _ in region]
    if any(regions[words[0]] != regions[words[-1]] for words in covered if words):
        return None
    starts = set(range(len(variant.words))) - {n for words in covered for n in words[1:]}
    owner = list(itertools.accumulate(n in starts for n in range(len(variant.words))))
    parts: list[list[float]] = [[] for _ in starts]
    for words, bits in zip(covered, sentence.values, strict=True):
        if words:
            parts[owner[words[0]] - 1].append(bits)
    merged: list[list[str]] = [[] for _ in variant.regions]
    for place, word in enumerate(variant.words):
        if place in starts:
            merged[regions[place]].append(word)
        else:
            merged[regions[place]][-1] += word
    changed = replace(variant, regions=tuple(map(tuple, merged)))
    return changed, tuple(math.fsum(part) for part in parts)


def reworded_variant(variant: Variant, tokens: Sequence[str], critical: set[int]) -> Variant | None:
    """Return a variant with these tokens, if they differ in one region that is not critical."""
    sizes = [len(region) for region in variant.regions]
    starts = [0, *itertools.accumulate(sizes)]
    words, count = variant.words, len(variant.words)
    for place in range(len(sizes)):
        begin, rest = starts[place], count - starts[place + 1]
        if place in critical or len(tokens) < begin + rest:
            continue
        end = len(tokens) - rest
        if same_words(words[:begin], tokens[:begin]) and same_words(
            words[count - rest :], tokens[end:]
        ):
            regions = list(variant.regions)
            regions[place] = tuple(tokens[begin:end])
            return replace(variant, regions=tuple(regions))
    return None
