"""All next words of an n-gram model, and ARPA files written from one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.words.vocabulary import BEGIN_ID, PAD_ID, Vocabulary
from gardenpath.models.ngram.arpa import LOG10_ZERO
from gardenpath.models.ngram.model import NgramModel
from gardenpath.util import NATS_PER_LOG10


def next_log_probs(model: NgramModel, context: Sequence[int]) -> Floats:
    """The log probability of every token of the vocabulary after a prefix."""
    history = np.array([BEGIN_ID, *context], dtype=np.int64)
    size = model.vocabulary_size
    grams = np.concatenate([np.tile(history, (size, 1)), np.arange(size)[:, None]], axis=1)
    return model.score_ngrams(grams)


def write_arpa(path: Path, model: NgramModel, vocabulary: Vocabulary) -> None:
    """Write a model as an ARPA file, for use with other tools."""
    listed = [_listed_words(model), *(range(len(t)) for t in model.tables[1:])]
    with path.open("w", encoding="utf-8") as out:
        out.write("\\data\\\n")
        out.writelines(f"ngram {k}={len(rows)}\n" for k, rows in enumerate(listed, start=1))
        for level, rows in enumerate(listed):
            out.write(f"\n\\{level + 1}-grams:\n")
            out.writelines(_entries(model, vocabulary, level, rows))
        out.write("\n\\end\\\n")


def _listed_words(model: NgramModel) -> list[int]:
    """Return the unigrams; padding is one only if a file listed it as a word."""
    is_word = np.isfinite(model.log_probs[0][PAD_ID]) or any(
        (table.words == PAD_ID).any() or (level == 1 and (table.contexts == PAD_ID).any())
        for level, table in enumerate(model.tables[1:], start=1)
    )
    return list(range(0 if is_word else PAD_ID + 1, model.vocabulary_size))


def _entries(
    model: NgramModel, vocabulary: Vocabulary, level: int, rows: Sequence[int]
) -> Iterator[str]:
    is_highest = level == model.order - 1
    log10_probs = model.log_probs[level] / NATS_PER_LOG10
    log10_backoffs = model.log_backoffs[level] / NATS_PER_LOG10
    grams = _spelled(model, vocabulary, level)
    for row in rows:
        prob = log10_probs[row] if np.isfinite(log10_probs[row]) else LOG10_ZERO
        backoff = "" if is_highest else f"\t{max(log10_backoffs[row], LOG10_ZERO):.9g}"
        yield f"{prob:.9g}\t{grams[row]}{backoff}\n"


def _spelled(model: NgramModel, vocabulary: Vocabulary, level: int) -> list[str]:
    """Return the words of all n-grams of an order."""
    grams = list(vocabulary.tokens)
    for table in model.tables[1 : level + 1]:
        contexts, words = table.contexts.tolist(), table.words.tolist()
        grams = [
            f"{grams[context]} {vocabulary.tokens[word]}"
            for context, word in zip(contexts, words, strict=True)
        ]
    return grams
