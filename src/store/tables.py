"""Table schemas: columns with names, types and descriptions."""

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
# Truth values in files: R's spelling, and those of older tables.
_TRUE, _FALSE = ("TRUE", "True", "true", "1"), ("FALSE", "False", "false", "0")
# Representations of a missing number in files.
_MISSING = ["", "nan", "NaN"]


@dataclass(frozen=True, slots=True)
class TableColumn:
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
    columns: tuple[TableColumn, ...]
    optional: tuple[TableColumn, ...] = ()
    others: ColumnType | None = None
    remedy: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that every such table has."""
        return tuple(column.name for column in self.columns)

    def missing(self, columns: Iterable[str]) -> list[str]:
        """Return the names of required columns that are not among ``columns``."""
        given = set(columns)
        return [name for name in self.names if name not in given]

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
        spelled: dict[object, bool] = {True: True, False: False}
        spelled |= {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
        values = values.map(spelled)
        return values.astype(_DTYPES[kind])
    if not pd.api.types.is_numeric_dtype(values):
        values = pd.to_numeric(values.replace(_MISSING, None))
    return values.astype(_DTYPES[kind])


# ----------------------------------------------------------------------------
# The tables that Gardenpath writes: columns, file names, reading and writing.
#
# Tables are tidy: one row per observation. A schema lists the columns that every table of a kind
# has, with their meaning and unit; tables may have additional columns after them.


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
    frame = frame.assign(**{name: _flags(frame[name]) for name in flags})
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


def _flags(values: pd.Series) -> pd.Series:
    """Return truth values as text; missing ones stay missing."""
    return values.astype(object).map(flag_text, na_action="ignore")


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
            if kind in _NUMBERS and not _fits(text, kind):
                problem = f"column {name}: {text!r} is not a {_NUMBERS[kind]}"
                return InputError(problem, path=path, line=line)
    return InputError(f"is not a table of {schema.name}", path=path, remedy=schema.remedy)


def _fits(text: str, kind: str) -> bool:
    if not text:
        return kind != "integer"
    try:
        return float(text).is_integer() or kind == "number"
    except ValueError:
        return False


# Columns that several tables share.

_RUN = (
    TableColumn("run", "text", "run folder, or the name of the run"),
    TableColumn("model", "text", "name of the model"),
    TableColumn("corpus", "text", "training corpus; empty for surprisals from files"),
    TableColumn("seed", "optional integer", "random seed; empty for models without one"),
)
_SUITE = TableColumn("suite", "text", "name of the suite")
_ITEM = TableColumn("item", "integer", "number of the item in its suite")
_CLASS = TableColumn("class", "text", "class of phenomenon")
_MODIFIER = TableColumn("modifier", "text", "type of the material between the dependent words")
_CONDITION = TableColumn("condition", "text", "condition of the sentence")
_VARIANT = TableColumn("variant", "integer", "number of the variant of the condition, from 1")
_WORD_ID = TableColumn("word_id", "integer", "position of the word in the sentence, from 1")
_WORD = TableColumn("word", "text", "the word")
_SEEN = TableColumn("seen", "flag", "whether the word is in the model's vocabulary")
# How the words of models over pieces were scored; a further column where there are such models.
BOUNDARY_COLUMN = "boundary"
# Masked models have no surprisals: their numbers have a column of their own.
SURPRISAL_BITS, PLL_BITS = "surprisal_bits", "pll_bits"
_BITS = TableColumn(SURPRISAL_BITS, "number", "surprisal of the word, in bits")
_CORPUS = TableColumn("corpus", "text", "name of the corpus")
# What a search knows about each word; further columns of tables of surprisals. Analyses are partial
# parses of the words up to and including this one, weighted by their posterior probability.
SURPRISAL_SE = "surprisal_se"
SEARCH_COLUMNS = (
    TableColumn(SURPRISAL_SE, "number", "standard error of the surprisal, in bits"),
    TableColumn("entropy_bits", "number", "entropy over the analyses, in bits"),
    TableColumn(
        "entropy_reduction_bits", "number", "entropy before the word minus after it, in bits"
    ),
    TableColumn("open_constituents", "number", "expected number of open constituents"),
    TableColumn("analyses", "number", "number of analyses within a factor of 100 of the best"),
    TableColumn(
        "structure_bits",
        "number",
        "part of the surprisal that is due to a change of analysis, in bits",
    ),
    TableColumn("word_bits", "number", "expected surprisal given the analysis, in bits"),
    TableColumn("best_share", "number", "posterior probability of the best analysis"),
    TableColumn(
        "best_kept_share",
        "number",
        "posterior probability of the analyses that continue the best one before the word",
    ),
    TableColumn(
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
        TableColumn("prediction", "text", "name of the prediction"),
        TableColumn("outcome", "number", "1 if the prediction holds, 0 if not; ties in between"),
        TableColumn("tie", "flag", "whether the compared surprisals are equal"),
        TableColumn("difference_bits", "number", "margin in bits by which the prediction holds"),
        TableColumn("unknown", "integer", "number of out-of-vocabulary critical words"),
        TableColumn("unknown_words", "text", "these words, separated by spaces"),
    ),
    optional=(
        TableColumn(NEAR_TIE, "flag", "whether the outcome depends on too small a difference"),
        TableColumn(
            ERROR_COLUMNS["difference_bits"], "number", "standard error of the margin, in bits"
        ),
        TableColumn(COULD_FLIP, "optional flag", "whether the outcome is within the search error"),
    ),
    others="text",
    remedy="'python evaluate.py suite=…' writes one",
)
EFFECTS = Schema(
    name="effects",
    file="effects.csv",
    columns=(
        *(*_RUN, _SUITE, _CLASS, _MODIFIER, _ITEM),
        TableColumn("effect", "text", "name of the effect"),
        TableColumn("value_bits", "number", "size of the effect, in bits"),
    ),
    optional=(
        TableColumn(NEAR_TIE, "flag", "whether the effect is too small to tell from none"),
        TableColumn(ERROR_COLUMNS["value_bits"], "number", "its standard error, in bits"),
    ),
    others="text",
    remedy="'python evaluate.py suite=filler_gap' writes one",
)
EFFECT_MEANS = Schema(
    name="effect means",
    file="effect_means.csv",
    columns=(
        *(_RUN[1], _RUN[2], _SUITE, _CLASS, _MODIFIER),
        TableColumn("effect", "text", "name of the effect"),
        TableColumn("mean_bits", "number", "mean over items and runs, in bits"),
        TableColumn("low", "number", "lower end of the 95 % bootstrap interval over items"),
        TableColumn("high", "number", "upper end of the interval"),
        TableColumn("items", "integer", "number of items"),
        TableColumn("infinite", "integer", "number of values that are not finite, left out"),
        TableColumn(NEAR_TIES, "integer", "number of values too small to tell from zero"),
    ),
)
SURPRISALS = Schema(
    name="surprisals",
    file="surprisals.tsv",
    columns=(
        *(*_RUN, _SUITE, _ITEM, _CONDITION, _VARIANT),
        TableColumn("region", "text", "region of the suite that the word is in"),
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
        TableColumn("accuracy", "number", "mean outcome"),
        TableColumn("low", "number", "lower end of the 95 % bootstrap interval over items"),
        TableColumn("high", "number", "upper end of the interval"),
        TableColumn("items", "integer", "number of different items"),
        TableColumn("seeds", "integer", "number of runs"),
        TableColumn("ties", "integer", "number of exact ties, over all runs"),
        TableColumn("missing", "integer", "number of comparisons without a surprisal"),
        TableColumn("unknown", "integer", "items with out-of-vocabulary critical words"),
    ),
    optional=(
        TableColumn(NEAR_TIES, "integer", "number of near ties, over all runs"),
        TableColumn("usable", "integer", "items whose critical words and surprisals are all known"),
        TableColumn(COULD_FLIP, "optional integer", "number of outcomes within the search error"),
        TableColumn("pronoun", "text", "label of the items, if any"),
        TableColumn("flip_rate", "number", "fraction of items with two positive wh-effects"),
        TableColumn("flip", "optional flag", "whether both mean wh-effects are positive"),
        TableColumn("island_contrast", "optional flag", "whether they are weaker inside islands"),
    ),
)
SENTENCES = Schema(
    name="sentences",
    file="sentences.csv",
    columns=(
        *(*_RUN, _SUITE, _CLASS, _MODIFIER, _ITEM, _CONDITION, _VARIANT),
        TableColumn("words", "integer", "number of words"),
        TableColumn("local_bits", "number", "surprisal of the critical region, in bits"),
        TableColumn("global_bits_per_word", "number", "surprisal of the clause, in bits per word"),
        TableColumn("slor", "number", "syntactic log-odds ratio, in nats per word"),
    ),
    optional=(
        TableColumn(ERROR_COLUMNS["local_bits"], "number", "standard error of local_bits"),
        TableColumn(
            ERROR_COLUMNS["global_bits_per_word"], "number", "that of global_bits_per_word"
        ),
        TableColumn(ERROR_COLUMNS["slor"], "number", "that of slor, in nats per word"),
    ),
    others="text",
)
WORD_PAIRS = Schema(
    name="word pairs",
    file="word_pairs.csv",
    columns=(
        *(_CORPUS, _SUITE),
        TableColumn("region", "text", "region in which the two words alternate"),
        TableColumn("first", "text", "the first word"),
        TableColumn("second", "text", "the second word"),
        TableColumn("first_count", "integer", "count of the first in the training corpus"),
        TableColumn("second_count", "integer", "count of the second"),
        TableColumn("items", "integer", "number of items in which the two alternate"),
    ),
)
AGGREGATE = Schema(
    name="aggregate",
    file="aggregate.csv",
    columns=(
        *_RUN,
        TableColumn("set", "text", "published set of minimal pairs"),
        TableColumn("words", "text", "what divided the sentences into words"),
        TableColumn("score", "text", "what is compared: see docs/minimal_pairs.md"),
        TableColumn("official", "flag", "whether score and pairs are those of the authors"),
        TableColumn("level", "text", "paradigm, phenomenon, field or overall"),
        TableColumn("name", "text", "name of the paradigm, phenomenon, field or mean"),
        TableColumn("accuracy", "number", "share of correct pairs; ties as the authors count them"),
        TableColumn("accuracy_ties_half", "number", "the same; ties and near ties count 1/2"),
        TableColumn("paradigms", "integer", "number of paradigms"),
        TableColumn("pairs", "integer", "number of pairs"),
        TableColumn("ties", "integer", "number of pairs with equal scores"),
        TableColumn("missing", "integer", "number of pairs without a score"),
    ),
    optional=(TableColumn(NEAR_TIES, "integer", "number of pairs with nearly equal scores"),),
)

# Tables of other tasks and of training.

PERPLEXITY = Schema(
    name="perplexities",
    file="perplexity.csv",
    columns=(
        *(_CORPUS, _RUN[1], _RUN[3]),
        TableColumn("sentences", "integer", "number of sentences"),
        TableColumn("words", "integer", "number of words"),
        TableColumn("perplexity", "number", "per word, ends of sentences included"),
        TableColumn("perplexity_without_end", "number", "per word, ends of sentences excluded"),
        TableColumn("bits_per_sentence", "number", "mean surprisal of a sentence, in bits"),
        TableColumn("excess_bits_per_word", "number", "bits per word above the exact grammar"),
        TableColumn("trained_on", "text", "name of the training corpus"),
        TableColumn("vocabulary", "optional integer", "number of units that the model predicts"),
        TableColumn("unknown_rate", "number", "fraction of out-of-vocabulary words"),
        TableColumn("shared_perplexity", "number", "perplexity of words that all models know"),
    ),
    optional=(
        TableColumn("search", "text", "search of a marginal perplexity, with its settings"),
        TableColumn("perplexity_se", "number", "standard error of perplexity due to the search"),
        TableColumn("bits_per_word_se", "number", "the same of the bits per word, ends included"),
        TableColumn(
            "bias_bits_per_word", "number", "expected excess of the estimated bits per word"
        ),
    ),
)
WORD_SURPRISALS = Schema(
    name="surprisals of words",
    file="surprisal.tsv",
    columns=(
        *(_RUN[0], TableColumn("sentence_id", "integer", "number of the sentence, from 1")),
        *(_WORD_ID, _WORD, _SEEN),
        TableColumn("seen_as", "text", "the word, its unknown-word class, or its subword units"),
        _BITS,
    ),
    optional=SEARCH_COLUMNS,
)
BRACKETING = Schema(
    name="bracketing scores",
    file="f1.csv",
    columns=(
        *(_RUN[0], TableColumn("sentences", "integer", "number of sentences")),
        TableColumn("precision", "number", "labelled precision"),
        TableColumn("recall", "number", "labelled recall"),
        TableColumn("f1", "number", "labelled F1"),
        TableColumn("exact_match", "number", "fraction of sentences without an error"),
        TableColumn("best_parse_share", "number", "mean posterior share of the best parse"),
    ),
)
CORPUS_STATISTICS = Schema(
    name="corpus statistics",
    file="statistics.csv",
    columns=(
        *(_CORPUS, TableColumn("split", "text", "train, valid or test")),
        TableColumn("sentences", "integer", "number of sentences"),
        TableColumn("tokens", "integer", "number of words"),
        TableColumn("types", "integer", "number of distinct words"),
        TableColumn("vocabulary", "optional integer", "number of units that models predict"),
        TableColumn("unknown", "optional integer", "number of out-of-vocabulary tokens"),
        TableColumn("unknown_rate", "number", "fraction of out-of-vocabulary tokens"),
        TableColumn("mean_length", "number", "mean number of words per sentence"),
        TableColumn("median_length", "number", "median number of words per sentence"),
        TableColumn("longest", "integer", "number of words of the longest sentence"),
    ),
)
LENGTHS = Schema(
    name="sentence lengths",
    file="lengths.csv",
    columns=(
        *(_CORPUS, TableColumn("split", "text", "train, valid or test")),
        TableColumn("length", "integer", "number of words"),
        TableColumn("sentences", "integer", "number of sentences of this length"),
    ),
)
CONSTRUCTIONS = Schema(
    name="construction counts",
    file="constructions.csv",
    columns=(
        *(_CORPUS, TableColumn("construction", "text", "name of the construction")),
        TableColumn("count", "integer", "number of matching nodes"),
        TableColumn("sentences", "integer", "number of trees with a matching node"),
        TableColumn("total_sentences", "integer", "total number of trees"),
        TableColumn("per_thousand", "number", "matches per thousand sentences"),
        TableColumn("annotation", "text", "which pattern was used: annotated or plain"),
    ),
)
ESTIMATES = Schema(
    name="estimates",
    columns=(
        TableColumn("term", "text", "estimated quantity"),
        TableColumn("estimate", "number", "the estimate"),
        TableColumn("low", "number", "lower end of its 95 % interval"),
        TableColumn("high", "number", "upper end of its 95 % interval"),
    ),
)
RUNS = Schema(
    name="runs",
    file="runs.csv",
    columns=(
        *_RUN,
        TableColumn("status", "text", "done, running, unfinished, failed, damaged, copy or stray"),
        TableColumn("reason", "text", "why the run is not done, or which process is training it"),
        TableColumn("epochs", "optional integer", "number of epochs so far"),
        TableColumn("valid_perplexity", "number", "perplexity on the validation split"),
        TableColumn("test_perplexity", "number", "perplexity on the test split"),
        TableColumn("seconds", "number", "duration of the training so far, in seconds"),
        TableColumn("megabytes", "number", "size of the run folder on disk"),
    ),
    others="text",
)
METRICS = Schema(
    name="training metrics",
    columns=(TableColumn("epoch", "integer", "number of the epoch, from 0"),),
    optional=(
        TableColumn("step", "integer", "number of optimiser steps so far"),
        TableColumn("learning_rate", "number", "learning rate at the end of the epoch"),
        TableColumn("seconds", "number", "duration of the epoch, in seconds"),
    ),
    others="number",
)
