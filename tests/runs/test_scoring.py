"""Surprisals that a user gives: complete and of one mind, or an error that names the sentence."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gardenpath.data.arrays import Floats
from gardenpath.errors import GardenpathError
from gardenpath.eval.display import EXACT
from gardenpath.eval.search.replicates import pooled, standard_error, t_quantile
from gardenpath.eval.suites.effects import critical_positions
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import EXACT_TIES
from gardenpath.eval.suites.suite import Prediction, Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.runs.evaluation import evaluate
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run
from gardenpath.runs.suite_tables import (
    Measured,
    exact_grammars,
    measured_run,
    measured_scorer,
    measured_table,
    suite_tables,
)
from gardenpath.store.surprisals import Stored
from gardenpath.store.tables import EFFECTS, ITEMS, SUMMARY, SURPRISALS, read_table
from gardenpath.util import Words
from tests.runs.own_suite import agreement
from tests.toy_runs import run_of

Values = dict[Words, list[float]]

ONE: Words = ("the", "cat", "sat")
TWO: Words = ("the", "sat", "cat")
SENTENCES = [ONE, TWO]
VALUES: Values = {ONE: [1.0, 2.0, 3.0], TWO: [1.5, 2.5, 3.5]}


def frame(values: Values = VALUES, **columns: Any) -> pd.DataFrame:
    """The sentences with their surprisals, a row for each word."""
    rows = [
        {"sentence_id": number, "word_id": place, "word": word, "surprisal_bits": bits}
        for number, (words, surprisals) in enumerate(values.items(), start=1)
        for place, (word, bits) in enumerate(zip(words, surprisals, strict=True), start=1)
    ]
    return pd.DataFrame(rows).assign(**columns)


def _one(table: Any) -> Measured:
    (found,) = measured_table(table, SENTENCES)
    return found


def _refuses(table: Any, *parts: str) -> None:
    with pytest.raises(GardenpathError, match=".*".join(map(re.escape, parts))):
        measured_table(table, SENTENCES)


def test_a_table_of_one_model() -> None:
    found = _one(frame())
    assert found.surprisal_bits == VALUES and found.language is None
    assert found.name.run == found.name.model == "model"


def test_numbers_of_a_search_tell_that_surprisals_were_searched() -> None:
    """Their near ties are those of a search."""
    assert not _one(frame()).is_searched
    assert _one(frame(entropy_bits=0.5)).is_searched
    runs = pd.concat([frame(run="a", entropy_bits=0.5), frame(run="b")])
    found = measured_table(runs, SENTENCES)
    assert [(one.name.run, one.is_searched) for one in found] == [("a", True), ("b", False)]


def test_ends_are_left_out_and_more_sentences_do_no_harm() -> None:
    ended: Values = {(*words, "</s>"): [*bits, 9.0] for words, bits in VALUES.items()}
    assert _one(frame({**ended, ("else",): [4.0]})).surprisal_bits == VALUES


@pytest.mark.parametrize("columns", [("model",), ("run",), ("model", "seed"), ("run", "model")])
def test_several_models(columns: tuple[str, ...]) -> None:
    louder = {words: [bits + 1 for bits in values] for words, values in VALUES.items()}
    named = [{"model": "a", "run": "r1", "seed": 1}, {"model": "b", "run": "r2", "seed": 2}]
    parts = [
        frame(values, **{name: who[name] for name in columns})
        for values, who in zip((VALUES, louder), named, strict=True)
    ]
    first, second = measured_table(pd.concat(parts), SENTENCES)
    assert (first.surprisal_bits, second.surprisal_bits) == (VALUES, louder)
    assert first.name.run != second.name.run
    if "model" in columns:
        assert (first.name.model, second.name.model) == ("a", "b")
    if "seed" in columns:
        assert (first.name.seed, second.name.seed) == (1, 2)
        assert first.name.run == "a/seed1"


def test_seeds_may_be_missing_for_some() -> None:
    table = pd.concat([frame(model="a", seed=1), frame(model="b", seed=None)])
    first, second = measured_table(table, SENTENCES)
    assert (first.name.run, first.name.seed) == ("a/seed1", 1)
    assert (second.name.run, second.name.seed) == ("b", None)


def test_a_mapping_of_models() -> None:
    keys: dict[Any, list[float]] = {"the cat sat": VALUES[ONE], TWO: [*VALUES[TWO], 7.0]}
    found = _one({"mine": keys})
    assert found.surprisal_bits == VALUES and found.name.model == "mine"
    arrays = {"mine": {words: np.array(values) for words, values in VALUES.items()}}
    assert _one(arrays).surprisal_bits == VALUES


def test_rows_may_be_in_any_order_if_words_are_numbered() -> None:
    shuffled = frame().sample(frac=1.0, random_state=3)
    assert shuffled["word_id"].tolist() != frame()["word_id"].tolist()
    assert _one(shuffled).surprisal_bits == VALUES


def test_a_missing_sentence_is_named() -> None:
    _refuses(frame({ONE: VALUES[ONE]}), "1 of 2 sentences", "'the sat cat'", "word by word")
    _refuses({"mine": {"the cat sat": [1, 2, 3]}}, "mine: no surprisals", "'the sat cat'")


def test_a_model_that_lacks_a_sentence_is_named_beside_one_that_has_all() -> None:
    table = pd.concat([frame(model="whole"), frame({ONE: VALUES[ONE]}, model="half")])
    _refuses(table, "half: no surprisals for 1 of 2", "'the sat cat'")


@pytest.mark.parametrize("drop", [0, 1, 2])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_missing_word_is_never_a_number(drop: int, is_numbered: bool) -> None:
    table = frame().drop(index=drop)
    with pytest.raises(GardenpathError, match=r"the|cat|sat"):
        measured_table(table if is_numbered else table.drop(columns="word_id"), SENTENCES)


@pytest.mark.parametrize("twice", [0, 1, 2])
@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_word_given_twice_is_never_a_number(twice: int, is_numbered: bool) -> None:
    whole = frame()
    table = pd.concat([whole[: twice + 1], whole[twice:]])
    assert len(table) == len(whole) + 1
    with pytest.raises(GardenpathError, match=r"the|cat|sat"):
        measured_table(table if is_numbered else table.drop(columns="word_id"), SENTENCES)


def test_a_doubled_word_that_makes_another_sentence_is_found_by_its_number() -> None:
    """'a b b' is a sentence of the suites too; its values must not come from 'a b'."""
    sentences = [("a", "b"), ("a", "b", "b")]
    table = frame({sentences[0]: [1.0, 2.0], sentences[1]: [1.0, 2.0, 9.0]})
    doubled = pd.concat([table[:2], table[1:]])
    with pytest.raises(GardenpathError, match=r"numbered 1, 2, 2.* each word of a sentence once"):
        measured_table(doubled, sentences)


@given(st.permutations(range(3)))
def test_words_in_the_wrong_order_are_never_a_plausible_number(order: list[int]) -> None:
    """Without numbers the order of the rows counts; a mixed-up sentence is a missing one."""
    whole = frame().drop(columns="word_id")
    table = pd.concat([whole.iloc[order], whole.iloc[3:]])
    if order == [0, 1, 2]:
        assert _one(table).surprisal_bits == VALUES
        return
    with pytest.raises(GardenpathError, match=r"the (cat sat|sat cat)"):
        measured_table(table, SENTENCES)


@given(st.permutations(range(6)))
def test_any_order_of_numbered_rows_gives_the_same(order: list[int]) -> None:
    assert _one(frame().iloc[order]).surprisal_bits == VALUES


def test_a_sentence_with_two_different_surprisals_is_named() -> None:
    again = frame({ONE: [1.0, 2.0, 3.1]})
    again["sentence_id"] = 9
    _refuses(pd.concat([frame(), again]), "two different surprisals", "'the cat sat'")
    _refuses(
        {"mine": {"the cat sat": [1, 2, 3], ONE: [1, 2, 4], TWO: [1, 2, 3]}},
        "mine: two different surprisals", "'the cat sat'",
    )  # fmt: skip


def test_a_sentence_may_occur_again_with_the_same_surprisals() -> None:
    again = frame({ONE: [1.0, 2.0, 3.0 + 1e-7]})
    again["sentence_id"] = 9
    assert _one(pd.concat([frame(), again])).surprisal_bits == VALUES


def test_two_runs_in_one_table_without_a_name_are_refused() -> None:
    other = frame({ONE: [4.0, 5.0, 6.0], TWO: [4.0, 5.0, 6.0]})
    with pytest.raises(GardenpathError, match=r"the (cat sat|sat cat|the cat)"):
        measured_table(pd.concat([frame(), other]), SENTENCES)


def test_two_models_under_one_run_are_refused() -> None:
    table = pd.concat([frame(run="r", model="a"), frame(run="r", model="b")])
    _refuses(table, "r: the rows of this run are of several models", "a and b")


@pytest.mark.parametrize("count", [1, 2, 5])
def test_wrong_lengths_name_the_sentence(count: int) -> None:
    values = {"mine": {"the cat sat": [1.0] * count, TWO: [1.0] * 3}}
    _refuses(values, f"mine: {count} surprisals for the 3 words of 'the cat sat'")


def test_log_probabilities_are_not_surprisals() -> None:
    negative = {words: [-bits for bits in values] for words, values in VALUES.items()}
    _refuses(frame(negative), "negative surprisals for 'the cat sat'", "-log2 p")
    _refuses({"mine": negative}, "mine: negative surprisals for 'the cat sat'")
    zero = {ONE: [0.0, -0.0, -1e-4], TWO: [0.0, math.inf, 1.0]}
    assert _one(frame(zero)).surprisal_bits == zero


def test_undefined_surprisals_are_kept() -> None:
    undefined = {**VALUES, TWO: [1.0, math.nan, math.nan]}
    found = _one(frame(undefined)).surprisal_bits[TWO]
    assert found[0] == 1.0 and math.isnan(found[1]) and math.isnan(found[2])


@pytest.mark.parametrize("name", ["sentence_id", "word", "surprisal_bits"])
def test_a_missing_column_is_named(name: str) -> None:
    _refuses(frame().drop(columns=name), f"no column {name}", "model or run")


def test_other_mistakes_are_explained() -> None:
    _refuses(frame(seed="first"), "column seed: 'first' is not a whole number")
    _refuses({"the cat sat": [1, 2, 3]}, "the cat sat: not a mapping", "{model: {sentence:")
    with pytest.raises(TypeError, match="a DataFrame, or a mapping"):
        measured_table([1.0, 2.0], SENTENCES)


# ----------------------------------------------------------------------------
# Surprisals of any model on the sentences of suites.


OLD, NEW = ("the", "boys", "knew", "."), ("the", "man", "knew", ".")
# No sentence of the toy grammar goes on like this.
IMPOSSIBLE = ("the", "the", "boys", "knew")


class Lengths:
    """The surprisal of a word is the number of its letters, in bits."""

    def __init__(self, *, end: bool = True, **attributes: Any) -> None:
        self._end = end
        self.asked: list[Words] = []
        for name, value in attributes.items():
            setattr(self, name, value)

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        self.asked += [tuple(words) for words in sentences]
        return [
            -math.log(2) * np.array([*map(len, words), *([9] if self._end else [])])
            for words in sentences
        ]


@pytest.mark.parametrize("model", ["ngram", "lstm", "rnng", "plm"])
def test_a_run_is_measured_word_by_word(folder: Path, model: str) -> None:
    run = run_of(folder, model)
    words: list[int] = []
    found = measured_run(run, [OLD, NEW], parsed=[OLD], on_words=words.append)
    assert (found.name, found.language, sum(words)) == (run.name, "en", 8)
    for sentence, log_probs in zip([OLD, NEW], run.word_log_probs([OLD, NEW]), strict=True):
        assert len(found.surprisal_bits[sentence]) == 4
        expected = (log_probs[:4] / -math.log(2)).tolist()
        assert found.surprisal_bits[sentence] == pytest.approx(expected, abs=1e-6)
    assert found.knows("boys") and not found.knows("zebras")
    assert found.unigram_log_prob is not None and found.remedies == {}
    assert list(found.parses) == ([OLD] if run.is_syntactic else [])


@pytest.mark.parametrize("end", [True, False])
def test_anybody_s_model(end: bool) -> None:
    found = measured_scorer(Lengths(end=end, name="mine", language="en"), [OLD, NEW])
    assert found.surprisal_bits[OLD] == pytest.approx([3, 4, 4, 1])
    assert (found.name.run, found.name.model, found.language) == ("mine", "mine", "en")
    assert found.knows("zebras") and found.unigram_log_prob is None


def test_without_attributes_a_model_is_called_like_its_class_and_fits_every_language() -> None:
    found = measured_scorer(Lengths(), [OLD])
    assert (found.name.model, found.language) == ("Lengths", None)
    assert found.fits("en") and found.fits("zh")
    assert not measured_scorer(Lengths(language="zh"), [OLD]).fits("en")
    assert not measured_scorer(Lengths(knows="the".__eq__), [OLD]).knows("boys")


class _Wrong:
    """Returns what it was told to."""

    def __init__(self, log_probs: Any) -> None:
        self._log_probs = log_probs

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        found: list[Any] = self._log_probs
        return found


@pytest.mark.parametrize(
    ("log_probs", "problem"),
    [
        ([], "_Wrong: word_log_probs returned scores of 0 sentences for 1"),
        ([[-1.0], [-1.0]], "returned scores of 2 sentences for 1"),
        ([[-1.0] * 3], "3 log probabilities for the 4 words of 'the boys knew .'"),
        ([[-1.0] * 6], "6 log probabilities for the 4 words of 'the boys knew .'"),
        ([np.zeros((2, 4))], "8 log probabilities for the 4 words of 'the boys knew .'"),
        ([[3.0, 4.0, 4.0, 1.0]], "negative surprisals for 'the boys knew .'"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(log_probs: Any, problem: str) -> None:
    with pytest.raises(GardenpathError) as caught:
        measured_scorer(_Wrong(log_probs), [OLD])
    assert problem in str(caught.value)


def test_undefined_and_impossible_words_are_kept() -> None:
    found = measured_scorer(_Wrong([[-1.0, -math.inf, math.nan, math.nan]]), [OLD])
    first, second, *others = found.surprisal_bits[OLD]
    assert first == pytest.approx(1 / math.log(2)) and second == math.inf
    assert all(map(math.isnan, others))


def test_the_grammar_of_a_corpus_is_measured_once(folder: Path) -> None:
    runs = [run_of(folder, "ngram"), run_of(folder, "lstm")]
    possible = next(iter(runs[0].data.reader.read("test"))).words
    (found,) = exact_grammars(runs, lambda _: [possible, IMPOSSIBLE])
    assert (found.name.model, found.name.corpus, found.name.seed) == (EXACT, "toy_english", None)
    assert all(0 <= value < math.inf for value in found.surprisal_bits[possible])
    # What follows an impossible word is as impossible, and not undefined.
    assert found.surprisal_bits[IMPOSSIBLE][1:] == [math.inf] * 3


def test_a_grammar_is_asked_in_its_own_language(folder: Path) -> None:
    asked: list[str] = []

    def sentences(language: str) -> list[Words]:
        asked.append(language)
        return [OLD]

    exact_grammars([run_of(folder, "ngram"), run_of(folder, "rnng")], sentences)
    assert asked == ["en"]


# ----------------------------------------------------------------------------
# Which words matter, and the errors of a search from scores to tables and report.


COUNT = 6


def _regions() -> Suite:
    """A prediction about one region, and a critical region that it does not name."""
    text = "(verb;%match%) < (verb;%mismatch%)"
    return replace(
        agreement(), predictions=(Prediction("p", Formula.parse(text)),), critical=("end",)
    )


def test_words_of_predictions_and_critical_regions_matter() -> None:
    (first, *_), found = agreement().sentences, critical_positions([_regions()])
    assert first == ("the", "boys", "were", "happy", ".")
    assert set(found.values()) == {frozenset({2, 3, 4})} and set(found) == set(
        agreement().sentences
    )
    # The whole sentence, without its end.
    assert critical_positions([agreement()])[first] == frozenset(range(5))
    # Conditions that no prediction names have their critical region only.
    one_sided = Prediction("p", Formula.parse("(verb;%match%) > 2"))
    suite = replace(_regions(), predictions=(one_sided,))
    positions = critical_positions([suite])
    for item in suite.items:
        match, mismatch = (positions[variant.words] for variant in item.variants)
        assert (match, mismatch) == (frozenset({2, 3, 4}), frozenset({4}))


def test_sentences_of_several_suites_have_the_words_of_all() -> None:
    early = Prediction("p", Formula.parse("(subject;%match%) > (subject;%mismatch%)"))
    other = replace(agreement(), predictions=(early,), name="other")
    for sentence, places in critical_positions([_regions(), other]).items():
        assert places == frozenset(range(len(sentence)))


def test_words_of_effects_matter() -> None:
    (suite,) = load_suites(["filler_gap/embwhq"])
    found = critical_positions([suite])
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
