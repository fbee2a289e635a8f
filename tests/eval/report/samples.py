"""A made-up study with everything a report can show, and some things that could break it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.means import summarise
from gardenpath.eval.perplexity import PerplexityRow
from gardenpath.eval.report.content import Curve, Parse, ParseKey, ReportContent, ReportedAnalysis
from gardenpath.store.tables import EFFECTS, ITEMS, SURPRISALS

MODELS = ("unigram", "ngram", "lstm", "transformer", "rnng", "plm")
SKILL = {"unigram": 0.0, "ngram": 0.3, "lstm": 0.9, "transformer": 1.1, "rnng": 1.6, "plm": 1.3}
NASTY = '</script><script>alert("x")</script>'

# In the order of the alphabet, as suites are found; the report has to find the right one.
RELATIVE = ("adjective", "none", "object_rc", "subject_rc")
CLASSES = {
    "classifier_noun": RELATIVE,
    "missing_object": ("coordinated_rc", "embedded_rc", "none", "subject_rc"),
    "garden_path_object": RELATIVE,
    "garden_path_subject": RELATIVE,
    "verb_noun": RELATIVE,
    "subordination": RELATIVE,
}
COMPLEXITY = (
    ("none", "adjective", "subject_rc", "object_rc"),
    ("none", "subject_rc", "coordinated_rc", "embedded_rc"),
)
# Word sequences of a Mandarin item by region: before, modifier, critical.
MODIFIER_WORDS = {
    "none": (),
    "adjective": ("可爱", "的"),
    "object_rc": ("朋友", "昨天", "看见", "的"),
    "subject_rc": ("喜欢", "音乐", "的"),
    "coordinated_rc": ("喜欢", "音乐", "并且", "学习", "外语", "的"),
    "embedded_rc": ("认识", "喜欢", "音乐", "的", "老师", "的"),
}
ISLANDS = ("object", "adjunct", "over_adjunct", "complex_np", "over_complex_np")

Region = tuple[str, tuple[str, ...]]
Sentence = tuple[str, int, tuple[Region, ...]]  # condition, variant, regions


def _mandarin(modifier: str, number: int) -> list[Sentence]:
    noun = ("猫", "书", "工厂", "信")[number % 4]
    classifiers = {"match": ("只", "本", "家", "封")[number % 4], "mismatch": "匹"}
    return [
        (
            condition,
            1,
            (
                ("subject", ("他", "看见", "了")),
                ("classifier", ("一", classifier)),
                ("modifier", MODIFIER_WORDS[modifier]),
                ("critical", (noun, "。")),
            ),
        )
        for condition, classifier in classifiers.items()
    ]


def _english(number: int) -> list[Sentence]:
    guest = ("guest", "lawyer")[number % 2]
    return [
        (
            f"{filler}_{gap}",
            1,
            (
                ("opening", ("I", "know", "what" if filler == "wh" else "that")),
                ("clause", ("the", guest, "devoured")),
                ("object", () if gap == "gap" else ("the", "cake")),
                ("critical", ("at", "the", "party")),
                ("end", (".",)),
            ),
        )
        for filler in ("wh", "that")
        for gap in ("gap", "nogap")
    ]


def _runs(corpus: str, seeds: int) -> Iterator[tuple[str, str, str, int | None]]:
    for model in MODELS:
        for seed in range(1, seeds + 1):
            yield f"{corpus}/{model}/seed{seed}", model, corpus, seed
    yield f"{corpus}/{EXACT}", EXACT, corpus, None


def _surprisals(
    run: tuple[str, str, str, int | None],
    suite: str,
    number: int,
    sentences: list[Sentence],
    dice: random.Random,
) -> Iterator[tuple[object, ...]]:
    """One row per word; the exact grammar finds a word after a wrong classifier impossible."""
    skill = SKILL.get(run[1], 3.0)
    for condition, variant, regions in sentences:
        word_id = 0
        for region, words in regions:
            for word in words:
                word_id += 1
                bits = 11.0 - 2 * skill + (sum(map(ord, word)) % 7) * 0.8 + dice.gauss(0, 1.0)
                if region == "critical" and condition in ("mismatch", "that_gap", "wh_nogap"):
                    bits += skill * dice.gauss(1.0, 0.8)
                    if run[1] == EXACT and condition == "mismatch":
                        bits = math.inf
                seen = word not in ("匹", "devoured")
                place = (region, word_id, word, seen, max(bits, 0.02))
                yield (*run, suite, number, condition, variant, *place)


def _total(rows: list[Any], condition: str) -> float:
    return math.fsum(row[-1] for row in rows if row[6] == condition and row[8] == "critical")


def _tree(words: list[str]) -> str:
    """A right-branching tree as far as these words go, open at its edge."""
    head = f"(IP (NP {words[0]})"
    for place, word in enumerate(words[1:]):
        head += f" (VP {word}" if place % 2 == 0 else f" (NP (QP {word})"
    return head


def _parses(surprisals: pd.DataFrame) -> dict[ParseKey, list[Parse]]:
    found: dict[ParseKey, list[Parse]] = {}
    rows = surprisals[surprisals["model"].isin(["rnng", "plm"])]
    keys = ["run", "suite", "item", "condition", "variant"]
    for key, part in rows.groupby(keys, sort=False):
        words = part["word"].tolist()
        for place, word_id in enumerate(part["word_id"]):
            so_far = words[: place + 1]
            flat = f"(IP (FRAG {' '.join(so_far)}"
            found[(*key, int(word_id))] = [
                (0.61, _tree(so_far)),
                (0.3, flat),
                (0.05, flat.replace("FRAG", "NP")),
            ]
    return found


def _tables(
    seeds: int, items: int, classes: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    dice = random.Random(5)
    surprisals: list[tuple[object, ...]] = []
    outcomes: list[tuple[object, ...]] = []
    effects: list[tuple[object, ...]] = []
    for run in _runs("toy_mandarin", seeds):
        for kind, modifiers in list(CLASSES.items())[:classes]:
            for modifier in modifiers:
                suite = f"{kind}_{modifier}"
                for number in range(1, items + 1):
                    rows = list(_surprisals(run, suite, number, _mandarin(modifier, number), dice))
                    surprisals += rows
                    difference = _total(rows, "mismatch") - _total(rows, "match")
                    tie = run[1] == "unigram"
                    outcome = 0.5 if tie else float(difference > 0)
                    facts = (outcome, tie, 0.0 if tie else difference, 1)
                    outcomes.append((*run, suite, kind, modifier, number, "match", *facts, "匹"))
    for run in _runs("toy_english", seeds):
        for condition in ISLANDS:
            suite = f"islands_{condition}"
            for number in range(1, items + 1):
                rows = list(_surprisals(run, suite, number, _english(number), dice))
                surprisals += rows
                gap = _total(rows, "that_gap") - _total(rows, "wh_gap")
                nogap = _total(rows, "wh_nogap") - _total(rows, "that_nogap")
                names = (*run, suite, "islands", condition, number)
                outcomes.append((*names, "gap", float(gap > 0), False, gap, 0, ""))
                outcomes.append((*names, "nogap", float(nogap > 0), False, nogap, 0, ""))
                effects.append((*names, "+gap wh-effect", gap))
                effects.append((*names, "-gap wh-effect", nogap))
                effects.append((*names, "licensing_interaction", gap + nogap))
    return (
        SURPRISALS.frame(surprisals),
        ITEMS.frame(outcomes),
        EFFECTS.frame(effects),
    )


def _analyses() -> list[ReportedAnalysis]:
    columns = ["term", "estimate", "standard error", "statistic", "p", "low", "high"]
    supervision = {
        name: pd.DataFrame([("syntax", b, s, b / s, p, b - 2 * s, b + 2 * s)], columns=columns)
        for name, b, s, p in (
            ("verb_noun: lstm vs rnng", 0.507, 0.195, 0.0095),
            ("verb_noun: transformer vs plm", 0.041, 0.165, 0.8),
            ("subordination: lstm vs rnng", 0.525, 0.31, 0.09),
            ("missing_object: lstm vs rnng", -0.091, 0.246, 0.71),
        )
    }
    rows = [
        ("(Intercept)", 9.1, 0.3, 30.0, 1e-20, 8.5, 9.7),
        ("embedding", -0.21, 0.05, -4.2, 2.7e-5, -0.31, -0.11),
    ]
    return [
        ReportedAnalysis(
            title="Does structural supervision help?",
            sentences=(
                "RNNG is more accurate than LSTM on verb-noun: b = 0.51, SE 0.20, p = .010",
                "No difference on subordination could be shown: mean −0.09 bits, t(4) = −0.57",
                "No difference on missing object could be shown: b = −0.09, p = .710",
            ),
            significant=(True, False, False),
            tables=supervision,
        ),
        ReportedAnalysis(
            title="Modifier complexity",
            skipped=("subordination: only one modifier",),
            sentences=("Accuracy falls with each level of embedding.", "The fit is singular."),
            tables={"fixed effects": pd.DataFrame(rows, columns=columns)},
        ),
    ]


def _perplexity(seeds: int) -> list[PerplexityRow]:
    rows = []
    for corpus in ("toy_english", "toy_mandarin"):
        for model in (*MODELS, EXACT):
            for seed in range(1, seeds + 1) if model != EXACT else (None,):
                bits = 0.0 if model == EXACT else 3.2 - 1.6 * SKILL[model] + 0.03 * (seed or 0)
                facts = (2.0 ** (3.2 + bits), 2.0 ** (3.3 + bits), 12 * (3.2 + bits), bits)
                rows.append(PerplexityRow(corpus, model, seed, 500, 5500, *facts))
    return rows


def _curves(seeds: int) -> list[Curve]:
    curves = []
    for corpus in ("toy_english", "toy_mandarin"):
        for model in ("lstm", "transformer", "rnng", "plm"):
            for seed in range(1, seeds + 1):
                losses = [
                    2.2 + (3 - SKILL[model]) * math.exp(-0.6 * epoch) + 0.04 * seed
                    for epoch in range(6)
                ]
                metrics = {"epoch": range(6), "train/loss": [x + 0.2 for x in losses]}
                table = pd.DataFrame({**metrics, "valid/loss": losses})
                if model in ("rnng", "plm"):
                    table["valid/joint_perplexity"] = [math.exp(x) for x in losses]
                curves.append(Curve(model=model, corpus=corpus, seed=seed, metrics=table))
    return curves


def sample_study(*, seeds: int = 1, items: int = 2, classes: int = 2) -> ReportContent:
    """Two toy corpora, six models, the exact grammar; Mandarin suites and five English ones."""
    surprisals, outcomes, effects = _tables(seeds, items, classes)
    suites = surprisals["suite"].unique()
    return ReportContent(
        title=f"Six models on two toy languages {NASTY}",
        description="Made-up numbers in the shape of real ones.",
        facts={
            "Gardenpath": "0.1.0",
            "Search": "word-synchronous, action beam 100, word beam 10, fast track 1",
            "Seeds": ", ".join(map(str, range(1, seeds + 1))),
            "Nasty": NASTY,
            "Nothing": "",
        },
        notes=("Items with unknown critical words were kept.",),
        items=outcomes,
        summary=summarise(outcomes),
        surprisals=surprisals,
        effects=effects,
        perplexity=_perplexity(seeds),
        analyses=_analyses(),
        parses=_parses(surprisals),
        curves=_curves(seeds),
        lengths={
            "toy_english": {n: round(3000 * math.exp(-((n - 11) ** 2) / 18)) for n in range(3, 30)},
            "toy_mandarin": {n: round(2500 * math.exp(-((n - 9) ** 2) / 22)) for n in range(3, 26)},
        },
        critical=dict.fromkeys(suites, ("critical",)),
        chance={"islands": 0.5},
        modifier_orders=COMPLEXITY,
    )


def garden_paths(means: dict[str, float]) -> pd.DataFrame:
    """Items of garden paths, twenty for each model, whose mean difference (bits) is given."""
    return ITEMS.frame(
        [
            {
                "run": model, "model": model, "corpus": "toy", "seed": 1, "suite": "s",
                "class": "garden_path_object", "modifier": "none", "item": item, "prediction": "p",
                "outcome": 1.0, "tie": False, "difference_bits": mean + (item % 5 - 2),
                "unknown": 0,
            }
            for model, mean in means.items()
            for item in range(20)
        ]
    )  # fmt: skip
