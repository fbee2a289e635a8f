"""The table of surprisals: one row per run, sentence and word, in bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.sentence import Sentence
from gardenpath.data.words.subwords import Subwords
from gardenpath.data.words.unknown_words import UNKNOWN
from gardenpath.data.words.vocabulary import END, Vocabulary
from gardenpath.store.tables import SEARCH_COLUMN_NAMES
from gardenpath.units import bits

Setting = str | int | float | bool | None

# Whether the end of a sentence has a row of its own or none.
EndPolicy = Literal["row", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalRow:
    """The surprisal of one word, −log₂ p(word | preceding words); NaN if it is undefined.

    ``sentence_id`` and ``word_id`` count from 1. ``seen_as`` is the model's input: the word, its
    class if it is out of vocabulary, or its pieces separated by spaces. ``columns`` are what a
    search knows about the word (``SEARCH_COLUMNS`` of :mod:`gardenpath.store.tables`), by name: NaN
    if undefined, empty if the run needs no search. ``given`` are further columns of the input, such
    as item and condition.
    """

    run: str
    sentence_id: int
    word_id: int
    word: str
    seen_as: str
    surprisal_bits: float
    columns: Mapping[str, float] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def seen(self) -> bool:
        """Whether the word, or every piece of it, is in the model's vocabulary."""
        return is_seen(self.seen_as)


def is_seen(view: str) -> bool:
    """Whether what a model sees for a word is in its vocabulary, with every piece of it."""
    return not any(_is_unknown(part) for part in view.split(" "))


def _is_unknown(part: str) -> bool:
    return part == UNKNOWN or part.startswith("<unk-")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceFailure:
    """A sentence whose surprisals are undefined from a word onwards, and the setting to change.

    ``word_id`` is the number of words plus one if only the end is undefined. ``remedy`` is empty
    if the model itself assigns zero probability to the preceding words.
    """

    sentence_id: int
    place: str
    word_id: int
    remedy: str = ""

    def __str__(self) -> str:
        problem = f"{self.place}: no surprisal from word {self.word_id} on"
        return f"{problem} ({self.remedy})" if self.remedy else problem


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHeader:
    """How the surprisals of one run were computed.

    ``model`` is the family, ``vocabulary`` the hash of the vocabulary. ``search`` is ``none`` for
    models that need no search; ``settings`` are the settings of the search, such as beam widths.
    ``boundary`` says how words are made of pieces (:mod:`gardenpath.data.words.boundaries`); None
    if the units of the model are words.
    """

    run: str
    model: str
    vocabulary: str
    search: str = "none"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    failures: tuple[SentenceFailure, ...] = ()
    boundary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHeader:
    """Header of a table: its runs, its unit, and whether ends of sentences have rows.

    ``skipped`` are the run folders that were left out, each with the reason. ``measure`` is
    ``pll`` for pseudo-log-likelihoods, whose column has another name.
    """

    runs: tuple[RunHeader, ...]
    end_of_sentence: EndPolicy = "row"
    unit: Literal["bits"] = "bits"
    skipped: tuple[str, ...] = ()
    measure: Literal["surprisal", "pll"] = "surprisal"


def seen_as(
    words: Sequence[str], vocabulary: Vocabulary, subwords: Subwords | None = None
) -> tuple[str, ...]:
    """Return the model's input for each word of a sentence (see :class:`SurprisalRow`)."""
    if subwords is None:
        return tuple(
            vocabulary.seen_as(word, is_first=place == 0) for place, word in enumerate(words)
        )
    return tuple(
        " ".join(piece if piece in vocabulary.ids else UNKNOWN for piece in subwords.split(word))
        for word in words
    )


def rows_of(
    run_name: str,
    sentences: Sequence[Sequence[str]],
    log_probs_nats: Sequence[Floats],
    seen: Sequence[Sequence[str]],
    *,
    columns: Sequence[Mapping[str, Sequence[float]]] | None = None,
    given: Sequence[Sequence[Mapping[str, str]]] = (),
    end: bool = True,
) -> list[SurprisalRow]:
    """Return the rows of one run, in the order of the sentences.

    ``log_probs_nats`` contains, for each sentence, the log probability of each word, then its end;
    ``seen`` the model's input for each word (:func:`seen_as`), and ``columns`` further numbers of
    the words and the end, by name; ``given`` further columns of the input, for each word and the
    end. With ``end``, the end of each sentence is a row with the word
    ``</s>``.
    """
    rows: list[SurprisalRow] = []
    further = [{}] * len(sentences) if columns is None else columns
    parts = zip(sentences, log_probs_nats, seen, further, strict=True)
    for sentence_id, (words, log_probs, views, found) in enumerate(parts, start=1):
        carried = given[sentence_id - 1] if given else ()
        known = [(name, found[name]) for name in SEARCH_COLUMN_NAMES if name in found]
        surprisals = bits(np.asarray(log_probs, dtype=np.float64))
        triples = zip((*words, END), (*views, END), surprisals.tolist(), strict=True)
        rows.extend(
            SurprisalRow(
                run=run_name,
                sentence_id=sentence_id,
                word_id=word_id,
                word=word,
                seen_as=view,
                surprisal_bits=surprisal,
                columns={name: values[word_id - 1] for name, values in known},
                given=carried[word_id - 1] if carried else {},
            )
            for word_id, (word, view, surprisal) in enumerate(triples, start=1)
            if end or word_id <= len(words)
        )
    return rows


def failures_of(
    sentences: Sequence[Sentence],
    log_probs_nats: Sequence[Floats],
    remedies: Mapping[int, str],
) -> tuple[SentenceFailure, ...]:
    """Return the sentences with undefined surprisals; ``remedies`` maps indices to remedies."""
    return tuple(
        SentenceFailure(
            sentence_id=number + 1,
            place=str(sentence.source),
            word_id=int(np.isnan(log_probs).argmax()) + 1,
            remedy=remedies.get(number, ""),
        )
        for number, (sentence, log_probs) in enumerate(zip(sentences, log_probs_nats, strict=True))
        if np.isnan(log_probs).any()
    )
