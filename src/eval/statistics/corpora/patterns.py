"""How often constructions occur in a treebank: tree patterns, counted.

Patterns are written in tgrep (:mod:`nltk.tgrep`) and kept in ``conf/patterns``. They are for trees
as a corpus has them, with part-of-speech tags (what its reader reads). Cleaning removes traces and
function tags, by which some constructions are known at all; a construction therefore has two
patterns, for *annotated* and for *plain* trees.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from gardenpath.data.trees.transforms import TRACE_LABEL, has_pos_tags
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import InputError
from gardenpath.eval.statistics.statistics_error import StatisticsError
from gardenpath.store.tables import CONSTRUCTIONS

if TYPE_CHECKING:
    import pandas as pd
    from nltk import ParentedTree

Annotation = Literal["auto", "annotated", "plain"]
Predicate = Callable[[Any], bool]

# Enough trees to tell how a treebank is annotated.
_PEEK = 200
_SETTINGS = frozenset({"description", "modifiers", "annotated", "plain"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Construction:
    """A construction, its two patterns, and the suites (by modifier) that test it."""

    name: str
    annotated: str
    plain: str
    description: str = ""
    modifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstructionCount:
    """How often a construction occurs in a corpus; ``per_thousand`` is of sentences."""

    corpus: str
    construction: str
    count: int
    sentences: int
    total_sentences: int
    annotation: Literal["annotated", "plain"]

    @property
    def per_thousand(self) -> float:
        """Occurrences in a thousand sentences."""
        return 1000.0 * self.count / self.total_sentences if self.total_sentences else 0.0


def load_constructions(path: Path) -> tuple[Construction, ...]:
    """The constructions of a file of patterns; every pattern is tried."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = content["constructions"]
        return tuple(_construction(name, settings, path) for name, settings in found.items())
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is not a file of patterns: {error}", path=path) from error


def _construction(name: str, settings: Mapping[str, Any], path: Path) -> Construction:
    if wrong := sorted(set(settings) - _SETTINGS):
        raise InputError(
            f"{name} has {', '.join(wrong)}", path=path, remedy=f"valid: {', '.join(_SETTINGS)}"
        )
    made = Construction(
        name=name,
        annotated=str(settings["annotated"]).strip(),
        plain=str(settings["plain"]).strip(),
        description=str(settings.get("description", "")),
        modifiers=tuple(map(str, settings.get("modifiers") or ())),
    )
    for pattern in (made.annotated, made.plain):
        compile_pattern(pattern, path=path)
    return made


def compile_pattern(pattern: str, *, path: Path | str = "pattern") -> Predicate:
    """A test of nodes."""
    # Here, because NLTK takes seconds to load and most tasks do without it.
    import nltk.tgrep

    try:
        predicate: Predicate = nltk.tgrep.tgrep_compile(pattern)
    except Exception as error:  # whatever its parser makes of a wrong pattern
        raise InputError(f"the pattern {pattern!r} cannot be read: {error}", path=path) from error
    return predicate


def to_nltk(tree: Tree) -> ParentedTree:
    """A tree of ours as one in which every node knows its parent."""
    from nltk import ParentedTree

    made: ParentedTree = tree.fold(lambda label, parts: ParentedTree(label, list(parts)), str)
    return made


def is_annotated(trees: Iterable[Tree]) -> bool:
    """Whether some tree has a trace."""
    return any(label == TRACE_LABEL for tree in trees for label in tree.labels())


def count_constructions(
    trees: Iterable[Tree],
    constructions: Sequence[Construction],
    *,
    corpus: str,
    annotation: Annotation = "auto",
) -> list[ConstructionCount]:
    """How many nodes of a treebank match each pattern, and how many trees have such a node.

    With ``auto`` the first trees decide which patterns to use: annotated if they have traces.
    """
    stream = iter(trees)
    head = list(itertools.islice(stream, _PEEK))
    if head and not has_pos_tags(head):
        raise StatisticsError(
            f"the trees of {corpus} have no part-of-speech tags, which the patterns need; take "
            "them as they stand in the corpus, before cleaning"
        )
    has_traces = is_annotated(head) if annotation == "auto" else annotation == "annotated"
    chosen: Literal["annotated", "plain"] = "annotated" if has_traces else "plain"
    tests = [compile_pattern(getattr(one, chosen)) for one in constructions]
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
        for number, one in enumerate(constructions)
    ]


def counts_table(counts: Iterable[ConstructionCount]) -> pd.DataFrame:
    """One row per corpus and construction."""
    return CONSTRUCTIONS.frame(
        [tuple(getattr(one, column) for column in CONSTRUCTIONS.names) for one in counts]
    )
