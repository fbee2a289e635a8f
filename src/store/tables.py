"""The tables that Gardenpath writes: schemas of their columns, and how they are written and read.

Tables are tidy: one row per observation. A schema lists the columns that every table of a kind has,
with their type and their meaning with unit; tables may have additional columns after them. Whoever
writes or reads a table of results uses a schema of this module, so that names and units of columns
are said once. Nothing here computes a value.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gardenpath.errors import InputError
from gardenpath.store.files import whole_file
from gardenpath.store.manifest import whole_table

if TYPE_CHECKING:
    import pandas as pd

ColumnType = Literal["text", "integer", "optional integer", "number", "flag", "optional flag"]

_DTYPES = {
    "integer": "int64",
    "optional integer": "Int64",
    "number": "float64",
    "optional flag": "boolean",
}
# Truth values in files, and their spellings elsewhere; the first is that of R.
_TRUE, _FALSE = ("TRUE", "True", "true", "1"), ("FALSE", "False", "false", "0")
# Representations of a missing number in files.
_MISSING = ["", "nan", "NaN"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, the type of its values, and their meaning with unit."""

    name: str
    type: ColumnType
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of a kind of table, in order.

    ``name`` is used in messages, and ``file`` is the name of the file in a results folder.
    ``optional`` columns occur in some tables only. ``others`` is the type of any further column
    (None: unchanged). ``remedy`` says in error messages how to obtain such a table.
    """

    name: str
    file: str = ""
    columns: tuple[Column, ...]
    optional: tuple[Column, ...] = ()
    others: ColumnType | None = None
    remedy: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that every such table has."""
        return tuple(column.name for column in self.columns)

    def missing(self, columns: Iterable[str]) -> list[str]:
        """Return the names of required columns that are not among ``columns``."""
        present = set(columns)
        return [name for name in self.names if name not in present]

    def frame(self, rows: Sequence[Mapping[str, Any]] | Sequence[tuple[Any, ...]]) -> pd.DataFrame:
        """Build a table from rows: mappings, whose extra keys become columns, or tuples."""
        import pandas as pd

        known = set(self.names)
        named = [row for row in rows if isinstance(row, Mapping)]
        further = dict.fromkeys(name for row in named for name in row if name not in known)
        return self.typed(pd.DataFrame(rows, columns=[*self.names, *further]))

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Convert the columns of a table to their types; missing text becomes empty.

        Raises ValueError if a value has the wrong type.
        """
        changed = {
            name: _converted(frame[name], kind)
            for name in frame.columns
            if (kind := self.type_of(name)) is not None
        }
        return frame.assign(**changed)

    def meanings(self, columns: Iterable[str]) -> dict[str, str]:
        """Return the meanings, with units, of those of these columns that are known."""
        known = {column.name: column.meaning for column in (*self.columns, *self.optional)}
        return {name: known[name] for name in columns if name in known}

    def header(self, columns: Iterable[str], **facts: object) -> dict[str, object]:
        """Return the header of a table: what it is, facts, and what its columns mean."""
        return {"table": self.name, **facts, "columns": self.meanings(columns)}

    def type_of(self, name: str) -> ColumnType | None:
        """Return the type of a column; None if its values are not converted."""
        known = {column.name: column.type for column in (*self.columns, *self.optional)}
        return known.get(name, self.others)


def flag_text(value: object) -> str:
    """Return a truth value as tables write it, which R reads."""
    return _TRUE[0] if value else _FALSE[0]


def _converted(values: pd.Series, kind: ColumnType) -> pd.Series:
    import pandas as pd

    if kind == "text":
        return values.fillna("").astype(str)
    if kind == "flag":
        return values.astype(str).isin(_TRUE)
    if kind == "optional flag":
        spelled = {**dict.fromkeys((True, *_TRUE), True), **dict.fromkeys((False, *_FALSE), False)}
        return values.map(spelled).astype(_DTYPES[kind])
    if not pd.api.types.is_numeric_dtype(values):
        values = pd.to_numeric(values.replace(_MISSING, None))
    return values.astype(_DTYPES[kind])


_NUMBERS = {"integer": "whole number", "optional integer": "whole number", "number": "number"}


def write_table(
    path: Path,
    table: pd.DataFrame | Sequence[Mapping[str, Any]],
    header: Mapping[str, Any] | None = None,
) -> None:
    """Write a table atomically: tab-separated without quotes for ``.tsv``, else comma-separated.

    ``table`` is a frame or a sequence of mappings from column names to values. Truth values are
    TRUE and FALSE, which R reads. ``header`` goes to a file beside the table.
    """
    import pandas as pd

    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(table)
    flags = [name for name in frame.columns if pd.api.types.is_bool_dtype(frame[name])]
    # Missing truth values stay missing.
    texts = {name: frame[name].astype(object).map(flag_text, na_action="ignore") for name in flags}
    frame = frame.assign(**texts)
    is_tabbed = path.suffix == ".tsv"
    with whole_file(path) if header is None else whole_table(path, header) as temporary:
        frame.to_csv(
            temporary,
            index=False,
            sep="\t" if is_tabbed else ",",
            quoting=csv.QUOTE_NONE if is_tabbed else csv.QUOTE_MINIMAL,
            quotechar=None if is_tabbed else '"',
            lineterminator="\n",
            encoding="utf-8",
        )


def read_table(path: Path, schema: Schema) -> pd.DataFrame:
    """Read a table written by :func:`write_table`, with the types of its schema.

    An InputError names the file and the missing columns, or the line of a value of the wrong type.
    """
    import pandas as pd

    is_tabbed = path.suffix == ".tsv"
    try:
        frame = pd.read_csv(
            path,
            dtype=str,
            keep_default_na=False,
            encoding="utf-8",
            sep="\t" if is_tabbed else ",",
            quoting=csv.QUOTE_NONE if is_tabbed else csv.QUOTE_MINIMAL,
        )
    except (OSError, ValueError) as error:
        problem = f"is not a table of {schema.name}: {error}"
        raise InputError(problem, path=path, remedy=schema.remedy) from error
    if missing := schema.missing(frame.columns):
        problem = f"is not a table of {schema.name}: no column {', '.join(missing)}"
        raise InputError(problem, path=path, line=1, remedy=schema.remedy)
    try:
        return schema.typed(frame)
    except (TypeError, ValueError) as error:
        raise _wrong_value(path, schema, frame) from error


def _wrong_value(path: Path, schema: Schema, frame: pd.DataFrame) -> InputError:
    """Return the error for the first value that does not fit its column."""
    for line, row in enumerate(frame.to_dict("records"), start=2):
        for name, text in row.items():
            kind = schema.type_of(str(name))
            if kind not in _NUMBERS or (not text and kind != "integer"):
                continue
            try:
                fits = float(text).is_integer() or kind == "number"
            except ValueError:
                fits = False
            if not fits:
                problem = f"column {name}: {text!r} is not a {_NUMBERS[kind]}"
                return InputError(problem, path=path, line=line)
    return InputError(f"is not a table of {schema.name}", path=path, remedy=schema.remedy)


# Columns that several tables share.

_RUN = (
    Column("run", "text", "run folder, or the name of the run"),
    Column("model", "text", "name of the model"),
    Column("corpus", "text", "training corpus; empty for surprisals from files"),
    Column("seed", "optional integer", "random seed; empty for models without one"),
)
_SUITE = Column("suite", "text", "name of the suite")
_ITEM = Column("item", "integer", "number of the item in its suite")
_CLASS = Column("class", "text", "class of phenomenon")
_MODIFIER = Column("modifier", "text", "type of the material between the dependent words")
_CONDITION = Column("condition", "text", "condition of the sentence")
_VARIANT = Column("variant", "integer", "number of the variant of the condition, from 1")
_WORD_ID = Column("word_id", "integer", "position of the word in the sentence, from 1")
_WORD = Column("word", "text", "the word")
_SEEN = Column("seen", "flag", "whether the word is in the model's vocabulary")
# How the words of models over pieces were scored; a further column where there are such models.
BOUNDARY_COLUMN = "boundary"
# Masked models have no surprisals: their numbers have a column of their own.
SURPRISAL_BITS, PLL_BITS = "surprisal_bits", "pll_bits"
_BITS = Column(SURPRISAL_BITS, "number", "surprisal of the word, in bits")
_CORPUS = Column("corpus", "text", "name of the corpus")
# What a search knows about each word; further columns of tables of surprisals. Analyses are partial
# parses of the words up to and including this one, weighted by their posterior probability.
SURPRISAL_SE = "surprisal_se"
SEARCH_COLUMNS = (
    Column(SURPRISAL_SE, "number", "standard error of the surprisal, in bits"),
    Column("entropy_bits", "number", "entropy over the analyses, in bits"),
    Column("entropy_reduction_bits", "number", "entropy before the word minus after it, in bits"),
    Column("open_constituents", "number", "expected number of open constituents"),
    Column("analyses", "number", "number of analyses within a factor of 100 of the best"),
    Column(
        "structure_bits",
        "number",
        "part of the surprisal that is due to a change of analysis, in bits",
    ),
    Column("word_bits", "number", "expected surprisal given the analysis, in bits"),
    Column("best_share", "number", "posterior probability of the best analysis"),
    Column(
        "best_kept_share",
        "number",
        "posterior probability of the analyses that continue the best one before the word",
    ),
    Column(
        "reanalysis",
        "number",
        "1 if the best analysis does not continue the best one before the word, else 0",
    ),
)

SEARCH_COLUMN_NAMES = tuple(column.name for column in SEARCH_COLUMNS)

# Standard errors of the results of a search, as far as they are known, by the columns that they
# belong to; further columns of the same tables.
COULD_FLIP = "could_flip"
# Differences that cannot be told from zero, and their number.
NEAR_TIE, NEAR_TIES = "near_tie", "near_ties"
ERROR_COLUMNS = {
    SURPRISAL_BITS: SURPRISAL_SE,
    "difference_bits": "difference_se",
    "value_bits": "value_se",
    "local_bits": "local_se",
    "global_bits_per_word": "global_se_per_word",
    "slor": "slor_se",
}

RUN_COLUMNS = tuple(column.name for column in _RUN)
SENTENCE_COLUMNS = ("suite", "item", "condition", "variant")
SUMMARY_KEYS = ("model", "corpus", "class", "modifier")

# Tables of an evaluation on suites.

ITEMS = Schema(
    name="items",
    file="items.csv",
    columns=(
        *(*_RUN, _SUITE, _CLASS, _MODIFIER, _ITEM),
        Column("prediction", "text", "name of the prediction"),
        Column("outcome", "number", "1 if the prediction holds, 0 if not; ties in between"),
        Column("tie", "flag", "whether the compared surprisals are equal"),
        Column("difference_bits", "number", "margin in bits by which the prediction holds"),
        Column("unknown", "integer", "number of out-of-vocabulary critical words"),
        Column("unknown_words", "text", "these words, separated by spaces"),
    ),
    optional=(
        Column(NEAR_TIE, "flag", "whether the outcome depends on too small a difference"),
        Column(ERROR_COLUMNS["difference_bits"], "number", "standard error of the margin, in bits"),
        Column(COULD_FLIP, "optional flag", "whether the outcome is within the search error"),
    ),
    others="text",
    remedy="'python evaluate.py suite=…' writes one",
)
EFFECTS = Schema(
    name="effects",
    file="effects.csv",
    columns=(
        *(*_RUN, _SUITE, _CLASS, _MODIFIER, _ITEM),
        Column("effect", "text", "name of the effect"),
        Column("value_bits", "number", "size of the effect, in bits"),
    ),
    optional=(
        Column(NEAR_TIE, "flag", "whether the effect is too small to tell from none"),
        Column(ERROR_COLUMNS["value_bits"], "number", "its standard error, in bits"),
    ),
    others="text",
    remedy="'python evaluate.py suite=filler_gap' writes one",
)
EFFECT_MEANS = Schema(
    name="effect means",
    file="effect_means.csv",
    columns=(
        *(_RUN[1], _RUN[2], _SUITE, _CLASS, _MODIFIER),
        Column("effect", "text", "name of the effect"),
        Column("mean_bits", "number", "mean over items and runs, in bits"),
        Column("low", "number", "lower end of the 95 % bootstrap interval over items"),
        Column("high", "number", "upper end of the interval"),
        Column("items", "integer", "number of items"),
        Column("infinite", "integer", "number of values that are not finite, left out"),
        Column(NEAR_TIES, "integer", "number of values too small to tell from zero"),
    ),
)
SURPRISALS = Schema(
    name="surprisals",
    file="surprisals.tsv",
    columns=(
        *(*_RUN, _SUITE, _ITEM, _CONDITION, _VARIANT),
        Column("region", "text", "region of the suite that the word is in"),
        *(_WORD_ID, _WORD, _SEEN, _BITS),
    ),
    optional=SEARCH_COLUMNS,
    remedy="'python evaluate.py suite=…' writes one",
)
SUMMARY = Schema(
    name="summary",
    file="summary.csv",
    columns=(
        *(_RUN[1], _RUN[2], _CLASS, _MODIFIER),
        Column("accuracy", "number", "mean outcome"),
        Column("low", "number", "lower end of the 95 % bootstrap interval over items"),
        Column("high", "number", "upper end of the interval"),
        Column("items", "integer", "number of different items"),
        Column("seeds", "integer", "number of runs"),
        Column("ties", "integer", "number of exact ties, over all runs"),
        Column("missing", "integer", "number of comparisons without a surprisal"),
        Column("unknown", "integer", "items with out-of-vocabulary critical words"),
    ),
    optional=(
        Column(NEAR_TIES, "integer", "number of near ties, over all runs"),
        Column("usable", "integer", "items whose critical words and surprisals are all known"),
        Column(COULD_FLIP, "optional integer", "number of outcomes within the search error"),
        Column("pronoun", "text", "label of the items, if any"),
        Column("flip_rate", "number", "fraction of items with two positive wh-effects"),
        Column("flip", "optional flag", "whether both mean wh-effects are positive"),
        Column("island_contrast", "optional flag", "whether they are weaker inside islands"),
    ),
)
SENTENCES = Schema(
    name="sentences",
    file="sentences.csv",
    columns=(
        *(*_RUN, _SUITE, _CLASS, _MODIFIER, _ITEM, _CONDITION, _VARIANT),
        Column("words", "integer", "number of words"),
        Column("local_bits", "number", "surprisal of the critical region, in bits"),
        Column("global_bits_per_word", "number", "surprisal of the clause, in bits per word"),
        Column("slor", "number", "syntactic log-odds ratio, in nats per word"),
    ),
    optional=(
        Column(ERROR_COLUMNS["local_bits"], "number", "standard error of local_bits"),
        Column(ERROR_COLUMNS["global_bits_per_word"], "number", "that of global_bits_per_word"),
        Column(ERROR_COLUMNS["slor"], "number", "that of slor, in nats per word"),
    ),
    others="text",
)
WORD_PAIRS = Schema(
    name="word pairs",
    file="word_pairs.csv",
    columns=(
        *(_CORPUS, _SUITE),
        Column("region", "text", "region in which the two words alternate"),
        Column("first", "text", "the first word"),
        Column("second", "text", "the second word"),
        Column("first_count", "integer", "count of the first in the training corpus"),
        Column("second_count", "integer", "count of the second"),
        Column("items", "integer", "number of items in which the two alternate"),
    ),
)
AGGREGATE = Schema(
    name="aggregate",
    file="aggregate.csv",
    columns=(
        *_RUN,
        Column("set", "text", "published set of minimal pairs"),
        Column("words", "text", "what divided the sentences into words"),
        Column("score", "text", "what is compared: see docs/minimal_pairs.md"),
        Column("official", "flag", "whether score and pairs are those of the authors"),
        Column("level", "text", "paradigm, phenomenon, field or overall"),
        Column("name", "text", "name of the paradigm, phenomenon, field or mean"),
        Column("accuracy", "number", "share of correct pairs; ties as the authors count them"),
        Column("accuracy_ties_half", "number", "the same; ties and near ties count 1/2"),
        Column("paradigms", "integer", "number of paradigms"),
        Column("pairs", "integer", "number of pairs"),
        Column("ties", "integer", "number of pairs with equal scores"),
        Column("missing", "integer", "number of pairs without a score"),
    ),
    optional=(Column(NEAR_TIES, "integer", "number of pairs with nearly equal scores"),),
)

# Tables of other tasks and of training.

PERPLEXITY = Schema(
    name="perplexities",
    file="perplexity.csv",
    columns=(
        *(_CORPUS, _RUN[1], _RUN[3]),
        Column("sentences", "integer", "number of sentences"),
        Column("words", "integer", "number of words"),
        Column("perplexity", "number", "per word, ends of sentences included"),
        Column("perplexity_without_end", "number", "per word, ends of sentences excluded"),
        Column("bits_per_sentence", "number", "mean surprisal of a sentence, in bits"),
        Column("excess_bits_per_word", "number", "bits per word above the exact grammar"),
        Column("trained_on", "text", "name of the training corpus"),
        Column("vocabulary", "optional integer", "number of units that the model predicts"),
        Column("unknown_rate", "number", "fraction of out-of-vocabulary words"),
        Column("shared_perplexity", "number", "perplexity of words that all models know"),
    ),
    optional=(
        Column("search", "text", "search of a marginal perplexity, with its settings"),
        Column("perplexity_se", "number", "standard error of perplexity due to the search"),
        Column("bits_per_word_se", "number", "the same of the bits per word, ends included"),
        Column("bias_bits_per_word", "number", "expected excess of the estimated bits per word"),
    ),
)
WORD_SURPRISALS = Schema(
    name="surprisals of words",
    file="surprisal.tsv",
    columns=(
        *(_RUN[0], Column("sentence_id", "integer", "number of the sentence, from 1")),
        *(_WORD_ID, _WORD, _SEEN),
        Column("seen_as", "text", "the word, its unknown-word class, or its subword units"),
        _BITS,
    ),
    optional=SEARCH_COLUMNS,
)
BRACKETING = Schema(
    name="bracketing scores",
    file="f1.csv",
    columns=(
        *(_RUN[0], Column("sentences", "integer", "number of sentences")),
        Column("precision", "number", "labelled precision"),
        Column("recall", "number", "labelled recall"),
        Column("f1", "number", "labelled F1"),
        Column("exact_match", "number", "fraction of sentences without an error"),
        Column("best_parse_share", "number", "mean posterior share of the best parse"),
    ),
)
CORPUS_STATISTICS = Schema(
    name="corpus statistics",
    file="statistics.csv",
    columns=(
        *(_CORPUS, Column("split", "text", "train, valid or test")),
        Column("sentences", "integer", "number of sentences"),
        Column("tokens", "integer", "number of words"),
        Column("types", "integer", "number of distinct words"),
        Column("vocabulary", "optional integer", "number of units that models predict"),
        Column("unknown", "optional integer", "number of out-of-vocabulary tokens"),
        Column("unknown_rate", "number", "fraction of out-of-vocabulary tokens"),
        Column("mean_length", "number", "mean number of words per sentence"),
        Column("median_length", "number", "median number of words per sentence"),
        Column("longest", "integer", "number of words of the longest sentence"),
    ),
)
LENGTHS = Schema(
    name="sentence lengths",
    file="lengths.csv",
    columns=(
        *(_CORPUS, Column("split", "text", "train, valid or test")),
        Column("length", "integer", "number of words"),
        Column("sentences", "integer", "number of sentences of this length"),
    ),
)
CONSTRUCTIONS = Schema(
    name="construction counts",
    file="constructions.csv",
    columns=(
        *(_CORPUS, Column("construction", "text", "name of the construction")),
        Column("count", "integer", "number of matching nodes"),
        Column("sentences", "integer", "number of trees with a matching node"),
        Column("total_sentences", "integer", "total number of trees"),
        Column("per_thousand", "number", "matches per thousand sentences"),
        Column("annotation", "text", "which pattern was used: annotated or plain"),
    ),
)
ESTIMATES = Schema(
    name="estimates",
    columns=(
        Column("term", "text", "estimated quantity"),
        Column("estimate", "number", "the estimate"),
        Column("low", "number", "lower end of its 95 % interval"),
        Column("high", "number", "upper end of its 95 % interval"),
    ),
)
RUNS = Schema(
    name="runs",
    file="runs.csv",
    columns=(
        *_RUN,
        Column("status", "text", "done, running, unfinished, failed, damaged, copy or stray"),
        Column("reason", "text", "why the run is not done, or which process is training it"),
        Column("epochs", "optional integer", "number of epochs so far"),
        Column("valid_perplexity", "number", "perplexity on the validation split"),
        Column("test_perplexity", "number", "perplexity on the test split"),
        Column("seconds", "number", "duration of the training so far, in seconds"),
        Column("megabytes", "number", "size of the run folder on disk"),
    ),
    others="text",
)
METRICS = Schema(
    name="training metrics",
    columns=(Column("epoch", "integer", "number of the epoch, from 0"),),
    optional=(
        Column("step", "integer", "number of optimiser steps so far"),
        Column("learning_rate", "number", "learning rate at the end of the epoch"),
        Column("seconds", "number", "duration of the epoch, in seconds"),
    ),
    others="number",
)
