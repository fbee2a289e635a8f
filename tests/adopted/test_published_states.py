"""What the published surprisals of word-level LSTMs tell about the state before a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("reflexives/surprisal", "reflexives_more/surprisal")


def _files(published: Path) -> list[Path]:
    found = [
        path
        for folder in _FOLDERS
        for model in ("grnn", "tiny")
        for path in sorted((published / folder / model).rglob("*.txt"))
    ]
    return [*found, *sorted((published / "suppression").rglob("gulordava_output.tsv"))]


def _sentences(path: Path) -> Iterator[list[tuple[str, str]]]:
    """The words and values of each sentence; some files repeat the end symbol."""
    sentence: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        word, value = line.split()[-2:]
        sentence.append((word, value))
        if word == "<eos>":
            if len(sentence) > 1:
                yield sentence
            sentence = []


def test_equal_beginnings_have_equal_values_and_no_first_word_is_predicted(
    reference_data: Path,
) -> None:
    files = _files(reference_data / "published")
    assert len(files) == 23
    for path in files:
        values: dict[tuple[str, ...], str] = {}
        repeated = 0
        for sentence in _sentences(path):
            words = tuple(word for word, _ in sentence)
            assert float(sentence[0][1]) == 0.0
            for length, (_, value) in enumerate(sentence, start=1):
                repeated += words[:length] in values
                assert values.setdefault(words[:length], value) == value
        assert repeated > 100
