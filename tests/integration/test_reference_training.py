"""Training on the real treebanks of the reference data."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.runs.training import train

pytestmark = pytest.mark.slow

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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reference")


def _perplexity(folder: Path, reference_data: Path, data: str, *overrides: str) -> float:
    metrics = train(
        f"data={data}",
        f"data.root={reference_data / 'nltk_data'}",
        f"paths.runs={folder / 'runs'}",
        f"paths.cache={folder / 'cache'}",
        *overrides,
    )
    return metrics["test"]["perplexity"]


@pytest.mark.parametrize(("data", "share"), [("ptb_sample", 0.35), ("sinica", 0.7)])
def test_ngrams_beat_the_unigram_by_far(
    data: str, share: float, folder: Path, reference_data: Path
) -> None:
    unigram = _perplexity(folder, reference_data, data, "model=unigram")
    assert _perplexity(folder, reference_data, data, "model=ngram") < share * unigram


@pytest.mark.parametrize(("data", "share"), [("ptb_sample", 0.5), ("sinica", 0.85)])
def test_an_lstm_beats_the_unigram_by_far(
    data: str, share: float, folder: Path, reference_data: Path
) -> None:
    few = folder / "few"
    unigram = _perplexity(few, reference_data, data, FEW_WORDS, "model=unigram")
    assert _perplexity(few, reference_data, data, FEW_WORDS, *LSTM) < share * unigram
