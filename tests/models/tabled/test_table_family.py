"""Sentences are looked up in a table; those that are not there are an error."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gardenpath.adopted.tables import (
    TABLE_FILE,
    TableFamily,
    TableModel,
    TableOrigin,
    WordTable,
    write_word_table,
)
from gardenpath.errors import GardenpathError

SENTENCES = {
    ("the", "cat"): (-1.0, -2.0, math.nan),
    ("a", "dog", "barks"): (-3.0, -math.inf, -5.0, -6.0),
}
FAMILY = TableFamily()


@pytest.fixture
def adopted(tmp_path: Path) -> tuple[TableModel, Path]:
    origin = TableOrigin(
        source="a", sha256="", form="vllm", unit="nats", boundary="none", notes=("x",)
    )
    write_word_table(tmp_path / "t.jsonl", WordTable(origin=origin, sentences=SENTENCES))
    settings = FAMILY.adopt(TableModel(name="gpt2"), str(tmp_path / "t.jsonl"), tmp_path / "run")
    assert isinstance(settings, TableModel)
    return settings, tmp_path / "run"


def test_sentences_are_looked_up_by_their_words(adopted: tuple[TableModel, Path]) -> None:
    settings, folder = adopted
    counted: list[int] = []
    model = FAMILY.open(settings, folder, device="cpu", boundary="none", on_words=counted.append)
    found = model.word_log_probs([["a", "dog", "barks"], ("the", "cat")])
    assert found[0].tolist() == [-3.0, -math.inf, -5.0, -6.0]
    assert found[1].tolist() == pytest.approx([-1.0, -2.0, math.nan], nan_ok=True)
    assert sum(counted) == 5
    assert model.knows("zyzzyva") and model.seen_as(["the", "cat"]) == ["the", "cat"]
    assert FAMILY.notes(settings, folder) == ("x",)


def test_missing_sentences_are_counted_and_named(adopted: tuple[TableModel, Path]) -> None:
    model = FAMILY.open(*adopted, device="cpu", boundary=None)
    asked = [("the", "cat"), ("the", "dog"), ("The", "cat"), ("the", "dog")]
    with pytest.raises(GardenpathError, match=r"for 2 of 3 sentences, such as 'the dog', 'The cat"):
        model.word_log_probs(asked)


def test_the_boundary_is_that_of_the_table(adopted: tuple[TableModel, Path]) -> None:
    settings, _ = adopted
    assert settings.network.boundary == "none"
    assert FAMILY.boundary(settings, "auto") == FAMILY.boundary(settings, "none") == "none"
    with pytest.raises(GardenpathError, match="gpt2: its surprisals were computed with boundary=n"):
        FAMILY.boundary(settings, "next")
    assert FAMILY.boundary(TableModel(), "next") is None  # words are units


def test_the_identity_is_that_of_the_numbers(adopted: tuple[TableModel, Path]) -> None:
    settings, folder = adopted
    before = FAMILY.identity(settings, folder)
    path = folder / TABLE_FILE
    path.write_text(path.read_text(encoding="utf-8").replace("-2.0", "-2.5"), encoding="utf-8")
    assert FAMILY.identity(settings, folder) != before


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    origin = TableOrigin(source="a", sha256="", form="vllm", unit="nats")
    write_word_table(tmp_path / "t.jsonl", WordTable(origin=origin))
    with pytest.raises(GardenpathError, match="contains no sentences"):
        FAMILY.adopt(TableModel(), str(tmp_path / "t.jsonl"), tmp_path / "run")
