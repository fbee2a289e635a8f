"""Tables of items and effects of two studies, straight from their released files.

An independent reading of the files, slow and obvious; it assumes that they are complete and in
order. The importers, which check that, are not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from gardenpath.studies.study import RELEASED, StudyData

EXPERIMENTS = {
    "exp1a-ml-rc": "exp1a",
    "exp1b-ml-comp": "exp1b",
    "exp2-rc": "exp2a",
    "exp3-comp": "exp2b",
    "exp4-pp": "exp3",
}
PRONOUNS = ("themselves", "himself", "herself")
_CONDITIONS = {
    "none": "baseline",
    **dict.fromkeys(("rc_subj", "nonlocal_subj", "distractor"), "distractor"),
    **dict.fromkeys(("matrix_subj", "local_subj", "head"), "ungrammatical"),
}
# Conditions of the filler-gap sentences, in the order of the file: class and modifier.
_CLASSES = (
    ("islands", "object"),
    ("wh_discharge", "subject"),
    ("islands", "adjunct"),
    ("islands", "over_adjunct"),
    ("wh_discharge", "adjunct_discharge"),
    ("islands", "complex_np"),
    ("islands", "over_complex_np"),
    ("wh_discharge", "cnp_discharge"),
)

Tokens = list[tuple[str, float]]


def study_data(
    items: pd.DataFrame,
    effects: pd.DataFrame,
    sentences: pd.DataFrame | None = None,
    source: str = RELEASED,
) -> StudyData:
    """A source with these tables only."""
    nothing = pd.DataFrame()
    return StudyData(
        source=source,
        items=items,
        effects=effects,
        sentences=nothing if sentences is None else sentences,
        surprisals=nothing,
    )


@cache
def reflexives(*folders: Path) -> StudyData:
    """The models of these folders on the experiments and pronouns of these folders."""
    found = [row for folder in folders for row in _reflexives(folder)]
    items, effects = ([row[place] for row in found] for place in (0, 1))
    return study_data(pd.DataFrame(items), pd.DataFrame([one for pair in effects for one in pair]))


def _reflexives(folder: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    for place in sorted((folder / "surprisal").rglob("*_*.*")):
        model, experiment = place.parts[-3:-1]
        pronoun = place.stem.removesuffix(f"_{model}")
        stimuli = pd.read_csv(folder / "stimuli" / experiment / f"{pronoun}.csv")
        if place.suffix == ".csv":
            bits = pd.read_csv(place)["surprisal"].tolist()
        else:
            bits = [dict(sentence)[pronoun] for sentence in sentences(place)]
        assert len(bits) == len(stimuli)
        conditions = stimuli["mismatch_position"].map(_CONDITIONS)
        assert not conditions.isna().any()
        for item in stimuli["item"].unique():
            means = {
                name: _mean([b for b, is_chosen in zip(bits, chosen, strict=True) if is_chosen])
                for name in ("baseline", "distractor", "ungrammatical")
                for chosen in [(stimuli["item"] == item) & (conditions == name)]
            }
            yield _reflexive_rows(_row(model, "reflexives", EXPERIMENTS[experiment]) | {
                "suite": f"reflexives/{EXPERIMENTS[experiment]}/{pronoun}",
                "item": int(item), "pronoun": pronoun,
            }, means)  # fmt: skip


def _reflexive_rows(
    row: dict[str, Any], means: Mapping[str, float]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    over = [means["ungrammatical"] - means[name] for name in ("baseline", "distractor")]
    outcome = 1.0 if min(over) > 0 else (1 / 3 if over == [0.0, 0.0] else 0.0)
    effects = {
        "distractor_effect": means["distractor"] - means["baseline"],
        "ungrammatical_effect": means["ungrammatical"] - means["baseline"],
    }
    return (
        {**row, "prediction": "licensing", "outcome": outcome, "difference_bits": min(over)},
        [{**row, "effect": name, "value_bits": value} for name, value in effects.items()],
    )


@cache
def suppression(folder: Path) -> StudyData:
    """The models of the study, on both experiments."""
    models = ("ngram", "gulordava")
    wh = pd.DataFrame([row for model in models for row in _wh_sentences(folder, model)])
    ordering = pd.DataFrame([row for model in models for row in _ordering(folder, model)])
    effects = pd.concat([ordering, _wh_effects(wh)], ignore_index=True)
    items = pd.DataFrame(columns=[*effects.columns, "outcome"])
    return study_data(items, effects, wh)


def _ordering(folder: Path, model: str) -> Iterator[dict[str, Any]]:
    lines = sentences(folder / "center-embeddings" / f"{model}_output.tsv")
    blocks = [lines[start : start + 28] for start in range(0, 224, 28)]

    def verb(block: int, item: int, place: int) -> float:
        """A verb of a sentence; -1 is the last word before the full stop."""
        words = [bits for word, bits in blocks[block][item] if word != "."]
        return words[place]

    for item in range(28):
        found = {
            "verb1_sentence": verb(3, item, -1) - verb(1, item, -1),
            "verb2_sentence": verb(2, item, -1) - verb(0, item, -1),
            "verb1_embedding": verb(5, item, -2) - verb(4, item, -2),
            "verb2_embedding": verb(5, item, -1) - verb(4, item, -1),
            "verb1_long": verb(7, item, -2) - verb(6, item, -2),
            "verb2_long": verb(7, item, -1) - verb(6, item, -1),
        }
        for design in ("sentence", "embedding", "long"):
            total = found[f"verb1_{design}"] + found[f"verb2_{design}"]
            found[f"ordering_effect_{design}"] = total
        row = _row(model, "center_embedding", "none") | {"suite": "center", "item": item + 1}
        yield from ({**row, "effect": name, "value_bits": value} for name, value in found.items())


def _wh_sentences(folder: Path, model: str) -> Iterator[dict[str, Any]]:
    """The surprisal of the object, or of the adverbial after a gap, in every sentence."""
    place = folder / "filler-gap-dependencies"
    inputs = [line.split()[:-1] for line in (place / "input.txt").read_text().splitlines()]
    lines = sentences(place / f"{model}_output.tsv")
    for number, (kind, modifier) in enumerate(_CLASSES):
        for item in range(100):
            # An item closes with the same adverbial in all conditions; after an object gap nothing
            # follows it but the full stop.
            start = _object_and_tail(inputs[item], inputs[100 + item], 0)[0].start
            adverbial = inputs[100 + item][start:-1]
            first = 400 * number + item
            thing, after = _object_and_tail(inputs[first], inputs[first + 100], len(adverbial))
            assert inputs[first + 100][after.start : after.stop] == adverbial
            row = _row(model, kind, modifier) | {"suite": f"{kind}/{modifier}", "item": item + 1}
            variants = ("that_nogap", "that_gap", "what_nogap", "what_gap")
            for variant, condition in enumerate(variants):
                words = thing if condition.endswith("nogap") else after
                bits = sum(lines[first + 100 * variant][word][1] for word in words)
                yield {**row, "condition": condition, "variant": 1, "local_bits": bits}


def _wh_effects(table: pd.DataFrame) -> pd.DataFrame:
    keys = ["run", "model", "corpus", "class", "modifier", "suite", "item"]
    wide = table.pivot(index=keys, columns="condition", values="local_bits")
    effects = {
        "wh_effect_gap": wide["that_gap"] - wide["what_gap"],
        "wh_effect_nogap": wide["what_nogap"] - wide["that_nogap"],
    }
    return pd.concat(
        [
            values.rename("value_bits").reset_index().assign(effect=name, seed=pd.NA)
            for name, values in effects.items()
        ]
    )


def _object_and_tail(filled: list[str], gapped: list[str], size: int) -> tuple[range, range]:
    """The words of the object in one sentence, and of the adverbial after the gap in the other.

    The object is what has to be taken out of the first sentence to make the second one; ``size`` is
    the number of words of the adverbial.
    """
    more = len(filled) - len(gapped)
    (start,) = (k for k in range(len(filled)) if filled[:k] + filled[k + more :] == gapped)
    return range(start, start + more), range(start, start + size)


def sentences(path: Path) -> list[Tokens]:
    """The sentences of a file of tokens and surprisals, without ends of sentences."""
    found: list[Tokens] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            token, bits = line.split()
            if token == "<eos>":
                found.append([])
            else:
                found[-1].append((token, float(bits)))
    return [one for one in found if one]


def _row(model: str, kind: str, modifier: str) -> dict[str, Any]:
    return {
        "run": model, "model": model, "corpus": "", "seed": pd.NA, "class": kind,
        "modifier": modifier,
    }  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
