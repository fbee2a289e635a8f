"""task=parse: the best trees of sentences, how good they are, and how sure the search is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from gardenpath.console import console, words_progress
from gardenpath.data.sentence import Sentence
from gardenpath.data.trees.brackets import format_tree
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import RunError
from gardenpath.eval.parsing.bracketing import Bracketing, Conventions, bracketing
from gardenpath.eval.parsing.diagnostics import (
    best_parse_mass,
    convergence,
    convergence_table,
    mean_best_share,
)
from gardenpath.eval.parsing.parses import k_best, starts_of
from gardenpath.eval.search.search_settings import WordSync
from gardenpath.eval.search.structured_scorer import StructuredScorer
from gardenpath.eval.surprisal.inputs import GivenText, InputSentence, read_given
from gardenpath.runs.run import finished_runs, make_scorer, name_of
from gardenpath.runs.split_scores import is_structured
from gardenpath.settings.compose import make_preparation, make_search
from gardenpath.store.files import write_text
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.tables import BRACKETING, write_table

Settings = Mapping[str, Any]
Words = tuple[str, ...]


def run(settings: Settings) -> None:
    """Parse with every run that knows trees; write trees, and F1 where gold trees are at hand."""
    runs = [run for run in finished_runs(settings) if is_structured(run)]
    if not runs:
        raise RunError(
            f"{settings['run']}: no run of a model of trees at or below this folder; train one "
            "with 'python train.py model=rnng' (or plm), or set run="
        )
    folder = Path(settings["output"]) / "parses"
    table = Table(title="Labelled bracketing")
    for name in ("run", "sentences", "precision", "recall", "F1", "exact match", "best parse"):
        table.add_column(name, justify="left" if name == "run" else "right", overflow="fold")
    given = read_given(Path(settings["input"])) if settings["input"] is not None else None
    rows = []
    for one, place in zip(runs, _places(runs), strict=True):
        row = _parsed(one, given, folder / place, settings)
        rows.append(row)
        table.add_row(*[_cell(value) for value in row.values()])
    console.print(table)
    write_table(folder / BRACKETING.file, BRACKETING.frame(rows))
    console.print(f"Trees: {folder}")


def _places(runs: Sequence[RunFolder]) -> list[Path]:
    """What the files of each run are called: corpus, model and seed.

    Runs that have all three in common are told apart by folders called as their own are, from
    where these part.
    """
    stems = [f"{name.corpus}_{name.model}_seed{name.seed}" for name in map(name_of, runs)]
    places = []
    for run, stem in zip(runs, stems, strict=True):
        namesakes = [one.path for one, other in zip(runs, stems, strict=True) if other == stem]
        shared = os.path.commonpath(namesakes)
        is_alone = len(namesakes) == 1
        places.append(Path(stem) if is_alone else run.path.relative_to(shared) / stem)
    return places


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _parsed(
    run: RunFolder, given: GivenText | None, place: Path, settings: Settings
) -> dict[str, object]:
    """Parse with one run; ``place`` is how the names of its files begin."""
    sentences, gold = _sentences(run, given, settings)
    with words_progress(str(run.path), sum(map(len, sentences))) as on_words:
        scorer = make_scorer(run, settings, on_words=on_words)
        assert isinstance(scorer, StructuredScorer)
        results, split = scorer.search(sentences, keeps_history=True)
    labels = run.vocabulary().labels
    strategy = run.config()["model"]["network"].get("strategy", "top_down")
    parses = [
        k_best(
            result, words, labels=labels, strategy=strategy, k=settings["task"]["k_best"],
            starts_word=starts_of(split, number),
        )
        for number, (result, words) in enumerate(zip(results, sentences, strict=True))
    ]  # fmt: skip
    write_text(place.with_name(f"{place.name}.trees"), _as_text(parses))
    mass = best_parse_mass(results, split, sentences)
    path = place.with_name(f"{place.name}_best_parse.csv")
    write_table(path, [asdict(row) for row in mass])
    if settings["task"]["convergence"]:
        _show_convergence(run, sentences, settings)
    score = _score(gold, [best[0][1] if best else None for best in parses], run, settings)
    total = score.total if score else None
    return {
        "run": str(run.path),
        "sentences": len(sentences),
        "precision": total.precision if total else None,
        "recall": total.recall if total else None,
        "f1": total.f1 if total else None,
        "exact_match": score.exact_match if score else None,
        "best_parse_share": mean_best_share(mass),
    }


def _sentences(
    run: RunFolder, given: GivenText | None, settings: Settings
) -> tuple[list[Words], list[Tree | None]]:
    """The input, cleaned as the run's corpus was, or a split of that corpus.

    With gold trees where there are any.
    """
    found: Sequence[InputSentence | Sentence]
    if given is not None:
        found = given.cleaned(Cleaning(**run.config()["data"]["cleaning"]))
    else:
        preparation = make_preparation(run.config()["data"])
        found = list(preparation.sentences(settings["task"]["split"]))
    found = found[: settings["task"]["sentences"]]
    return [one.words for one in found], [one.tree for one in found]


def _as_text(parses: Sequence[Sequence[tuple[float, Tree]]]) -> str:
    """One tree per line; with several per sentence, their shares before them and a blank line."""
    if all(len(best) <= 1 for best in parses):
        lines = [format_tree(best[0][1]) if best else "" for best in parses]
        return "\n".join(lines) + "\n"
    blocks = ["\n".join(f"{share:.4f}\t{format_tree(tree)}" for share, tree in b) for b in parses]
    return "\n\n".join(blocks) + "\n"


def _score(
    gold: Sequence[Tree | None], parsed: Sequence[Tree | None], run: RunFolder, settings: Settings
) -> Bracketing | None:
    trees = [tree for tree in gold if tree is not None]
    if len(trees) < len(gold):
        return None
    if not settings["task"]["ignore_punctuation"]:
        return bracketing(trees, parsed, Conventions(punctuation="counted"))
    return bracketing(trees, parsed, Conventions(punctuation=run.vocabulary().language))


def _show_convergence(run: RunFolder, sentences: Sequence[Words], settings: Settings) -> None:
    search = make_search(settings["search"])
    if not isinstance(search, WordSync):
        return
    rows = convergence(
        lambda wider: make_scorer(run, settings, search=wider).word_log_probs(sentences), search
    )
    console.print(convergence_table(rows))
