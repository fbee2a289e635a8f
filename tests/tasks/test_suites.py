"""``task=suites``: what there is, and how it leaves the house."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from gardenpath.console import console
from gardenpath.errors import ConfigError, GardenpathError, InputError, RunError
from gardenpath.eval.display import EXACT
from gardenpath.eval.search.settings import WordSync
from gardenpath.eval.suites.library import export, load_suites, suite_names
from gardenpath.eval.suites.suite import SuiteError
from gardenpath.eval.suites.tables import load_table_suite
from gardenpath.models.sequential.networks import SequentialScorer
from gardenpath.runs.model import TrainedModel
from gardenpath.runs.run import Run
from gardenpath.settings.compose import load_settings
from gardenpath.store.manifest import read_results_manifest, read_side_car
from gardenpath.tasks import run_task
from gardenpath.util import Words
from tests.runs.own_suite import agreement
from tests.toy_runs import evaluate, run_of


def test_all_suites_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "width", 200)
    run_task(load_settings("evaluate", ["task=suites", f"output={tmp_path}", "task.examples=true"]))
    shown = capsys.readouterr().out
    assert all(name in shown for name in suite_names())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_list_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    run_task(load_settings("evaluate", ["task=suites"]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    for name in suite_names():
        assert any(f" {name.rpartition('/')[0]} " in line for line in lines), name


def test_one_suite_or_class_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run_task(load_settings("evaluate", ["task=suites", "task.show=reflexives/toy"]))
    shown = capsys.readouterr().out
    assert "prediction: " in shown and "himself" in shown and "first item:" in shown
    run_task(load_settings("evaluate", ["task=suites", "task.show=mandarin/verb_noun"]))
    shown = capsys.readouterr().out
    assert all(name in shown for name in suite_names() if name.startswith("mandarin/verb_noun/"))
    with pytest.raises(SuiteError, match="reflexives/toy"):
        arguments = ["task=suites", "suite=toy_english", "task.show=reflexives/toi"]
        run_task(load_settings("evaluate", arguments))


def test_a_few_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run_task(load_settings("evaluate", ["task=suites", "suite=toy_english", "task.examples=true"]))
    shown = capsys.readouterr().out
    assert "reflexives/toy" in shown and "himself" in shown and "mandarin" not in shown


@pytest.mark.parametrize("form", ["syntaxgym", "compact", "text"])
def test_exports(tmp_path: Path, form: str) -> None:
    arguments = ["task=suites", "suite=toy_english", f"task.export={form}", f"output={tmp_path}"]
    run_task(load_settings("evaluate", arguments))
    files = sorted((tmp_path / "suites").iterdir())
    originals = sorted(load_suites(["reflexives/toy", "center_embedding/toy", "islands/toy",
                                    "filler_gap/toy"]), key=lambda suite: suite.name)  # fmt: skip
    assert [path.stem for path in files] == [one.name.replace("/", "_") for one in originals]
    for path, original in zip(files, originals, strict=True):
        if form == "text":
            lines = path.read_text(encoding="utf-8").splitlines()
            assert tuple(dict.fromkeys(tuple(x.split()) for x in lines)) == original.sentences
        else:
            (again,) = load_suites(str(path))
            assert again.sentences == original.sentences
            assert len(again.items) == len(original.items)


# ----------------------------------------------------------------------------
# ``task=new_suite``, and effects and factors of suites of one's own.


def test_the_starting_point_can_be_evaluated(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_task(load_settings("evaluate", ["task=new_suite", "name=mine"]))
    options = ("task.report=false", "task.allow_unknown=true", "suite.suites=[mine.yaml]")
    evaluate(folder, tmp_path, "suite=file", *options, model="ngram")
    effects = pd.read_csv(tmp_path / "mine" / "effects.csv")
    items = pd.read_csv(tmp_path / "mine" / "items.csv")
    assert set(effects["effect"]) == {"mismatch_effect"}
    assert effects["value_bits"].tolist() == pytest.approx(items["difference_bits"].tolist())
    sentences = pd.read_csv(tmp_path / "mine" / "sentences.csv")
    assert sentences["agreement"].tolist() == ["yes", "no"] * 2


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("kept")
    with pytest.raises(InputError, match=r"mine\.csv: exists already"):
        run_task(load_settings("evaluate", ["task=new_suite", "name=mine"]))
    assert [one.name for one in tmp_path.iterdir()] == ["mine.csv"]


def _suite(folder: Path, *lines: str) -> Path:
    book = openpyxl.Workbook()
    assert book.active is not None
    for row in (("item", "condition", "a", "b"), (1, "x", "the", "man"), (1, "y", "the", "boy")):
        book.active.append(row)
    book.save(folder / "items.xlsx")
    head = ["name: own", "language: en", "table: items.xlsx", "regions: [a, b]"]
    (folder / "own.yaml").write_text("\n".join([*head, *lines]) + "\n")
    return folder / "own.yaml"


def test_a_sheet_with_effects_alone(tmp_path: Path) -> None:
    suite = load_table_suite(_suite(tmp_path, "effects:", "  e: (b;%x%) - (b;%y%)"))
    assert [one.name for one in suite.effects] == ["e"]
    assert suite.predictions[0].formula.is_claim
    assert suite.items[0].variants[1].words == ("the", "boy")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["effects:", "  e: (b;%x%) > (b;%y%)"], "is a comparison.*write a difference"),
        (["predictions:", "  p: (b;%x%) - (b;%y%)"], "compares nothing.*write a comparison"),
        (["effects:", "  e: (c;%x%)"], "region 'c' is unknown"),
        (["version: 2"], "has no predictions or effects.*add predictions"),
        (["sheet: Two", "effects: {e: (b;%x%)}"], "has no sheet 'Two'.*its sheets: Sheet"),
        (["effects: {e: (b;%x%)}", "factors: {x: {f: a}}"], "condition y has none"),
    ],
)
def test_mistakes_name_the_cure(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_table_suite(_suite(tmp_path, *lines))


def test_a_formula_and_effects_with_intervals(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run_task(load_settings("evaluate", ["task=new_suite", "name=mine"]))
    known = [word for word in run_of(folder, "ngram").vocabulary.tokens if word.isalpha()][:12]
    rows = ["item,condition,subject,verb,rest"]
    for number, (match, mismatch) in enumerate(zip(known[::2], known[1::2], strict=True), 1):
        rows += [f"{number},match,the boys,{match},.", f"{number},mismatch,the boys,{mismatch},."]
    (tmp_path / "mine.csv").write_text("\n".join(rows), encoding="utf-8")
    options = ("task.allow_unknown=true", "suite.suites=[mine.yaml]", "task.min_items=1")
    formula = "task.formula=local_bits ~ agreement + (1 | item)"
    evaluate(folder, tmp_path, "suite=file", *options, formula, model="ngram")
    shown = capsys.readouterr().out
    assert "mine: effects in bits, with 95 % intervals" in shown
    means = pd.read_csv(tmp_path / "mine" / "effect_means.csv")
    effects = pd.read_csv(tmp_path / "mine" / "effects.csv")
    assert means["mean_bits"].tolist() == pytest.approx([effects["value_bits"].mean()])
    assert means["low"][0] <= means["mean_bits"][0] <= means["high"][0]
    assert means["near_ties"].tolist() == [effects["near_tie"].sum()]
    own = pd.read_csv(tmp_path / "mine" / "statistics" / "own_estimates.csv")
    assert own["term"].str.contains("agreement").all()
    about = read_side_car(tmp_path / "mine" / "statistics" / "own_estimates.csv")
    assert about["formula"] == "local_bits ~ agreement + (1 | item)" and about["unit"] == "bits"
    with pytest.raises(GardenpathError, match=r"no column agrement.*did you mean 'agreement'"):
        evaluate(
            folder, tmp_path, "suite=file", *options, formula.replace("ee", "e"), model="ngram"
        )


def test_two_suites_of_one_name_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_task(load_settings("evaluate", ["task=new_suite", "name=mine"]))
    Path("other.yaml").write_text(Path("mine.yaml").read_text())
    options = (
        "task.report=false",
        "task.allow_unknown=true",
        "suite.suites=[mine.yaml,other.yaml]",
    )
    with pytest.raises(GardenpathError, match=r"two suites are called 'mine'.*change name:"):
        evaluate(folder, tmp_path, "suite=file", *options, model="ngram")


# ----------------------------------------------------------------------------
# ``task=rescore``: surprisals from files, with no model at all.


OWN = ("suite=toy_english", "suite.suites=[islands/toy]", "task.report=false")


def _exported(folder: Path, tmp_path: Path) -> Path:
    """A suite as plain text, and the table of its surprisals where a rescoring looks for it."""
    evaluate(folder, tmp_path, "task=suites", *OWN[:2], "task.examples=false", "task.export=text")
    text = tmp_path / "suites" / "islands_toy.txt"
    table = tmp_path / "tables" / "islands_toy.tsv"
    options = ("task=surprisal", f"input={text}", f"task.file={table}")
    evaluate(folder, tmp_path, *options, model="rnng")
    return table.parent


def test_the_tables_of_surprisal_score_as_the_models_themselves(
    folder: Path, tmp_path: Path
) -> None:
    """All the way round: a suite exported, scored as sentences, and rescored."""
    tables = _exported(folder, tmp_path)
    evaluate(folder, tmp_path / "re", "task=rescore", *OWN, f"surprisals={tables}")
    chosen = (*OWN, "suite.in_vocabulary=false", "task.parsed_items=0", "task.ties=exact")
    evaluate(folder, tmp_path, *chosen, model="rnng")
    keys = ["model", "item", "prediction"]
    found = pd.read_csv(tmp_path / "re" / "toy_english_rescored" / "items.csv")
    found["model"] = found["model"].str.split("/").str[-1]
    expected = pd.read_csv(tmp_path / "toy_english" / "items.csv")
    columns = [*keys, "outcome", "tie"]
    pd.testing.assert_frame_equal(
        found[columns].sort_values(keys, ignore_index=True),
        expected[columns].sort_values(keys, ignore_index=True),
        check_dtype=False,
    )
    assert set(found["model"]) == {"rnng"}
    assert (found["seed"] == 1).all()
    assert (tmp_path / "re" / "toy_english_rescored" / "summary.csv").is_file()


def test_the_report_has_every_word_in_its_explorer(folder: Path, tmp_path: Path) -> None:
    tables = _exported(folder, tmp_path)
    evaluate(folder, tmp_path / "re", "task=rescore", *OWN[:2], f"surprisals={tables}")
    report = (tmp_path / "re" / "toy_english_rescored" / "report.html").read_text(encoding="utf-8")
    assert "<title>Toy english: given surprisals of 1 model</title>" in report
    assert 'id="explorer-root"' in report and "Surprisal by word: item" in report
    found = re.search(r'id="explorer-data">(.*?)</script>', report, flags=re.DOTALL)
    assert found
    data = json.loads(found[1])
    (suite,) = data["suites"]
    rows = pd.read_csv(tables / "islands_toy.tsv", sep="\t", quoting=3, comment="#")
    first = rows[(rows["sentence_id"] == 1) & (rows["word"] != "</s>")]
    variant, (values, *_) = suite["items"][0]["variants"][0], suite["items"][0]["s"]["0"]
    assert [data["words"][n] for n in variant["w"]] == first["word"].tolist()
    assert values == pytest.approx(first["surprisal_bits"].tolist(), abs=0.006)
    assert suite["critical"], "the critical region is marked"


def test_results_of_regions_all_the_way_round(folder: Path, tmp_path: Path) -> None:
    """Surprisals of a run as LM Zoo's table, and its results as SyntaxGym's: both rescored."""
    tables = _exported(folder, tmp_path)
    zoo = tmp_path / "zoo" / "islands_toy.tsv"
    text = tmp_path / "suites" / "islands_toy.txt"
    evaluate(folder, tmp_path, "task=surprisal", f"input={text}", "form=lm_zoo",
             f"task.file={zoo}", model="rnng")  # fmt: skip
    options = ("task=rescore", *OWN)
    own, again = tmp_path / "own", tmp_path / "again"
    evaluate(folder, own, *options, f"surprisals={tables}", "task.also=[syntaxgym]")
    evaluate(folder, tmp_path / "zoo_out", *options, f"surprisals={zoo}", "form=lm_zoo")
    (regions,) = (own / "toy_english_rescored" / "syntaxgym").rglob("*.json")
    evaluate(folder, again, *options, f"surprisals={regions}")
    expected = pd.read_csv(own / "toy_english_rescored" / "items.csv")
    for place in (again, tmp_path / "zoo_out"):
        found = pd.read_csv(place / "toy_english_rescored" / "items.csv")
        assert found["outcome"].tolist() == expected["outcome"].tolist()
        assert found["difference_bits"].tolist() == pytest.approx(
            expected["difference_bits"].tolist()
        )


def test_a_folder_without_tables(folder: Path, tmp_path: Path) -> None:
    empty = run_of(folder, "ngram").path
    with pytest.raises(InputError, match=r"contains no surprisals.*tables such as"):
        evaluate(folder, tmp_path, "task=rescore", *OWN, f"surprisals={empty}")
    assert list(tmp_path.iterdir()) == []


def test_materials_are_for_published_layouts(tmp_path: Path) -> None:
    chosen = load_settings(
        "evaluate",
        ["task=rescore", "suite=filler_gap", f"surprisals={tmp_path}", f"materials={tmp_path}"],
    )
    with pytest.raises(ConfigError, match="filler_gap: materials= is for the published"):
        run_task(chosen)


# ----------------------------------------------------------------------------
# ``task=suite``: runs on test suites.


QUICK = ("task.report=false", "suite.items=2", "task.parsed_items=1")


def _evaluate(folder: Path, output: Path, *overrides: str, model: str = "") -> None:
    evaluate(folder, output, "suite=toy_english", *QUICK, *overrides, model=model)


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All runs on two items of each of the small English suites."""
    output = tmp_path_factory.mktemp("suites")
    _evaluate(folder, output, "task.min_items=2")
    return output / "toy_english"


