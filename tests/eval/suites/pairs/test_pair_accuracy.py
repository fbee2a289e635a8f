"""Accuracies on published minimal pairs, against a straightforward computation."""

from __future__ import annotations

import math
import random
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gardenpath.eval.suites import pairs as pair_accuracy
from gardenpath.eval.suites.benchmarks import Pair, pair_suite
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.pairs import (
    PAIR_SCORES,
    PAIR_SETS,
    PairSet,
    PairSource,
    ScoredPairs,
    pair_accuracies,
    pair_tables,
    pair_words,
    pairs_in_words,
    phenomenon_frames,
)
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.store.tables import AGGREGATE
from gardenpath.util import Words

NAME = RunName(run="runs/a", model="a", corpus="c", seed=3)


def _suite(name: str, kind: str, pairs: Sequence[tuple[str, str]], which: str = "blimp") -> Suite:
    labels = {"paradigm": name, "phenomenon": kind, "field": "syntax"}
    listed = [Pair(good, bad, n, labels) for n, (good, bad) in enumerate(pairs)]
    suite = pair_suite(listed, path="x", name=f"{which}/{name}", kind=kind)
    return replace(suite, meta={"minimal_pairs": which, "words": "as in treebanks"})


def _scored(
    suite: Suite, bits: Sequence[tuple[Sequence[float], Sequence[float]]], **more: object
) -> ScoredPairs:
    rows = [row for pair in bits for row in pair]
    return ScoredPairs(name=NAME, suite=suite, rows=rows, **more)  # type: ignore[arg-type]


def _only(frame: pd.DataFrame, **wanted: str) -> pd.Series:
    rows = frame
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1
    return rows.iloc[0]


def test_lengths_decide_between_the_scores() -> None:
    """Good: 3 words, 6 bits; bad: 4 words, 7 bits. The sum is smaller, the mean is larger."""
    suite = _suite("a", "x", [("a b c", "a b c d")])
    frame = pair_accuracies([_scored(suite, [([2.0, 2.0, 2.0], [1.0, 2.0, 2.0, 2.0])])])
    found = {s: _only(frame, score=s, level="paradigm")["accuracy"] for s in PAIR_SCORES}
    # 6 < 7; 6/3 > 7/4; 6/sqrt(3) = 3.46 < 7/2
    assert found == {"log_prob": 1.0, "mean_log_prob": 0.0, "sublinear_log_prob": 1.0}


def test_tokens_are_those_of_the_model() -> None:
    suite = _suite("a", "x", [("a b c", "a b c d")])
    bits = [([2.0, 2.0, 2.0], [1.0, 2.0, 2.0, 2.0])]
    tokens = {("a", "b", "c"): 4, ("a", "b", "c", "d"): 4}
    frame = pair_accuracies([_scored(suite, bits, tokens=tokens.__getitem__)])
    assert _only(frame, score="mean_log_prob", level="paradigm")["accuracy"] == 1.0


@pytest.mark.parametrize(("which", "expected"), [("blimp", 0.5), ("zhoblimp", 0.5), ("sling", 1.0)])
def test_ties_count_as_their_authors_count_them(which: str, expected: float) -> None:
    suite = _suite("a", "x", [("a b", "b a"), ("a b", "a c")], which)
    rows = [([1.0, 2.0], [2.0, 1.0]), ([1.0, 2.0], [1.0, 3.0])]
    row = _only(
        pair_accuracies([_scored(suite, rows)]), score=PAIR_SETS[which].score, level="paradigm"
    )
    assert row["accuracy"] == expected and row["accuracy_ties_half"] == 0.75
    assert row["ties"] == 1 and row["pairs"] == 2 and row["missing"] == 0


