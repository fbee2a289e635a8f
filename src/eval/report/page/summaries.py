"""The tables of the report, computed from a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from gardenpath.eval.display import EXACT
from gardenpath.eval.perplexity.comparison import MARGINAL, PerplexityRow
from gardenpath.eval.report.order import arranged
from gardenpath.eval.report.page.html_tables import ReportTable
from gardenpath.eval.report.study import Study, corpus_groups
from gardenpath.eval.suites.pairs.pair_tables import pairs_in_words, phenomenon_frames
from gardenpath.eval.usable import usable_counts
from gardenpath.store.tables import COULD_FLIP, NEAR_TIES, RUN_COLUMNS, SENTENCE_COLUMNS
from gardenpath.text import plural, spaced

MAX_UNKNOWN_WORDS = 300


def in_model_order(table: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by corpus and, within it, by model in the order of families."""
    return arranged(table, ["corpus", "model"], ()).reset_index(drop=True)


def accuracy_tables(study: Study) -> Iterator[ReportTable]:
    """Yield tables with models as rows and classes as columns, one per group of corpora."""
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
        counted = ["ties", NEAR_TIES, "missing"]
        counts = table.groupby(["model", "corpus"], sort=False)[counted].sum()
        wide["ties"], wide["near ties"] = counts["ties"], counts[NEAR_TIES]
        if counts["missing"].any():
            wide["missing"] = counts["missing"]
        frame = in_model_order(wide.reset_index())
        yield ReportTable(
            name=f"accuracy-{number}",
            title="Accuracy by class" + ("" if len(groups) == 1 else f": {', '.join(corpora)}"),
            frame=frame.drop(columns="corpus") if len(corpora) == 1 else frame,
            note="Means over random seeds and modifiers. A tie counts as its expected value under "
            "random order, and so does a near tie: a difference too small to tell from zero.",
            strong=(EXACT,),
        )


def pair_set_tables(study: Study) -> Iterator[ReportTable]:
    """Yield the accuracies on published minimal pairs, averaged as by their authors."""
    for which, frame in phenomenon_frames(study.aggregate):
        named = frame.assign(name=frame["name"].map(spaced))
        yield ReportTable(
            name=f"pairs-{which.name}",
            title=f"{which.title} ({which.reference})",
            frame=named.drop(columns="level").rename(columns={"name": "phenomenon"}),
            note=f"Compared is the {pairs_in_words(which, study.aggregate)}.",
        )


def summary_table(study: Study) -> ReportTable:
    """Return the accuracy by class and modifier, with intervals."""
    columns = [column for column in study.summary.columns if study.summary[column].notna().any()]
    # Omit columns of counts that are all zero.
    counts = ("missing", "unknown", NEAR_TIES, COULD_FLIP)
    columns = [c for c in columns if c not in counts or study.summary[c].any()]
    by = [column for column in ("corpus", "model", "class", "modifier") if column in columns]
    frame = arranged(study.summary[columns], by, study.modifier_orders)
    for column in ("class", "modifier"):
        if column in frame.columns:
            frame = frame.assign(**{column: frame[column].map(spaced)})
    return ReportTable(
        name="summary",
        title="Accuracy by class and modifier",
        frame=frame.reset_index(drop=True),
        note="low and high are the bounds of the 95 % bootstrap interval over items; ties counts "
        "predictions with exactly equal surprisals, over all random seeds"
        + (", near_ties those with differences too small to count" if NEAR_TIES in columns else "")
        + (", could_flip those within the search error." if COULD_FLIP in columns else "."),
        strong=(EXACT,),
    )


def runs_table(study: Study) -> ReportTable:
    """Return the table of scored runs."""
    runs = study.runs()
    with_parses = {key[0] for key in study.parses}
    if with_parses:
        runs["shows parses"] = [run in with_parses for run in runs["run"]]
    columns = [*("model", "corpus", "seed", "run"), *runs.columns[len(RUN_COLUMNS) :]]
    return ReportTable(name="runs", title="Runs", frame=runs[columns], strong=(EXACT,))


