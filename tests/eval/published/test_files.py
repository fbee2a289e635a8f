"""Every kind of damage to the released files is refused, with a message that names it.

The files are copied, damaged and imported; without damage the import succeeds.
"""

from __future__ import annotations

import csv
import math
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.checks import RunBeginnings
from gardenpath.eval.published.files import (
    PairingRules,
    ScoredSentence,
    SurprisalSet,
    read_lines,
    read_tabs,
    read_token_table,
    read_two_columns,
    without_edges,
)
from gardenpath.eval.published.importing import Imported
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.library import load_suites
from gardenpath.studies.layouts import import_mandarin, import_reflexives, import_suppression
from tests.tiers import slow_but_first

# The most permissive settings: the damages below are refused even with them.
LENIENT = PairingRules(reworded=1.0, misplaced=1000)

Damage = Callable[[Path], None]


def _mandarin(folder: Path, rules: PairingRules) -> Imported:
    return import_mandarin([folder / "suites"], [SurprisalSet(folder / "surprisals")], rules)


def _reflexives(folder: Path, rules: PairingRules) -> Imported:
    return import_reflexives([folder / "stimuli"], [SurprisalSet(folder / "surprisal")], rules)


def _suppression(folder: Path, rules: PairingRules) -> Imported:
    return import_suppression([folder], [SurprisalSet(folder)], rules)


_IMPORTS = {"mandarin": _mandarin, "reflexives": _reflexives, "suppression": _suppression}


