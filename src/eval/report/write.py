"""Writer of the report: ``figures/`` and ``report.html``."""

from __future__ import annotations

from pathlib import Path

from gardenpath.eval.report.page.explorer import ExplorerLimits
from gardenpath.eval.report.study import Study
from gardenpath.store.files import write_text

REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"


def write_report(study: Study, folder: Path, *, limits: ExplorerLimits | None = None) -> Path:
    """Write the figures and the report to a folder; return the path of the report.

    Each file is written atomically. The report embeds its figures, so it is always consistent with
    them. Figures of an earlier report that this one does not have are removed at the end.
    """
    # Imported here because only writing a report needs matplotlib.
    from gardenpath.eval.report.figures.all_figures import write_pictures
    from gardenpath.eval.report.page.page import page

    figures = folder / FIGURES_FOLDER
    drawn = write_pictures(study, figures)
    path = folder / REPORT_FILE
    write_text(path, page(study, drawn, limits or ExplorerLimits()))
    if figures.is_dir():
        for old in sorted(figures.iterdir()):
            if old.suffix in (".svg", ".png", ".csv") and old.stem not in drawn:
                old.unlink()
    return path
