"""Runs of one model whose settings differ are not averaged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gardenpath as gp
from gardenpath.errors import GardenpathError, InputError, RunError
from gardenpath.runs.find import find, load
from gardenpath.runs.run import Run
from gardenpath.settings.compose import load_settings
from gardenpath.store.surprisals import Stored, SurprisalStore
from gardenpath.tasks.output import asked_runs
from gardenpath.util import Words
from tests import small_runs, toy_runs
from tests.integration.commands import call
from tests.runs.own_suite import agreement


def trained(folder: Path, name: str, *overrides: str) -> Path:
    path = folder / "runs" / name
    return small_runs.run(folder, "model=ngram", f"run_dir={path}", *overrides).path


def models(runs: gp.Runs) -> list[str]:
    return [run.name.model for run in runs]


def test_the_settings_that_differ_are_part_of_the_name(tmp_path: Path) -> None:
    first = trained(tmp_path, "a", "model.network.order=2")
    trained(tmp_path, "b", "model.network.order=3")
    trained(tmp_path, "c", "model.network.order=3", "seed=2")
    assert models(gp.find(tmp_path / "runs")) == [
        "ngram (order=2)", "ngram (order=3)", "ngram (order=3)",
    ]  # fmt: skip
    assert models(gp.find(first)) == ["ngram"]


def test_seeds_and_machines_do_not_matter(tmp_path: Path) -> None:
    trained(tmp_path, "a")
    trained(tmp_path, "b", "seed=2", "trainer=auto", f"paths.cache={tmp_path / 'elsewhere'}")
    assert models(gp.find(tmp_path / "runs")) == ["ngram", "ngram"]


def test_they_have_rows_of_their_own(tmp_path: Path) -> None:
    paths = [trained(tmp_path, str(count), f"data.min_count={count}") for count in (1, 2)]
    suite = agreement()
    results = gp.evaluate([gp.load(path) for path in paths], suite, allow_unknown=True)
    assert set(results.summary["model"]) == {"ngram (min_count=1)", "ngram (min_count=2)"}
    assert set(results.summary["seeds"]) == {1}


def test_sizes_of_generated_corpora_are_settings_of_the_model(tmp_path: Path) -> None:
    toy = ("data=toy_english", "data.reader.valid=5", "data.reader.test=5", "data.root=null")
    for size in (20, 40):
        trained(tmp_path, str(size), *toy, f"data.reader.train={size}")
    found = gp.find(tmp_path / "runs")
    assert models(found) == ["ngram (train=20)", "ngram (train=40)"]


def test_one_name_for_two_corpora(tmp_path: Path) -> None:
    """The corpora of two folders are told apart, the same corpus in two folders is not."""
    small_runs.write_corpus(tmp_path / "corpus")
    small_runs.write_corpus(tmp_path / "same")
    small_runs.write_corpus(tmp_path / "other", train_sentences=30)
    trained(tmp_path, "a")
    trained(tmp_path, "b", f"data.root={tmp_path / 'same'}", "seed=2")
    assert models(gp.find(tmp_path / "runs")) == ["ngram", "ngram"]
    trained(tmp_path, "c", f"data.root={tmp_path / 'other'}")
    first, second = (f"ngram (root={tmp_path / name})" for name in ("corpus", "other"))
    assert models(gp.find(tmp_path / "runs")) == [first, first, second]


@pytest.mark.slow
def test_a_corpus_that_was_changed_in_its_folder(tmp_path: Path) -> None:
    trained(tmp_path, "a")
    small_runs.write_corpus(tmp_path / "corpus", train_sentences=30)
    trained(tmp_path, "b")
    first, second = gp.find(tmp_path / "runs")
    assert first.name.model != second.name.model
    assert second.name.model == f"ngram (vocabulary={second.vocabulary.content_hash[:8]})"


def test_a_damaged_vocabulary_is_not_another_corpus(tmp_path: Path) -> None:
    trained(tmp_path, "a")
    damaged = trained(tmp_path, "b", "seed=2") / "vocabulary.json"
    damaged.write_bytes(damaged.read_bytes().replace(b"cat", b"bat"))
    assert models(gp.find(tmp_path / "runs")) == ["ngram", "ngram"]


def test_settings_of_skipped_runs_are_not_part_of_names(tmp_path: Path) -> None:
    trained(tmp_path, "a", "model.network.order=2")
    weights = trained(tmp_path, "b", "model.network.order=3") / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    given = ["task=perplexity", f"run={tmp_path / 'runs'}", f"output={tmp_path / 'out'}"]
    found = asked_runs(load_settings("evaluate", given))
    assert [run.name.model for run in found] == ["ngram"]
    assert [one.state for one in found.skipped] == ["damaged"]


# ----------------------------------------------------------------------------
# One flipped bit in a file of a run or of the store: a message, or the same numbers.


SENTENCES = [("the", "boys", "knew", "."), ("the", "cat", "sees", "zebras")]
# Files that tell how a run came about; evaluation does not read them.
UNREAD = ("train.log", "versions.txt", "last.ckpt", ".lock")
PLACES = 24


@pytest.fixture(scope="module")
def originals(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of each kind of file: tables, weights, and weights of pieces."""
    place = tmp_path_factory.mktemp("pieces")
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=30")
    found = {name: toy_runs.run_of(folder, name).path for name in ("ngram", "lstm", "rnng")}
    found["pieces"] = small_runs.run(place, "model=unigram", *pieces).path
    return found


