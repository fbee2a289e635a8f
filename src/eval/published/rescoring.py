"""Scoring of existing surprisals, such as those of published models, without running a model.

Every folder with surprisals for a suite is a run. ``lstm_outputs/trial1`` is the model ``lstm``
with random seed 1; a folder without such a number is a model without a seed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gardenpath.errors import InputError
from gardenpath.eval.published.fitting import FittedSurprisals, fit
from gardenpath.eval.published.mandarin import load_mandarin, read_mandarin_run
from gardenpath.eval.published.reflexives import load_reflexives, read_two_columns
from gardenpath.eval.published.surprisal_files import ScoredSentence, read_own_table
from gardenpath.eval.suites.design.suite import Suite, chance_by_class
from gardenpath.eval.suites.scoring.item_scoring import ItemOutcome, score_table
from gardenpath.eval.suites.scoring.outcome import TieRule
from gardenpath.eval.suites.scoring.regions import RegionTable
from gardenpath.eval.suites.scoring.scored_items import RunName, ScoredItems, items_frame, word_rows
from gardenpath.store.tables import SURPRISALS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored(ScoredItems):
    """Scored items with their surprisals, and the properties of the suites for the report.

    ``critical`` maps suites to their critical regions, ``chance`` maps classes to chance levels.
    """

    surprisals: pd.DataFrame
    critical: Mapping[str, tuple[str, ...]]
    chance: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Scored:
    """The results of a run on a suite."""

    name: RunName
    suite: Suite
    outcomes: list[ItemOutcome]
    run: FittedSurprisals


_SEED = re.compile(r"(?:trial|seed|run)[_-]?(\d+)$")
_OUTPUTS = re.compile(r"_(?:outputs?|surprisals?)$")


def run_name(folder: Path, root: Path) -> RunName:
    """Derive model and random seed from the path of a folder below ``root``."""
    parts = folder.relative_to(root).parts or (folder.name,)
    found = _SEED.search(parts[-1])
    bare = parts if found is None else (*parts[:-1], parts[-1][: found.start()].rstrip("_-"))
    names = [_OUTPUTS.sub("", part) for part in bare if part]
    model = "/".join(names) or _OUTPUTS.sub("", root.name)
    return RunName(
        run="/".join(parts), model=model, seed=None if found is None else int(found.group(1))
    )


def rescore_mandarin(
    materials: Path, surprisals: Path, *, ties: TieRule = "expectation", seed: int = 0
) -> Rescored:
    """Score the published Mandarin suites with surprisals in the published layout."""
    suites = load_mandarin(materials)
    scored: list[_Scored] = []
    notes = []
    reworded: Counter[tuple[str, int]] = Counter()
    for folder in _folders(surprisals):
        files = _files_by_key(folder, suites)
        if not files:
            continue
        name = run_name(folder, surprisals)
        if lacking := [suites[key].name for key in suites if key not in files]:
            notes.append(f"{name.run}: no surprisals for {', '.join(lacking)}")
        for key, path in files.items():
            run, suite = read_mandarin_run(path, suites[key]), suites[key]
            scored.append(_score(name, suite, run, ties, seed))
            reworded[suite.name, run.reworded] += 1
    notes += _reworded_notes(reworded)
    return _results(scored, notes, surprisals, "files such as lstm_outputs/trial0/…_cls_none.tsv")


def _score(name: RunName, suite: Suite, run: FittedSurprisals, ties: TieRule, seed: int) -> _Scored:
    table = RegionTable.from_rows(suite, run.rows)
    outcomes = score_table(table, unknown=run.unknown, ties=ties, seed=seed)
    return _Scored(name, suite, outcomes, run)


def _reworded_notes(reworded: Counter[tuple[str, int]]) -> list[str]:
    """Return notes on suites whose sentences differ in the tables of some runs."""
    return [
        f"{suite}: {sentences} sentences differ from the suite in the files of {runs} "
        f"run{'s' * (runs != 1)}"
        for (suite, sentences), runs in reworded.items()
        if sentences
    ]


def _files_by_key(folder: Path, suites: Iterable[str]) -> dict[str, Path]:
    """Return the tables of a folder by the key at the end of their names."""
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".tsv", ".txt"))
    found = {}
    for key in suites:
        matching = [path for path in paths if path.stem == key or path.stem.endswith(f"_{key}")]
        if matching:
            found[key] = matching[0]
    return found


def rescore_reflexives(
    materials: Path, surprisals: Path, *, ties: TieRule = "expectation", seed: int = 0
) -> Rescored:
    """Score the published reflexive stimuli with two-column surprisals, one folder per model."""
    suites = load_reflexives(materials)
    experiments = {experiment for experiment, _ in suites}
    models = dict.fromkeys(
        folder.parent for folder in _folders(surprisals) if folder.name in experiments
    )
    scored: list[_Scored] = []
    notes = []
    reworded: Counter[tuple[str, int]] = Counter()
    for model in models:
        name = run_name(model, surprisals)
        for (experiment, pronoun), suite in suites.items():
            paths = sorted((model / experiment).glob(f"{pronoun}*.txt"))
            if not paths:
                notes.append(f"{name.run}: no surprisals for {suite.name}")
                continue
            run = read_two_columns(paths[0], suite)
            scored.append(_score(name, suite, run, ties, seed))
            reworded[suite.name, run.reworded] += 1
    notes += _reworded_notes(reworded)
    return _results(scored, notes, surprisals, "files such as rnng/exp2-rc/herself_rnng.txt")


def rescore_suites(
    suites: Sequence[Suite], folder: Path, *, ties: TieRule = "expectation", seed: int = 0
) -> Rescored:
    """Score any suites with tables in our own layout: ``<suite>.tsv``, in one folder or per model.

    Slashes in a suite's name may be folders or underscores. Sentences must be in the order of
    ``Suite.sentences``; a table with several values in the column ``run`` contains several runs.
    """
    scored: list[_Scored] = []
    for place in _folders(folder):
        for suite in suites:
            path = _own_file(place, suite)
            if path is None:
                continue
            for name, sentences in _runs(read_own_table(path), place, folder):
                run = _own_run(suite, sentences, path)
                scored.append(_score(name, suite, run, ties, seed))
    return _results(scored, [], folder, "tables such as mandarin_subordination_none.tsv")


def _own_file(folder: Path, suite: Suite) -> Path | None:
    names = (suite.name, suite.name.replace("/", "_"))
    paths = [folder / f"{name}.tsv" for name in names]
    return next((path for path in paths if path.is_file()), None)


def _runs(
    sentences: Sequence[ScoredSentence], place: Path, root: Path
) -> list[tuple[RunName, list[ScoredSentence]]]:
    """Return the sentences of each run; a run without a name is named after its folder."""
    by_run: dict[str, list[ScoredSentence]] = {}
    for sentence in sentences:
        by_run.setdefault(sentence.run, []).append(sentence)
    return [
        (run_name(root / run.lstrip("/"), root) if run else run_name(place, root), found)
        for run, found in by_run.items()
    ]


def _own_run(suite: Suite, sentences: Sequence[ScoredSentence], path: Path) -> FittedSurprisals:
    """Align one of our own tables, whose sentences must be exactly those of the suite."""
    run = fit(suite, sentences, path=path)
    if run.reworded:
        raise InputError(
            f"{run.reworded} sentences differ from those of suite {suite.name}",
            path=path,
            remedy="sentences must be in the order of the suite",
        )
    return run


def _folders(root: Path) -> list[Path]:
    """Return the folder and all folders below it, in order."""
    if not root.is_dir():
        raise InputError("is not a folder", path=root)
    return [root, *sorted(path for path in root.rglob("*") if path.is_dir())]


def _results(
    scored: Sequence[_Scored], notes: Sequence[str], folder: Path, expected: str
) -> Rescored:
    if not scored:
        raise InputError(
            "contains no surprisals for these suites", path=folder, remedy=f"expected {expected}"
        )
    return Rescored(
        items=items_frame((one.name, one.outcomes) for one in scored),
        notes=tuple(notes),
        surprisals=_surprisals(scored),
        critical={one.suite.name: one.suite.critical for one in scored},
        chance=chance_by_class({one.suite.name: one.suite for one in scored}.values()),
    )


def _surprisals(scored: Iterable[_Scored]) -> pd.DataFrame:
    """Return every word of every variant with its region and surprisal, in bits."""
    return SURPRISALS.frame(
        [
            row
            for one in scored
            for row in word_rows(one.name, one.suite, one.run.rows, unknown=one.run.unknown)
        ]
    )
