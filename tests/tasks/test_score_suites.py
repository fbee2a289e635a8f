"""``task=suite``: runs on test suites."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gardenpath.errors import GardenpathError
from gardenpath.eval.perplexity.comparison import EXACT
from gardenpath.eval.suites.design.formula import Formula
from gardenpath.eval.suites.design.suite import Item, Prediction, Suite, SuiteError, Variant
from gardenpath.eval.suites.library.catalogue import export
from gardenpath.eval.suites.library.collection import load_suites
from gardenpath.models.sequential.sequential_scorer import SequentialScorer
from gardenpath.runs import suite_scores
from gardenpath.runs.suite_scores import exact_runs, score_run, selected, tables
from gardenpath.settings.compose import Settings
from gardenpath.tasks import score_suites as suite
from tests.tasks.toy_runs import run_of, settings

QUICK = ("task.report=false", "suite.items=2", "task.parsed_items=1")


def _settings(folder: Path, output: Path, *overrides: str, model: str = "") -> Settings:
    return settings(folder, output, "suite=toy_english", *QUICK, *overrides, model=model)


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All runs on two items of each of the small English suites."""
    output = tmp_path_factory.mktemp("suites")
    suite.run(_settings(folder, output))
    return output / "toy_english"


def test_the_tables_that_are_written(results: Path) -> None:
    assert sorted(path.name for path in results.iterdir()) == [
        "effects.csv", "items.csv", "sentences.csv", "summary.csv", "surprisals.tsv",
        "word_pairs.csv",
    ]  # fmt: skip
    summary = pd.read_csv(results / "summary.csv")
    for column in ("model", "corpus", "class", "modifier", "accuracy", "items", "ties"):
        assert column in summary.columns
    assert set(summary["model"]) == {"lstm", "ngram", "plm", "rnng", EXACT}
    assert set(summary["class"]) == {"reflexives", "center_embedding", "islands", "filler_gap"}
    items = pd.read_csv(results / "items.csv")
    assert (items.groupby(["model", "suite"])["item"].nunique() == 2).all()
    assert (items["unknown"] == 0).all()
    effects = pd.read_csv(results / "effects.csv")
    assert {"licensing_interaction", "ordering_effect"} <= set(effects["effect"])


def test_the_exact_grammar_is_the_ceiling(results: Path) -> None:
    summary = pd.read_csv(results / "summary.csv").set_index("model")
    assert (summary.loc[EXACT, "accuracy"] == 1.0).all()
    assert (summary["accuracy"].drop(EXACT) < 1.0).any()


def test_filler_gap_constructions_have_their_criteria(results: Path) -> None:
    summary = pd.read_csv(results / "summary.csv").set_index(["model", "class"])
    judged = summary[summary["flip_rate"].notna()]
    assert set(judged.index.get_level_values("class")) == {"islands", "filler_gap"}
    assert (judged.loc[EXACT, "flip_rate"] == 1.0).all()
    assert summary.loc["lstm", "flip"].notna().sum() == 2
    # The toy grammar has no islands.
    assert summary["division"].isna().all()


def test_surprisals_are_those_of_the_models(results: Path, folder: Path) -> None:
    """Every word of the table, against the model asked by itself."""
    table = pd.read_csv(results / "surprisals.tsv", sep="\t", quoting=3)
    scorer = SequentialScorer.load(run_of(folder, "lstm"), share_prefixes=False)
    mine = table[table["model"] == "lstm"]
    keys = ["suite", "item", "condition", "variant"]
    groups = [group for _, group in mine.groupby(keys, sort=False)]
    log_probs = scorer.word_log_probs([group["word"].tolist() for group in groups])
    for group, values in zip(groups, log_probs, strict=True):
        bits = -values[:-1] / 0.6931471805599453
        assert group["surprisal_bits"].to_numpy() == pytest.approx(bits, abs=1e-4)


def test_all_items_of_the_small_suites_are_right_for_the_exact_grammar(
    folder: Path, tmp_path: Path
) -> None:
    suites = load_suites(["reflexives/toy", "center_embedding/toy", "islands/toy"])
    few = [replace(one, items=one.items[::4]) for one in suites]
    runs = exact_runs([run_of(folder, "ngram"), run_of(folder, "lstm")], few)
    assert len(runs) == 1
    items = tables(few, runs, _settings(folder, tmp_path)).items
    assert (items["outcome"] == 1.0).all() and not items["tie"].any()


def _own_suite() -> Suite:
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


def test_a_suite_from_a_file_with_unknown_words_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export(_own_suite(), tmp_path, "compact")
    own = ("suite=file", f"suite.suites=[{path}]", "task.report=false")
    suite.run(settings(folder, tmp_path, *own, model="ngram"))
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 critical words are out-of-vocabulary for some model: wugs" in shown
    assert "suite.in_vocabulary=true" in shown and EXACT not in shown
    items = pd.read_csv(tmp_path / "file" / "items.csv", keep_default_na=False)
    assert items[["item", "unknown_words"]].values.tolist() == [[1, ""], [2, "wugs"]]
    table = pd.read_csv(tmp_path / "file" / "surprisals.tsv", sep="\t", quoting=3)
    assert set(table.loc[~table["seen"], "word"]) == {"wugs"}
    suite.run(settings(folder, tmp_path, *own, "suite.in_vocabulary=true", model="ngram"))
    items = pd.read_csv(tmp_path / "file" / "items.csv")
    assert set(items["item"]) == {1} and EXACT in set(items["model"])


