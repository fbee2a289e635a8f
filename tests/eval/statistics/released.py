"""Items and sentences of two studies from their released files, read without the importers.

The readers assume that the files are complete and in order; the importers are what checks that.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

Tokens = list[tuple[str, float]]

CORPORA = {"ctb": "surprisals", "xinhua": "surprisals_xinhua"}
MODELS = {"lstm": "lstm", "rnng": "rnng", "trans": "transformer", "plm": "plm"}
MODIFIERS = {
    "none": "none",
    "adj": "adjective",
    "obj": "object_rc",
    "sub": "subject_rc",
    "sub2": "coordinated_rc",
    "subh": "embedded_rc",
}
CLASSES = {
    "cls": "classifier_noun",
    "gpo": "garden_path_object",
    "gps": "garden_path_subject",
    "vo": "verb_noun",
    "mobj": "missing_object",
    "sd": "subordination",
}
# The numbers of the sentences of an item, more and less surprising, of each comparison.
_PAIRS = {
    "cls": ((1, 0), (3, 2), (3, 0), (1, 2)),
    "gpo": ((1, 0),),
    "gps": ((1, 0),),
    "vo": ((1, 0),),
    "mobj": ((0, 1),),
    "sd": ((1, 0),),
}


@cache
def mandarin_items(folder: Path) -> pd.DataFrame:
    """The outcomes of the neural models on all suites; seeds are ranks of folders, from 1."""
    targets = {key: list(_targets(folder, key)) for key in _suite_keys(folder)}
    rows = [
        row
        for corpus, part in CORPORA.items()
        for place in sorted((folder / part).iterdir())
        for short, model in MODELS.items()
        if short in place.name.split("_")
        for seed, trial in enumerate(sorted(place.iterdir()), start=1)
        for key, regions in targets.items()
        for row in _rows(trial, key, regions, {"model": model, "corpus": corpus, "seed": seed})
    ]
    return pd.DataFrame(rows)


def _suite_keys(folder: Path) -> list[str]:
    found = (folder / "suites").rglob("*_txt.txt")
    return sorted(path.name.removesuffix("_txt.txt") for path in found)


def _targets(folder: Path, key: str) -> Iterator[slice]:
    """The critical tokens of each sentence, counted from the end where its words are."""
    (path,) = (folder / "suites").rglob(f"{key}_txt.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words:
            continue
        match key.split("_")[0]:
            case "cls" | "vo":
                yield slice(-2, None)
            case "gpo":
                yield slice(-4, -3)
            case "gps":
                last = len(words) - 1 - words[::-1].index("的")
                yield slice(last, last + 1)
            case _:
                yield slice(-1, None)


def _rows(
    trial: Path, key: str, regions: list[slice], run: dict[str, object]
) -> Iterator[dict[str, object]]:
    kind, modifier = key.split("_")
    (path,) = trial.glob(f"*_{key}.*")
    table = pd.read_csv(path, sep="\t", quoting=3, dtype={"token": str}, keep_default_na=False)
    sentences = [rows.to_numpy(float) for _, rows in table.groupby("sentence_id")["surprisal"]]
    sums = [float(words[region].sum()) for words, region in zip(sentences, regions, strict=True)]
    size = 4 if kind == "cls" else 2
    for item in range(len(sums) // size):
        for more, less in _PAIRS[kind]:
            gain = sums[size * item + more] - sums[size * item + less]
            yield {
                "run": f"{run['corpus']}/{run['model']}/{run['seed']}",
                **run,
                "suite": f"mandarin/{CLASSES[kind]}/{MODIFIERS[modifier]}",
                "class": CLASSES[kind],
                "modifier": MODIFIERS[modifier],
                "item": item + 1,
                "prediction": f"{more}>{less}",
                "outcome": 0.5 * (1.0 + np.sign(gain)),
                "difference_bits": gain,
            }
