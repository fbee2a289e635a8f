"""The published studies by name, computed from released surprisals and from runs of our own.

``study`` is the function of the Python API and ``run_study`` that of ``evaluate.py study=``. The
numbers are computed by the specification of the study; here are its sources: what is imported,
scored and described, and which models have too few usable items to be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from gardenpath.console import FittedTable, console, say, show_counting, show_progress
from gardenpath.data.corpus import DataSettings
from gardenpath.errors import ConfigError
from gardenpath.eval.published.files import ConditionSource, PairingRules
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.report.content import of_models, run_analyses
from gardenpath.eval.statistics.corpora import (
    construction_counts,
    counts_table,
    lengths_frame,
    statistics_frame,
    statistics_of,
)
from gardenpath.eval.statistics.formulas import Correction, Weighting
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import (
    MIN_ITEMS,
    TieRule,
    Ties,
    counted_with,
    is_enough,
    tie_rule,
    usable_counts,
)
from gardenpath.eval.suites.suite import Suite
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.find import Runs, skip_facts
from gardenpath.runs.perplexity import perplexities_of_runs
from gardenpath.runs.results import Results, how_made
from gardenpath.runs.run import Run
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import nearest, plain
from gardenpath.settings.tasks import (
    ItemChoice,
    MaterialPaths,
    StudyTask,
    SurprisalPaths,
    material_paths,
    shown_paths,
    suites_of_set,
    suites_of_study,
    surprisal_sets,
)
from gardenpath.store.manifest import results_folder
from gardenpath.store.run_folder import RunStatus
from gardenpath.studies.compared import claims_frame, compared_parts, write_study
from gardenpath.studies.filler_gap import FILLER_GAP
from gardenpath.studies.layouts import import_layout, published_suites
from gardenpath.studies.mandarin import MANDARIN
from gardenpath.studies.reflexives import reflexives_study
from gardenpath.studies.study import (
    OWN,
    RELEASED,
    CorpusTables,
    Evidence,
    StudyData,
    StudyResult,
    StudySpec,
)
from gardenpath.studies.suppression import SUPPRESSION
from gardenpath.tasks import sole_writer_of
from gardenpath.tasks.output import asked_runs, conclude, print_unusable, publish
from gardenpath.util import enumeration, key, plural, versions

# Each study, given the choice of released items.
STUDIES: Mapping[str, Callable[[ItemChoice], StudySpec]] = {
    "mandarin": lambda _: MANDARIN,
    "reflexives": reflexives_study,
    "suppression": lambda _: SUPPRESSION,
    "filler_gap": lambda _: FILLER_GAP,
}


def study_spec(name: str, *, items: ItemChoice = "paper") -> StudySpec:
    """Return a study; ``items`` matters where the paper used a part of the released items."""
    if name not in STUDIES:
        raise ConfigError([f"unknown study {name!r}; {nearest(name, tuple(STUDIES))}"])
    return STUDIES[name](items)


# The sources of a study, with their analyses.

# A study judges a model by its results in classes of suites.
_GROUP = ["model", "corpus", "class"]
# Words whose frequency in training corpora a study reports.
_COUNTED_WORDS = ("themselves", "himself", "herself")


def study_evidence(
    study: str,
    source: str,
    results: Results,
    *,
    corpora: CorpusTables | None = None,
    correction: Correction | None = None,
    weights: Weighting = "none",
) -> Evidence:
    """Return the data of one source of a study, with the results of the study's analyses.

    ``correction`` adjusts p values for the number of tests of each analysis, ``weights`` are those
    of rows in linear mixed models. Models are left out in classes for which they have too few
    usable items, so that no claim is judged by these.
    """
    tables = (results.items, results.effects, results.sentences, results.surprisals)
    items, effects, sentences, surprisals = _with_enough_items(results, map(of_models, tables))
    data = StudyData(
        source=source, items=items, effects=effects, sentences=sentences, surprisals=surprisals,
        **vars(corpora or CorpusTables()),
    )  # fmt: skip
    answers = run_analyses(
        items, effects, sentences, study=study, correction=correction, weights=weights,
        min_items=results.min_items,
    )  # fmt: skip
    return Evidence(data, {result.analysis.name: result for result in answers})


def left_out(results: Results) -> list[str]:
    """Return the models and classes that a study leaves out, with the numbers of usable items."""
    if results.items.empty:
        return []
    few = counted_with(of_models(results.items), _GROUP, results.min_items)
    return [f"{name} is left out: {reason}" for name, reason in few]


def _with_enough_items(
    results: Results, tables: Iterable[pd.DataFrame]
) -> tuple[pd.DataFrame, ...]:
    """Return tables without the models and classes that have too few usable items."""
    tables = tuple(tables)
    if results.items.empty:
        return tables
    few = {
        tuple(row[name] for name in _GROUP)
        for row in usable_counts(results.items, _GROUP).to_dict("records")
        if not is_enough(row["usable"], row["items"], results.min_items)
    }
    if not few:
        return tables
    classes = results.items.drop_duplicates("suite").set_index("suite")["class"]
    kept = []
    for table in tables:
        kinds = table["class"] if "class" in table.columns else table["suite"].map(classes)
        groups = zip(table["model"], table["corpus"], kinds, strict=True)
        kept.append(table[[group not in few for group in groups]])
    return tuple(kept)


def corpus_tables(
    runs: Sequence[Run],
    corpora: Sequence[DataSettings],
    *,
    cache: Path,
    perplexity: bool,
    marginal: int | None,
    allow_unknown: bool = False,
) -> CorpusTables:
    """Describe the named corpora, and the networks of runs.

    With ``perplexity``, that of all runs on the first corpus is measured, too; ``marginal`` is the
    number of sentences on which syntactic models are searched.
    """
    sizes = []
    for run in runs:
        shape = getattr(getattr(run.settings.model, "network", None), "shape", None)
        if shape is not None:
            # The embeddings of Transformers are as wide as their states.
            embedding = getattr(shape, "embedding", shape.hidden)
            widths = {"hidden": shape.hidden, "embedding": embedding}
            name = {"model": run.name.model, "corpus": run.name.corpus}
            sizes.append({**name, "layers": shape.layers, **widths})
    networks = pd.DataFrame(sizes) if sizes else None
    if not corpora:
        return CorpusTables(networks=networks)
    statistics = [
        row
        for data in corpora
        for row in statistics_of(data, cache=cache, words=_COUNTED_WORDS, progress=show_counting)
    ]
    counts = [
        row for data in corpora if data.language == "en" and data.reader.has_trees
        for row in construction_counts(data, progress=show_progress)
    ]  # fmt: skip
    measured = None
    if runs and perplexity:
        measured = perplexities_of_runs(
            runs, corpora=corpora[:1], marginal_sentences=marginal, allow_unknown=allow_unknown
        )
    return CorpusTables(
        perplexity=measured,
        corpora=statistics_frame(statistics),
        lengths=lengths_frame(statistics),
        constructions=counts_table(counts) if counts else None,
        networks=networks,
    )


# A published study from released surprisals and from runs, with its tables and files.


@dataclass(frozen=True, kw_only=True)
class Replication:
    """A published study, computed anew from released surprisals, from runs, or from both.

    ``sources`` are the scored suites of each source; ``result`` has all cells, claims and
    analyses.
    """

    result: StudyResult
    sources: Mapping[str, Results]
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def skipped(self) -> list[RunStatus]:
        """The run folders that were left out, with the reason."""
        return [status for results in self.sources.values() for status in results.skipped]

    @property
    def claims(self) -> pd.DataFrame:
        """One row per claim of the paper and source, with the verdict and its reason."""
        return claims_frame(self.result)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables and figures by number, one row per cell, beside the published values."""
        return {part.part.number: part.frame() for part in compared_parts(self.result)}

    def write(self, folder: str | Path) -> Path:
        """Write tables, figures, claims, statistics, data and the report; return its path.

        The folder replaces earlier results as a whole.
        """
        about = how_made(title=self.result.title, **_searches(self.sources), **self.about)
        with results_folder(Path(folder), about=about) as temporary:
            report = write_study(self.result, temporary)
            for source, results in self.sources.items():
                results.write_tables(temporary / "data" / key(source))
        return Path(folder) / report.name


