"""``task=share``: a folder for each run."""

from __future__ import annotations

from pathlib import Path

import pytest

from gardenpath.errors import RunError
from gardenpath.store.run_folder import RunFolder
from tests import toy_runs


def test_every_run_has_a_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_runs.evaluate(folder, tmp_path, "task=share")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"toy_english_{one}_seed1" for one in ("lstm", "ngram", "plm", "rnng")]
    assert all(RunFolder(path).is_finished for path in tmp_path.iterdir())
    assert str(tmp_path / "toy_english_lstm_seed1") in capsys.readouterr().out.replace("\n", "")
    with pytest.raises(RunError, match="exists already"):
        toy_runs.evaluate(folder, tmp_path, "task=share", model="lstm")


def test_a_model_of_transformers(folder: Path, tmp_path: Path) -> None:
    toy_runs.evaluate(folder, tmp_path, "task=share", "task.form=huggingface", model="lstm")
    found = {path.name for path in (tmp_path / "toy_english_lstm_seed1").iterdir()}
    assert {"model.safetensors", "tokenizer.json", "modeling_gardenpath_lstm.py"} < found
