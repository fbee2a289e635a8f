"""Every kind of damage to the released files is refused, with a message that names it.

The files are copied, damaged and imported; without damage the import succeeds.
"""

from __future__ import annotations

import math
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.importing import Imported
from gardenpath.studies.layouts import import_mandarin, import_reflexives, import_suppression

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


@pytest.mark.parametrize("copy", _IMPORTS, indirect=True)
def test_files_without_damage_are_accepted(copy: Path, request: pytest.FixtureRequest) -> None:
    study = request.node.callspec.params["copy"]
    assert _IMPORTS[study](copy, PairingRules()).runs


def _cases() -> list[object]:
    return [pytest.param(study, name, id=name) for name, (study, _, _) in DAMAGES.items()]


@pytest.mark.parametrize(("copy", "name"), _cases(), indirect=["copy"])
@pytest.mark.parametrize("rules", [PairingRules(), LENIENT], ids=["strict", "lenient"])
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
