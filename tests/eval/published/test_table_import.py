"""Tables of any form are scored against any suites."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, SurprisalSet
from gardenpath.eval.published.importing import Imported, run_name
from gardenpath.eval.published.tables import import_tables
from gardenpath.eval.suites.library import load_suites
from gardenpath.eval.suites.outcomes import EXACT_TIES
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName, ScoredItems
from gardenpath.runs.suite_tables import suite_tables
from tests.eval.suites.samples import cats_suite

SUITE = cats_suite(items=2, name="cats")
# Surprisals of the words of the four sentences.
ROWS = ((1.0, 2.0, 5.0, 4.0), (1.0, 3.0, 6.0, 2.0), (1.0, 2.0, 7.0, 3.0), (1.0, 3.0, 4.0, 1.0))
BITS = PairingRules(unit="bits")


def _import(
    path: Path,
    rules: PairingRules = BITS,
    suites: Sequence[Suite] = (SUITE,),
    **columns: str,
) -> Imported:
    return import_tables(suites, [SurprisalSet(path)], rules, columns=columns)


def _sentences(suite: Suite = SUITE) -> list[tuple[int, str, tuple[str, ...]]]:
    return [(item.number, v.condition, v.words) for item in suite.items for v in item.variants]


Cells = Callable[[int, int, str, float, int, str], Sequence[object]]


def _table(path: Path, header: str, cells: Cells, separator: str = ",") -> Path:
    """Write a row for every word: of sentence, word_id, word, value, item and condition."""
    lines = [header]
    for number, ((item, condition, words), row) in enumerate(
        zip(_sentences(), ROWS, strict=True), start=1
    ):
        for place, (word, value) in enumerate(zip(words, row, strict=True), start=1):
            found = cells(number, place, word, value, item, condition)
            lines.append(separator.join(map(str, found)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return path


FORMS: dict[str, tuple[str, str, Cells]] = {
    "SyntaxGym's table": (
        "sentence_id\ttoken_id\ttoken\tsurprisal",
        "\t",
        lambda s, n, word, value, *_: (s, n, word, value),
    ),
    "item and condition": (
        "item,condition,word,surprisal",
        ",",
        lambda _s, _n, word, value, item, condition: (item, condition, word, value),
    ),
    "words with regions, quoted": (
        '"item";"condition";"region";"word";"surprisal"',
        ";",
        lambda _s, n, word, value, item, condition: (
            item, f'"{condition}"', "x" if n < 3 else "y", f'"{word}"', value,
        ),
    ),
    "several suites": (
        "suite,sentence_id,word,surprisal",
        ",",
        lambda s, _n, word, value, *_: ("cats", s, word, value),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_tables(tmp_path: Path, form: str) -> None:
    header, separator, cells = FORMS[form]
    path = _table(tmp_path / "gpt2.csv", header, cells, separator)
    (run,) = _import(path).runs
    assert run.rows == ROWS
    assert (run.name.model, run.name.seed) == ("gpt2", None)
    with pytest.raises(InputError, match="the unit of column 'surprisal' is not known"):
        _import(path, PairingRules())


def test_rows_of_items_in_any_order(tmp_path: Path) -> None:
    """Sentences are found by item and condition, and then compared."""
    header, separator, cells = FORMS["item and condition"]
    path = _table(tmp_path / "gpt2.csv", header, cells, separator)
    first, *lines = path.read_text(encoding="utf-8-sig").strip().split("\n")
    groups = [lines[n : n + 4] for n in range(0, 16, 4)]
    turned = [line for group in reversed(groups) for line in group]
    path.write_text("\n".join([first, *turned]) + "\n", encoding="utf-8")
    assert _import(path).runs[0].rows == ROWS
    swapped = [
        line.replace(",match,", ",x,").replace(",mismatch,", ",match,").replace(",x,", ",mismatch,")
        for line in lines
    ]
    path.write_text("\n".join([first, *swapped]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="4 sentences misplaced"):
        _import(path)
    path.write_text("\n".join([first, *lines[4:]]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no sentence of item 1, condition match of suite cats"):
        _import(path)
    extra = [line.replace("2,", "3,", 1) for line in groups[3]]
    path.write_text("\n".join([first, *lines, *extra]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"has 5 sentences, but .* 4, such as item 3"):
        _import(path)


def test_own_names_of_columns(tmp_path: Path) -> None:
    path = _table(
        tmp_path / "gpt2.csv", "nr,tok_text,sp", lambda s, _n, word, value, *_: (s, word, value)
    )
    found = _import(path, sentence="nr", word="tok_text", surprisal="sp")
    assert found.runs[0].rows == ROWS
    with pytest.raises(
        InputError,
        match=r"no column for the surprisal.*: NAME}'; its columns: nr, tok_text, sp",
    ):
        _import(path)
    with pytest.raises(InputError, match=r"has no column 'x'.*its columns: nr, tok_text, sp"):
        _import(path, surprisal="x")
    with pytest.raises(InputError, match=r"columns: 'token' is unknown.*known: word, surprisal"):
        _import(path, token="tok_text")


@pytest.mark.parametrize("is_ended", [False, True])
def test_two_columns_without_header(tmp_path: Path, is_ended: bool) -> None:
    lines = []
    for (_, _, words), row in zip(_sentences(), ROWS, strict=True):
        lines += [f"{word}\t{value}" for word, value in zip(words, row, strict=True)]
        lines += ["<eos>\t0.0"] if is_ended else []
    path = tmp_path / "gpt2.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert _import(path).runs[0].rows == ROWS
    path.write_text("\n".join(lines[:-2]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"words, but the materials have|of another length"):
        _import(path)


def test_numbers_without_words_need_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.txt"
    values = [value for row in ROWS for value in row]
    path.write_text("".join(f"{value}\n" for value in values), encoding="utf-8")
    with pytest.raises(InputError, match=r"numbers without words.*words=false"):
        _import(path)
    found = _import(path, PairingRules(unit="bits", words=False))
    assert found.runs[0].rows == ROWS
    assert found.receipt.surprisals[0].pairing == "order of sentences, without words"
    path.write_text("".join(f"{value}\n" for value in values[1:]), encoding="utf-8")
    with pytest.raises(InputError, match="has 15 words, but the materials have 16"):
        _import(path, PairingRules(unit="bits", words=False))


@pytest.mark.parametrize(
    ("column", "unit", "factor"),
    [
        ("surprisal_nats", None, math.log(2)),
        ("surprisal", "nats", math.log(2)),
        ("logprob", "log_prob_log10", -math.log10(2)),
    ],
)
def test_units(tmp_path: Path, column: str, unit: str | None, factor: float) -> None:
    header = f"sentence_id,word,{column}"
    path = _table(
        tmp_path / "m.csv", header, lambda s, _n, word, value, *_: (s, word, value * factor)
    )
    (run,) = _import(path, PairingRules(unit=unit)).runs  # type: ignore[arg-type]
    assert [value for row in run.rows for value in row] == pytest.approx(
        [value for row in ROWS for value in row]
    )


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("surprisal_bits", "nats"),
        ("surprisal", "log_prob_nats"),
        ("logprob", "bits"),
        ("surprisal_nats", "bits"),
    ],
)
def test_units_may_not_contradict_the_column(tmp_path: Path, column: str, unit: str) -> None:
    path = _table(
        tmp_path / "m.csv", f"sentence_id,word,{column}", lambda s, _n, w, v, *_: (s, w, v)
    )
    with pytest.raises(InputError, match=f"unit={unit} contradicts the name of the column"):
        _import(path, PairingRules(unit=unit))  # type: ignore[arg-type]


def _write_own(path: Path, suite: Suite, nouns: Sequence[float], *, run: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["# bits", "run\tsentence_id\tword_id\tword\tseen\tsurprisal_bits"]
    for number, words in enumerate(suite.sentences, start=1):
        values = (0.0, 2.0, nouns[number - 1], 3.0)
        for place, (word, value) in enumerate(zip(words, values, strict=True), start=1):
            lines.append(f"{run}\t{number}\t{place}\t{word}\t{int(word != '猫2')}\t{value}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_tables_of_our_own_layout(tmp_path: Path) -> None:
    suite, other = cats_suite(items=2, name="zh/cats"), cats_suite(items=1, name="dogs")
    _write_own(tmp_path / "lstm" / "seed1" / "zh_cats.tsv", suite, [1, 2, 4, 3])
    _write_own(tmp_path / "lstm" / "seed5" / "zh" / "cats.tsv", suite, [1, 2, 4, 4])
    _write_own(tmp_path / "dogs.tsv", other, [1, math.inf], run="rnng_seed0")
    found = _import(tmp_path, PairingRules(), [suite, other])
    rows = {(one.name.model, one.name.seed): [row[2] for row in one.rows] for one in found.runs}
    assert rows == {
        ("lstm", 1): [1, 2, 4, 3],
        ("lstm", 2): [1, 2, 4, 4],
        ("rnng", 1): [1, math.inf],
    }
    lstm = next(one for one in found.runs if one.name.model == "lstm")
    assert lstm.unknown == {"猫2"}
    # Zeros of our own tables are certain words.
    assert lstm.rows[0][0] == 0
    (path,) = tmp_path.glob("dogs.tsv")
    path.write_text(path.read_text(encoding="utf-8").replace("\t1\t一", "\t2\t一"), "utf-8")
    with pytest.raises(InputError, match="word_id is '2' after '2'"):
        _import(tmp_path, PairingRules(), [suite, other])


def test_one_table_of_several_runs_and_suites(tmp_path: Path) -> None:
    dogs = cats_suite(items=1, name="zh/dogs")
    lines = ["model,seed,corpus,suite,item,condition,word,surprisal"]
    for model, seed in (("lstm", 7), ("lstm", 9), ("gpt", "")):
        for suite in (SUITE, dogs):
            for (item, condition, words), row in zip(_sentences(suite), ROWS, strict=False):
                start = f"{model},{seed},ctb,{suite.name.replace('/', '_')},{item},{condition}"
                lines += [f"{start},{w},{v}" for w, v in zip(words, row, strict=True)]
    lines.append("lstm,7,ctb,other,1,match,一,1.0")
    path = tmp_path / "all.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = _import(path, suites=[SUITE, dogs])
    names = {(one.name.run, one.name.model, one.name.corpus, one.name.seed) for one in found.runs}
    assert names == {
        ("lstm/seed7", "lstm", "ctb", 1),
        ("lstm/seed9", "lstm", "ctb", 2),
        ("gpt", "gpt", "ctb", None),
    }
    assert {one.suite.name for one in found.runs} == {"cats", "zh/dogs"}
    assert any("other" in note for note in found.notes)
    assert any("lstm/seed7 and lstm/seed9 have the same surprisals" in n for n in found.notes)


def test_suites_one_after_the_other(tmp_path: Path) -> None:
    dogs = cats_suite(items=1, name="dogs")
    lines = []
    for suite in (SUITE, dogs):
        for (_, _, words), row in zip(_sentences(suite), ROWS, strict=False):
            lines += [f"{w} {v}" for w, v in zip(words, row, strict=True)] + ["<eos> 0"]
    path = tmp_path / "gpt2.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = _import(path, suites=[SUITE, dogs])
    assert {one.suite.name: one.rows for one in found.runs} == {"cats": ROWS, "dogs": ROWS[:2]}
    assert found.receipt.surprisals[0].pairing == "order of suites and sentences"


def test_a_table_of_items_and_surprisals_ordered_by_condition(tmp_path: Path) -> None:
    """Items are numbered within conditions, and the rows of two models alternate."""
    lines = ["nr,pos,cond,region,word,model,surprisal"]
    for condition in ("match", "mismatch"):
        for number, (item, own, words) in enumerate(_sentences()):
            if own != condition:
                continue
            for place, (word, value) in enumerate(zip(words, ROWS[number], strict=True)):
                region = ("classifier", "classifier", "noun", "end")[place]
                start = f"{item},{place},{condition},{region},{word}"
                lines += [f"{start},a,{value}", f"{start},b,{value + 1}"]
    table = tmp_path / "words.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    description = tmp_path / "mine.yaml"
    description.write_text(
        "name: cats\nlanguage: zh\nspaced: false\ntable: words.csv\n"
        "columns: {item: nr, condition: cond}\nonly: {model: a}\n"
        "predictions: {fits: (noun;%mismatch%) > (noun;%match%)}\n",
        encoding="utf-8",
    )
    (suite,) = load_suites(str(description))
    assert suite.sentences == SUITE.sentences
    found = _import(table, suites=[suite], word_id="pos")
    rows = {run.name.model: run.rows for run in found.runs}
    assert rows["a"] == ROWS and rows["b"][0] == tuple(value + 1 for value in ROWS[0])
    # A file of tokens alone is in the order of the rows of the table.
    path = tmp_path / "gpt2.txt"
    ordered = [0, 2, 1, 3]
    tokens = [
        f"{word} {value}"
        for n in ordered
        for word, value in zip(_sentences()[n][2], ROWS[n], strict=True)
    ]
    path.write_text("\n".join(tokens) + "\n", encoding="utf-8")
    assert _import(path, suites=[suite]).runs[0].rows == ROWS


def test_whole_sentences_without_first_words_are_undefined(tmp_path: Path) -> None:
    suite = cats_suite({"whole": "(*;%mismatch%) > (*;%match%)"}, items=2)
    header, separator, cells = FORMS["SyntaxGym's table"]
    path = _table(
        tmp_path / "m.tsv",
        header,
        lambda s, n, word, value, *more: cells(s, n, word, value * (n > 1), *more),
        separator,
    )
    found = _import(path, suites=[suite])
    assert all(math.isnan(row[0]) for row in found.runs[0].rows)
    assert any("comparisons of whole sentences are undefined" in note for note in found.notes)
    tables = suite_tables([], [], imported=found.runs, ties=EXACT_TIES)
    assert tables.items["outcome"].isna().all()
    (shown,) = ScoredItems(items=tables.items).tables()
    assert [column.header for column in shown.columns] == ["class", "m"]


def test_every_distinct_sentence_once(tmp_path: Path) -> None:
    item = SUITE.items[0]
    doubled = cats_suite(items=1, name="cats")
    twice = Suite(**{
        **{name: getattr(doubled, name) for name in doubled.__dataclass_fields__},
        "items": (type(item)(1, (*item.variants, *item.variants)),),
    })  # fmt: skip
    path = tmp_path / "m.csv"
    lines = ["sentence_id,word,surprisal_bits"]
    for number, (words, row) in enumerate(zip(twice.sentences, ROWS[:2], strict=True)):
        lines += [f"{number},{w},{v}" for w, v in zip(words, row, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert _import(path, PairingRules(), [twice]).runs[0].rows == (*ROWS[:2], *ROWS[:2])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("sentence_id,word,surprisal\n1,a\n", ":2: 2 columns, but the header has 3"),
        ("sentence_id,word,word\n", "has two columns 'word'"),
        ("sentence_id,surprisal\n1,2\n", "no column for the word.*words=false"),
        ("sentence_id,word,surprisal\n1,a,1\n2,b,1\n1,c,1\n", "not together, or .* twice"),
        ("sentence_id,word,surprisal,seen\n1,a,1,maybe\n", ":2: seen is 'maybe'"),
    ],
)
def test_mistakes_in_tables_are_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "m.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        _import(path)


def test_folders_without_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no surprisals for these suites"):
        _import(tmp_path)
    with pytest.raises(InputError, match="is not a folder or a table"):
        _import(tmp_path / "absent")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("lstm_outputs/trial1", RunName(run="lstm_outputs/trial1", model="lstm", seed=1)),
        ("rnng", RunName(run="rnng", model="rnng")),
        ("lstm_seed-12", RunName(run="lstm_seed-12", model="lstm", seed=12)),
        ("gpt2", RunName(run="gpt2", model="gpt2")),
        ("ctb/lstm/seed3", RunName(run="ctb/lstm/seed3", model="ctb/lstm", seed=3)),
        ("trial2", RunName(run="trial2", model="surprisals", seed=2)),
        ("", RunName(run="surprisals", model="surprisals")),
    ],
)
def test_folders_name_runs(path: str, expected: RunName) -> None:
    root = Path("/data/surprisals")
    assert run_name(root / path, root) == expected
