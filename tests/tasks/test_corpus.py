"""``task=corpus``: corpora in numbers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gardenpath.errors import InputError
from gardenpath.store.results_folder import read_results_manifest
from gardenpath.tasks import corpus
from tests.toy_runs import TEST_SENTENCES, evaluate, run_of


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What would be in the report, which is slow to draw and tested elsewhere."""
    studies: list[object] = []

    def keep(study: object, folder: Path) -> Path:
        studies.append(study)
        return folder / "report.html"

    monkeypatch.setattr(corpus, "write_report", keep)
    return studies


def test_sizes_words_and_constructions(
    folder: Path, tmp_path: Path, without_pictures: list[object]
) -> None:
    evaluate(folder, tmp_path, "task=corpus", "task.words=[the,himself]")
    found = tmp_path / "corpora"
    statistics = pd.read_csv(found / "statistics.csv").set_index("split")
    assert statistics["sentences"].to_dict() == {"train": 200, "valid": 20, "test": TEST_SENTENCES}
    reader = run_of(folder, "ngram").settings.data.reader
    words = [word for sentence in reader.read("train") for word in sentence.words]
    assert statistics.loc["train", "tokens"] == len(words)
    assert statistics.loc["train", "types"] == len(set(words))
    assert statistics.loc["train", "count_himself"] == words.count("himself")
    lengths = pd.read_csv(found / "lengths.csv")
    assert lengths.groupby("split")["sentences"].sum()["train"] == 200
    assert (pd.read_csv(found / "constructions.csv")["corpus"] == "toy_english").all()
    rows = pd.read_csv(found / "perplexity.csv")["model"].tolist()
    assert "ngram" in rows and "rnng (joint)" in rows and "rnng (marginal)" not in rows
    assert len(without_pictures) == 1
    about = read_results_manifest(found).about
    assert about["settings"]["task"]["words"] == ["the", "himself"]


def test_licensing_beside_frequency(
    folder: Path, tmp_path: Path, without_pictures: list[object]
) -> None:
    effects = tmp_path / "effects.csv"
    kinds = ("comp_quant", "cleft_noun", "embwhq", "tough")
    pd.DataFrame(
        {"run": "r", "corpus": "toy_english", "model": "ngram", "seed": 1, "suite": "s",
         "class": "filler_gap", "item": 1, "modifier": kinds,
         "effect": "licensing_interaction", "value_bits": [1.0, 2.0, 3.0, 5.0]}
    ).to_csv(effects, index=False)  # fmt: skip
    evaluate(folder, tmp_path, "task=corpus", f"task.effects={effects}", model="ngram")
    table = pd.read_csv(tmp_path / "corpora" / "licensing_by_frequency.csv")
    assert set(table["modifier"]) <= set(kinds) and len(table) > 0
    assert (tmp_path / "corpora" / "correlations.csv").is_file()


@pytest.mark.parametrize("content", [None, "", "a,b\n1,2\n"])
def test_a_wrong_table_of_effects_is_named(
    folder: Path, tmp_path: Path, content: str | None, without_pictures: list[object]
) -> None:
    effects = tmp_path / "effects.csv"
    if content is not None:
        effects.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=r"effects\.csv.*suite=filler_gap"):
        evaluate(folder, tmp_path, "task=corpus", f"task.effects={effects}", model="ngram")
    assert not (tmp_path / "corpora").exists()
