"""``task=corpus``: corpora in numbers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.eval.report import page
from gardenpath.eval.report.content import ReportContent
from gardenpath.settings.compose import load_settings
from gardenpath.store.manifest import read_results_manifest
from gardenpath.tasks import run_task
from tests.toy_runs import TEST_SENTENCES, evaluate, run_of


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> list[ReportContent]:
    """What would be in the report, which is slow to draw and tested elsewhere."""
    studies: list[ReportContent] = []

    def keep(study: ReportContent, folder: Path) -> Path:
        studies.append(study)
        return folder / "report.html"

    monkeypatch.setattr(page, "write_report", keep)
    return studies


def test_sizes_words_and_constructions(
    folder: Path, tmp_path: Path, without_pictures: list[ReportContent]
) -> None:
    evaluate(folder, tmp_path, "task=corpus", "task.words=[the,himself]")
    found = tmp_path / "corpora"
    statistics = pd.read_csv(found / "statistics.csv").set_index("split")
    assert statistics["sentences"].to_dict() == {"train": 200, "valid": 20, "test": TEST_SENTENCES}
    reader = run_of(folder, "ngram").data.reader
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


def test_named_corpora_need_no_runs(tmp_path: Path, without_pictures: list[ReportContent]) -> None:
    """Two corpora in one table, each with its own settings."""
    sizes = [
        f"corpora.{name}.reader.{split}={size}"
        for name, size in (("toy_english", 40), ("toy_mandarin", 30))
        for split in ("train", "valid", "test")
    ]
    settings = load_settings(
        "evaluate",
        ["task=corpus", "corpora=[toy_english,toy_mandarin]", *sizes, f"output={tmp_path}",
         f"run={tmp_path / 'none'}", f"paths.cache={tmp_path / 'cache'}"],
    )  # fmt: skip
    run_task(settings)
    found = tmp_path / "corpora"
    statistics = pd.read_csv(found / "statistics.csv")
    train = statistics[statistics["split"] == "train"].set_index("corpus")
    assert train["sentences"].to_dict() == {"toy_english": 40, "toy_mandarin": 30}
    (study,) = without_pictures
    for name, data in settings.corpora.items():
        words = [one.words for one in data.reader.read("train")]
        assert train.loc[name, "tokens"] == sum(map(len, words))
        assert train.loc[name, "longest"] == max(map(len, words))
        assert study.lengths[name] == dict(sorted(Counter(map(len, words)).items()))
    counts = pd.read_csv(found / "constructions.csv")
    assert set(counts["corpus"]) == {"toy_english"}
    assert not (found / "perplexity.csv").exists()
