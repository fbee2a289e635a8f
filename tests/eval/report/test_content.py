"""The item explorer in a browser: what it opens on, what it shows, keys, address, downloads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gardenpath.errors import GardenpathError
from gardenpath.eval.display import EXACT, models_in_order
from gardenpath.eval.report.content import (
    SKIPPED_FILE,
    Curve,
    ReportContent,
    ReportedAnalysis,
    arranged,
    corpus_groups,
    findings,
    near_tie_note,
    ranked,
    report_content,
    reported_analyses,
    reported_analysis,
    run_analyses,
    write_analyses,
)
from gardenpath.eval.report.explorer import opening
from gardenpath.eval.statistics.analysis import Analysis, AnalysisResult
from gardenpath.eval.statistics.formulas import Correction
from gardenpath.eval.suites.library import load_suites, modifier_orders
from gardenpath.eval.suites.summary import RunName, ScoredItems
from gardenpath.store.tables import ITEMS, SURPRISALS
from tests.eval.report.browser import Browser, choose, downloaded, shown_words, texts_at
from tests.eval.report.samples import ISLANDS, garden_paths
from tests.eval.suites.suite_samples import small_suite


def _state(window: Browser) -> dict[str, str]:
    """What the explorer shows: the chosen options, the pressed word, the trees."""
    chosen = {
        name: window.run(f"document.getElementById('explorer-{name}').selectedOptions[0].text")
        for name in ("suite", "item", "run")
    }
    pressed = "document.querySelector('button.cell[aria-pressed=true]')"
    word = window.run(f"{pressed} && {pressed}.dataset.variant + ' ' + {pressed}.dataset.word")
    trees = window.run("document.getElementById('explorer-parses').textContent")
    return {**chosen, "word": str(word), "trees": str(trees)}


def test_the_explorer_opens_where_the_page_says(
    shown: Browser, report: Path, study: ReportContent
) -> None:
    shown.open(report)
    best = opening(study)
    assert best is not None
    state = _state(shown)
    assert state["suite"].startswith(best.suite.replace("_", " "))
    assert state["item"] == str(best.item)
    assert best.reason in shown.run("document.querySelector('#explorer .note').textContent")


def test_the_explorer_switches_suite_item_and_model(shown: Browser) -> None:
    choose(shown, "suite", "classifier noun adjective")
    assert shown_words(shown) == ["他", "看见", "了", "一", "本", "可爱", "的", "书", "。"]
    shown.run("document.getElementById('explorer-next').click()")
    assert shown_words(shown) == ["他", "看见", "了", "一", "家", "可爱", "的", "工厂", "。"]
    numbers = "document.querySelector('#explorer-variants .bits').textContent"
    choose(shown, "run", "lstm · seed 1")
    before = shown.run(numbers)
    assert shown.run("document.querySelectorAll('.parse').length") == 0, "no parses of an lstm"
    choose(shown, "run", "exact grammar")
    assert shown.run(numbers) != before
    assert "∞" in shown.run("document.getElementById('explorer-variants').textContent")
    choose(shown, "suite", "islands object")
    assert shown_words(shown)[:3] == ["I", "know", "what"]


def test_parses_follow_the_keyboard(shown: Browser) -> None:
    choose(shown, "suite", "classifier noun adjective")
    choose(shown, "run", "rnng · seed 1")
    first = 'document.querySelector("button.cell")'
    shown.run(f"{first}.click()")
    label = "document.querySelector('.parse svg').getAttribute('aria-label')"
    assert shown.run(label) == "(IP (NP 他)"
    shown.press("ArrowRight")
    assert shown.run(label) == "(IP (NP 他) (VP 看见"
    assert shown.run("document.activeElement.dataset.word") == "1"
    shown.press("ArrowDown")
    assert shown.run("document.activeElement.dataset.variant") == "1"
    assert shown.run("document.querySelectorAll('button.cell[aria-pressed=true]').length") == 1
    shares = shown.run("Array.from(document.querySelectorAll('.parse'), p => p.textContent)")
    both = ["61.0", "30.0", "5.0"] * 2
    assert [share.split(" ")[0] for share in shares] == both, "both variants, side by side"


def test_arrow_keys_move_from_item_to_item(shown: Browser, report: Path) -> None:
    shown.open(report)
    choose(shown, "suite", "islands object")
    shown.run("window.scrollTo({top: 0, behavior: 'instant'})")
    shown.run("document.querySelector('#explorer-models button').focus({preventScroll: true})")
    item = "document.getElementById('explorer-item').selectedOptions[0].text"
    assert shown.run(item) == "1"
    shown.press("ArrowRight")
    assert shown.run(item) == "2"
    shown.press("ArrowRight")
    assert shown.run(item) == "2", "it is the last one"
    shown.press("ArrowLeft")
    assert shown.run(item) == "1"
    shown.run("document.activeElement.blur()")
    shown.press("ArrowRight")
    assert shown.run(item) == "1", "the explorer is not in view"
    shown.run("document.getElementById('explorer').scrollIntoView({behavior: 'instant'})")
    shown.press("ArrowRight")
    assert shown.run(item) == "2"


@pytest.mark.slow
def test_the_address_has_the_state_of_the_explorer(shown: Browser, report: Path) -> None:
    shown.open(report)
    assert shown.run("location.hash") == "", "a page that nobody has touched has a plain address"
    choose(shown, "suite", "islands complex np")
    shown.run("document.getElementById('explorer-next').click()")
    choose(shown, "run", "plm · seed 1")
    shown.run(
        "document.querySelectorAll('#explorer-variants .variant')[1]"
        ".querySelectorAll('button.cell')[2].click()"
    )
    before, fragment = _state(shown), str(shown.run("location.hash"))
    assert (before["suite"], before["item"], before["word"]) == ("islands complex np", "2", "1 2")
    assert before["trees"]
    shown.open(report, fragment=fragment)
    assert _state(shown) == before
    # The page scrolls there smoothly.
    shown.wait_for("Math.abs(document.getElementById('explorer').getBoundingClientRect().top) < 99")
    choose(shown, "suite", "islands object")
    assert _state(shown) != before
    shown.run(f"(() => {{ location.hash = '{fragment}'; }})()")
    shown.wait_for("document.getElementById('explorer-item').value === '1'")
    assert _state(shown) == before, "also if the address of an open page is changed"


@pytest.mark.slow
def test_an_address_of_something_else_does_no_harm(shown: Browser, report: Path) -> None:
    shown.open(report)
    plain = _state(shown)
    for fragment in ("#explorer:suite=none&item=7", "#explorer:", "#explorer:suite=%E0%A4%A"):
        shown.open(report, fragment=fragment)
        assert _state(shown) == plain
    shown.open(report, fragment="#explorer:suite=islands_object&item=99&model=x&variant=9&word=99")
    assert _state(shown)["suite"] == "islands object" and shown_words(shown)


def test_all_models_have_the_same_axis(shown: Browser, report: Path) -> None:
    shown.open(report)
    choose(shown, "suite", "islands object")
    ticks = texts_at("#explorer-chart text[text-anchor=end]")
    labels = [t for t in shown.run(ticks) if t.isdigit()]
    assert len(labels) >= 3 and labels[0] == "0"
    runs = shown.run("Array.from(document.getElementById('explorer-run').options, o => o.text)")
    assert len(runs) == 7
    pictures = set()
    for run in runs:
        choose(shown, "run", run)
        assert [t for t in shown.run(ticks) if t.isdigit()] == labels
        assert "bits" in shown.run(ticks)
        pictures.add(
            shown.run("document.querySelector('#explorer-chart polyline').getAttribute('points')")
        )
    assert len(pictures) == len(runs), "though the lines differ"
    lines = shown.run("document.querySelectorAll('#explorer-chart polyline').length")
    assert (
        lines == shown.run("document.querySelectorAll('#explorer-variants .variant').length") == 4
    )


def test_parses_of_all_variants_stand_side_by_side(shown: Browser, report: Path) -> None:
    shown.open(report)
    choose(shown, "suite", "classifier noun none")
    choose(shown, "run", "rnng · seed 1")
    boxes = "Array.from(document.querySelectorAll('.parse-column'), c => c.getBoundingClientRect())"
    (left, right) = shown.run(f"{boxes}.map(b => [b.left, b.top, b.right])")
    assert left[1] == right[1] and left[2] <= right[0]


def test_the_chart_of_the_explorer_can_be_downloaded(shown: Browser, report: Path) -> None:
    shown.open(report)
    button = "document.querySelector('#explorer-downloads button')"
    label = str(shown.run(f"{button}.getAttribute('aria-label')"))
    csv = downloaded(shown, label.replace("as SVG", "as CSV")).decode().splitlines()
    assert csv[0] == "variant,word_id,region,word,surprisal_bits"
    cells = shown.run("document.querySelectorAll('#explorer-variants .cell').length")
    assert len(csv) - 1 == cells
    assert b"<svg" in downloaded(shown, label)
    assert downloaded(shown, label.replace("as SVG", "as PNG")).startswith(b"\x89PNG")


# ----------------------------------------------------------------------------
# The sentence that the report begins with.


ITEM_COUNT = 40


def outcomes(**right: float | list[float]) -> pd.DataFrame:
    """Items of one suite; for each model its accuracy (the first items are right), or outcomes."""
    rows = []
    for model, accuracy in right.items():
        name = EXACT if model == "exact" else model
        values = accuracy if isinstance(accuracy, list) else [
            float(place < accuracy * ITEM_COUNT) for place in range(ITEM_COUNT)
        ]  # fmt: skip
        rows += [
            {
                "run": name, "model": name, "corpus": "toy", "seed": 1, "suite": "s", "class": "c",
                "modifier": "", "item": item, "prediction": "p", "outcome": value, "tie": False,
                "difference_bits": value, "unknown": 0,
            }
            for item, value in enumerate(values)
        ]  # fmt: skip
    return ITEMS.frame(rows)


def said(items: pd.DataFrame, **options: int) -> str:
    (sentence,) = findings(items, **options)
    return sentence


def test_the_best_alone_is_named_alone() -> None:
    text = said(outcomes(lstm=0.9, rnng=0.2, plm=0.1))
    assert text.startswith("On toy, lstm has the highest mean accuracy of 3 models: 0.900 [")
    assert "rnng" not in text and "plm" not in text


def test_the_group_of_the_best_is_named_and_not_its_first() -> None:
    dice = np.random.default_rng(3)
    noisy = {name: dice.permutation(ITEM_COUNT) < 0.8 * ITEM_COUNT for name in ("lstm", "plm")}
    items = outcomes(**{name: list(map(float, one)) for name, one in noisy.items()}, ngram=0.1)
    text = said(items)
    assert text.startswith("On toy, 2 of 3 models cannot be told apart from the best by their mean")
    assert "lstm (0.800 [" in text and "plm (0.800 [" in text and "ngram" not in text


def test_all_that_cannot_be_told_apart() -> None:
    one = [1.0, 0.0] * 20
    text = said(outcomes(lstm=one, rnng=one[::-1], plm=[0.0, 1.0, *one[2:]]))
    assert text.startswith("On toy, the 3 models have the same mean accuracy, 0.500 [")
    several = said(outcomes(lstm=one, rnng=[1.0, *one[::-1][1:]]))
    assert several.startswith("On toy, the mean accuracies of the 2 models cannot be told apart:")


def test_equal_ones_are_no_ranking_and_have_no_interval() -> None:
    text = said(outcomes(lstm=1.0, rnng=1.0, plm=1.0, exact=1.0))
    assert text == (
        "On toy, the 3 models have the same mean accuracy, 1.000; the exact grammar reaches 1.000."
    )


def test_one_model_is_not_compared() -> None:
    assert said(outcomes(rnng=0.5)).startswith("On toy, rnng has a mean accuracy of 0.500 [")
    assert said(outcomes(rnng=1.0)) == "On toy, rnng has a mean accuracy of 1.000."


def test_a_difference_on_every_item_is_seen_though_intervals_overlap() -> None:
    """The comparison is within items; the intervals of the two means overlap widely."""
    better = [1.0] * 24 + [0.0] * 16
    worse = [1.0] * 14 + [0.0] * 26
    assert "lstm has the highest mean accuracy of 2 models" in said(
        outcomes(lstm=better, rnng=worse)
    )


def test_too_few_items_are_too_few_to_say() -> None:
    text = said(outcomes(lstm=[1.0] * 6, rnng=[0.0] * 6))
    assert text == (
        "On toy, too few items are usable to say which of 2 models is the best (lstm: 6 of 6); "
        "the highest mean accuracy is 1.000 (lstm)."
    )
    assert "has the highest" in said(outcomes(lstm=[1.0] * 6, rnng=[0.0] * 6), min_items=3)


def test_models_without_outcomes_are_left_out() -> None:
    missing = [float("nan")] * ITEM_COUNT
    assert "lstm has a mean accuracy" in said(outcomes(lstm=0.5, rnng=missing))
    assert list(findings(outcomes(rnng=missing))) == []
    assert list(findings(outcomes(exact=1.0))) == [], "the exact grammar is no subject"
    assert list(findings(ITEMS.frame([]))) == []


@pytest.mark.parametrize("near", [0, 3])
def test_near_ties_are_counted_by_model(near: int) -> None:
    items = outcomes(lstm=0.5, rnng=0.5, exact=0.5)
    items["near_tie"] = (items["model"] != "lstm") & (items["item"] < near)
    note = near_tie_note(items)
    assert note.endswith("rnng 3 of 40.") if near else note == ""


# ----------------------------------------------------------------------------
# Models by family, modifiers from plain to complex.


NAMES = st.sampled_from(["none", "adjective", "subject_rc", "object_rc", "toy", "pp"])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            ["adjective", "none", "object_rc", "subject_rc"],
            ["none", "adjective", "subject_rc", "object_rc"],
        ),
        (
            ["coordinated_rc", "embedded_rc", "none", "subject_rc"],
            ["none", "subject_rc", "coordinated_rc", "embedded_rc"],
        ),
        (
            ["adjunct", "complex_np", "object", "over_adjunct", "over_complex_np"],
            ["object", "adjunct", "over_adjunct", "complex_np", "over_complex_np"],
        ),
    ],
)
def test_modifiers_stand_as_the_materials_rank_them(found: list[str], expected: list[str]) -> None:
    assert ranked(found, modifier_orders()) == expected


def test_names_that_no_order_knows_stay_where_they_are() -> None:
    assert ranked(["toy", "b", "a"], [("a", "b")]) == ["toy", "a", "b"]
    assert ranked(["Subject RC", "none"], [("none", "subject_rc")]) == ["none", "Subject RC"]


def test_orders_that_contradict_each_other_end() -> None:
    assert sorted(ranked(["a", "b"], [("a", "b"), ("b", "a")])) == ["a", "b"]


@given(st.lists(NAMES), st.permutations(["none", "adjective", "subject_rc", "object_rc"]))
def test_every_name_comes_once_and_in_order(names: list[str], chain: list[str]) -> None:
    found = ranked(names, [tuple(chain)])
    assert sorted(found) == sorted(set(names))
    known = [name for name in found if name in chain]
    assert known == [name for name in chain if name in set(names)]


def test_rows_are_arranged_and_keep_their_numbers() -> None:
    rows = [
        ("c", "plm", "object_rc"),
        ("c", "lstm", "object_rc"),
        ("c", "plm", "none"),
        ("b", "lstm", "none"),
    ]
    table = pd.DataFrame(rows, columns=["corpus", "model", "modifier"], index=[7, 7, 8, 9])
    found = arranged(table, ["corpus", "model", "modifier"], [("none", "object_rc")])
    assert found.values.tolist() == [list(rows[place]) for place in (1, 2, 0, 3)]
    assert found.index.tolist() == [7, 8, 7, 9]
    assert arranged(table, [], ()).equals(table)


# ----------------------------------------------------------------------------
# How analyses are run, written, and put in order for the report.


def _result(rows: list[tuple[str, str, float]], sentences: tuple[str, ...]) -> AnalysisResult:
    table = pd.DataFrame(rows, columns=["model", "modifier", "p"])
    table = table.assign(term=table["model"], estimate=1.0, low=0.5, high=1.5)
    return AnalysisResult(
        analysis=Analysis(name="a", title="Is it so?", split=("model", "modifier")),
        data=pd.DataFrame(),
        tables={"estimates": table},
        sentences=sentences,
        skipped=("unigram: every value is the same",),
    )


ROWS = [
    ("plm", "none", 0.5),
    ("lstm", "object_rc", float("nan")),
    ("lstm", "none", 0.0499),
    ("exact grammar", "none", 0.001),
    ("ngram", "none", 0.05),
]


def test_sentences_and_tables_stand_in_the_order_of_the_report() -> None:
    result = _result(ROWS, ("plm", "lstm rc", "lstm", "exact", "ngram"))
    shown = reported_analysis(result)
    assert shown.sentences == ["ngram", "lstm", "lstm rc", "plm", "exact"]
    assert shown.significant == [False, True, False, False, True]
    assert shown.split_by_significance() == (["lstm", "exact"], ["ngram", "lstm rc", "plm"])
    assert shown.tables["estimates"]["p"].tolist()[0] == 0.05
    assert shown.skipped == result.skipped


def test_modifiers_may_have_another_order() -> None:
    shown = reported_analysis(_result(ROWS, ()), [("object_rc", "none")])
    assert shown.tables["estimates"]["modifier"].tolist()[1:3] == ["object_rc", "none"]


def test_sentences_that_belong_to_no_row_are_all_told() -> None:
    shown = reported_analysis(_result(ROWS, ("one", "two")))
    assert shown.split_by_significance() == (["one", "two"], []) and shown.line == "2 results."


def test_what_the_tables_do_not_allow_is_listed_with_its_reason(tmp_path: Path) -> None:
    items = garden_paths({"lstm": 0.0, "rnng": 9.0})
    results = run_analyses(items)
    done = [result.analysis.name for result in results if not result.is_empty]
    assert done == ["garden_path", "garden_path_by_item"]
    named = [one.analysis.name for one in run_analyses(items, study="mandarin")]
    assert {"class_accuracies", "garden_path"} <= set(named)
    write_analyses(tmp_path, results)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"garden_path.R", "garden_path.csv", "garden_path.txt", SKIPPED_FILE} <= names
    said = (tmp_path / SKIPPED_FILE).read_text(encoding="utf-8").splitlines()[2:]
    assert len(said) == len(results) - len(done)
    assert (
        "flip (Does a gap reverse the effect of the licensor?): there is no table of sentences"
        in (said)
    )
    *shown, skipped = reported_analyses(results)
    assert [one.title for one in shown] == [r.analysis.title for r in results if not r.is_empty]
    assert list(skipped.skipped) == said and not skipped.sentences
    assert all(result.is_empty for result in run_analyses(items[:0]))


def test_exact_grammars_are_not_tested() -> None:
    results = run_analyses(garden_paths({"lstm": 0.5, EXACT: 9.0}))
    tables = [table for one in results for table in one.tables.values() if "model" in table]
    assert tables and all(set(table["model"]) == {"lstm"} for table in tables)


def test_a_study_has_its_own_analyses_only() -> None:
    results = run_analyses(garden_paths({"lstm": 0.0}), study="mandarin")
    assert {result.analysis.study for result in results} == {"mandarin"}
    assert run_analyses(garden_paths({"lstm": 0.0}), study="none") == []


def test_what_is_significant_depends_on_the_correction() -> None:
    # Five t tests of which each is just significant by itself.
    items = garden_paths(dict.fromkeys(["lstm", "rnng", "plm", "transformer", "ngram"], 0.0))
    for model, rows in items.groupby("model"):
        values = np.tile([1.0, -1.0, 0.4], len(rows))[: len(rows)] - 0.1
        shift = 2.2 * values.std(ddof=1) / np.sqrt(len(rows)) - values.mean()
        items.loc[items["model"] == model, "difference_bits"] = values + shift
    cases: list[tuple[Correction | None, int]] = [
        *((None, 5), ("holm", 0), ("benjamini_hochberg", 5)),
    ]
    for correction, count in cases:
        results = run_analyses(items, study="mandarin", correction=correction)
        result = next(r for r in results if r.analysis.name == "garden_path")
        assert sum(reported_analysis(result).significant) == count
        assert ("correction" in result.sentences[0]) == (correction is not None)


# ----------------------------------------------------------------------------
# What a study says about itself.


def test_a_table_without_a_column_is_refused_by_name() -> None:
    with pytest.raises(GardenpathError, match=r"'items'.*outcome"):
        ReportContent(title="x", items=ITEMS.frame([]).drop(columns="outcome"))


def test_models_stand_in_the_order_of_their_families() -> None:
    models = [EXACT, "gpt2", "plm", "lstm", "ngram", "rnng", "trans", "lstm"]
    assert models_in_order(models) == ["ngram", "lstm", "rnng", "trans", "plm", "gpt2", EXACT]


def test_corpora_are_together_where_they_share_suites() -> None:
    pairs = [("a", "s1"), ("b", "s2"), ("c", "s3"), ("c", "s1"), ("d", "s4"), ("d", "s2")]
    table = pd.DataFrame(pairs, columns=["corpus", "suite"])
    assert sorted(map(sorted, corpus_groups(table))) == [["a", "c"], ["b", "d"]]


def test_a_corpus_can_join_two_groups() -> None:
    pairs = [("a", "s1"), ("b", "s2"), ("c", "s1"), ("c", "s2")]
    table = pd.DataFrame(pairs, columns=["corpus", "suite"])
    assert [set(group) for group in corpus_groups(table)] == [{"a", "b", "c"}]


def test_suites_stand_together_from_plain_to_complex(study: ReportContent) -> None:
    assert study.suites() == [
        *(f"classifier_noun_{name}" for name in ("none", "adjective", "subject_rc", "object_rc")),
        *(f"missing_object_{name}" for name in ("none", "subject_rc")),
        *(f"missing_object_{name}" for name in ("coordinated_rc", "embedded_rc")),
        *(f"islands_{name}" for name in ISLANDS),
    ]


def test_what_was_found_is_told_first() -> None:
    analysis = ReportedAnalysis(
        title="x", sentences=("a", "b", "c"), significant=(False, True, False)
    )
    assert analysis.split_by_significance() == (["b"], ["a", "c"])
    assert analysis.line == "1 of 3 comparisons differs significantly from zero (p < .05)."
    unknown = ReportedAnalysis(title="x", sentences=("a", "b"))
    assert unknown.split_by_significance() == (["a", "b"], []) and unknown.line == "2 results."
    assert ReportedAnalysis(title="x", sentences=("a",), significant=(False,)).line == "a"
    assert ReportedAnalysis(title="x", skipped=("a", "b")).line == "Not tested in 2 cases."


def test_curves_are_read_from_metrics(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    name = RunName(run="r", model="rnng", corpus="toy", seed=2)
    assert Curve.read(path, name) is None
    path.write_text("epoch,train/loss,valid/joint_perplexity\n0,2.5,\n1,nan,7\n", encoding="utf-8")
    curve = Curve.read(path, name)
    assert curve is not None and curve.is_joint
    assert (curve.model, curve.corpus, curve.seed) == ("rnng", "toy", 2)
    assert curve.metrics["epoch"].tolist() == [0, 1]
    assert curve.metrics["train/loss"].dropna().tolist() == [2.5]
    path.write_text("", encoding="utf-8")
    assert Curve.read(path, name) is None


def test_runs_are_listed_once(study: ReportContent) -> None:
    runs = study.runs()
    assert runs["run"].is_unique and len(runs) == 14
    assert runs[runs["model"] == EXACT]["seed"].isna().all()


# ----------------------------------------------------------------------------
# What a report says was run.


RUNS = [
    RunName(run="b", model="rnng", corpus="toy_mandarin", seed=2),
    RunName(run="a", model="lstm", corpus="toy_english", seed=1),
    RunName(run="c", model="lstm", corpus="toy_english", seed=2),
]


@pytest.mark.parametrize("search", [None, "a beam"])
def test_a_study_says_what_was_run(search: str | None) -> None:
    suites = load_suites(["reflexives/toy", "islands/toy"])
    study = report_content(
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
    study = report_content(
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
    study = report_content(
        title="x", suites=given, names=RUNS, results=ScoredItems(items=garden_paths({"lstm": 0.0})),
        surprisals=SURPRISALS.frame([]), versions="",
    )  # fmt: skip
    assert study.chance == {"reflexives": 1 / 3, "islands": 0.125}
    assert study.chance_of("islands") == 0.125 and study.chance_of("unheard") == 0.5
