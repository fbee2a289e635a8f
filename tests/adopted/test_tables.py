"""Sentences are looked up in a table; those that are not there are an error."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.adopted.tables import (
    TABLE_FILE,
    TableFamily,
    TableModel,
    TableOrigin,
    TableSettings,
    WordTable,
    is_word_table,
    normalised_table,
    read_word_table,
    write_word_table,
)
from gardenpath.data.readers.base import SurprisalForm, Unit
from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.surprisal.tables import (
    EndPolicy,
    RunHeader,
    TableHeader,
    rows_of,
    write_surprisals,
)
from gardenpath.runs.adopting import adopt
from gardenpath.runs.evaluation import evaluate, score
from tests.data.strategies import words
from tests.eval.published import samples as form_samples
from tests.eval.suites.suite_samples import cats_suite

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


# ----------------------------------------------------------------------------
# The table of a run folder comes back to the last bit, or is refused.


ORIGIN = TableOrigin(source="a.tsv", sha256="0", form="lm_zoo", unit="bits", boundary="next")
_values = st.one_of(st.floats(-1e3, 0), st.sampled_from([math.nan, -math.inf]))


@given(st.data())
def test_any_table_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    one_sentence = st.lists(words(), min_size=1, max_size=4).map(tuple)
    sentences = data.draw(st.lists(one_sentence, max_size=4, unique=True))
    table = WordTable(
        origin=ORIGIN,
        sentences={
            one: tuple(data.draw(_values) for _ in range(len(one) + 1)) for one in sentences
        },
    )
    path = tmp_path_factory.mktemp("table") / "t.jsonl"
    write_word_table(path, table)
    assert repr(read_word_table(path)) == repr(table) and is_word_table(path)


_HEADER = (
    '{"kind": "word_table", "format": 1, "source": "a", "sha256": "0", "form": "f", "unit": "bits",'
    ' "boundary": null, "notes": []}\n'
)
_ROW = '{"words": ["a", "b"], "log_probs": [-1, -2.5, null]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: is not a table of log probabilities"),
        (_ROW, ":1: is not a table of log probabilities"),
        (_HEADER.replace("1", "2", 1), "is not a table of log probabilities"),
        (_HEADER.replace("null", '"some"'), "first line is not complete"),
        (_HEADER.replace("[]", "[1]"), "first line is not complete"),
        (_HEADER + _ROW + _ROW, ":3: 'a b' occurs twice"),
        (_HEADER + _ROW.replace("-2.5, ", ""), "log_probs are not 3 numbers"),
        (_HEADER + _ROW.replace("-2.5", "60"), "60 is not a log probability"),
        (_HEADER + _ROW.replace("-2.5", "true"), "True is not a log probability"),
        (_HEADER + _ROW.replace("-2.5", "NaN"), "nan is not a log probability"),
        (_HEADER + _ROW.replace('"b"', '"b c"'), "words are not a list of words"),
        (_HEADER + _ROW.replace('"b"', "1"), "words are not a list of words"),
        (_HEADER + "{}\n", "not an object with words"),
        (_HEADER + "{\n", ":2: is not JSON"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_word_table(path)


def test_other_files_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff")
    (tmp_path / "b.json").write_text("[]")
    assert not any(map(is_word_table, (tmp_path, tmp_path / "a.json", tmp_path / "b.json")))


# ----------------------------------------------------------------------------
# Tables of any form become runs, and score as the numbers that they contain.


SCORES = {
    ("The", "cat", "sleeps"): [-2.0, -9.0, -4.0],
    ("The", "cat", "sleep"): [-2.0, -9.0, -6.5],
    ("A", "dog", "isn't", "here."): [-3.0, -8.0, -5.0, -7.0],
}


def _write(tmp_path: Path, text: str, name: str = "m.txt") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def _sentences(tmp_path: Path) -> str:
    return str(_write(tmp_path, "".join(" ".join(one) + "\n" for one in SCORES), "s.txt"))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    ("name", "form", "unit"),
    [
        ("lm_zoo", "lm_zoo", None),
        ("lm_zoo", "auto", "bits"),
        ("minicons", "auto", "log_prob_nats"),
        ("vllm", "auto", None),
        ("openai", "auto", None),
    ],
)
def test_words_are_found_by_marks_or_by_the_sentences(
    tmp_path: Path, name: str, form: SurprisalForm, unit: Unit | None, named: bool
) -> None:
    path = _write(tmp_path, getattr(form_samples, name)(SCORES))
    sentences = _sentences(tmp_path) if named else None
    table = normalised_table(path, TableSettings(form=form, unit=unit, sentences=sentences))
    assert set(table.sentences) == set(SCORES)
    for sentence, expected in SCORES.items():
        *found, end = table.sentences[sentence]
        assert found == pytest.approx(expected) and math.isnan(end)
    # Numbers of pieces were added up.
    assert table.origin.boundary == "none"


def test_stripped_tokens_need_the_sentences(tmp_path: Path) -> None:
    """minicons' command writes tokens without marks: *c at* for *cat*."""
    path = _write(tmp_path, form_samples.minicons_csv(SCORES))
    reading = TableSettings(form="minicons", unit="nats")
    assert ("T", "he", "c", "at", "s", "leeps") in normalised_table(path, reading).sentences
    named = TableSettings(form="minicons", unit="nats", sentences=_sentences(tmp_path))
    found = normalised_table(path, named).sentences
    assert found["The", "cat", "sleeps"][:-1] == pytest.approx([-2.0, -9.0, -4.0])


