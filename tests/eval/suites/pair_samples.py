"""Small sets in the form of the published ones, with sentences of our own."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from gardenpath.eval.suites.benchmarks import paired_conditions
from gardenpath.eval.suites.suite import Suite

# Paradigms with their phenomenon and pairs.
Paradigms = Mapping[str, tuple[str, list[tuple[str, str]]]]

ENGLISH: Paradigms = {
    "agreement_1": ("agreement", [("The cats sleep.", "The cats sleeps."), ("I am.", "I are.")]),
    "agreement_2": ("agreement", [("Bill's dog isn't here.", "Bill's dog aren't here.")]),
    "animate": ("s-selection", [("Ann sleeps.", "Tea sleeps.")]),
    "passive": ("argument_structure", [("Tea was made.", "Tea was slept.")]),
}  # fmt: skip
MANDARIN: Paradigms = {
    "BA_order": ("BA", [("他把书看了。", "他看了把书。"), ("我把饭吃了。", "我吃了把饭。")]),
    "BA_drop": ("BA", [("他把书给我。", "他书把给我。")]),
    "wh_place": ("question", [("你看见谁？", "谁你看见？")]),
}


def json_lines(name: str, phenomenon: str, pairs: list[tuple[str, str]], form: str) -> str:
    """One paradigm as BLiMP, SLING or ZhoBLiMP write it."""
    keys = {
        "blimp": ("UID", "linguistics_term"),
        "sling": ("paradigm", "phenomenon"),
        "zhoblimp": ("UID", "phenomenon"),
    }[form]
    return "".join(
        json.dumps(
            {
                "sentence_good": good,
                "sentence_bad": bad,
                keys[0]: name,
                keys[1]: phenomenon,
                **({} if form == "zhoblimp" else {"field": "syntax"}),
                "pairID": str(number),
            },
            ensure_ascii=False,
        )
        + "\n"
        for number, (good, bad) in enumerate(pairs)
    )


def climp_file(name: str, phenomenon: str, pairs: list[tuple[str, str]]) -> str:
    """One paradigm as CLiMP writes it: the header only numbers the columns."""
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(["", "0", "1", "2", "3"])
    for number, (good, bad) in enumerate(pairs):
        rows.writerow([2 * number, phenomenon, name, good, 1])
        rows.writerow([2 * number + 1, phenomenon, name, bad, 0])
    return written.getvalue()


def write_set(folder: Path, form: str, paradigms: Paradigms) -> Path:
    """Write a set as a folder of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (phenomenon, pairs) in paradigms.items():
        if form == "climp":
            path, text = folder / f"{name}_1000.csv", climp_file(name, phenomenon, pairs)
        else:
            path = folder / f"{name}.jsonl"
            text = json_lines(name, phenomenon, pairs, form)
        path.write_text(text, encoding="utf-8")
    return folder


def zipped(folder: Path, path: Path) -> Path:
    """Pack a folder."""
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, f"{folder.name}/{file.relative_to(folder)}")
    return path


def prediction_accuracies(path: Path, suites: Iterable[Suite]) -> dict[str, float]:
    """The share of good sentences among BabyLM's predictions of each paradigm."""
    pairs: dict[str, list[list[str]]] = {}
    for suite in suites:
        for item in suite.items:
            variants = [item.of_condition(name)[0] for name in paired_conditions(suite)]
            texts = [variant.written or suite.text(variant) for variant in variants]
            pairs.setdefault(item.labels.get("paradigm", suite.name), []).append(texts)
    accuracies = {}
    for uid, group in json.loads(path.read_text(encoding="utf-8")).items():
        assert [each["id"] for each in group["predictions"]] == [
            f"{uid}_{number}" for number in range(len(pairs[uid]))
        ]
        places = [
            texts.index(each["pred"])
            for texts, each in zip(pairs[uid], group["predictions"], strict=True)
        ]
        accuracies[uid] = places.count(0) / len(places)
    return accuracies
