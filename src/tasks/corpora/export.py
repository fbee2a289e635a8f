"""task=export: write the cleaned sentences of corpora as bracketed trees or plain text."""

from __future__ import annotations

from pathlib import Path

from gardenpath.console import console, show_progress
from gardenpath.data.corpus_files import write_corpus
from gardenpath.data.data_settings import DataSettings
from gardenpath.runs.results import how_made
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import ExportTask
from gardenpath.store.results_folder import results_folder
from gardenpath.text import enumeration


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