def study(
    name: str,
    *,
    surprisals: SurprisalPaths | None = None,
    materials: MaterialPaths | None = None,
    runs: Sequence[Run] = (),
    corpora: Sequence[DataSettings] = (),
    suites: Sequence[str] | None = None,
    in_vocabulary: bool = False,
    items: int | None = None,
    released_items: ItemChoice = "paper",
    conditions: ConditionSource = "sentences",
    pairing: PairingRules | None = None,
    correction: Correction | None = None,
    weights: Weighting = "none",
    ties: Ties | TieRule = "exact",
    min_items: int = MIN_ITEMS,
    allow_unknown: bool = False,
    marginal_sentences: int | None = 100,
    cache: str | Path = ".cache/corpora",
) -> Replication:
    """Compute the tables, figures and claims of a published study.

    ``name`` is ``mandarin``, ``reflexives``, ``suppression`` or ``filler_gap``. ``surprisals`` and
    ``materials`` are the folders of the released files: one, several, or surprisals by training
    corpus. ``runs`` are scored on the same materials or, without materials, on the suites of the
    study (``suites`` names others; ``in_vocabulary`` and ``items`` as in :func:`evaluate`).
    ``corpora`` are described and counted; in ``mandarin``, runs have their perplexity on the first
    (``cache`` is the folder of prepared corpora). What a model and a class have fewer than
    ``min_items`` usable items for is left out of tables and claims. As in the papers, only exactly
    equal surprisals are ties, unless ``ties`` says otherwise. The other settings are those
    of ``task=study``; ``released_items`` is ``task.items``.
    """
    spec = study_spec(name, items=released_items)
    if surprisals is None and not runs:
        raise ConfigError(["a study needs surprisals and materials, or runs"])
    rule, rules = tie_rule(ties), pairing or PairingRules()
    names = suites_of_study(name) if suites is None else suites
    sources: dict[str, Results] = {}
    if surprisals is not None:
        sets = surprisal_sets(surprisals)
        if materials is None:
            imported = import_tables(_suites(name, names, None, conditions), sets, rules)
        else:
            paths = material_paths(materials)
            imported = import_layout(name, paths, sets, rules, conditions=conditions)
        sources[RELEASED] = Results.of_imported(imported, title=name, origin="published", ties=rule)
    if runs:
        scored = _suites(name, names, materials, conditions)
        sources[OWN] = evaluate(
            runs, scored, title=name, in_vocabulary=in_vocabulary, items=items, ties=rule,
            allow_unknown=allow_unknown,
        )  # fmt: skip
    sources = {source: replace(results, min_items=min_items) for source, results in sources.items()}
    skipped = {status.folder.path for results in sources.values() for status in results.skipped}
    described = corpus_tables(
        [run for run in runs if run.path not in skipped], corpora, cache=Path(cache),
        perplexity=spec.perplexity, marginal=marginal_sentences, allow_unknown=allow_unknown,
    )  # fmt: skip
    last = list(sources)[-1]
    evidence = [
        study_evidence(
            name, source, results, corpora=described if source == last else None,
            correction=correction, weights=weights,
        )
        for source, results in sources.items()
    ]  # fmt: skip
    facts = {
        source: f"{enumeration([run.model for run in results.names])} "
        f"({plural(len(results.names), 'run')}, {plural(len(results.suites), 'suite')})"
        for source, results in sources.items()
    }
    if surprisals is not None:
        facts["surprisals"] = shown_paths(surprisals)
    if materials is not None:
        facts["materials"] = shown_paths(materials)
    facts |= {**_searches(sources), "versions": versions("numpy", "scipy", "pandas")}
    notes = [f"{source}: {note}" for source, own in sources.items() for note in left_out(own)]
    notes += [f"{source}: {note}" for source, own in sources.items() for note in own.notes]
    result = replace(spec.result(evidence), facts=facts, notes=notes)
    return Replication(result=result, sources=sources)


