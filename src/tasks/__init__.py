"""The tasks of evaluate.py, one module each, imported on demand."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from gardenpath.console import stop_on_signals
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.tasks import (
    AdoptTask,
    AnnotateTask,
    CorpusTask,
    ExportTask,
    MergeTask,
    NewSuiteTask,
    ParseTask,
    PerplexityTask,
    RescoreTask,
    RunsTask,
    ShareTask,
    StudyTask,
    SuitesTask,
    SuiteTask,
    SurprisalTask,
)
from gardenpath.store.files import only_writer, require_writable


def run_task(settings: EvaluateSettings) -> None:
    """Run the task named in the settings; SIGINT and SIGTERM stop it without loss."""
    with stop_on_signals():
        # The output of task=surprisal may be a file, which that task checks.
        if not isinstance(settings.task, SuitesTask | SurprisalTask | NewSuiteTask):
            require_writable(Path(settings.output))  # before hours of work
        _run_task(settings)


def _run_task(settings: EvaluateSettings) -> None:
    match settings.task:
        case PerplexityTask() as task:
            from gardenpath.tasks import score

            with only_writer(score.perplexity_file(settings)):
                score.run_perplexity(settings, task)
        case SurprisalTask() as task:
            from gardenpath.tasks import score

            score.run_surprisal(settings, task)
        case ParseTask() as task:
            from gardenpath.tasks import score

            with only_writer(Path(settings.output) / score.PARSES_FOLDER):
                score.run_parse(settings, task)
        case SuiteTask() as task:
            from gardenpath.tasks import suites

            with only_writer(suites.suites_folder(settings)):
                suites.run_suites(settings, task)
        case SuitesTask() as task:
            from gardenpath.tasks import suites

            suites.run_list_suites(settings, task)
        case NewSuiteTask() as task:
            from gardenpath.tasks import suites

            suites.run_new_suite(task)
        case RescoreTask() as task:
            from gardenpath.tasks import suites

            suites.run_rescore(settings, task)
        case StudyTask() as task:
            from gardenpath.studies import replicate

            with only_writer(replicate.study_folder(settings)):
                replicate.run_study(settings, task)
        case CorpusTask() as task:
            from gardenpath.tasks import runs

            runs.run_corpus(settings, task)
        case ExportTask() as task:
            from gardenpath.tasks import runs

            runs.run_export(settings, task)
        case ShareTask() as task:
            from gardenpath.sharing import share

            share.run_share(settings, task)
        case AnnotateTask() as task:
            from gardenpath.annotate import annotation

            annotation.run_annotate(settings, task)
        case MergeTask() as task:
            from gardenpath.tasks import runs

            runs.run_merge(settings, task)
        case AdoptTask() as task:
            from gardenpath.tasks import runs

            runs.run_adopt(settings, task)
        case RunsTask() as task:
            from gardenpath.tasks import runs

            runs.run_list_runs(settings, task)
        case _ as never:
            assert_never(never)
