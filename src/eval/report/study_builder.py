"""Construction of a study, the content of a report, from the results of trained models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from gardenpath.eval.display import models_in_order
from gardenpath.eval.perplexity.comparison import PerplexityRow
from gardenpath.eval.report.shown_analyses import shown_results
from gardenpath.eval.report.study import Curve, Glossed, Parse, ParseKey, Study
from gardenpath.eval.statistics.questions.analysis import AnalysisResult
from gardenpath.eval.suites.design.glosses import Glosses
from gardenpath.eval.suites.design.suite import Suite, chance_by_class
from gardenpath.eval.suites.pairs.pair_tables import pair_words
from gardenpath.eval.suites.scoring.scored_items import RunName, ScoredItems
from gardenpath.store.tables import AGGREGATE, EFFECTS
from gardenpath.text import enumeration, heading, plural

# The packages that affect the numbers of a report, in addition to Python; and those of models.
REPORT_PACKAGES = ("numpy", "scipy", "pandas", "matplotlib")
MODEL_PACKAGES = ("torch", "pytorch-lightning")


def build_study(
    *,
    title: str,
    suites: Sequence[Suite],
    names: Sequence[RunName],
    results: ScoredItems,
    surprisals: pd.DataFrame,
    versions: str,
    search: str | None = None,
    analyses: Sequence[AnalysisResult] = (),
    parses: Mapping[ParseKey, Sequence[Parse]] | None = None,
    curves: Sequence[Curve] = (),
    perplexity: Sequence[PerplexityRow] = (),
    origin: str = "",
    sources: Mapping[str, str] | None = None,
    aggregate: pd.DataFrame | None = None,
) -> Study:
    """Build the study for the report on trained models.

    ``title`` is the name of the set of suites; ``names`` are the runs. ``search`` describes the
    search if some model needs one; ``versions`` lists the versions of the software. For surprisals
    from files, ``origin`` says whose they are (``published``), and ``sources`` are the files.
    ``aggregate`` has the accuracies on published minimal pairs.
    """
    return Study(
        title=_title(title, names, origin),
        facts={**(sources or {}), **_facts(suites, names, search=search, versions=versions)},
        notes=results.notes,
        items=results.items,
        summary=results.summary,
        surprisals=surprisals,
        effects=EFFECTS.frame([]) if results.effects is None else results.effects,
        perplexity=perplexity,
        analyses=shown_results(analyses),
        parses=parses or {},
        curves=curves,
        critical={suite.name: suite.critical for suite in suites},
        chance=chance_by_class(suites),
        glosses=_glosses(suites),
        min_items=results.min_items,
        aggregate=AGGREGATE.frame([]) if aggregate is None else aggregate,
    )


def _glosses(suites: Sequence[Suite]) -> dict[tuple[str, int | str], Glossed]:
    """Return glosses and translations of the items that have them."""
    return {
        (suite.name, item.number): (glosses.of(item), item.translation)
        for suite, glosses in ((suite, Glosses(suite)) for suite in suites)
        for item in suite.items
        if item.gloss or item.translation
    }


def _title(suites: str, names: Sequence[RunName], origin: str = "") -> str:
    """Return a title such as ``Demo: 6 models trained on toy_english and toy_mandarin``."""
    models = plural(len({name.model for name in names}), "model")
    corpora = enumeration([name.corpus for name in names if name.corpus], last=" and ")
    whose = f"{origin} surprisals of {models}" if origin else models
    return f"{heading(suites)}: {whose}" + (f" trained on {corpora}" if corpora else "")


def _facts(
    suites: Sequence[Suite], names: Sequence[RunName], *, search: str | None, versions: str
) -> dict[str, str]:
    items = sum(len(suite.items) for suite in suites)
    corpora = enumeration([name.corpus for name in names if name.corpus])
    return {
        "models": enumeration(models_in_order([name.model for name in names])),
        **({"corpora": corpora} if corpora else {}),
        "seeds": enumeration(sorted(name.seed for name in names if name.seed is not None)),
        "suites": f"{len(suites)} with {items} items",
        **{f"words of {name}": words for name, words in pair_words(suites).items()},
        **({"search": search} if search else {}),
        "versions": versions,
    }
