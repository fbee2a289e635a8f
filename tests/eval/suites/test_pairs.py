"""Accuracies on published minimal pairs, against a straightforward computation."""

from __future__ import annotations

import math
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.suites import pairs as pair_accuracy
from gardenpath.eval.suites.benchmarks import Pair, pair_suite
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.pairs import (
    PAIR_SCORES,
    PAIR_SETS,
    MissingPairsError,
    PairSet,
    PairSource,
    ScoredPairs,
    pair_accuracies,
    pair_set_of,
    pair_tables,
    pair_words,
    pairs_in_words,
    phenomenon_frames,
)
from gardenpath.eval.suites.suite import Suite, SuiteError
from gardenpath.eval.suites.summary import RunName
from gardenpath.eval.suites.yaml_suites import dump_compact, load_compact
from gardenpath.store.tables import AGGREGATE
from gardenpath.util import Words
from tests.eval.suites.suite_samples import ENGLISH, MANDARIN, json_lines, write_set, zipped

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


@pytest.mark.slow
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


# ----------------------------------------------------------------------------
# Published sets of minimal pairs as suites; the real ones where they are given.


def _loaded(pattern: str, root: Path, segmenter: str | None = None) -> dict[str, Suite]:
    source = PairSource(root=str(root), segmenter=segmenter)
    return {suite.name: suite for suite in load_suites(pattern, pairs=source)}


def _words(suite: Suite, condition: str, item: int = 0) -> tuple[str, ...]:
    (variant,) = suite.items[item].of_condition(condition)
    return variant.words


def test_one_suite_per_paradigm_with_labels(tmp_path: Path) -> None:
    suites = _loaded("blimp", write_set(tmp_path / "data", "blimp", ENGLISH))
    assert list(suites) == [f"blimp/{name}" for name in sorted(ENGLISH)]
    first = suites["blimp/agreement_2"]
    assert _words(first, "good") == ("Bill", "'s", "dog", "is", "n't", "here", ".")
    assert first.language == "en" and first.spaced and first.kind == "agreement"
    labels = {"paradigm": "agreement_2", "phenomenon": "agreement", "field": "syntax"}
    assert first.items[0].labels == labels
    assert first.meta == {"minimal_pairs": "blimp", "words": "as in treebanks"}
    assert len(suites["blimp/agreement_1"].items) == 2
    assert {str(one.formula) for suite in suites.values() for one in suite.predictions} == {
        "(*;%bad%) > (*;%good%)"
    }


def test_selectional_restrictions_are_argument_structure_as_in_the_paper(tmp_path: Path) -> None:
    suites = _loaded("blimp", write_set(tmp_path / "data", "blimp", ENGLISH))
    assert suites["blimp/animate"].kind == "argument_structure"


def test_patterns_and_what_is_left_out(tmp_path: Path) -> None:
    root = write_set(tmp_path / "data", "blimp", ENGLISH)
    assert list(_loaded("blimp/agree*", root)) == ["blimp/agreement_1", "blimp/agreement_2"]
    assert list(_loaded("blimp/passive", root)) == ["blimp/passive"]
    source = PairSource(root=str(root))
    kept = load_suites(["blimp/a*", "blimp/passive"], pairs=source, leave_out=["*_2", "*/animate"])
    assert [suite.name for suite in kept] == ["blimp/agreement_1", "blimp/passive"]
    with pytest.raises(SuiteError, match="leaves out all suites"):
        load_suites("blimp", pairs=source, leave_out=["blimp/*"])
    with pytest.raises(SuiteError, match="did you mean 'blimp/passive'"):
        load_suites("blimp/pasive", pairs=source)


