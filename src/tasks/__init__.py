"""The tasks of evaluate.py, one module each, imported on demand."""

from __future__ import annotations

from typing import assert_never

from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import (
    CorpusTask,
    ExportTask,
    ParseTask,
    PerplexityTask,
    RescoreTask,
    RunsTask,
    StudyTask,
    SuitesTask,
    SuiteTask,
    SurprisalTask,
)


def run_task(settings: EvaluateSettings) -> None:
    """Run the task named in the settings."""
    match settings.task:
        case PerplexityTask() as task:
            from gardenpath.tasks import perplexity

            perplexity.run(settings, task)
        case SurprisalTask() as task:
            from gardenpath.tasks import surprisal

            surprisal.run(settings, task)
        case ParseTask() as task:
            from gardenpath.tasks import parse

            parse.run(settings, task)
        case SuiteTask() as task:
            from gardenpath.tasks import score_suites

            score_suites.run(settings, task)
        case SuitesTask() as task:
            from gardenpath.tasks import list_suites

            list_suites.run(settings, task)
        case RescoreTask() as task:
            from gardenpath.tasks import rescore

            rescore.run(settings, task)
        case StudyTask() as task:
            from gardenpath.tasks import replicate

            replicate.run(settings, task)
        case CorpusTask() as task:
            from gardenpath.tasks import corpus

            corpus.run(settings, task)
        case ExportTask() as task:
            from gardenpath.tasks import export

            export.run(settings, task)
        case RunsTask() as task:
            from gardenpath.tasks import list_runs

            list_runs.run(settings, task)
        case _ as never:
            assert_never(never)
