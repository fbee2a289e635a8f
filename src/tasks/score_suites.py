"""task=suite: every suitable run on test suites, as tables, statistics, figures and a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gardenpath.console import console, track_runs, words_progress
from gardenpath.eval.perplexity.comparison import PerplexityRow
from gardenpath.eval.report.shown_analyses import as_shown, run_analyses, write_analyses
from gardenpath.eval.report.study import Curve
from gardenpath.eval.report.study_builder import MODEL_PACKAGES, REPORT_PACKAGES, build_study
from gardenpath.eval.report.write import write_report
from gardenpath.eval.search.search_words import search_in_words
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.eval.suites.library.lint import lint_against
from gardenpath.eval.suites.scoring.results import Results
from gardenpath.eval.surprisal_cache import Words
from gardenpath.runs.run import finished_runs, language_of, name_of
from gardenpath.runs.split_scores import is_structured
from gardenpath.runs.suite_scores import (
    ScoredRun,
    Scores,
    exact_runs,
    score_run,
    selected,
    sentences_of,
    suitable,
    tables,
)
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.tables import EFFECTS, SENTENCES, SURPRISALS, WORD_PAIRS, write_table
from gardenpath.store.versions import versions
from gardenpath.tasks.perplexity import perplexity_rows
from gardenpath.tasks.printing import print_analyses
from gardenpath.tasks.publish import publish

Settings = Mapping[str, Any]


def run(settings: Settings) -> None:
    """Score, print and write."""
    folder = Path(settings["output"]) / settings["suite"]["name"]
    suites = load_suites(settings["suite"]["suites"])
    runs = suitable(finished_runs(settings), suites)
    suites = selected(suites, runs, settings["suite"])
    scored = _score(suites, runs, settings)
    scores = tables(suites, scored, settings)
    results = Results(items=scores.items, notes=scores.notes, effects=scores.effects)
    for table in results.tables(title=f"{settings['suite']['name']}: accuracy"):
        console.print(table)
    _print_unknown(results)
    results.write(folder)
    write_table(folder / EFFECTS.file, scores.effects)
    write_table(folder / SURPRISALS.file, scores.surprisals)
    write_table(folder / SENTENCES.file, scores.sentences)
    _write_words(folder, suites, runs)
    console.print(f"Tables: {folder}")
    perplexity = _perplexity(runs, settings)
    if settings["task"]["report"]:
        _report(folder, suites, runs, scores, results, perplexity, settings)
    publish(folder, settings)


def _score(
    suites: Sequence[Suite], runs: Sequence[RunFolder], settings: Settings
) -> list[ScoredRun]:
    parsed = set(_parsed(suites, settings["task"]["parsed_items"]))
    scored = []
    for one in track_runs(runs, "scoring runs"):
        sentences = sentences_of(suites, language_of(one))
        with words_progress(str(one.path), sum(map(len, sentences))) as on_words:
            wanted = [words for words in sentences if words in parsed]
            scored.append(score_run(one, sentences, wanted, settings, on_words))
    if settings["suite"]["in_vocabulary"]:
        scored += exact_runs(runs, suites)
    return scored


def _parsed(suites: Sequence[Suite], items: int) -> list[Words]:
    """The sentences whose partial parses the report shows."""
    return [
        variant.words for suite in suites for item in suite.items[:items]
        for variant in item.variants
    ]  # fmt: skip


def _print_unknown(results: Results) -> None:
    unknown = results.items[results.items["unknown"] > 0]
    if unknown.empty:
        return
    words = sorted({w for text in unknown["unknown_words"] for w in text.split()})
    shown = " ".join(words[:12]) + (" …" if len(words) > 12 else "")
    console.print(
        f"{len(words)} critical words are unknown to some model: {shown}; "
        "suite.in_vocabulary=true leaves such items out"
    )


def _write_words(folder: Path, suites: Sequence[Suite], runs: Sequence[RunFolder]) -> None:
    """How often paired critical words occur in the training corpus, per vocabulary."""
    vocabularies = {run.vocabulary().content_hash: run for run in runs}
    rows = []
    for one in vocabularies.values():
        vocabulary, corpus = one.vocabulary(), one.config()["data"]["name"]
        counts = Counter(dict(zip(vocabulary.tokens, vocabulary.counts, strict=True)))
        for suite in (s for s in suites if s.language == vocabulary.language):
            checked = lint_against(suite, vocabulary.knows, counts.__getitem__)
            rows += [{"corpus": corpus, "suite": suite.name, **asdict(p)} for p in checked.pairs]
    write_table(folder / WORD_PAIRS.file, WORD_PAIRS.frame(rows))


def _perplexity(runs: Sequence[RunFolder], settings: Settings) -> list[PerplexityRow]:
    task = settings["task"]
    if not task["perplexity"]:
        return []
    limited = {**task, "marginal_sentences": task["perplexity_sentences"]}
    return perplexity_rows(runs, {**settings, "task": limited})


def _report(
    folder: Path,
    suites: Sequence[Suite],
    runs: Sequence[RunFolder],
    scores: Scores,
    results: Results,
    perplexity: Sequence[PerplexityRow],
    settings: Settings,
) -> None:
    analyses = run_analyses(scores.items, scores.effects)
    write_analyses(folder / "statistics", analyses)
    print_analyses(as_shown(result) for result in analyses)
    is_searched = any(is_structured(run) for run in runs)
    curves = [Curve.read(run.metrics_path, name_of(run)) for run in runs]
    study = build_study(
        title=settings["suite"]["name"], suites=suites, names=[name_of(run) for run in runs],
        results=results, surprisals=scores.surprisals, analyses=analyses, parses=scores.parses,
        versions=versions(*REPORT_PACKAGES, *MODEL_PACKAGES),
        search=search_in_words(settings["search"]) if is_searched else None,
        curves=[curve for curve in curves if curve is not None], perplexity=perplexity,
    )  # fmt: skip
    console.print(f"Report: {write_report(study, folder)}")
