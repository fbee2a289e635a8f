"""``task=parse``: trees, how good they are, and how sure the search is."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gardenpath.data.trees.tree import parse_tree
from gardenpath.data.words.vocabulary import END
from gardenpath.errors import InputError, RunError
from gardenpath.eval.display import EXACT
from gardenpath.eval.published.files import PairingRules, StatedRun, stated_runs
from gardenpath.eval.published.forms import read_file
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.surprisal.tables import SurprisalRow, read_surprisals
from gardenpath.models.ngram.model import NgramScorer
from gardenpath.models.sequential.networks import SequentialScorer
from gardenpath.runs.model import TrainedModel
from gardenpath.store.manifest import read_results_manifest, side_car
from gardenpath.store.surprisals import Stored
from tests.toy_runs import TEST_SENTENCES, copied, evaluate, run_of


def _trees(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_trees_and_their_scores(folder: Path, tmp_path: Path) -> None:
    evaluate(folder, tmp_path, "task=parse", "task.sentences=6")
    scores = pd.read_csv(tmp_path / "parses" / "f1.csv").set_index("run")
    corpus = run_of(folder, "rnng").data.preparation()
    expected = [sentence.words for sentence in corpus.sentences("test")][:6]
    for model in ("plm", "rnng"):
        lines = _trees(tmp_path / "parses" / f"toy_english_{model}_seed1.trees")
        assert [parse_tree(line).words() for line in lines] == expected
        row = scores.loc[str(run_of(folder, model).path)]
        assert row["sentences"] == 6 and 0 <= row["f1"] < 1 and 0 < row["best_parse_share"] <= 1
        mass = pd.read_csv(tmp_path / "parses" / f"toy_english_{model}_seed1_best_parse.csv")
        assert len(mass) == sum(len(words) + 1 for words in expected)
        assert mass["best_share"].between(0, 1 + 1e-6).all()
    assert len(scores) == 2
    about = read_results_manifest(tmp_path / "parses").about
    assert about["settings"]["task"]["sentences"] == 6


def test_gold_trees_are_found_where_they_are_given(folder: Path, tmp_path: Path) -> None:
    """A tree that the model itself proposes is perfect."""
    text = tmp_path / "plain.txt"
    text.write_text("the boys knew the man .\n", encoding="utf-8")
    options = ("task=parse", "task.ignore_punctuation=false")
    evaluate(folder, tmp_path / "one", *options, f"input={text}", model="rnng")
    first = pd.read_csv(tmp_path / "one" / "parses" / "f1.csv")
    assert first["f1"].isna().all() and first["exact_match"].isna().all()
    gold = tmp_path / "one" / "parses" / "toy_english_rnng_seed1.trees"
    evaluate(folder, tmp_path / "two", *options, f"input={gold}", model="rnng")
    second = pd.read_csv(tmp_path / "two" / "parses" / "f1.csv").iloc[0]
    assert (second["f1"], second["exact_match"]) == (1.0, 1.0)


def test_several_trees_of_each_sentence(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "plain.txt"
    text.write_text("the boys knew .\nthe man knew .\n", encoding="utf-8")
    evaluate(folder, tmp_path, "task=parse", "task.k_best=3", f"input={text}", model="rnng")
    path = tmp_path / "parses" / "toy_english_rnng_seed1.trees"
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    assert len(blocks) == 2
    for block, words in zip(blocks, ("the boys knew .", "the man knew ."), strict=True):
        pairs = [line.split("\t") for line in block.splitlines()]
        shares = [float(share) for share, _ in pairs]
        assert 1 < len(pairs) <= 3 and shares == sorted(shares, reverse=True)
        assert len({tree for _, tree in pairs}) == len(pairs)
        assert {parse_tree(tree).words() for _, tree in pairs} == {tuple(words.split())}


def test_standard_input_serves_all_runs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the boys knew .\n")))
    evaluate(folder, tmp_path, "task=parse", "input=-")
    assert pd.read_csv(tmp_path / "parses" / "f1.csv")["sentences"].tolist() == [1, 1]


def test_each_run_reads_the_input_as_its_corpus_was_cleaned(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("The boys knew .\n", encoding="utf-8")
    plain, lower = tmp_path / "runs" / "plain", tmp_path / "runs" / "lower"
    copied(run_of(folder, "rnng"), plain)
    copied(run_of(folder, "rnng"), lower, lowercase=True)
    options = ("task=parse", f"input={text}", f"run={tmp_path / 'runs'}", "tokenised=true")
    evaluate(folder, tmp_path, *options)
    for run, word in ((plain, "The"), (lower, "the")):
        (tree,) = _trees(tmp_path / "parses" / run.name / "toy_english_rnng_seed1.trees")
        assert parse_tree(tree).words() == (word, "boys", "knew", ".")


def test_runs_of_one_corpus_model_and_seed_keep_their_own_files(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("a_b/c", "a/b_c"):
        run = copied(run_of(folder, "rnng"), tmp_path / "runs" / name)
        with (run.folder / "config.yaml").open("a", encoding="utf-8") as file:
            file.write(f"# {name}\n")  # not a copy
    copied(run_of(folder, "plm"), tmp_path / "runs" / "a" / "plm")
    options = ("task=parse", "task.sentences=2", f"run={tmp_path / 'runs'}")
    evaluate(folder, tmp_path, *options)
    found = (tmp_path / "parses").rglob("*.trees")
    assert sorted(str(path.relative_to(tmp_path / "parses")) for path in found) == [
        "a/b_c/toy_english_rnng_seed1.trees",
        "a_b/c/toy_english_rnng_seed1.trees",
        "toy_english_plm_seed1.trees",
    ]
    assert len(list((tmp_path / "parses").rglob("*_best_parse.csv"))) == 3
    assert len(pd.read_csv(tmp_path / "parses" / "f1.csv")) == 3


def test_how_far_the_beams_are_from_convergence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("task=parse", "task.sentences=2", "task.convergence=true")
    evaluate(folder, tmp_path, *options, model="plm")
    shown = capsys.readouterr().out
    assert "Beam convergence" in shown and "4×" in shown
    assert "word-synchronous beam search, action beam 10, word beam 3" in shown


@pytest.mark.parametrize("model", ["ngram", "lstm"])
def test_models_without_trees_are_an_error(folder: Path, tmp_path: Path, model: str) -> None:
    with pytest.raises(RunError, match=r"no run of a syntactic model .* model=rnng"):
        evaluate(folder, tmp_path, "task=parse", model=model)
    assert list(tmp_path.iterdir()) == []


def test_what_was_parsed_before_is_not_searched_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("task=parse", "task.sentences=3", f"paths.surprisals={tmp_path / 'kept.sqlite'}")
    evaluate(folder, tmp_path / "one", *options, model="rnng")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(TrainedModel, "network", refuse)
    evaluate(folder, tmp_path / "two", *options, model="rnng")
    for name in ("toy_english_rnng_seed1.trees", "toy_english_rnng_seed1_best_parse.csv", "f1.csv"):
        one, two = (tmp_path / n / "parses" / name for n in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    with pytest.raises(AssertionError, match="a model was loaded"):
        evaluate(folder, tmp_path / "two", *options, "task.k_best=2", model="rnng")
    # Results before it stay.
    assert (tmp_path / "two" / "parses" / "f1.csv").is_file()


def test_nothing_of_an_earlier_evaluation_stays_beside_a_new_one(
    folder: Path, tmp_path: Path
) -> None:
    evaluate(folder, tmp_path, "task=parse", "task.sentences=1")
    evaluate(folder, tmp_path, "task=parse", "task.sentences=1", model="rnng")
    trees = [path.name for path in (tmp_path / "parses").glob("*.trees")]
    assert trees == ["toy_english_rnng_seed1.trees"]


# ----------------------------------------------------------------------------
# ``task=perplexity``: a table on the terminal, and a file.


def test_only_some_sentences_or_none_are_searched(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(folder, tmp_path, "task=perplexity", "task.marginal_sentences=3", model="rnng")
    with (tmp_path / "perplexity.csv").open(encoding="utf-8", newline="") as file:
        counts = [(row["model"], row["sentences"]) for row in csv.DictReader(file)]
    whole = str(TEST_SENTENCES)
    assert counts == [
        ("rnng (joint)", whole), (EXACT, whole), ("rnng (marginal)", "3"), (EXACT, "3")
    ]  # fmt: skip
    shown = capsys.readouterr().out
    assert "with their gold trees" in shown and "summed over the trees" in shown
    assert "test split" in shown and "perplexity.csv" in shown.replace("\n", "")
    evaluate(folder, tmp_path, "task=perplexity", "task.marginal_sentences=0", model="rnng")
    with (tmp_path / "perplexity.csv").open(encoding="utf-8", newline="") as file:
        assert [row["model"] for row in csv.DictReader(file)] == ["rnng (joint)", EXACT]
    assert "summed over the trees" not in capsys.readouterr().out


# ----------------------------------------------------------------------------
# ``task=surprisal``: one long table, whole or not at all, and jobs that go on where they were.


SENTENCES = (
    "the boys knew .",
    "the zebras that the boys knew hated .",
    "the boys that knew hated the man .",
    "Wug loves the boys .",
)
# As models of lower-cased text read them.
READ = tuple(sentence.lower() for sentence in SENTENCES)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return path


def _evaluate(folder: Path, text: Path, *overrides: str, model: str = "") -> None:
    output = text.parent / "out"
    evaluate(folder, output, "task=surprisal", f"input={text}", *overrides, model=model)


def test_one_long_table_of_several_runs(folder: Path, text: Path) -> None:
    _evaluate(folder, text)
    rows, header = read_surprisals(text.parent / "out" / "surprisal.tsv")
    words = [(*sentence.split(), END) for sentence in SENTENCES]
    per_run = sum(map(len, words))
    assert len(rows) == 4 * per_run
    for number, model in enumerate(("lstm", "ngram", "plm", "rnng")):
        found = rows[number * per_run : (number + 1) * per_run]
        assert {row.run for row in found} == {str(run_of(folder, model).path)}
        assert [row.word for row in found] == [word.lower() for one in words for word in one]
        scores = (
            run_of(folder, model)
            .scorer()
            .word_log_probs([sentence.lower().split() for sentence in SENTENCES])
        )
        bits = [row.surprisal_bits for row in found]
        assert bits == pytest.approx(np.concatenate(scores) / -math.log(2), abs=1e-4)
    assert [run.model for run in header.runs] == ["lstm", "ngram", "plm", "rnng"]
    assert [run.search for run in header.runs] == ["none", "none", "word_sync", "word_sync"]
    assert header.runs[0].settings == {}
    assert header.runs[2].settings["action_beam"] == 10
    assert header.runs[2].settings["marginal"] == "survivors"
    assert (header.unit, header.end_of_sentence) == ("bits", "row")
    vocabulary = run_of(folder, "lstm").vocabulary.content_hash
    assert {run.vocabulary for run in header.runs} == {vocabulary}
    written = sorted(path.name for path in (text.parent / "out").iterdir())
    assert written == ["surprisal.tsv", "surprisal.tsv.meta.json"]


def test_a_table_that_output_names_is_replaced(folder: Path, text: Path) -> None:
    path = text.parent / "words.csv"
    for end in ("true", "false"):
        task = ("task=surprisal", f"input={text}", f"task.end={end}")
        evaluate(folder, path, *task, model="ngram")
        rows, _ = read_surprisals(path)
        assert (rows[-1].word == END) == (end == "true")


def test_words_that_did_not_reach_the_tolerance_are_counted(
    folder: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beams = ("search.action_beam=10", "search.word_beam=2", "search.max_replicates=8")
    _evaluate(folder, text, "search=unbiased", "search.tolerance=0.000001", *beams)
    rows, _ = read_surprisals(text.parent / "out" / "surprisal.tsv")
    printed = capsys.readouterr().out
    assert printed.count("unbiased search, action beam 10, word beam 2, 4 replicates") == 1
    for model in ("plm", "rnng"):
        name = str(run_of(folder, model).path)
        errors = [row.columns["surprisal_se"] for row in rows if row.run == name]
        above = sum(error > 1e-6 for error in errors)
        assert above
        assert (
            f"{name}: the standard error of {above} of {len(errors)} words and ends, in 4 "
            "sentences, is above search.tolerance=1e-06 bits"
        ) in printed
    assert f"{run_of(folder, 'lstm').path}: the standard error" not in printed


def test_the_columns_of_a_search_may_be_left_out(folder: Path, text: Path) -> None:
    """Syntactic models have them; the others have not, in the same table."""
    found = {}
    for columns in ("all", "surprisal"):
        _evaluate(folder, text, f"task.columns={columns}")
        found[columns] = _rows(text.parent / "out" / "surprisal.tsv")
    searched = {"lstm": False, "ngram": False, "plm": True, "rnng": True}
    for row in found["all"]:
        is_searched = searched[Path(row.run).parent.name]
        assert bool(row.columns) is is_searched
        assert not is_searched or 0 < row.columns["best_share"] <= 1
    assert [replace(row, columns={}) for row in found["all"]] == found["surprisal"]


def test_unknown_words_are_shown_as_their_classes(folder: Path, text: Path) -> None:
    _evaluate(folder, text, model="ngram")
    rows, _ = read_surprisals(text.parent / "out" / "surprisal.tsv")
    unseen = {row.word: row.seen_as for row in rows if not row.seen}
    assert set(unseen) == {"zebras", "wug"}
    assert all(name.startswith("<unk") for name in unseen.values())
    assert all(row.seen_as == row.word for row in rows if row.seen)


@pytest.mark.parametrize("extension", ["tsv", "jsonl", "parquet"])
def test_formats_by_extension(folder: Path, text: Path, extension: str) -> None:
    path = text.parent / f"table.{extension}"
    _evaluate(folder, text, f"task.file={path}", model="ngram")
    rows, header = read_surprisals(path)
    assert len(rows) == sum(len(s.split()) + 1 for s in SENTENCES)
    assert header.runs[0].model == "ngram"
    assert side_car(path).exists()
    assert not (text.parent / "out").exists()


def test_an_unknown_extension_is_an_error_before_anything_is_done(folder: Path, text: Path) -> None:
    path = text.parent / "table.xlsx"
    with pytest.raises(InputError, match=r"choose one of \.tsv, \.csv, \.jsonl, \.parquet"):
        _evaluate(folder, text, f"task.file={path}")
    assert [one.name for one in text.parent.iterdir()] == [text.name]


def test_ends_may_be_left_out(folder: Path, text: Path) -> None:
    _evaluate(folder, text, "task.end=false", model="ngram")
    rows, header = read_surprisals(text.parent / "out" / "surprisal.tsv")
    assert len(rows) == sum(len(s.split()) for s in SENTENCES)
    assert END not in {row.word for row in rows} and header.end_of_sentence == "none"


def test_standard_input_serves_all_runs_surprisal(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = io.TextIOWrapper(io.BytesIO("\n".join(SENTENCES).encode()))
    monkeypatch.setattr(sys, "stdin", piped)
    evaluate(folder, tmp_path, "task=surprisal", "input=-")
    rows, header = read_surprisals(tmp_path / "surprisal.tsv")
    assert len(header.runs) == 4
    assert {row.sentence_id for row in rows} == {1, 2, 3, 4}


def test_trees_are_read_as_their_words(folder: Path, tmp_path: Path) -> None:
    plain, trees = tmp_path / "plain.txt", tmp_path / "trees.txt"
    plain.write_text("the boys knew .\n", encoding="utf-8")
    trees.write_text(
        "(S (NP-SBJ (DT the) (NNS boys))\n  (VP (VBD knew) (NP (-NONE- *T*)))\n  (. .))\n",
        encoding="utf-8",
    )
    tables = []
    for path in (plain, trees):
        output = tmp_path / f"{path.stem}.tsv"
        _evaluate(folder, path, f"task.file={output}", model="lstm")
        tables.append(read_surprisals(output)[0])
    assert tables[0] == tables[1]


def test_each_run_reads_the_input_as_its_corpus_was_cleaned_surprisal(
    folder: Path, tmp_path: Path
) -> None:
    text = tmp_path / "in.txt"
    text.write_text("The boys knew .\n", encoding="utf-8")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "a")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "b", lowercase=True)
    _evaluate(folder, text, f"run={tmp_path / 'runs'}", "tokenised=true")
    rows = _rows(tmp_path / "out" / "surprisal.tsv")
    first = {Path(row.run).name: row for row in rows if row.word_id == 1}
    assert {name: (row.word, row.seen) for name, row in first.items()} == {
        "a": ("The", False),
        "b": ("the", True),
    }
    # From the second run alone comes what came from both.
    _evaluate(folder, text, f"run={tmp_path / 'runs' / 'b'}", "tokenised=true")
    alone = _rows(tmp_path / "out" / "surprisal.tsv")
    assert alone == [row for row in rows if Path(row.run).name == "b"]


def test_runs_whose_words_differ_are_refused(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("(S (NP (DT the) (NNS boys)) (VP (VBD knew) (-NONE- *T*)))\n", encoding="utf-8")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "a")
    copied(run_of(folder, "ngram"), tmp_path / "runs" / "b", drop_traces=False)
    with pytest.raises(InputError, match=r"in\.txt:1: .*/a and .*/b .*: 'the boys knew' and"):
        _evaluate(folder, text, f"run={tmp_path / 'runs'}")
    assert not (tmp_path / "out").exists()


def test_a_missing_input_file_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.txt"):
        _evaluate(folder, tmp_path / "absent.txt")
    assert list(tmp_path.iterdir()) == []


class _Killed(BaseException):
    """As if the process were gone."""


class _Counting:
    """Notes the sentences that models score, and kills the job before a given call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, calls: int = 10**9) -> None:
        self.sentences: list[str] = []
        left = calls

        def counted(real: Any) -> Any:
            def count(scorer: Any, sentences: Sequence[Sequence[str]]) -> object:
                nonlocal left
                if left == 0:
                    raise _Killed
                left -= 1
                self.sentences += [" ".join(words) for words in sentences]
                return real(scorer, sentences)

            return count

        for scorer in (NgramScorer, SequentialScorer):
            patched = counted(scorer.word_log_probs)
            monkeypatch.setattr(scorer, "word_log_probs", patched)


