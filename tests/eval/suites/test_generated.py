"""Generation of the English suites: sizes, determinism, the exact grammar, what is refused."""

from __future__ import annotations

import hashlib
import itertools
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
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.data.pcfg.exact import ExactModel
from gardenpath.data.readers.files import ToyTreebank
from gardenpath.eval.suites.effects import LICENSING, WH_GAP, WH_NO_GAP, suite_effects
from gardenpath.eval.suites.generated import (
    GENERATORS,
    TEMPLATES,
    Catalogue,
    Cell,
    Lexeme,
    Lexicon,
    Slot,
    Template,
    TemplateError,
    TemplateLine,
    choose_words,
)
from gardenpath.eval.suites.lint import lint
from gardenpath.eval.suites.outcomes import MIN_ITEMS
from gardenpath.eval.suites.suite import Item, Suite
from tests.eval.suites.suite_samples import DEMO, GAPS, SIZES, TOY, holds, suite

WELL_FORMED = {
    "reflexives": ("baseline", "distractor"),
    "center_embedding": ("match", "match_long"),
    "islands": ("what_gap", "that_nogap"),
    "filler_gap": ("what_gap", "that_nogap"),
    "garden_path": ("ambiguous", "unambiguous"),
}


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


@pytest.mark.parametrize("name", [TOY[0], "islands/adjunct"])
def test_the_same_items_in_every_process(name: str) -> None:
    """Whatever the order in which Python happens to keep strings."""

    def digest(hash_seed: str) -> str:
        code = (
            "import sys\n"
            "from gardenpath.eval.suites.generated import GENERATORS\n"
            f"sys.stdout.write(repr(GENERATORS['{name}']().items))"
        )
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        )
        return hashlib.sha256(run.stdout).hexdigest()

    here = hashlib.sha256(repr(suite(name).items).encode()).hexdigest()
    assert digest("1") == digest("2") == here


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


@cache
def exact(name: str) -> ExactModel:
    return ExactModel(ToyTreebank(grammar=name).rules)


Surprisals = Mapping[tuple[str, ...], npt.NDArray[np.float64]]


@pytest.mark.parametrize("name", [*TOY, *DEMO])
def test_the_exact_grammar_on_its_suites(name: str) -> None:
    """Well-formed variants are sentences of it; all others break at the critical region."""
    made = suite(name)
    grammar = exact("demo_english" if name in DEMO else "english")
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
        assert all(holds(each.formula, lookup) for each in made.predictions), item


def test_the_demo_has_enough_items_for_statistics() -> None:
    """In each of its suites, and in each of the two structures of a garden path."""
    sizes = [len(suite(name).items) for name in DEMO]
    structures = Counter(item.labels["structure"] for item in suite("garden_path/demo").items)
    assert min(*sizes, *structures.values()) >= MIN_ITEMS


def test_garden_paths_of_the_demo_cost_three_to_six_bits() -> None:
    made, grammar = suite("garden_path/demo"), exact("demo_english")
    surprisals = dict(zip(made.sentences, grammar.surprisal_bits(made.sentences), strict=True))
    for item in made.items:
        ambiguous, clear = (
            mean_surprisal(made, item, surprisals, "verb", condition)
            for condition in ("ambiguous", "unambiguous")
        )
        assert 3.0 <= ambiguous - clear <= 6.5


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


SHARING = """
lexicon: words
seed: 1
items: 2
share: both
regions: [noun, end]
slots: {n: nouns}
predictions: {p: "(noun;%a%) > (noun;%b%)"}
designs:
  - name: test/one
    conditions: {a: "{n} | now", b: "no {n} | now"}
  - name: test/two
    conditions: {a: "that {n} | then", b: "no {n} | then"}
"""


def test_designs_that_share_have_the_same_words(tmp_path: Path) -> None:
    made = catalogue(tmp_path, SHARING)
    nouns = [
        [item.variants[1].words[1] for item in made[name]().items]
        for name in ("test/one", "test/two")
    ]
    assert nouns[0] == nouns[1]


