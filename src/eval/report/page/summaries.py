"""What the tables of the report hold, computed from a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from gardenpath.eval.perplexity.comparison import EXACT, JOINT, PerplexityRow
from gardenpath.eval.report.order import arranged
from gardenpath.eval.report.page.html_tables import ReportTable
from gardenpath.eval.report.study import Study, corpus_groups
from gardenpath.store.tables import RUN_COLUMNS, SENTENCE_COLUMNS
from gardenpath.text import spaced

MAX_UNKNOWN_WORDS = 300


def in_model_order(table: pd.DataFrame) -> pd.DataFrame:
    """Rows by corpus, models in the order of their families within it."""
    return arranged(table, ["corpus", "model"], ()).reset_index(drop=True)


def accuracy_tables(study: Study) -> Iterator[ReportTable]:
    """Models as rows, classes as columns; one table for suites that the same corpora share."""
    groups = corpus_groups(study.items)
    for number, corpora in enumerate(groups):
        table = study.by_class[study.by_class["corpus"].isin(corpora)]
        wide = table.pivot_table(
            index=["model", "corpus"], columns="class", values="mean", sort=False
        )
        wide.columns = [spaced(name or "all items") for name in wide.columns]
        if wide.shape[1] > 1:
            overall = study.by_model.set_index(["model", "corpus"])
            wide["mean"] = overall["mean"]
        counts = table.groupby(["model", "corpus"], sort=False)[["ties", "missing"]].sum()
        wide["ties"] = counts["ties"]
        if counts["missing"].any():
            wide["missing"] = counts["missing"]
        frame = in_model_order(wide.reset_index())
        yield ReportTable(
            name=f"accuracy-{number}",
            title="Accuracy by class" + ("" if len(groups) == 1 else f": {', '.join(corpora)}"),
            frame=frame.drop(columns="corpus") if len(corpora) == 1 else frame,
            note="Mean over seeds and modifiers. Ties count as their chance expectation.",
            strong=(EXACT,),
        )


def summary_table(study: Study) -> ReportTable:
    """Accuracy by class and modifier, with intervals."""
    columns = [column for column in study.summary.columns if study.summary[column].notna().any()]
    # Counts of nothing need no column.
    columns = [c for c in columns if c not in ("missing", "unknown") or study.summary[c].any()]
    by = [column for column in ("corpus", "model", "class", "modifier") if column in columns]
    frame = arranged(study.summary[columns], by, study.modifier_orders)
    for column in ("class", "modifier"):
        if column in frame.columns:
            frame = frame.assign(**{column: frame[column].map(spaced)})
    return ReportTable(
        name="summary",
        title="Accuracy by class and modifier",
        frame=frame.reset_index(drop=True),
        note="low and high bound the 95 % bootstrap interval over items; ties are comparisons of "
        "exactly equal surprisals, over all seeds.",
        strong=(EXACT,),
    )


def runs_table(study: Study) -> ReportTable:
    """Every run that was scored."""
    runs = study.runs()
    with_parses = {key[0] for key in study.parses}
    if with_parses:
        runs["shows parses"] = [run in with_parses for run in runs["run"]]
    columns = [*("model", "corpus", "seed", "run"), *runs.columns[len(RUN_COLUMNS) :]]
    return ReportTable(name="runs", title="Runs", frame=runs[columns], strong=(EXACT,))


def perplexity_table(study: Study) -> ReportTable:
    """Perplexity of every run on the test sentences, beside the exact grammar."""
    columns = {
        "model": [row.model for row in study.perplexity],
        "corpus": [row.corpus for row in study.perplexity],
        "seed": pd.array([row.seed for row in study.perplexity], dtype="Int64"),
        "sentences": [row.sentences for row in study.perplexity],
        "perplexity": [row.perplexity for row in study.perplexity],
        "perplexity without end": [row.perplexity_without_end for row in study.perplexity],
        "bits/sentence": [row.bits_per_sentence for row in study.perplexity],
        "excess bits/word": [row.excess_bits_per_word for row in study.perplexity],
    }
    frame = pd.DataFrame(columns)
    for name in list(columns)[4:]:
        frame[name] = frame[name].astype("float64")
    return ReportTable(
        name="perplexity",
        title="Perplexity on the test sentences",
        frame=frame.dropna(axis="columns", how="all"),
        note=_perplexity_note(study.perplexity),
        strong=(EXACT,),
    )


def _perplexity_note(rows: Sequence[PerplexityRow]) -> str:
    note = "Per word, the end of each sentence counting as one word unless it says otherwise."
    if any(row.model.endswith(JOINT) for row in rows):
        note += " Joint is of words together with their gold trees, marginal of words alone."
    sizes = {(row.corpus, row.sentences) for row in rows}
    if len(sizes) > len({corpus for corpus, _ in sizes}):
        note += " Only rows that rest on the same number of sentences can be compared"
        is_known = any(row.excess_bits_per_word is not None for row in rows)
        note += ", but for the excess, which is over the same sentences." if is_known else "."
    return note


def excess_table(study: Study) -> ReportTable | None:
    """Mean excess surprisal over the exact grammar in the suites, in bits per word.

    Words that the grammar finds impossible, and what follows them, have no excess.
    """
    table = study.surprisals
    keys = ["corpus", *SENTENCE_COLUMNS, "word_id"]
    exact = table[table["model"] == EXACT][[*keys, "surprisal_bits"]]
    exact = exact[np.isfinite(exact["surprisal_bits"])].drop_duplicates(keys)
    models = table[table["model"] != EXACT]
    both = models.merge(exact, on=keys, suffixes=("", "_exact"))
    if not len(both):
        return None
    both["excess"] = both["surprisal_bits"] - both["surprisal_bits_exact"]
    both["critical"] = is_critical(study, both)
    groups = both.groupby(["model", "corpus"], sort=False)
    frame = pd.DataFrame(
        {
            "words": groups["word_id"].size() // groups["run"].nunique(),
            "excess bits/word": groups["excess"].mean(),
            "in critical regions": both[both["critical"]]
            .groupby(["model", "corpus"], sort=False)["excess"]
            .mean(),
        }
    )
    return ReportTable(
        name="excess",
        title="Excess surprisal over the exact grammar, in the suites",
        frame=in_model_order(frame.reset_index()),
        note="Mean over the words of all suites that the grammar finds possible, and over seeds: "
        "how many bits a model pays per word above the true probabilities.",
    )


def is_critical(study: Study, rows: pd.DataFrame) -> pd.Series:
    """Which words stand in a critical region of their suite."""
    marked = {(suite, region) for suite, regions in study.critical.items() for region in regions}
    pairs = zip(rows["suite"], rows["region"].astype(str), strict=True)
    return pd.Series([pair in marked for pair in pairs], index=rows.index, dtype=bool)


def unknown_items_table(study: Study) -> ReportTable:
    """How many items and comparisons are in doubt: unknown critical words, ties, gaps."""
    table = study.by_class
    columns = ["model", "corpus", "class", "items", "unknown", "ties", "missing"]
    frame = table[columns].rename(columns={"unknown": "with unknown critical words"})
    frame["class"] = frame["class"].map(spaced)
    return ReportTable(
        name="doubts",
        title="Items with unknown words, and ties",
        frame=in_model_order(frame),
        note="Items are counted once; ties and missing are comparisons, over all seeds.",
    )


def unknown_words_table(study: Study) -> ReportTable | None:
    """The words of the suites that a corpus's vocabulary lacks, the most frequent first."""
    table = study.surprisals
    rows = table[~table["seen"].astype(bool)]
    if not len(rows):
        return None
    rows = rows.assign(critical=is_critical(study, rows))
    places = rows.drop_duplicates(["corpus", *SENTENCE_COLUMNS, "word_id"])
    groups = places.groupby(["word", "corpus"], sort=False)
    frame = pd.DataFrame(
        {
            "times": groups.size(),
            "times in critical regions": groups["critical"].sum().astype("int64"),
            "suites": groups["suite"].nunique(),
        }
    ).sort_values("times", ascending=False, kind="stable")
    note = f"{len(frame)} different words that some model has not seen in training."
    if len(frame) > MAX_UNKNOWN_WORDS:
        note += f" The {MAX_UNKNOWN_WORDS} most frequent are listed."
    return ReportTable(
        name="unknown",
        title="Unknown words",
        frame=frame.head(MAX_UNKNOWN_WORDS).reset_index(),
        note=note,
    )
