"""The published reflexive stimuli and the surprisals that belong to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.reflexives import load_reflexives, read_stimuli, read_two_columns

HEADER = "item,grammatical,mismatch_position,pronoun,sentence_no_eos"
ROWS = (
    "1,1,none,herself,The aunt near the niece hurt herself .",
    "1,1,none,herself,The niece near the aunt hurt herself .",
    "1,0,head,herself,The aunts near the niece hurt herself .",
    "1,0,head,herself,The nieces near the aunt hurt herself .",
    "1,1,distractor,herself,The aunt near the nieces hurt herself .",
    "1,1,distractor,herself,The niece near the aunts hurt herself .",
)


def _stimuli(root: Path, *rows: str, header: str = HEADER) -> Path:
    path = root / "exp4-pp" / "herself.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def _surprisals(root: Path, *, ends: int, change: tuple[str, str] = ("", "")) -> Path:
    lines = []
    for row in ROWS:
        words = row.rpartition(",")[2].replace(*change).split()
        lines += [f"{word}\t{number}.25" for number, word in enumerate(words)]
        lines += ["<eos>\t-0.0"] * ends
    path = root / "herself_x.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_conditions_and_counterbalanced_variants(tmp_path: Path) -> None:
    _stimuli(tmp_path, *ROWS)
    suites = load_reflexives(tmp_path)
    suite = suites["exp4-pp", "herself"]
    assert (suite.kind, suite.modifier) == ("reflexives", "prepositional_phrase")
    assert suite.items[0].labels == {"pronoun": "herself"}
    conditions = [variant.condition for variant in suite.items[0].variants]
    assert conditions == ["baseline"] * 2 + ["ungrammatical"] * 2 + ["distractor"] * 2
    assert suite.items[0].variants[0].regions[1:] == (("herself",), (".",))


@pytest.mark.parametrize("ends", [0, 1, 2])
def test_sentences_end_where_marked_or_where_the_suite_says(tmp_path: Path, ends: int) -> None:
    suite = read_stimuli(_stimuli(tmp_path, *ROWS))
    run = read_two_columns(_surprisals(tmp_path, ends=ends), suite)
    assert run.rows == (tuple(number + 0.25 for number in range(8)),) * 6
    assert run.reworded == 0


def test_other_nouns_leave_the_pronoun_its_surprisal(tmp_path: Path) -> None:
    suite = read_stimuli(_stimuli(tmp_path, *ROWS))
    run = read_two_columns(_surprisals(tmp_path, ends=1, change=("aunts", "queens")), suite)
    assert run.reworded == 2
    assert [row[6] for row in run.rows] == [6.25] * 6


def test_unknown_words_are_noticed(tmp_path: Path) -> None:
    suite = read_stimuli(_stimuli(tmp_path, *ROWS))
    run = read_two_columns(_surprisals(tmp_path, ends=1, change=("herself", "<unk>")), suite)
    assert run.unknown == {"herself"} and run.reworded == 0


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (("one,1,none,herself,She hurt herself .",), HEADER, ":2: item 'one' is not a number"),
        (("1,1,none,herself,She hurt him .",), HEADER, ":2: the sentence does not contain"),
        (("1,1,none",), HEADER, ":2: has too few columns"),
        ((), "item,pronoun", "has no column grammatical, mismatch_position, sentence_no_eos"),
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
        load_reflexives(tmp_path)
    suite = read_stimuli(_stimuli(tmp_path, *ROWS))
    path = _surprisals(tmp_path, ends=0)
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "word 1 2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r":49: 'word 1 2' is not a token and its surprisal"):
        read_two_columns(path, suite)
    path.write_text(text + "word\t1\n", encoding="utf-8")
    with pytest.raises(InputError, match="49 words, but suite reflexives/exp4-pp/herself has 48"):
        read_two_columns(path, suite)