@pytest.mark.parametrize("form", ["climp", "sling", "zhoblimp"])
def test_mandarin_is_divided_by_the_named_segmenter(tmp_path: Path, form: str) -> None:
    root = write_set(tmp_path / PAIR_SETS[form].folder, form, MANDARIN)
    suites = _loaded(form, root, "characters")
    assert list(suites) == [f"{form}/{name}" for name in sorted(MANDARIN)]
    order = suites[f"{form}/BA_order"]
    assert _words(order, "good") == tuple("他把书看了。")
    assert _words(order, "bad", 1) == tuple("我吃了把饭。")
    assert order.language == "zh" and not order.spaced and order.kind == "BA"
    assert order.meta["words"] == "characters"
    assert {one.kind for one in suites.values()} == {"BA", "question"}
    other = _loaded(form, root, "jieba")[f"{form}/wh_place"]
    assert _words(other, "good") == ("你", "看见", "谁", "？")
    assert str(other.meta["words"]).startswith("jieba 0.")


@pytest.mark.parametrize("form", ["climp", "sling", "zhoblimp"])
def test_mandarin_without_a_segmenter_is_refused(tmp_path: Path, form: str) -> None:
    root = write_set(tmp_path / "set", form, MANDARIN)
    with pytest.raises(SuiteError, match=r"name a segmenter, suite\.segmenter=jieba"):
        _loaded(form, root)
    with pytest.raises(GardenpathError, match="unknown segmenter 'word'"):
        _loaded(form, root, "word")


def test_blanks_in_the_files_separate_words(tmp_path: Path) -> None:
    spaced = {"a": ("BA", [("他 把 书 看 了 。", "他 看 了 把 书 。")])}
    suites = _loaded("zhoblimp", write_set(tmp_path / "set", "zhoblimp", spaced))
    assert _words(suites["zhoblimp/a"], "good") == ("他", "把", "书", "看", "了", "。")
    assert suites["zhoblimp/a"].meta["words"] == "as written"


def test_anaphors_of_sling_are_two_phenomena_and_its_reflexives_another_set(tmp_path: Path) -> None:
    root = tmp_path / "SLING_Data"
    pairs = [("她们看见她们。", "她们看见她。")]
    for folder, name in (("", "self"), ("Plural", "cl_self"), ("reflexive_auto", "animacy")):
        place = root / "Anaphor" / folder
        # The files of the folder Plural all have the same name of a paradigm.
        text = json_lines(folder or name, "Anaphor", pairs, "sling")
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.jsonl").write_text(text, encoding="utf-8")
    found = _loaded("sling", root, "characters")
    kinds = {"sling/self": "Anaphor (gender)", "sling/cl_self": "Anaphor (number)"}
    assert {name: suite.kind for name, suite in found.items()} == kinds
    assert found["sling/cl_self"].items[0].labels["paradigm"] == "cl_self"
    others = _loaded("sling_reflexives", root, "characters")
    assert {name: suite.kind for name, suite in others.items()} == {
        "sling_reflexives/animacy": "Reflexive_auto"
    }


def test_archives_copies_of_a_repository_and_folders_of_archives(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "copy" / "data", "blimp", ENGLISH)
    expected = _loaded("blimp", folder)
    other = tmp_path / "copy" / "results"
    other.mkdir()
    (other / "outputs.jsonl").write_text('{"prob_good": -3}\n')
    assert _loaded("blimp", tmp_path / "copy") == expected
    archive = zipped(folder, tmp_path / "BLiMP.zip")
    assert _loaded("blimp", archive) == expected
    (tmp_path / "sets" / "english").mkdir(parents=True)
    archive.rename(tmp_path / "sets" / "english" / "BLiMP.zip")
    assert _loaded("blimp", tmp_path / "sets") == expected


def test_a_set_that_is_not_there_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingPairsError, match="alexwarstadt/blimp") as raised:
        load_suites("blimp")
    assert "suite.root=FOLDER_OR_ARCHIVE" in str(raised.value)
    with pytest.raises(MissingPairsError, match=r"has no files \*\.csv of it"):
        _loaded("climp", tmp_path)
    for name, which in PAIR_SETS.items():
        with pytest.raises(MissingPairsError, match=which.title):
            load_suites(name)


