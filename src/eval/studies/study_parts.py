"""Records of a study: the cells of its tables and figures, its claims, and its whole result.

Tables and figures have the numbers of the paper. A cell belongs to a *source*, such as the released
surprisals or the user's own runs, so that several sources stand side by side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gardenpath.errors import GardenpathError

if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.eval.statistics.questions.analysis import AnalysisResult

# Names of the two kinds of sources.
RELEASED = "released surprisals"
OWN = "own runs"

Verdict = Literal["reproduced", "not reproduced", "depends", "not tested"]
PartKind = Literal["table", "figure"]
# Which of the released items count: those that the paper used, or all.
ItemChoice = Literal["paper", "all"]


class StudyError(GardenpathError):
    """A study cannot be computed from what was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCell:
    """One value of a table or figure; ``row``, ``column`` and ``panel`` are keys, not labels.

    ``text`` is shown instead of the number; ``stars`` are the significance stars, None if the
    published cell has none to compare with. ``low`` and ``high`` bound a 95 % interval.
    """

    source: str
    row: str
    column: str
    panel: str = ""
    value: float = math.nan
    text: str = ""
    stars: str | None = None
    low: float = math.nan
    high: float = math.nan
    n: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureStyle:
    """How a figure is drawn: points with intervals, series side by side at each position.

    Without ``same_scale``, each panel has its own axis, for panels in different units.
    """

    y_label: str = ""
    same_scale: bool = True
    connected: bool = False
    reference: float | None = None
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPart:
    """A table or figure of a paper.

    ``digits`` is the number of decimals shown. ``labels`` map keys of rows, columns and panels to
    labels. ``missing`` says why a part has no cells, or why some of its cells are empty.
    """

    number: str
    title: str
    cells: Sequence[StudyCell] = ()
    kind: PartKind = "table"
    digits: int = 3
    labels: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    missing: Sequence[str] = ()
    style: FigureStyle = FigureStyle()

    @property
    def name(self) -> str:
        """The name of the part's files: ``table_3b``."""
        return self.number.lower().replace(" ", "_").replace(".", "")

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the cells, in order of appearance."""
        return tuple(dict.fromkeys(cell.source for cell in self.cells))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyClaim:
    """A claim of the paper and what a source says about it.

    ``place`` is the section, table or figure of the paper.
    """

    place: str
    text: str
    source: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, kw_only=True)
class StudyData:
    """The scored suites of one source.

    The tables have the columns of ``ITEMS``, ``EFFECTS``, ``SENTENCES`` and ``SURPRISALS`` in
    ``gardenpath.store.tables``; ``perplexity``, ``corpora`` and ``lengths`` those of
    ``PERPLEXITY``, ``CORPUS_STATISTICS`` and ``LENGTHS``, None if they are unknown. ``networks``
    has model, corpus, layers, hidden and embedding (widths) of each neural run.
    """

    source: str
    items: pd.DataFrame
    effects: pd.DataFrame
    sentences: pd.DataFrame
    surprisals: pd.DataFrame
    perplexity: pd.DataFrame | None = None
    corpora: pd.DataFrame | None = None
    lengths: pd.DataFrame | None = None
    constructions: pd.DataFrame | None = None
    networks: pd.DataFrame | None = None


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """All tables, figures, claims and analyses of a study, for all sources."""

    name: str
    title: str
    reference: str
    parts: Sequence[StudyPart]
    claims: Sequence[StudyClaim]
    analyses: Mapping[str, Sequence[AnalysisResult]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
