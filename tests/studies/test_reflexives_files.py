"""The published reflexive stimuli, and the surprisals that belong to them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.importing import Imported
from gardenpath.studies.layouts import import_reflexives
from gardenpath.studies.reflexives import load_reflexives, read_stimuli

HEADER = "item,locality,grammatical,mismatch_position,verb,pronoun,sentence,sentence_no_eos"
SENTENCES = (
    ("none", 1, "The aunt near the niece hurt herself ."),
    ("none", 1, "The niece near the aunt hurt herself ."),
    ("head", 0, "The aunts near the niece hurt herself ."),
    ("head", 0, "The nieces near the aunt hurt herself ."),
    ("distractor", 1, "The aunt near the nieces hurt herself ."),
    ("distractor", 1, "The niece near the aunts hurt herself ."),
)


def _row(position: str, grammatical: int, text: str, item: int = 1, spoken: str = "") -> str:
    said = spoken or text
    return f"{item},local,{grammatical},{position},hurt,herself,{said} <eos>,{text}"


ROWS = tuple(_row(*one) for one in SENTENCES)


def _stimuli(root: Path, *rows: str, header: str = HEADER, folder: str = "exp4-pp") -> Path:
    path = root / "stimuli" / folder / "herself.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8-sig")
    return path


def _surprisals(root: Path, *, ends: int = 1, change: tuple[str, str] = ("", "")) -> Path:
    lines = []
    for _, _, text in SENTENCES:
        words = text.replace(*change).split()
        lines += [f"{word}\t{number}.25" for number, word in enumerate(words)]
        lines += ["<eos>\t-0.0"] * ends
    path = root / "surprisal" / "mine" / "exp4-pp" / "herself_mine.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _import(root: Path, rules: PairingRules | None = None) -> Imported:
    chosen = rules or PairingRules(prefixes=False)
    return import_reflexives([root / "stimuli"], [SurprisalSet(root / "surprisal")], chosen)


def test_conditions_and_counterbalanced_variants(tmp_path: Path) -> None:
    path = _stimuli(tmp_path, *ROWS)
    suite = load_reflexives([tmp_path])["exp4-pp", "herself"].materials.suite
    assert (suite.name, suite.kind, suite.modifier) == (
        "reflexives/exp3/herself", "reflexives", "exp3"
    )  # fmt: skip
    assert suite.ties == "complete" and suite.items[0].labels == {"pronoun": "herself"}
    conditions = [variant.condition for variant in suite.items[0].variants]
    assert conditions == ["baseline"] * 2 + ["ungrammatical"] * 2 + ["distractor"] * 2
    assert suite.items[0].variants[0].regions[1:] == (("herself",), (".",))
    assert read_stimuli(path).contradicting == {}


def test_rows_of_an_item_need_not_be_contiguous(tmp_path: Path) -> None:
    second = [_row(*one, item=2) for one in SENTENCES]
    mixed = [row for pair in zip(ROWS, second, strict=True) for row in pair]
    materials = read_stimuli(_stimuli(tmp_path, *mixed)).materials
    assert [item.number for item in materials.suite.items] == [1, 2]
    assert materials.places == (0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11)
    assert materials.lines[:3] == (2, 3, 4)


def test_in_complements_the_second_noun_binds(tmp_path: Path) -> None:
    text = "The {} said that the {} hurt herself ."
    rows = (
        _row("none", 1, text.format("aunt", "niece")),
        _row("nonlocal_subj", 1, text.format("aunts", "niece")),
        _row("local_subj", 0, text.format("aunt", "nieces")),
    )
    suite = read_stimuli(_stimuli(tmp_path, *rows, folder="exp3-comp")).materials.suite
    assert suite.modifier == "exp2b"
    conditions = [variant.condition for variant in suite.items[0].variants]
    assert conditions == ["baseline", "distractor", "ungrammatical"]


def test_labels_that_contradict_are_counted_and_may_be_used(tmp_path: Path) -> None:
    """As in one released file: a distractor called ungrammatical, and the reverse."""
    rows = list(ROWS)
    rows[2] = _row("head", 1, SENTENCES[2][2])
    rows[4] = _row("distractor", 0, SENTENCES[4][2])
    path = _stimuli(tmp_path, *rows)
    found = read_stimuli(path)
    assert found.contradicting == {"grammatical": 2}
    assert found.notes == [
        "reflexives/exp3/herself: grammatical contradicts the sentence in 2 rows"
    ]
    assert found.materials.labels == ()
    labels = read_stimuli(path, "labels").materials.labels
    assert labels == (
        ("baseline",), ("baseline",), (), ("ungrammatical",),
        ("distractor", "ungrammatical"), ("distractor",),
    )  # fmt: skip


def test_a_sentence_may_be_worded_as_in_either_column(tmp_path: Path) -> None:
    wrong = "The aunt near the nieces hurt herself ."
    rows = (_row("none", 1, wrong, spoken=SENTENCES[0][2]), *ROWS[1:])
    _stimuli(tmp_path, *rows)
    _surprisals(tmp_path)
    imported = _import(tmp_path)
    (accepted,) = imported.receipt.surprisals[0].accepted
    assert (accepted.kind, accepted.found) == ("other stated wording", SENTENCES[0][2])
    words = imported.runs[0].suite.items[0].variants[0].words
    assert " ".join(words) == SENTENCES[0][2]


@pytest.mark.parametrize("ends", [0, 1, 2])
def test_sentences_end_where_marked_or_where_the_suite_says(tmp_path: Path, ends: int) -> None:
    _stimuli(tmp_path, *ROWS)
    _surprisals(tmp_path, ends=ends)
    imported = _import(tmp_path)
    assert imported.runs[0].rows == (tuple(number + 0.25 for number in range(8)),) * 6
    assert (imported.runs[0].name.run, imported.runs[0].name.seed) == ("mine", None)


def test_other_nouns_are_accepted_by_a_setting_only(tmp_path: Path) -> None:
    _stimuli(tmp_path, *ROWS)
    _surprisals(tmp_path, change=("aunts", "queens"))
    with pytest.raises(InputError, match="2 sentences reworded"):
        _import(tmp_path)
    imported = _import(tmp_path, PairingRules(prefixes=False, reworded=0.34))
    assert [d.kind for d in imported.receipt.surprisals[0].accepted] == ["reworded"] * 2
    assert [row[6] for row in imported.runs[0].rows] == [6.25] * 6
    assert imported.notes == ("reflexives/exp3/herself: 2 sentences reworded in 1 file",)


def test_unknown_words_are_noticed(tmp_path: Path) -> None:
    _stimuli(tmp_path, *ROWS)
    _surprisals(tmp_path, change=("herself", "<unk>"))
    assert _import(tmp_path).runs[0].unknown == {"herself"}


def _bert(root: Path, *, sentence: str = "", masked: str = "") -> None:
    header = f",{HEADER},bert_sentence,surprisal"
    rows = []
    for number, (row, (_, _, text)) in enumerate(zip(ROWS, SENTENCES, strict=True)):
        given = masked or text.lower().replace("herself", "***mask***")
        rows.append(f"{number},{row.replace(text, sentence or text)},{given},{number + 0.5}")
    path = root / "surprisal" / "bert" / "exp4-pp" / "herself_bert.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def test_masked_models_score_the_pronoun_only(tmp_path: Path) -> None:
    _stimuli(tmp_path, *ROWS)
    _bert(tmp_path)
    (run,) = _import(tmp_path, PairingRules()).runs
    assert [row[6] for row in run.rows] == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert all(math.isnan(value) for row in run.rows for value in (*row[:6], row[7]))
    _bert(tmp_path, masked="the aunt hurt ***mask*** .")
    with pytest.raises(InputError, match=r":2: 'the aunt hurt .*' is not 'The aunt near"):
        _import(tmp_path)
    _bert(tmp_path, masked="the aunt hurt herself .")
    with pytest.raises(InputError, match="has not one mask"):
        _import(tmp_path)


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        ((ROWS[0].replace("1,local", "one,local"),), HEADER, ":2: item 'one' is not a number"),
        ((ROWS[0].replace("herself .", "him ."),), HEADER, ":2: the sentence does not contain"),
        ((ROWS[0].replace("none", "there"),), HEADER, ":2: mismatch_position is 'there'"),
        ((ROWS[0].replace("none", "head"),), HEADER, "(ungrammatical), but the sentence is of"),
        (("1,local,1",), HEADER, ":2: has too few columns"),
        ((), HEADER, "contains no sentences"),
        (ROWS[:5], HEADER, "item 1 has 1 rows of condition distractor, others have 2"),
        ((*ROWS[:5], ROWS[5].replace("hurt,", "saw,")), HEADER, "item 1 has the verb 'hurt'"),
        ((), "item,pronoun", "has no column grammatical, mismatch_position, verb, sentence"),
    ],
)
def test_mistakes_in_stimuli_are_named(
    tmp_path: Path, rows: tuple[str, ...], header: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_stimuli(_stimuli(tmp_path, *rows, header=header))
    assert message in str(caught.value)


def test_mistakes_in_surprisals_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no reflexive stimuli"):
        load_reflexives([tmp_path])
    _stimuli(tmp_path, *ROWS)
    path = _surprisals(tmp_path, ends=0)
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "word 1 2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r":49: 'word 1 2' is not a token and its surprisal"):
        _import(tmp_path)
    path.write_text(text + "word\t1\n", encoding="utf-8")
    with pytest.raises(InputError, match="49 words, but the materials have 48"):
        _import(tmp_path)
