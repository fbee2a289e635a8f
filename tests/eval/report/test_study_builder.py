"""What a report says was run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gardenpath.eval.report.content import build_study
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.summary import RunName, ScoredItems
from gardenpath.store.tables import SURPRISALS
from tests.eval.report.samples import garden_paths
from tests.eval.suites.suite_samples import small_suite

RUNS = [
    RunName(run="b", model="rnng", corpus="toy_mandarin", seed=2),
    RunName(run="a", model="lstm", corpus="toy_english", seed=1),
    RunName(run="c", model="lstm", corpus="toy_english", seed=2),
]


@pytest.mark.parametrize("search", [None, "a beam"])
def test_a_study_says_what_was_run(search: str | None) -> None:
    suites = load_suites(["reflexives/toy", "islands/toy"])
    study = build_study(
        title="toy_english", suites=suites, names=RUNS, surprisals=SURPRISALS.frame([]),
        results=ScoredItems(items=garden_paths({"lstm": 0.0}), notes=("a note",)),
        versions="Gardenpath 0", search=search,
    )  # fmt: skip
    assert study.title == "Toy english: 2 models trained on toy_mandarin and toy_english"
    items = sum(len(suite.items) for suite in suites)
    assert study.facts == {
        "models": "lstm, rnng",
        "corpora": "toy_mandarin, toy_english",
        "seeds": "1, 2",
        "suites": f"2 with {items} items",
        **({"search": search} if search else {}),
        "versions": "Gardenpath 0",
    }
    assert study.notes == ("a note",) and len(study.effects) == 0
    assert study.critical == {suite.name: suite.critical for suite in suites}
    assert study.modifiers(["subject_rc", "none"]) == ["none", "subject_rc"]


def test_glosses_are_those_of_the_items() -> None:
    suite = small_suite()
    gloss = (("he", "have", "one"), ("CL",), ("cat",), (".",))
    items = (replace(suite.items[0], gloss=gloss, translation="He has a cat."), suite.items[1])
    glossed_suite = replace(suite, items=items, glosses={"本": "CL.volume"})
    study = build_study(
        title="x", suites=[glossed_suite], names=RUNS, versions="",
        results=ScoredItems(items=garden_paths({"lstm": 0.0})), surprisals=SURPRISALS.frame([]),
    )  # fmt: skip
    first = ("he", "have", "one", "CL", "cat", ".")
    other = ("he", "have", "one", "CL.volume", "cat", ".")
    glossed = {("match", 1): first, ("mismatch", 1): other}
    assert study.glosses == {(suite.name, 1): (glossed, "He has a cat.")}


def test_chance_is_that_of_the_suites() -> None:
    suites = load_suites(["reflexives/toy", "islands/toy"])
    given = [*suites[:1], replace(suites[1], chance=0.125)]
    study = build_study(
        title="x", suites=given, names=RUNS, results=ScoredItems(items=garden_paths({"lstm": 0.0})),
        surprisals=SURPRISALS.frame([]), versions="",
    )  # fmt: skip
    assert study.chance == {"reflexives": 1 / 3, "islands": 0.125}
    assert study.chance_of("islands") == 0.125 and study.chance_of("unheard") == 0.5
