"""From results to what a report is made of."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gardenpath.console import console
from gardenpath.eval.perplexity.comparison import Row
from gardenpath.eval.report.order import Chain, arranged, in_order, modifier_chains
from gardenpath.eval.report.study import Analysis, Curve, Study
from gardenpath.eval.statistics.questions.analysis import AnalysisResult, load_analyses
from gardenpath.eval.statistics.questions.answering import run_analysis
from gardenpath.eval.statistics.questions.rscript import write_result
from gardenpath.eval.statistics.questions.wording import ALPHA
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.scoring.results import Results
from gardenpath.places import CONFIG_DIR
from gardenpath.runs.run import name_of
from gardenpath.runs.split_scores import is_structured
from gardenpath.runs.suite_scores import Scores
from gardenpath.store.run_folder import RunFolder
from gardenpath.store.versions import versions
from gardenpath.tasks.saying import say

Settings = Mapping[str, Any]

# The accuracy of guessing, where it is not one half: three variants are compared.
CHANCE = {"reflexives": 1 / 3}

# What the numbers of a report rest on, beside Python.
PACKAGES = ("numpy", "scipy", "pandas", "matplotlib")
MODEL_PACKAGES = ("torch", "pytorch-lightning")

_SHOWN_SENTENCES = 6

_SEARCHES = {"word_sync": "word-synchronous beam", "particle": "particle filter"}
_SEARCH_WORDS = {
    "action_beam": "action beam {}",
    "word_beam": "word beam {}",
    "fast_track": "fast track {}",
    "particles": "{} particles",
    "seed": "seed {}",
    "marginal": "summed over {}",
    "max_open": "at most {} constituents open",
    "max_consecutive": "at most {} opened between two words",
}
_STOPS = {
    "exhausted": "until no hypothesis is left that could matter",
    "beam_full": "until the beam is full",
}
# These change no result, so that they are worth a word only where somebody switched them off.
_SAVINGS = {
    "bounded": "bounds",
    "lazy_words": "lazy words",
    "shared_compositions": "shared compositions",
    "share_prefixes": "shared prefixes",
}
_NO_WORDS = ("kind", "stop", "fixed_shapes", "memory_gb", *_SAVINGS)


def modifier_orders() -> tuple[Chain, ...]:
    """Modifiers from plain to complex, as the analyses rank them."""
    return modifier_chains(load_analyses(CONFIG_DIR / "analysis"))


def write_analyses(
    folder: Path, items: pd.DataFrame, effects: pd.DataFrame | None
) -> list[AnalysisResult]:
    """Run every analysis that the tables allow, write each, and print what was found."""
    results = []
    tables = {"items": items, "effects": effects}
    for analysis in load_analyses(CONFIG_DIR / "analysis"):
        table = tables[analysis.table]
        if table is None or table.empty:
            continue
        result = run_analysis(analysis, table)
        if result.is_empty:
            continue
        write_result(folder, result)
        results.append(result)
    orders = modifier_orders()
    for result in results:
        _print(as_shown(result, orders))
    return results


def _print(analysis: Analysis) -> None:
    """The question, how often the answer is yes, and the first answers; what was found first."""
    if not analysis.sentences:
        return
    console.print(f"[bold]{analysis.title}[/bold]")
    if analysis.count:
        say(analysis.count)
    first, others = analysis.told()
    sentences = [*first, *others]
    for sentence in sentences[:_SHOWN_SENTENCES]:
        say(sentence)
    if (more := len(sentences) - _SHOWN_SENTENCES) > 0:
        say(f"… {more} more in the report")


def build_study(
    *,
    title: str,
    suites: Sequence[Suite],
    runs: Sequence[RunFolder],
    scores: Scores,
    results: Results,
    analyses: Sequence[AnalysisResult],
    settings: Settings,
    perplexity: Sequence[Row] = (),
    lengths: Mapping[str, Mapping[int, int]] | None = None,
) -> Study:
    """Everything that the report on some runs and suites shows; ``title`` names the suites."""
    orders = modifier_orders()
    return Study(
        title=_title(title, runs),
        facts=_facts(suites, runs, settings),
        notes=results.notes,
        items=scores.items,
        summary=results.summary,
        surprisals=scores.surprisals,
        effects=scores.effects,
        perplexity=perplexity,
        analyses=[as_shown(result, orders) for result in analyses],
        parses=scores.parses,
        curves=[curve for run in runs if (curve := _curve(run)) is not None],
        lengths=lengths or {},
        critical={suite.name: suite.critical for suite in suites},
        chance=CHANCE,
        modifier_orders=orders,
    )


def as_shown(result: AnalysisResult, orders: Sequence[Chain]) -> Analysis:
    """An analysis as the report shows it: everything in the order of the report.

    Every sentence is about a row of the estimates, and tells of something if p is small there.
    """
    by = result.analysis.split
    tables = {
        name: arranged(table, [column for column in by if column in table.columns], orders)
        for name, table in result.tables.items()
    }
    given = tables.get("estimates", pd.DataFrame())
    sentences, found = list(result.sentences), []
    if len(given) == len(sentences) and "p" in given.columns:
        # Rows keep their numbers when they change places.
        sentences = [sentences[place] for place in given.index]
        found = [bool(p < ALPHA) for p in given["p"]]
    return Analysis(
        title=result.analysis.title,
        sentences=sentences,
        found=found,
        skipped=result.skipped,
        tables=tables,
    )


def _title(suites: str, runs: Sequence[RunFolder]) -> str:
    """``Demo: 6 models trained on toy_english and toy_mandarin``."""
    names = [name_of(run) for run in runs]
    models = len(dict.fromkeys(name.model for name in names))
    corpora = listed([name.corpus for name in names], last=" and ")
    return f"{heading(suites)}: {models} model{'s' * (models != 1)} trained on {corpora}"


def heading(suites: str) -> str:
    """The name of a set of suites as a title begins: ``wh_discharge`` → ``Wh discharge``."""
    readable = suites.replace("_", " ")
    return f"{readable[:1].upper()}{readable[1:]}"


def listed(values: Sequence[object], *, last: str = ", ") -> str:
    """Different values in a row; ``last`` stands before the last one."""
    texts = list(dict.fromkeys(str(value) for value in values))
    return last.join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def _facts(
    suites: Sequence[Suite], runs: Sequence[RunFolder], settings: Settings
) -> dict[str, str]:
    names = [name_of(run) for run in runs]
    searched = any(is_structured(run) for run in runs)
    return {
        "models": listed(in_order([name.model for name in names])),
        "corpora": listed([name.corpus for name in names]),
        "seeds": listed(sorted(name.seed for name in names if name.seed is not None)),
        "suites": f"{len(suites)} with {sum(len(suite.items) for suite in suites)} items",
        **({"search": search_in_words(settings["search"])} if searched else {}),
        "versions": versions(*PACKAGES, *MODEL_PACKAGES),
    }


def search_in_words(search: Settings) -> str:
    """``word-synchronous beam, action beam 100, word beam 10, …``."""
    said = [_SEARCHES.get(search["kind"], str(search["kind"]).replace("_", " "))]
    for name, value in search.items():
        if name not in _NO_WORDS and value is not None:
            words = _SEARCH_WORDS.get(name, name.replace("_", " ") + " {}")
            said.append(words.format(value))
    if "stop" in search:
        said.append(_STOPS.get(search["stop"], str(search["stop"])))
    said += [f"without {name}" for key, name in _SAVINGS.items() if search.get(key) is False]
    return ", ".join(said)


def _curve(run: RunFolder) -> Curve | None:
    """The metrics that a run wrote while it was trained."""
    if not run.metrics_path.is_file():
        return None
    try:
        metrics = pd.read_csv(run.metrics_path)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, csv.Error):
        return None
    name = name_of(run)
    return Curve(model=name.model, corpus=name.corpus, seed=name.seed, metrics=metrics)
