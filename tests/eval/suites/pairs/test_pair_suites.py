"""Published sets of minimal pairs as suites; the real ones where they are given."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.pairs import PAIR_SETS, MissingPairsError, PairSource, pair_set_of
from gardenpath.eval.suites.suite import Suite, SuiteError
from gardenpath.eval.suites.yaml_suites import dump_compact, load_compact
from tests.eval.suites.pairs.pair_samples import ENGLISH, MANDARIN, json_lines, write_set, zipped


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
