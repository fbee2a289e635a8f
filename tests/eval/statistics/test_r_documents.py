"""The code of docs/r.md runs, with our tables."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gardenpath.store.manifest import write_side_car
from gardenpath.store.tables import ITEMS, SENTENCES, SURPRISALS, write_table
from tests.eval.statistics.r_program import require_r

PAGE = Path(__file__).parents[3] / "docs" / "r.md"
_CODE = re.compile(r"^```r\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _tables(folder: Path) -> None:
    """A results folder of two models on 20 items in two conditions."""
    random = np.random.default_rng(5)
    rows = []
    for seed in (1, 2):
        for model in ("lstm", "rnng"):
            who = {"run": f"runs/{model}/seed{seed}", "model": model, "corpus": "toy", "seed": seed}
            for item in range(1, 21):
                rows.append({**who, "suite": "mine", "class": "", "modifier": "", "item": item})
    items = [
        {**row, "prediction": "p", "outcome": float(n % 3 > 0), "tie": n % 7 == 0, "unknown": 0,
         "difference_bits": random.normal(1 + (row["model"] == "rnng")), "unknown_words": ""}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    write_table(folder / ITEMS.file, ITEMS.frame(items))
    write_side_car(folder / ITEMS.file, {"unit": "bits"})
    sentences = [
        {**row, "condition": condition, "variant": 1, "words": 5, "slor": float("nan"),
         "local_bits": random.normal(8 + 2 * (condition == "mismatch")),
         "global_bits_per_word": 5.0}
        for row in rows for condition in ("match", "mismatch")
    ]  # fmt: skip
    write_table(folder / SENTENCES.file, SENTENCES.frame(sentences))
    words = [
        {**row, "condition": "match", "variant": 1, "region": "r", "word_id": place, "word": word,
         "seen": word != "NA", "surprisal_bits": 2.5}
        for row in rows for place, word in enumerate(('"', "NA", "猫"), start=1)
    ]  # fmt: skip
    write_table(folder / SURPRISALS.file, SURPRISALS.frame(words)[list(SURPRISALS.names)])


@pytest.mark.slow
def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    program = require_r()
    folder = tmp_path / "results" / "mine"
    folder.mkdir(parents=True)
    _tables(folder)
    blocks = _CODE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    (tmp_path / "page.R").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([program, "page.R"], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert "modelrnng" in done.stdout and "mismatch" in done.stdout
