"""The accuracy of guessing, from the formulas of predictions."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import outcome
from gardenpath.eval.suites.suite import (
    Glosses,
    Item,
    Prediction,
    Suite,
    SuiteError,
    Variant,
    chance_by_class,
    chance_level,
    chance_of,
    named,
    split_words,
)
from tests.eval.suites.suite_samples import (
    CONSTRUCTIONS,
    GAP_POSITIONS,
    GAPS,
    ISLANDS,
    PRONOUNS,
    REFLEXIVES,
    SIZES,
    one,
    region,
    small_suite,
    suite,
)


def _term(name: str) -> str:
    return f"(r;%{name}%)"


def _claim(text: str) -> Formula:
    """``a>b & a>c`` as a formula about one region in the conditions a, b and c."""
    return Formula.parse("".join(_term(sign) if sign.isalpha() else sign for sign in text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a>b", 1 / 2),
        ("a<b", 1 / 2),
        ("a>b & a>c", 1 / 3),
        ("a>b & b>c", 1 / 6),
        ("a>b | a>c", 2 / 3),
        ("[a>b] & [c>d]", 1 / 4),
        ("a+b > c+d", 1 / 2),
        ("[a<b] & [c<d] & [e<f] & [g<h] & [i<j] & [k<l] & [m<n]", 1 / 128),
    ],
)
def test_chance_is_the_share_of_all_orders(text: str, expected: float) -> None:
    assert chance_level(_claim(text)) == expected


@pytest.mark.parametrize("text", ["a=b", "a-b", "a>2.5", "a>a", "a>b & a=c"])
def test_other_formulas_have_no_known_chance(text: str) -> None:
    assert chance_level(_claim(text)) is None


def test_too_many_orders_are_not_counted() -> None:
    chain = " & ".join(f"{one}>{other}" for one, other in itertools.pairwise("abcdefghij"))
    assert chance_level(_claim(chain)) is None


COMPARISONS = st.tuples(st.sampled_from("abcd"), st.sampled_from("<>"), st.sampled_from("abcd"))


@given(
    st.lists(COMPARISONS.filter(lambda one: one[0] != one[2]), min_size=1, max_size=4),
    st.sampled_from("&|"),
)
def test_ties_score_at_chance(comparisons: list[tuple[str, str, str]], operator: str) -> None:
    """A model to which all conditions are equally surprising; and an oracle over all orders."""
    claim = _claim(f" {operator} ".join(f"[{''.join(one)}]" for one in comparisons))
    level = chance_level(claim)
    assert level == outcome(claim, lambda region, condition: 3.5).value
    held = []
    for order in itertools.permutations("abcd"):
        holds = [(order.index(a) > order.index(b)) == (sign == ">") for a, sign, b in comparisons]
        held.append(all(holds) if operator == "&" else any(holds))
    assert level == sum(held) / len(held)


def test_a_suite_may_give_its_chance_and_else_has_the_mean_of_its_predictions() -> None:
    suite = small_suite()
    assert suite.chance is None and suite.chance_level == 0.5
    strict = Prediction("strict", _claim("a>b & a>c"))
    both = replace(suite, predictions=(*suite.predictions, strict))
    assert both.chance_level == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert replace(both, chance=0.25).chance_level == 0.25
    unknown = Prediction("unknown", _claim("a=b"))
    assert replace(suite, predictions=(unknown,)).chance_level == 0.5
    assert replace(suite, predictions=()).chance_level == 0.5


def test_classes_of_the_materials() -> None:
    suites = load_suites(["reflexives", "mandarin", "islands", "center_embedding/toy"])
    chances = chance_by_class(suites)
    assert chances.pop("reflexives") == 1 / 3
    assert set(chances.values()) == {0.5} and len(chances) == 8


def test_a_class_has_the_mean_of_its_suites() -> None:
    suite = small_suite()
    given_ = [replace(suite, chance=0.25), suite, replace(suite, kind="other", chance=0.0)]
    assert chance_by_class(given_) == {suite.kind: 0.375, "other": 0.0}


def test_chances_are_read_as_numbers_and_as_fractions() -> None:
    assert chance_of("1/3") == 1 / 3 and chance_of("0.25") == chance_of(0.25) == 0.25
    for wrong in ("1/0", "often", "-0.1", "1.5", "", math.inf):
        with pytest.raises(ValueError, match=r"not a number in \[0, 1\]"):
            chance_of(wrong)


# ----------------------------------------------------------------------------
# Glosses of the words of all variants.


def suite_of(*items: Item, **glosses: str) -> Suite:
    return Suite(
        name="s", language="zh", regions=("a", "b"), conditions=("x", "y"), predictions=(),
        items=items, glosses=glosses,
    )  # fmt: skip


def item_of(number: int, gloss: str, *lines: str) -> Item:
    regions = [tuple(tuple(part.split()) for part in line.split("|")) for line in (gloss, *lines)]
    variants = (Variant(name, words) for name, words in zip("xxyy", regions[1:], strict=False))
    return Item(number, tuple(variants), gloss=regions[0] if gloss else ())


def test_the_place_comes_before_the_sentence_and_the_sentence_before_the_suite() -> None:
    first = item_of(1, "open | door drive", "开 | 门 开", "开 | 开 书 车")
    suite = suite_of(first, item_of(2, "see | book", "看 | 书"), 门="gate", 车="car")
    found = Glosses(suite).of(first)
    assert found["x", 1] == ("open", "door", "drive")
    assert found["x", 2] == ("open", "drive", "book", "car")


def test_a_word_with_two_glosses_elsewhere_has_none() -> None:
    items = (
        item_of(1, "a | b", "甲 | 乙", "甲 | 开"),
        item_of(2, "open | b", "开 | 乙"),
        item_of(3, "drive | b", "开 | 乙"),
    )
    suite = suite_of(*items)
    assert Glosses(suite).of(items[0])["x", 2] == ("a", "")
    assert Glosses(replace(suite, glosses={"开": "drive"})).of(items[0])["x", 2] == ("a", "drive")


def test_a_region_whose_gloss_does_not_fit_has_none() -> None:
    item = item_of(1, "a b | c", "甲 | 乙", "甲 | 乙")
    found = Glosses(suite_of(item)).of(item)
    assert found == {("x", 1): ("", "c"), ("x", 2): ("", "c")}


def test_an_item_without_a_gloss_has_none() -> None:
    item = item_of(1, "", "甲 | 乙")
    assert Glosses(suite_of(item, 甲="a")).of(item) == {}


# ----------------------------------------------------------------------------
# The object that all forms of a suite load to.


def test_sentences_stand_once_in_order() -> None:
    suite = small_suite()
    assert suite.sentences[0] == ("他", "有", "一", "只", "猫", "。")
    assert len(suite.sentences) == 4
    assert replace(suite, items=suite.items * 2).sentences == suite.sentences


def test_text_follows_the_language() -> None:
    suite = small_suite()
    variant = suite.items[0].variants[0]
    assert suite.text(variant) == "他有一只猫。"
    assert replace(suite, spaced=True).text(variant) == "他 有 一 只 猫 。"


def test_regions_by_name_and_number() -> None:
    suite = small_suite()
    assert suite.region_index("noun") == suite.region_index("3") == 2
    for name in ("nuon", "0", "5"):
        with pytest.raises(SuiteError, match=f"no region '{name}'"):
            suite.region_index(name)


def test_variants_of_a_condition() -> None:
    one, two = Variant("a", (("x",),)), Variant("a", (("y",),))
    item = Item(1, (one, Variant("b", (("z",),)), two))
    assert item.of_condition("a") == (one, two)
    assert item.of_condition("c") == ()


def test_only_blanks_separate_words() -> None:
    assert split_words("  the \t big\ncat ") == ("the", "big", "cat")
    assert split_words("猫\u3000狗 \u00a0x") == ("猫\u3000狗", "\u00a0x")


def test_numbers_become_names() -> None:
    formula = Formula.parse("(1;%a%) + (*;%a%) > (b;%a%) + (3;%a%) - 2")
    assert str(named(formula, ["x", "b"])) == "(x;%a%) + (*;%a%) > (b;%a%) + (3;%a%) - 2"


# ----------------------------------------------------------------------------
# The designs of the English suites: what is balanced, what varies, what items share.


# ---- Own words ----------------------------------------------------------------------------------


def published_sentences(folder: Path) -> Iterator[str]:
    for path in folder.glob("reflexives*/stimuli/**/*.csv"):
        with path.open(encoding="utf-8") as rows:
            yield from (row["sentence_no_eos"] for row in csv.DictReader(rows))
    for path in folder.glob("suppression/*/input.txt"):
        yield from path.read_text(encoding="utf-8").splitlines()
    for path in folder.glob("syntaxgym/*.json"):
        for item in json.loads(path.read_text(encoding="utf-8")).get("items", []):
            for condition in item["conditions"]:
                contents = (part["content"] for part in condition["regions"])
                yield " ".join(content for content in contents if content)


def plain(text: str) -> tuple[str, ...]:
    """The words of a sentence or a text, in lower case and without punctuation."""
    return tuple(re.findall(r"[a-z0-9]+", text.replace("<eos>", "").lower()))


def test_no_sentence_is_from_the_published_materials(reference_data: Path) -> None:
    ours = {plain(" ".join(words)) for name in SIZES for words in suite(name).sentences}
    theirs = {plain(text) for text in published_sentences(reference_data / "published")}
    assert len(theirs) > 5000
    assert not ours & theirs
    lengths = sorted({len(words) for words in ours})
    for path in (reference_data / "papers").glob("00[012]*.txt"):
        text = plain(path.read_text(encoding="utf-8"))
        for length in lengths:
            windows = {text[at : at + length] for at in range(len(text))}
            assert not ours & windows, path


# ---- Reflexives ---------------------------------------------------------------------------------

PLURALS = {"man": "men", "woman": "women"}
SINGULARS = {plural: noun for noun, plural in PLURALS.items()}
MALE, FEMALE = {"man", "boy", "father", "brother"}, {"woman", "girl", "mother", "sister"}
NOUN_REGIONS = ("first", "second")


def is_plural(noun: str) -> bool:
    return noun in SINGULARS or (noun.endswith("s") and not noun.endswith("ss"))


def lemma(noun: str) -> str:
    return SINGULARS.get(noun, noun.removesuffix("s"))


def licensor_and_other(of: Suite, variant: Variant) -> tuple[str, str]:
    """The noun that can license the pronoun, and the other one."""
    first, second = (region(of, variant, part) for part in NOUN_REGIONS)
    below = "that" in region(of, variant, "link") and not region(of, variant, "clause")
    return (second, first) if below else (first, second)


@pytest.mark.parametrize("name", [*REFLEXIVES, "reflexives/toy", "reflexives/demo"])
def test_only_the_number_of_the_licensing_noun_decides(name: str) -> None:
    made = suite(name)
    expected = {
        "baseline": (True, True),
        "distractor": (True, False),
        "ungrammatical": (False, True),
    }
    for item in made.items:
        wants_plural = item.labels["pronoun"] == "themselves"
        for variant in item.variants:
            nouns = licensor_and_other(made, variant)
            agrees = tuple(is_plural(noun) == wants_plural for noun in nouns)
            assert agrees == expected[variant.condition], variant
            assert region(made, variant, "reflexive") == item.labels["pronoun"]


@pytest.mark.parametrize("name", REFLEXIVES)
def test_nouns_and_verbs_are_crossed_and_nouns_counterbalanced(name: str) -> None:
    """Every noun with every verb, in both positions, equally often: in every condition."""
    made = suite(name)
    _, experiment, pronoun = name.split("/")
    per_condition = 4 if pronoun == "themselves" else 2
    nouns_wanted = 10 if experiment.startswith("exp1") else 8 if pronoun == "themselves" else 4
    verbs_wanted = 7 if experiment.startswith("exp1") else 15
    for condition in ("baseline", "distractor", "ungrammatical"):
        licensing: Counter[tuple[str, str]] = Counter()
        other: Counter[tuple[str, str]] = Counter()
        for item in made.items:
            variants = item.of_condition(condition)
            assert len(variants) == per_condition
            for variant in variants:
                verb = region(made, variant, "verb")
                head, rest = licensor_and_other(made, variant)
                licensing[lemma(head), verb] += 1
                other[lemma(rest), verb] += 1
        assert licensing == other
        assert len(set(licensing.values())) == 1
        assert len({noun for noun, _ in licensing}) == nouns_wanted
        assert len({verb for _, verb in licensing}) == verbs_wanted
        assert len(licensing) == nouns_wanted * verbs_wanted


@pytest.mark.parametrize("name", REFLEXIVES)
def test_variants_of_an_item_differ_in_nouns_only(name: str) -> None:
    made = suite(name)
    nouns = {made.region_index(part) for part in NOUN_REGIONS}
    for item in made.items:
        frames = {
            tuple(words for place, words in enumerate(variant.regions) if place not in nouns)
            for variant in item.variants
        }
        assert len(frames) == 1
        assert len({variant.words for variant in item.variants}) == len(item.variants)


@pytest.mark.parametrize("pronoun", PRONOUNS)
@pytest.mark.parametrize("experiment", ["exp2a", "exp2b", "exp3"])
def test_gendered_nouns_agree_with_the_pronoun(experiment: str, pronoun: str) -> None:
    made = suite(f"reflexives/{experiment}/{pronoun}")
    genders = {"himself": [MALE], "herself": [FEMALE], "themselves": [MALE, FEMALE]}[pronoun]
    for item in made.items:
        pairs = [set(map(lemma, licensor_and_other(made, each))) for each in item.variants]
        for gender in genders:
            assert sum(pair <= gender for pair in pairs) * len(genders) == len(pairs)


def test_experiments_are_told_apart() -> None:
    found = {(suite(name).modifier, suite(name).kind) for name in REFLEXIVES}
    experiments = ("exp1a", "exp1b", "exp2a", "exp2b", "exp3")
    assert found == {(experiment, "reflexives") for experiment in experiments}


def test_only_complete_ties_count() -> None:
    """As in the study; suites without a rule for ties have nothing to compare."""
    assert {getattr(suite(name), "ties", "complete") for name in REFLEXIVES} == {"complete"}


# ---- Centre embedding ---------------------------------------------------------------------------


def test_verbs_change_places() -> None:
    made = suite("center_embedding/verb_order")
    for item in made.items:
        for long in ("", "_long"):
            match, mismatch = one(item, f"match{long}"), one(item, f"mismatch{long}")
            *before, first, second, end = match.regions
            assert mismatch.regions == (*before, second, first, end)
            assert bool(region(made, match, "modifier")) == bool(long)
        short, extended = one(item, "match").regions, one(item, "match_long").regions
        place = made.region_index("modifier")
        assert short == (*extended[:place], (), *extended[place + 1 :])


def test_simple_sentences_have_each_noun_with_each_verb() -> None:
    made = suite("center_embedding/verb_order")
    for item in made.items:
        embedding = one(item, "match")
        outer = region(made, embedding, "subject")
        inner = region(made, embedding, "inner").replace("the ", "The ", 1)
        v1, v2 = region(made, embedding, "verb1"), region(made, embedding, "verb2")
        expected = {
            "n1_v2": (outer, "", v2),
            "n2_v1": (inner, v1, ""),
            "n1_v1": (outer, "", v1),
            "n2_v2": (inner, v2, ""),
        }
        for condition, (subject, first, second) in expected.items():
            parts = one(item, condition).regions
            assert [" ".join(words) for words in parts] == [
                *(subject, "", "", ""),
                *(first, second, "."),
            ]


def test_no_noun_or_verb_pair_occurs_twice() -> None:
    made = suite("center_embedding/verb_order")
    for part in ("subject", "inner"):
        nouns = Counter(region(made, one(item, "match"), part) for item in made.items)
        assert max(nouns.values()) == 1


# ---- Fillers and gaps ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAPS)
def test_variants_differ_in_the_filler_and_the_object(name: str) -> None:
    made = suite(name)
    place, filler = made.region_index("object"), made.region_index("filler")
    for item in made.items:
        for licensor in ("what", "that"):
            gap, full = one(item, f"{licensor}_gap").regions, one(item, f"{licensor}_nogap").regions
            assert gap[place] == ()
            assert full[place]
            assert gap == (*full[:place], (), *full[place + 1 :])
        with_filler, without = (one(item, f"{each}_nogap").regions for each in ("what", "that"))
        assert with_filler[filler] != without[filler]
        assert with_filler[:filler] == without[:filler]
        assert with_filler[filler + 1 :] == without[filler + 1 :]


@pytest.mark.parametrize("name", ISLANDS)
def test_fillers_of_islands_are_single_words(name: str) -> None:
    made = suite(name)
    for item in made.items:
        for variant in item.variants:
            expected = "who" if variant.condition.startswith("what") else "that"
            assert region(made, variant, "filler") == expected


def bag(name: str, item: int) -> Counter[str]:
    """The words of the complete variant of an item, in any order."""
    return Counter(one(suite(name).items[item], "that_nogap").words)


def test_islands_share_the_words_of_an_item() -> None:
    for item in range(100):
        _require_the_same_words(item)


def _require_the_same_words(item: int) -> None:
    for part in ("matrix", "object", "tail"):
        texts = {
            region(suite(name), one(suite(name).items[item], "that_nogap"), part)
            for name in ISLANDS
        }
        assert len(texts) == 1, part
    adjunct, over = bag("islands/adjunct", item), bag("islands/over_adjunct", item)
    assert adjunct == over
    assert bag("islands/complex_np", item) == bag("islands/over_complex_np", item)
    for discharge, complete in (
        ("wh_discharge/adjunct_discharge", "islands/over_adjunct"),
        ("wh_discharge/cnp_discharge", "islands/over_complex_np"),
    ):
        missing = bag(complete, item) - bag(discharge, item)
        assert not bag(discharge, item) - bag(complete, item)
        assert missing["the"] == 1 and missing.total() == 2
    assert not bag("wh_discharge/subject", item) - bag("islands/object", item)
    assert not bag("wh_discharge/subject", item) - over


@pytest.mark.parametrize("name", ISLANDS)
def test_no_noun_recurs_in_an_item_of_islands(name: str) -> None:
    for words in suite(name).sentences:
        nouns = Counter(noun for article, noun in itertools.pairwise(words) if article == "the")
        assert max(nouns.values(), default=1) == 1, words


def test_gap_positions_share_the_words_of_an_item() -> None:
    suites = [suite(f"filler_gap/study1_{kind}") for kind in GAP_POSITIONS]
    assert {made.kind for made in suites} == {"filler_gap_study1"}
    assert tuple(made.modifier for made in suites) == GAP_POSITIONS
    for items in zip(*(made.items for made in suites), strict=True):
        sentences = {one(item, "that_nogap").words for item in items}
        assert len(sentences) == 1
        filled = {
            region(made, one(item, "that_nogap"), "object")
            for made, item in zip(suites, items, strict=True)
        }
        assert len(filled) == 3


# ---- Constructions ------------------------------------------------------------------------------


def parts(of: Suite, item: Item) -> tuple[str, str, str, str]:
    """The two forms of the licensor, the filled gap and the adverbial after it."""
    with_filler, without = one(item, "what_nogap"), one(item, "that_nogap")
    return (
        region(of, with_filler, "filler"),
        region(of, without, "filler"),
        region(of, with_filler, "object"),
        region(of, with_filler, "tail"),
    )


SHAPES = {
    "comp_quant": r"more (\w+) (.+) than \| a lot of \1 \2 and \| a lot of \1 \| (?!\2$).+",
    "cleft_adj": r"(\w+) that \| (?!\1)\w+ that \| \1 \| .+",
    "cleft_noun": r"(\w+) that \| (a|no) \w+ that \| \1 \| .+",
    "embwhq": r"(what|who) \| that \| \w+ \| .+",
    "topic": r"These (\w+) , \|  \| these \1 \| .+",
    "tough": r"These (\w+) were (\w+) to \| It was \2 to \| these \1 \| .+",
}


@pytest.mark.parametrize("kind", CONSTRUCTIONS)
def test_the_gap_is_filled_with_the_filler_itself(kind: str) -> None:
    made = suite(f"filler_gap/{kind}")
    for item in made.items:
        text = " | ".join(parts(made, item))
        assert re.fullmatch(SHAPES[kind], text), text


def embedding_of(context: str) -> list[str]:
    """The types of the clauses in a context, from the words that introduce them."""
    found = []
    for match in re.finditer(r"((his|her|their|the) )?\w+ (that|if|whether)\b", context):
        of_noun = "complex_np" if match[1] else "bridge"
        found.append(of_noun if match[3] == "that" else "interrogative")
    return found


@pytest.mark.parametrize("kind", CONSTRUCTIONS)
def test_embedding_is_as_labelled(kind: str) -> None:
    made = suite(f"filler_gap/{kind}")
    for item in made.items:
        found = embedding_of(region(made, item.variants[0], "context"))
        assert item.labels == {
            "depth": str(len(found)),
            "embedding": "+".join(found) or "none",
            "island": "yes" if {"complex_np", "interrogative"} & set(found) else "no",
        }
    assert set(Counter(item.labels["depth"] for item in made.items).values()) == {300}
    assert len({item.labels["embedding"] for item in made.items}) == 1 + 3 + 9 + 27
    bridges = Counter(item.labels["depth"] for item in made.items if item.labels["island"] == "no")
    assert bridges == {"0": 300, "1": 100, "2": 100, "3": 92}


def test_constructions_share_the_words_of_an_item() -> None:
    suites = {kind: suite(f"filler_gap/{kind}") for kind in CONSTRUCTIONS}
    for number in range(1200):
        items = {kind: made.items[number] for kind, made in suites.items()}
        themes = {parts(suites[kind], item)[2].split()[-1] for kind, item in items.items()}
        tails = {parts(suites[kind], item)[3] for kind, item in items.items()}
        assert len(themes) == len(tails) == 1
        assert len({str(item.labels) for item in items.values()}) == 1
        clauses = {
            (region(suites[kind], item.variants[0], "context"), item.variants[0].regions[3])
            for kind, item in items.items()
            if kind != "tough"
        }
        assert len(clauses) == 1
        # The two suites of clefts have the same clefts.
        clefts = [items[kind].of_condition("what_gap") for kind in ("cleft_adj", "cleft_noun")]
        assert clefts[0] == clefts[1]
