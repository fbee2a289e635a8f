"""The rows of ``metrics.csv``: one for each epoch that a training has completed."""

from __future__ import annotations

import csv

from gardenpath.store.run_folder import RunFolder


def epoch_rows(folder: RunFolder) -> list[dict[str, str]]:
    """Return the metrics of each epoch; none if there are no epochs or the file is unreadable."""
    try:
        with folder.metrics_path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error):
        return []