@pytest.mark.slow
@pytest.mark.parametrize("sentences", [0, 2])
def test_the_search_is_named_once(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], sentences: int
) -> None:
    """Below the perplexities if they are searched, too, else before the accuracies."""
    options = ("task.perplexity=true", f"task.perplexity_sentences={sentences}")
    _evaluate(folder, tmp_path, *options, model="rnng")
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("search: word-synchronous beam search") == 1


def test_the_tables_that_are_written(results: Path) -> None:
    tables = ["effect_means.csv", "effects.csv", "items.csv", "sentences.csv", "summary.csv",
              "surprisals.tsv", "word_pairs.csv"]  # fmt: skip
    written = sorted(path.name for path in results.iterdir())
    assert written == sorted([*tables, *(f"{one}.meta.json" for one in tables), "manifest.json"])
    about = read_side_car(results / "items.csv")
    assert about["unit"] == "bits" and "word-synchronous" in about["search"]
    assert "in bits" in about["columns"]["difference_bits"]
    assert all(one["boundary"] is None for one in about["runs"])
    summary = pd.read_csv(results / "summary.csv")
    for column in ("model", "corpus", "class", "modifier", "accuracy", "items", "ties"):
        assert column in summary.columns
    assert set(summary["model"]) == {"lstm", "ngram", "plm", "rnng", EXACT}
    assert set(summary["class"]) == {"reflexives", "center_embedding", "islands", "filler_gap"}
    items = pd.read_csv(results / "items.csv")
    assert (items.groupby(["model", "suite"])["item"].nunique() == 2).all()
    assert (items["unknown"] == 0).all()
    effects = pd.read_csv(results / "effects.csv")
    assert {"licensing_interaction", "ordering_effect_embedding"} <= set(effects["effect"])


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
    assert summary["island_contrast"].isna().all()