def test_broken_files_are_named_with_their_line(tmp_path: Path) -> None:
    root = write_set(tmp_path / "data", "blimp", ENGLISH)
    path = root / "passive.jsonl"
    path.write_text(path.read_text() + '{"sentence_good": "x"\n')
    with pytest.raises(InputError, match=r"data/passive\.jsonl:2: is not JSON"):
        _loaded("blimp", zipped(root, tmp_path / "BLiMP.zip"))
    path.write_text("\n")
    with pytest.raises(InputError, match=r"passive\.jsonl: contains no pairs"):
        _loaded("blimp", root)
    # Other paradigms are not read.
    assert list(_loaded("blimp/animate", root)) == ["blimp/animate"]


def test_two_files_of_a_paradigm_are_refused(tmp_path: Path) -> None:
    for version in ("old", "new"):
        write_set(tmp_path / version, "blimp", ENGLISH)
    with pytest.raises(InputError, match="is a second file of the paradigm"):
        _loaded("blimp", tmp_path)


def test_several_phenomena_in_a_file_are_refused(tmp_path: Path) -> None:
    one = json_lines("a", "x", [("He runs.", "He run.")], "blimp")
    other = json_lines("a", "y", [("He runs.", "He run.")], "blimp")
    (tmp_path / "a.jsonl").write_text(one + other)
    with pytest.raises(InputError, match="pairs of several phenomena: x, y"):
        _loaded("blimp", tmp_path)


def test_an_exported_suite_still_belongs_to_its_set(tmp_path: Path) -> None:
    suites = _loaded("blimp/passive", write_set(tmp_path / "data", "blimp", ENGLISH))
    path = tmp_path / "passive.yaml"
    path.write_text(dump_compact(suites["blimp/passive"]), encoding="utf-8")
    again = pair_set_of(load_compact(path))
    assert again is not None and again.name == "blimp"


# The published files.


@cache
def _published(name: str, reference_data: Path) -> dict[str, Suite]:
    return _loaded(name, reference_data / "minimal_pairs", "characters")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIR_SETS)
def test_the_published_files_have_the_published_size(reference_data: Path, name: str) -> None:
    suites, which = _published(name, reference_data), PAIR_SETS[name]
    assert len(suites) == which.paradigms
    assert len({suite.kind for suite in suites.values()}) == which.phenomena
    assert {len(suite.items) for suite in suites.values()} == {which.pairs}
    assert {suite.language for suite in suites.values()} == {which.language}
    for suite in suites.values():
        labels = {frozenset(item.labels.items()) for item in suite.items}
        assert len(labels) == 1 and dict(next(iter(labels)))["paradigm"] in suite.name
        assert all(len(item.variants) == 2 for item in suite.items)


def test_phenomena_of_the_published_files(reference_data: Path) -> None:
    # Table 2 of the paper on BLiMP
    blimp = Counter(suite.kind for suite in _published("blimp", reference_data).values())
    assert blimp["argument_structure"] == 9 and blimp["island_effects"] == 8
    assert blimp["anaphor_agreement"] == 2 and blimp["quantifiers"] == 4
    sling = Counter(suite.kind for suite in _published("sling", reference_data).values())
    assert sling["Anaphor (gender)"] == 6 and sling["Anaphor (number)"] == 12
    assert sling["Classifier-Noun"] == 7
    climp = _published("climp", reference_data)
    assert climp["climp/ba_construction"].kind == "ba_construction"
    assert climp["climp/coverb_with"].kind == "coverb"


def test_final_punctuation_of_english_is_a_word(reference_data: Path) -> None:
    for suite in _published("blimp", reference_data).values():
        for words in suite.sentences:
            assert words[-1] in (".", "?")
            assert not any(word[-1] in "?,;!" for word in words[:-1] if len(word) > 1)