def test_designs_that_share_differ_in_their_lines_only(tmp_path: Path) -> None:
    made = catalogue(
        tmp_path, SHARING.replace("- name: test/two", "- name: test/two\n    items: 1")
    )
    with pytest.raises(TemplateError, match="test/one and test/two share their words"):
        made["test/two"]()


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
        ("(noun;%a%) > ", "(noun;%a%) - ", "predictions: p must be a comparison"),
        (
            "predictions: ",
            'effects: {e: "(noun;%a%) > 1"}\npredictions: ',
            "e must be a difference",
        ),
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
        *("center_embedding", "filler_gap", "islands", "reflexives", "study1", "toy", "demo"),
    }


def test_the_first_items_are_a_sample_of_all() -> None:
    """Kinds of items alternate, so that ``suite.items=40`` has every depth in its proportion."""
    items = suite("filler_gap/embwhq").items
    depths = Counter(item.labels["depth"] for item in items)
    first = Counter(item.labels["depth"] for item in items[: len(items) // 10])
    assert set(first) == set(depths) == {"0", "1", "2", "3"}
    assert all(abs(first[depth] - depths[depth] / 10) <= 5 for depth in depths)


# ----------------------------------------------------------------------------
# Items from templates: against enumeration, and what is refused.


PATH = Path("somewhere.yaml")
FAMILY: Mapping[str, object] = {
    "forms": {"men": ["sg", "pl"]},
    "classes": {
        "men": ["man / men", "boy / boys", "son / sons"],
        "prepositions": ["near", "in front of"],
    },
    "scenes": {
        "meals": [
            {"agents": ["cook", "baker"], "dishes": ["cake", "soup"]},
            {"agents": ["vet", "groom"], "dishes": ["hay"]},
        ]
    },
}


def template(
    *lines: str,
    slots: Mapping[str, str],
    items: int,
    seed: int = 0,
    scenes: str = "",
    cross: tuple[str, ...] = (),
    content: Mapping[str, object] = FAMILY,
) -> Template:
    cell = Cell(tuple(TemplateLine.parse("only", line) for line in lines), items, {"kind": "test"})
    lexicon = Lexicon.from_mapping(content, PATH)
    return Template("test", PATH, lexicon, slots, (cell,), seed, scenes, cross)


def items_of(made: Template) -> tuple[Item, ...]:
    return made.items(choose_words([made]))


def texts(items: tuple[Item, ...]) -> list[str]:
    return [" ".join(variant.words) for item in items for variant in item.variants]


def test_lines_are_cut_into_regions_and_slots() -> None:
    line = TemplateLine.parse("base", "The | {x.pl} | | {near} the | .")
    assert line.regions == (("The",), (Slot("x", "pl"),), (), (Slot("near", ""), "the"), (".",))


def test_words_of_several_words_and_forms() -> None:
    line = TemplateLine.parse("base", "The {x.pl} | {near} the {x.sg}")
    words: dict[str, Lexeme] = {
        "x": {"sg": ("man",), "pl": ("men",)},
        "near": {"": ("in", "front", "of")},
    }
    assert line.fill(words).regions == (("The", "men"), ("in", "front", "of", "the", "man"))


def test_the_same_seed_gives_the_same_items_and_another_seed_others() -> None:
    def made(seed: int) -> list[str]:
        slots = {"x": "men", "y": "men", "near": "prepositions"}
        return texts(items_of(template("{x.sg} {near} {y.pl}", slots=slots, items=6, seed=seed)))

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_items_are_numbered_and_labelled() -> None:
    items = items_of(template("{x.sg}", slots={"x": "men"}, items=3))
    assert [item.number for item in items] == [1, 2, 3]
    assert {item.labels["kind"] for item in items} == {"test"}


@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 100))
def test_all_items_that_there_are_and_no_more(words: int, others: int, seed: int) -> None:
    content = {
        "classes": {
            "letters": [f"a{n}" for n in range(words)],
            "others": [f"b{n}" for n in range(others)],
        }
    }
    slots = {"x": "letters", "y": "letters", "z": "others"}
    possible = {
        f"{x} {y} {z}"
        for x, y in itertools.permutations(content["classes"]["letters"], 2)
        for z in content["classes"]["others"]
    }

    def wanted(items: int) -> Template:
        return template("{x} {y} {z}", slots=slots, items=items, seed=seed, content=content)

    assert set(texts(items_of(wanted(len(possible))))) == possible
    with pytest.raises(TemplateError, match=f"allow {len(possible)} different items"):
        items_of(wanted(len(possible) + 1))


