"""Which words matter, and the errors of a search from scores to tables and report."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from gardenpath.data.arrays import Floats
from gardenpath.eval.search.replicates import pooled, standard_error, t_quantile
from gardenpath.eval.suites.effects import positions_that_matter
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import EXACT_TIES
from gardenpath.eval.suites.suite import Prediction, Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run
from gardenpath.runs.scoring import Measured, measured_run
from gardenpath.runs.suite_tables import suite_tables
from gardenpath.store.surprisals import Stored
from gardenpath.store.tables import EFFECTS, ITEMS, SUMMARY, SURPRISALS, read_table
from gardenpath.util import Words
from tests.runs.own_suite import agreement
from tests.toy_runs import run_of

COUNT = 6


def _regions() -> Suite:
    """A prediction about one region, and a critical region that it does not name."""
    text = "(verb;%match%) < (verb;%mismatch%)"
    return replace(
        agreement(), predictions=(Prediction("p", Formula.parse(text)),), critical=("end",)
    )


def test_words_of_predictions_and_critical_regions_matter() -> None:
    (first, *_), found = agreement().sentences, positions_that_matter([_regions()])
    assert first == ("the", "boys", "were", "happy", ".")
    assert set(found.values()) == {frozenset({2, 3, 4})} and set(found) == set(
        agreement().sentences
    )
    # The whole sentence, without its end.
    assert positions_that_matter([agreement()])[first] == frozenset(range(5))
    # Conditions that no prediction names have their critical region only.
    one_sided = Prediction("p", Formula.parse("(verb;%match%) > 2"))
    suite = replace(_regions(), predictions=(one_sided,))
    positions = positions_that_matter([suite])
    for item in suite.items:
        match, mismatch = (positions[variant.words] for variant in item.variants)
        assert (match, mismatch) == (frozenset({2, 3, 4}), frozenset({4}))


def test_sentences_of_several_suites_have_the_words_of_all() -> None:
    early = Prediction("p", Formula.parse("(subject;%match%) > (subject;%mismatch%)"))
    other = replace(agreement(), predictions=(early,), name="other")
    for sentence, places in positions_that_matter([_regions(), other]).items():
        assert places == frozenset(range(len(sentence)))


def test_words_of_effects_matter() -> None:
    (suite,) = load_suites(["filler_gap/embwhq"])
    found = positions_that_matter([suite])
    object_, tail = suite.region_index("object"), suite.region_index("tail")
    for item in suite.items[:3]:
        for variant in item.variants:
            region_of = [n for n, region in enumerate(variant.regions) for _ in region]
            wanted = object_ if variant.condition.endswith("_nogap") else tail
            needed = {place for place, number in enumerate(region_of) if number == wanted}
            assert needed <= found[variant.words] and needed


def _estimates(words: Words, *, noise: float) -> Floats:
    """Log estimates (nats) of prefixes, (words and end, replicates), as in other sentences."""
    found = []
    for place in range(1, len(words) + 2):
        seed = sum(map(ord, " ".join(words[:place]))) + 1000 * place
        dice = np.random.default_rng(seed)
        found.append(-dice.uniform(2.0, 4.0) + noise * dice.normal(size=COUNT))
    return np.cumsum(found, axis=0)


def _stored(words: Words, *, noise: float = 0.2) -> Stored:
    """Scores of a search with replicates."""
    found = pooled(_estimates(words, noise=noise))
    errors = standard_error(found.deviations_bits)
    return Stored(
        np.diff(found.log_probs, prepend=0.0).tolist(),
        columns={"surprisal_se": errors.tolist(), "analyses": [2.0] * (len(words) + 1)},
        deviations=found.deviations_bits.tolist(),
    )


def _measured(suite: Suite, name: str = "rnng", *, noise: float | None = 0.2) -> Measured:
    scores = {words: _stored(words, noise=noise or 0.0) for words in suite.sentences}
    columns = {w: {n: v[: len(w)] for n, v in s.columns.items()} for w, s in scores.items()}
    spread = {w: np.array(s.deviations)[: len(w)] for w, s in scores.items()}
    return Measured(
        name=RunName(run=name, model=name),
        language="en",
        surprisal_bits={w: s.surprisal_bits[: len(w)] for w, s in scores.items()},
        columns={} if noise is None else columns,
        deviations={} if noise is None else spread,
        tolerance=None if noise is None else 0.05,
    )


def _tables(*models: Measured, suite: Suite | None = None) -> Any:
    return suite_tables([suite or _regions()], models, ties=EXACT_TIES)


def test_errors_of_a_table_by_hand() -> None:
    suite = _regions()
    tables = _tables(_measured(suite))
    for item, row in zip(suite.items, tables.items.to_dict("records"), strict=True):
        match, mismatch = (
            np.array(_stored(variant.words).deviations)[2:4].sum(axis=0)
            for variant in item.variants
        )
        error = float(standard_error(mismatch - match))
        assert row["difference_se"] == pytest.approx(error)
        flips = abs(row["difference_bits"]) <= t_quantile(COUNT) * error
        assert row["could_flip"] == flips
    words = tables.surprisals
    assert list(words.columns[-2:]) == ["surprisal_se", "analyses"]
    first = words[(words["item"] == 1) & (words["condition"] == "match")]
    expected = _stored(suite.sentences[0]).columns["surprisal_se"][:5]
    assert first["surprisal_se"].tolist() == pytest.approx(expected)
    ends = [one.deviations[4] for one in map(_stored, suite.sentences) if one.deviations]
    local = [float(standard_error(np.array(end))) for end in ends]
    assert tables.sentences["local_se"].tolist() == pytest.approx(local)


def test_models_without_errors_have_empty_cells() -> None:
    plain, both = _tables(_measured(_regions(), "lstm", noise=None)), None
    for name in ("items", "effects", "surprisals", "sentences"):
        assert not any(column.endswith("_se") for column in getattr(plain, name).columns)
    assert "could_flip" not in plain.items.columns and plain.notes == ()
    both = _tables(_measured(_regions(), "lstm", noise=None), _measured(_regions()))
    by_model = both.items.groupby("model", sort=False)
    assert by_model["difference_se"].count().to_dict() == {"lstm": 0, "rnng": 2}
    assert by_model["could_flip"].count().to_dict() == {"lstm": 0, "rnng": 2}
    known = both.surprisals.groupby("model")["surprisal_se"].count()
    assert known["lstm"] == 0 and known["rnng"] > 0
    shared = [name for name in plain.items.columns if name in both.items.columns]
    rows = both.items[both.items["model"] == "lstm"][shared].reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, plain.items)


def test_outcomes_and_differences_do_not_depend_on_errors() -> None:
    suite = _regions()
    noisy = _measured(suite)
    plain = replace(noisy, columns={}, deviations={}, tolerance=None)
    with_errors, without = _tables(noisy).items, _tables(plain).items
    pd.testing.assert_frame_equal(with_errors[list(without.columns)], without)


def test_words_that_did_not_converge_are_counted() -> None:
    suite = _regions()
    model = _measured(suite)
    (note,) = model.precision_notes([suite])
    errors = {words: _stored(words).columns["surprisal_se"] for words in suite.sentences}
    above = {w: sum(errors[w][place] > 0.05 for place in (2, 3, 4)) for w in suite.sentences}
    sentences = sum(count > 0 for count in above.values())
    assert note.startswith(
        f"rnng: the standard error of {sum(above.values())} of 12 words that matter, "
        f"in {sentences} sentences, is above search.tolerance=0.05 bits"
    )
    # The same from deviations alone.
    assert replace(model, columns={}).precision_notes([suite]) == [note]
    assert replace(model, tolerance=9.0).precision_notes([suite]) == []
    assert note in _tables(model).notes
    assert _measured(suite, noise=None).precision_notes([suite]) == []


def _with_replicates(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[Words, Collection[int]]]:
    """Let runs have the scores of a search with replicates; return what they are told matters."""
    told: list[Mapping[Words, Collection[int]]] = []

    def scored(
        self: Run,
        sentences: Iterable[Words],
        *,
        matters: Mapping[Words, Collection[int]] | None = None,
        **_: object,
    ) -> dict[Words, Stored]:
        told.append(matters or {})
        return {words: _stored(words) for words in sentences}

    monkeypatch.setattr(Run, "scored", scored)
    return told


def test_a_run_is_told_what_matters_and_keeps_its_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _with_replicates(monkeypatch)
    words = ("the", "boys", "knew", ".")
    found = measured_run(run_of(folder, "rnng"), [words], matters={words: {1}})
    assert told == [{words: {1}}]
    assert found.deviations[words].shape == (4, COUNT)
    assert len(found.columns[words]["surprisal_se"]) == 4


def test_from_scores_to_files_and_report(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _with_replicates(monkeypatch)
    suites = [*load_suites(["filler_gap/embwhq"]), _regions()]
    results = evaluate(run_of(folder, "rnng"), suites, items=12, allow_unknown=True)
    (matters,) = told
    assert set(results.suites[0].sentences) <= set(matters)
    report = replace(results, weights="error").report(tmp_path / "results")
    items = read_table(tmp_path / "results" / ITEMS.file, ITEMS)
    assert items["difference_se"].notna().all() and items["could_flip"].notna().all()
    for row in items.to_dict("records"):
        if row["suite"] == "agreement":
            reach = t_quantile(COUNT) * row["difference_se"]
            assert row["could_flip"] == (abs(row["difference_bits"]) <= reach)
    effects = read_table(tmp_path / "results" / EFFECTS.file, EFFECTS)
    assert (effects["value_se"] > 0.0).all()
    summary = read_table(tmp_path / "results" / SUMMARY.file, SUMMARY)
    flips = int(items["could_flip"].sum())
    assert int(summary["could_flip"].sum()) == flips > 0
    words = read_table(tmp_path / "results" / SURPRISALS.file, SURPRISALS)
    assert words["surprisal_se"].dtype == np.float64 and words["surprisal_se"].notna().all()
    page = report.read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f"{flips} of {len(items)} outcomes could flip within the 95 % interval" in page
    assert f"could flip {flips}" in _printed(results)
    asked = {one.analysis.name: one.analysis for one in replace(results, weights="error").analyses}
    assert asked["licensing"].is_weighted and not asked["supervision"].is_weighted


def _printed(results: Results) -> str:
    """What the terminal shows, without the lines of tables."""
    console = Console(width=120, file=io.StringIO())
    for table in results.accuracy_tables():
        console.print(table)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    return " ".join("".join(" " if sign in "│┃" else sign for sign in shown).split())