def test_surprisals_are_those_of_the_models(results: Path, folder: Path) -> None:
    """Every word of the table, against the model asked by itself."""
    table = pd.read_csv(results / "surprisals.tsv", sep="\t", quoting=3)
    scorer = run_of(folder, "lstm").scorer(search=WordSync(share_prefixes=False))
    mine = table[table["model"] == "lstm"]
    keys = ["suite", "item", "condition", "variant"]
    groups = [group for _, group in mine.groupby(keys, sort=False)]
    log_probs = scorer.word_log_probs([group["word"].tolist() for group in groups])
    for group, values in zip(groups, log_probs, strict=True):
        bits = -values[:-1] / 0.6931471805599453
        assert group["surprisal_bits"].to_numpy() == pytest.approx(bits, abs=1e-4)


def test_the_manifest_says_how_the_results_were_made(results: Path, folder: Path) -> None:
    manifest = read_results_manifest(results)
    assert set(manifest.files) == {
        path.name for path in results.iterdir() if path.name != "manifest.json"
    }
    about = manifest.about
    assert about["runs"] == {
        str(run_of(folder, model).path): run_of(folder, model).folder.fingerprint()
        for model in ("lstm", "ngram", "plm", "rnng")
    }
    assert about["settings"]["suite"]["name"] == "toy_english"
    assert about["settings"]["search"]["action_beam"] == 10
    assert "word-synchronous" in about["search"].lower() and about["command"]


