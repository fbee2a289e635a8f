"""``train.py`` from the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from gardenpath.models.ngram.model import NgramModel
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import TINY, call, start, toy
from tests.models.ngram.oracles import write_arpa
from tests.store.sample_runs import find_runs


@pytest.mark.slow
def test_a_network_with_weights_and_biases_offline(tmp_path: Path) -> None:
    """No account, no network: the server's address leads nowhere."""
    done = start(
        "train.py",
        *toy(tmp_path, *TINY, "model=lstm", "seed=3", "logger=wandb", "logger.offline=true"),
        folder=tmp_path,
        HOME=str(tmp_path),
        WANDB_BASE_URL="http://127.0.0.1:9",
        WANDB_API_KEY="",
    )
    assert done.returncode == 0, done.stderr
    run = RunFolder(tmp_path / "runs/toy_english/lstm/seed3")
    assert run.is_finished
    assert f"{run.path}: test perplexity {run.result()['test']['perplexity']:.3f}" in done.stdout
    (log,) = (run.path / "wandb").glob("offline-run-*/*.wandb")
    assert f"send it with: wandb sync {log.parent}" in done.stdout
    assert len(small_runs.metrics(run)) == 1
    assert "epoch 1/1: train loss" in (run.path / "train.log").read_text(encoding="utf-8")
    # Libraries do not talk of hardware and of their makers' other products.
    assert "available" not in done.stderr and "Tip" not in done.stderr
    # Nothing is left beside the folders that were asked for.
    assert {path.name for path in tmp_path.iterdir()} <= {"runs", "cache", ".config", ".cache"}


@pytest.mark.slow
def test_a_sweep_leaves_a_folder_for_each_run(tmp_path: Path) -> None:
    done = start(
        "train.py", "-m", *toy(tmp_path, "model=unigram,ngram", "seed=1,2"), folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    runs = [run.path.relative_to(tmp_path / "runs") for run in find_runs(tmp_path / "runs")]
    assert [str(run) for run in runs] == [
        f"toy_english/{model}/seed{seed}" for model in ("ngram", "unigram") for seed in (1, 2)
    ]
    assert done.stdout.count("test perplexity") == 4
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "cache"}


def test_mistakes_end_the_command_before_anything_is_written(tmp_path: Path) -> None:
    done = start(
        "train.py",
        "model=lsmt",
        "data.cleaning.lower=true",
        "trainer.max_epochs=0",
        f"paths.runs={tmp_path / 'runs'}",
        f"paths.cache={tmp_path / 'cache'}",
        folder=tmp_path,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[0] == "error: 3 mistakes in the configuration:"
    for hint in ("'lstm'", "'data.cleaning.lowercase'", "must be at least 1"):
        assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ("ptb", ["Penn Treebank", "LDC99T42", "data.root="]),
        ("ctb", ["Chinese Treebank", "LDC2016T13", "data.root="]),
        ("brackets", ["bracketed trees", "train.txt", "data.root="]),
        ("text", ["plain text", "train.txt", "data.root="]),
        ("brown", ["bracketed trees", "c*[1-8].mrg", "data.root="]),
        ("xinhua_parsed", ["bracketed trees", "train.txt", "data.root=", "task=annotate"]),
        ("gum", ["GUM treebank", "data.root="]),
        ("xinhua", ["Chinese Treebank", "LDC2016T13", "data.parts.ctb.root="]),
    ],
)
def test_a_missing_corpus_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: str, parts: list[str]
) -> None:
    code = call(
        "train.py",
        f"data={data}",
        f"paths.corpora={tmp_path / 'absent'}",
        f"paths.runs={tmp_path / 'runs'}",
        f"paths.cache={tmp_path / 'cache'}",
    )
    assert code == 2
    text = capsys.readouterr().err
    for part in [*parts, "absent", "data=toy_english"]:
        assert part.lower() in text.lower()
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_missing_nltk_corpus_is_explained(tmp_path: Path) -> None:
    done = start(
        "train.py",
        *("data=ptb_sample", "model=unigram", f"data.root={tmp_path / 'absent'}"),
        *(f"paths.runs={tmp_path / 'runs'}", f"paths.cache={tmp_path / 'cache'}"),
        folder=tmp_path,
        NLTK_DATA="",
        HOME=str(tmp_path),
    )
    assert done.returncode == 2
    for part in ("Penn Treebank sample", "absent", "nltk.downloader treebank", "data.root="):
        assert part in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_model_of_trees_on_text_is_refused_before_loading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = call("train.py", "model=rnng", "data=text", f"data.root={tmp_path / 'absent'}")
    assert code == 2
    text = capsys.readouterr().err
    assert "learns from trees" in text
    assert "absent" not in text


