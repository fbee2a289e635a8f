"""Statistical analyses of a study: computation, files, and their form in the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from gardenpath.eval.report.order import arranged
from gardenpath.eval.report.study import Shown
from gardenpath.eval.statistics.questions.analysis import AnalysisResult, load_analyses
from gardenpath.eval.statistics.questions.answering import run_analysis
from gardenpath.eval.statistics.questions.rscript import write_result
from gardenpath.eval.statistics.questions.wording import ALPHA
from gardenpath.eval.suites.library.modifiers import Chain, modifier_orders
from gardenpath.places import CONFIG_DIR


def run_analyses(items: pd.DataFrame, effects: pd.DataFrame | None = None) -> list[AnalysisResult]:
    """Run every analysis of ``conf/analysis`` for which the tables have data."""
    tables = {"items": items, "effects": effects}
    results = []
    for analysis in load_analyses(CONFIG_DIR / "analysis"):
        table = tables[analysis.table]
        if table is not None and not table.empty:
            results.append(run_analysis(analysis, table))
    return [result for result in results if not result.is_empty]


def write_analyses(folder: Path, results: Sequence[AnalysisResult]) -> None:
    """Write each analysis to a folder: as text, as tables, and as data with an R script."""
    for result in results:
        write_result(folder, result)


def as_shown(result: AnalysisResult, orders: Sequence[Chain] | None = None) -> Shown:
    """Return an analysis for the report, with its rows in display order.

    Every sentence describes a row of the estimates and is significant if its p value is below
    ``ALPHA``. ``orders`` rank modifiers (default: the orders of the materials).
    """
    chains = modifier_orders() if orders is None else orders
    by = result.analysis.split
    tables = {
        name: arranged(table, [column for column in by if column in table.columns], chains)
        for name, table in result.tables.items()
    }
    given = tables.get("estimates", pd.DataFrame())
    sentences, found = list(result.sentences), []
    if len(given) == len(sentences) and "p" in given.columns:
        # Sorting keeps the index of each row.
        sentences = [sentences[place] for place in given.index]
        found = [bool(p < ALPHA) for p in given["p"]]
    return Shown(
        title=result.analysis.title,
        sentences=sentences,
        found=found,
        skipped=result.skipped,
        tables=tables,
    )
