"""task=corpus: statistics of corpora, and frequencies of constructions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gardenpath.console import console, say, show_counting, show_progress
from gardenpath.data.data_settings import DataSettings
from gardenpath.eval.perplexity.comparison import PerplexityRow, perplexity_frame
from gardenpath.eval.report.study import Shown, Study
from gardenpath.eval.report.write import write_report
from gardenpath.eval.statistics.corpora.corpus_statistics import (
    CorpusStatistics,
    in_words,
    lengths_frame,
    statistics_frame,
    statistics_of,
    statistics_table,
    words_table,
)
from gardenpath.eval.statistics.corpora.patterns import (
    ConstructionCount,
    construction_counts,
    construction_table,
    constructions_for,
    counts_table,
)
from gardenpath.runs.finding.loading import Runs
from gardenpath.runs.finding.whole_runs import skip_facts
from gardenpath.runs.results import how_made
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import CorpusTask
from gardenpath.store.results_folder import results_folder
from gardenpath.store.tables import (
    CONSTRUCTIONS,
    CORPUS_STATISTICS,
    LENGTHS,
    PERPLEXITY,
    write_table,
)
from gardenpath.tasks.asked import asked_runs, conclude
from gardenpath.tasks.perplexity import printed_perplexities


def run_corpus(settings: EvaluateSettings, task: CorpusTask) -> None:
    """Count, print and write, for the named corpora or else for those of the runs."""
    corpora = settings.named_corpora
    runs = Runs() if corpora else asked_runs(settings)
    skipped = list(runs.skipped)
    if not corpora:
        corpora = list({run.settings.data.name: run.settings.data for run in runs}.values())
    cache = Path(settings.paths.cache)
    statistics = [
        one
        for data in corpora
        for one in statistics_of(
            data,
            cache=cache,
            words=task.words,
            progress=show_counting,
            processes=settings.paths.preparation_processes,
        )
    ]
    for table in (statistics_table(statistics), words_table(statistics)):
        if table is not None:
            console.print(table)
    counts = [one for data in corpora for one in _counted(data)] if task.constructions else []
    if counts:
        console.print(construction_table(counts))
    rows = printed_perplexities(
        runs, settings, split=task.split, limit=task.marginal_sentences, skipped=skipped
    )
    folder = Path(settings.output) / "corpora"
    about = how_made(settings=plain(settings), **skip_facts(skipped))
    with results_folder(folder, about=about) as temporary:
        write_table(temporary / CORPUS_STATISTICS.file, statistics_frame(statistics))
        write_table(temporary / LENGTHS.file, lengths_frame(statistics))
        if rows:
            write_table(temporary / PERPLEXITY.file, perplexity_frame(rows))
        if counts:
            write_table(temporary / CONSTRUCTIONS.file, counts_table(counts))
        write_report(_study(statistics, counts, rows), temporary)
    console.print(f"Report: {folder / 'report.html'}")
    conclude(skipped, runs.skipped)


def _counted(data: DataSettings) -> list[ConstructionCount]:
    """Count constructions, if the corpus has trees and there are patterns for its language."""
    wanted = constructions_for(data.language)
    if not wanted or not data.reader.has_trees:
        return []
    found = construction_counts(data, wanted, progress=show_progress)
    if skipped := sorted({one.name for one in wanted} - {one.construction for one in found}):
        say(f"{data.name}: not counted, because they need traces and tags: {', '.join(skipped)}")
    return found


def _study(
    statistics: Sequence[CorpusStatistics],
    counts: Sequence[ConstructionCount],
    rows: Sequence[PerplexityRow],
) -> Study:
    shown = [
        Shown(
            title="Sizes of corpora",
            sentences=[in_words(one) for one in statistics if one.split == "train"],
            tables={"statistics": statistics_frame(statistics)},
        )
    ]
    if counts:
        shown.append(Shown(title="Constructions", tables={"counts": counts_table(counts)}))
    return Study(
        title="Corpora",
        facts={"corpora": ", ".join(dict.fromkeys(one.corpus for one in statistics))},
        perplexity=rows,
        analyses=shown,
        lengths={one.corpus: one.lengths for one in statistics if one.split == "train"},
    )
