"""The English suites: their sizes, what varies in them, and the exact grammar on the toy ones."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gardenpath.data.pcfg.prefix import ExactModel
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.eval.suites.design.suite import Item, Suite, Variant
from gardenpath.eval.suites.library.generated import GENERATORS, TEMPLATES, Catalogue
from gardenpath.eval.suites.library.lint import lint
from gardenpath.eval.suites.library.templates import TemplateError
from gardenpath.eval.suites.scoring.effects import LICENSING, WH_GAP, WH_NO_GAP, suite_effects

PRONOUNS = ("himself", "herself", "themselves")
SIZES = {
    **{f"reflexives/{exp}/{who}": 70 for exp in ("exp1a_rc", "exp1b_sc") for who in PRONOUNS},
    **{
        f"reflexives/{exp}/{who}": 60
        for exp in ("exp2a_rc", "exp2b_sc", "exp3_pp")
        for who in PRONOUNS
    },
    "center_embedding/verb_order": 40,
    **{
        f"islands/{kind}": 100
        for kind in ("object", "adjunct", "over_adjunct", "complex_np", "over_complex_np")
    },
    **{f"wh_discharge/{kind}": 100 for kind in ("subject", "adjunct", "complex_np")},
    **{
        f"filler_gap/{kind}": 1200
        for kind in ("comp_quant", "cleft_adj", "cleft_noun", "embwhq", "topic", "tough")
    },
    "reflexives/toy": 27,
    "center_embedding/toy": 24,
    "islands/toy": 24,
    "filler_gap/toy": 30,
}
REFLEXIVES = [name for name in SIZES if name.startswith("reflexives/")]
GAPS = [name for name in SIZES if name.split("/")[0] in ("islands", "wh_discharge", "filler_gap")]
TOY = [name for name in SIZES if name.endswith("/toy")]
WELL_FORMED = {
    "reflexives": ("baseline", "distractor"),
    "center_embedding": ("plausible", "plausible_pp", "plausible_rc"),
    "islands": ("what_gap", "that_nogap"),
    "filler_gap": ("what_gap", "that_nogap"),
}
IRREGULAR = {"man": "men", "woman": "women", "gentleman": "gentlemen", "wife": "wives"}


@cache
def suite(name: str) -> Suite:
    return GENERATORS[name]()


def region(of: Suite, variant: Variant, name: str) -> str:
    return " ".join(variant.regions[of.region_index(name)])


def one(item: Item, condition: str) -> Variant:
    (variant,) = item.of_condition(condition)
    return variant


def test_all_suites_are_there() -> None:
    assert sorted(GENERATORS) == sorted(SIZES)
    assert len(GENERATORS) == len(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_no_complaints(name: str) -> None:
    made = suite(name)
    assert len(made.items) == SIZES[name]
    assert made.language == "en"
    assert "seed" in made.description
    assert lint(made) == []


def test_the_same_items_in_every_process() -> None:
    """Whatever the order in which Python happens to keep strings."""

    def digest(hash_seed: str) -> str:
        code = (
            "import sys\n"
            "from gardenpath.eval.suites.library.generated import GENERATORS\n"
            f"sys.stdout.write(repr(GENERATORS['{TOY[0]}']().items))"
        )
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        )
        return hashlib.sha256(run.stdout).hexdigest()

    here = hashlib.sha256(repr(suite(TOY[0]).items).encode()).hexdigest()
    assert digest("1") == digest("2") == here


def test_no_sentence_is_from_the_published_materials(reference_data: Path) -> None:
    ours = {
        " ".join(words).lower().removesuffix(" .") for name in SIZES for words in sentences(name)
    }
    theirs: set[str] = set()
    for path in (reference_data / "published" / "reflexives" / "stimuli").rglob("*.csv"):
        with path.open(encoding="utf-8") as rows:
            theirs |= {row["sentence_no_eos"] for row in csv.DictReader(rows)}
    for path in (reference_data / "published" / "syntaxgym").glob("*.json"):
        for item in json.loads(path.read_text(encoding="utf-8")).get("items", []):
            for condition in item["conditions"]:
                contents = (part["content"] for part in condition["regions"])
                theirs.add(" ".join(content for content in contents if content))
    assert len(theirs) > 1000
    assert not ours & {text.lower().removesuffix(" .") for text in theirs}


def sentences(name: str) -> tuple[tuple[str, ...], ...]:
    return suite(name).sentences


# ---- Reflexives ---------------------------------------------------------------------------------


def is_plural(noun: str) -> bool:
    return noun in IRREGULAR.values() or (noun.endswith("s") and not noun.endswith("ss"))


@pytest.mark.parametrize("name", REFLEXIVES)
def test_only_the_licensing_noun_decides(name: str) -> None:
    made = suite(name)
    for item in made.items:
        wants_plural = item.labels["pronoun"] == "themselves"
        for variant in item.variants:
            first, second = (region(made, variant, part) for part in ("first", "second"))
            below = "that" in region(made, variant, "link") and not region(made, variant, "clause")
            head, other = (second, first) if below else (first, second)
            agrees = tuple(is_plural(noun) == wants_plural for noun in (head, other))
            expected = {
                "baseline": (True, True),
                "distractor": (True, False),
                "ungrammatical": (False, True),
            }
            assert agrees == expected[variant.condition], variant
            assert region(made, variant, "reflexive") == item.labels["pronoun"]


@pytest.mark.parametrize("name", REFLEXIVES)
def test_every_noun_stands_in_both_places_equally_often(name: str) -> None:
    made = suite(name)
    singular = {plural: noun for noun, plural in IRREGULAR.items()}

    def lemma(noun: str) -> str:
        if noun in singular:
            return singular[noun]
        if not is_plural(noun):
            return noun
        if noun.endswith("ies"):
            return noun[:-3] + "y"
        return noun[:-2] if noun.endswith(("sses", "ches")) else noun[:-1]

    for item in made.items:
        for condition in made.conditions:
            places = [
                Counter(lemma(region(made, each, part)) for each in item.of_condition(condition))
                for part in ("first", "second")
            ]
            assert places[0] == places[1]


# ---- Centre embedding ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["center_embedding/verb_order", "center_embedding/toy"])
def test_verbs_change_places(name: str) -> None:
    made = suite(name)
    for item in made.items:
        for kind in ("", "_pp", "_rc"):
            plausible, implausible = one(item, f"plausible{kind}"), one(item, f"implausible{kind}")
            *before, first, second, end = plausible.regions
            assert implausible.regions == (*before, second, first, end)
            assert bool(region(made, plausible, "modifier")) == bool(kind)


# ---- Fillers and gaps ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAPS)
def test_variants_differ_in_the_filler_and_the_object(name: str) -> None:
    made = suite(name)
    place = made.region_index("object")
    for item in made.items:
        for filler in ("what", "that"):
            gap, full = one(item, f"{filler}_gap").regions, one(item, f"{filler}_nogap").regions
            assert gap[place] == ()
            assert full[place]
            assert gap == (*full[:place], (), *full[place + 1 :])
        with_filler, without = one(item, "what_nogap"), one(item, "that_nogap")
        assert region(made, with_filler, "filler") != region(made, without, "filler")


@pytest.mark.parametrize("name", [name for name in GAPS if not name.endswith("/toy")])
def test_no_noun_recurs_in_a_sentence(name: str) -> None:
    for words in sentences(name):
        nouns = Counter(noun for article, noun in itertools.pairwise(words) if article == "the")
        assert max(nouns.values(), default=1) == 1, words


@pytest.mark.parametrize("name", [name for name in SIZES if SIZES[name] == 1200])
def test_embedding_is_as_labelled(name: str) -> None:
    made = suite(name)
    cells = Counter(tuple(sorted(item.labels.items())) for item in made.items)
    assert len(cells) == 10
    assert set(cells.values()) == {120}
    marks = {"bridge": ("that",), "complex_np": ("who",), "interrogative": ("whether", "if")}
    for item in made.items:
        depth, embedding = int(item.labels["depth"]), item.labels["embedding"]
        assert (item.labels["island"] == "yes") == (embedding in ("complex_np", "interrogative"))
        context = region(made, item.variants[0], "context").split()
        found = {kind: sum(word in words for word in context) for kind, words in marks.items()}
        if "cleft" in name:
            found["bridge"] -= 1  # 'it was clear that'
        assert found == {kind: depth if kind == embedding else 0 for kind in marks}


@pytest.mark.parametrize("name", GAPS)
def test_effects_speak_of_the_regions_and_conditions(name: str) -> None:
    made = suite(name)
    effects = suite_effects(made)
    assert set(effects) >= {WH_GAP, WH_NO_GAP, LICENSING}
    for formula in effects.values():
        assert not formula.is_claim
        assert {term.region for term in formula.terms} <= set(made.regions)
        assert {term.condition for term in formula.terms} <= set(made.conditions)


# ---- The exact grammar --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grammar() -> ExactModel:
    return ExactModel(ToyTreebank(grammar="english").rules)


Surprisals = Mapping[tuple[str, ...], npt.NDArray[np.float64]]


@pytest.mark.parametrize("name", TOY)
def test_the_exact_grammar_on_toy_suites(name: str, grammar: ExactModel) -> None:
    """Well-formed variants are sentences of it; all others break at the critical region."""
    made = suite(name)
    surprisals = dict(zip(made.sentences, grammar.surprisal_bits(made.sentences), strict=True))
    first = min(made.region_index(region) for region in made.critical)
    for item in made.items:
        for variant in item.variants:
            bits = surprisals[variant.words]
            before = sum(len(words) for words in variant.regions[:first])
            assert np.isfinite(bits[:before]).all(), variant
            well_formed = variant.condition in WELL_FORMED[made.kind]
            assert np.isfinite(bits).all() == well_formed, variant
        lookup = partial(mean_surprisal, made, item, surprisals)
        assert all(each.formula.holds(lookup) for each in made.predictions), item


def mean_surprisal(
    of: Suite, item: Item, surprisals: Surprisals, name: str, condition: str
) -> float:
    """The surprisal of a region, averaged over the variants of a condition.

    After an impossible word there is no distribution any more; what follows is impossible too.
    """
    place, values = of.region_index(name), []
    for variant in item.of_condition(condition):
        begin = sum(len(words) for words in variant.regions[:place])
        value = float(surprisals[variant.words][begin : begin + len(variant.regions[place])].sum())
        values.append(math.inf if math.isnan(value) else value)
    return sum(values) / len(values)


# ---- What is refused ----------------------------------------------------------------------------

LEXICON = "classes:\n  nouns: [cat, dog]\n"
DESIGN = """
lexicon: words
seed: 1
items: 2
regions: [noun, end]
slots: {n: nouns}
predictions: {p: "(noun;%a%) > (noun;%b%)"}
designs:
  - name: test/$end
    for: [{end: now}, {end: then}]
    conditions:
      a: "{n} | $end"
      b: "no {n} | $end"
