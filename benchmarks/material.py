"""Sentences for measuring searches: independent ones, variants of suites, and texts."""

from __future__ import annotations

import argparse
import os
from typing import Literal

from benchmarks.search_variant import preparation, spread, texts
from gardenpath.eval.suites.library import load_suites
from gardenpath.util import Words

Corpus = Literal["toy", "ptb_sample"]
# A suite of minimal variants that the vocabulary of each corpus covers.
SUITES = {"toy": "reflexives/toy", "ptb_sample": "islands"}
_POOL = 60


def independent(corpus: Corpus, count: int, *, shortest: int = 1) -> list[Words]:
    """Return test sentences of a corpus with evenly spread lengths, from ``shortest`` words on."""
    every = [tuple(sentence.words) for sentence in preparation(corpus).sentences("test")]
    pool = [words for words in every if len(words) >= shortest]
    return [tuple(words) for words in spread(pool[: max(_POOL, count)], count)]


def of_length(corpus: Corpus, length: int, count: int) -> list[Words]:
    """Return texts of exactly ``length`` words."""
    pool = [tuple(sentence.words) for sentence in preparation(corpus).sentences("test")]
    return [tuple(text) for text in texts(pool, length, count)]


def variants(suite: str, count: int) -> list[Words]:
    """Return the first sentences of a suite; the variants of an item are adjacent."""
    found = [tuple(words) for each in load_suites(suite) for words in each.sentences]
    return found[:count]


def add_corpus(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects the corpus."""
    default = "ptb_sample" if "GARDENPATH_REFERENCE_DATA" in os.environ else "toy"
    parser.add_argument("--corpus", choices=list(SUITES), default=default)