def _rows(path: Path) -> list[SurprisalRow]:
    return read_surprisals(path)[0]


def test_a_killed_job_goes_on_where_it_was(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs, a sentence at a time; killed in the middle of the second run."""
    for model in ("lstm", "ngram"):
        copied(run_of(folder, model), text.parent / "runs" / model)
    whole, table = text.parent / "whole.tsv", text.parent / "table.tsv"
    chosen = (f"run={text.parent / 'runs'}", "task.chunk=1")

    def job(file: Path, store: str) -> None:
        kept = f"paths.surprisals={text.parent / 'stores' / store}"
        _evaluate(folder, text, *chosen, f"task.file={file}", kept)

    job(whole, "whole.sqlite")
    with monkeypatch.context() as patch:
        before = _Counting(patch, calls=5)
        with pytest.raises(_Killed):
            job(table, "table.sqlite")
    assert before.sentences == [*sorted(READ, key=str.split), min(READ, key=str.split)]
    assert not table.exists()
    with monkeypatch.context() as patch:
        after = _Counting(patch)
        job(table, "table.sqlite")
    assert after.sentences == sorted(READ, key=str.split)[1:]
    assert table.read_text(encoding="utf-8") == whole.read_text(encoding="utf-8")
    names = sorted(path.name for path in text.parent.iterdir())
    beside = [f"{name}.meta.json" for name in ("table.tsv", "whole.tsv")]
    assert names == sorted(["runs", text.name, "stores", "table.tsv", "whole.tsv", *beside])
    with monkeypatch.context() as patch:
        none = _Counting(patch, calls=0)
        job(table, "table.sqlite")
    assert none.sentences == []


def test_what_was_done_with_other_settings_is_not_used(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Log probabilities of another search are not found; sentences scored before are."""
    kept = f"paths.surprisals={text.parent / 'kept.sqlite'}"
    asked: list[str] = []
    real = StructuredScorer.search

    def note(self: StructuredScorer, sentences: Sequence[Sequence[str]], **options: Any) -> Any:
        asked.extend(" ".join(words) for words in sentences)
        return real(self, sentences, **options)

    monkeypatch.setattr(StructuredScorer, "search", note)

    def searched(*overrides: str) -> set[str]:
        asked.clear()
        _evaluate(folder, text, kept, *overrides, model="rnng")
        return set(asked)

    assert searched() == set(READ)
    assert searched("search.memory_gb=0.5") == set()
    assert searched("search.word_beam=2") == set(READ)
    text.write_text("\n".join([*SENTENCES[1:], "the man knew ."]), encoding="utf-8")
    assert searched("search.word_beam=2") == {"the man knew ."}


def test_an_old_table_stays_until_the_new_one_is_whole(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = f"paths.surprisals={text.parent / 'kept.sqlite'}"
    path = text.parent / "out" / "surprisal.tsv"
    path.parent.mkdir()
    path.write_text("old", encoding="utf-8")
    with monkeypatch.context() as patch, pytest.raises(_Killed):
        _Counting(patch, calls=1)
        _evaluate(folder, text, "task.chunk=1", kept, model="ngram")
    assert path.read_text(encoding="utf-8") == "old"
    _evaluate(folder, text, "task.chunk=1", kept, model="ngram")
    assert len(_rows(path)) == sum(len(s.split()) + 1 for s in SENTENCES)


@pytest.mark.parametrize("model", ["lstm", "rnng"])
def test_chunks_change_work_and_not_results(folder: Path, text: Path, model: str) -> None:
    tables = []
    for chunk in (1, 3, 256):
        kept = f"paths.surprisals={text.parent / f'{chunk}.sqlite'}"
        _evaluate(folder, text, f"task.chunk={chunk}", kept, model=model)
        rows = _rows(text.parent / "out" / "surprisal.tsv")
        tables.append([row.surprisal_bits for row in rows])
    assert tables[0] == pytest.approx(tables[1], abs=1e-5)
    assert tables[0] == pytest.approx(tables[2], abs=1e-5)


def test_failed_sentences_are_named_and_the_rest_goes_on(
    folder: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = text.parent / "kept.sqlite"
    run = run_of(folder, "rnng", store=kept)
    words = tuple(SENTENCES[1].split())
    undefined = [math.nan] * len(words)
    columns = {"best_share": [1.0, *undefined]}
    failed = Stored([-1.0, *undefined], remedy="raise search.max_open", columns=columns)
    assert run.store is not None
    run.store.put(run.model_key, {words: failed})
    _evaluate(folder, text, f"paths.surprisals={kept}", model="rnng")
    rows, header = read_surprisals(text.parent / "out" / "surprisal.tsv")
    assert {row.sentence_id for row in rows if math.isnan(row.surprisal_bits)} == {2}
    assert {row.sentence_id for row in rows if math.isnan(row.columns["best_share"])} == {2}
    (failure,) = header.runs[0].failures
    assert (failure.place, failure.word_id) == (f"{text}:2", 2)
    shown = capsys.readouterr().out.replace("\n", "")
    assert f"{text.name}:2: no hypothesis survived; raise search.max_open" in shown


def test_the_model_is_not_loaded_for_what_is_known(
    folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = f"paths.surprisals={text.parent / 'kept.sqlite'}"
    _evaluate(folder, text, kept)
    first = (text.parent / "out" / "surprisal.tsv").read_bytes()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(TrainedModel, "network", refuse)
    _evaluate(folder, text, kept)
    assert (text.parent / "out" / "surprisal.tsv").read_bytes() == first


def test_the_columns_of_lm_zoo(folder: Path, text: Path) -> None:
    """One run, with a header of its own; read again, the numbers are the same."""
    path = text.parent / "zoo.tsv"
    with pytest.raises(InputError, match=r"LM Zoo's tables have one run, not 4"):
        _evaluate(folder, text, "form=lm_zoo", f"task.file={path}")
    with pytest.raises(InputError, match=r"LM Zoo's tables cannot be written as \.csv"):
        _evaluate(folder, text, "form=lm_zoo", f"task.file={path.with_suffix('.csv')}")
    assert not path.exists()
    _evaluate(folder, text, "form=lm_zoo", f"task.file={path}", model="ngram")
    _evaluate(folder, text, f"task.file={path.with_suffix('.csv')}", model="ngram")
    rows, header = read_surprisals(path.with_suffix(".csv"))
    found = read_file(path, "lm_zoo", PairingRules())
    expected = [row.surprisal_bits for row in rows]
    assert [bits for one in found.sentences for bits in one.values] == expected
    assert [word for one in found.sentences for word in one.tokens] == [row.word for row in rows]
    assert stated_runs(path) == {
        run.run: StatedRun(run.boundary, run.search != "none") for run in header.runs
    }
