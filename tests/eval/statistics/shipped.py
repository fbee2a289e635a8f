"""The analyses that are shipped, and tables on which they can be run."""

from __future__ import annotations

from pathlib import Path

from gardenpath.eval.statistics.analysis import load_analyses

FOLDER = Path(__file__).parents[3] / "conf" / "analysis"
ANALYSES = {analysis.name: analysis for analysis in load_analyses(FOLDER)}
