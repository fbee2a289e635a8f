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


def _sentences(path: Path) -> list[Tokens]:
    """The tokens of each sentence with their surprisals in bits, up to ``<eos>``."""
    sentences: list[Tokens] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        token, bits = line.split("\t")
        if token == "<eos>":
            sentences.append([])
        else:
            sentences[-1].append((token, float(bits)))
    return sentences[:-1]


def _run(model: str) -> dict[str, object]:
    return {"run": model, "model": model, "corpus": "", "seed": None}


@cache
def ordering_effects(folder: Path, model: str) -> pd.DataFrame:
    """Ordering effects of centre embedding, in bits."""
    sentences = _sentences(folder / "center-embeddings" / f"{model}_output.tsv")

    def verbs(block: int, item: int, count: int) -> float:
        words = sentences[28 * block + item]
        assert words[-1][0] == "."
        return sum(bits for _, bits in words[-1 - count : -1])

    rows = []
    for item in range(28):
        match = verbs(0, item, 1) + verbs(1, item, 1)
        values = {
            "ordering_effect_sentence": verbs(2, item, 1) + verbs(3, item, 1) - match,
            "ordering_effect": verbs(5, item, 2) - verbs(4, item, 2),
            "ordering_effect_long": verbs(7, item, 2) - verbs(6, item, 2),
        }
        place = {"suite": "center_embedding/verb_order", "class": "center_embedding"}
        rows += [
            {
                **_run(model),
                **place,
                "modifier": "",
                "item": item + 1,
                "effect": name,
                "value_bits": value,
            }
            for name, value in values.items()
        ]
    return pd.DataFrame(rows)


_PLACES = (
    *(("islands", name) for name in ("object",)),
    ("wh_discharge", "subject"),
    *(("islands", name) for name in ("adjunct", "over_adjunct")),
    ("wh_discharge", "adjunct_discharge"),
    *(("islands", name) for name in ("complex_np", "over_complex_np")),
    ("wh_discharge", "cnp_discharge"),
)
_VARIANTS = ("that_nogap", "that_gap", "what_nogap", "what_gap")


def _object(without: list[str], with_gap: list[str]) -> tuple[int, int]:
    """Start and end of the object, which a sentence with a gap lacks."""
    start = next(n for n, (a, b) in enumerate(zip(without, with_gap, strict=False)) if a != b)
    return start, start + len(without) - len(with_gap)


@cache
def wh_sentences(folder: Path, model: str) -> pd.DataFrame:
    """Surprisal (bits) of the object without a gap, and of the adverbial after it with a gap."""
    sentences = _sentences(folder / "filler-gap-dependencies" / f"{model}_output.tsv")
    text = (folder / "filler-gap-dependencies" / "input.txt").read_text(encoding="utf-8")
    inputs = [line.split()[:-2] for line in text.splitlines()]  # without the full stop and <eos>
    rows = []
    for place, (kind, modifier) in enumerate(_PLACES):
        for item in range(100):
            # The adverbial of an item is the same in all conditions; here it is at the end.
            tail = inputs[item][_object(inputs[item], inputs[100 + item])[1] :]
            first = 400 * place + item
            start, end = _object(inputs[first], inputs[first + 100])
            assert inputs[first][end : end + len(tail)] == tail
            for number, condition in enumerate(_VARIANTS):
                bits = [value for _, value in sentences[first + 100 * number]]
                is_gap = condition.endswith("_gap")
                region = slice(start, start + len(tail) if is_gap else end)
                rows.append(
                    {
                        **_run(model),
                        "suite": f"{kind}/{modifier}",
                        "class": kind,
                        "modifier": modifier,
                        "item": item + 1,
                        "condition": condition,
                        "local_bits": sum(bits[region]),
                    }
                )
    return pd.DataFrame(rows)


def wh_effects(folder: Path, model: str) -> pd.DataFrame:
    """Wh-effects (bits) with the signs of the paper: positive if a filler licenses a gap."""
    table = wh_sentences(folder, model)
    keys = ["run", "model", "corpus", "suite", "class", "modifier", "item"]
    wide = table.pivot_table(index=keys, columns="condition", values="local_bits").reset_index()
    values = {
        "wh_effect_gap": wide["that_gap"] - wide["what_gap"],
        "wh_effect_nogap": wide["what_nogap"] - wide["that_nogap"],
    }
    blocks = [wide[keys].assign(effect=name, value_bits=value) for name, value in values.items()]
    return pd.concat(blocks, ignore_index=True).assign(seed=None)
