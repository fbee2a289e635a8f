"""Frequencies of constructions in a treebank, counted with tree patterns.

Patterns use the tgrep syntax (:mod:`nltk.tgrep`) and are stored in ``conf/patterns``. They are
matched against uncleaned trees with part-of-speech tags. Some constructions can only be identified
by traces or function tags, which not all treebanks have. A construction has a pattern for
*annotated* trees, one for *plain* trees, or both.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gardenpath.data.data_settings import DataSettings
from gardenpath.data.preparation import Progress, no_progress
from gardenpath.data.sentence import SPLITS, Source, Split
from gardenpath.data.trees.transforms import TRACE_LABEL, has_pos_tags
from gardenpath.data.trees.tree import Tree
from gardenpath.data.words.unknown_words import Language
from gardenpath.errors import InputError
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.fitted_table import FittedTable
from gardenpath.places import CONFIG_DIR
from gardenpath.safe_text import parse_yaml
from gardenpath.store.tables import CONSTRUCTIONS

if TYPE_CHECKING:
    import pandas as pd
    from nltk import ParentedTree

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
        found = content["constructions"]
        return tuple(_construction(name, settings, path) for name, settings in found.items())
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
    made = Construction(
        name=name,
        annotated=annotated,
        plain=plain,
        description=str(content.get("description", "")),
        modifiers=tuple(map(str, content.get("modifiers") or ())),
    )
    for pattern in (made.annotated, made.plain):
        if pattern is not None:
            compile_pattern(pattern, path=path)
    return made


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
    countable = [one for one in constructions if getattr(one, chosen) is not None]
    tests = [compile_pattern(getattr(one, chosen)) for one in countable]
    counts, sentences, total = [0] * len(tests), [0] * len(tests), 0
    for tree in itertools.chain(head, stream):
        total += 1
        nodes = list(to_nltk(tree).subtrees())
        for number, test in enumerate(tests):
            found = sum(1 for node in nodes if test(node))
            counts[number] += found
            sentences[number] += found > 0
    return [
        ConstructionCount(
            corpus=corpus,
            construction=one.name,
            count=counts[number],
            sentences=sentences[number],
            total_sentences=total,
            annotation=chosen,
        )
        for number, one in enumerate(countable)
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
    wanted = constructions_for(data.language) if constructions is None else constructions
    return count_constructions(_trees(data, splits, progress), wanted, corpus=data.name)


def constructions_for(language: Language) -> tuple[Construction, ...]:
    """Return the constructions of ``conf/patterns`` for a language; none if there is no file."""
    path = CONFIG_DIR / "patterns" / f"{_PATTERN_FILES.get(language, '')}.yaml"
    return load_constructions(path) if path.is_file() else ()


def _trees(data: DataSettings, splits: Sequence[Split], progress: Progress) -> Iterator[Tree]:
    seen: set[Source] = set()
    for split in splits:
        for sentence in progress(data.reader.read(split), f"{data.name}, {split}"):
            if sentence.tree is not None and sentence.source not in seen:
                seen.add(sentence.source)
                yield sentence.tree


def counts_table(counts: Iterable[ConstructionCount]) -> pd.DataFrame:
    """Return one row per corpus and construction."""
    return CONSTRUCTIONS.frame(
        [tuple(getattr(one, column) for column in CONSTRUCTIONS.names) for one in counts]
    )


def construction_table(counts: Sequence[ConstructionCount]) -> FittedTable:
    """Format counts for the terminal: one row per construction, one column per corpus."""
    corpora = list(dict.fromkeys(one.corpus for one in counts))
    found = {(one.construction, one.corpus): one.count for one in counts}
    table = FittedTable("Constructions (matching nodes)")
    table.column("construction")
    for corpus in corpora:
        table.column(corpus, right=True)
    for name in dict.fromkeys(one.construction for one in counts):
        cells = (found.get((name, corpus)) for corpus in corpora)
        table.add_row(name, *("" if count is None else f"{count:,}" for count in cells))
    return table
