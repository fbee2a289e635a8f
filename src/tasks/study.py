"""From results to what a report is made of."""

from __future__ import annotations

import csv
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from src.config import CONFIG_DIR
from src.console import console
from src.eval.comparison import Row
from src.eval.report.study import Analysis, Curve, Study
from src.eval.statistics.analyses import run_analysis
from src.eval.statistics.analysis import AnalysisResult, load_analyses
from src.eval.statistics.rscript import write_result
from src.eval.suites.results import Results
from src.eval.suites.suite import Suite
from src.models.run_folder import RunFolder
from src.tasks.runs import name_of
from src.tasks.suite_scores import Scores

Settings = Mapping[str, Any]

# The accuracy of guessing, where it is not one half: three variants are compared.
CHANCE = {"reflexives": 1 / 3}


def write_analyses(
    folder: Path, items: pd.DataFrame, effects: pd.DataFrame | None
) -> list[AnalysisResult]:
    """Run every analysis that the tables allow, write each, and print the sentences."""
    results = []
    tables = {"items": items, "effects": effects}
    for analysis in load_analyses(CONFIG_DIR / "analysis"):
        table = tables[analysis.table]
        if table is None or table.empty:
            continue
        result = run_analysis(analysis, table)
        if result.is_empty:
            continue
        write_result(folder, result)
        results.append(result)
    for result in results:
        console.print(f"[bold]{result.analysis.title}[/bold]")
        for sentence in result.sentences[:_SHOWN_SENTENCES]:
            console.print(f"  {sentence}", highlight=False)
        if (more := len(result.sentences) - _SHOWN_SENTENCES) > 0:
            console.print(f"  … {more} more in the report", highlight=False)
    return results


_SHOWN_SENTENCES = 6


def build_study(
    *,
    title: str,
    suites: Sequence[Suite],
    runs: Sequence[RunFolder],
    scores: Scores,
    results: Results,
    analyses: Sequence[AnalysisResult],
    settings: Settings,
    perplexity: Sequence[Row] = (),
    lengths: Mapping[str, Mapping[int, int]] | None = None,
) -> Study:
    """Everything that the report on some runs and suites shows."""
    return Study(
        title=title,
        facts=_facts(suites, runs, settings),
        notes=results.notes,
        items=scores.items,
        summary=results.summary,
        surprisals=scores.surprisals,
        effects=scores.effects,
        perplexity=perplexity,
        analyses=[as_shown(result) for result in analyses],
        parses=scores.parses,
        curves=[curve for run in runs if (curve := _curve(run)) is not None],
        lengths=lengths or {},
        critical={suite.name: suite.critical for suite in suites},
        chance=CHANCE,
    )


def as_shown(result: AnalysisResult) -> Analysis:
    """An analysis as the report shows it."""
    return Analysis(
        title=result.analysis.title,
        sentences=result.sentences,
        skipped=result.skipped,
        tables=result.tables,
    )


def _facts(
    suites: Sequence[Suite], runs: Sequence[RunFolder], settings: Settings
) -> dict[str, str]:
    names = [name_of(run) for run in runs]

    def listed(values: Sequence[object]) -> str:
        return ", ".join(str(value) for value in dict.fromkeys(values))

    search = settings["search"]
    return {
        "models": listed([name.model for name in names]),
        "corpora": listed([name.corpus for name in names]),
        "seeds": listed(sorted(name.seed for name in names if name.seed is not None)),
        "suites": f"{len(suites)} with {sum(len(suite.items) for suite in suites)} items",
        "search": ", ".join(f"{key} {value}" for key, value in search.items() if value is not None),
        "versions": f"Python {platform.python_version()}, torch {torch.__version__}",
    }


def _curve(run: RunFolder) -> Curve | None:
    """The metrics that a run wrote while it was trained."""
    if not run.metrics_path.is_file():
        return None
    try:
        metrics = pd.read_csv(run.metrics_path)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, csv.Error):
        return None
    name = name_of(run)
    return Curve(model=name.model, corpus=name.corpus, seed=name.seed, metrics=metrics)
