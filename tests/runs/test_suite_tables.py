"""Which items are scored, and what the tables say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import EXACT_TIES, TieRule
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.runs.suite_tables import (
    Measured,
    exact_grammars,
    selected,
    sentences_in,
    suite_tables,
    word_pair_rows,
)
from gardenpath.util import Words
from tests.runs.own_suite import agreement
from tests.toy_runs import run_of


def _measured(
    values: Mapping[Words, Sequence[float]], name: str = "mine", language: str | None = "en"
) -> Measured:
    return Measured(
        name=RunName(run=name, model=name),
        language=language,
        surprisal_bits=values,
        knows=lambda word: word != "wugs",
    )


def _values(suite: Suite, *, was: float = 5.0) -> dict[Words, list[float]]:
    """One bit for each word, and another number for the word *was*."""
    return {s: [was if word == "was" else 1.0 for word in s] for s in suite.sentences}


def test_all_items_or_the_first_ones() -> None:
    own = agreement()
    knowers = {"en": [lambda word: word != "wugs"]}
    assert selected([own], knowers, in_vocabulary=False, items=None) == [own]
    (first,) = selected([own], knowers, in_vocabulary=False, items=1)
    assert first.items == own.items[:1]


def test_only_items_whose_words_all_models_know() -> None:
    own = agreement()
    knowers = {"en": [lambda _: True, lambda word: word != "wugs"]}
    (known,) = selected([own], knowers, in_vocabulary=True, items=None)
    assert [item.number for item in known.items] == [1]
    # The limit counts items that are left.
    turned = replace(own, items=own.items[::-1])
    (limited,) = selected([turned], knowers, in_vocabulary=True, items=1)
    assert [item.number for item in limited.items] == [1]


def test_no_item_of_known_words_is_an_error_with_a_remedy() -> None:
    own = replace(agreement(), items=agreement().items[1:])
    knowers = {"en": [lambda word: word != "wugs"]}
    with pytest.raises(GardenpathError, match=r"suite\.in_vocabulary=false"):
        selected([own], knowers, in_vocabulary=True, items=None)


def test_sentences_of_a_language_each_once() -> None:
    own = agreement()
    other = replace(own, language="zh")
    assert sentences_in([own, own, other], "en") == list(own.sentences)
    assert sentences_in([other], "en") == [] and sentences_in([own, other], None)


def test_outcomes_and_differences_by_hand() -> None:
    own = agreement()
    tables = suite_tables([own], [_measured(_values(own))], ties=EXACT_TIES)
    items = tables.items
    assert items["item"].tolist() == [1, 2] and items["outcome"].tolist() == [1.0, 1.0]
    assert items["difference_bits"].tolist() == pytest.approx([4.0, 4.0])
    assert items["unknown_words"].tolist() == ["", "wugs"]
    assert set(tables.surprisals.loc[~tables.surprisals["seen"], "word"]) == {"wugs"}
    assert len(tables.surprisals) == sum(map(len, own.sentences))
    assert tables.notes == () and tables.parses == {}


def test_ties_count_as_chance_or_by_a_seeded_coin() -> None:
    own = agreement()
    even = [_measured(_values(own, was=1.0))]
    expected = suite_tables([own], even, ties=EXACT_TIES).items
    assert expected["outcome"].tolist() == [0.5, 0.5] and expected["tie"].all()
    tossed = [
        suite_tables([own], even, ties=TieRule(ties="exact", credit="coin", seed=seed))
        .items["outcome"]
        .tolist()
        for seed in (0, 0, *range(1, 12))
    ]
    assert tossed[0] == tossed[1] and {tuple(one) for one in tossed} > {tuple(tossed[0])}
    assert {value for one in tossed for value in one} == {0.0, 1.0}


def test_models_are_scored_on_suites_in_their_language_only() -> None:
    own = agreement()
    chinese = replace(own, name="other", language="zh")
    models = [_measured(_values(own), "en"), _measured(_values(own), "any", None)]
    items = suite_tables([own, chinese], models, ties=EXACT_TIES).items
    pairs = set(items[["run", "suite"]].itertuples(index=False, name=None))
    assert pairs == {("en", "agreement"), ("any", "agreement"), ("any", "other")}


def test_failures_are_noted_for_the_sentences_of_these_suites_only() -> None:
    own = agreement()
    remedies = {own.sentences[0]: "raise search.max_open", ("elsewhere",): "raise search.max_open"}
    failed = replace(_measured(_values(own)), remedies=remedies)
    (note,) = suite_tables([own], [failed], ties=EXACT_TIES).notes
    assert note == "mine: no hypothesis survived 'the boys were happy .'; raise search.max_open"


def test_parses_are_found_by_run_suite_item_condition_variant_and_word() -> None:
    own = agreement()
    parses = [[(0.9, f"(S {place})")] for place in range(6)]
    parsed = replace(_measured(_values(own)), parses={own.sentences[1]: parses})
    found = suite_tables([own], [parsed], ties=EXACT_TIES).parses
    assert set(found) == {("mine", "agreement", 1, "mismatch", 1, place) for place in range(1, 6)}
    assert found["mine", "agreement", 1, "mismatch", 1, 3] == parses[2]


def test_all_items_of_the_small_suites_are_right_for_the_exact_grammar(folder: Path) -> None:
    suites = load_suites(["reflexives/toy", "center_embedding/toy", "islands/toy"])
    few = [replace(one, items=one.items[::4]) for one in suites]
    runs = [run_of(folder, "ngram"), run_of(folder, "lstm")]
    exact = exact_grammars(runs, lambda language: sentences_in(few, language))
    assert len(exact) == 1
    items = suite_tables(few, exact, ties=EXACT_TIES).items
    assert (items["outcome"] == 1.0).all() and not items["tie"].any()


def test_local_and_global_surprisal_of_sentences() -> None:
    own = agreement()
    tables = suite_tables([own], [_measured(_values(own))], ties=EXACT_TIES)
    found = tables.sentences.set_index(["item", "condition"])["global_bits_per_word"]
    assert found.loc[1].to_dict() == pytest.approx({"match": 1.0, "mismatch": 9 / 5})
    assert (
        len(tables.sentences) == 4 and np.isfinite(tables.sentences["global_bits_per_word"]).all()
    )


def test_word_pairs_have_a_row_for_each_vocabulary(folder: Path) -> None:
    suites = load_suites(["reflexives/toy"])
    runs = [run_of(folder, "ngram"), run_of(folder, "lstm")]
    rows = word_pair_rows(suites, runs)
    assert rows == word_pair_rows(suites, runs[:1]) != []
    vocabulary = runs[0].vocabulary
    counts = dict(zip(vocabulary.tokens, vocabulary.counts, strict=True))
    assert any(row["first_count"] for row in rows)
    for row in rows:
        assert (row["corpus"], row["suite"]) == ("toy_english", "reflexives/toy")
        assert row["first_count"] == counts.get(str(row["first"]), 0)
    assert word_pair_rows([replace(suites[0], language="zh")], runs) == []
