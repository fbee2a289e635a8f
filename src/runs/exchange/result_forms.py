"""Write results on suites in the forms of other programs, into the results folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from gardenpath.data.surprisal_forms import ResultForm
from gardenpath.eval.published.imported_runs import ImportedRun
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.exports.babylm_predictions import (
    dump_predictions,
    pair_predictions,
    paired_conditions,
)
from gardenpath.eval.suites.exports.syntaxgym_results import (
    dump_results,
    token_regions,
    word_regions,
)
from gardenpath.eval.suites.formats.syntaxgym import dump_syntaxgym
from gardenpath.store.files import write_text
from gardenpath.text import file_stem

if TYPE_CHECKING:
    from gardenpath.runs.results import Results


def check_result_forms(forms: Sequence[ResultForm], suites: Sequence[Suite]) -> None:
    """Raise an error if results on these suites cannot be written in these forms.

    Call this before a long job.
    """
    for suite in suites:
        if "syntaxgym" in forms:
            dump_syntaxgym(suite)
        if "babylm" in forms:
            paired_conditions(suite)


def write_result_forms(results: Results, folder: Path) -> None:
    """Write ``syntaxgym/RUN/SUITE.json`` and ``babylm/RUN/predictions.json``, as asked."""
    if not results.also:
        return
    scored = list(results.imported or _scored_words(results))
    if "syntaxgym" in results.also:
        names = _Names()
        for one in scored:
            place = folder / "syntaxgym" / names.of(one.name.run)
            path = place / f"{names.of(one.suite.name, one.name.run)}.json"
            write_text(path, dump_results(one.suite, _regions(one), model=one.name.model))
    if "babylm" in results.also:
        names = _Names()
        for run in dict.fromkeys(one.name.run for one in scored):
            own = [(one.suite, one.rows) for one in scored if one.name.run == run]
            path = folder / "babylm" / names.of(run) / "predictions.json"
            write_text(path, dump_predictions(pair_predictions(own)))


def _regions(one: ImportedRun) -> Sequence[tuple[tuple[float, ...], ...]]:
    if not one.tokens:
        return word_regions(one.suite, one.rows)
    return token_regions(one.suite, [(each.tokens, each.values) for each in one.tokens])


def _scored_words(results: Results) -> Iterator[ImportedRun]:
    """Yield the surprisals of the words of every run on every suite, from the table of words."""
    suites = {suite.name: suite for suite in results.suites}
    for name in results.names:
        words = results.tables.surprisals
        frame: pd.DataFrame = words[words["run"] == name.run]
        for suite_name, group in frame.groupby("suite", sort=False):
            suite = suites[str(suite_name)]
            values = iter(group["surprisal_bits"].tolist())
            rows = tuple(
                tuple(float(next(values)) for _ in variant.words)
                for item in suite.items
                for variant in item.variants
            )
            yield ImportedRun(name=name, suite=suite, rows=rows, unknown=frozenset())


class _Names:
    """Names of files, of which no two are equal: ``a/b`` is ``a_b``, and another one ``a_b.2``."""

    def __init__(self) -> None:
        self._given: dict[tuple[str, str], str] = {}

    def of(self, name: str, within: str = "") -> str:
        """Return the name of the file of something called ``name``, among those ``within``."""
        if (within, name) not in self._given:
            taken = {given.lower() for (place, _), given in self._given.items() if place == within}
            stem, number = file_stem(name), 1
            while (new := stem if number == 1 else f"{stem}.{number}").lower() in taken:
                number += 1
            self._given[within, name] = new
        return self._given[within, name]
