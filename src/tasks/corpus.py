"""task=corpus: statistics of the runs' corpora, and frequencies of constructions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from gardenpath.console import console, say, show_progress
from gardenpath.data.data_settings import DataSettings
from gardenpath.data.sentence import SPLITS
from gardenpath.eval.perplexity.comparison import PerplexityRow, perplexity_frame
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
from gardenpath.runs.results import how_made
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import CorpusTask, EvaluateSettings
from gardenpath.store.results_folder import results_folder
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
from gardenpath.tasks.asked import asked_runs
from gardenpath.tasks.perplexity import printed_perplexities


def run(settings: EvaluateSettings, task: CorpusTask) -> None:
    """Count, print and write."""
    runs = asked_runs(settings)
    effects = None if task.effects is None else read_table(Path(task.effects), EFFECTS)
    corpora = {run.settings.data.name: run.settings.data for run in runs}.values()
    statistics = [one for data in corpora for one in _splits(data, settings, task)]
    console.print(statistics_table(statistics))
    constructions = load_constructions(CONFIG_DIR / "patterns" / "english.yaml")
    counts = [one for data in corpora for one in _counted(data, constructions)]
    rows = printed_perplexities(runs, settings, split=task.split, limit=task.marginal_sentences)
    folder = Path(settings.output) / "corpora"
    with results_folder(folder, about=how_made(settings=plain(settings))) as temporary:
        write_table(temporary / CORPUS_STATISTICS.file, statistics_frame(statistics))
        write_table(temporary / LENGTHS.file, lengths_frame(statistics))
        write_table(temporary / PERPLEXITY.file, perplexity_frame(rows))
        if counts:
            write_table(temporary / CONSTRUCTIONS.file, counts_table(counts))
        shown = [] if effects is None else _correlated(temporary, effects, counts, constructions)
        write_report(_study(statistics, shown, rows), temporary)
    console.print(f"Report: {folder / 'report.html'}")


def _splits(
    data: DataSettings, settings: EvaluateSettings, task: CorpusTask
) -> list[CorpusStatistics]:
    preparation = data.preparation()
    corpus = preparation.prepare(Path(settings.paths.cache), progress=show_progress)
    return [
        corpus_statistics(
            preparation.sentences(split),
            corpus=data.name,
            split=split,
            vocabulary=corpus.vocabulary,
            words=task.words,
        )
        for split in SPLITS
    ]


def _counted(data: DataSettings, constructions: Sequence[Construction]) -> list[ConstructionCount]:
    """Count constructions in the unmodified training trees, if the corpus has trees."""
    if data.language != "en" or not data.reader.has_trees:
        return []
    trees = (s.tree for s in show_progress(data.reader.read("train"), data.name) if s.tree)
    return count_constructions(trees, constructions, corpus=data.name)


def _correlated(
    folder: Path,
    effects: pd.DataFrame,
    counts: Sequence[ConstructionCount],
    constructions: Sequence[Construction],
) -> list[Shown]:
    """Correlate licensing with frequency."""
    table = licensing_by_frequency(effects, counts, constructions)
    found, sentences, skipped = frequency_correlations(table)
    write_table(folder / LICENSING_BY_FREQUENCY.file, table)
    write_table(folder / CORRELATIONS.file, found)
    for sentence in sentences:
        say(sentence)
    return [
        Shown(
            title="Does licensing correlate with frequency?", sentences=sentences, skipped=skipped,
            tables={"estimates": found, "licensing by frequency": table},
        )
    ]  # fmt: skip


def _study(
    statistics: Sequence[CorpusStatistics],
    analyses: Sequence[Shown],
    rows: Sequence[PerplexityRow],
) -> Study:
    return Study(
        title="Corpora",
        facts={"corpora": ", ".join(dict.fromkeys(one.corpus for one in statistics))},
        perplexity=rows,
        analyses=analyses,
        lengths={one.corpus: one.lengths for one in statistics if one.split == "train"},
    )
