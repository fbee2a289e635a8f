"""Materials and surprisals in the layouts of three published studies, with sentences of our own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.studies.test_mandarin_files import SENTENCES as MANDARIN
from tests.studies.test_reflexives_files import HEADER
from tests.studies.test_reflexives_files import SENTENCES as REFLEXIVES
from tests.studies.test_suppression_files import ORDERS, TEMPLATES


def write_released(folder: Path) -> None:
    """Write ``mandarin``, ``mandarin_2``, ``reflexives`` and ``suppression``."""
    _write_mandarin(folder / "mandarin", "lstm_outputs", 1.0)
    _write_mandarin(folder / "mandarin_2", "hybrid1_outputs_lstm", 1.125)
    _write_reflexives(folder / "reflexives")
    _write_suppression(folder / "suppression")


def _bits(words: Sequence[str], factor: float) -> list[float]:
    """Surprisals that depend on the words up to each one, as those of a model do."""
    values = []
    for end in range(1, len(words) + 1):
        value = sum(ord(letter) * place for place, letter in enumerate(" ".join(words[:end]), 1))
        values.append(factor * (4.0 + value % 97 / 16))
    return values


def _write_mandarin(folder: Path, run: str, factor: float) -> None:
    for key, text in MANDARIN.items():
        _write(folder / key.split("_")[0] / f"{key}_txt.txt", text.splitlines())
        rows = ["sentence_id\ttoken_id\ttoken\tsurprisal"]
        for number, line in enumerate(text.splitlines(), start=1):
            words = [*line.split(), "</s>"]
            for place, (word, bits) in enumerate(zip(words, _bits(words, factor), strict=True), 1):
                rows.append(f"{number}\t{place}\t{word}\t{bits}")
        _write(folder / run / "trial0" / f"surprisals_{key}.tsv", rows)


def _write_reflexives(folder: Path) -> None:
    stimuli, lines = [HEADER], []
    for position, grammatical, text in REFLEXIVES:
        stimuli.append(f"1,local,{grammatical},{position},hurt,herself,{text} <eos>,{text}")
        lines += _tokens(text)
    _write(folder / "stimuli" / "exp4-pp" / "herself.csv", stimuli)
    _write(folder / "surprisal" / "grnn" / "exp4-pp" / "herself_grnn.txt", lines)


def _write_suppression(folder: Path) -> None:
    gaps = []
    for before, middle, after in TEMPLATES:
        for filler in ("that", "who"):
            for thing in ("the guest", ""):
                parts = (before, filler, middle, thing, "at noon", after, ".")
                gaps.append(" ".join(part for part in parts if part))
    orders = [line for block in ORDERS for line in block]
    for name, lines in (("center-embeddings", orders), ("filler-gap-dependencies", gaps)):
        _write(folder / name / "input.txt", [f"{line} <eos>" for line in lines])
        tokens = [token for line in lines for token in _tokens(line)]
        _write(folder / name / "gulordava_output.tsv", tokens)


def _tokens(text: str) -> list[str]:
    words = [*text.split(), "<eos>"]
    return [f"{word}\t{bits}" for word, bits in zip(words, _bits(words, 1.0), strict=True)]


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