def test_numbers_that_were_corrected(tmp_path: Path) -> None:
    path = _write(tmp_path, form_samples.minicons(SCORES))
    reading = TableSettings(unit="log_prob_nats", boundary="next")
    assert normalised_table(path, reading).origin.boundary == "next"


def test_first_words_without_numbers_are_announced(tmp_path: Path) -> None:
    scores = {words: [0.0, *values[1:]] for words, values in SCORES.items()}
    text = form_samples.minicons(scores)
    table = normalised_table(_write(tmp_path, text), TableSettings(unit="log_prob_nats"))
    assert math.isnan(table.sentences["The", "cat", "sleeps"][0])
    assert any("first words of 3 sentences are not scored" in note for note in table.origin.notes)


def test_numbers_of_sentences_are_no_numbers_of_words(tmp_path: Path) -> None:
    path = _write(tmp_path, form_samples.lm_eval([("a b", -1.0, "a c", -2.0)]))
    with pytest.raises(InputError, match=r"has no numbers of words.*task=rescore"):
        normalised_table(path, TableSettings())


def test_prompts_that_are_not_there(tmp_path: Path) -> None:
    path = _write(tmp_path, form_samples.vllm(SCORES, prompts=False))
    with pytest.raises(InputError, match="does not contain the first tokens"):
        normalised_table(path, TableSettings())
    named = TableSettings(sentences=_sentences(tmp_path))
    assert set(normalised_table(path, named).sentences) == set(SCORES)


def test_sentences_that_do_not_fit(tmp_path: Path) -> None:
    path = _write(tmp_path, form_samples.lm_zoo(SCORES))
    for text, message in (
        ("The cat sleeps\n", "has 3 sentences, but 1 were to be scored"),
        ("The cat sleeps\nThe dog sleep\nA dog isn't here.\n", r"sentence 2: token 3, ' c'"),
        ("The cat sleeps\nThe cat sl eep\nA dog isn't here.\n", r"'leep' has characters of two"),
    ):
        sentences = str(_write(tmp_path, text, "s.txt"))
        with pytest.raises(InputError, match=message):
            normalised_table(path, TableSettings(form="lm_zoo", sentences=sentences))


def test_equal_beginnings_have_equal_numbers(tmp_path: Path) -> None:
    """Numbers of other sentences are found out, unless the user accepts them."""
    beginning = ("the", "cat", "saw", "the", "dog", "that", "ran")
    scores: form_samples.Scores = {(*beginning, str(n)): [-1.0 - n % 2] * 8 for n in range(9)}
    path = _write(tmp_path, form_samples.minicons(scores))
    with pytest.raises(InputError, match="equal beginnings of sentences have different surprisals"):
        normalised_table(path, TableSettings(unit="log_prob_nats"))
    loose = TableSettings(unit="log_prob_nats", prefixes=False)
    assert len(normalised_table(path, loose).sentences) == 9


def _own(path: Path, *, end: EndPolicy = "row", boundary: str | None = "next") -> None:
    log_probs = [np.array([*values, -1.5]) for values in SCORES.values()]
    rows = [
        row
        for run, factor in (("runs/a", 1.0), ("runs/b", 2.0))
        for row in rows_of(
            run, list(SCORES), [factor * one for one in log_probs], list(SCORES), end=end == "row"
        )
    ]
    runs = [
        RunHeader(run=r, model="x", vocabulary="y", boundary=boundary) for r in ("runs/a", "runs/b")
    ]
    write_surprisals(path, rows, TableHeader(runs=tuple(runs), end_of_sentence=end))


