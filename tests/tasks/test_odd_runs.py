"""Tasks on a folder of runs with odd ones among them: these are named, and the others evaluated."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import gardenpath as gp
from gardenpath.errors import RunError, SkippedRunsError
from gardenpath.models.sequential.networks import SequentialScorer
from gardenpath.store.run_claim import write_failure
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import call
from tests.toy_runs import arguments, evaluate, run_of

TASKS = {
    "suite": ("suite=toy_english", "suite.suites=[islands/toy]", "suite.items=2",
              "task.report=false", "task.perplexity=false"),
    "perplexity": ("task=perplexity", "task.marginal_sentences=2"),
    "surprisal": ("task=surprisal",),
    "parse": ("task=parse", "task.sentences=2"),
    "corpus": ("task=corpus", "task.marginal_sentences=2", "task.constructions=false"),
}  # fmt: skip


@pytest.fixture
def odd(folder: Path, tmp_path: Path) -> Path:
    """Two good runs, one of them behind a link, and one folder of each odd kind."""
    root = tmp_path / "runs"
    shutil.copytree(run_of(folder, "ngram").path, root / "ngram")
    shutil.copytree(run_of(folder, "rnng").path, tmp_path / "elsewhere" / "rnng")
    (root / "rnng").symlink_to(tmp_path / "elsewhere" / "rnng")
    (root / "all").symlink_to(root)
    shutil.copytree(root / "ngram", root / "ngram_copy")
    unfinished(run_of(folder, "lstm").path, root / "stopped")
    unfinished(run_of(folder, "lstm").path, root / "diverged")
    write_failure(RunFolder(root / "diverged"), "diverged", "the loss is nan")
    (root / "stray").mkdir()
    (root / "stray" / "result.json").write_text("{}", encoding="utf-8")
    return root


def unfinished(run: Path, path: Path) -> None:
    """The same run as if its training had been stopped."""
    shutil.copytree(run, path)
    small_runs.unfinish(path)


def damaged(folder: Path, root: Path) -> Path:
    """A run with a flipped bit in its weights."""
    shutil.copytree(run_of(folder, "plm").path, root / "damaged")
    weights = root / "damaged" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 4
    weights.write_bytes(bytes(content))
    return weights


def options(task: str, root: Path, tmp_path: Path) -> list[str]:
    text = tmp_path / "text.txt"
    text.write_text("the boys knew .\n", encoding="utf-8")
    given = [*TASKS[task], f"run={root}"]
    return [*given, f"input={text}"] if task == "surprisal" else given


def models(task: str, output: Path) -> set[str]:
    """The models or runs in what was written."""
    if task == "suite":
        (table,) = output.glob("*/items.csv")
        return set(pd.read_csv(table)["model"])
    if task == "perplexity":
        return set(pd.read_csv(output / "perplexity.csv")["model"])
    if task == "surprisal":
        return set(pd.read_csv(output / "surprisal.tsv", sep="\t", comment="#")["run"])
    place = output / ("parses/f1.csv" if task == "parse" else "corpora/perplexity.csv")
    return set(pd.read_csv(place)["run" if task == "parse" else "model"])


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_odd_folders_are_named_and_the_others_evaluated(
    task: str, folder: Path, odd: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    evaluate(folder, output, *options(task, odd, tmp_path))
    printed = capfd.readouterr().out
    assert f"skipped (unfinished): {odd / 'stopped'}" in printed
    assert f"skipped (copy): {odd / 'ngram_copy'}: is a copy of {odd / 'ngram'}" in printed
    assert f"skipped (failed): {odd / 'diverged'}" in printed
    assert f"skipped (stray): {odd / 'stray'}" in printed
    assert "4 run folders skipped: 1 copy, 1 failed, 1 stray, 1 unfinished" in printed
    expected = models(task, output)
    assert expected and not any("lstm" in one for one in expected)
    # A damaged run: the same results, and an error at the end.
    shutil.rmtree(output)
    weights = damaged(folder, odd)
    with pytest.raises(SkippedRunsError, match="are written") as caught:
        evaluate(folder, output, *options(task, odd, tmp_path))
    assert f"{weights}: is damaged" in str(caught.value)
    assert "5 run folders skipped: 1 copy, 1 damaged" in capfd.readouterr().out
    assert models(task, output) == expected
    if task in ("suite", "parse", "corpus"):
        (manifest,) = output.glob("*/manifest.json")
        skipped = json.loads(manifest.read_text(encoding="utf-8"))["about"]["skipped"]
        assert len(skipped) == 5 and "damaged: " in skipped[str(weights.parent)]


@pytest.mark.parametrize("task", ["suite", "perplexity", "surprisal"])
def test_unfinished_runs_are_included_on_request_and_marked(
    task: str, folder: Path, odd: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    evaluate(folder, output, *options(task, odd, tmp_path), "unfinished=include")
    name = str(odd / "stopped") if task == "surprisal" else "lstm"
    found = models(task, output)
    assert f"{name} (unfinished, epoch 0)" in found
    assert not any("diverged" in one for one in found)
    if task == "suite":
        summary = pd.read_csv(next(output.glob("*/summary.csv")))
        assert "lstm (unfinished, epoch 0)" in set(summary["model"])


def test_a_run_that_is_named_must_be_usable(folder: Path, odd: Path, tmp_path: Path) -> None:
    weights = damaged(folder, odd)
    given = {
        "stopped": "is not finished",
        "diverged": "the training failed: the loss is nan",
        "stray": "not a run folder",
        "damaged": "is damaged",
    }
    for name, message in given.items():
        with pytest.raises(RunError, match=message):
            evaluate(folder, tmp_path / "out", *options("surprisal", odd / name, tmp_path))
        if name != "damaged":  # found when it is used
            with pytest.raises(RunError, match=message):
                gp.load(odd / name)
            with pytest.raises(RunError, match=message):
                gp.find(odd / name)
    with pytest.raises(RunError, match="is damaged"):
        gp.load(weights.parent).surprisal("the boys knew .")
    with pytest.raises(RunError, match="the training failed"):
        gp.load(odd / "diverged", unfinished=True)
    assert not (tmp_path / "out").exists()


def test_an_unfinished_run_in_python(odd: Path) -> None:
    run = gp.load(odd / "stopped", unfinished=True)
    assert run.name.model == "lstm (unfinished, epoch 0)"
    table = run.surprisal("the boys knew .")
    assert set(table["run"]) == {f"{odd / 'stopped'} (unfinished, epoch 0)"}
    found = gp.find(odd, unfinished=True)
    assert [one.path.name for one in found] == ["ngram", "rnng", "stopped"]
    assert sorted(one.folder.path.name for one in found.skipped) == [
        "diverged", "ngram_copy", "stray",
    ]  # fmt: skip


def test_weights_that_change_during_an_evaluation_are_not_mixed(odd: Path) -> None:
    run = gp.load(odd / "stopped", unfinished=True)
    _ = run.model_key
    other = gp.load(odd / "ngram").folder / "weights.safetensors"
    shutil.copy(other, run.folder / "weights.safetensors")
    with pytest.raises(RunError, match=r"weights\.safetensors"):
        run.word_log_probs([("the", "boys")])


def test_damage_that_is_found_late_loses_one_run(
    folder: Path, odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights of a run are damaged after all runs were verified."""
    shutil.copytree(run_of(folder, "lstm").path, odd / "lstm")
    real = SequentialScorer.word_log_probs

    def damage(self: SequentialScorer, sentences: object) -> object:
        (odd / "rnng" / "weights.safetensors").write_bytes(b"")
        return real(self, sentences)  # type: ignore[arg-type]

    monkeypatch.setattr(SequentialScorer, "word_log_probs", damage)
    kept = f"paths.surprisals={tmp_path / 's.sqlite'}"
    with pytest.raises(SkippedRunsError, match="rnng"):
        evaluate(folder, tmp_path / "out", *options("suite", odd, tmp_path), kept)
    assert models("suite", tmp_path / "out") == {"ngram", "lstm", "exact grammar"}


def test_nothing_usable_says_what_there_is(
    odd: Path, folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("ngram", "ngram_copy"):
        shutil.rmtree(odd / name)
    for name in ("rnng", "all"):
        (odd / name).unlink()
    assert call("evaluate.py", *arguments(folder, tmp_path / "out", f"run={odd}")) == 2
    message = capfd.readouterr().err
    assert "no finished runs" in message and str(odd / "stopped") in message
    assert call("evaluate.py", *arguments(folder, tmp_path / "out", "run=absent")) == 2
    assert (
        "absent: no finished runs at or below this folder: it does not exist"
        in capfd.readouterr().err
    )