def test_a_suite_from_a_file_with_unknown_words_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = export(agreement(), tmp_path, "compact")
    own = ("suite=file", f"suite.suites=[{path}]", "task.report=false")
    evaluate(folder, tmp_path, *own, model="ngram")
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 critical word is out-of-vocabulary for some model: wugs" in shown
    assert "suite.in_vocabulary=true" in shown and EXACT not in shown
    items = pd.read_csv(tmp_path / "agreement" / "items.csv", keep_default_na=False)
    assert items[["item", "unknown_words"]].values.tolist() == [[1, ""], [2, "wugs"]]
    table = pd.read_csv(tmp_path / "agreement" / "surprisals.tsv", sep="\t", quoting=3)
    assert set(table.loc[~table["seen"], "word"]) == {"wugs"}
    evaluate(folder, tmp_path, *own, "suite.in_vocabulary=true", model="ngram")
    items = pd.read_csv(tmp_path / "agreement" / "items.csv")
    assert set(items["item"]) == {1} and EXACT in set(items["model"])


def test_no_item_of_known_words_is_an_error_with_a_remedy(folder: Path, tmp_path: Path) -> None:
    path = export(replace(agreement(), items=agreement().items[1:]), tmp_path, "compact")
    own = ("suite=file", f"suite.suites=[{path}]", "suite.in_vocabulary=true")
    with pytest.raises(GardenpathError, match=r"suite\.in_vocabulary=false"):
        evaluate(folder, tmp_path, *own, model="ngram")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_own_suites_have_folders_of_their_own(folder: Path, tmp_path: Path) -> None:
    files = []
    for name in ("first", "second"):
        path = export(replace(agreement(), name=name), tmp_path / "suites", "compact")
        files.append(str(path))
        own = ("suite=file", f"suite.suites=[{path}]", "task.report=false")
        evaluate(folder, tmp_path / "out", *own, model="ngram")
    both = ("suite=file", f"suite.suites=[{','.join(files)}]", "task.report=false")
    evaluate(folder, tmp_path / "out", *both, model="ngram")
    evaluate(folder, tmp_path / "out", *both, "suite.name=mine", model="ngram")
    names = [path.name for path in (tmp_path / "out").iterdir() if path.is_dir()]
    assert sorted(names) == ["first", "first_and_1_more", "mine", "second"]
    items = pd.read_csv(tmp_path / "out" / "first_and_1_more" / "items.csv")
    assert set(items["suite"]) == {"first", "second"}


