"""Training on the real treebanks of the reference data."""

from __future__ import annotations

from pathlib import Path

import pytest

import train
from src.config import load_settings
from src.models.run_folder import RunFolder

# Large batches and a high rate: two epochs are enough to see that a network learns.
LSTM = (
    "model=lstm",
    "model.size=tiny",
    "trainer=cpu",
    "trainer.max_epochs=2",
    "model.optimiser.learning_rate=0.01",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reference")


def _perplexity(folder: Path, reference_data: Path, data: str, *overrides: str) -> float:
    settings = load_settings(
        "train",
        [
            f"data={data}",
            f"data.root={reference_data / 'nltk_data'}",
            f"paths.runs={folder / 'runs'}",
            f"paths.cache={folder / 'cache'}",
            *overrides,
        ],
    )
    train.train(settings)
    result = RunFolder(Path(settings["run_dir"])).result()["test"]
    return float(result["perplexity"])


@pytest.mark.parametrize("data", ["ptb_sample", "sinica"])
def test_models_beat_the_unigram_by_far(data: str, folder: Path, reference_data: Path) -> None:
    unigram = _perplexity(folder, reference_data, data, "model=unigram")
    assert _perplexity(folder, reference_data, data, "model=ngram") < 0.6 * unigram
    assert _perplexity(folder, reference_data, data, *LSTM) < 0.7 * unigram