def test_missing_and_infinite_surprisals() -> None:
    inf, nan = math.inf, math.nan
    suite = _suite("a", "x", [("a", "b"), ("a", "c"), ("d", "e"), ("f", "g")])
    rows = [([1.0], [inf]), ([nan], [2.0]), ([inf], [inf]), ([inf], [1.0])]
    row = _only(pair_accuracies([_scored(suite, rows)]), score="log_prob", level="paradigm")
    assert (row["missing"], row["ties"], row["pairs"]) == (1, 1, 4)
    assert row["accuracy"] == pytest.approx(1 / 3) and row["accuracy_ties_half"] == 0.5
    nothing = pair_accuracies([_scored(suite, [([nan], [nan])] * 4)])
    assert nothing["accuracy"].isna().all()


def test_overall_means_weigh_paradigms_or_phenomena() -> None:
    right, wrong = [([1.0], [2.0])], [([2.0], [1.0])]
    one = [("a", "b")]
    frame = pair_accuracies(
        [
            _scored(_suite("p", "x", one), right),
            _scored(_suite("q", "x", one), right),
            _scored(_suite("r", "y", [*one, ("c", "d")]), [*wrong, *wrong]),
        ]
    )
    rows = frame[frame["score"] == "log_prob"]
    assert _only(rows, name="mean over paradigms")["accuracy"] == pytest.approx(2 / 3)
    assert _only(rows, name="mean over phenomena")["accuracy"] == 0.5
    assert _only(rows, level="field")["accuracy"] == pytest.approx(2 / 3)
    assert _only(rows, level="phenomenon", name="x")["paradigms"] == 2
    assert list(frame.columns) == [*AGGREGATE.names, "near_ties"]


def test_official_needs_all_pairs_and_the_score_of_the_authors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = replace(PAIR_SETS["blimp"], paradigms=2, pairs=2)
    monkeypatch.setitem(PAIR_SETS, "blimp", small)
    two, bits = [("a", "b"), ("c", "d")], [([1.0], [2.0]), ([2.0], [1.0])]
    p, q = _scored(_suite("p", "x", two), bits), _scored(_suite("q", "y", two), bits)
    frame = pair_accuracies([p, q])
    assert set(frame[frame["official"]]["score"]) == {"log_prob"}
    assert frame[frame["score"] == "log_prob"]["official"].all()
    assert "all pairs, as in Warstadt et al. 2020" in pairs_in_words(small, frame)
    fewer = _scored(_suite("q", "y", two[:1]), bits[:1])
    lacking = _scored(_suite("q", "y", two), [([math.nan], [2.0]), ([2.0], [1.0])])
    for scored in ([p], [p, fewer], [p, lacking]):
        found = pair_accuracies(scored)
        assert not found["official"].any()
        assert "not comparable with Warstadt et al. 2020" in pairs_in_words(small, found)


def test_other_suites_have_no_part_in_it() -> None:
    suite = replace(_suite("a", "x", [("a", "b")]), meta={})
    assert len(pair_accuracies([_scored(suite, [([1.0], [2.0])])])) == 0
    assert pair_words([suite]) == {}


@given(st.integers(0, 2**32), st.sampled_from(sorted(PAIR_SETS)))
def test_equal_to_a_straightforward_computation(seed: int, name: str) -> None:
    dice = random.Random(seed)
    suites, rows = [], []
    for number in range(dice.randint(1, 5)):
        pairs = [
            (" ".join("ab"[dice.random() < 0.5] for _ in range(dice.randint(1, 4))),
             " ".join("ab"[dice.random() < 0.5] for _ in range(dice.randint(1, 4))))
            for _ in range(dice.randint(1, 5))
        ]  # fmt: skip
        suites.append(_suite(f"p{number}", dice.choice("xyz"), pairs, name))
        # Few values, so that there are ties
        rows.append(
            [
                tuple([float(dice.randint(1, 3)) for _ in text.split()] for text in pair)
                for pair in pairs
            ]
        )
    frame = pair_accuracies(
        _scored(suite, bits)  # type: ignore[arg-type]
        for suite, bits in zip(suites, rows, strict=True)
    )
    _compare(frame, PAIR_SETS[name], [(s, b) for s, b in zip(suites, rows, strict=True)])


