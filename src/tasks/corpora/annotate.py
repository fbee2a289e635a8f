"""task=annotate: raw text to sentences, words and trees."""

from __future__ import annotations

from pathlib import Path

from gardenpath.console import console, count_in_lines, show_counting
from gardenpath.data.shards.task_pool import available_cores
from gardenpath.data.words.unknown_words import Language
from gardenpath.errors import ConfigError, GardenpathError
from gardenpath.runs.annotating.annotation import RawAnnotation
from gardenpath.runs.annotating.annotation_work import LEFT_OUT_FILE, AnnotationWork
from gardenpath.runs.annotating.tree_parser import TreeParser, kind_of_parser, parser_named
from gardenpath.runs.finding.loading import load
from gardenpath.runs.results import how_made
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import AnnotateTask
from gardenpath.store.files import remove_tree
from gardenpath.store.results_folder import results_folder
from gardenpath.text import enumeration

_UNFINISHED = ".unfinished"


def run_annotate(settings: EvaluateSettings, task: AnnotateTask) -> None:
    """Write the annotated sentences to the output folder, with a log of what was left out."""
    language = _language(settings, task)
    annotation = RawAnnotation(task, language, _parser(settings, task, language))
    annotation.check()
    folder = Path(settings.output)
    about = how_made(settings=plain(settings), **annotation.facts())
    with results_folder(folder, about=about) as temporary:
        key = annotation.key()
        target = Path(temporary).parent
        unfinished = target / f".{folder.resolve().name}.{key}{_UNFINISHED}"
        work = AnnotationWork(annotation, unfinished)
        with show_counting("dividing into words") as advance:
            shards = work.segment(advance)
        kept = work.keep(shards)
        with count_in_lines("parsing") as advance:
            work.parse(kept, advance)
        about["summary"] = summary = work.write(temporary, kept)
        if _fresh(annotation).key() != key:
            raise GardenpathError("the input has changed meanwhile; start again")
    remove_tree(unfinished)
    written = enumeration([f"{name} {count:,}" for name, count in summary["sentences"].items()])
    console.print(f"{written} sentences, {summary['words']:,} words in {folder}", soft_wrap=True)
    if summary["skipped"]:
        listed = enumeration([f"{name} {count:,}" for name, count in summary["skipped"].items()])
        console.print(f"Left out: {listed}; see {folder / LEFT_OUT_FILE}", soft_wrap=True)
    console.print(f"To read it: {_reading(annotation, folder)}", soft_wrap=True)


def _fresh(annotation: RawAnnotation) -> RawAnnotation:
    """Return the same annotation, whose files are read again."""
    return RawAnnotation(annotation.task, annotation.language, annotation.parser)


def _language(settings: EvaluateSettings, task: AnnotateTask) -> Language:
    if task.language is not None:
        return task.language
    if kind_of_parser(task.parser) != "run":
        raise ConfigError(["task.language is missing: name the language of the text, en or zh"])
    assert task.parser is not None
    return load(task.parser).settings.data.language


def _parser(
    settings: EvaluateSettings, task: AnnotateTask, language: Language
) -> TreeParser | None:
    return parser_named(
        task.parser,
        language=language,
        device=settings.device,
        search=settings.search,
        processes=task.processes or available_cores(),
        allow_unknown=task.allow_unknown,
    )


def _reading(annotation: RawAnnotation, folder: Path) -> str:
    """Return the settings that read the files."""
    reader = "text" if annotation.parser is None else "brackets"
    chosen = [f"data={reader}", f"data.root={folder}"]
    if annotation.language != "en":
        chosen.append(f"data.language={annotation.language}")
    return " ".join(chosen)
