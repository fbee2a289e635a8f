"""Suites for tests: one small one by hand, and any number by chance."""

from __future__ import annotations

from hypothesis import strategies as st

from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant

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
