"""Results of models on test suites: tables, statistics, and a report."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from gardenpath.eval.suites.scoring.scored_items import RunName, ScoredItems
from gardenpath.eval.suites.scoring.tie_rule import EXACT_TIES, TieRule
from gardenpath.eval.usable import MIN_ITEMS, ItemCount, unusable_items
from gardenpath.runs.adoption.how_scored import HowScored, with_own_columns
from gardenpath.store.headers.side_cars import write_side_car
from gardenpath.store.results_folder import results_folder
from gardenpath.store.tables import (
    AGGREGATE,
    EFFECT_MEANS,
    EFFECTS,
    ITEMS,
    PERPLEXITY,
    SENTENCES,
    SUMMARY,
    SURPRISALS,
    WORD_PAIRS,
    write_table,
)
from gardenpath.versions import versions

if TYPE_CHECKING:
    from gardenpath.data.surprisal_forms import ResultForm
    from gardenpath.eval.perplexity.comparison import PerplexityRow
    from gardenpath.eval.published.imported import Imported
    from gardenpath.eval.published.imported_runs import ImportedRun
    from gardenpath.eval.published.receipt import Receipt
    from gardenpath.eval.report.study import Curve, Shown
    from gardenpath.eval.statistics.choices import Correction, Weighting
    from gardenpath.eval.statistics.questions.analysis import AnalysisResult
    from gardenpath.eval.suites.design.suite import Suite
    from gardenpath.fitted_table import FittedTable
    from gardenpath.runs.suite_tables import SuiteTables
    from gardenpath.store.schema import Schema
    from gardenpath.store.status.run_status import RunStatus

# Tables of a results folder, which have a header beside them.
_TABLES = (
    *(ITEMS, SUMMARY, EFFECTS, EFFECT_MEANS, SURPRISALS, SENTENCES, AGGREGATE, WORD_PAIRS),
    PERPLEXITY,
)


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results of models on test suites.

    ``items`` has one row per model, item and prediction, ``effects`` one per effect,
    ``surprisals`` one per word, and ``summary`` the accuracies with their intervals. Surprisals
    from files have an ``origin`` (``published``), ``sources`` and a ``receipt``. ``correction``
    adjusts the p values of each analysis for the number of its tests; ``weights`` are those of rows
    in linear mixed models. Tests and intervals need
    ``min_items`` usable items. ``skipped`` are the run folders that were left out, with the reason.
    ``imported`` are the surprisals as files had them; ``also`` are further forms to write. ``how``
    says, by the names of runs, how words were scored; ``ties`` which differences count as ties.
    ``formula`` is a question of one's own, answered before the others.
    """

    title: str
    suites: Sequence[Suite]
    names: Sequence[RunName]
    tables: SuiteTables
    word_pairs: Sequence[Mapping[str, object]] = ()
    curves: Sequence[Curve] = ()
    search: str | None = None
    perplexity: Sequence[PerplexityRow] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    receipt: Receipt | None = None
    correction: Correction | None = None
    weights: Weighting = "none"
    skipped: Sequence[RunStatus] = ()
    min_items: int = MIN_ITEMS
    imported: Sequence[ImportedRun] = ()
    also: Sequence[ResultForm] = ()
    how: Mapping[str, HowScored] = field(default_factory=dict)
    ties: TieRule = EXACT_TIES
    formula: str = ""

    @classmethod
    def of_imported(
        cls,
        imported: Imported,
        *,
        title: str,
        origin: str = "given",
        sources: Mapping[str, str] | None = None,
        ties: TieRule = EXACT_TIES,
    ) -> Results:
        """Return the results of imported surprisals, with the same tables as of own runs.

        How exact the numbers in files are is not known, so only equal ones are ties.
        """
        from gardenpath.runs.suite_tables import suite_tables

        tables = suite_tables([], [], imported=imported.runs, ties=ties)
        return cls(
            title=title,
            suites=imported.suites,
            names=imported.names,
            tables=replace(tables, notes=(*imported.notes, *tables.notes)),
            origin=origin,
            sources=sources or {},
            receipt=imported.receipt,
            imported=imported.runs,
            ties=ties,
        )

    @property
    def items(self) -> pd.DataFrame:
        """One row per model, item and prediction."""
        return self.tables.items

    @property
    def effects(self) -> pd.DataFrame:
        """One row per model, item and effect, in bits."""
        return self.tables.effects

    @property
    def surprisals(self) -> pd.DataFrame:
        """One row per model and word, in bits; those of masked models are ``pll_bits``."""
        return with_own_columns(self.tables.surprisals, self.how)

    @property
    def sentences(self) -> pd.DataFrame:
        """Local and global surprisal and SLOR of every sentence."""
        return self.tables.sentences

    @property
    def aggregate(self) -> pd.DataFrame:
        """Accuracies on published minimal pairs, averaged as by their authors; else empty."""
        return self.tables.aggregate

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes, for example on sentences without a surviving hypothesis."""
        return self.tables.notes

    @cached_property
    def scored(self) -> ScoredItems:
        """The outcomes, from which accuracies are computed."""
        return ScoredItems(
            items=self.items, notes=self.notes, effects=self.effects, min_items=self.min_items
        )

    @property
    def unusable(self) -> list[ItemCount]:
        """Models with unusable items (unknown critical words, no surprisal), the worst first."""
        return unusable_items(self.items)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Accuracies with 95 % intervals by model, corpus, class and modifier."""
        return self.scored.summary

    @cached_property
    def effect_means(self) -> pd.DataFrame:
        """The mean of each effect of each model, in bits, with 95 % intervals over items."""
        from gardenpath.eval.report.effect_table import effect_means

        return effect_means(self.effects, self.items, min_items=self.min_items)

    def effect_tables(self) -> list[FittedTable]:
        """Return a table for the terminal for each corpus with few effects."""
        from gardenpath.eval.report.effect_table import effect_tables

        return list(effect_tables(self.effect_means, title=self.title))

    def accuracy_tables(self) -> list[FittedTable]:
        """Return a table for the terminal for each corpus: classes as rows, models as columns.

        Tables of published minimal pairs, averaged as by their authors, follow.
        """
        from gardenpath.eval.suites.pairs.pair_tables import pair_tables

        found = self.scored.tables(title=f"{self.title}: accuracy")
        return [*found, *pair_tables(self.aggregate)]

    @cached_property
    def analyses(self) -> list[AnalysisResult]:
        """All analyses; those that the tables do not allow are empty and say why."""
        from gardenpath.eval.report.shown_analyses import run_analyses

        tables = (self.items, self.effects, self.sentences)
        return run_analyses(
            *tables,
            correction=self.correction,
            weights=self.weights,
            min_items=self.min_items,
            formula=self.formula,
        )

    def shown_analyses(self) -> list[Shown]:
        """The analyses in the order of the report."""
        from gardenpath.eval.report.shown_analyses import shown_results

        return shown_results(self.analyses)

    def statistics(self) -> pd.DataFrame:
        """The estimates of all analyses in one table, each with the question it answers."""
        frames = [
            shown.tables["estimates"].assign(question=shown.title)
            for shown in self.shown_analyses()
            if "estimates" in shown.tables
        ]
        table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({"question": []})
        return table[["question", *(name for name in table.columns if name != "question")]]

    def write(self, folder: str | Path) -> Path:
        """Write all tables to a folder, replacing earlier results; return the folder."""
        with results_folder(Path(folder), about=self._about()) as temporary:
            self.write_tables(temporary)
        return Path(folder)

    def report(self, folder: str | Path) -> Path:
        """Write tables, statistics, figures and an HTML report; return the path of the report.

        The folder replaces earlier results as a whole.
        """
        from gardenpath.eval.report.shown_analyses import write_analyses
        from gardenpath.eval.report.study_builder import (
            MODEL_PACKAGES,
            REPORT_PACKAGES,
            build_study,
        )
        from gardenpath.eval.report.write import write_report

        study = build_study(
            title=self.title, suites=self.suites, names=self.names, results=self.scored,
            surprisals=self.tables.surprisals, versions=versions(*REPORT_PACKAGES, *MODEL_PACKAGES),
            search=self.search, analyses=self.analyses, parses=self.tables.parses,
            curves=self.curves, perplexity=self.perplexity, origin=self.origin,
            sources=self.sources, aggregate=self.aggregate,
        )  # fmt: skip
        with results_folder(Path(folder), about=self._about()) as temporary:
            self.write_tables(temporary)
            write_analyses(temporary / "statistics", self.analyses)
            written = write_report(study, temporary)
        return Path(folder) / written.name

    def write_tables(self, folder: Path) -> None:
        """Write all tables, and the receipt of imported surprisals, to a folder."""
        self.scored.write(folder)
        write_table(folder / EFFECTS.file, self.effects)
        if len(self.effects):
            write_table(folder / EFFECT_MEANS.file, self.effect_means)
        write_table(folder / SURPRISALS.file, self.surprisals)
        write_table(folder / SENTENCES.file, self.sentences)
        if len(self.aggregate):
            write_table(folder / AGGREGATE.file, self.aggregate)
        if self.receipt is not None:
            self.receipt.write(folder)
        if self.word_pairs:
            write_table(folder / WORD_PAIRS.file, self.word_pairs)
        if self.perplexity:
            from gardenpath.eval.perplexity.comparison import perplexity_frame

            write_table(folder / PERPLEXITY.file, perplexity_frame(self.perplexity))
        for schema in _TABLES:
            if (path := folder / schema.file).is_file():
                write_side_car(path, self._header(schema, path))
        if self.also:
            from gardenpath.runs.exchange.result_forms import write_result_forms

            write_result_forms(self, folder)

    def _header(self, schema: Schema, path: Path) -> dict[str, Any]:
        """Return what readers of a table must know: units, columns, search, how words are made."""
        separator = "\t" if path.suffix == ".tsv" else ","
        with path.open(encoding="utf-8") as lines:
            columns = lines.readline().rstrip("\n").split(separator)
        how = {name.run: self.how.get(name.run, HowScored()) for name in self.names}
        return {
            "table": schema.name,
            "unit": "bits",
            "search": self.search,
            "columns": schema.meanings(columns),
            "runs": [{"run": run, **asdict(one)} for run, one in how.items()],
        }

    def _about(self) -> dict[str, Any]:
        from gardenpath.eval.suites.pairs.pair_tables import pair_words

        suites = [suite.name for suite in self.suites]
        words = pair_words(self.suites)
        facts = {
            **({"words": words} if words else {}),
            "ties": dataclasses.asdict(self.ties),
            **self.about,
        }
        return how_made(title=self.title, suites=suites, search=self.search, **facts)


def how_made(**facts: Any) -> dict[str, Any]:
    """Return facts for the manifest of results, with the command of this process."""
    return {"command": shlex.join(sys.argv), **facts}