def test_an_arpa_file_is_used_as_it_is(tmp_path: Path) -> None:
    """A model that is written, and read by another run, gives the same numbers."""
    first = small_runs.run(tmp_path, "model=ngram", "model.network.order=3")
    model = small_runs.loaded(first).trained.network()
    assert isinstance(model, NgramModel)
    write_arpa(tmp_path / "model.arpa", model, small_runs.loaded(first).vocabulary)
    second = small_runs.run(
        tmp_path,
        "model=ngram",
        f"model.network.arpa={tmp_path / 'model.arpa'}",
        f"run_dir={tmp_path / 'read'}",
    )
    for split in ("valid", "test"):
        assert second.result()[split] == pytest.approx(first.result()[split], rel=1e-6)
    (tmp_path / "model.arpa").unlink()
    reloaded = small_runs.loaded(second).trained.network()
    assert isinstance(reloaded, NgramModel) and reloaded.order == 3


def test_a_small_arpa_file_by_hand(tmp_path: Path) -> None:
    """Three words of equal probability: 1/4 each, the end of the sentence included."""
    quarter = f"{math.log10(1 / 4):.9f}"
    entries = "".join(f"{quarter}\t{word}\n" for word in ("</s>", "<unk>", "the", "cat"))
    text = f"\\data\\\nngram 1=5\n\n\\1-grams:\n-99\t<s>\n{entries}\n\\end\\\n"
    (tmp_path / "flat.arpa").write_text(text, encoding="utf-8")
    run = small_runs.run(tmp_path, "model=ngram", f"model.network.arpa={tmp_path / 'flat.arpa'}")
    assert run.result()["test"]["perplexity"] == pytest.approx(4.0, rel=1e-6)
    assert run.result()["test"]["perplexity_without_end"] == pytest.approx(4.0, rel=1e-6)


def test_a_damaged_arpa_file_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small_runs.write_corpus(tmp_path / "corpus")
    (tmp_path / "bad.arpa").write_text("\\data\\\nngram 1=1\n\n\\1-grams:\nx y\n", "utf-8")
    arguments = small_runs.arguments(
        tmp_path, "model=ngram", f"model.network.arpa={tmp_path / 'bad.arpa'}"
    )
    assert call("train.py", *arguments) == 2
    assert "bad.arpa:5: cannot read 'x y'" in capsys.readouterr().err


def test_pieces_instead_of_words(tmp_path: Path) -> None:
    """Perplexity is per word also where units are pieces."""
    pieces = ("data.subwords.algorithm=bpe", "data.subwords.pieces=30")
    run = small_runs.run(tmp_path, "model=ngram", *pieces)
    assert (run.path / "subwords.model").is_file()
    text = (tmp_path / "corpus" / "test.txt").read_text(encoding="utf-8")
    words = len(text.split())
    result = run.result()["test"]
    per_word = math.log(result["perplexity_without_end"]) * words
    per_event = math.log(result["perplexity"]) * (words + len(text.splitlines()))
    assert 0 < per_event - per_word < per_word


def test_the_configuration_of_a_run_is_kept_as_text(tmp_path: Path) -> None:
    run = small_runs.run(tmp_path, "model=unigram", "seed=5")
    assert run.config()["seed"] == 5
    result = json.loads((run.path / "result.json").read_text(encoding="utf-8"))
    assert set(result) == {"valid", "test"}
