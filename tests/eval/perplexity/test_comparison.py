"""Tables of models beside the exact answer."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity import (
    ModelPerplexity,
    Perplexity,
    as_table,
    compare,
    error_notes,
    perplexity_frame,
)
from gardenpath.store.tables import PERPLEXITY, read_table, write_table


def _perplexity(bits_per_word: float) -> Perplexity:
    """Three words and one end, equally surprising."""
    nats = bits_per_word * math.log(2)
    return Perplexity(sentences=1, words=3, word_nats=3 * nats, end_nats=nats)


MODELS = [
    ModelPerplexity(model="ngram", seed=1, result=_perplexity(5.0)),
    ModelPerplexity(model="lstm", seed=2, result=_perplexity(4.5)),
]


def test_excess_is_over_the_exact_grammar_in_bits_per_word() -> None:
    rows = compare("toy", MODELS, {1: _perplexity(4.0)})
    assert [row.model for row in rows] == ["ngram", "lstm", EXACT]
    assert [row.seed for row in rows] == [1, 2, None]
    assert [row.excess_bits_per_word for row in rows] == pytest.approx([1.0, 0.5, 0.0])
    assert [row.perplexity for row in rows] == pytest.approx([32.0, 2**4.5, 16.0])
    assert [row.bits_per_sentence for row in rows] == pytest.approx([20.0, 18.0, 16.0])


def test_without_a_grammar_there_is_no_excess() -> None:
    rows = compare("ptb", MODELS, None)
    assert [row.model for row in rows] == ["ngram", "lstm"]
    assert [row.excess_bits_per_word for row in rows] == [None, None]


def test_the_table_reads_back(tmp_path: Path) -> None:
    rows = compare("toy", MODELS, {1: _perplexity(4.0)})
    frame = perplexity_frame(rows)
    assert tuple(frame.columns) == PERPLEXITY.names
    write_table(tmp_path / PERPLEXITY.file, frame)
    lines = (tmp_path / PERPLEXITY.file).read_text(encoding="utf-8").splitlines()
    # Floats as Python writes them, and nothing for what is missing.
    first = rows[0]
    numbers = (first.perplexity, first.perplexity_without_end, first.bits_per_sentence)
    assert lines[1] == ",".join(map(str, ("toy", "ngram", 1, 1, 3, *numbers, 1.0))) + ",,,,"
    assert lines[3].startswith(f"toy,{EXACT},,1,3,")
    assert read_table(tmp_path / PERPLEXITY.file, PERPLEXITY).equals(frame)


def test_table_shows_every_model_and_the_caption() -> None:
    console = Console(width=100)
    with console.capture() as captured:
        table = as_table(compare("toy", MODELS, {1: _perplexity(4.0)}), title="T", caption="C")
        console.print(table)
    text = captured.get()
    for part in ("ngram", "lstm", EXACT, "32.00", "16.00", "1.000", "0.000", "T", "C"):
        assert part in text


def test_headings_are_whole_on_80_columns() -> None:
    console = Console(width=80)
    marginal = ModelPerplexity(model="rnng (marginal)", seed=1, result=_perplexity(9.0))
    with console.capture() as captured:
        console.print(as_table(compare("toy", [marginal], None), title="T"))
    lines = captured.get().splitlines()
    assert "…" not in captured.get() and max(map(len, lines)) <= 80
    assert (
        "sentences" in lines[4]
        and "perplexity" in lines[4]
        and lines[4].rstrip().endswith("word ┃")
    )


def _estimated() -> list[ModelPerplexity]:
    """A model without a search, and one whose perplexity is estimated."""
    estimate = replace(_perplexity(9.0), error_nats=0.25, bias_nats=0.03125)
    marginal = ModelPerplexity(model="rnng (marginal)", seed=1, result=estimate, search="beam, 5")
    return [MODELS[0], marginal]


def test_errors_and_searches_read_back(tmp_path: Path) -> None:
    """They are columns only if some model has them."""
    frame = perplexity_frame(compare("toy", _estimated(), None))
    assert tuple(frame.columns) == (*PERPLEXITY.names, *(one.name for one in PERPLEXITY.optional))
    write_table(tmp_path / PERPLEXITY.file, frame)
    assert read_table(tmp_path / PERPLEXITY.file, PERPLEXITY).equals(frame)
    row = frame.set_index("model").loc["rnng (marginal)"]
    assert (row["search"], row["perplexity_se"]) == ("beam, 5", pytest.approx(512 * 0.25 / 4))
    assert row["bits_per_word_se"] == pytest.approx(0.0625 / math.log(2))
    assert row["bias_bits_per_word"] == pytest.approx(0.0078125 / math.log(2))


def test_errors_are_shown_and_explained() -> None:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(as_table(compare("toy", _estimated(), None), title="T"))
    lines = captured.get().splitlines()
    assert "…" not in captured.get() and max(map(len, lines)) <= 80
    assert "32.00" in next(line for line in lines if "rnng (marginal)" in line)
    assert error_notes(MODELS) == []
    assert "too large by: rnng (marginal) +0.0113" in " ".join(error_notes(_estimated()))


def test_a_model_is_compared_with_the_exact_answer_to_the_same_sentences() -> None:
    nats = 3.0 * math.log(2)
    fewer = Perplexity(sentences=2, words=6, word_nats=6 * nats, end_nats=2 * nats)
    failed = Perplexity(sentences=1, words=3, word_nats=1.0, end_nats=1.0, failed=1)
    exact = {1: _perplexity(4.0), 2: fewer}
    rnng = ModelPerplexity(model="rnng", seed=1, result=fewer)
    plm = ModelPerplexity(model="plm", seed=1, result=failed)
    rows = compare("toy", [*MODELS, rnng, plm], exact)
    found = {row.model: row.excess_bits_per_word for row in rows}
    assert found == pytest.approx({"rnng": 0.0, "ngram": 1.0, "lstm": 0.5, "plm": None, EXACT: 0.0})
    # The exact grammar is beside each set of sentences.
    assert [row.model for row in rows] == ["rnng", EXACT, "ngram", "lstm", "plm", EXACT]
    assert [row.sentences for row in rows] == [2, 2, 1, 1, 1, 1]


def test_models_are_ranked_among_those_with_the_same_sentences_only() -> None:
    """The table has a line between rows that are not comparable."""
    few = ModelPerplexity(model="few", seed=1, result=_perplexity(9.0))
    nats = 2.0 * math.log(2)
    many = [
        ModelPerplexity(
            model=name, seed=1, result=Perplexity(sentences=2, words=6, word_nats=6 * n, end_nats=n)
        )
        for name, n in (("better", nats), ("worse", 2 * nats))
    ]
    rows = compare("c", [few, *many], None)
    assert [row.model for row in rows] == ["worse", "better", "few"]
    table = as_table(rows, title="T")
    assert [row.end_section for row in table.rows] == [False, True, False]


def test_joint_and_marginal_perplexities_are_ranked_apart() -> None:
    """The joint one would be in the middle of the others, on the same sentences."""
    models = [
        ModelPerplexity(model=name, seed=1, result=_perplexity(bits))
        for name, bits in (("rnng (marginal)", 6.0), ("rnng (joint)", 5.5), ("lstm", 5.0))
    ]
    rows = compare("c", models, {1: _perplexity(4.0)})
    assert [row.model for row in rows] == ["rnng (joint)", "rnng (marginal)", "lstm", EXACT]
    assert [row.end_section for row in as_table(rows, title="T").rows] == [
        True,
        False,
        False,
        False,
    ]


def test_a_table_of_models_from_elsewhere_names_their_corpora() -> None:
    measured = ModelPerplexity(
        model="lstm", seed=1, result=_perplexity(3.0), trained_on="xinhua", vocabulary=88_000,
        unknown_rate=0.125, shared_perplexity=42.5,
    )  # fmt: skip
    console = Console(width=80)
    with console.capture() as captured:
        console.print(as_table(compare("ctb", [measured], None), title="T"))
    for part in ("xinhua", "12.5%", "42.50"):
        assert part in captured.get()