def perplexity_tables(study: Study) -> Iterator[ReportTable]:
    """Yield a table for each set of runs that can be ranked.

    Rows on other sentences, and joint perplexities, are in tables of their own; the exact grammar
    is beside perplexities of words alone.
    """
    groups: dict[tuple[str, int, int, bool], list[PerplexityRow]] = {}
    for row in study.perplexity:
        groups.setdefault(row.basis, []).append(row)
    for number, ((corpus, sentences, _, is_joint), rows) in enumerate(groups.items()):
        yield ReportTable(
            name=f"perplexity-{number}",
            title=f"Perplexity {'with gold trees ' if is_joint else ''}on "
            f"{plural(sentences, 'test sentence')} of {corpus}",
            frame=_perplexity_frame(rows),
            note="Per word; the end of each sentence counts as a word unless stated otherwise. "
            + (
                "Words together with their gold trees (joint): more bits than for words alone."
                if is_joint
                else "Words alone; models with trees are summed over trees (marginal)."
                if any(row.model.endswith(MARGINAL) for row in rows)
                else ""
            ),
            strong=(EXACT,),
        )


def _perplexity_frame(rows: Sequence[PerplexityRow]) -> pd.DataFrame:
    """Return the columns of a table of perplexities, without empty ones."""
    columns = {
        "model": [row.model for row in rows],
        "seed": pd.array([row.seed for row in rows], dtype="Int64"),
        "perplexity": [row.perplexity for row in rows],
        "perplexity without end": [row.perplexity_without_end for row in rows],
        "bits/sentence": [row.bits_per_sentence for row in rows],
        "excess bits/word": [row.excess_bits_per_word for row in rows],
    }
    frame = pd.DataFrame(columns)
    for name in list(columns)[2:]:
        frame[name] = frame[name].astype("float64")
    return frame.dropna(axis="columns", how="all")


def excess_table(study: Study) -> ReportTable | None:
    """Return the mean excess surprisal over the exact grammar in the suites, in bits per word.

    Words to which the grammar assigns zero probability, and all words after them, have no excess.
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
        note="Surprisal of the model minus surprisal of the exact grammar, in bits per word. Means "
        "over random seeds and over all words that the grammar gives a non-zero probability.",
    )


def is_critical(study: Study, rows: pd.DataFrame) -> pd.Series:
    """Return, for each word, whether it is in a critical region of its suite."""
    marked = {(suite, region) for suite, regions in study.critical.items() for region in regions}
    pairs = zip(rows["suite"], rows["region"].astype(str), strict=True)
    return pd.Series([pair in marked for pair in pairs], index=rows.index, dtype=bool)


def unknown_items_table(study: Study) -> ReportTable:
    """Return the counts of items with out-of-vocabulary critical words, ties, missing values."""
    table = study.by_class
    columns = ["model", "corpus", "class", "items", "unknown", "ties", NEAR_TIES, "missing"]
    columns += [COULD_FLIP] if COULD_FLIP in table.columns else []
    frame = table[columns].rename(columns={"unknown": "with out-of-vocabulary critical words"})
    frame["class"] = frame["class"].map(spaced)
    return ReportTable(
        name="doubts",
        title="Items with out-of-vocabulary words, and ties",
        frame=in_model_order(frame),
        note="Each item is counted once; ties, near_ties and missing count predictions over all "
        "random seeds.",
    )


def unusable_table(study: Study) -> ReportTable | None:
    """Return the unusable items of each model and suite, the largest shares first."""
    frame = usable_counts(study.items, ["model", "corpus", "suite"])
    frame["% unusable"] = 100.0 * (1.0 - frame["usable"] / frame["items"])
    frame = frame[frame["usable"] < frame["items"]]
    if not len(frame):
        return None
    frame = frame.sort_values("% unusable", ascending=False, kind="stable")
    return ReportTable(
        name="unusable",
        title="Items that are not usable",
        frame=frame.reset_index(drop=True),
        note="An item is usable if all its critical words are in the vocabulary and all its "
        f"surprisals are present. Tests and intervals need {study.min_items} usable items.",
    )


def unknown_words_table(study: Study) -> ReportTable | None:
    """Return the out-of-vocabulary words of the suites, the most frequent first."""
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
    note = f"{len(frame)} words are out of vocabulary for at least one model."
    if len(frame) > MAX_UNKNOWN_WORDS:
        note += f" The {MAX_UNKNOWN_WORDS} most frequent are listed."
    return ReportTable(
        name="unknown",
        title="Out-of-vocabulary words",
        frame=frame.head(MAX_UNKNOWN_WORDS).reset_index(),
        note=note,
    )