def test_new_results_take_the_place_of_old_ones_and_of_nothing_else(
    folder: Path, tmp_path: Path
) -> None:
    _evaluate(folder, tmp_path, "task.perplexity=true", "task.perplexity_sentences=0")
    results = tmp_path / "toy_english"
    assert (results / "perplexity.csv").is_file()
    _evaluate(folder, tmp_path, model="ngram")
    assert not (results / "perplexity.csv").exists(), "nothing stale stays"
    (results / "notes.txt").write_text("mine", encoding="utf-8")
    before = (results / "items.csv").read_bytes()
    with pytest.raises(RunError, match=r"notes\.txt"):
        _evaluate(folder, tmp_path, model="lstm")
    assert (results / "items.csv").read_bytes() == before


def test_runs_of_another_language_are_an_error_with_a_remedy(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GardenpathError, match=r"in zh, but all models are in en; train one"):
        evaluate(folder, tmp_path, "suite=mandarin", *QUICK)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_suite_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="did you mean 'reflexives/toy'"):
        _evaluate(folder, tmp_path, "suite.suites=[reflexives/toi]")


def test_what_is_in_the_store_is_not_computed_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.sqlite"
    options = ("suite.suites=[islands/toy]", f"paths.surprisals={kept}")
    _evaluate(folder, tmp_path / "one", *options)
    assert kept.is_file()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(TrainedModel, "network", refuse)
    _evaluate(folder, tmp_path / "two", *options)
    for name in ("items.csv", "surprisals.tsv", "summary.csv", "effects.csv"):
        one, two = (tmp_path / n / "toy_english" / name for n in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    # What does not change results changes no key; another beam does.
    _evaluate(folder, tmp_path / "two", *options, "search.memory_gb=0.5", "search.bounded=false")
    with pytest.raises(AssertionError, match="a model was loaded"):
        _evaluate(folder, tmp_path / "two", *options, "search.word_beam=2")


class _Killed(BaseException):
    """As if the process were gone."""


def test_a_killed_job_loses_one_chunk(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three sentences at a time; the job is killed in the third chunk and started again."""
    assert Run.scored.__kwdefaults__ is not None
    monkeypatch.setitem(Run.scored.__kwdefaults__, "chunk", 3)
    options = ("suite.suites=[islands/toy]", f"paths.surprisals={tmp_path / 'kept.sqlite'}")
    other = f"paths.surprisals={tmp_path / 'other.sqlite'}"
    _evaluate(folder, tmp_path / "whole", options[0], other, model="lstm")
    scored: list[list[Words]] = []
    real = SequentialScorer.word_log_probs

    def count(self: SequentialScorer, sentences: Sequence[Words]) -> object:
        if len(scored) == 2:
            raise _Killed
        scored.append(list(sentences))
        return real(self, sentences)

    with monkeypatch.context() as patch, pytest.raises(_Killed):
        patch.setattr(SequentialScorer, "word_log_probs", count)
        _evaluate(folder, tmp_path / "killed", *options, model="lstm")
    assert [len(chunk) for chunk in scored] == [3, 3] and not (tmp_path / "killed").exists()
    before = {words for chunk in scored for words in chunk}
    again: list[Words] = []

    def note(self: SequentialScorer, sentences: Sequence[Words]) -> object:
        again.extend(sentences)
        return real(self, sentences)

    with monkeypatch.context() as patch:
        patch.setattr(SequentialScorer, "word_log_probs", note)
        _evaluate(folder, tmp_path / "killed", *options, model="lstm")
    assert again and not before & set(again)
    for name in ("items.csv", "surprisals.tsv"):
        one, two = (tmp_path / n / "toy_english" / name for n in ("whole", "killed"))
        assert one.read_bytes() == two.read_bytes()


def test_sentences_have_local_and_global_surprisal_and_slor(results: Path) -> None:
    table = pd.read_csv(results / "sentences.csv")
    words = pd.read_csv(results / "surprisals.tsv", sep="\t", quoting=3)
    keys = ["run", "suite", "item", "condition", "variant"]
    # With fillers and gaps, the clause that follows the filler; else the whole sentence.
    is_wh = words["suite"].isin(["islands/toy", "filler_gap/toy"])
    is_before = words["region"].isin(["matrix", "filler", "end"])
    clause = words[~(is_wh & is_before)]
    sums = clause.groupby(keys)["surprisal_bits"].mean()
    found = table.set_index(keys)["global_bits_per_word"]
    finite = found[np.isfinite(found)]
    assert len(finite) > 0
    assert np.allclose(finite, sums.loc[finite.index])
    assert np.isfinite(table.loc[np.isfinite(table["global_bits_per_word"]), "slor"]).all()


def test_further_forms_of_results(folder: Path, tmp_path: Path) -> None:
    """SyntaxGym's form has the surprisals of all words; forms that do not fit are refused first."""
    with pytest.raises(SuiteError, match="BabyLM's predictions are for minimal pairs"):
        _evaluate(folder, tmp_path, "task.also=[syntaxgym,babylm]", model="ngram")
    assert list(tmp_path.iterdir()) == []
    _evaluate(folder, tmp_path, "task.also=[syntaxgym]", model="ngram")
    written = tmp_path / "toy_english"
    paths = [path for path in read_results_manifest(written).files if "syntaxgym/" in path]
    table = pd.read_csv(written / "surprisals.tsv", sep="\t", quoting=3)
    table = table[table["model"] == "ngram"]
    assert len(paths) == table["suite"].nunique() > 1
    for path in paths:
        content = json.loads((written / path).read_text(encoding="utf-8"))
        regions = [r for i in content["items"] for c in i["conditions"] for r in c["regions"]]
        own = table[table["suite"] == content["meta"]["name"]]
        total = sum(region["metric_value"]["sum"] for region in regions)
        assert total == pytest.approx(own["surprisal_bits"].sum())