def _compare(
    frame: pd.DataFrame,
    which: PairSet,
    given: Sequence[tuple[Suite, Sequence[Sequence[Sequence[float]]]]],
) -> None:
    """Compare all rows of a run with means of outcomes, one loop per level."""
    for score, power in {"log_prob": 0, "mean_log_prob": 1, "sublinear_log_prob": 0.5}.items():
        paradigms: dict[str, float] = {}
        phenomena = defaultdict(list)
        for suite, bits in given:
            outcomes = []
            for good, bad in bits:
                first, second = sum(good) / len(good) ** power, sum(bad) / len(bad) ** power
                if which.tie_is_correct:
                    outcomes.append(first <= second)
                else:
                    outcomes.append(first < second)
            accuracy = sum(outcomes) / len(outcomes)
            paradigms[suite.name.split("/")[1]] = accuracy
            phenomena[suite.kind].append(accuracy)
        rows = frame[frame["score"] == score]
        for name, accuracy in paradigms.items():
            assert _only(rows, level="paradigm", name=name)["accuracy"] == accuracy
        means = {name: sum(found) / len(found) for name, found in phenomena.items()}
        for name, accuracy in means.items():
            found = _only(rows, level="phenomenon", name=name)["accuracy"]
            assert found == pytest.approx(accuracy, abs=1e-12)
        overall = _only(rows, level="overall", name="mean over paradigms")["accuracy"]
        assert overall == pytest.approx(sum(paradigms.values()) / len(paradigms), abs=1e-12)
        overall = _only(rows, level="overall", name="mean over phenomena")["accuracy"]
        assert overall == pytest.approx(sum(means.values()) / len(means), abs=1e-12)


def test_tables_for_readers() -> None:
    right, wrong = [([1.0], [2.0])], [([2.0], [1.0])]
    x, y = _suite("p", "noun_phrase", [("a", "b")]), _suite("q", "y", [("a", "b")])
    second = [replace(_scored(x, wrong), name=replace(NAME, run="runs/b", seed=4)),
              replace(_scored(y, wrong), name=replace(NAME, run="runs/b", seed=4))]  # fmt: skip
    frame = pair_accuracies([_scored(x, right), _scored(y, wrong), *second])
    ((which, wide),) = phenomenon_frames(frame)
    assert which.name == "blimp"
    # Means over the two runs of the model
    assert wide.set_index("name")["a"].to_dict() == {
        "noun_phrase": 0.5, "y": 0.0, "mean over paradigms": 0.25, "mean over phenomena": 0.25
    }  # fmt: skip
    (table,) = pair_tables(frame)
    with (shown := Console(width=100)).capture() as printed:
        shown.print(table)
    for text in ("noun phrase", "0.500", "mean over paradigms", "ties count as wrong",
                 "words: as in treebanks"):  # fmt: skip
        assert text in " ".join(printed.get().split())
    assert pair_words([x, y]) == {"blimp": "as in treebanks"}


# The published files.


def _toy_bits(words: Words) -> list[float]:
    """Surprisals of a made-up model: of each word after the one before it, in eighths of bits."""
    before = ("", *words)
    return [
        1 + zlib.crc32(f"{one} {other}".encode()) % 64 / 8
        for one, other in zip(before, words, strict=False)
    ]


@pytest.mark.parametrize("name", ["climp", "sling", "zhoblimp", "blimp"])
def test_published_sets_with_a_made_up_model(reference_data: Path, name: str) -> None:
    source = PairSource(root=str(reference_data / "minimal_pairs"), segmenter="characters")
    patterns = {"blimp": ["blimp/*_agreement*", "blimp/a*"]}.get(name, [name])
    suites = load_suites(patterns, pairs=source)
    given = [
        (suite, [[_toy_bits(v.words) for v in item.variants] for item in suite.items])
        for suite in suites
    ]
    frame = pair_accuracies(_scored(suite, bits) for suite, bits in given)  # type: ignore[arg-type]
    _compare(frame, PAIR_SETS[name], given)
    assert frame["official"].any() == (name != "blimp")
    overall = frame[frame["level"] == pair_accuracy.OVERALL]
    assert (overall["pairs"] == sum(len(suite.items) for suite in suites)).all()