def _suites(
    name: str, suites: Sequence[str], materials: MaterialPaths | None, conditions: ConditionSource
) -> list[Suite]:
    """Return the published suites, if materials are given, else those of Gardenpath."""
    if materials is not None:
        return published_suites(name, material_paths(materials), conditions)
    return load_suites([suite for names in suites for suite in suites_of_set(names)])


def _searches(sources: Mapping[str, Results]) -> dict[str, str]:
    """Return the search of the syntactic models, if there are any, with its settings."""
    searches = dict.fromkeys(results.search for results in sources.values() if results.search)
    return {"search": "; ".join(searches)} if searches else {}


# study=: the tables, figures and claims of a published study, from files and from runs.

# Notes on the terminal; the report has all.
_MOST_NOTES = 6
_STYLES = {"reproduced": "green", "not reproduced": "red", "depends": "yellow", "not tested": "dim"}


def study_folder(settings: EvaluateSettings) -> Path:
    assert settings.study is not None, "the settings are checked"
    return Path(settings.output) / f"{settings.study.name}_study"


@sole_writer_of(study_folder)
def run_study(settings: EvaluateSettings, task: StudyTask) -> None:
    assert settings.study is not None, "the settings are checked"
    chosen = settings.study
    runs = asked_runs(settings) if settings.run_folders else Runs()
    replication = study(
        chosen.name,
        surprisals=task.surprisals, materials=task.materials, runs=runs,
        corpora=settings.named_corpora, suites=chosen.suites, in_vocabulary=chosen.in_vocabulary,
        items=chosen.items, released_items=task.items, conditions=task.conditions,
        pairing=task.pairing, correction=task.correction, weights=task.weights, ties=task.tie_rule,
        min_items=task.min_items, allow_unknown=task.allow_unknown,
        marginal_sentences=task.marginal_sentences, cache=settings.paths.cache,
    )  # fmt: skip
    for results in replication.sources.values():
        print_unusable(results)
    for note in replication.result.notes[:_MOST_NOTES]:
        say(note)
    _print(replication.result)
    folder = study_folder(settings)
    about = {"settings": plain(settings), **skip_facts(replication.skipped)}
    report = replace(replication, about=about).write(folder)
    console.print(f"Tables: {folder}")
    console.print(f"Report: {report}")
    publish(folder, settings)
    conclude(replication.skipped, runs.skipped)


def _print(result: StudyResult) -> None:
    """Print how many cells agree with the paper, and the verdicts on its claims."""
    table = FittedTable(f"{result.title} ({result.reference}): cells as published", keys=2)
    table.column("part")
    table.column("title")
    compared = compared_parts(result)
    sources = list(dict.fromkeys(claim.source for claim in result.claims))
    for source in sources:
        table.column(source, right=True)
    for part in compared:
        counts = [part.counts(source) for source in sources]
        shown = [f"{agree} of {known}" if known else "" for agree, known in counts]
        table.add_row(part.part.number, part.part.title, *shown)
    console.print(table)
    for claim in result.claims:
        verdict = f"[{_STYLES[claim.verdict]}]{claim.verdict}[/]"
        whose = f" ({claim.source})" if len(sources) > 1 else ""
        console.print(f"{verdict}{whose}: {claim.text} [dim]{claim.place}[/dim]")
        say(claim.reason)
