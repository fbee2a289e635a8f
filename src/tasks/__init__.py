"""The tasks of evaluate.py, one module each, imported on demand."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from gardenpath.console import stop_on_signals
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import (
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
from gardenpath.store.files import require_writable
from gardenpath.store.locks import only_writer


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
            from gardenpath.tasks import perplexity

            with only_writer(perplexity.perplexity_file(settings)):
                perplexity.run_perplexity(settings, task)
        case SurprisalTask() as task:
            from gardenpath.tasks import surprisal

            surprisal.run_surprisal(settings, task)
        case ParseTask() as task:
            from gardenpath.tasks import parse

            with only_writer(Path(settings.output) / parse.PARSES_FOLDER):
                parse.run_parse(settings, task)
        case SuiteTask() as task:
            from gardenpath.tasks import score_suites

            with only_writer(score_suites.suites_folder(settings)):
                score_suites.run_suites(settings, task)
        case SuitesTask() as task:
            from gardenpath.tasks import list_suites

            list_suites.run_list_suites(settings, task)
        case NewSuiteTask() as task:
            from gardenpath.tasks.stimuli import new_suite

            new_suite.run_new_suite(task)
        case RescoreTask() as task:
            from gardenpath.tasks import rescore

            rescore.run_rescore(settings, task)
        case StudyTask() as task:
            from gardenpath.tasks import replicate

            with only_writer(replicate.study_folder(settings)):
                replicate.run_study(settings, task)
        case CorpusTask() as task:
            from gardenpath.tasks.corpora import corpus

            corpus.run_corpus(settings, task)
        case ExportTask() as task:
            from gardenpath.tasks.corpora import export

            export.run_export(settings, task)
        case ShareTask() as task:
            from gardenpath.tasks.exchange import share_runs

            share_runs.run_share(settings, task)
        case AnnotateTask() as task:
            from gardenpath.tasks.corpora import annotate

            annotate.run_annotate(settings, task)
        case MergeTask() as task:
            from gardenpath.tasks import merge

            merge.run_merge(settings, task)
        case AdoptTask() as task:
            from gardenpath.tasks.exchange import adopt_model

            adopt_model.run_adopt(settings, task)
        case RunsTask() as task:
            from gardenpath.tasks import list_runs

            list_runs.run_list_runs(settings, task)
        case _ as never:
            assert_never(never)
