"""A published study from released surprisals and from runs, with its tables and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from gardenpath.data.data_settings import DataSettings
from gardenpath.errors import ConfigError
from gardenpath.eval.published.import_settings import ConditionSource, PairingRules
from gardenpath.eval.published.imported import Imported
from gardenpath.eval.published.released.layouts import import_layout, published_suites
from gardenpath.eval.published.table_import import import_tables
from gardenpath.eval.statistics.choices import Correction, Weighting
from gardenpath.eval.studies.all_studies import study_spec
from gardenpath.eval.studies.compared import compared_parts
from gardenpath.eval.studies.study_parts import OWN, RELEASED, ItemChoice, StudyResult
from gardenpath.eval.studies.study_report import write_study
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.eval.suites.scoring.tie_rule import TieRule, Ties, tie_rule
from gardenpath.eval.usable import MIN_ITEMS
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.results import Results, how_made
from gardenpath.runs.run import Run
from gardenpath.runs.studies.study_sources import corpus_tables, left_out, study_evidence
from gardenpath.settings.suite_sets import suites_of_set, suites_of_study
from gardenpath.settings.surprisal_sources import (
    MaterialPaths,
    SurprisalPaths,
    material_paths,
    shown_paths,
    surprisal_sets,
)
from gardenpath.store.results_folder import results_folder
from gardenpath.store.status.run_status import RunStatus
from gardenpath.text import enumeration, key, plural
from gardenpath.versions import versions


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
        return [one for results in self.sources.values() for one in results.skipped]

    @property
    def claims(self) -> pd.DataFrame:
        """One row per claim of the paper and source, with the verdict and its reason."""
        return pd.DataFrame([asdict(claim) for claim in self.result.claims])

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables and figures by number, one row per cell, beside the published values."""
        return {one.part.number: one.frame() for one in compared_parts(self.result)}

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
        sources[RELEASED] = Results.of_imported(
            _released(name, names, surprisals, materials, rules, conditions),
            title=name,
            origin="published",
            ties=rule,
        )
    if runs:
        scored = _suites(name, names, materials, conditions)
        sources[OWN] = evaluate(
            runs,
            scored,
            title=name,
            in_vocabulary=in_vocabulary,
            items=items,
            ties=rule,
            allow_unknown=allow_unknown,
        )
    sources = {source: replace(one, min_items=min_items) for source, one in sources.items()}
    skipped = {one.folder.path for results in sources.values() for one in results.skipped}
    described = corpus_tables(
        [run for run in runs if run.path not in skipped],
        corpora,
        cache=Path(cache),
        perplexity=spec.perplexity,
        marginal=marginal_sentences,
        allow_unknown=allow_unknown,
    )
    last = list(sources)[-1]
    evidence = [
        study_evidence(
            name,
            source,
            results,
            corpora=described if source == last else None,
            correction=correction,
            weights=weights,
        )
        for source, results in sources.items()
    ]
    facts = _facts(sources, surprisals, materials)
    notes = [f"{source}: {note}" for source, one in sources.items() for note in left_out(one)]
    notes += [f"{source}: {note}" for source, one in sources.items() for note in one.notes]
    result = replace(spec.result(evidence), facts=facts, notes=notes)
    return Replication(result=result, sources=sources)


def _released(
    name: str,
    suites: Sequence[str],
    surprisals: SurprisalPaths,
    materials: MaterialPaths | None,
    rules: PairingRules,
    conditions: ConditionSource,
) -> Imported:
    """Import surprisals in the published layout, or tables for the suites of Gardenpath."""
    sets = surprisal_sets(surprisals)
    if materials is None:
        return import_tables(_suites(name, suites, None, conditions), sets, rules)
    paths = material_paths(materials)
    return import_layout(name, paths, sets, rules, conditions=conditions)


def _suites(
    name: str,
    suites: Sequence[str],
    materials: MaterialPaths | None,
    conditions: ConditionSource,
) -> list[Suite]:
    """Return the published suites, if materials are given, else those of Gardenpath."""
    if materials is not None:
        return published_suites(name, material_paths(materials), conditions)
    return load_suites([one for given in suites for one in suites_of_set(given)])


def _facts(
    sources: Mapping[str, Results],
    surprisals: SurprisalPaths | None,
    materials: MaterialPaths | None,
) -> dict[str, str]:
    """Return what the report says about the sources."""
    facts = {
        source: f"{enumeration([name.model for name in one.names])} "
        f"({plural(len(one.names), 'run')}, {plural(len(one.suites), 'suite')})"
        for source, one in sources.items()
    }
    if surprisals is not None:
        facts["surprisals"] = shown_paths(surprisals)
    if materials is not None:
        facts["materials"] = shown_paths(materials)
    return {**facts, **_searches(sources), "versions": versions("numpy", "scipy", "pandas")}


def _searches(sources: Mapping[str, Results]) -> dict[str, str]:
    """Return the search of the syntactic models, if there are any, with its settings."""
    found = dict.fromkeys(one.search for one in sources.values() if one.search)
    return {"search": "; ".join(found)} if found else {}
