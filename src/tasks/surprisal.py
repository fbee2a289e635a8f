"""task=surprisal: a table of the surprisal of every word, from every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gardenpath.console import console, words_progress
from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.eval.journal import Journal, job_key, journal_path
from gardenpath.eval.search.structured_scorer import StructuredScorer
from gardenpath.eval.surprisal.inputs import check_alignment, read_given
from gardenpath.eval.surprisal.surprisal_rows import (
    EndPolicy,
    RunHeader,
    SurprisalRow,
    TableHeader,
    failures_of,
    rows_of,
    score_in_chunks,
    seen_as,
)
from gardenpath.eval.surprisal.surprisal_table import check_extension, write_surprisals
from gardenpath.runs.run import content_hash, finished_runs, make_scorer, name_of
from gardenpath.store.run_folder import RunFolder

Settings = Mapping[str, Any]


def run(settings: Settings) -> None:
    """Score the input with every run, and write one long table."""
    task = settings["task"]
    path = Path(task["file"] or Path(settings["output"]) / "surprisal.tsv")
    check_extension(path)
    runs = finished_runs(settings)
    inputs = _inputs(settings, runs)
    rows: list[SurprisalRow] = []
    headers, journals = [], []
    for one, sentences in zip(runs, inputs, strict=True):
        journal = _journal(path, one, sentences, settings)
        found, header = _scored(one, sentences, journal, settings)
        rows += found
        headers.append(header)
        journals.append(journal)
    policy: EndPolicy = "row" if task["end"] else "none"
    write_surprisals(path, rows, TableHeader(runs=tuple(headers), end_of_sentence=policy))
    for journal in journals:
        journal.close(remove=True)
    for one_run in headers:
        for failure in one_run.failures:
            console.print(f"{failure.place}: no hypothesis survived; {failure.remedy}")
    console.print(f"{len(inputs[0])} sentences from {len(runs)} runs: {path}")


def _inputs(settings: Settings, runs: Sequence[RunFolder]) -> list[list[Sentence]]:
    """For each run the input, cleaned as its corpus was."""
    given = read_given(Path(settings["input"]))
    cleanings = [Cleaning(**run.config()["data"]["cleaning"]) for run in runs]
    by_cleaning = {cleaning: given.cleaned(cleaning) for cleaning in dict.fromkeys(cleanings)}
    inputs = [by_cleaning[cleaning] for cleaning in cleanings]
    check_alignment({str(run.path): found for run, found in zip(runs, inputs, strict=True)})
    return inputs


def _journal(
    path: Path, run: RunFolder, sentences: Sequence[Sentence], settings: Settings
) -> Journal:
    key = job_key(
        [content_hash(run), str(sorted(settings["search"].items()))], [s.words for s in sentences]
    )
    return Journal(journal_path(path, str(run.path)), key)


def _scored(
    run: RunFolder, sentences: Sequence[Sentence], journal: Journal, settings: Settings
) -> tuple[list[SurprisalRow], RunHeader]:
    words = [sentence.words for sentence in sentences]
    vocabulary, subwords = run.vocabulary(), run.subwords()
    with words_progress(str(run.path), sum(map(len, words))) as progress:
        scorer = make_scorer(run, settings)
        log_probs = score_in_chunks(
            scorer, words, journal, chunk=settings["task"]["chunk"], progress=progress
        )
    seen = [seen_as(one, vocabulary, subwords) for one in words]
    name = name_of(run)
    # Nothing is said about a search that did not take place.
    search = settings["search"] if isinstance(scorer, StructuredScorer) else {"kind": "none"}
    header = RunHeader(
        run=name.run,
        model=name.model,
        vocabulary=vocabulary.content_hash,
        search=search["kind"],
        settings={key: value for key, value in search.items() if key != "kind"},
        failures=failures_of(sentences, log_probs, journal.notes),
    )
    return rows_of(name.run, words, log_probs, seen, end=settings["task"]["end"]), header
