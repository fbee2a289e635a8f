"""Tests of what an analysis leaves for R."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gardenpath.eval.statistics.analysis import Analysis, make_analysis
from gardenpath.eval.statistics.answering import run_analysis
from gardenpath.eval.statistics.formulas import WithinMethod, parse_model_formula
from gardenpath.eval.statistics.rscript import r_script, write_result
from gardenpath.store.manifest import write_side_car
from gardenpath.store.tables import ITEMS as ITEM_TABLE
from gardenpath.store.tables import SENTENCES, SURPRISALS, write_table
from tests.eval.statistics.r_program import require_r
from tests.eval.statistics.tables import ANALYSES, effect_table, item_table, study_sentences

ITEMS = {"lstm": 0.6, "rnng": 0.8, "transformer": 0.6, "plm": 0.7}


def _outside_quotes(text: str) -> str:
    """The script without comments, and with nothing left of texts but their quotes.

    Names in backticks are kept. A text that does not end on its line is a mistake.
    """
    kept = []
    for line in text.splitlines():
        quote = escaped = ""
        for sign in line:
            if quote:
                if escaped:
                    escaped = ""
                elif sign == "\\":
                    escaped = sign
                elif sign == quote:
                    quote = ""
                kept.append(sign if not quote or quote == "`" else "")
                continue
            if sign == "#":
                break
            if sign in "\"'`":
                quote = sign
            kept.append(sign)
        assert not quote, f"not closed: {line}"
        kept.append("\n")
    return "".join(kept)


def _check_brackets(code: str) -> None:
    open_brackets: list[str] = []
    for sign in re.sub(r"`[^`]*`", "", code):
        if sign in "([{":
            open_brackets.append(sign)
        elif sign in ")]}":
            assert open_brackets, "closed before it was opened"
            assert "([{".index(open_brackets.pop()) == ")]}".index(sign)
    assert not open_brackets


def _columns_used(code: str) -> set[str]:
    """The columns that a script takes from its data: after ``$``, and in formulas."""
    used = {
        plain or quoted
        for plain, quoted in re.findall(r"\b(?:d|part)\$(?:([\w.]+)|`([^`]*)`)", code)
    }
    for formula in re.findall(r"\(([^()]*~.*?), data = part", code):
        used |= set(parse_model_formula(formula).variables)
    return used


def _check_script(script: str, columns: Iterable[str]) -> None:
    code = _outside_quotes(script)
    _check_brackets(code)
    used = _columns_used(code)
    assert used and used <= set(columns)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANALYSES)
def test_scripts_are_in_order_and_use_columns_that_are_there(tmp_path: Path, name: str) -> None:
    # The numbers of lme4's defaults take long and are not part of a script.
    analysis = dataclasses.replace(ANALYSES[name], lme4_default=False)
    result = run_analysis(analysis, _table_of(analysis))
    write_result(tmp_path, result)
    written = pd.read_csv(tmp_path / f"{analysis.name}.csv", dtype=str, keep_default_na=False)
    script = (tmp_path / f"{analysis.name}.R").read_text(encoding="utf-8")
    _check_script(script, written.columns)
    assert set(analysis.predictors) | {analysis.measured} <= _columns_used(_outside_quotes(script))
    # Every part that was answered is found again in the data as they were written.
    for part in result.parts:
        rows = written
        for column, value in part.items():
            assert f"d${column} == {json.dumps(value, ensure_ascii=False)}" in script
            rows = rows[rows[column] == value]
        assert len(rows)
    for column in {analysis.measured} | set(re.findall(r"d\$(\w+) <- as.numeric", script)):
        assert pd.to_numeric(written[column]).notna().all()


def _table_of(analysis: Analysis) -> pd.DataFrame:
    if analysis.table == "effects":
        return effect_table()
    if analysis.table == "sentences":
        return study_sentences()
    classes = ("verb_noun", "missing_object", "garden_path_object", "subordination")
    modifiers = ("none", "subject_rc", "coordinated_rc")
    tables = [
        item_table(ITEMS, classes=classes, modifiers=modifiers).assign(corpus=corpus)
        for corpus in ("ctb", "xinhua")
    ]
    tables[1]["outcome"] = 1.0 - tables[1]["outcome"]
    return pd.concat(tables)


def test_mistakes_in_scripts_would_be_seen() -> None:
    for wrong in ("print((1)", 'cat("a)', "d[1)", "part$nothing", "lm(a ~ nothing, data = part)"):
        with pytest.raises(AssertionError):
            _check_script(f"d$a\n{wrong}\n", ["a"])
    _check_script('cat("(\\"", part$a) # )\nlmer(a ~ 1 + (1 | b), data = part)\n', ["a", "b"])


def test_every_fit_is_a_call_of_lme4() -> None:
    analysis = ANALYSES["supervision"]
    script = r_script(run_analysis(analysis, item_table({"lstm": 0.6, "rnng": 0.8})))
    assert 'part <- d[d$corpus == "toy" & d$class == "verb_noun" & d$architecture' in script
    assert (
        "report(labels, strictly(function(exact)\n"
        "  glmer(outcome ~ syntax + (1 | modifier) + (1 | comparison) + (1 | seed), data = part, "
        "family = binomial, control = exact)))" in script
    )
    assert (
        "glmer(outcome ~ syntax + (1 | modifier) + (1 | comparison) + (1 | seed), data = part, "
        'family = binomial), variant = "lme4 default")' in script
    )
    assert (
        "(1 | model:seed), data = part, family = binomial, control = exact)), "
        'variant = "runs nested within models")' in script
    )
    assert 'labels <- list(corpus = "toy", class = "verb_noun", architecture' in script
    assert "d$syntax <- as.numeric(d$syntax)" in script
    assert "library(lme4)" in script and "lmerTest" not in script
    assert "permutation_test" not in script and "shares" not in script


def test_ties_have_a_family_of_their_own() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table.loc[:3, "outcome"] = 0.5
    script = r_script(run_analysis(ANALYSES["supervision"], table))
    assert "family = shares" in script and "shares <- binomial()" in script


def test_where_the_model_fails_outcomes_are_exchanged() -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8})
    table.loc[table["model"] == "rnng", "outcome"] = 1.0
    result = run_analysis(ANALYSES["supervision"], table)
    script = r_script(result)
    assert "glmer" not in script and "lme4" not in script
    assert (
        'permutation_test(labels, "syntax", part$syntax, part$outcome,\n'
        '  paste(part$comparison, part$modifier, part$seed, sep = "\\t"))' in script
    )
    _check_script(script, result.data.columns)


def test_factors_are_coded_as_they_were() -> None:
    settings = {
        "title": "t",
        "table": "effects",
        "formula": "value_bits ~ modifier + (1 | suite:item)",
        "where": {"class": ["wh_discharge"], "effect": ["wh_effect_gap"]},
        "codings": {"modifier": {"kind": "sum", "levels": ["subject", "adjunct_discharge"]}},
    }
    script = r_script(run_analysis(make_analysis(settings, name="coded"), effect_table()))
    assert (
        'part$modifier <- coded(part$modifier, c("subject", "adjunct_discharge", '
        '"cnp_discharge"), contr.sum)' in script
    )
    assert "as.numeric(d$modifier)" not in script
    assert "report(labels, lmer(value_bits ~ modifier + (1 | suite:item)" in script
    assert "library(lmerTest)" in script
    analysis = dataclasses.replace(ANALYSES["modifier_effects"], lme4_default=False)
    treated = r_script(run_analysis(analysis, _table_of(analysis)))
    assert 'c("none", "subject_rc", "coordinated_rc"), contr.treatment)' in treated
    assert "is_normal = TRUE" in treated


def test_names_that_r_would_misread_are_quoted() -> None:
    table = effect_table().rename(columns={"value_bits": "next", "seed": "the seed"})
    settings = {"title": "a\nb", "formula": "next ~ `in` + (1 | `the seed`)"}
    table["in"] = np.arange(len(table)) % 2.0
    result = run_analysis(make_analysis(settings, name="quoted"), table)
    script = r_script(result)
    # The fit is singular, so the script also starts from our parameters.
    assert "lmer(`next` ~ `in` + (1 | `the seed`), data = part, control = exact, start" in script
    assert "d$`next` <- as.numeric(d$`next`)" in script
    assert script.startswith("# a\n# b\n")
    _check_script(script, result.data.columns)


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ("masson_loftus", "Loftus and Masson (1994)"),
        ("cousineau_morey", "j / (j - 1)"),
        ("item_centred", "reach <- 1.96"),
    ],
)
def test_intervals_within_items_are_by_the_method_named(method: WithinMethod, line: str) -> None:
    analysis = dataclasses.replace(ANALYSES["wh_intervals"], method=method)
    assert line in r_script(run_analysis(analysis, effect_table()))


@pytest.mark.parametrize("name", ["ordering", "wh_intervals", "licensing_in_islands"])
def test_data_and_script_go_together(tmp_path: Path, name: str) -> None:
    result = run_analysis(ANALYSES[name], effect_table())
    write_result(tmp_path, result)
    written = pd.read_csv(tmp_path / f"{name}.csv", dtype=str, keep_default_na=False)
    assert len(written) == len(result.data)
    assert written["value_bits"].astype(float).tolist() == result.data["value_bits"].tolist()
    script = (tmp_path / f"{name}.R").read_text(encoding="utf-8")
    assert f'read.csv("{name}.csv"' in script
    assert (tmp_path / f"{name}_estimates.csv").exists()


def test_an_empty_answer_leaves_its_reason_only(tmp_path: Path) -> None:
    result = run_analysis(ANALYSES["flip"], item_table({"lstm": 0.6}))
    write_result(tmp_path, result)
    assert [path.name for path in tmp_path.iterdir()] == ["flip.txt"]
    assert "Skipped: the table has no column" in (tmp_path / "flip.txt").read_text()


def test_rows_that_were_left_out_are_noted(tmp_path: Path) -> None:
    table = item_table({"lstm": 0.6, "rnng": 0.8, "ngram": 0.5})
    write_result(tmp_path, run_analysis(ANALYSES["supervision"], table))
    written = (tmp_path / "supervision.txt").read_text(encoding="utf-8")
    assert "Note: rows with model ngram were left out: no syntax\n" in written


# ----------------------------------------------------------------------------
# The code of docs/r.md runs, with our tables.


PAGE = Path(__file__).parents[3] / "docs" / "r.md"
_CODE = re.compile(r"^```r\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _tables(folder: Path) -> None:
    """A results folder of two models on 20 items in two conditions."""
    random = np.random.default_rng(5)
    rows = []
    for seed in (1, 2):
        for model in ("lstm", "rnng"):
            who = {"run": f"runs/{model}/seed{seed}", "model": model, "corpus": "toy", "seed": seed}
            for item in range(1, 21):
                rows.append({**who, "suite": "mine", "class": "", "modifier": "", "item": item})
    items = [
        {**row, "prediction": "p", "outcome": float(n % 3 > 0), "tie": n % 7 == 0, "unknown": 0,
         "difference_bits": random.normal(1 + (row["model"] == "rnng")), "unknown_words": ""}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    write_table(folder / ITEM_TABLE.file, ITEM_TABLE.frame(items))
    write_side_car(folder / ITEM_TABLE.file, {"unit": "bits"})
    sentences = [
        {**row, "condition": condition, "variant": 1, "words": 5, "slor": float("nan"),
         "local_bits": random.normal(8 + 2 * (condition == "mismatch")),
         "global_bits_per_word": 5.0}
        for row in rows for condition in ("match", "mismatch")
    ]  # fmt: skip
    write_table(folder / SENTENCES.file, SENTENCES.frame(sentences))
    words = [
        {**row, "condition": "match", "variant": 1, "region": "r", "word_id": place, "word": word,
         "seen": word != "NA", "surprisal_bits": 2.5}
        for row in rows for place, word in enumerate(('"', "NA", "猫"), start=1)
    ]  # fmt: skip
    write_table(folder / SURPRISALS.file, SURPRISALS.frame(words)[list(SURPRISALS.names)])


@pytest.mark.slow
def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    program = require_r()
    folder = tmp_path / "results" / "mine"
    folder.mkdir(parents=True)
    _tables(folder)
    blocks = _CODE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    (tmp_path / "page.R").write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([program, "page.R"], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    assert "modelrnng" in done.stdout and "mismatch" in done.stdout
