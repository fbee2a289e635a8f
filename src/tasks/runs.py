"""The tasks of runs and corpora: runs, merge, adopt, corpus and export.

``tasks.run_task`` calls the functions ``run_…``, which print and write what ``runs``, ``store`` and
``eval.statistics.corpora`` compute; sweeps print the table of their runs with :func:`print_states`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gardenpath.console import console, say, say_wrapped, show_counting, show_progress
from gardenpath.data.corpus import DataSettings
from gardenpath.data.readers.base import write_corpus
from gardenpath.errors import InputError
from gardenpath.eval.perplexity import PerplexityRow, perplexity_frame
from gardenpath.eval.report.content import ReportContent, ReportedAnalysis
from gardenpath.eval.statistics.corpora import (
    ConstructionCount,
    CorpusStatistics,
    construction_counts,
    construction_table,
    constructions_for,
    counts_table,
    in_words,
    lengths_frame,
    statistics_frame,
    statistics_of,
    statistics_table,
    words_table,
)
from gardenpath.runs.find import Runs, adopt, name_of_source
from gardenpath.runs.overview import RunSummary, overview_frame, overview_table, reasons, states_of
from gardenpath.runs.results import how_made
from gardenpath.runs.run import skip_facts
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import plain
from gardenpath.settings.tasks import AdoptTask, CorpusTask, ExportTask, MergeTask, RunsTask
from gardenpath.store.manifest import results_folder
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.store.tables import (
    CONSTRUCTIONS,
    CORPUS_STATISTICS,
    LENGTHS,
    PERPLEXITY,
    RUNS,
    write_table,
)
from gardenpath.tasks.output import asked_runs, conclude, printed_perplexities
from gardenpath.util import enumeration, file_stem, plural


def run_list_runs(settings: EvaluateSettings, task: RunsTask) -> None:
    """Print the runs, and write them to a table; with ``watch``, again and again."""
    path = Path(settings.output) / RUNS.file
    with contextlib.suppress(KeyboardInterrupt) if task.watch else contextlib.nullcontext():
        while True:
            states = states_of(settings.run_folders)
            if task.watch and console.is_terminal:
                console.clear()
            print_states(states)
            write_table(path, overview_frame(states))
            if task.watch is None:
                break
            time.sleep(task.watch)
        say(f"Written to {path}")


def print_states(states: list[RunSummary]) -> None:
    """Print a table of runs, and why runs are not done."""
    console.print(overview_table(states))
    for line in reasons(states):
        say(line)


# ----------------------------------------------------------------------------
# task=merge: put the surprisals of several files into one.


def run_merge(settings: EvaluateSettings, task: MergeTask) -> None:
    """Add all entries to the file of the settings; damaged files are refused, not copied."""
    target = SurprisalStore(Path(settings.paths.surprisals))
    sources = [SurprisalStore(Path(store)) for store in task.stores]
    for source in sources:
        if not source.path.is_file():
            raise InputError("does not exist", path=source.path, remedy="name others with stores=")
        if target.path.exists() and source.path.samefile(target.path):
            raise InputError(
                "is the file to merge into",
                path=source.path,
                remedy="set another paths.surprisals=",
            )
    count = sum(map(target.add_from, sources))
    console.print(
        f"{plural(count, 'sentence')} from {plural(len(sources), 'file')}: {target.path}",
        highlight=False,
        soft_wrap=True,
    )


# ----------------------------------------------------------------------------
# task=adopt: make a model that others trained a run like any other.


def run_adopt(settings: EvaluateSettings, task: AdoptTask) -> None:
    """Write the run folder, and say how to use it."""
    assert settings.model is not None
    model = settings.model
    name = model.name or name_of_source(task.source)
    place = task.run_dir or Path(settings.paths.runs) / "adopted" / file_stem(name)
    run = adopt(
        replace(model, name=name),
        task.source,
        run_dir=place,
        corpus=task.corpus,
        seed=task.seed,
        existing=task.existing,
    )
    for note in run.notes:
        say(note)
    say(
        f"{run.path}: {name} is a run now; score it with 'evaluate.py suite=… run={run.path}'",
    )


# ----------------------------------------------------------------------------
# task=corpus: statistics of corpora, and frequencies of constructions.


def run_corpus(settings: EvaluateSettings, task: CorpusTask) -> None:
    """Count, print and write, for the named corpora or else for those of the runs."""
    corpora = settings.named_corpora
    runs = Runs() if corpora else asked_runs(settings)
    skipped = list(runs.skipped)
    if not corpora:
        corpora = list({run.corpus: run.data for run in runs}.values())
    cache = Path(settings.paths.cache)
    statistics = [
        row
        for data in corpora
        for row in statistics_of(
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
    counts = [row for data in corpora for row in _counted(data)] if task.constructions else []
    if counts:
        console.print(construction_table(counts))
    rows = printed_perplexities(
        runs, settings, split=task.split, limit=task.marginal_sentences, skipped=skipped
    )
    folder = Path(settings.output) / "corpora"
    from gardenpath.eval.report.page import write_report  # here, because it loads matplotlib

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
    counts = construction_counts(data, wanted, progress=show_progress)
    if skipped := sorted({c.name for c in wanted} - {count.construction for count in counts}):
        say_wrapped(
            f"{data.name}: not counted, because they need traces and tags: {', '.join(skipped)}"
        )
    return counts


def _study(
    statistics: Sequence[CorpusStatistics],
    counts: Sequence[ConstructionCount],
    rows: Sequence[PerplexityRow],
) -> ReportContent:
    shown = [
        ReportedAnalysis(
            title="Sizes of corpora",
            sentences=[in_words(row) for row in statistics if row.split == "train"],
            tables={"statistics": statistics_frame(statistics)},
        )
    ]
    if counts:
        shown.append(
            ReportedAnalysis(title="Constructions", tables={"counts": counts_table(counts)})
        )
    return ReportContent(
        title="Corpora",
        facts={"corpora": ", ".join(dict.fromkeys(row.corpus for row in statistics))},
        perplexity=rows,
        analyses=shown,
        lengths={row.corpus: row.lengths for row in statistics if row.split == "train"},
    )


# ----------------------------------------------------------------------------
# task=export: write the cleaned sentences of corpora as bracketed trees or plain text.


def run_export(settings: EvaluateSettings, task: ExportTask) -> None:
    """Write each corpus to a folder of its own below the output folder."""
    for data in settings.named_corpora:
        folder = Path(settings.output) / data.name
        with results_folder(folder, about=how_made(settings=plain(settings))) as temporary:
            preparation = data.preparation()
            splits = {
                split: show_progress(preparation.sentences(split), split) for split in task.splits
            }
            counts = write_corpus(temporary, splits, form=task.form)
        written = enumeration([f"{split} {count:,}" for split, count in counts.items()])
        console.print(f"{data.name}: {written} sentences in {folder}", soft_wrap=True)
        console.print(f"To read it: {_reading(data, folder, task)}", soft_wrap=True)


def _reading(data: DataSettings, folder: Path, task: ExportTask) -> str:
    """Return the settings that read the files as they are."""
    reader = "brackets" if task.form == "trees" else "text"
    settings = [f"data={reader}", f"data.root={folder}"]
    if data.language != "en":
        settings.append(f"data.language={data.language}")
    if reader == "brackets" and not data.cleaning.keep_pos:
        settings.append("data.cleaning.pos_in_source=absent")
    return " ".join(settings)
