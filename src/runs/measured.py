"""Surprisals of one model on the sentences of test suites.

The model may be a run, any other model that implements the protocol :class:`Scorer`, the exact
grammar of a toy corpus, or a table of surprisals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gardenpath.data.arrays import Words
from gardenpath.data.pcfg.prefix import ExactModel
from gardenpath.data.readers.toy import ToyTreebank
from gardenpath.errors import GardenpathError
from gardenpath.eval.perplexity.comparison import EXACT
from gardenpath.eval.suites.scoring.results import RunName
from gardenpath.eval.word_scorer import OnWords, Scorer
from gardenpath.runs.run import Run
from gardenpath.units import bits

if TYPE_CHECKING:
    import pandas as pd

Parses = Sequence[Sequence[tuple[float, str]]]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Surprisal in bits of each word of sentences; NaN if undefined.

    ``language`` is None for a model that may be tested in any language. ``remedies`` maps each
    sentence without a surviving hypothesis to the setting to change.
    """

    name: RunName
    language: str | None
    surprisal_bits: Mapping[Words, Sequence[float]]
    knows: Callable[[str], bool] = lambda _: True
    unigram_log_prob: Callable[[str], float] | None = None
    parses: Mapping[Words, Parses] = field(default_factory=dict)
    remedies: Mapping[Words, str] = field(default_factory=dict)

    def fits(self, language: str) -> bool:
        """Whether the model can be tested on suites in a language."""
        return self.language in (None, language)


def measured_run(
    run: Run,
    sentences: Sequence[Words],
    *,
    parsed: Iterable[Words] = (),
    on_words: OnWords = lambda _: None,
) -> Measured:
    """Return the surprisals of a run, with partial parses of ``parsed`` sentences."""
    scored = run.scored(sentences, parsed=parsed, on_words=on_words)
    return Measured(
        name=run.name,
        language=run.language,
        surprisal_bits={w: one.surprisal_bits[: len(w)] for w, one in scored.items()},
        knows=run.knows,
        unigram_log_prob=run.unigram_log_prob,
        parses={w: one.parses for w, one in scored.items() if one.parses is not None},
        remedies={w: one.remedy for w, one in scored.items() if one.remedy is not None},
    )


def measured_scorer(scorer: Scorer, sentences: Sequence[Words]) -> Measured:
    """Return the surprisals of any other model.

    Its attributes ``name``, ``language`` and ``knows`` are used if present.
    """
    log_probs = scorer.word_log_probs(sentences)
    name = str(getattr(scorer, "name", type(scorer).__name__))
    values = {}
    for words, scores in zip(sentences, log_probs, strict=True):
        if len(scores) not in (len(words), len(words) + 1):
            raise GardenpathError(
                f"{name}: {len(scores)} log probabilities for the {len(words)} words of "
                f"{' '.join(words)!r}; word_log_probs must return one per word and, last, one for "
                "the end"
            )
        values[words] = bits(np.asarray(scores, dtype=np.float64)[: len(words)]).tolist()
    return Measured(
        name=RunName(run=name, model=name),
        language=getattr(scorer, "language", None),
        surprisal_bits=values,
        knows=getattr(scorer, "knows", lambda _: True),
    )


def exact_grammars(runs: Iterable[Run], sentences: Callable[[str], list[Words]]) -> list[Measured]:
    """Return the surprisals of the grammars of toy corpora, each once, as if they were models.

    ``sentences`` returns the sentences in a language.
    """
    found: dict[str, Measured] = {}
    for run in runs:
        data = run.settings.data
        if data.name in found or not isinstance(data.reader, ToyTreebank):
            continue
        asked = sentences(data.language)
        log_probs = ExactModel(data.reader.rules).word_log_probs(asked)
        found[data.name] = Measured(
            name=RunName(run=f"exact/{data.name}", model=EXACT, corpus=data.name),
            language=data.language,
            # After an impossible word, all following words are impossible.
            surprisal_bits={
                words: np.nan_to_num(bits(scores[:-1]), nan=np.inf, posinf=np.inf).tolist()
                for words, scores in zip(asked, log_probs, strict=True)
            },
            knows=run.knows,
            unigram_log_prob=run.unigram_log_prob,
        )
    return list(found.values())