def test_no_sentence_stands_in_two_items() -> None:
    """Two orders of the same two nouns are one item, not two."""
    slots = {"x": "men", "y": "men"}
    items = items_of(template("{x.sg} and {y.sg}", "{y.sg} and {x.sg}", slots=slots, items=3))
    assert len(set(texts(items))) == 6
    with pytest.raises(TemplateError, match="allow 3 different items"):
        items_of(template("{x.sg} and {y.sg}", "{y.sg} and {x.sg}", slots=slots, items=4))


def test_scenes_do_not_mix_and_take_turns() -> None:
    slots = {"a": "agents", "d": "dishes", "p": "prepositions"}
    items = items_of(template("{a} {d} {p}", slots=slots, items=8, scenes="meals"))
    kinds = [("vet" in text or "groom" in text, "hay" in text) for text in texts(items)]
    assert all(agent == dish for agent, dish in kinds)
    assert 2 <= sum(agent for agent, _ in kinds) <= 4  # there are no more than four with hay


@given(st.integers(2, 6), st.integers(1, 5), st.integers(1, 4))
def test_crossing_is_complete_and_balanced(nouns: int, verbs: int, others: int) -> None:
    content = {
        "classes": {
            "nouns": [f"n{n}" for n in range(nouns)],
            "verbs": [f"v{n}" for n in range(verbs)],
            "others": [f"o{n}" for n in range(others)],
        }
    }
    slots = {"x": "nouns", "y": "nouns", "v": "verbs", "o": "others"}
    made = template(
        "{x} {v} {y} {o}", slots=slots, items=nouns * verbs, cross=("x", "v"), content=content
    )
    rows = [text.split() for text in texts(items_of(made))]
    pairs = set(itertools.product(content["classes"]["nouns"], content["classes"]["verbs"]))
    assert [len(rows), {(x, v) for x, v, _, _ in rows}] == [len(pairs), pairs]
    assert {(y, v) for _, v, y, _ in rows} == pairs
    assert all(x != y for x, _, y, _ in rows)


@pytest.mark.parametrize(
    ("slots", "cross", "scenes", "items", "message"),
    [
        ({"x": "men", "p": "prepositions"}, ("x", "p"), "", 5, "gives 6 items, but 5 are"),
        ({"x": "men"}, ("x", "p"), "", 3, "'cross' names unknown slots: p"),
        ({"x": "men", "y": "men"}, ("x", "y"), "", 9, "slots of different classes"),
        ({"x": "dishes"}, ("x",), "meals", 2, "and no scenes"),
    ],
)
def test_crossings_that_cannot_be_made(
    slots: Mapping[str, str], cross: tuple[str, ...], scenes: str, items: int, message: str
) -> None:
    made = template("word", slots=slots, items=items, scenes=scenes, cross=cross)
    with pytest.raises(TemplateError, match=message):
        items_of(made)


@pytest.mark.parametrize(
    ("line", "slots", "scenes", "message"),
    [
        ("{x.sg}", {}, "", "unknown slot 'x'"),
        ("{x}", {"x": "men"}, "", "has no form ''"),
        ("{x.dual}", {"x": "men"}, "", "has no form 'dual'"),
        ("{x}", {"x": "women"}, "", "class 'women', which has only 0 words"),
        ("{x}", {"x": "dishes", "y": "dishes"}, "meals", "which has only 1 words in some scene"),
        ("{x}", {"x": "dishes"}, "wars", "unknown scenes 'wars'"),
    ],
)
def test_what_does_not_fit_is_refused(
    line: str, slots: Mapping[str, str], scenes: str, message: str
) -> None:
    with pytest.raises(TemplateError, match=message):
        items_of(template(line, slots=slots, items=1, scenes=scenes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"classes": {"adjectives": ["clear", True]}}, "put quotation marks around"),
        ({"forms": {"men": ["sg", "pl"]}, "classes": {"men": ["man"]}}, "has 1 forms, not 2"),
        ({"classes": ["man"]}, "'classes' is not a mapping"),
        ({"scenes": {"meals": {"agents": ["cook"]}}}, "is not a list"),
        ({"scenes": {"meals": ["cook"]}}, "classes of words must be a mapping"),
    ],
)
def test_lexica_that_cannot_be_read(content: Mapping[str, object], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Lexicon.from_mapping(content, PATH)
