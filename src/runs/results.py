"""Results of models on test suites: tables, statistics, and a report."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from gardenpath.data.readers.base import ResultForm
from gardenpath.eval.published.importing import ImportedRun
from gardenpath.eval.suites.benchmarks import dump_predictions, paired_conditions
from gardenpath.eval.suites.outcomes import (
    EXACT_TIES,
    MIN_ITEMS,
    ItemCount,
    TieRule,
    unusable_items,
)
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName, ScoredItems
from gardenpath.eval.suites.syntaxgym import (
    dump_results,
    dump_syntaxgym,
    token_regions,
    word_regions,
)
from gardenpath.runs.scoring import HowScored, with_own_columns
from gardenpath.store.files import write_text
from gardenpath.store.manifest import results_folder, write_side_car
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
from gardenpath.util import file_stem, versions

if TYPE_CHECKING:
    from gardenpath.console import FittedTable
    from gardenpath.eval.perplexity import PerplexityRow
    from gardenpath.eval.published.importing import Imported, Receipt
    from gardenpath.eval.report.content import Curve, ReportedAnalysis
    from gardenpath.eval.statistics.analysis import AnalysisResult
    from gardenpath.eval.statistics.formulas import Correction, Weighting
    from gardenpath.runs.suite_tables import SuiteTables
    from gardenpath.store.run_folder import RunStatus
    from gardenpath.store.tables import Schema

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
        from gardenpath.eval.report.means import effect_means

        return effect_means(self.effects, self.items, min_items=self.min_items)

    def effect_tables(self) -> list[FittedTable]:
        """Return a table for the terminal for each corpus with few effects."""
        from gardenpath.eval.report.means import effect_tables

        return list(effect_tables(self.effect_means, title=self.title))

    def accuracy_tables(self) -> list[FittedTable]:
        """Return a table for the terminal for each corpus: classes as rows, models as columns.

        Tables of published minimal pairs, averaged as by their authors, follow.
        """
        from gardenpath.eval.suites.pairs import pair_tables

        tables = self.scored.tables(title=f"{self.title}: accuracy")
        return [*tables, *pair_tables(self.aggregate)]

    @cached_property
    def analyses(self) -> list[AnalysisResult]:
        """All analyses; those that the tables do not allow are empty and say why."""
        from gardenpath.eval.report.content import run_analyses

        tables = (self.items, self.effects, self.sentences)
        return run_analyses(
            *tables,
            correction=self.correction,
            weights=self.weights,
            min_items=self.min_items,
            formula=self.formula,
        )

    def shown_analyses(self) -> list[ReportedAnalysis]:
        """The analyses in the order of the report."""
        from gardenpath.eval.report.content import reported_analyses

        return reported_analyses(self.analyses)

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
        from gardenpath.eval.report.content import (
            MODEL_PACKAGES,
            REPORT_PACKAGES,
            report_content,
            write_analyses,
        )
        from gardenpath.eval.report.page import write_report

        content = report_content(
            title=self.title, suites=self.suites, names=self.names, results=self.scored,
            surprisals=self.tables.surprisals, versions=versions(*REPORT_PACKAGES, *MODEL_PACKAGES),
            search=self.search, analyses=self.analyses, parses=self.tables.parses,
            curves=self.curves, perplexity=self.perplexity, origin=self.origin,
            sources=self.sources, aggregate=self.aggregate,
        )  # fmt: skip
        with results_folder(Path(folder), about=self._about()) as temporary:
            self.write_tables(temporary)
            write_analyses(temporary / "statistics", self.analyses)
            written = write_report(content, temporary)
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
            from gardenpath.eval.perplexity import perplexity_frame

            write_table(folder / PERPLEXITY.file, perplexity_frame(self.perplexity))
        for schema in _TABLES:
            if (path := folder / schema.file).is_file():
                write_side_car(path, self._header(schema, path))
        if self.also:
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
            "runs": [{"run": run, **asdict(scoring)} for run, scoring in how.items()],
        }

    def _about(self) -> dict[str, Any]:
        from gardenpath.eval.suites.pairs import pair_words

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


# ----------------------------------------------------------------------------
# Write results on suites in the forms of other programs, into the results folder.


def check_result_forms(forms: Sequence[ResultForm], suites: Sequence[Suite]) -> None:
    """Raise an error if results on these suites cannot be written in these forms.

    Call this before a long job.
    """
    for suite in suites:
        if "syntaxgym" in forms:
            dump_syntaxgym(suite)
        if "babylm" in forms:
            paired_conditions(suite)


def write_result_forms(results: Results, folder: Path) -> None:
    """Write ``syntaxgym/RUN/SUITE.json`` and ``babylm/RUN/predictions.json``, as asked."""
    if not results.also:
        return
    scored = list(results.imported or _scored_words(results))
    if "syntaxgym" in results.also:
        names = _Names()
        for imported in scored:
            place = folder / "syntaxgym" / names.of(imported.name.run)
            path = place / f"{names.of(imported.suite.name, imported.name.run)}.json"
            write_text(
                path, dump_results(imported.suite, _regions(imported), model=imported.name.model)
            )
    if "babylm" in results.also:
        names = _Names()
        for run in dict.fromkeys(imported.name.run for imported in scored):
            own = [
                (imported.suite, imported.rows) for imported in scored if imported.name.run == run
            ]
            path = folder / "babylm" / names.of(run) / "predictions.json"
            write_text(path, dump_predictions(own))


def _regions(imported: ImportedRun) -> Sequence[tuple[tuple[float, ...], ...]]:
    if not imported.tokens:
        return word_regions(imported.suite, imported.rows)
    return token_regions(imported.suite, [(each.tokens, each.values) for each in imported.tokens])


def _scored_words(results: Results) -> Iterator[ImportedRun]:
    """Yield the surprisals of the words of every run on every suite, from the table of words."""
    suites = {suite.name: suite for suite in results.suites}
    for name in results.names:
        words = results.tables.surprisals
        frame: pd.DataFrame = words[words["run"] == name.run]
        for suite_name, group in frame.groupby("suite", sort=False):
            suite = suites[str(suite_name)]
            values = iter(group["surprisal_bits"].tolist())
            rows = tuple(
                tuple(float(next(values)) for _ in variant.words)
                for item in suite.items
                for variant in item.variants
            )
            yield ImportedRun(name=name, suite=suite, rows=rows, unknown=frozenset())


class _Names:
    """Names of files, of which no two are equal: ``a/b`` is ``a_b``, and another one ``a_b.2``."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}

    def of(self, name: str, within: str = "") -> str:
        """Return the name of the file of something called ``name``, among those ``within``."""
        if (within, name) not in self._given:
            taken = {other.lower() for (place, _), other in self._given.items() if place == within}
            stem, number = file_stem(name), 1
            while (new := stem if number == 1 else f"{stem}.{number}").lower() in taken:
                number += 1
            self._given[within, name] = new
        return self._given[within, name]
