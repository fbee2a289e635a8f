"""Rows of surprisals, what models see, and sentences that a search failed on."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import string
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from gardenpath.data.arrays import Floats
from gardenpath.data.encoding import encode_sentences
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.words.pieces import (
    Subwords,
    SubwordSettings,
    subword_vocabulary,
    train_subwords,
)
from gardenpath.data.words.vocabulary import Vocabulary, build_vocabulary
from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet, read_words
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.surprisal.tables import (
    RunHeader,
    SentenceFailure,
    Setting,
    SurprisalRow,
    TableHeader,
    check_extension,
    failures_of,
    read_surprisals,
    rows_of,
    seen_as,
    write_surprisals,
)
from gardenpath.store.manifest import side_car, write_side_car
from gardenpath.store.tables import SEARCH_COLUMN_NAMES, WORD_SURPRISALS
from tests.data.strategies import words
from tests.eval.suites.suite_samples import cats_suite


def _log2(*bits: float) -> Floats:
    return -np.array(bits) * math.log(2)


def test_rows_by_hand() -> None:
    rows = rows_of(
        "r", [["the", "cat"], ["a"]], [_log2(1, 2.5, 0), _log2(3, 4)], [["the", "<unk-lc>"], ["a"]]
    )
    found = [(r.run, r.sentence_id, r.word_id, r.word, r.seen_as, r.surprisal_bits) for r in rows]
    assert found == [
        ("r", 1, 1, "the", "the", pytest.approx(1.0)),
        ("r", 1, 2, "cat", "<unk-lc>", pytest.approx(2.5)),
        ("r", 1, 3, "</s>", "</s>", 0.0),
        ("r", 2, 1, "a", "a", pytest.approx(3.0)),
        ("r", 2, 2, "</s>", "</s>", pytest.approx(4.0)),
    ]
    assert [row.seen for row in rows] == [True, False, True, True, True]
    assert math.copysign(1, rows[2].surprisal_bits) == 1


def test_ends_are_left_out_by_option() -> None:
    sentences = [["</s>", "b"], ["c"]]
    scores = [_log2(1, 2, 9), _log2(3, 9)]
    rows = rows_of("r", sentences, scores, sentences, end=False)
    assert [row.word for row in rows] == ["</s>", "b", "c"]
    assert [row.surprisal_bits for row in rows] == pytest.approx([1, 2, 3])


def test_impossible_and_undefined_words_have_rows() -> None:
    scores = np.array([-math.inf, math.nan, math.nan])
    first, second, end = rows_of("r", [["a", "b"]], [scores], [["a", "b"]])
    assert first.surprisal_bits == math.inf
    assert math.isnan(second.surprisal_bits) and math.isnan(end.surprisal_bits)


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0]])
def test_scores_of_other_lengths_are_refused(scores: list[float]) -> None:
    with pytest.raises(ValueError):
        rows_of("r", [["a"]], [np.array(scores)], [["a"]])


@pytest.mark.parametrize(
    ("view", "seen"),
    [("cat", True), ("<unk>", False), ("<unk-lc-s>", False), ("▁c at", True),
     ("▁c <unk>", False), ("UNK", True), ("<unknown>", True)],
)  # fmt: skip
def test_what_counts_as_seen(view: str, seen: bool) -> None:
    row = SurprisalRow(run="", sentence_id=1, word_id=1, word="x", seen_as=view, surprisal_bits=0.0)
    assert row.seen is seen


def _words() -> Vocabulary:
    counts = {("the", True): 5, ("cat", False): 4, ("Xyzzy", True): 1, ("dogs", False): 1}
    return build_vocabulary(counts, labels=(), language="en", min_count=2)


def _pieces() -> tuple[Subwords, Vocabulary]:
    text = ["the hungry cat meows", "the cats meow", "hungry cats"] * 5
    subwords = train_subwords(text, SubwordSettings(algorithm="bpe", pieces=25))
    return subwords, subword_vocabulary(subwords, {}, labels=(), language="en")


def test_unknown_words_are_seen_as_their_class() -> None:
    assert seen_as(["the", "cat", "cats", "<unk>"], _words()) == (
        "the",
        "cat",
        "<unk-lc-s>",
        "<unk>",
    )


@given(
    st.lists(st.sampled_from(["the", "The", "cat", "Zs", "dogs", "7", "，", "</s>"]), max_size=5)
)
def test_what_is_shown_is_what_is_encoded(words: list[str]) -> None:
    vocabulary = _words()
    assert [vocabulary.ids[view] for view in seen_as(words, vocabulary)] == vocabulary.encode(words)


def test_pieces_are_shown_as_they_are_encoded() -> None:
    subwords, vocabulary = _pieces()
    words = ["the", "meow", "hung猫", "猫"]
    views = seen_as(words, vocabulary, subwords)
    split = encode_sentences([words], vocabulary, subwords)
    shown = [vocabulary.ids[piece] for view in views for piece in view.split(" ")]
    assert shown == split.tokens.tolist()
    assert [view.count(" ") + 1 for view in views] == np.diff(split.word_starts(0)).tolist()
    rows = rows_of("r", [words], [np.zeros(5)], [views], end=False)
    assert [row.seen for row in rows] == [True, True, False, False]


def test_failures_are_named_by_place_and_remedy() -> None:
    sentences = [Sentence(("the", name), Source("in.txt", 2 * n)) for n, name in enumerate("abcd")]
    right = _log2(1, 2, 3)
    undefined = np.array([-1.0, math.nan, math.nan])
    log_probs = [right, right, undefined, right]
    found = failures_of(sentences, log_probs, {0: "", 2: "raise search.max_open"})
    expected = SentenceFailure(
        sentence_id=3, place="in.txt:4", word_id=2, remedy="raise search.max_open"
    )
    assert found == (expected,)
    assert str(expected) == "in.txt:4: no surprisal from word 2 on (raise search.max_open)"


def test_words_after_an_impossible_one_are_reported_without_remedy() -> None:
    sentence = Sentence(("a", "b"), Source("in.txt", 1))
    (failure,) = failures_of([sentence], [np.array([-math.inf, -1.0, math.nan])], {})
    assert (failure.word_id, failure.remedy) == (3, "")


# ----------------------------------------------------------------------------
# Tables of surprisals come back from all formats, and their TSV is read by others.


EXTENSIONS = (".tsv", ".csv", ".jsonl", ".parquet")

FAILURE = SentenceFailure(sentence_id=1, place="in.txt:7", word_id=2, remedy="raise x")
HEADER = TableHeader(
    runs=(
        RunHeader(run="toy/lstm/seed1", model="lstm", vocabulary="0123456789abcdef"),
        RunHeader(
            run="toy/rnng/seed1",
            model="rnng",
            vocabulary="1234567890123456",
            search="word_sync",
            settings={"action_beam": 100, "marginal": "survivors", "fixed_shapes": None},
            failures=(FAILURE,),
            boundary="next",
        ),
    )
)


def _row(
    word: str, surprisal: float, *, seen_as: str | None = None, word_id: int = 1
) -> SurprisalRow:
    return SurprisalRow(
        run="toy/lstm/seed1", sentence_id=1, word_id=word_id, word=word,
        seen_as=word if seen_as is None else seen_as, surprisal_bits=surprisal,
    )  # fmt: skip


ROWS = [
    _row("The", 2.5),
    _row("no", 0.1, word_id=2),
    _row('"', math.inf, seen_as="<unk-punct>", word_id=3),
    _row("</s>", math.nan, word_id=4),
]


# A run with a search and one without, and a word that the search did not reach.
SEARCHED = [
    *ROWS,
    *(
        replace(
            row,
            run="toy/rnng/seed1",
            columns={"surprisal_se": 0.125 * n, "best_share": math.nan if n == 4 else 0.1 * n},
        )
        for n, row in enumerate(ROWS, start=1)
    ),
]


def _same(found: Sequence[SurprisalRow], expected: Sequence[SurprisalRow]) -> bool:
    """Equal to the last bit, NaN included."""
    return list(map(repr, found)) == list(map(repr, expected))


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_table_comes_back(tmp_path: Path, extension: str) -> None:
    path = tmp_path / "new" / f"table{extension}"
    write_surprisals(path, ROWS, HEADER)
    rows, header = read_surprisals(path)
    assert _same(rows, ROWS) and header == HEADER
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name, side_car(path).name]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_columns_of_the_input_come_back(tmp_path: Path, extension: str) -> None:
    given = [{"item": "1", "condition": "a,b"}, {"item": "2", "condition": ""}]
    rows = [replace(row, given=given[n % 2]) for n, row in enumerate(SEARCHED)]
    write_surprisals(tmp_path / f"table{extension}", rows, HEADER)
    found, _ = read_surprisals(tmp_path / f"table{extension}")
    assert _same(found, rows)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_columns_of_a_search_come_back(tmp_path: Path, extension: str) -> None:
    """They are empty for runs without a search, and not the same as undefined numbers."""
    path = tmp_path / f"table{extension}"
    write_surprisals(path, SEARCHED, HEADER)
    rows, header = read_surprisals(path)
    assert _same(rows, SEARCHED) and header == HEADER
    assert [list(row.columns) for row in rows] == [[]] * 4 + [["surprisal_se", "best_share"]] * 4


def test_the_columns_of_a_search_are_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "surprisal.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert [name for name in rows if name in SEARCH_COLUMN_NAMES] == list(SEARCH_COLUMN_NAMES)


def test_other_programs_read_the_columns_of_a_search(tmp_path: Path) -> None:
    for extension in EXTENSIONS:
        write_surprisals(tmp_path / f"table{extension}", SEARCHED, HEADER)
    plain = {"quoting": csv.QUOTE_NONE, "sep": "\t", "keep_default_na": False}
    missing = {name: ["NaN", ""] for name in ("surprisal_bits", *SEARCH_COLUMN_NAMES)}
    frames = [
        pd.read_csv(tmp_path / "table.tsv", na_values=missing, **plain),
        pd.read_csv(tmp_path / "table.csv"),
        pd.read_json(tmp_path / "table.jsonl", lines=True),
        pd.read_parquet(tmp_path / "table.parquet"),
    ]
    for frame in frames:
        assert list(frame.columns) == [*WORD_SURPRISALS.names, "surprisal_se", "best_share"]
        expected = [math.nan] * 4 + [0.125, 0.25, 0.375, 0.5]
        assert frame["surprisal_se"].tolist() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_empty_table_comes_back(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"table{extension}"
    header = TableHeader(runs=(), end_of_sentence="none")
    write_surprisals(path, [], header)
    assert read_surprisals(path) == ([], header)


# Cs: halves of characters, which no file can hold.
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_awkward = st.sampled_from(["", "1", "true", "null", "NaN", '"', ": ", " x ", "# run: y", "a\nb"])
_strings = st.one_of(_texts, _awkward)
_names = st.one_of(words(), st.sampled_from(["#", "nan", "NA", "1", "a b", "runs/猫"]))


def _rows() -> SearchStrategy[SurprisalRow]:
    return st.builds(
        SurprisalRow,
        run=st.one_of(st.just(""), _names),
        sentence_id=st.integers(1, 2**40),
        word_id=st.integers(1, 300),
        word=words(),
        seen_as=st.lists(words(), min_size=1, max_size=3).map(" ".join),
        surprisal_bits=st.floats(),
        columns=st.dictionaries(st.sampled_from(SEARCH_COLUMN_NAMES), st.floats()).map(_in_order),
    )


def _in_order(columns: dict[str, float]) -> dict[str, float]:
    return {name: columns[name] for name in SEARCH_COLUMN_NAMES if name in columns}


def _headers() -> SearchStrategy[TableHeader]:
    ids = st.integers(1, 10**6)
    failure = st.builds(
        SentenceFailure, sentence_id=ids, place=_strings, word_id=ids, remedy=_strings
    )
    settings: SearchStrategy[Setting] = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), _strings
    )
    keys = st.text(string.ascii_lowercase + "_", min_size=1)
    run = st.builds(
        RunHeader,
        run=_strings,
        model=_strings,
        vocabulary=_strings,
        search=_strings,
        settings=st.dictionaries(keys, settings, max_size=4),
        failures=st.lists(failure, max_size=2).map(tuple),
        boundary=st.sampled_from([None, "none", "next", "leading"]),
    )
    return st.builds(
        TableHeader,
        runs=st.lists(run, max_size=3).map(tuple),
        end_of_sentence=st.sampled_from(["row", "none"]),
    )


@pytest.mark.parametrize("extension", EXTENSIONS)
@given(rows=st.lists(_rows(), max_size=5), header=_headers())
def test_any_table_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    extension: str,
    rows: list[SurprisalRow],
    header: TableHeader,
) -> None:
    path = tmp_path_factory.mktemp("table") / f"table{extension}"
    write_surprisals(path, rows, header)
    found, found_header = read_surprisals(path)
    assert _same(found, rows) and found_header == header


def test_the_tsv_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    write_surprisals(path, ROWS[2:], HEADER)
    assert path.read_text(encoding="utf-8").splitlines() == [
        "run\tsentence_id\tword_id\tword\tseen\tseen_as\tsurprisal_bits",
        'toy/lstm/seed1\t1\t3\t"\tFALSE\t<unk-punct>\tInf',
        "toy/lstm/seed1\t1\t4\t</s>\tTRUE\t</s>\tNaN",
    ]


def test_pandas_reads_the_tsv(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    words_of_pandas = [_row("NA", 1.5), _row("null", math.inf), *ROWS]
    write_surprisals(path, words_of_pandas, TableHeader(runs=HEADER.runs[:1]))
    frame = pd.read_csv(
        path,
        sep="\t",
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
        na_values={"surprisal_bits": ["NaN"]},
    )
    assert frame["word"].tolist() == ["NA", "null", "The", "no", '"', "</s>"]
    expected = [1.5, math.inf, 2.5, 0.1, math.inf, math.nan]
    assert frame["surprisal_bits"].tolist() == pytest.approx(expected, nan_ok=True)


def test_json_lines_are_json(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    write_surprisals(path, ROWS, HEADER)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    records = [
        json.loads(line, parse_constant=refuse)
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert [list(record) for record in records] == [list(WORD_SURPRISALS.names)] * 4
    assert [record["surprisal_bits"] for record in records] == [2.5, 0.1, "Infinity", None]
    assert [record["seen"] for record in records] == [True, True, False, True]
    meta = json.loads(side_car(path).read_text(encoding="utf-8"))
    assert meta["unit"] == "bits" and meta["runs"][1]["settings"]["action_beam"] == 100


def test_parquet_has_types(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    write_surprisals(path, ROWS, HEADER)
    frame = pd.read_parquet(path)
    assert list(frame.columns) == list(WORD_SURPRISALS.names)
    assert frame["seen"].dtype == bool and frame["surprisal_bits"].dtype == "float64"
    assert frame["word_id"].tolist() == [1, 2, 3, 4]


def test_the_importer_reads_our_tsv(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    other = [replace(row, run="toy/rnng/seed1") for row in ROWS]
    write_surprisals(path, [*ROWS, *other], HEADER)
    table = read_words(path, PairingRules(), {})
    assert (table.is_own, table.unit.unit) == (True, "bits")
    assert [run.run for run in table.runs] == ["toy/lstm/seed1", "toy/rnng/seed1"]
    (first,) = table.runs[0].sentences
    assert first.tokens == ("The", "no", '"', "</s>") and first.unseen == {'"'}
    values = first.values
    assert values[:3] == (2.5, 0.1, math.inf) and math.isnan(values[3])


@pytest.mark.parametrize("is_searched", [False, True])
def test_suites_are_rescored_from_our_tsv(tmp_path: Path, is_searched: bool) -> None:
    suite = cats_suite(items=2, name="cats")
    sentences = suite.sentences
    nouns = (1, 2, 4, 3)
    scores = [-math.log(2) * pd.Series([1, 2, noun, 3, 7]).to_numpy() for noun in nouns]
    views = [[word if word != "猫2" else "<unk-len2>" for word in s] for s in sentences]
    # Names such as word_bits and surprisal_se must not be taken for the surprisal.
    columns = [{name: [9.0] * 5 for name in SEARCH_COLUMN_NAMES} for _ in sentences]
    found = columns if is_searched else None
    rows = rows_of("lstm_seed3", sentences, scores, views, columns=found)
    write_surprisals(tmp_path / "cats.tsv", rows, HEADER)
    (run,) = import_tables([suite], [SurprisalSet(tmp_path)], PairingRules()).runs
    assert (run.name.run, run.name.model) == ("lstm_seed3", "lstm") and run.unknown == {"猫2"}
    assert [row[2] for row in run.rows] == pytest.approx(nouns)


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.tsv.gz"])
def test_other_extensions_are_refused(tmp_path: Path, name: str) -> None:
    for action in (
        lambda: check_extension(tmp_path / name),
        lambda: write_surprisals(tmp_path / name, ROWS, HEADER),
        lambda: read_surprisals(tmp_path / name),
    ):
        with pytest.raises(InputError, match=r"choose one of \.tsv, \.csv, \.jsonl, \.parquet"):
            action()
    assert list(tmp_path.iterdir()) == []
    assert check_extension(Path("A.TSV")) == ".tsv"


def test_words_that_would_break_the_table(tmp_path: Path) -> None:
    for word in ("a\tb", "a\n", "a\r"):
        with pytest.raises(InputError, match=r"contains a tab or a line break"):
            write_surprisals(tmp_path / "table.tsv", [*ROWS, _row(word, 1.0)], HEADER)
    assert list(tmp_path.iterdir()) == []
    write_surprisals(tmp_path / "table.jsonl", [_row("a\n\tb", 1.0)], HEADER)
    assert read_surprisals(tmp_path / "table.jsonl")[0][0].word == "a\n\tb"


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_failure_leaves_the_old_table(
    tmp_path: Path, extension: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"table{extension}"
    write_surprisals(path, ROWS, HEADER)

    def fail(self: Path, target: Path) -> None:
        if target == path:
            raise OSError("disk is full")
        Path(self).rename(target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk is full"):
        write_surprisals(path, ROWS[:1], HEADER)
    assert _same(read_surprisals(path)[0], ROWS)


@pytest.mark.parametrize("extension", [".jsonl", ".parquet"])
def test_a_table_without_its_side_car(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"table{extension}"
    write_surprisals(path, ROWS, HEADER)
    side_car(path).unlink()
    with pytest.raises(InputError, match="keep the table and its header file"):
        read_surprisals(path)
    for text, message in (
        ('{"unit": "nats"}', "unknown unit"),
        ("{}", "has no valid header of a surprisal table: 'unit'"),
        ('{"unit": "bits", "end_of_sentence": "row", "runs": [{}]}', "has no valid header"),
    ):
        write_side_car(path, json.loads(text))
        with pytest.raises(InputError, match=message):
            read_surprisals(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t2.5", "\ttwo", r":2: is not a row"),
        ("\tseen_as", "\tview", "the header has no column seen_as"),
    ],
)
def test_mistakes_in_a_tsv(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "table.tsv"
    write_surprisals(path, ROWS, HEADER)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_surprisals(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [("word", "the header is not run"), ("best_share,", "8 columns, but the header has 9|10")],
)
def test_wrong_columns_of_a_csv_are_refused(tmp_path: Path, name: str, message: str) -> None:
    path = tmp_path / "table.csv"
    write_surprisals(path, SEARCHED, HEADER)
    path.write_text(path.read_text().replace("best_share", name, 1))
    with pytest.raises(InputError, match=message):
        read_surprisals(path)


@pytest.mark.parametrize("extension", [".tsv", ".csv", ".jsonl"])
def test_numbers_of_a_search_that_are_none(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"table{extension}"
    write_surprisals(path, SEARCHED, HEADER)
    text = path.read_text().replace("0.375", '"x"' if extension == ".jsonl" else "x", 1)
    path.write_text(text)
    with pytest.raises(InputError, match=r"is not a row of surprisals"):
        read_surprisals(path)


@pytest.mark.parametrize("line", ["{", "[1]", "{}", '{"surprisal_bits": "x"}'])
def test_mistakes_in_json_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "table.jsonl"
    write_surprisals(path, ROWS, HEADER)
    path.write_text(f"{path.read_text()}\n{line}\n")
    with pytest.raises(InputError, match=r"table\.jsonl:6: is no"):
        read_surprisals(path)


def test_mistakes_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    for write in (
        lambda: None,
        lambda: path.write_text("no Parquet"),
        lambda: pd.DataFrame({"run": ["a"]}).to_parquet(path),
        lambda: pd.DataFrame({name: ["x"] for name in WORD_SURPRISALS.names}).to_parquet(path),
    ):
        write()
        with pytest.raises(InputError, match="is not a Parquet table of surprisals"):
            read_surprisals(path)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("replacements", [0, 1, 2, 3])
def test_a_kill_leaves_a_table_with_its_own_header(
    tmp_path: Path, extension: str, replacements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two jobs write one after another; the second is killed after each of its renames, twice."""
    path = tmp_path / f"table{extension}"
    other = replace(HEADER, end_of_sentence="none", skipped=("another job",))
    expected = [(ROWS, HEADER), (ROWS[:1], other)]
    write_surprisals(path, *expected[0])
    for _ in range(2):
        left = [replacements]

        def kill(self: Path, target: Path, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            self.rename(target)

        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            patch.setattr(Path, "replace", kill)
            write_surprisals(path, *expected[1])
        rows, header = read_surprisals(path)
        assert any(_same(rows, one) and header == known for one, known in expected)


@pytest.mark.parametrize("extension", [".jsonl", ".parquet"])
def test_a_header_of_another_table(tmp_path: Path, extension: str) -> None:
    path, other = tmp_path / f"table{extension}", tmp_path / f"other{extension}"
    write_surprisals(path, ROWS, HEADER)
    write_surprisals(other, ROWS[:1], HEADER)
    side_car(other).replace(side_car(path))
    with pytest.raises(InputError, match=r"header and table differ \(checksum\)"):
        read_surprisals(path)
