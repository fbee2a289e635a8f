"""Names for files that tasks write for each of several runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gardenpath.runs.run import Run
from gardenpath.text import file_stem


def file_places(runs: Sequence[Run]) -> list[Path]:
    """Return the beginning of the file names of each run: corpus, model and random seed.

    Runs that agree in all three are distinguished by the parts of their paths that differ.
    """
    # The names come from run folders, which may be those of others.
    named = [(one.name.corpus, one.settings.model.name + one.mark, one.name.seed) for one in runs]
    stems = [file_stem(f"{corpus}_{model}_seed{seed}") for corpus, model, seed in named]
    places = []
    for run, stem in zip(runs, stems, strict=True):
        namesakes = [one.path for one, other in zip(runs, stems, strict=True) if other == stem]
        shared = os.path.commonpath(namesakes)
        is_alone = len(namesakes) == 1
        places.append(Path(stem) if is_alone else run.path.relative_to(shared) / stem)
    return places
