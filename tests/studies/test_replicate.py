"""What a study says about the networks of runs."""

from __future__ import annotations

from pathlib import Path

from safetensors import safe_open

from gardenpath.studies.replicate import corpus_tables
from tests.toy_runs import run_of


def test_sizes_of_networks_are_those_of_the_settings(folder: Path) -> None:
    runs = [run_of(folder, model) for model in ("ngram", "lstm", "rnng", "plm")]
    found = corpus_tables(runs, [], cache=folder, perplexity=False, marginal=0).networks
    assert found is not None
    rows = {row["model"]: row for row in found.to_dict("records")}
    assert set(rows) == {"lstm", "rnng", "plm"}  # an n-gram model has no network
    assert all((row["layers"], row["hidden"]) == (1, 8) for row in rows.values())
    with safe_open(runs[1].path / "weights.safetensors", "numpy") as weights:
        width = weights.get_slice("embedding.weight").get_shape()[1]
    assert rows["lstm"]["embedding"] == width
    assert rows["plm"]["embedding"] == 8
    assert corpus_tables(runs[:1], [], cache=folder, perplexity=False, marginal=0).networks is None
