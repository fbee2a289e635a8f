"""Damage that only shows between files, in the numbers alone, or in files of masked models."""

from __future__ import annotations

import csv
import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.importing import Imported
from gardenpath.studies.layouts import import_mandarin, import_reflexives, import_suppression
from tests.eval.published.test_damage import Damage, exchange, on_lines, on_sentences, on_values

LSTM0 = "surprisals/lstm_outputs/trial0/surprisals_{}.tsv"
LSTM2 = "surprisals/lstm_outputs/trial2/surprisals_{}.tsv"
RNNG = "surprisals/rnng_outputs/trial0/surprisals_output_{}.txt"
HERSELF = "surprisal/rnng/exp4-pp/herself_rnng.txt"
GRNN = "surprisal/grnn/exp4-pp/herself_grnn.txt"
BERT = "surprisal/bert/exp3-comp/{}_bert.csv"
EMBEDDING = "center-embeddings/{}_output.tsv"
GAPS = "filler-gap-dependencies/{}_output.tsv"
OTHER_NOUNS = PairingRules(reworded=0.2)

_Sentences = list[list[list[str]]]


def _mandarin(folder: Path) -> Imported:
    sets = [SurprisalSet(folder / "surprisals")]
    return import_mandarin([folder / "suites"], sets, PairingRules())


def _reflexives(folder: Path) -> Imported:
    return import_reflexives(
        [folder / "stimuli"], [SurprisalSet(folder / "surprisal")], OTHER_NOUNS
    )


def _suppression(folder: Path) -> Imported:
    return import_suppression([folder], [SurprisalSet(folder)], PairingRules())


_IMPORTS = {
    "mandarin": _mandarin,
    "reflexives": _reflexives,
    "bert": _reflexives,
    "suppression": _suppression,
}


