"""Statistical analyses of a study: computation, files, and their form in the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.report.order import arranged
from gardenpath.eval.report.study import Shown
from gardenpath.eval.statistics.choices import Correction, Weighting
from gardenpath.eval.statistics.error_weights import why_not_weighted
from gardenpath.eval.statistics.own_question import own_analysis
from gardenpath.eval.statistics.questions.analysis import AnalysisResult, load_analyses
from gardenpath.eval.statistics.questions.answering import run_analysis
from gardenpath.eval.statistics.questions.rscript import write_result
from gardenpath.eval.statistics.questions.wording import is_significant
from gardenpath.eval.suites.library.modifiers import Chain, modifier_orders
from gardenpath.eval.usable import MIN_ITEMS, with_usable
from gardenpath.places import CONFIG_DIR
from gardenpath.store.files import write_text

SKIPPED_FILE = "skipped.txt"
_SKIPPED_TITLE = "Analyses that were not run"


def run_analyses(
    items: pd.DataFrame,
    effects: pd.DataFrame | None = None,
    sentences: pd.DataFrame | None = None,
    *,
    study: str | None = None,
    correction: Correction | None = None,
    weights: Weighting = "none",
    min_items: int = MIN_ITEMS,
    formula: str = "",
) -> list[AnalysisResult]:
    """Run the analyses of ``conf/analysis``: all of them, or those of one study.

    Without a study, those that compute means alone are left out: the summary has these already.
    ``correction`` replaces that of each analysis with p values; ``weights`` replaces that of each
    analysis that can be weighted, and a note of the others says why they are not. The result of an
    analysis that the tables do not allow is empty and says why (``AnalysisResult.skipped``); every
    test and interval needs ``min_items`` usable items. Exact grammars are left out: they are what
    models are compared with, and their surprisals are known without error. ``formula`` asks a
    question of one's own, which is answered first.
    """
    tables = {
        name: None if table is None else _of_models(with_usable(table, items))
        for name, table in (("items", items), ("effects", effects), ("sentences", sentences))
    }
    results = []
    own = [own_analysis(formula, tables)] if formula else []
    for analysis in (*own, *load_analyses(CONFIG_DIR / "analysis", study=study)):
        if study is None and analysis.test == "means":
            continue
        if correction is not None and analysis.test in ("mixed", "t_test"):
            analysis = dataclasses.replace(analysis, correction=correction)
        table, reason = tables[analysis.table], ""
        if weights == "error" and not (reason := why_not_weighted(analysis, table)):
            analysis = dataclasses.replace(analysis, weights=weights)
        found = run_analysis(analysis, table, min_items=min_items)
        if reason and not found.is_empty:
            note = f"not weighted by search error: {reason}"
            found = dataclasses.replace(found, notes=(*found.notes, note))
        results.append(found)
    return results


def _of_models(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models; exact grammars are a yardstick, not a subject."""
    return table[table["model"] != EXACT] if "model" in table.columns else table


def write_analyses(folder: Path, results: Sequence[AnalysisResult]) -> None:
    """Write each analysis to a folder: as text, as tables, and as data with an R script.

    Analyses that could not be run are listed in ``skipped.txt``, with reasons.
    """
    for result in results:
        if not result.is_empty:
            write_result(folder, result)
    if skipped := _reasons(results):
        write_text(folder / SKIPPED_FILE, "\n".join([_SKIPPED_TITLE, "", *skipped]) + "\n")


def _reasons(results: Sequence[AnalysisResult]) -> list[str]:
    """Return name, title and reason of every analysis that was not run."""
    return [
        f"{result.analysis.name} ({result.analysis.title}): {'; '.join(result.skipped)}"
        for result in results
        if result.is_empty
    ]


def shown_results(results: Sequence[AnalysisResult]) -> list[Shown]:
    """Return analyses for the report; those that were not run come last, in one entry."""
    shown = [as_shown(result) for result in results if not result.is_empty]
    if skipped := _reasons(results):
        shown.append(Shown(title=_SKIPPED_TITLE, skipped=skipped))
    return shown


def as_shown(result: AnalysisResult, orders: Sequence[Chain] | None = None) -> Shown:
    """Return an analysis for the report, with its rows in display order.

    Every sentence describes a row of the estimates and is significant if its p value, adjusted if
    the analysis has a correction, is below ``ALPHA``. Columns without any value are not shown.
    ``orders`` rank modifiers (default: the orders of the materials).
    """
    chains = modifier_orders() if orders is None else orders
    by = result.analysis.parts_by
    tables = {
        name: arranged(table, [column for column in by if column in table.columns], chains)
        for name, table in result.tables.items()
    }
    given = tables.get("estimates", pd.DataFrame())
    sentences, found = list(result.sentences), []
    if len(given) == len(sentences) and "p" in given.columns:
        # Sorting keeps the index of each row.
        sentences = [sentences[place] for place in given.index]
        decisive = "p_adjusted" if "p_adjusted" in given.columns else "p"
        found = [is_significant(p) for p in given[decisive]]
    return Shown(
        title=result.analysis.title,
        sentences=sentences,
        found=found,
        skipped=result.skipped,
        notes=result.notes,
        tables={name: _filled_columns(table) for name, table in tables.items()},
    )


def _filled_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without columns that are empty in all rows."""
    is_empty = table.isna() | (table.astype(str) == "")
    return table.loc[:, ~is_empty.all(axis=0)]
