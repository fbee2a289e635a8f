"""Suites for tests: by hand, by chance, in published forms, and the generated English ones."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from gardenpath.eval.suites.benchmarks import paired_conditions
from gardenpath.eval.suites.formula import And, Comparison, Formula, Lookup, Or
from gardenpath.eval.suites.generated import GENERATORS
from gardenpath.eval.suites.outcomes import ItemOutcome, score_table
from gardenpath.eval.suites.regions import RegionTable, quantity, variant_rows
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant, holds_in_order

_PLAIN = ["猫", "。", "cat", "no", "12", "is", "n't", "'s", "café", "0x1F", "null", "?", "名.x"]
_SIGNS = [
    '"',
    "#",
    ":",
    "a:",
    "[b]",
    "-",
    "{",
    "*",
    "%",
    "!x",
    "&y",
    "~",
    ",",
    "\\n",
    "'",
    "@",
    "`",
]
WORDS = st.sampled_from([*_PLAIN, *_SIGNS])
NAMES = ["alpha", "b_2", "no", "with blank", "c-d", "x: y", "e,f", "#g", "名"]
TEXTS = st.sampled_from(["", "plain", "two: parts", "# sign", "a 'quoted' \"text\"", "null", "1.0"])

# Whatever JSON can say, strings of several lines and those that look like something else included.
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
META = st.dictionaries(st.sampled_from(["author", "tags", "a: b", "no"]), _VALUES, max_size=3)


def small_suite() -> Suite:
    """Two items of the running example, with nothing to complain about."""
    items = tuple(
        Item(
            number,
            tuple(
                Variant(condition, (("他", "有", "一"), (classifier,), (noun,), ("。",)))
                for condition, classifier in (("match", good), ("mismatch", bad))
            ),
        )
        for number, noun, good, bad in ((1, "猫", "只", "本"), (2, "书", "本", "只"))
    )
    return Suite(
        name="mandarin/classifier_noun/none",
        language="zh",
        regions=("context", "classifier", "noun", "end"),
        conditions=("match", "mismatch"),
        predictions=(Prediction("mismatch", Formula.parse("(noun;%mismatch%) > (noun;%match%)")),),
        items=items,
        kind="classifier_noun",
        modifier="none",
        spaced=False,
        critical=("noun",),
        differing=("classifier",),
        description="A classifier that does not fit its noun.",
    )


@st.composite
def suites(draw: st.DrawFn, *, most_variants: int = 2) -> Suite:
    """Suites with odd names and words, in which every item has equally many variants."""
    regions = tuple(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)))
    conditions = draw(st.lists(st.sampled_from(["a", "b", "c-1", "no"]), min_size=1, unique=True))
    counts = {each: draw(st.integers(1, most_variants)) for each in conditions}
    region = st.lists(WORDS, max_size=3).map(tuple)
    sentence = st.lists(region, min_size=len(regions), max_size=len(regions)).filter(any)
    labels = st.dictionaries(st.sampled_from(["depth", "a: b"]), st.sampled_from(["1", "x, y"]))
    items = tuple(
        Item(
            number,
            tuple(
                Variant(condition, tuple(draw(sentence)))
                for condition, count in counts.items()
                for _ in range(count)
            ),
            draw(labels),
            gloss=tuple(draw(st.just(()) | sentence)),
            translation=draw(TEXTS),
        )
        for number in draw(st.lists(st.integers(0, 50), min_size=1, max_size=3, unique=True))
    )
    terms = st.tuples(st.sampled_from([*regions, "*"]), st.sampled_from(conditions))
    pairs = draw(st.lists(st.tuples(terms, terms), max_size=2))
    predictions = tuple(
        Prediction(f"p{place}", Formula.parse(f"({a[0]};%{a[1]}%) - 1 > ({b[0]};%{b[1]}%)"))
        for place, (a, b) in enumerate(pairs)
    )
    chosen = st.lists(st.sampled_from(regions), unique=True).map(tuple)
    return Suite(
        name=draw(st.sampled_from(["a/b", "x: y", "12"])),
        language="en",
        regions=regions,
        conditions=tuple(conditions),
        predictions=predictions,
        items=items,
        kind=draw(TEXTS),
        modifier=draw(TEXTS),
        version=draw(st.sampled_from(["1", "2.0"])),
        metric=draw(st.sampled_from(["sum", "mean", "max", "first"])),
        normalised=draw(st.booleans()),
        spaced=draw(st.booleans()),
        critical=draw(chosen),
        differing=draw(chosen),
        chance=draw(st.none() | st.floats(0, 1)),
        description=draw(TEXTS),
        reference=draw(TEXTS),
        meta={key: value for key, value in draw(META).items() if (key, value) != ("author", "")},
    )


# ----------------------------------------------------------------------------
# A small suite with known surprisals, for tests of scoring.


def cats_suite(
    predictions: Mapping[str, str] | None = None, *, items: int = 2, name: str = "cats"
) -> Suite:
    """Regions classifier, noun and end; conditions match and mismatch."""
    wanted = predictions or {"fits": "(noun;%mismatch%) > (noun;%match%)"}
    return Suite(
        name=name,
        language="zh",
        regions=("classifier", "noun", "end"),
        conditions=("match", "mismatch"),
        predictions=tuple(Prediction(n, Formula.parse(text)) for n, text in wanted.items()),
        items=tuple(
            Item(
                number,
                (
                    Variant("match", (("一", "只"), (f"猫{number}",), ("。",))),
                    Variant("mismatch", (("一", "本"), (f"猫{number}",), ("。",))),
                ),
                {"animal": "cat"},
            )
            for number in range(1, items + 1)
        ),
        kind="classifier_noun",
        modifier="none",
        spaced=False,
        critical=("noun",),
    )


def surprisals_of(
    suite: Suite, nouns: Sequence[tuple[float, float]]
) -> dict[tuple[str, ...], tuple[float, ...]]:
    """Surprisals in which only nouns count: one pair (match, mismatch) per item."""
    return {
        variant.words: (1.0, 2.0, value, 0.5)
        for item, pair in zip(suite.items, nouns, strict=True)
        for variant, value in zip(item.variants, pair, strict=True)
    }


def holds(formula: Formula, lookup: Lookup) -> bool:
    """Whether a claim is true; ties get no special treatment."""
    assert isinstance(formula.tree, Comparison | And | Or)
    sides = [side for each in formula.comparisons for side in (each.left, each.right)]
    return holds_in_order(formula.tree, {side: quantity(side, lookup) for side in sides}, {})


def table_of(suite: Suite, surprisals: Mapping[tuple[str, ...], Sequence[float]]) -> RegionTable:
    """The region surprisals of a suite from those of the words of its sentences (bits)."""
    return RegionTable.from_rows(suite, variant_rows(suite, surprisals))


def score_suite(
    suite: Suite, surprisals: Mapping[tuple[str, ...], Sequence[float]], **options: Any
) -> list[ItemOutcome]:
    """The outcomes of a suite from the surprisals (bits) of the words of its sentences."""
    return score_table(table_of(suite, surprisals), **options)


# ----------------------------------------------------------------------------
# Small sets in the form of the published ones, with sentences of our own.


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


# ----------------------------------------------------------------------------
# The generated English suites: their sizes, and access to their parts.


PRONOUNS = ("himself", "herself", "themselves")
EXPERIMENTS = {"exp1a": 70, "exp1b": 70, "exp2a": 60, "exp2b": 60, "exp3": 60}
REFLEXIVES = {
    f"reflexives/{exp}/{who}": items for exp, items in EXPERIMENTS.items() for who in PRONOUNS
}
ISLANDS = (
    *(f"islands/{kind}" for kind in ("object", "adjunct", "over_adjunct")),
    *(f"islands/{kind}" for kind in ("complex_np", "over_complex_np")),
    *(f"wh_discharge/{kind}" for kind in ("subject", "adjunct_discharge", "cnp_discharge")),
)
CONSTRUCTIONS = ("comp_quant", "cleft_adj", "cleft_noun", "embwhq", "topic", "tough")
GAP_POSITIONS = ("subject", "object", "prepositional")
SIZES = {
    **REFLEXIVES,
    "center_embedding/verb_order": 40,
    **dict.fromkeys(ISLANDS, 100),
    **{f"filler_gap/{kind}": 1200 for kind in CONSTRUCTIONS},
    **{f"filler_gap/study1_{kind}": 60 for kind in GAP_POSITIONS},
    "reflexives/toy": 27,
    "center_embedding/toy": 24,
    "islands/toy": 24,
    "filler_gap/toy": 30,
    "garden_path/demo": 20,
    "reflexives/demo": 30,
    "filler_gap/demo": 12,
}
TOY = [name for name in SIZES if name.endswith("/toy")]
DEMO = [name for name in SIZES if name.endswith("/demo")]
GAPS = [name for name in SIZES if name.split("/")[0] in ("islands", "wh_discharge", "filler_gap")]


@cache
def suite(name: str) -> Suite:
    return GENERATORS[name]()


def region(of: Suite, variant: Variant, name: str) -> str:
    return " ".join(variant.regions[of.region_index(name)])


def one(item: Item, condition: str) -> Variant:
    (variant,) = item.of_condition(condition)
    return variant