def measured_table(table: Any, sentences: Sequence[Words]) -> list[Measured]:
    """Return surprisals from a table, with one model for each value of ``model`` (or ``run``).

    The table has the columns ``sentence_id``, ``word`` and ``surprisal_bits``, with words in order,
    as returned by :meth:`Run.surprisal`; rows ``</s>`` are ignored. Alternatively, it is a mapping
    from models to mappings from sentences, as strings or tuples of words, to surprisals in bits.
    Every sentence of the suites must be present.
    """
    by_model = _from_mapping(table) if isinstance(table, Mapping) else _from_frame(table)
    found = []
    for name, (run, values) in by_model.items():
        lacking = [words for words in sentences if words not in values]
        if lacking:
            raise GardenpathError(
                f"{name}: no surprisals for {len(lacking)} of {len(sentences)} sentences, such as "
                f"{' '.join(lacking[0])!r}; score the sentences of the suites word by word"
            )
        known = {words: values[words] for words in sentences}
        found.append(Measured(name=run, language=None, surprisal_bits=known))
    return found


_ByModel = dict[str, tuple[RunName, dict[Words, list[float]]]]


def _from_mapping(table: Mapping[str, Mapping[Any, Sequence[float]]]) -> _ByModel:
    found: _ByModel = {}
    for model, scored in table.items():
        values: dict[Words, list[float]] = {}
        for sentence, surprisals in scored.items():
            words = tuple(sentence.split()) if isinstance(sentence, str) else tuple(sentence)
            _require_one_per_word(model, words, surprisals)
            values[words] = [float(value) for value in surprisals[: len(words)]]
        found[model] = (RunName(run=model, model=model), values)
    return found


def _require_one_per_word(model: str, words: Words, surprisals: Sequence[float]) -> None:
    if len(surprisals) not in (len(words), len(words) + 1):
        raise GardenpathError(
            f"{model}: {len(surprisals)} surprisals for the {len(words)} words of "
            f"{' '.join(words)!r}; give one for each word"
        )


def _from_frame(table: pd.DataFrame) -> _ByModel:
    needed = ("sentence_id", "word", "surprisal_bits")
    if missing := [column for column in needed if column not in table.columns]:
        raise GardenpathError(
            f"the table of surprisals has no column {', '.join(missing)}; it needs "
            f"{', '.join(needed)}, and model or run for several models"
        )
    who = [column for column in ("run", "model", "seed") if column in table.columns]
    found: _ByModel = {}
    groups = table.groupby(who, sort=False, dropna=False) if who else [((), table)]
    for key, rows in groups:
        named = dict(zip(who, key if isinstance(key, tuple) else (key,), strict=True))
        name = _name_from(named)
        found[name.run] = (name, _sentences_from(rows))
    return found


def _name_from(named: Mapping[str, Any]) -> RunName:
    model = str(named.get("model", named.get("run", "model")))
    seed: Any = named.get("seed")
    has_seed = seed is not None and seed == seed  # a missing seed may be NaN
    run = str(named.get("run", f"{model}/seed{seed}" if has_seed else model))
    return RunName(run=run, model=model, seed=int(seed) if has_seed else None)


def _sentences_from(rows: pd.DataFrame) -> dict[Words, list[float]]:
    from gardenpath.data.words.vocabulary import END

    rows = rows[rows["word"] != END]
    if "word_id" in rows.columns:
        rows = rows.sort_values(["sentence_id", "word_id"], kind="stable")
    return {
        tuple(map(str, group["word"])): [float(value) for value in group["surprisal_bits"]]
        for _, group in rows.groupby("sentence_id", sort=False)
    }
