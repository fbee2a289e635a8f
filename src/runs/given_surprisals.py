"""Surprisals that a user gives: a table of words, or a mapping from sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gardenpath.data.words.vocabulary import END
from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.scoring.scored_items import RunName
from gardenpath.runs.measured import Measured, require_possible
from gardenpath.store.tables import SEARCH_COLUMN_NAMES
from gardenpath.text import Words

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("sentence_id", "word", "surprisal_bits")

# Surprisals (bits) of one sentence that differ by less came from the same computation.
_SAME = 1e-5


def measured_table(surprisals: Any, sentences: Sequence[Words]) -> list[Measured]:
    """Surprisals from a table, one model for each value of its columns ``model`` and ``run``.

    The table has the columns ``sentence_id``, ``word`` and ``surprisal_bits``, words in their
    order, as :meth:`Run.surprisal` gives them; rows ``</s>`` are left out. Or it is a mapping from
    models to mappings from sentences, as strings or tuples of words, to surprisals in bits. Every
    sentence of the suites must be there; what is not complete, or says two things of one sentence,
    is an error.
    """
    models = _from_mapping(surprisals) if isinstance(surprisals, Mapping) else _from(surprisals)
    for one in models:
        lacking = [words for words in sentences if words not in one.values]
        if lacking:
            raise GardenpathError(
                f"{one.name.run}: no surprisals for {len(lacking)} of {len(sentences)} sentences, "
                f"such as {' '.join(lacking[0])!r}; score the sentences of the suites word by word"
            )
    return [
        Measured(
            name=one.name,
            language=None,
            surprisal_bits={words: one.values[words] for words in sentences},
            is_searched=one.is_searched,
        )
        for one in models
    ]


@dataclass(frozen=True)
class _Given:
    """The surprisals of one model; ``is_searched``: they come from a search."""

    name: RunName
    values: dict[Words, list[float]] = field(default_factory=dict)
    is_searched: bool = False

    def add(self, words: Words, surprisals: Iterable[Any]) -> None:
        """Add a sentence; one that is there already must have the same surprisals."""
        found = [float(value) for value in surprisals]
        require_possible(self.name.run, words, found)
        if found and not any(found):
            raise GardenpathError(
                f"{self.name.run}: all surprisals of {' '.join(words)!r} are 0; give each word the "
                "surprisal that a model computed"
            )
        before = self.values.setdefault(words, found)
        if not all(map(_is_same, before, found)):
            raise GardenpathError(
                f"{self.name.run}: two different surprisals for {' '.join(words)!r}; give each "
                "sentence once, and tell models apart by the columns model, run or seed"
            )


def _is_same(one: float, other: float) -> bool:
    both_undefined = math.isnan(one) and math.isnan(other)
    return both_undefined or math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)


def _from_mapping(surprisals: Mapping[Any, Any]) -> list[_Given]:
    found = []
    for model, scored in surprisals.items():
        if not isinstance(scored, Mapping):
            raise GardenpathError(
                f"{model}: not a mapping from sentences to surprisals; give "
                "{model: {sentence: [bits, …]}}"
            )
        given = _Given(RunName(run=str(model), model=str(model)))
        for sentence, values in scored.items():
            words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
            if len(values) not in (len(words), len(words) + 1):
                raise GardenpathError(
                    f"{model}: {len(values)} surprisals for the {len(words)} words of "
                    f"{' '.join(words)!r}; give one for each word"
                )
            given.add(words, list(values)[: len(words)])
        found.append(given)
    return found


def _from(table: pd.DataFrame) -> list[_Given]:
    if not hasattr(table, "columns"):
        raise TypeError("surprisals are a DataFrame, or a mapping {model: {sentence: [bits, …]}}")
    if missing := [column for column in _COLUMNS if column not in table.columns]:
        raise GardenpathError(
            f"the table of surprisals has no column {', '.join(missing)}; it needs "
            f"{', '.join(_COLUMNS)}, and model or run for several models"
        )
    who = [column for column in ("run", "model", "seed") if column in table.columns]
    found: dict[str, _Given] = {}
    groups = table.groupby(who, sort=False, dropna=False) if who else [((), table)]
    for key, rows in groups:
        name = _name_from(dict(zip(who, key, strict=True)))
        if name.run in found:
            raise GardenpathError(
                f"{name.run}: the rows of this run are of several models or seeds "
                f"({found[name.run].name.model} and {name.model}); give each a run of its own"
            )
        given = _Given(name, is_searched=_is_searched(rows))
        found[name.run] = _sentences_from(rows, given)
    return list(found.values())


def _is_searched(rows: pd.DataFrame) -> bool:
    """Whether a table has numbers that only a search knows."""
    return any(rows[name].notna().any() for name in SEARCH_COLUMN_NAMES if name in rows.columns)


def _name_from(named: Mapping[str, Any]) -> RunName:
    model = str(named.get("model", named.get("run", "model")))
    seed = _seed_from(named.get("seed"))
    run = str(named.get("run", model if seed is None else f"{model}/seed{seed}"))
    return RunName(run=run, model=model, seed=seed)


def _seed_from(value: Any) -> int | None:
    if value is None or value != value:  # a missing seed may be NaN
        return None
    try:
        return int(value)
    except ValueError as error:
        raise GardenpathError(f"column seed: {value!r} is not a whole number") from error


def _sentences_from(rows: pd.DataFrame, given: _Given) -> _Given:
    rows = rows[rows["word"] != END]
    is_numbered = "word_id" in rows.columns
    if is_numbered:
        rows = rows.sort_values(["sentence_id", "word_id"], kind="stable")
    for _, group in rows.groupby("sentence_id", sort=False):
        words = tuple(map(str, group["word"]))
        if is_numbered:
            _require_numbered(given.name.run, words, group["word_id"].tolist())
        given.add(words, group["surprisal_bits"])
    return given


def _require_numbered(run: str, words: Words, numbers: Sequence[Any]) -> None:
    """Refuse sentences of which words are missing or given twice."""
    if any(after != before + 1 for before, after in itertools.pairwise(numbers)):
        raise GardenpathError(
            f"{run}: the words of {' '.join(words)!r} are numbered "
            f"{', '.join(map(str, numbers))}; give each word of a sentence once"
        )
