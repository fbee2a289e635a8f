"""``task=parse``: trees, how good they are, and how sure the search is."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pandas as pd
import pytest

from gardenpath.data.trees.tree import parse_tree
from gardenpath.errors import RunError
from gardenpath.runs.run import Run
from gardenpath.store.manifest import read_results_manifest
from tests.toy_runs import copied, evaluate, run_of


def _trees(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_trees_and_their_scores(folder: Path, tmp_path: Path) -> None:
    evaluate(folder, tmp_path, "task=parse", "task.sentences=6")
    scores = pd.read_csv(tmp_path / "parses" / "f1.csv").set_index("run")
    corpus = run_of(folder, "rnng").settings.data.preparation()
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
        with run.folder.config_path.open("a", encoding="utf-8") as file:
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

    monkeypatch.setattr(Run, "network", refuse)
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
