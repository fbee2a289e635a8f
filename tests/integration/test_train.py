"""``train.py`` from the command line, with models of all kinds and the real treebanks."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gardenpath.errors import ConfigError
from gardenpath.models.ngram.model import NgramModel
from gardenpath.models.training.trainer import LanguageModelling
from gardenpath.runs.training import train
from gardenpath.settings.compose import load_settings
from gardenpath.settings.train import TrainSettings
from gardenpath.store.run_folder import RunFolder
from tests import small_runs
from tests.integration.commands import TINY, call, check_command_line, start, toy
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


# ----------------------------------------------------------------------------
# Syntactic models through the same command, checkpoints and run folders as all others.


VARIANTS = {
    "rnng": ("model=rnng",),
    "rnng in-order": ("model=rnng", "model.network.strategy=in_order"),
    "rnng attention": ("model=rnng", "model.network.composition=attention"),
    "plm": ("model=plm",),
    "plm_mask": ("model=plm_mask",),
    "rnng on pieces": (
        "model=rnng",
        "data.subwords.algorithm=bpe",
        "data.subwords.pieces=120",
    ),
}


class Killed(BaseException):
    """Stands for a signal that cannot be caught."""


def run(folder: Path, *overrides: str) -> RunFolder:
    settings: TrainSettings = load_settings(
        "train",
        [
            "data=toy_english",
            "data.reader.train=60",
            "data.reader.valid=12",
            "data.reader.test=12",
            "model.size=tiny",
            "model.batches.max_sentences=12",
            "trainer=cpu",
            "trainer.max_epochs=3",
            f"paths.runs={folder / 'runs'}",
            f"paths.cache={folder / 'cache'}",
            *overrides,
        ],
    )
    train(settings)
    return RunFolder(Path(settings.run_dir))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_training_lowers_the_joint_loss_and_reports_its_parts(variant: str, tmp_path: Path) -> None:
    folder = run(tmp_path, *VARIANTS[variant])
    rows = small_runs.metrics(folder)
    losses = [float(row["valid/loss"]) for row in rows]
    assert losses[-1] < losses[0]
    for row in rows:
        parts = float(row["valid/action_loss"]) + float(row["valid/word_loss"])
        assert parts == pytest.approx(float(row["valid/loss"]), rel=1e-5)
    result = folder.result()
    assert result["valid"]["loss"] == pytest.approx(min(losses), rel=1e-5)
    assert "joint_perplexity" in result["test"] and "perplexity" not in result["test"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["rnng", "plm_mask"])
def test_a_killed_run_resumes_to_the_same_result(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overrides = (*VARIANTS[variant], "trainer.checkpoint_steps=2")
    expected = run(tmp_path / "whole", *overrides)
    original = LanguageModelling.training_step

    def step_or_die(self: LanguageModelling, batch: Any, batch_idx: int) -> Any:
        if self.global_step == 8:
            raise Killed
        return original(self, batch, batch_idx)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(LanguageModelling, "training_step", step_or_die)
        run(tmp_path / "killed", *overrides)
    resumed = run(tmp_path / "killed", *overrides, "existing=resume")
    assert (resumed / "weights.safetensors").read_bytes() == (
        expected / "weights.safetensors"
    ).read_bytes()
    assert small_runs.metrics(resumed) == small_runs.metrics(expected)


@pytest.mark.parametrize("model", ["lstm", "transformer", "rnng", "plm", "plm_mask"])
def test_classes_of_pieces_are_refused_before_anything_is_loaded(model: str) -> None:
    given = [f"model={model}", "data=toy_english", "model.network.output=factored"]
    check_command_line("train", given)
    with pytest.raises(ConfigError, match=r"output=factored needs whole words, but .*=bpe divides"):
        check_command_line("train", [*given, "data.subwords.algorithm=bpe"])


@pytest.mark.parametrize("model", ["rnng", "plm", "plm_mask"])
def test_plain_text_is_refused_before_anything_is_loaded(model: str) -> None:
    with pytest.raises(ConfigError, match=f"model={model} learns from trees"):
        check_command_line("train", [f"model={model}", "data=text", "data.root=/nowhere"])


# ----------------------------------------------------------------------------
# Training on the real treebanks of the reference data.


# With a small vocabulary two epochs are enough to see that a network learns.
FEW_WORDS = "data.min_count=10"
LSTM = (
    "model=lstm",
    "model.size=tiny",
    "model.network.dropout=0.1",
    "model.optimiser.learning_rate=0.005",
    "model.batches.max_sentences=16",
    "trainer=cpu",
    "trainer.max_epochs=2",
)


@pytest.fixture(scope="module")
def reference_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reference")


def _perplexity(reference_folder: Path, reference_data: Path, data: str, *overrides: str) -> float:
    metrics = train(
        f"data={data}",
        f"data.root={reference_data / 'nltk_data'}",
        f"paths.runs={reference_folder / 'runs'}",
        f"paths.cache={reference_folder / 'cache'}",
        *overrides,
    )
    return metrics["test"]["perplexity"]


@pytest.mark.slow
@pytest.mark.parametrize(("data", "share"), [("ptb_sample", 0.35), ("sinica", 0.7)])
def test_ngrams_beat_the_unigram_by_far(
    data: str, share: float, reference_folder: Path, reference_data: Path
) -> None:
    unigram = _perplexity(reference_folder, reference_data, data, "model=unigram")
    assert _perplexity(reference_folder, reference_data, data, "model=ngram") < share * unigram


@pytest.mark.slow
@pytest.mark.parametrize(("data", "share"), [("ptb_sample", 0.5), ("sinica", 0.85)])
def test_an_lstm_beats_the_unigram_by_far(
    data: str, share: float, reference_folder: Path, reference_data: Path
) -> None:
    few = reference_folder / "few"
    unigram = _perplexity(few, reference_data, data, FEW_WORDS, "model=unigram")
    assert _perplexity(few, reference_data, data, FEW_WORDS, *LSTM) < share * unigram
