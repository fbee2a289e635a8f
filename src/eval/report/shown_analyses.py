"""Statistical analyses of a study: run, written to files, and put in the order of the report."""

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
    """Run every analysis of ``conf/analysis`` that the tables of items and effects allow."""
    tables = {"items": items, "effects": effects}
    results = []
    for analysis in load_analyses(CONFIG_DIR / "analysis"):
        table = tables[analysis.table]
        if table is not None and not table.empty:
            results.append(run_analysis(analysis, table))
    return [result for result in results if not result.is_empty]


def write_analyses(folder: Path, results: Sequence[AnalysisResult]) -> None:
    """Write each analysis into a folder: in words, as tables, and as data with an R script."""
    for result in results:
        write_result(folder, result)


def as_shown(result: AnalysisResult, orders: Sequence[Chain] | None = None) -> Shown:
    """Return an analysis as the report shows it, with all its rows in the order of the report.

    Every sentence is about a row of the estimates, and tells of something if p is small there.
    ``orders`` rank modifiers; without them, those of the materials do.
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
        # Rows keep their numbers when they change places.
        sentences = [sentences[place] for place in given.index]
        found = [bool(p < ALPHA) for p in given["p"]]
    return Shown(
        title=result.analysis.title,
        sentences=sentences,
        found=found,
        skipped=result.skipped,
        tables=tables,
    )