def flip(path: Path, place: int) -> None:
    """Flip a bit as a failing disk does: size and times stay the same."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << place % 8
    times = path.stat()
    path.write_bytes(bytes(content))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def places(path: Path, count: int = PLACES) -> list[int]:
    """Places from the first byte to the last."""
    size = path.stat().st_size
    return sorted({round(step * (size - 1) / (count - 1)) for step in range(count)})


def said(path: Path, *, unfinished: bool = False) -> dict[str, Any]:
    """All that a run says of itself and of sentences."""
    run = load(path, device="cpu", search=toy_runs.NARROW_SEARCH, unfinished=unfinished)
    return {
        "log_probs": [one.tolist() for one in run.word_log_probs(SENTENCES)],
        "metrics": None if unfinished else run.metrics,
        "name": (run.name.model, run.name.corpus, run.name.seed),
        "cleaning": run.data.cleaning,
        "unigram": run.model.unigram_log_prob and run.model.unigram_log_prob("the"),
    }


def _flips(copy: Path, count: int) -> Iterator[tuple[Path, int]]:
    files = [one for one in sorted(copy.rglob("*")) if one.is_file() and one.name not in UNREAD]
    assert len(files) >= 4
    for file in files:
        for place in places(file, count):
            yield file, place


@pytest.mark.slow
@pytest.mark.parametrize("model", ["ngram", "lstm", "rnng", "pieces"])
@pytest.mark.parametrize("state", ["finished", "unfinished"])
def test_a_flipped_bit_in_a_run(
    originals: dict[str, Path], tmp_path: Path, model: str, state: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(originals[model], copy)
    unfinished = state == "unfinished"
    if unfinished:
        small_runs.unfinish(copy)
    expected = said(copy, unfinished=unfinished)
    refused: set[str] = set()
    for file, place in _flips(copy, 8 if model == "rnng" else PLACES):
        flip(file, place)
        try:
            found = said(copy, unfinished=unfinished)
        except RunError as error:
            refused.add(file.name)
            assert str(copy) in str(error), "the message names the file"
            assert any(word in str(error) for word in ("again", "update", "resume")), error
        else:
            if file.name == "metrics.csv":  # the epoch in the name of an unfinished run
                found["name"] = expected["name"]
            assert found == expected, f"{file.name}, byte {place}"
        flip(file, place)
    assert said(copy, unfinished=unfinished) == expected
    wanted = {"weights.safetensors", "vocabulary.json", "config.yaml"}
    wanted |= {"subwords.model"} if model == "pieces" else set()
    assert wanted <= refused, "nothing was noticed"


def test_commands_name_a_damaged_run_and_write_the_others(
    originals: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("ngram", "lstm"):
        shutil.copytree(originals[name], tmp_path / "runs" / name)
    text = tmp_path / "text.txt"
    text.write_text("the boys knew .\n", encoding="utf-8")
    given = ["task=surprisal", f"run={tmp_path / 'runs'}", f"input={text}",
             f"paths.surprisals={tmp_path / 's.sqlite'}", f"output={tmp_path / 'out'}"]  # fmt: skip
    assert call("evaluate.py", *given) == 0
    whole = (tmp_path / "out" / "surprisal.tsv").read_text(encoding="utf-8")
    weights = tmp_path / "runs" / "lstm" / "weights.safetensors"
    flip(weights, weights.stat().st_size - 3)
    capfd.readouterr()
    assert call("evaluate.py", *given) == 2
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err and f"{weights}: is damaged" in printed.err
    assert "1 run folder skipped: 1 damaged" in printed.out
    found = (tmp_path / "out" / "surprisal.tsv").read_text(encoding="utf-8")
    rows, kept = whole.splitlines(), found.splitlines()
    assert kept == [line for line in rows if "/lstm\t" not in line] and len(kept) > 3
    header = json.loads((tmp_path / "out" / "surprisal.tsv.meta.json").read_text(encoding="utf-8"))
    assert len(header["skipped"]) == 1 and str(weights) in header["skipped"][0]
    # Named itself, the damaged run is an error, and nothing is written.
    (tmp_path / "out" / "surprisal.tsv").unlink()
    assert call("evaluate.py", *given, f"run={weights.parent}") == 2
    assert not (tmp_path / "out" / "surprisal.tsv").exists()


def test_a_flipped_bit_in_the_store(tmp_path: Path) -> None:
    """Two models with the same sentences: the numbers of one are never taken for the other's."""
    path = tmp_path / "s.sqlite"
    sentences: list[Words] = [(f"word{number}", "cat", str(number)) for number in range(40)]
    expected = {
        model: {
            words: Stored([-float(f"{number}.{place + shift}") for place in range(4)])
            for number, words in enumerate(sentences)
        }
        for shift, model in ((1, "one"), (5, "two"))
    }
    for model, scored in expected.items():
        SurprisalStore(path).put(model, scored)
    assert not path.with_name("s.sqlite-wal").exists()
    whole = path.read_bytes()
    refused = 0
    for place in places(path, 400):
        flip(path, place)
        for model, scored in expected.items():
            try:
                found = SurprisalStore(path).get(model, sentences)
            except InputError as error:
                refused += 1
                assert "s.sqlite" in str(error)
            else:
                assert all(scored[words] == one for words, one in found.items()), place
        for one in tmp_path.iterdir():
            one.unlink()
        path.write_bytes(whole)
    assert refused > 50


def test_find_verifies_late_what_is_damaged_late(
    originals: dict[str, Path], tmp_path: Path
) -> None:
    for name in ("ngram", "lstm"):
        shutil.copytree(originals[name], tmp_path / name)
    runs = find(tmp_path, device="cpu")
    assert not runs.skipped
    flip(tmp_path / "lstm" / "weights.safetensors", 5000)
    table = runs.surprisal("the boys knew .")
    assert set(table["run"]) == {str(tmp_path / "ngram")}
    assert [one.folder.path.name for one in runs.skipped] == ["lstm"]
    with pytest.raises(GardenpathError, match="is damaged"):
        Run(tmp_path / "lstm", device="cpu").surprisal("the boys knew .")