@pytest.fixture
def copy(reference_data: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A part of the released files of one study."""
    study = str(request.param)
    root = reference_data / "published" / study
    if study == "mandarin":
        shutil.copytree(root / "suites", tmp_path / "suites")
        for name in ("rnng_outputs/trial0", "lstm_outputs/trial0", "lstm_outputs/trial1"):
            shutil.copytree(root / "surprisals" / name, tmp_path / "surprisals" / name)
    elif study == "reflexives":
        shutil.copytree(root / "stimuli" / "exp4-pp", tmp_path / "stimuli" / "exp4-pp")
        for model in ("grnn", "rnng"):
            own = root / "surprisal" / model / "exp4-pp"
            shutil.copytree(own, tmp_path / "surprisal" / model / "exp4-pp")
    else:
        shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    return tmp_path


RNNG = "surprisals/rnng_outputs/trial0/surprisals_output_{}.txt"
LSTM = "surprisals/lstm_outputs/trial1/surprisals_{}.tsv"
HERSELF = "surprisal/rnng/exp4-pp/herself_rnng.txt"
STIMULI = "stimuli/exp4-pp/herself.csv"
EMBEDDING = "center-embeddings/gulordava_output.tsv"
GAPS = "filler-gap-dependencies/gulordava_output.tsv"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def on_lines(name: str, change: Callable[[list[str]], list[str]]) -> Damage:
    """Return a damage of one file."""

    def damage(folder: Path) -> None:
        path = folder / name
        before = _lines(path)
        after = change(list(before))
        assert after != before
        _write(path, after)

    return damage


def on_sentences(
    name: str, change: Callable[[list[list[list[str]]]], list[list[list[str]]]]
) -> Damage:
    """Return a damage of the sentences of a table of tokens, which are numbered anew."""

    def renumbered(lines: list[str]) -> list[str]:
        groups: dict[str, list[list[str]]] = {}
        for line in lines[1:]:
            number, _, token, value = line.split("\t")
            groups.setdefault(number, []).append([token, value])
        changed = change(list(groups.values()))
        return [lines[0]] + [
            f"{n}\t{m}\t{token}\t{value}"
            for n, rows in enumerate(changed, start=1)
            for m, (token, value) in enumerate(rows, start=1)
        ]

    return on_lines(name, renumbered)


def on_values(name: str, change: Callable[[float], float]) -> Damage:
    """Return a damage of all numbers of a file with the number in the last column."""

    def changed(lines: list[str]) -> list[str]:
        found = []
        for line in lines:
            head, sign, last = line.rpartition("\t")
            is_number = re.fullmatch(r"-?[\d.]+(e-?\d+)?", last) is not None
            found.append(f"{head}{sign}{change(float(last))!r}" if is_number else line)
        return found

    return on_lines(name, changed)


def exchange(one: str, other: str) -> Damage:
    """Return a damage that exchanges two files."""

    def damage(folder: Path) -> None:
        first, second = folder / one, folder / other
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)

    return damage


def _swapped(sentences: list[list[list[str]]]) -> list[list[list[str]]]:
    return [one for pair in zip(sentences[1::2], sentences[::2], strict=True) for one in pair]


def _shuffled(sentences: list[list[list[str]]]) -> list[list[list[str]]]:
    random.Random(1).shuffle(sentences)
    return sentences


def _shifted(lines: list[str]) -> list[str]:
    """Move the last column down by one line."""
    cells = [line.rpartition("\t") for line in lines]
    values = [cells[-1][2], *(value for _, _, value in cells[:-1])]
    return [f"{head}\t{value}" for (head, _, _), value in zip(cells, values, strict=True)]


def _shifted_up(lines: list[str]) -> list[str]:
    cells = [line.rpartition("\t") for line in lines[1:]]
    values = [*(value for _, _, value in cells[1:]), cells[0][2]]
    pairs = zip(cells, values, strict=True)
    return [lines[0], *(f"{head}\t{value}" for (head, _, _), value in pairs)]


def _exchanged_words(one: str, other: str) -> Callable[[list[str]], list[str]]:
    def changed(lines: list[str]) -> list[str]:
        marked = [line.replace(one, "\0") for line in lines]
        return [line.replace(other, one).replace("\0", other) for line in marked]

    return changed


def _replaced(number: int, one: str, other: str) -> Callable[[list[str]], list[str]]:
    def changed(lines: list[str]) -> list[str]:
        assert one in lines[number]
        lines[number] = lines[number].replace(one, other)
        return lines

    return changed


def _zeroed(lines: list[str]) -> list[str]:
    """Set all numbers of the first sentence of a two-column file to 0."""
    end = next(n for n, line in enumerate(lines) if line.startswith("<eos>"))
    zeros = [line.split("\t")[0] + "\t0.0" for line in lines[:end]]
    return [*zeros, *lines[end:]]


def _unknown(lines: list[str]) -> list[str]:
    end = next(n for n, line in enumerate(lines) if line.startswith("<eos>"))
    unknown = ["<unk>\t" + line.split("\t")[1] for line in lines[:end]]
    return [*unknown, *lines[end:]]


def _without(start: int, end: int) -> Callable[[list[str]], list[str]]:
    return lambda lines: lines[:start] + lines[end:]


def _nats(value: float) -> float:
    return value * math.log(2)


def _last_in(sentence: int, token: str) -> Callable[[list[list[list[str]]]], list[list[list[str]]]]:
    """Change the noun, the word before the full stop, of one sentence."""

    def changed(sentences: list[list[list[str]]]) -> list[list[list[str]]]:
        sentences[sentence][-2][0] = token
        return sentences

    return changed


DAMAGES: dict[str, tuple[str, Damage, str]] = {
    "conditions swapped in the surprisals (Mandarin)": (
        "mandarin",
        on_sentences(RNNG.format("gps_none"), _swapped),
        "62 sentences misplaced|that of another condition",
    ),
    "conditions swapped in the materials (garden path)": (
        "mandarin",
        on_lines(
            "suites/GP_obj/gpo_none_txt.txt",
            lambda lines: [one for two in zip(lines[1::2], lines[::2], strict=True) for one in two],
        ),
        "not an item of class garden_path_object: line 2 must have",
    ),
    "conditions swapped in the materials (verb-noun)": (
        "mandarin",
        on_lines(
            "suites/Verb_Noun/vo_adj_txt.txt",
            lambda lines: [one for two in zip(lines[1::2], lines[::2], strict=True) for one in two],
        ),
        "item 1: .* is right and .* wrong, which is the other way round in other suites",
    ),
    "conditions swapped in the stimuli (reflexives)": (
        "reflexives",
        on_lines(STIMULI, _exchanged_words(",none,", ",head,")),
        r"mismatch_position is 'head' \(ungrammatical\), but the sentence is of condition baseline",
    ),
    "conditions swapped in the items (filler-gap)": (
        "suppression",
        on_lines(
            "filler-gap-dependencies/input.txt",
            lambda lines: lines[200:400] + lines[:200] + lines[400:],
        ),
        "islands/object, item 1: 'who' and 'that' are not that and who",
    ),
    "sentences shuffled": (
        "mandarin",
        on_sentences(RNNG.format("vo_none"), _shuffled),
        "sentences misplaced|that of another condition",
    ),
    "words of sentences kept, numbers shuffled": (
        "mandarin",
        on_sentences(
            RNNG.format("cls_none"),
            lambda rows: [
                [[token, value] for (token, _), (_, value) in zip(one, other, strict=False)]
                if len(one) == len(other)
                else one
                for one, other in zip(rows, rows[40:] + rows[:40], strict=True)
            ],
        ),
        "equal beginnings of sentences have different surprisals",
    ),
    "another experiment": (
        "mandarin",
        exchange(RNNG.format("gpo_none"), RNNG.format("gps_none")),
        "of another length|with several other words|with another critical region",
    ),
    "another experiment with fewer items": (
        "mandarin",
        exchange(RNNG.format("cls_none"), RNNG.format("sd_none")),
        "has 60 sentences, but .*cls_none_txt.txt has 120",
    ),
    "another pronoun": (
        "reflexives",
        exchange(HERSELF, HERSELF.replace("herself", "himself")),
        "450 sentences with another critical region",
    ),
    "log probabilities": (
        "mandarin",
        on_values(RNNG.format("sd_none"), lambda value: -_nats(value)),
        "has the negative surprisal -.*log probabilities need unit=log_prob_nats",
    ),
    "probabilities": (
        "mandarin",
        on_values(RNNG.format("sd_none"), lambda value: 2**-value),
        "these are probabilities, not surprisals",
    ),
    "one run in nats": (
        "mandarin",
        on_values(LSTM.format("sd_none"), _nats),
        "20 of 20 equal beginnings of sentences differ .*in different units",
    ),
    "file cut off": (
        "mandarin",
        on_lines(RNNG.format("mobj_none"), lambda lines: lines[: len(lines) // 2]),
        "sentences, but .*mobj_none_txt.txt has 60",
    ),
    "one line dropped (numbered tokens)": (
        "mandarin",
        on_lines(RNNG.format("mobj_none"), _without(30, 31)),
        "is expected.*sentence_id and token_id count from 1",
    ),
    "one line dropped (two columns)": (
        "reflexives",
        on_lines(HERSELF, _without(3, 4)),
        "1 sentence of another length",
    ),
    "one sentence dropped (two columns)": (
        "suppression",
        on_lines(EMBEDDING, _without(5, 10)),
        "has 223 sentences, but .*input.txt has 224",
    ),
    "a sentence twice": (
        "suppression",
        on_lines(EMBEDDING, lambda lines: lines[:5] + lines),
        "has 225 sentences, but .*input.txt has 224",
    ),
    "a sentence in the place of another": (
        "suppression",
        on_lines(EMBEDDING, lambda lines: lines[5:10] + lines[5:]),
        "1 sentence misplaced",
    ),
    "wrong item numbers": (
        "reflexives",
        on_lines(STIMULI, _replaced(1, "1,simple", "2,simple")),
        "item 2 has the verb .* in another row|item 1 has 1 rows of condition baseline",
    ),
    "wrong sentence numbers": (
        "mandarin",
        on_lines(RNNG.format("vo_none"), lambda lines: [lines[0], *lines[10:], *lines[1:10]]),
        "where sentence 1, token 1 is expected",
    ),
    "critical region reworded": (
        "mandarin",
        on_sentences(RNNG.format("cls_none"), _last_in(4, "词典")),
        "1 sentence with another critical region",
    ),
    "pronoun reworded": (
        "reflexives",
        on_lines(HERSELF, lambda lines: [line.replace("herself", "itself") for line in lines]),
        "450 sentences with another critical region",
    ),
    "a sentence of zeros": (
        "reflexives",
        on_lines(HERSELF, _zeroed),
        "all surprisals of 'The .*' are 0",
    ),
    "a sentence of unknown words": (
        "reflexives",
        on_lines(HERSELF, _unknown),
        "all words of '<unk> .*' are unknown",
    ),
    "materials of another class": (
        "mandarin",
        exchange("suites/Verb_Noun/vo_none_txt.txt", "suites/GP_sub/gps_none_txt.txt"),
        "is not an item of class",
    ),
    "materials of another experiment": (
        "suppression",
        exchange("center-embeddings/input.txt", "filler-gap-dependencies/input.txt"),
        "item 1: |must end in a full stop|cannot be divided",
    ),
    "numbers shifted down by one word": (
        "suppression",
        on_lines(GAPS, _shifted),
        "the surprisal of word 2 is 0 in every sentence|shifted by one word",
    ),
    "numbers shifted down by one word, no zeros": (
        "suppression",
        on_lines(GAPS.replace("gulordava", "ngram"), _shifted),
        "shifted by one word|equal beginnings of sentences have different surprisals",
    ),
    "numbers shifted up by one word": (
        "mandarin",
        on_lines(RNNG.format("gps_none"), _shifted_up),
        "equal beginnings of sentences have different surprisals",
    ),
    "words that are not numbers": (
        "reflexives",
        on_lines(HERSELF, _replaced(2, "\t", "\tx")),
        "surprisal 'x.*' is not a number",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("copy", _IMPORTS, indirect=True)
def test_files_without_damage_are_accepted(copy: Path, request: pytest.FixtureRequest) -> None:
    study = request.node.callspec.params["copy"]
    assert _IMPORTS[study](copy, PairingRules()).runs


def _cases() -> list[object]:
    return [pytest.param(study, name, id=name) for name, (study, _, _) in DAMAGES.items()]


@pytest.mark.parametrize(("copy", "name"), _cases(), indirect=["copy"])
@pytest.mark.parametrize(
    "rules", slow_but_first([PairingRules(), LENIENT]), ids=["strict", "lenient"]
)
def test_damage_is_refused(copy: Path, name: str, rules: PairingRules) -> None:
    study, damage, message = DAMAGES[name]
    damage(copy)
    with pytest.raises(InputError) as caught:
        _IMPORTS[study](copy, rules)
    if rules == LENIENT:
        return
    alternatives = message.split("|")
    shown = re.sub(r"\s+", " ", str(caught.value))
    assert any(re.search(one, shown) for one in alternatives), shown


# ----------------------------------------------------------------------------
# Damage that only shows between files, in the numbers alone, or in files of masked models.


LSTM0 = "surprisals/lstm_outputs/trial0/surprisals_{}.tsv"
LSTM2 = "surprisals/lstm_outputs/trial2/surprisals_{}.tsv"


GRNN = "surprisal/grnn/exp4-pp/herself_grnn.txt"
BERT = "surprisal/bert/exp3-comp/{}_bert.csv"
EMBEDDING_DAMAGE_OF_RUNS = "center-embeddings/{}_output.tsv"
GAPS_DAMAGE_OF_RUNS = "filler-gap-dependencies/{}_output.tsv"
OTHER_NOUNS = PairingRules(reworded=0.2)

_Sentences = list[list[list[str]]]


def _mandarin_damage_of_runs(folder: Path) -> Imported:
    sets = [SurprisalSet(folder / "surprisals")]
    return import_mandarin([folder / "suites"], sets, PairingRules())


def _reflexives_damage_of_runs(folder: Path) -> Imported:
    return import_reflexives(
        [folder / "stimuli"], [SurprisalSet(folder / "surprisal")], OTHER_NOUNS
    )


def _suppression_damage_of_runs(folder: Path) -> Imported:
    return import_suppression([folder], [SurprisalSet(folder)], PairingRules())


_IMPORTS_DAMAGE_OF_RUNS = {
    "mandarin": _mandarin_damage_of_runs,
    "reflexives": _reflexives_damage_of_runs,
    "bert": _reflexives_damage_of_runs,
    "suppression": _suppression_damage_of_runs,
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

DAMAGES_DAMAGE_OF_RUNS: dict[str, tuple[str, Damage, str]] = {
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
        on_values(GAPS_DAMAGE_OF_RUNS.format("gulordava"), _log10),
        "the probabilities of .* sum to .*the numbers are in another unit",
    ),
    "two models with one file": (
        "suppression",
        copied(*(EMBEDDING_DAMAGE_OF_RUNS.format(name) for name in ("gulordava", "ngram"))),
        "gulordava: has the same surprisals as ngram on center_embedding/verb_order",
    ),
    "UTF-16": (
        "suppression",
        on_bytes(EMBEDDING_DAMAGE_OF_RUNS.format("ngram"), _as_utf16),
        "is not UTF-8 text",
    ),
    "an embedding without a number": (
        "suppression",
        on_lines(EMBEDDING_DAMAGE_OF_RUNS.format("gulordava"), _value(2, "nan")),
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


@pytest.mark.parametrize("files", _IMPORTS_DAMAGE_OF_RUNS, indirect=True)
def test_files_without_damage_are_accepted_damage_of_runs(
    files: Path, request: pytest.FixtureRequest
) -> None:
    found = _IMPORTS_DAMAGE_OF_RUNS[request.node.callspec.params["files"]](files)
    assert found.runs and not any("same surprisals" in note for note in found.notes)


@pytest.mark.parametrize(
    ("files", "name"),
    [pytest.param(study, name, id=name) for name, (study, _, _) in DAMAGES_DAMAGE_OF_RUNS.items()],
    indirect=["files"],
)
def test_damage_is_refused_damage_of_runs(files: Path, name: str) -> None:
    study, damage, message = DAMAGES_DAMAGE_OF_RUNS[name]
    damage(files)
    with pytest.raises(InputError) as caught:
        _IMPORTS_DAMAGE_OF_RUNS[study](files)
    shown = re.sub(r"\s+", " ", str(caught.value))
    assert re.search(message, shown), shown


@pytest.mark.parametrize("files", ["mandarin"], indirect=True)
def test_published_files_of_other_models_are_announced(files: Path) -> None:
    found = _mandarin_damage_of_runs(files)
    expected = "lstm_outputs/trial0: 8 files of other models than the rest, as published"
    assert expected in found.notes
    assert any("15 files of classifier_noun" in one for one in found.receipt.exceptions)


@pytest.mark.parametrize("files", ["bert"], indirect=True)
def test_what_cannot_be_checked_is_in_the_receipt(files: Path) -> None:
    change = on_cells(BERT.format("herself"), _set("mismatch_position", "none"))
    change(files)
    found = _reflexives_damage_of_runs(files)
    assert any("1 row with another item or condition than the stimuli" in n for n in found.notes)
    assert any("masked models" in one and "3 files" in one for one in found.receipt.unchecked)


# ----------------------------------------------------------------------------
# Files of tokens are read sentence by sentence.


HEADER = "sentence_id\ttoken_id\ttoken\tsurprisal"


def _file(folder: Path, text: str) -> Path:
    path = folder / "table.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_of_tokens(tmp_path: Path) -> None:
    text = f"{HEADER}\r\n1\t1\tA\t0\r\n1\t2\t<unk>\t3\r\n2\t1\t</s>\t1"
    one, two = read_token_table(_file(tmp_path, text))
    assert (one.tokens, one.values, one.line) == (("A", "<unk>"), (0, 3), 2)
    assert (two.tokens, two.line) == (("</s>",), 4)
    assert without_edges(two).tokens == () and without_edges(one) is one


def test_columns_may_be_in_another_order(tmp_path: Path) -> None:
    text = "model\ttoken\tsurprisal\tsentence_id\ttoken_id\nx\tA\t2.5\t1\t1\n"
    (one,) = read_token_table(_file(tmp_path, text))
    assert (one.tokens, one.values) == (("A",), (2.5,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the table is empty"),
        ("sentence_id\ttoken\n", ":1: the header has no column token_id, surprisal"),
        (f"{HEADER}\n1\t1\tA\ttwo\n", ":2: surprisal 'two' is not a number"),
        (f"{HEADER}\n1\t1\tA\n", ":2: 3 columns, but the header has 4"),
        (
            f"{HEADER}\n1\t1\tA\t1\n1\t3\tB\t1\n",
            ":3: sentence 1, token 3 where sentence 1, token 2",
        ),
        (f"{HEADER}\n2\t1\tA\t1\n", ":2: sentence 2, token 1 where sentence 1, token 1"),
        (
            f"{HEADER}\n1\t1\tA\t1\n1\t1\tB\t1\n",
            ":3: sentence 1, token 1 where sentence 2, token 1",
        ),
        (
            f"{HEADER}\n1\t1\tA\t1\n3\t1\tB\t1\n",
            ":3: sentence 3, token 1 where sentence 2, token 1",
        ),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_token_table(_file(tmp_path, text))
    assert message in str(caught.value)


def test_two_columns(tmp_path: Path) -> None:
    path = _file(tmp_path, "a\t1\nb 2\n<eos>\t0\n<eos>\t0\n\nc\t3\n<eos>\t-0.0\n")
    first, second = read_two_columns(path, [])
    assert (first.tokens, first.values, first.line) == (("a", "b"), (1, 2), 1)
    assert (second.tokens, second.line) == (("c",), 6)
    path = _file(tmp_path, "a\t1\nb 2\nc\t3\n")
    assert [one.tokens for one in read_two_columns(path, [1, 2])] == [("a",), ("b", "c")]


def test_tables_with_comments(tmp_path: Path) -> None:
    path = _file(tmp_path, '# x\nword\tbits\n"\t1\n\n#\t2\n')
    rows = list(read_tabs(path, ["word"]))
    assert rows == [(3, {"word": '"', "bits": "1"}), (5, {"word": "#", "bits": "2"})]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = _file(tmp_path, "\ufeffa\u2028b\nc\x85d\n")
    assert read_lines(path) == ["a\u2028b", "c\x85d"]
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path / "absent")


# ----------------------------------------------------------------------------
# Tables of users as programs write them: headers, separators, missing numbers, other divisions.


ITEMS = """item,condition,subject,verb,rest
1,a,The cats,sleep,well .
1,b,The cats,sleeps,well .
2,a,Dogs,bark,.
2,b,Dogs,barks,.
"""
WORDS = (
    "The 2.0 cats 8.0 sleep 5.0 well 3.0 . 1.0",
    "The 2.0 cats 8.0 sleeps 9.0 well 4.0 . 1.5",
    "Dogs 9.0 bark 4.0 . 2.0",
    "Dogs 9.0 barks 3.0 . 1.25",
)
KEYS = ("1 a", "1 b", "2 a", "2 b")
ROWS = tuple(tuple(map(float, text.split()[1::2])) for text in WORDS)
DESCRIPTION = """name: agreement
language: en
table: items.csv
conditions: {a: match, b: mismatch}
predictions:
  agreement: (verb;%mismatch%) > (verb;%match%)
"""
REGIONS = "regions: [subject, verb, rest]\n"


def _long(header: str, separator: str = ",", *, keys: tuple[str, ...] = KEYS) -> str:
    """A table with one row per word: item, condition, word, surprisal."""
    lines = [header]
    for key, text in zip(keys, WORDS, strict=True):
        cells = text.split()
        for word, value in zip(cells[::2], cells[1::2], strict=True):
            lines.append(separator.join((*key.split(), word, value)))
    return "\n".join(lines) + "\n"


def _import(
    folder: Path,
    surprisals: str,
    items: str = ITEMS,
    description: str = DESCRIPTION + REGIONS,
    rules: PairingRules | None = None,
) -> Imported:
    (folder / "items.csv").write_text(items, encoding="utf-8")
    (folder / "suite.yaml").write_text(description, encoding="utf-8")
    path = folder / "model.csv"
    path.write_text(surprisals, encoding="utf-8")
    suites = load_suites(str(folder / "suite.yaml"))
    return import_tables(suites, [SurprisalSet(path)], rules or PairingRules(unit="bits"))


HEADER_TABLE_FORMS = "item,condition,word,surprisal"
TWO_COLUMNS = "".join(
    f"{word}\t{value}\n"
    for text in WORDS
    for word, value in zip(text.split()[::2], text.split()[1::2], strict=True)
)


@pytest.mark.parametrize(
    "surprisals",
    [
        _long("Item,Condition,Word,Surprisal"),
        _long("Item Number;Condition.Name;TOKEN;Surp", ";"),
        _long("item condition word surprisal", " "),
        "token surprisal\n" + TWO_COLUMNS.replace("\t", "  "),
        TWO_COLUMNS.replace("\t", ","),
        TWO_COLUMNS.replace("\t", ";"),
        _long(HEADER_TABLE_FORMS).replace("cats", "UNK-LC-s"),
        _long(HEADER_TABLE_FORMS, keys=("01 a", "01 b", "02 a", "02 b")),
    ],
)
def test_headers_and_separators(tmp_path: Path, surprisals: str) -> None:
    (run,) = _import(tmp_path, surprisals).runs
    assert run.rows == ROWS


def test_headers_of_materials_in_capitals(tmp_path: Path) -> None:
    items = ITEMS.replace("item,condition", "Item,Condition")
    assert _import(tmp_path, _long(HEADER_TABLE_FORMS), items).runs[0].rows == ROWS


@pytest.mark.parametrize("missing", ["NA", "", "NaN", "None"])
def test_words_without_a_number_are_not_scored(tmp_path: Path, missing: str) -> None:
    found = _import(tmp_path, _long(HEADER_TABLE_FORMS).replace("The,2.0", f"The,{missing}"))
    assert math.isnan(found.runs[0].rows[0][0]) and found.notes == ()
    found = _import(tmp_path, _long(HEADER_TABLE_FORMS).replace("bark,4.0", f"bark,{missing}"))
    assert any("1 sentence without a surprisal in a critical" in note for note in found.notes)


def test_items_may_have_names(tmp_path: Path) -> None:
    items = ITEMS.replace("\n1,", "\ncats,").replace("\n2,", "\ndogs,")
    keys = ("dogs a", "dogs b", "cats a", "cats b")
    table = _long(HEADER_TABLE_FORMS, keys=("cats a", "cats b", "dogs a", "dogs b"))
    (run,) = _import(tmp_path, table, items).runs
    assert run.rows == ROWS
    assert [item.labels["item_name"] for item in run.suite.items] == ["cats", "dogs"]
    with pytest.raises(InputError, match=r"of another length|misplaced"):
        _import(tmp_path, _long(HEADER_TABLE_FORMS, keys=keys), items)


def test_one_table_with_suites_in_any_column(tmp_path: Path) -> None:
    """The column that selects the items selects the surprisals as well."""
    regions = {"The": "subject", "cats": "subject", "Dogs": "subject", "well": "rest", ".": "rest"}
    lines = ["experiment,item,condition,region,word,surprisal"]
    for name, add in (("agreement", 0.0), ("other", 1.0)):
        for line in _long(HEADER_TABLE_FORMS).strip().split("\n")[1:]:
            item, condition, word, value = line.split(",")
            region = regions.get(word, "verb")
            lines.append(f"{name},{item},{condition},{region},{word},{float(value) + add}")
    table = "\n".join(lines) + "\n"
    description = DESCRIPTION + "only: {experiment: other}\n"
    found = _import(tmp_path, table, table, description)
    assert found.runs[0].rows == tuple(tuple(value + 1 for value in row) for row in ROWS)
    assert any("rows of other suites" in one for one in found.receipt.left_out)
    several = table.replace("experiment,", "suite,")
    with pytest.raises(InputError, match=r"holds several suites: .*'only: {suite: agreement}'"):
        _import(tmp_path, several, several, DESCRIPTION)


def test_a_token_may_span_words_of_one_region(tmp_path: Path) -> None:
    table = _long(HEADER_TABLE_FORMS).replace("1,a,well,3.0\n1,a,.,1.0", "1,a,well.,4.0")
    (run,) = _import(tmp_path, table).runs
    assert run.rows == ((2.0, 8.0, 5.0, 4.0), *ROWS[1:])
    assert run.suite.items[0].variants[0].words == ("The", "cats", "sleep", "well.")
    table = _long(HEADER_TABLE_FORMS).replace("2,a,bark,4.0\n2,a,.,2.0", "2,a,bark.,6.0")
    with pytest.raises(InputError, match=r"1 sentence with tokens that belong to two regions"):
        _import(tmp_path, table)


def test_a_missing_full_stop_is_named(tmp_path: Path) -> None:
    lines = [line for line in _long(HEADER_TABLE_FORMS).split("\n") if ",.," not in line]
    with pytest.raises(InputError, match="write the final full stop in both, or in neither"):
        _import(tmp_path, "\n".join(lines))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("5.0", '"5,0"', r"'5,0' is not a number \(write decimal points, not commas\)"),
        ("5.0", "1_0", "'1_0' is not a number"),
        ("5.0", "٥", "is not a number"),
        ("1,a,sleep", "7,1,a,sleep", "give it a name"),
    ],
)
def test_mistakes_in_cells(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        _import(tmp_path, _long(HEADER_TABLE_FORMS).replace(old, new))


def test_files_of_a_folder_that_are_not_tables_are_noted(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text(ITEMS, encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(DESCRIPTION + REGIONS, encoding="utf-8")
    folder = tmp_path / "models"
    (folder / "lstm").mkdir(parents=True)
    (folder / "lstm" / "agreement.csv").write_text(_long(HEADER_TABLE_FORMS), encoding="utf-8")
    (folder / "gpt2_agreement.csv").write_text(_long(HEADER_TABLE_FORMS), encoding="utf-8")
    suites = load_suites(str(tmp_path / "suite.yaml"))
    found = import_tables(suites, [SurprisalSet(folder)], PairingRules(unit="bits"))
    assert [name.run for name in found.names] == ["lstm"]
    assert found.receipt.left_out == (str(folder / "gpt2_agreement.csv"),)


def test_probabilities_that_sum_to_more_than_one() -> None:
    """Words that begin with another one, and equal surprisals, are counted once."""
    values = {"a": 0.5, "ab": 0.6, "b": 3.0, "c": 3.0}
    fine = [ScoredSentence((word,), (bits,), 1) for word, bits in values.items()]
    run = RunBeginnings("lstm")
    run.add(fine, "one", Path("x.tsv"))
    assert run.check_sums() == []
    run.add([ScoredSentence(("d",), (1.0,), 2)], "two", Path("y.tsv"))
    with pytest.raises(InputError, match=r"the probabilities of first words sum to 1\.33"):
        run.check_sums()
    lenient = RunBeginnings("lstm", is_strict=False)
    lenient.add([*fine, ScoredSentence(("d",), (1.0,), 2)], "one", Path("x.tsv"))
    assert "may be in another unit" in lenient.check_sums()[0]