@pytest.fixture
def files(reference_data: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A part of the released files of one study."""
    study = str(request.param)
    root = reference_data / "published"
    if study == "mandarin":
        parts = ["suites", "surprisals/rnng_outputs/trial0"]
        parts += ["surprisals/lstm_outputs/trial0", "surprisals/lstm_outputs/trial2"]
    elif study == "reflexives":
        parts = ["stimuli/exp4-pp", "surprisal/rnng/exp4-pp", "surprisal/grnn/exp4-pp"]
    elif study == "bert":
        parts = ["stimuli/exp3-comp", "surprisal/bert/exp3-comp"]
    else:
        parts = ["center-embeddings", "filler-gap-dependencies"]
    source = root / ("reflexives_more" if study == "bert" else study)
    for part in parts:
        shutil.copytree(source / part, tmp_path / part)
    return tmp_path


def copied(source: str, target: str) -> Damage:
    """Return a damage that puts a copy of a file or folder at another place."""

    def damage(folder: Path) -> None:
        one, other = folder / source, folder / target
        if one.is_dir():
            shutil.copytree(one, other)
        else:
            shutil.copy(one, other)

    return damage


def on_cells(name: str, change: Callable[[list[dict[str, str]]], None]) -> Damage:
    """Return a damage of the rows of a CSV file."""

    def damage(folder: Path) -> None:
        with (folder / name).open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        change(rows)
        with (folder / name).open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    return damage


def on_bytes(name: str, change: Callable[[bytes], bytes]) -> Damage:
    """Return a damage of the bytes of a file."""
    return lambda folder: _rewrite(folder / name, change)


def _rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    before = path.read_bytes()
    after = change(before)
    assert after != before
    path.write_bytes(after)


def _value(place: int, text: str) -> Callable[[list[str]], list[str]]:
    """Replace the number in a line."""

    def changed(lines: list[str]) -> list[str]:
        lines[place] = lines[place].rpartition("\t")[0] + "\t" + text
        return lines

    return changed


def _numbers_of_conditions(sentences: _Sentences) -> _Sentences:
    """Exchange the numbers of the two sentences of an item, from their ends."""
    for one, other in zip(sentences[::2], sentences[1::2], strict=True):
        for a, b in zip(reversed(one), reversed(other), strict=False):
            a[1], b[1] = b[1], a[1]
    return sentences


def _numbers_of_next_item(sentences: _Sentences) -> _Sentences:
    numbers = [[value for _, value in rows] for rows in sentences]
    moved = numbers[2:] + numbers[:2]
    return [
        [[token, own[min(n, len(own) - 1)]] for n, (token, _) in enumerate(rows)]
        for rows, own in zip(sentences, moved, strict=True)
    ]


def _last_numbers(sentences: _Sentences) -> _Sentences:
    for rows in sentences:
        rows[-1][1] = "NaN"
    return sentences


def _set(column: str, text: str) -> Callable[[list[dict[str, str]]], None]:
    def change(rows: list[dict[str, str]]) -> None:
        rows[4][column] = text

    return change


def _negated(rows: list[dict[str, str]]) -> None:
    for row in rows:
        row["surprisal"] = str(-float(row["surprisal"]))


def _reversed(rows: list[dict[str, str]]) -> None:
    rows.reverse()


def _twice(rows: list[dict[str, str]]) -> None:
    rows += rows


def _log10(value: float) -> float:
    return value * math.log10(2)


def _gbk(content: bytes) -> bytes:
    return content.decode("utf-8").encode("gb18030")


def _as_utf16(content: bytes) -> bytes:
    return content.decode("utf-8").encode("utf-16")


_OTHER_FILES = "equal beginnings of sentences differ.*different models or in different units"
_SHUFFLED = "equal beginnings of sentences have different surprisals"

DAMAGES: dict[str, tuple[str, Damage, str]] = {
    "numbers of conditions exchanged": (
        "mandarin", on_sentences(RNNG.format("gps_none"), _numbers_of_conditions), _SHUFFLED,
    ),
    "numbers of the next item": (
        "mandarin", on_sentences(RNNG.format("vo_none"), _numbers_of_next_item), _SHUFFLED,
    ),
    "sentences of the next item": (
        "mandarin",
        on_sentences(RNNG.format("vo_none"), lambda rows: rows[2:] + rows[:2]),
        "62 sentences misplaced",
    ),
    "file of another seed": (
        "mandarin", copied(LSTM2.format("sd_none"), LSTM0.format("sd_none")), _OTHER_FILES,
    ),
    "file of another model": (
        "mandarin", copied(RNNG.format("vo_none"), LSTM2.format("vo_none")), _OTHER_FILES,
    ),
    "run under the name of another model": (
        "mandarin",
        copied("surprisals/lstm_outputs/trial2", "surprisals/gru_outputs/trial0"),
        "gru_outputs/trial0: has the same surprisals as lstm_outputs/trial2 on .* and 23 more",
    ),
    "run twice": (
        "mandarin",
        copied("surprisals/lstm_outputs/trial2", "surprisals/lstm_outputs/trial5"),
        "lstm_outputs/trial2: has the same surprisals as lstm_outputs/trial5",
    ),
    "run under the name of another corpus": (
        "mandarin",
        copied("surprisals/lstm_outputs", "surprisals/hybrid1_outputs_lstm"),
        "hybrid1_outputs_lstm/trial0: has the same surprisals as lstm_outputs/trial0",
    ),
    "modifiers exchanged": (
        "mandarin",
        exchange(RNNG.format("gpo_sub"), RNNG.format("gpo_obj")),
        "sentences of another length",
    ),
    "one file to the base 10": (
        "mandarin", on_values(RNNG.format("sd_none"), _log10), _OTHER_FILES,
    ),
    "one file scaled": (
        "mandarin", on_values(LSTM2.format("sd_none"), lambda value: value * 1.5), _OTHER_FILES,
    ),
    "a constant added to one file": (
        "mandarin", on_values(LSTM2.format("sd_none"), lambda value: value + 3), _OTHER_FILES,
    ),
    "one file upside down": (
        "mandarin", on_values(LSTM2.format("sd_none"), lambda value: 40 - value), _OTHER_FILES,
    ),
    "all numbers equal": (
        "mandarin",
        on_values(LSTM2.format("sd_none"), lambda _: 5.0),
        "words that differ after equal words have equal surprisals",
    ),
    "another encoding": (
        "mandarin", on_bytes(RNNG.format("vo_none"), _gbk),
        r"is not UTF-8 text, but probably GB18030 \(convert it with",
    ),
    "materials in another encoding": (
        "mandarin", on_bytes("suites/Verb_Noun/vo_none_txt.txt", _gbk), "is not UTF-8 text",
    ),
    "critical words without a number": (
        "mandarin",
        on_sentences(RNNG.format("sd_none"), _last_numbers),
        "the critical region of .* has no surprisal",
    ),
    "an infinite log probability": (
        "mandarin", on_lines(RNNG.format("sd_none"), _value(12, "-inf")), "negative surprisal -inf",
    ),
    "an empty cell": (
        "mandarin", on_lines(RNNG.format("sd_none"), _value(12, "")), "'' is not a number",
    ),
    "decimal commas": (
        "mandarin",
        on_lines(RNNG.format("sd_none"), lambda lines: [one.replace(".", ",") for one in lines]),
        r"is not a number \(write decimal points, not commas\)",
    ),
    "digits with underscores": (
        "mandarin", on_lines(RNNG.format("sd_none"), _value(12, "1_0.5")), "'1_0.5' is not a num",
    ),
    "last line cut off": (
        "mandarin",
        on_bytes(RNNG.format("sd_none"), lambda content: content.rstrip().rpartition(b"\t")[0]),
        "3 columns, but the header has 4",
    ),
    "a second header": (
        "mandarin",
        on_lines(RNNG.format("sd_none"), lambda lines: [*lines[:20], lines[0], *lines[20:]]),
        "sentence sentence_id, token token_id where",
    ),
    "file twice in one": (
        "mandarin",
        on_lines(RNNG.format("sd_none"), lambda lines: [*lines, *lines[1:]]),
        "sentence 1, token 1 where sentence 61, token 1 is expected",
    ),
    "two items of the materials exchanged": (
        "mandarin",
        on_lines(
            "suites/Subordination/sd_none_txt.txt",
            lambda lines: [*lines[2:4], *lines[:2], *lines[4:]],
        ),
        "sentences misplaced",
    ),
    "nouns of an item exchanged in the materials": (
        "mandarin",
        on_lines(
            "suites/Classifier/cls_none_txt.txt",
            lambda lines: [*lines[2:4], *lines[:2], *lines[4:]],
        ),
        "item 1: .* the other way round in other suites",
    ),
    "an item of the materials twice": (
        "mandarin",
        on_lines("suites/Subordination/sd_none_txt.txt", lambda lines: [*lines, *lines[:2]]),
        "has 60 sentences, but .*sd_none_txt.txt has 62",
    ),
    "all but the last word unknown": (
        "mandarin",
        on_sentences(
            RNNG.format("vo_none"),
            lambda rows: [[*(["<unk>", v] for _, v in one[:-1]), one[-1]] for one in rows],
        ),
        _SHUFFLED,
    ),
    "model under the name of another": (
        "reflexives", copied(GRNN, HERSELF), "grnn: has the same surprisals as rnng",
    ),
    "one pronoun to the base 10": (
        "reflexives", on_values(HERSELF, _log10), "equal beginnings of sentences differ|sum to",
    ),
    "a header in two columns": (
        "reflexives",
        on_lines(HERSELF, lambda lines: ["token\tsurprisal", *lines]),
        "'surprisal' is not a number",
    ),
    "an experiment to the base 10": (
        "suppression",
        on_values(GAPS.format("gulordava"), _log10),
        "the probabilities of .* sum to .*the numbers are in another unit",
    ),
    "two models with one file": (
        "suppression",
        copied(EMBEDDING.format("gulordava"), EMBEDDING.format("ngram")),
        "gulordava: has the same surprisals as ngram on center_embedding/verb_order",
    ),
    "UTF-16": (
        "suppression", on_bytes(EMBEDDING.format("ngram"), _as_utf16), "is not UTF-8 text",
    ),
    "an embedding without a number": (
        "suppression",
        on_lines(EMBEDDING.format("gulordava"), _value(2, "nan")),
        "the critical region of .* has no surprisal",
    ),
    "BERT on another pronoun": (
        "bert",
        exchange(BERT.format("herself"), BERT.format("himself")),
        "450 sentences with another critical region",
    ),
    "BERT in another order": (
        "bert", on_cells(BERT.format("herself"), _reversed), "sentences misplaced",
    ),
    "BERT twice": (
        "bert", on_cells(BERT.format("herself"), _twice), "has 900 sentences, but .* has 450",
    ),
    "BERT with log probabilities": (
        "bert", on_cells(BERT.format("herself"), _negated), "negative surprisal",
    ),
    "BERT without a number": (
        "bert", on_cells(BERT.format("herself"), _set("surprisal", "nan")), "has no surprisal",
    ),
    "BERT with a zero": (
        "bert", on_cells(BERT.format("herself"), _set("surprisal", "0")), "all surprisals of .* 0",
    ),
    "BERT with another mask": (
        "bert",
        on_cells(BERT.format("herself"), _set("bert_sentence", "the ***mask*** .")),
        "is not .* with a mask",
    ),
}  # fmt: skip


@pytest.mark.parametrize("files", _IMPORTS, indirect=True)
def test_files_without_damage_are_accepted(files: Path, request: pytest.FixtureRequest) -> None:
    found = _IMPORTS[request.node.callspec.params["files"]](files)
    assert found.runs and not any("same surprisals" in note for note in found.notes)


@pytest.mark.parametrize(
    ("files", "name"),
    [pytest.param(study, name, id=name) for name, (study, _, _) in DAMAGES.items()],
    indirect=["files"],
)
def test_damage_is_refused(files: Path, name: str) -> None:
    study, damage, message = DAMAGES[name]
    damage(files)
    with pytest.raises(InputError) as caught:
        _IMPORTS[study](files)
    shown = re.sub(r"\s+", " ", str(caught.value))
    assert re.search(message, shown), shown


@pytest.mark.parametrize("files", ["mandarin"], indirect=True)
def test_published_files_of_other_models_are_announced(files: Path) -> None:
    found = _mandarin(files)
    expected = "lstm_outputs/trial0: 8 files of other models than the rest, as published"
    assert expected in found.notes
    assert any("15 files of classifier_noun" in one for one in found.receipt.exceptions)


@pytest.mark.parametrize("files", ["bert"], indirect=True)
def test_what_cannot_be_checked_is_in_the_receipt(files: Path) -> None:
    change = on_cells(BERT.format("herself"), _set("mismatch_position", "none"))
    change(files)
    found = _reflexives(files)
    assert any("1 row with another item or condition than the stimuli" in n for n in found.notes)
    assert any("masked models" in one and "3 files" in one for one in found.receipt.unchecked)
