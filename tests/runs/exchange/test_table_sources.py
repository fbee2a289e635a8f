"""Tables of any form become runs, and score as the numbers that they contain."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from gardenpath.adopted.tables import TableSettings, normalised_table
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
from tests.eval.published.forms import form_samples
from tests.eval.suites.samples import cats_suite

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