"""


def catalogue(folder: Path, text: str) -> Catalogue:
    (folder / "lexica").mkdir()
    (folder / "lexica" / "words.yaml").write_text(LEXICON, encoding="utf-8")
    (folder / "designs.yaml").write_text(text, encoding="utf-8")
    return Catalogue(folder=folder)


def test_a_design_stands_for_several_suites(tmp_path: Path) -> None:
    made = catalogue(tmp_path, DESIGN)
    assert list(made) == ["test/now", "test/then"]
    assert {words[-1] for words in made["test/then"]().sentences} == {"then"}


def test_a_design_may_give_its_chance(tmp_path: Path) -> None:
    made = catalogue(tmp_path, DESIGN.replace("seed: 1", "seed: 1\nchance: 1/3"))
    assert made["test/now"]().chance == 1 / 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed: 1", "sead: 1", "unknown settings: sead"),
        ("seed: 1", "seed: 1\nchance: high", r"chance: high is not a number in \[0, 1\]"),
        ("items: 2", "items: 3", "allow 2 different items"),
        ("items: 2", "items: two", "not an integer"),
        ("no {n} | $end", "no {n} $end", "has 1 regions, not 2"),
        ("no {n} | $end", "no {n} | $stop", "no value for 'stop'"),
        ("(noun;%a%)", "(noun;%a%", "test/now"),
        ("lexicon: words", "lexicon: wards", "cannot be read"),
        ("designs:", "- designs", "cannot be read"),
        ("[{end: now}, {end: then}]", "[{end: now}, {end: now}]", "have the name 'test/now'"),
    ],
)
def test_designs_that_cannot_be_used(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in DESIGN
    with pytest.raises(TemplateError, match=message):
        catalogue(tmp_path, DESIGN.replace(old, new))["test/now"]()


def test_templates_are_where_they_are_looked_for() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.yaml")} == {
        *("center_embedding", "filler_gap", "islands", "reflexives", "toy"),
    }
