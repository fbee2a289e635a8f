"""``Run.surprisal``, ``Run.parse`` and ``Run.perplexity``: the numbers of the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import gardenpath as gp
from gardenpath.data.trees.tree import format_tree
from gardenpath.eval.search.scorer import StructuredScorer
from gardenpath.eval.surprisal.tables import read_surprisals
from gardenpath.store.surprisals import Stored
from gardenpath.store.tables import SEARCH_COLUMN_NAMES
from tests.integration.commands import call
from tests.toy_runs import NARROW_SEARCH, arguments, copied, run_of

MODELS = ("ngram", "lstm", "rnng", "plm")
TEXT = ["the boys knew .", "the zebras that the boys knew hated .", "wug loves the boys ."]
COLUMNS = ["run", "sentence_id", "word_id", "word", "seen_as", "seen", "surprisal_bits"]


@pytest.mark.parametrize("model", MODELS)
def test_one_row_for_each_word(folder: Path, model: str) -> None:
    run = run_of(folder, model)
    table = run.surprisal(TEXT)
    assert list(table.columns)[: len(COLUMNS)] == COLUMNS
    further = list(table.columns)[len(COLUMNS) :]
    assert further == [name for name in SEARCH_COLUMN_NAMES if name in further]
    assert ("best_share" in further) is run.is_syntactic is bool(further)
    assert list(run.surprisal(TEXT, columns="surprisal").columns) == COLUMNS
    words = [[*sentence.split(), "</s>"] for sentence in TEXT]
    assert table["word"].tolist() == [word for one in words for word in one]
    assert table["sentence_id"].tolist() == [n for n, one in enumerate(words, 1) for _ in one]
    assert table["word_id"].tolist() == [n for one in words for n in range(1, len(one) + 1)]
    assert set(table["run"]) == {str(run.path)} and (table["surprisal_bits"] >= 0).all()
    log_probs = run.word_log_probs([sentence.split() for sentence in TEXT])
    expected = [value for one in log_probs for value in one / -0.6931471805599453]
    assert table["surprisal_bits"].tolist() == pytest.approx(expected, abs=1e-9)


def test_ends_may_be_left_out(folder: Path) -> None:
    run = run_of(folder, "ngram")
    whole, without = run.surprisal(TEXT), run.surprisal(TEXT, end=False)
    assert "</s>" not in set(without["word"])
    kept = whole[whole["word"] != "</s>"].reset_index(drop=True)
    pd.testing.assert_frame_equal(without, kept)


def test_unknown_words_are_marked_and_shown_as_the_model_saw_them(folder: Path) -> None:
    table = run_of(folder, "lstm").surprisal(TEXT, end=False)
    unknown = table[~table["seen"]]
    assert unknown["word"].tolist() == ["zebras", "wug", "loves"][: len(unknown)]
    assert {"zebras", "wug"} <= set(unknown["word"])
    assert unknown["seen_as"].str.startswith("<unk").all()
    assert (table[table["seen"]]["seen_as"] == table[table["seen"]]["word"]).all()


@pytest.mark.parametrize(
    "given",
    [
        "the boys knew .",
        ["the boys knew ."],
        [["the", "boys", "knew", "."]],
        gp.parse_tree("(S (NP-SBJ (DT the) (NNS boys)) (VP (VBD knew) (-NONE- *T*)) (. .))"),
        ["(S (NP the boys) (VP knew) .)"],
    ],
)
@pytest.mark.parametrize("model", ["lstm", "rnng"])
def test_every_form_of_a_sentence_gives_the_same_table(
    folder: Path, model: str, given: Any
) -> None:
    run = run_of(folder, model)
    pd.testing.assert_frame_equal(run.surprisal(given), run.surprisal("the boys knew ."))


def test_sentences_are_cleaned_as_the_corpus_of_the_run_was(folder: Path, tmp_path: Path) -> None:
    lower = copied(run_of(folder, "ngram"), tmp_path / "lower", lowercase=True)
    assert lower.surprisal("The boys knew .")["word"][0] == "the"
    assert lower.surprisal("The boys knew .", tokenised=True)["word"][0] == "the"
    run = run_of(folder, "ngram")
    assert run.surprisal("The boys knew .", tokenised=True)["word"][0] == "The"
    # The vocabulary has no capital letters.
    assert run.surprisal("The boys knew.")["word"].tolist()[:4] == ["the", "boys", "knew", "."]


def test_the_table_says_what_was_measured_and_how(folder: Path) -> None:
    run = run_of(folder, "rnng")
    attrs = run.surprisal("the boys knew .").attrs
    assert (attrs["run"], attrs["model"], attrs["corpus"], attrs["seed"]) == (
        str(run.path), "rnng", "toy_english", 1,
    )  # fmt: skip
    assert attrs["unit"] == "bits" and attrs["failures"] == []
    assert attrs["search"]["kind"] == "word_sync" and attrs["search"]["action_beam"] == 10
    assert attrs["vocabulary"] == run.vocabulary.content_hash
    for name in ("Gardenpath", "Python", "torch", "numpy"):
        assert name in attrs["versions"]
    assert run_of(folder, "lstm").surprisal("the boys").attrs["search"] == {"kind": "none"}
    json.dumps(attrs)  # plain values, which any format can keep


def test_the_tables_of_several_runs_are_stacked(folder: Path) -> None:
    runs = gp.find(folder / "runs", search=NARROW_SEARCH)
    table = runs.surprisal(TEXT)
    assert list(table.columns)[: len(COLUMNS)] == COLUMNS
    assert {*table.columns[len(COLUMNS) :]} <= {*SEARCH_COLUMN_NAMES}
    assert list(runs.surprisal(TEXT, columns="surprisal").columns) == COLUMNS
    assert table["run"].unique().tolist() == [str(run.path) for run in runs]
    for run, (_, rows) in zip(runs, table.groupby("run", sort=False), strict=True):
        alone = run.surprisal(TEXT)
        assert rows["surprisal_bits"].tolist() == alone["surprisal_bits"].tolist()
        assert rows["best_share"].notna().all() == run.is_syntactic == ("best_share" in alone)
    assert [one["model"] for one in table.attrs["runs"]] == ["lstm", "ngram", "plm", "rnng"]
    assert table.attrs["unit"] == "bits"


def test_sentences_that_no_hypothesis_survived_are_named(folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, "rnng", store=tmp_path / "kept.sqlite")
    columns = {"best_share": [1.0, *[math.nan] * 4]}
    failed = Stored([-1.0, *[math.nan] * 4], remedy="raise search.max_open", columns=columns)
    assert run.store is not None
    run.store.put(run.model_key, {("the", "boys", "knew", "."): failed})
    table = run.surprisal(["the man knew .", "the boys knew ."])
    undefined = table[table["surprisal_bits"].isna()]
    assert undefined[["sentence_id", "word_id"]].values.tolist() == [[2, n] for n in (2, 3, 4, 5)]
    expected = "sentence:2: no surprisal from word 2 on (raise search.max_open)"
    assert table.attrs["failures"] == [expected]


def test_numbers_are_those_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    """The table of task=surprisal and that of Python, digit for digit."""
    text = tmp_path / "in.txt"
    text.write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    chosen = ("task=surprisal", f"input={text}", f"task.file={tmp_path / 'table.tsv'}")
    other = f"paths.surprisals={tmp_path / 'other.sqlite'}"
    assert call("evaluate.py", *arguments(folder, tmp_path, *chosen, other)) == 0
    rows, header = read_surprisals(tmp_path / "table.tsv")
    table = gp.find(folder / "runs", search=NARROW_SEARCH).surprisal(TEXT)
    assert [repr(row.surprisal_bits) for row in rows] == [
        repr(float(value)) for value in table["surprisal_bits"]
    ]
    for name in ("run", "sentence_id", "word_id", "word", "seen_as", "seen"):
        assert [getattr(row, name) for row in rows] == table[name].tolist()
    assert [run.vocabulary for run in header.runs] == [
        one["vocabulary"] for one in table.attrs["runs"]
    ]


@pytest.mark.parametrize("model", ["rnng", "plm"])
def test_the_best_trees_with_their_shares(folder: Path, model: str) -> None:
    run = run_of(folder, model)
    best = run.parse("the boys knew .", k=3)
    shares = [share for share, _ in best]
    assert 1 < len(best) <= 3 and shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1 + 1e-6
    assert {tree.words() for _, tree in best} == {("the", "boys", "knew", ".")}
    assert all(isinstance(tree, gp.Tree) for _, tree in best)
    (only,) = run.parse("the boys knew .")
    assert only == best[0]
    assert run.parse(["the boys knew ."], k=3) == [best]
    ((share, tree),), _ = run.parse([["the", "boys", "knew", "."], "the man knew ."])
    assert tree == only[1] and share == pytest.approx(only[0])


def test_words_may_be_brackets(folder: Path, tmp_path: Path) -> None:
    run = run_of(folder, "rnng", store=tmp_path / "kept.sqlite")
    for _ in range(2):  # computed, and from the store
        ((_, tree),) = run.parse([["the", "boys", "(", "knew", ")", "."]])[0]
        assert tree.words() == ("the", "boys", "(", "knew", ")", ".")


def test_parses_are_kept_and_those_of_other_numbers_are_not_mixed_up(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.sqlite"
    first = run_of(folder, "rnng", store=kept).parse(TEXT, k=2)
    searched: list[int] = []
    real = StructuredScorer.search

    def count(self: StructuredScorer, sentences: Sequence[Any], **options: Any) -> Any:
        searched.append(len(sentences))
        return real(self, sentences, **options)

    monkeypatch.setattr(StructuredScorer, "search", count)
    again = run_of(folder, "rnng", store=kept)
    assert again.parse(TEXT, k=2) == first and searched == []
    three = again.parse(TEXT, k=3)
    assert searched == [3] and [best[:2] for best in three] == first
    again.surprisal(TEXT)
    assert searched == [3, 3], "surprisals have a key of their own"


def test_sequential_models_have_no_trees(folder: Path) -> None:
    with pytest.raises(gp.RunError, match=r"model=lstm does not generate trees.*rnng or plm"):
        run_of(folder, "lstm").parse("the boys knew .")


def test_trees_are_those_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    other = f"paths.surprisals={tmp_path / 'other.sqlite'}"
    chosen = arguments(folder, tmp_path, "task=parse", f"input={text}", other, model="rnng")
    assert call("evaluate.py", *chosen) == 0
    lines = (tmp_path / "parses" / "toy_english_rnng_seed1.trees").read_text(encoding="utf-8")
    found = run_of(folder, "rnng").parse(TEXT)
    assert lines.splitlines() == [format_tree(best[0][1]) for best in found]


def test_perplexities_are_those_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    chosen = ("task=perplexity", "task.marginal_sentences=5", "task.split=valid")
    other = f"paths.surprisals={tmp_path / 'other.sqlite'}"
    assert call("evaluate.py", *arguments(folder, tmp_path, *chosen, other)) == 0
    expected = pd.read_csv(tmp_path / "perplexity.csv", dtype=str, keep_default_na=False)
    runs = gp.find(folder / "runs", search=NARROW_SEARCH)
    found = runs.perplexity("valid", marginal_sentences=5)
    found.to_csv(tmp_path / "mine.csv", index=False)
    mine = pd.read_csv(tmp_path / "mine.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(mine, expected)


def test_the_perplexity_of_one_run(folder: Path) -> None:
    run = run_of(folder, "lstm")
    table = run.perplexity()
    assert table["model"].tolist() == ["lstm", "exact grammar"]
    kept = run.metrics["test"]["perplexity"]
    assert table["perplexity"][0] == pytest.approx(kept, rel=1e-6)
    rnng = run_of(folder, "rnng").perplexity(marginal_sentences=0)
    assert rnng["model"].tolist() == ["rnng (joint)", "exact grammar"]