@pytest.mark.parametrize("extension", [".tsv", ".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("end", ["row", "none"])
def test_tables_of_ours(tmp_path: Path, extension: str, end: EndPolicy) -> None:
    path = tmp_path / f"t{extension}"
    _own(path, end=end)
    with pytest.raises(InputError, match=r"has 2 runs: runs/a, runs/b .*model.network.run=NAME"):
        normalised_table(path, TableSettings())
    table = normalised_table(path, TableSettings(run="runs/b"))
    for sentence, expected in SCORES.items():
        *found, last = table.sentences[sentence]
        assert found == pytest.approx([2 * value for value in expected])
        assert last == pytest.approx(-3.0) if end == "row" else math.isnan(last)
    assert table.origin.boundary == "next"
    with pytest.raises(InputError, match="boundary=none, but its header says next"):
        normalised_table(path, TableSettings(run="runs/b", boundary="none"))
    with pytest.raises(InputError, match="unit=nats, but its header says bits"):
        normalised_table(path, TableSettings(run="runs/b", unit="nats"))


def test_lm_zoo_tables_of_ours_say_their_boundary(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    log_probs = [np.array([*values, -1.5]) for values in SCORES.values()]
    rows = rows_of("runs/a", list(SCORES), log_probs, list(SCORES))
    run = RunHeader(run="runs/a", model="x", vocabulary="y", boundary="leading")
    write_surprisals(path, rows, TableHeader(runs=(run,)), form="lm_zoo")
    assert path.read_text(encoding="utf-8").startswith("sentence_id\ttoken_id\ttoken\tsurprisal\n")
    table = normalised_table(path, TableSettings(form="lm_zoo"))
    assert table.origin.boundary == "leading" and set(table.sentences) == set(SCORES)
    assert table.sentences["The", "cat", "sleep"][:-1] == pytest.approx([-2.0, -9.0, -6.5])


def _surprisals(suite: Suite) -> dict[tuple[str, ...], list[float]]:
    """Natural logarithms of probabilities that depend on the beginning of the sentence."""
    return {
        words: [-(1.5 + len("".join(words[:n])) + ord(words[n][0]) % 7) for n in range(len(words))]
        for words in suite.sentences
    }


def test_a_table_takes_part_beside_others(tmp_path: Path) -> None:
    """Adopted, evaluated and reported as a run: the same outcomes as the numbers themselves."""
    suite = cats_suite(items=6)
    scores = _surprisals(suite)
    path = _write(tmp_path, form_samples.vllm(scores, others=False), "qwen.jsonl")
    sentences = str(_write(tmp_path, "".join(" ".join(w) + "\n" for w in scores), "s.txt"))
    run = adopt("table", path, run_dir=tmp_path / "runs" / "qwen", language="zh", name="Qwen",
                sentences=sentences)  # fmt: skip
    results = evaluate(run, suite)
    given = {words: [-nats / math.log(2) for nats in values] for words, values in scores.items()}
    expected = score(suite, {"Qwen": given})
    assert results.items["model"].unique().tolist() == ["Qwen"]
    assert results.items["outcome"].tolist() == expected.items["outcome"].tolist()
    assert results.surprisals["surprisal_bits"].tolist() == pytest.approx(
        expected.surprisals["surprisal_bits"].tolist()
    )
    with pytest.raises(GardenpathError, match=r"no surprisals for \d+ of \d+ sentences"):
        evaluate(run, cats_suite(items=8))


def test_a_damaged_table_is_found(tmp_path: Path) -> None:
    path = _write(tmp_path, form_samples.vllm(SCORES), "qwen.jsonl")
    run = adopt("table", path, run_dir=tmp_path / "run")
    table = tmp_path / "run" / "surprisals.jsonl"
    content = table.read_text(encoding="utf-8")
    assert json.loads(content.splitlines()[0])["source"] == "qwen.jsonl"
    table.write_text(content.replace("-9.0", "-8.0"), encoding="utf-8")
    with pytest.raises(GardenpathError, match=r"surprisals\.jsonl"):
        run.verify()
