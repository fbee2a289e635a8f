"""A run over pieces of words, from training to tables: its words are probabilities."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import gardenpath as gp
from benchmarks import word_sums
from gardenpath.errors import RunError
from gardenpath.eval.surprisal.tables import read_surprisals
from tests.integration.commands import call, toy

PIECES = ("data.subwords.algorithm=bpe", "data.subwords.pieces=100")
SMALL = ("trainer=cpu", "trainer.max_epochs=1", "model.network.layers=1", "model.network.hidden=8")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs of an n-gram model and of an RNNG."""
    folder = tmp_path_factory.mktemp("pieces")
    gp.train(*toy(folder, "model=ngram", *PIECES))
    gp.train(*toy(folder, "model=rnng", *PIECES, *SMALL))
    return folder / "runs" / "toy_english"


def test_sums_over_the_words_of_the_grammar(
    pieces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    word_sums.main([str(pieces / "ngram" / "seed1")])
    header, line = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["run", "prefix", "words", "none", "next"]
    *_, count, plain, corrected = line.split("\t")
    assert int(count) == 348
    assert 0.5 < float(corrected) <= 1.0
    assert float(plain) != float(corrected)


def test_the_choice_is_in_keys_and_headers(
    pieces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pieces / "ngram" / "seed1"
    runs = {choice: gp.load(path, boundary=choice) for choice in ("next", "none", "leading")}
    assert len({run.model_key for run in runs.values()}) == 3
    assert gp.load(path).model_key == runs["next"].model_key
    monkeypatch.chdir(tmp_path)
    Path("in.txt").write_text("the author knows the senator .\n", encoding="utf-8")
    for choice in ("next", "none"):
        arguments = ("task=surprisal", f"run={path}", "input=in.txt", f"boundary={choice}")
        assert call("evaluate.py", *arguments) == 0
        _, header = read_surprisals(Path("results/surprisal.tsv"))
        assert header.runs[0].boundary == choice


def test_suites_name_the_choice(pieces: Path, tmp_path: Path) -> None:
    results = gp.evaluate(gp.load(pieces / "ngram" / "seed1"), gp.suites("toy_english"), items=2)
    assert set(results.items["boundary"]) == {"next"}
    folder = results.write(tmp_path / "results")
    assert "boundary" in (folder / "summary.csv").read_text("utf-8").splitlines()[0].split(",")


def test_a_search_over_pieces(pieces: Path) -> None:
    path = pieces / "rnng" / "seed1"
    search = gp.WordSync(action_beam=20, word_beam=5)
    run = gp.load(path, search=search)
    assert run.boundary == "next"
    sentence = ["the", "author", "knows", "the", "senator", "."]
    corrected = run.word_log_probs([sentence])[0]
    plain = gp.load(path, search=search, boundary="none").word_log_probs([sentence])[0]
    # Words and end add up to the sentence, whatever the choice.
    assert corrected.sum() == pytest.approx(plain.sum(), abs=1e-4)
    assert not math.isclose(corrected[1], plain[1], abs_tol=1e-3)
    assert run.parse(" ".join(sentence))
    with pytest.raises(RunError, match="boundary=leading is not defined"):
        gp.load(path, boundary="leading").word_log_probs([sentence])