def test_no_item_of_known_words_is_an_error_with_a_remedy(folder: Path) -> None:
    own = replace(_own_suite(), items=_own_suite().items[1:])
    wanted = {"name": "own", "in_vocabulary": True, "items": None}
    with pytest.raises(GardenpathError, match=r"suite\.in_vocabulary=false"):
        selected([own], [run_of(folder, "ngram")], wanted)
    (found,) = selected([own], [run_of(folder, "ngram")], {**wanted, "in_vocabulary": False})
    assert found == own


def test_runs_of_another_language_are_an_error_with_a_remedy(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match=r"in zh, but all runs in en; train one"):
        suite.run(settings(folder, tmp_path, "suite=mandarin", *QUICK))
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_suite_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="did you mean 'reflexives/toy'"):
        suite.run(_settings(folder, tmp_path, "suite.suites=[reflexives/toi]"))


def test_what_is_in_the_cache_is_not_computed_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("suite.suites=[islands/toy]", f"paths.surprisals={tmp_path / 'kept'}")
    first = _settings(folder, tmp_path / "one", *options)
    suite.run(first)
    assert len(list((tmp_path / "kept").iterdir())) == 4

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    with monkeypatch.context() as patch:
        patch.setattr(suite_scores, "make_scorer", refuse)
        suite.run(_settings(folder, tmp_path / "two", *options))
        for name in ("items.csv", "surprisals.tsv", "summary.csv"):
            one, two = (tmp_path / n / "toy_english" / name for n in ("one", "two"))
            assert one.read_bytes() == two.read_bytes()
        with pytest.raises(AssertionError, match="a model was loaded"):
            suite.run(_settings(folder, tmp_path / "two", *options, "search.word_beam=2"))


def test_only_new_sentences_are_computed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(folder, "ngram")
    chosen = _settings(folder, tmp_path, f"paths.surprisals={tmp_path / 'kept'}")
    asked: list[tuple[str, ...]] = []
    real = SequentialScorer.word_log_probs

    def note(self: SequentialScorer, sentences: list[tuple[str, ...]]) -> object:
        asked.extend(sentences)
        return real(self, sentences)

    monkeypatch.setattr(SequentialScorer, "word_log_probs", note)
    old, new = ("the", "boys", "knew", "."), ("the", "man", "knew", ".")
    score_run(run, [old], [], chosen, lambda _: None)
    found = score_run(run, [old, new], [old, new], chosen, lambda _: None)
    assert asked == [old, new]
    assert set(found.sentences.surprisal_bits) == {old, new}


def test_parses_are_kept_for_the_items_that_show_them(folder: Path, tmp_path: Path) -> None:
    chosen = _settings(folder, tmp_path, f"paths.surprisals={tmp_path / 'kept'}")
    sentences = [("the", "boys", "knew", "."), ("the", "man", "knew", ".")]
    words = 0

    def count(done: int) -> None:
        nonlocal words
        words += done

    run = score_run(run_of(folder, "rnng"), sentences, sentences[:1], chosen, count)
    assert words == 8
    assert list(run.sentences.parses) == sentences[:1]
    parses = run.sentences.parses[sentences[0]]
    assert len(parses) >= 4
    for best in parses[:4]:
        assert 1 <= len(best) <= 3 and sum(share for share, _ in best) <= 1 + 1e-6


def test_failures_are_noted_for_the_sentences_of_these_suites_only(
    folder: Path, tmp_path: Path
) -> None:
    own = _own_suite()
    (scored,) = exact_runs([run_of(folder, "ngram")], [own])
    scored.sentences.failures[own.sentences[0]] = "raise search.max_open"
    scored.sentences.failures[("elsewhere",)] = "raise search.max_open"
    (note,) = tables([own], [scored], _settings(folder, tmp_path)).notes
    assert "the boys were happy ." in note and "raise search.max_open" in note


def test_sentences_have_local_and_global_surprisal_and_slor(results: Path) -> None:
    table = pd.read_csv(results / "sentences.csv")
    words = pd.read_csv(results / "surprisals.tsv", sep="\t", quoting=3)
    keys = ["run", "suite", "item", "condition", "variant"]
    sums = words.groupby(keys)["surprisal_bits"].sum() / words.groupby(keys)["word_id"].max()
    found = table.set_index(keys)["global_bits_per_word"]
    finite = found[np.isfinite(found)]
    assert len(finite) > 0
    assert np.allclose(finite, sums.loc[finite.index])
    assert np.isfinite(table.loc[np.isfinite(table["global_bits_per_word"]), "slor"]).all()
