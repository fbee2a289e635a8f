"""The generated English suites: their sizes, and access to their parts."""

from __future__ import annotations

from functools import cache

from gardenpath.eval.suites.generated import GENERATORS
from gardenpath.eval.suites.suite import Item, Suite, Variant

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
