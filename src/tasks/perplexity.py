"""task=perplexity: perplexity of models on a split of their own or of named corpora."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gardenpath.console import console
from gardenpath.data.data_settings import DataSettings
from gardenpath.data.sentence import Split
from gardenpath.eval.perplexity.comparison import PerplexityRow, as_table, perplexity_frame
from gardenpath.eval.search.search_words import search_in_words
from gardenpath.runs.perplexities import perplexities
from gardenpath.runs.run import Run
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import PerplexityTask
from gardenpath.store.status.run_status import RunStatus
from gardenpath.store.tables import PERPLEXITY, write_table
from gardenpath.tasks.asked import asked_runs, conclude


def run_perplexity(settings: EvaluateSettings, task: PerplexityTask) -> None:
    """Compute the perplexity of every run on a split of its own or of named corpora."""
    runs = asked_runs(settings)
    skipped = list(runs.skipped)
    rows = printed_perplexities(
        runs,
        settings,
        split=task.split,
        limit=task.marginal_sentences,
        corpora=settings.named_corpora,
        skipped=skipped,
        allow_unknown=task.allow_unknown,
    )
    path = perplexity_file(settings)
    frame = perplexity_frame(rows)
    is_searched = any(one.is_syntactic for one in runs)
    search = search_in_words(plain(settings.search)) if is_searched else None
    write_table(path, frame, PERPLEXITY.header(frame.columns, split=task.split, search=search))
    console.print(f"Written to {path}")
    conclude(skipped, runs.skipped)


def perplexity_file(settings: EvaluateSettings) -> Path:
    """Return the file of the table."""
    return Path(settings.output) / PERPLEXITY.file


def printed_perplexities(
    runs: Sequence[Run],
    settings: EvaluateSettings,
    *,
    split: Split,
    limit: int | None,
    corpora: Sequence[DataSettings] = (),
    skipped: list[RunStatus] | None = None,
    allow_unknown: bool = False,
) -> list[PerplexityRow]:
    """Return the rows of all corpora; print the table of each as soon as it is complete.

    Damaged runs among several are added to ``skipped``.
    """
    rows: list[PerplexityRow] = []
    for found in perplexities(
        runs,
        split=split,
        marginal_sentences=limit,
        cache=Path(settings.paths.cache),
        corpora=corpora,
        skipped=skipped,
        processes=settings.paths.preparation_processes,
        allow_unknown=allow_unknown,
    ):
        title = f"{found.corpus}: perplexity per word ({split} split)"
        console.print(as_table(found.rows, title=title, caption=found.caption))
        rows += found.rows
    return rows
