"""Corpora in numbers: size, vocabulary, unknown words, lengths, and constructions in trees.

``task=corpus`` and studies of own runs describe training corpora with it; no model is needed.
Statistics are those of prepared corpora, after cleaning; constructions are counted in the trees of
a treebank as they stand. Nothing is written here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from rich.box import SIMPLE_HEAD

from gardenpath.console import FittedTable
from gardenpath.data.corpus import DataSettings
from gardenpath.data.preparation import Counting, Progress, no_counting, no_progress
from gardenpath.data.sentence import SPLITS, Sentence, Source, Split
from gardenpath.data.trees.cleaning import TRACE_LABEL, has_pos_tags
from gardenpath.data.trees.tree import Tree
from gardenpath.data.words.vocabulary import Language, Vocabulary
from gardenpath.errors import InputError, StatisticsError
from gardenpath.safe_text import parse_yaml
from gardenpath.store.tables import CONSTRUCTIONS, CORPUS_STATISTICS, LENGTHS
from gardenpath.util import CONFIG_DIR

if TYPE_CHECKING:
    from nltk import ParentedTree

_HEADINGS = ("sentences", "tokens", "types", "vocabulary", "unknown", "mean length", "longest")
_NOT_NEEDED = ("longest", "mean length")


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

    @property
    def median_length(self) -> float:
        """Median number of words per sentence."""
        return self.length_quantile(0.5)

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
    return CorpusStatistics(
        corpus=corpus,
        split=split,
        sentences=lengths.total(),
        tokens=counts.total(),
        types=len(counts),
        vocabulary=None if vocabulary is None else len(vocabulary),
        unknown=sum(n for word, n in counts.items() if not vocabulary.knows(word))
        if vocabulary is not None and vocabulary.subword_hash is None
        else None,
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


def statistics_frame(statistics: Sequence[CorpusStatistics]) -> pd.DataFrame:
    """Return one row per split; selected words have columns ``count_<word>``."""
    return CORPUS_STATISTICS.frame(
        [
            {
                **{name: getattr(part, name) for name in CORPUS_STATISTICS.names},
                **{f"count_{word}": count for word, count in part.words.items()},
            }
            for part in statistics
        ]
    )


def in_words(part: CorpusStatistics) -> str:
    """Describe the size of a training corpus in a sentence."""
    vocabulary = "" if part.vocabulary is None else f", a vocabulary of {part.vocabulary:,}"
    return (
        f"{part.corpus} has {part.tokens:,} tokens in {part.sentences:,} training sentences"
        f"{vocabulary}; the longest sentence has {part.longest} words."
    )


def lengths_frame(statistics: Sequence[CorpusStatistics]) -> pd.DataFrame:
    """Return one row per split and sentence length."""
    return LENGTHS.frame(
        [(s.corpus, s.split, length, n) for s in statistics for length, n in s.lengths.items()]
    )


def statistics_table(statistics: Sequence[CorpusStatistics]) -> FittedTable:
    """Format the sizes of corpora as a table for the terminal; see :func:`words_table`."""
    table = FittedTable("Corpora", box=SIMPLE_HEAD, keys=2, elsewhere=CORPUS_STATISTICS.file)
    table.column("corpus")
    table.column("split")
    for name in _HEADINGS:
        table.column(name, right=True, needed=name not in _NOT_NEEDED)
    for part in statistics:
        table.add_row(
            part.corpus,
            part.split,
            f"{part.sentences:,}",
            f"{part.tokens:,}",
            f"{part.types:,}",
            "" if part.vocabulary is None else f"{part.vocabulary:,}",
            "" if part.unknown_rate is None else f"{part.unknown_rate:.1%}",
            f"{part.mean_length:.1f}",
            str(part.longest),
        )
    return table


def words_table(statistics: Sequence[CorpusStatistics]) -> FittedTable | None:
    """Format the counts of selected words for the terminal; None if no words were selected."""
    words = list(dict.fromkeys(word for part in statistics for word in part.words))
    if not words:
        return None
    table = FittedTable("Counts of words, in any case", keys=2)
    table.column("corpus")
    table.column("split")
    for word in words:
        table.column(word, right=True)
    for part in statistics:
        cells = (f"{part.words[word]:,}" if word in part.words else "" for word in words)
        table.add_row(part.corpus, part.split, *cells)
    return table


# Frequencies of constructions in a treebank, counted with patterns in the syntax of tgrep
# (:mod:`nltk.tgrep`) from ``conf/patterns``, in uncleaned trees with part-of-speech tags. Some
# constructions can only be identified by traces or function tags, so a construction has a pattern
# for *annotated* trees, one for *plain* trees, or both.

Annotation = Literal["auto", "annotated", "plain"]
Predicate = Callable[[Any], bool]

# Number of trees from which the kind of annotation is determined.
_PEEK = 200
_SETTINGS = frozenset({"description", "modifiers", "annotated", "plain"})
_PATTERN_FILES: Mapping[Language, str] = {"en": "english"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """A construction, its patterns, and the modifiers of the suites that test it."""

    name: str
    annotated: str | None
    plain: str | None
    description: str = ""
    modifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructionCount:
    """Frequency of a construction: matching nodes (``count``) and sentences that contain one."""

    corpus: str
    construction: str
    count: int
    sentences: int
    total_sentences: int
    annotation: Literal["annotated", "plain"]

    @property
    def per_thousand(self) -> float:
        """Occurrences per thousand sentences."""
        return 1000.0 * self.count / self.total_sentences if self.total_sentences else 0.0


def load_constructions(path: Path) -> tuple[Construction, ...]:
    """Load constructions from a pattern file; every pattern is compiled as a check."""
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
        constructions = content["constructions"].items()
        return tuple(_construction(name, settings, path) for name, settings in constructions)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is not a valid pattern file: {error}", path=path) from error


def _construction(name: str, content: Mapping[str, Any], path: Path) -> Construction:
    if wrong := sorted(set(content) - _SETTINGS):
        raise InputError(
            f"{name} has unknown settings: {', '.join(wrong)}",
            path=path,
            remedy=f"valid: {', '.join(sorted(_SETTINGS))}",
        )
    annotated, plain = (
        None if content.get(kind) is None else str(content[kind]).strip()
        for kind in ("annotated", "plain")
    )
    if annotated is None and plain is None:
        raise InputError(f"{name} has neither an annotated nor a plain pattern", path=path)
    for pattern in (annotated, plain):
        if pattern is not None:
            compile_pattern(pattern, path=path)
    return Construction(
        name=name,
        annotated=annotated,
        plain=plain,
        description=str(content.get("description", "")),
        modifiers=tuple(map(str, content.get("modifiers") or ())),
    )


def compile_pattern(pattern: str, *, path: Path | str = "pattern") -> Predicate:
    """Compile a tgrep pattern to a predicate over nodes."""
    # A local import, because NLTK takes seconds to load and most tasks do not need it.
    import nltk.tgrep

    try:
        predicate: Predicate = nltk.tgrep.tgrep_compile(pattern)
    except Exception as error:  # the parser raises various exceptions for invalid patterns
        raise InputError(f"the pattern {pattern!r} is invalid: {error}", path=path) from error
    return predicate


def to_nltk(tree: Tree) -> ParentedTree:
    """Convert a tree to an NLTK tree whose nodes have links to their parents."""
    from nltk import ParentedTree

    made: ParentedTree = tree.fold(lambda label, parts: ParentedTree(label, list(parts)), str)
    return made


def is_annotated(trees: Iterable[Tree]) -> bool:
    """Whether any tree has a trace."""
    return any(label == TRACE_LABEL for tree in trees for label in tree.labels())


def count_constructions(
    trees: Iterable[Tree],
    constructions: Sequence[Construction],
    *,
    corpus: str,
    annotation: Annotation = "auto",
) -> list[ConstructionCount]:
    """Count the nodes that match each pattern, and the trees with at least one match.

    With ``auto`` the patterns for annotated trees are used if any of the first trees has a trace.
    Constructions without a pattern for these trees are left out.
    """
    stream = iter(trees)
    head = list(itertools.islice(stream, _PEEK))
    if head and not has_pos_tags(head):
        raise StatisticsError(
            f"the trees of {corpus} have no part-of-speech tags, which the patterns need; use "
            "the original trees of the corpus, before cleaning"
        )
    has_traces = is_annotated(head) if annotation == "auto" else annotation == "annotated"
    chosen: Literal["annotated", "plain"] = "annotated" if has_traces else "plain"
    tests = {
        construction.name: compile_pattern(getattr(construction, chosen))
        for construction in constructions
        if getattr(construction, chosen) is not None
    }
    counts: Counter[str] = Counter()
    sentences: Counter[str] = Counter()
    total = 0
    for tree in itertools.chain(head, stream):
        total += 1
        nodes = list(to_nltk(tree).subtrees())
        for name, test in tests.items():
            matches = sum(1 for node in nodes if test(node))
            counts[name] += matches
            sentences[name] += matches > 0
    return [
        ConstructionCount(
            corpus=corpus,
            construction=name,
            count=counts[name],
            sentences=sentences[name],
            total_sentences=total,
            annotation=chosen,
        )
        for name in tests
    ]


def construction_counts(
    data: DataSettings,
    constructions: Sequence[Construction] | None = None,
    *,
    splits: Sequence[Split] = SPLITS,
    progress: Progress = no_progress,
) -> list[ConstructionCount]:
    """Count constructions in the unmodified trees of a treebank, without a trained model.

    Without ``constructions``, those of ``conf/patterns`` for the language of the corpus are
    counted. A tree that is in two of the splits counts once.
    """
    if not data.reader.has_trees:
        raise StatisticsError(f"{data.name} has no trees, so constructions cannot be counted")
    seen: set[Source] = set()

    def trees() -> Iterator[Tree]:
        for split in splits:
            for sentence in progress(data.reader.read(split), f"{data.name}, {split}"):
                if sentence.tree is not None and sentence.source not in seen:
                    seen.add(sentence.source)
                    yield sentence.tree

    wanted = constructions_for(data.language) if constructions is None else constructions
    return count_constructions(trees(), wanted, corpus=data.name)


def constructions_for(language: Language) -> tuple[Construction, ...]:
    """Return the constructions of ``conf/patterns`` for a language; none if there is no file."""
    path = CONFIG_DIR / "patterns" / f"{_PATTERN_FILES.get(language, '')}.yaml"
    return load_constructions(path) if path.is_file() else ()


def counts_table(counts: Iterable[ConstructionCount]) -> pd.DataFrame:
    """Return one row per corpus and construction."""
    return CONSTRUCTIONS.frame(
        [tuple(getattr(count, column) for column in CONSTRUCTIONS.names) for count in counts]
    )


def construction_table(counts: Sequence[ConstructionCount]) -> FittedTable:
    """Format counts for the terminal: one row per construction, one column per corpus."""
    corpora = list(dict.fromkeys(count.corpus for count in counts))
    cells = {(c.construction, c.corpus): f"{c.count:,}" for c in counts}
    table = FittedTable("Constructions (matching nodes)")
    table.column("construction")
    for corpus in corpora:
        table.column(corpus, right=True)
    for name in dict.fromkeys(count.construction for count in counts):
        table.add_row(name, *(cells.get((name, corpus), "") for corpus in corpora))
    return table
