"""task=corpus: the corpora of runs in numbers, and how often they have certain constructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gardenpath.console import console, say, show_progress
from gardenpath.data.sentence import SPLITS
from gardenpath.eval.perplexity.comparison import perplexity_frame
from gardenpath.eval.report.study import Shown, Study
from gardenpath.eval.report.write import write_report
from gardenpath.eval.statistics.corpora.corpus_statistics import (
    CorpusStatistics,
    corpus_statistics,
    lengths_frame,
    statistics_frame,
    statistics_table,
)
from gardenpath.eval.statistics.corpora.patterns import (
    Construction,
    ConstructionCount,
    count_constructions,
    counts_table,
    load_constructions,
)
from gardenpath.eval.statistics.inference.correlation import (
    frequency_correlations,
    licensing_by_frequency,
)
from gardenpath.places import CONFIG_DIR
from gardenpath.runs.run import finished_runs
from gardenpath.settings.compose import make_preparation, make_reader
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.tables import (
    CONSTRUCTIONS,
    CORPUS_STATISTICS,
    CORRELATIONS,
    EFFECTS,
    LENGTHS,
    LICENSING_BY_FREQUENCY,
    PERPLEXITY,
    read_table,
    write_table,
)
from gardenpath.tasks.perplexity import perplexity_rows

Settings = Mapping[str, Any]


def run(settings: Settings) -> None:
    """Count, print and write."""
    runs = finished_runs(settings)
    effects = _effects(settings)
    folder = Path(settings["output"]) / "corpora"
    corpora = {run.config()["data"]["name"]: run.config()["data"] for run in runs}
    statistics = [one for data in corpora.values() for one in _splits(data, settings)]
    console.print(statistics_table(statistics))
    write_table(folder / CORPUS_STATISTICS.file, statistics_frame(statistics))
    write_table(folder / LENGTHS.file, lengths_frame(statistics))
    constructions = load_constructions(CONFIG_DIR / "patterns" / "english.yaml")
    counts = [one for data in corpora.values() for one in _counted(data, constructions)]
    if counts:
        write_table(folder / CONSTRUCTIONS.file, counts_table(counts))
    analyses = [] if effects is None else _correlated(folder, effects, counts, constructions)
    _report(folder, runs, statistics, analyses, settings)


def _splits(data: Settings, settings: Settings) -> list[CorpusStatistics]:
    preparation = make_preparation(data)
    corpus = preparation.prepare(Path(settings["paths"]["cache"]), progress=show_progress)
    return [
        corpus_statistics(
            preparation.sentences(split),
            corpus=data["name"],
            split=split,
            vocabulary=corpus.vocabulary,
            words=settings["task"]["words"],
        )
        for split in SPLITS
    ]


def _counted(data: Settings, constructions: Sequence[Construction]) -> list[ConstructionCount]:
    """Constructions in the training trees as they stand in the corpus, where it has trees."""
    reader = make_reader(data)
    if data["language"] != "en" or not reader.has_trees:
        return []
    trees = (s.tree for s in show_progress(reader.read("train"), data["name"]) if s.tree)
    return count_constructions(trees, constructions, corpus=data["name"])


def _effects(settings: Settings) -> pd.DataFrame | None:
    """The effects of an evaluation, where they are given."""
    path = settings["task"]["effects"]
    return None if path is None else read_table(Path(path), EFFECTS)


def _correlated(
    folder: Path,
    effects: pd.DataFrame,
    counts: Sequence[ConstructionCount],
    constructions: Sequence[Construction],
) -> list[Shown]:
    """Licensing beside frequency."""
    table = licensing_by_frequency(effects, counts, constructions)
    found, sentences, skipped = frequency_correlations(table)
    write_table(folder / LICENSING_BY_FREQUENCY.file, table)
    write_table(folder / CORRELATIONS.file, found)
    for sentence in sentences:
        say(sentence)
    return [
        Shown(
            title="Does licensing go with frequency?", sentences=sentences, skipped=skipped,
            tables={"estimates": found, "licensing by frequency": table},
        )
    ]  # fmt: skip


def _report(
    folder: Path,
    runs: Sequence[RunFolder],
    statistics: Sequence[CorpusStatistics],
    analyses: Sequence[Shown],
    settings: Settings,
) -> None:
    rows = perplexity_rows(runs, settings)
    write_table(folder / PERPLEXITY.file, perplexity_frame(rows))
    study = Study(
        title="Corpora",
        facts={"corpora": ", ".join(dict.fromkeys(one.corpus for one in statistics))},
        perplexity=rows,
        analyses=analyses,
        lengths={one.corpus: one.lengths for one in statistics if one.split == "train"},
    )
    console.print(f"Report: {write_report(study, folder)}")
