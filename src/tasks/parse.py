"""task=parse: the best trees of sentences, their accuracy, and the convergence of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gardenpath.console import console, words_progress
from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import RunError
from gardenpath.eval.parsing.bracketing import Bracketing, Conventions, bracketing
from gardenpath.eval.parsing.diagnostics import (
    convergence,
    convergence_table,
    mass_rows,
    mean_best_share,
)
from gardenpath.eval.search.search_settings import WordSync
from gardenpath.eval.search.search_words import search_in_words
from gardenpath.eval.surprisal.inputs import GivenText
from gardenpath.eval.surprisal.stimuli import read_input
from gardenpath.fitted_table import FittedTable
from gardenpath.runs.finding.file_places import file_places
from gardenpath.runs.finding.whole_runs import each_whole, skip_facts
from gardenpath.runs.input.writing import read_as
from gardenpath.runs.parsing import parsed, trees_text
from gardenpath.runs.results import how_made
from gardenpath.runs.run import Run
from gardenpath.settings.check import plain
from gardenpath.settings.evaluate_settings import EvaluateSettings
from gardenpath.settings.task_settings import ParseTask
from gardenpath.store.files import write_text
from gardenpath.store.results_folder import results_folder
from gardenpath.store.tables import BRACKETING, write_table
from gardenpath.tasks.asked import asked_runs, conclude
from gardenpath.tasks.printing import print_search, require_known_input
from gardenpath.text import Words

PARSES_FOLDER = "parses"
_COLUMNS = ("run", "sentences", "precision", "recall", "F1", "exact match", "best parse")


def run_parse(settings: EvaluateSettings, task: ParseTask) -> None:
    """Parse with every syntactic model; write trees, and F1 if gold trees are available."""
    asked = asked_runs(settings)
    runs = [run for run in asked if run.is_syntactic]
    if not runs:
        raise RunError(
            f"{', '.join(settings.run_folders)}: no run of a syntactic model at or below; "
            "train one with 'python train.py model=rnng' (or plm), or set run="
        )
    table = FittedTable("Labelled bracketing", elsewhere=BRACKETING.file)
    for name in _COLUMNS:
        table.column(name, right=name != "run")
    given = read_input(task.input) if task.input is not None else None
    if given is not None:
        require_known_input(runs, [_sentences(one, given, task) for one in runs], task)
    folder = Path(settings.output) / PARSES_FOLDER
    skipped = list(asked.skipped)
    about = how_made(settings=plain(settings))
    places = dict(zip(map(id, runs), file_places(runs), strict=True))
    how = search_in_words(plain(settings.search))
    with results_folder(folder, about=about) as temporary:
        found = each_whole(
            runs, lambda one: _parsed(one, given, temporary / places[id(one)], task), skipped
        )
        rows = [row for _, row in found]
        for row in rows:
            table.add_row(*[_cell(value) for value in row.values()])
        frame = BRACKETING.frame(rows)
        write_table(
            temporary / BRACKETING.file, frame, BRACKETING.header(frame.columns, search=how)
        )
        about |= skip_facts(skipped)
    console.print(table)
    print_search(runs)
    console.print(f"Trees: {folder}")
    conclude(skipped, asked.skipped)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _parsed(run: Run, given: GivenText | None, place: Path, task: ParseTask) -> dict[str, object]:
    """Parse with one run; ``place`` is the beginning of its file names."""
    sentences = _sentences(run, given, task)
    words = [one.words for one in sentences]
    with words_progress(str(run.path), sum(map(len, words))) as on_words:
        found = parsed(run, words, k=task.k_best, on_words=on_words)
    parses = [one.trees for one in found]
    write_text(place.with_name(f"{place.name}.trees"), trees_text(parses))
    mass = mass_rows(words, [one.best_shares for one in found])
    header = {
        "table": "best parse",
        "unit": "share of the probability of the words so far, from 0 to 1",
        "run": run.name.run,
        "search": search_in_words(plain(run.search)),
    }
    best_parse = place.with_name(f"{place.name}_best_parse.csv")
    write_table(best_parse, [asdict(row) for row in mass], header)
    if task.convergence:
        _show_convergence(run, words)
    best = [one[0][1] if one else None for one in parses]
    score = _score([one.tree for one in sentences], best, run, task)
    total = score.total if score else None
    return {
        "run": run.name.run,
        "sentences": len(words),
        "precision": total.precision if total else None,
        "recall": total.recall if total else None,
        "f1": total.f1 if total else None,
        "exact_match": score.exact_match if score else None,
        "best_parse_share": mean_best_share(mass),
    }


def _sentences(run: Run, given: GivenText | None, task: ParseTask) -> list[Sentence]:
    """Return the input, cleaned like the run's corpus, or a split of that corpus."""
    if given is None:
        return list(run.settings.data.preparation().sentences(task.split))[: task.sentences]
    return [one.sentence for one in read_as(run, given, tokenised=task.tokenised)][: task.sentences]


def _score(
    gold: Sequence[Tree | None], parsed: Sequence[Tree | None], run: Run, task: ParseTask
) -> Bracketing | None:
    trees = [tree for tree in gold if tree is not None]
    if len(trees) < len(gold):
        return None
    if not task.ignore_punctuation:
        return bracketing(trees, parsed, Conventions(punctuation="counted"))
    return bracketing(trees, parsed, Conventions(punctuation=run.vocabulary.language))


def _show_convergence(run: Run, sentences: Sequence[Words]) -> None:
    if not isinstance(run.search, WordSync):
        return
    rows = convergence(lambda wider: run.scorer(search=wider).word_log_probs(sentences), run.search)
    console.print(convergence_table(rows))
