"""A suite of one's own, and a model that knows nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant


def agreement() -> Suite:
    """Item 1 is of known words; a critical word of item 2 is not known to any run."""

    def item(number: int, noun: str) -> Item:
        return Item(
            number,
            (
                Variant("match", (("the", noun), ("were", "happy"), (".",))),
                Variant("mismatch", (("the", noun), ("was", "happy"), (".",))),
            ),
        )

    return Suite(
        name="agreement",
        language="en",
        regions=("subject", "verb", "end"),
        conditions=("match", "mismatch"),
        predictions=(Prediction("agrees", Formula.parse("(*;%mismatch%) > (*;%match%)")),),
        items=(item(1, "boys"), item(2, "wugs")),
        kind="agreement",
    )


class Uniform:
    """Gives the same probability to each of 1024 words, ten bits."""

    language = "en"

    def __init__(self, name: str = "uniform") -> None:
        self.name = name

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Ten bits for each word and for the end."""
        return [np.full(len(words) + 1, -10 * math.log(2)) for words in sentences]
