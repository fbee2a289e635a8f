"""Files of a study: tables, figures, claims, statistics and the report."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import pandas as pd

from gardenpath.eval.report.figures.all_figures import write_figures
from gardenpath.eval.report.shown_analyses import write_analyses
from gardenpath.eval.report.write import FIGURES_FOLDER, REPORT_FILE
from gardenpath.eval.studies.compared import compared_parts
from gardenpath.eval.studies.study_figure import draw_part
from gardenpath.eval.studies.study_page import study_page
from gardenpath.eval.studies.study_parts import StudyResult
from gardenpath.store.files import write_text
from gardenpath.store.tables import write_table
from gardenpath.text import key

TABLES_FOLDER = "tables"
CLAIMS_FILE = "claims.csv"


def write_study(result: StudyResult, folder: Path) -> Path:
    """Write all files of a study to a folder; return the path of the report."""
    compared = compared_parts(result)
    for one in compared:
        if one.cells:
            header = {"table": one.part.name, "title": one.part.title}
            write_table(folder / TABLES_FOLDER / f"{one.part.name}.csv", one.frame(), header)
    claims = pd.DataFrame([asdict(claim) for claim in result.claims])
    write_table(folder / CLAIMS_FILE, claims, {"table": "claims"})
    for source, analyses in result.analyses.items():
        place = folder / "statistics"
        write_analyses(place if len(result.analyses) == 1 else place / key(source), analyses)
    figures = {
        one.part.name: partial(draw_part, one)
        for one in compared
        if one.part.kind == "figure" and one.part.cells
    }
    drawn = write_figures(figures, folder / FIGURES_FOLDER)
    path = folder / REPORT_FILE
    write_text(path, study_page(result, compared, drawn))
    return path
