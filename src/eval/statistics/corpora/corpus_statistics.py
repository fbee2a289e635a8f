"""Descriptive statistics of corpora: size, vocabulary, unknown words, lengths, word counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD

from gardenpath.data.data_settings import DataSettings
from gardenpath.data.preparation import Counting, no_counting
from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.data.words.vocabulary import Vocabulary
from gardenpath.fitted_table import FittedTable
from gardenpath.store.tables import CORPUS_STATISTICS, LENGTHS

_HEADINGS = ("sentences", "tokens", "types", "vocabulary", "unknown", "mean length", "longest")
_NOT_NEEDED = ("longest", "mean length")
REFLEXIVES = ("himself", "herself", "themselves")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusStatistics:
    """Statistics of a split of a corpus after cleaning.

    ``types`` is the number of distinct words. ``vocabulary`` is the number of units that models
    predict. ``unknown`` is the number of out-of-vocabulary tokens, which models see as unknown-word
    classes (None with subword units, because no word is unknown). ``lengths`` counts sentences by
    their number of words, ``words`` the tokens of selected words, ignoring case.
    """

    corpus: str
    split: str
    sentences: int
    tokens: int
    types: int
    vocabulary: int | None
    unknown: int | None
    lengths: Mapping[int, int]
    words: Mapping[str, int] = field(default_factory=dict)

    @property
    def unknown_rate(self) -> float | None:
        """Proportion of out-of-vocabulary tokens."""
        return None if self.unknown is None else self.unknown / max(self.tokens, 1)

    @property
    def mean_length(self) -> float:
        """Mean number of words per sentence."""
        return self.tokens / max(self.sentences, 1)

    @property
    def longest(self) -> int:
        """Number of words of the longest sentence."""
        return max(self.lengths, default=0)

    def length_quantile(self, share: float) -> float:
        """Return the length that a ``share`` of the sentences does not exceed."""
        if not self.lengths:
            return 0.0
        sizes = np.array(sorted(self.lengths))
        reached = np.cumsum([self.lengths[int(size)] for size in sizes])
        return float(sizes[np.searchsorted(reached, share * reached[-1])])


def corpus_statistics(
    sentences: Iterable[Sentence],
    *,
    corpus: str,
    split: str,
    vocabulary: Vocabulary | None = None,
    words: Sequence[str] = (),
) -> CorpusStatistics:
    """Compute the statistics of a split in one pass over its sentences."""
    counts: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    for sentence in sentences:
        counts.update(sentence.words)
        lengths[len(sentence.words)] += 1
    folded: Counter[str] = Counter()
    for word, count in counts.items():
        folded[word.casefold()] += count
    has_words = vocabulary is not None and vocabulary.subword_hash is None
    return CorpusStatistics(
        corpus=corpus,
        split=split,
        sentences=lengths.total(),
        tokens=counts.total(),
        types=len(counts),
        vocabulary=None if vocabulary is None else len(vocabulary),
        unknown=_unknown(counts, vocabulary) if has_words else None,
        lengths=dict(sorted(lengths.items())),
        words={word: folded[word.casefold()] for word in words},
    )


def statistics_of(
    data: DataSettings,
    *,
    cache: Path,
    words: Sequence[str] = (),
    progress: Counting = no_counting,
    processes: int | None = None,
) -> list[CorpusStatistics]:
    """Compute the statistics of all splits of a corpus, without a trained model.

    ``cache`` is the folder of prepared corpora, from which the vocabulary comes.
    ``processes`` prepare the corpus if it is not there; None uses all cores for large corpora.
    """
    preparation = data.preparation()
    corpus = preparation.prepare(cache, progress=progress, processes=processes)
    return [
        corpus_statistics(
            preparation.sentences(split),
            corpus=data.name,
            split=split,
            vocabulary=corpus.vocabulary,
            words=words,
        )
        for split in SPLITS
    ]


def _unknown(counts: Mapping[str, int], vocabulary: Vocabulary | None) -> int:
    assert vocabulary is not None
    return sum(count for word, count in counts.items() if not vocabulary.knows(word))


def statistics_frame(statistics: Sequence[CorpusStatistics]) -> pd.DataFrame:
    """Return one row per split; selected words have columns ``count_<word>``."""
    return CORPUS_STATISTICS.frame(
        [
            {
                "corpus": one.corpus,
                "split": one.split,
                "sentences": one.sentences,
                "tokens": one.tokens,
                "types": one.types,
                "vocabulary": one.vocabulary,
                "unknown": one.unknown,
                "unknown_rate": one.unknown_rate,
                "mean_length": one.mean_length,
                "median_length": one.length_quantile(0.5),
                "longest": one.longest,
                **{f"count_{word}": count for word, count in one.words.items()},
            }
            for one in statistics
        ]
    )


def in_words(one: CorpusStatistics) -> str:
    """Describe the size of a training corpus in a sentence."""
    vocabulary = "" if one.vocabulary is None else f", a vocabulary of {one.vocabulary:,}"
    return (
        f"{one.corpus} has {one.tokens:,} tokens in {one.sentences:,} training sentences"
        f"{vocabulary}; the longest sentence has {one.longest} words."
    )


def lengths_frame(statistics: Sequence[CorpusStatistics]) -> pd.DataFrame:
    """Return one row per split and sentence length."""
    rows = [
        (one.corpus, one.split, length, count)
        for one in statistics
        for length, count in one.lengths.items()
    ]
    return LENGTHS.frame(rows)


def statistics_table(
    statistics: Sequence[CorpusStatistics], *, title: str = "Corpora"
) -> FittedTable:
    """Format the sizes of corpora as a table for the terminal; see :func:`words_table`."""
    table = FittedTable(title, box=SIMPLE_HEAD, keys=2, elsewhere=CORPUS_STATISTICS.file)
    table.column("corpus")
    table.column("split")
    for name in _HEADINGS:
        table.column(name, right=True, needed=name not in _NOT_NEEDED)
    for one in statistics:
        rate = one.unknown_rate
        table.add_row(
            one.corpus,
            one.split,
            f"{one.sentences:,}",
            f"{one.tokens:,}",
            f"{one.types:,}",
            "" if one.vocabulary is None else f"{one.vocabulary:,}",
            "" if rate is None else f"{rate:.1%}",
            f"{one.mean_length:.1f}",
            str(one.longest),
        )
    return table


def words_table(statistics: Sequence[CorpusStatistics]) -> FittedTable | None:
    """Format the counts of selected words for the terminal; None if no words were selected."""
    words = list(dict.fromkeys(word for one in statistics for word in one.words))
    if not words:
        return None
    table = FittedTable("Counts of words, in any case", keys=2)
    table.column("corpus")
    table.column("split")
    for word in words:
        table.column(word, right=True)
    for one in statistics:
        cells = (f"{one.words[word]:,}" if word in one.words else "" for word in words)
        table.add_row(one.corpus, one.split, *cells)
    return table
