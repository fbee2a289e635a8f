"""ARPA files, the format of n-gram models of SRILM, KenLM and others, and their family.

A file has one section of lines ``log10(p) <tab> words [<tab> log10(backoff)]`` for each order;
errors name file and line. ``task=adopt`` stores such a model in a run folder, with its own
vocabulary, and scoring opens it from there; the family ``ngram`` reads such files too. Settings are
read from here, without torch.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.readers.base import require_text
from gardenpath.data.words.vocabulary import (
    BEGIN_ID,
    END_ID,
    SPECIALS,
    UNKNOWN,
    UNKNOWN_ID,
    Language,
    Vocabulary,
)
from gardenpath.errors import DamagedRunError, InputError
from gardenpath.models.family import AdoptedFamily, AdoptedSettings, ModelSettings
from gardenpath.models.ngram.model import ABSENT, NgramModel, NgramScorer, NgramTable
from gardenpath.settings.schema import Bounds
from gardenpath.store.files import fingerprint, open_text, sha256_of
from gardenpath.store.run_folder import VOCABULARY_FILE, WEIGHTS_FILE
from gardenpath.util import NATS_PER_LOG10

if TYPE_CHECKING:
    from gardenpath.data.words.pieces import Boundary
    from gardenpath.data.words.vocabulary import Language


# ARPA files write this value for a probability of zero, because the logarithm is infinite.
LOG10_ZERO = -99.0


@dataclass(eq=False)
class ArpaSection:
    """The n-grams of one order in the order of the file; compact, because there may be millions."""

    order: int
    ids: array[int] = field(default_factory=lambda: array("q"))
    """The words of all n-grams, one n-gram after the other."""
    log10: array[float] = field(default_factory=lambda: array("d"))
    """Probability and backoff weight of each n-gram."""
    lines: array[int] = field(default_factory=lambda: array("q"))
    """Line of each n-gram in the file."""

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def grams(self) -> Ints:
        """``(n-grams, order)`` ids of words."""
        return np.array(self.ids, dtype=np.int64).reshape(-1, self.order)

    @property
    def values(self) -> Floats:
        """``(n-grams, 2)`` log probabilities and log backoff weights, in nats."""
        log10 = np.array(self.log10).reshape(-1, 2)
        return np.where(log10 <= LOG10_ZERO, -np.inf, log10 * NATS_PER_LOG10)


def build_model(sections: Sequence[ArpaSection], tokens: Sequence[str], path: Path) -> NgramModel:
    """Return the model of the sections of a file; words are numbered as in ``tokens``.

    SRILM's pruning can remove an n-gram but keep a longer one that begins with it. Such an n-gram
    is inserted with the probability that it has by backing off, and with backoff weight one: no
    probability changes.
    """
    for section in sections:
        _require_distinct(section, tokens, path)
    nothing = [np.zeros((0, section.order), dtype=np.int64) for section in sections]
    # Files that are not pruned list all contexts, and finding missing ones takes longer.
    model = _built(sections, nothing, len(tokens))
    if model is None:
        missing = _missing_contexts([section.grams for section in sections])
        model = _built(sections, missing, len(tokens))
    assert model is not None
    return model


def _require_distinct(section: ArpaSection, tokens: Sequence[str], path: Path) -> None:
    grams = section.grams
    by_words = np.lexsort(grams.T)
    is_same = (grams[by_words[1:]] == grams[by_words[:-1]]).all(axis=1)
    if not is_same.any():
        return
    place = int(is_same.argmax())
    first, again = (section.lines[int(row)] for row in by_words[place : place + 2])
    spelled = " ".join(tokens[word] for word in grams[by_words[place]])
    raise InputError(
        f"{spelled!r} is listed twice, first in line {first}",
        path=path,
        line=again,
        remedy="remove one of the two lines and correct the number of n-grams; <UNK> is <unk>",
    )


def _missing_contexts(grams: Sequence[Ints]) -> list[Ints]:
    """Return, for each order, the beginnings of longer n-grams that are not listed."""
    missing = [np.zeros((0, order), dtype=np.int64) for order in range(1, len(grams) + 1)]
    for level in range(len(grams) - 1, 1, -1):
        longer = np.concatenate([grams[level], missing[level]])[:, :-1]
        listed = np.unique(grams[level - 1], axis=0)
        both, counts = np.unique(
            np.concatenate([listed, listed, np.unique(longer, axis=0)]), axis=0, return_counts=True
        )
        missing[level - 1] = both[counts == 1]  # not among those listed, which are counted twice
    return missing


def _built(
    sections: Sequence[ArpaSection], missing: Sequence[Ints], size: int
) -> NgramModel | None:
    """Return the model of listed and missing n-grams; None if others are missing."""
    log_probs, log_backoffs = np.full(size, -np.inf), np.zeros(size)
    words, unigrams = sections[0].grams[:, 0], sections[0].values
    log_probs[words], log_backoffs[words] = unigrams[:, 0], unigrams[:, 1]
    # The begin symbol is never predicted, whatever number a file gives it (KenLM writes 0).
    log_probs[BEGIN_ID] = -np.inf
    model = NgramModel(
        tables=[NgramTable(np.arange(size), size)],
        log_probs=[log_probs],
        log_backoffs=[log_backoffs],
    )
    for section, absent in zip(sections[1:], missing[1:], strict=True):
        # Log probabilities by backing off, and backoff weights of one.
        inserted = np.zeros((len(absent), 2))
        if len(absent):
            weights = model.log_backoffs[-1][_rows(model, absent[:, :-1])]
            inserted[:, 0] = model.score_ngrams(absent) + weights
        grams = np.concatenate([section.grams, absent])
        contexts = _rows(model, grams[:, :-1])
        if (contexts == ABSENT).any():
            return None
        keys = contexts * size + grams[:, -1]
        by_key = np.argsort(keys)
        values = np.concatenate([section.values, inserted])
        model.tables.append(NgramTable(keys[by_key], size))
        model.log_probs.append(values[by_key, 0])
        model.log_backoffs.append(values[by_key, 1])
    return model


def _rows(model: NgramModel, grams: Ints) -> Ints:
    """``(n-grams,)`` rows of n-grams of the highest order of a model, ``ABSENT`` if not listed."""
    rows = grams[:, 0]
    for level in range(1, grams.shape[1]):
        rows = model.tables[level].find(rows, grams[:, level])
    return rows


# ----------------------------------------------------------------------------
# Read the lines of a file.

# Numbers of more digits than any model could have are not numbers of n-grams.
_COUNT = re.compile(r"ngram[ \t]+([0-9]{1,3})[ \t]*=[ \t]*([0-9]{1,15})")
_SECTION = re.compile(r"\\([0-9]{1,3})-grams:")
# Words may contain other characters that look like blanks, and numbers may not.
_BLANKS = re.compile(r"[ \t]+")
_NUMBER = re.compile(r"-inf|[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Probabilities may be a little above 1 by rounding.
_LARGEST_LOG10 = 1e-3
# Larger backoff weights are not the exponents of numbers.
_LARGEST_BACKOFF = 300.0
# Another spelling of the unknown word, which SRILM and KenLM accept too.
_SPELLINGS = {"<UNK>": UNKNOWN}


def read_arpa(path: Path, *, language: Language = "en") -> tuple[NgramModel, Vocabulary]:
    """Read a model and its own vocabulary."""
    require_text(path)
    reading = _Reading(path)
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if reading.read_line(line.strip(" \t\r\n"), number):
                break
    reading.require_complete()
    tokens = tuple(reading.numbers)
    vocabulary = Vocabulary(
        tokens=tokens, counts=(0,) * len(tokens), labels=(), language=language, min_count=1,
    )  # fmt: skip
    return build_model(reading.sections, tokens, path), vocabulary


class _Reading:
    """The content of a file, line by line; words get their numbers from the unigrams."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.numbers = {word: number for number, word in enumerate(SPECIALS)}
        self.sections: list[ArpaSection] = []
        self._listed: dict[str, int] = {}
        self._declared: dict[int, int] = {}
        self._is_begun = self._is_ended = False

    def read_line(self, text: str, number: int) -> bool:
        """Read a line; whether it is the last one."""
        if not self._is_begun:
            self._is_begun = text == "\\data\\"  # any text may precede it
        elif not self.sections and (match := _COUNT.fullmatch(text)):
            self._declared[int(match[1])] = int(match[2])
        elif match := _SECTION.fullmatch(text):
            self.sections.append(ArpaSection(order := len(self.sections) + 1))
            if int(match[1]) != order:
                problem = f"\\{int(match[1])}-grams: where \\{order}-grams: is expected"
                remedy = "sections are in the order of their n-grams, from 1"
                raise InputError(problem, path=self.path, line=number, remedy=remedy)
        elif text == "\\end\\":
            self._is_ended = True
        elif text and self.sections:
            self._read_entry(text, number)
        return self._is_ended

    def _read_entry(self, text: str, number: int) -> None:
        section = self.sections[-1]
        words, log10_prob, log10_backoff = _parse_entry(text, section.order, self.path, number)
        words = [_SPELLINGS.get(word, word) for word in words]
        if section.order == 1:
            self._listed[words[0]] = self.numbers.setdefault(words[0], len(self.numbers))
        try:
            section.ids.extend([self._listed[word] for word in words])
        except KeyError as error:
            raise InputError(
                f"the word {error} occurs in an n-gram of order {section.order} but not among the "
                "unigrams",
                path=self.path,
                line=number,
            ) from error
        section.log10.extend((log10_prob, log10_backoff))
        section.lines.append(number)

    def require_complete(self) -> None:
        """Raise an error if the file has no end, or other n-grams than it declares."""
        declared = [count for _, count in sorted(self._declared.items())]
        listed = [len(section) for section in self.sections]
        is_numbered = sorted(self._declared) == list(range(1, len(listed) + 1))
        if not self._is_ended or not listed or listed != declared or not is_numbered:
            raise InputError(
                f"is not a complete ARPA file: it declares {declared} n-grams and contains "
                f"{listed}",
                path=self.path,
                remedy="create it again",
            )


def _parse_entry(line: str, order: int, path: Path, number: int) -> tuple[list[str], float, float]:
    fields = _BLANKS.split(line)
    try:
        if len(fields) not in (order + 1, order + 2):
            raise ValueError
        log10_prob = _number(fields[0])
        backoff = _number(fields[-1]) if len(fields) == order + 2 else 0.0
        if not (log10_prob <= _LARGEST_LOG10 and backoff <= _LARGEST_BACKOFF):
            raise ValueError
        return fields[1 : order + 1], log10_prob, backoff
    except ValueError:
        raise InputError(
            f"cannot read {line[:200]!r} as an n-gram of order {order}",
            path=path,
            line=number,
            remedy="expected: log10 probability (at most 0), words, optional log10 backoff",
        ) from None


def _number(text: str) -> float:
    """Read a number as other programs do; Python also accepts other digits and underscores."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return float(text)


# ----------------------------------------------------------------------------
# The family of n-gram models in ARPA files, and an adopted model.


@dataclass(frozen=True, kw_only=True)
class ArpaSettings:
    """How the model of an ARPA file is used."""

    unknown_log10: Annotated[float, Bounds(-1000.0, 0.0)] | None = None
    """Log10 probability of unknown words, before backing off, if the file gives them none: KenLM
    uses -100. With null their probability is zero and their surprisal infinite."""


@dataclass(frozen=True, kw_only=True)
class ArpaNgramModel(AdoptedSettings):
    """An n-gram model from an ARPA file."""

    family: Literal["arpa"] = "arpa"
    network: ArpaSettings = ArpaSettings()


class ArpaFamily(AdoptedFamily):
    """N-gram models from ARPA files, with their own vocabularies."""

    settings: ClassVar[type[ModelSettings]] = ArpaNgramModel

    def adopt(self, settings: ArpaNgramModel, source: str, folder: Path) -> AdoptedSettings:
        from gardenpath.models.ngram.arpa import read_arpa

        # The language selects among classes of unknown words, which only own models have.
        language: Language = "zh" if settings.language == "zh" else "en"
        model, vocabulary = read_arpa(Path(source), language=language)
        vocabulary.save(folder / VOCABULARY_FILE)
        model.save(folder / WEIGHTS_FILE)
        return settings

    def identity(self, settings: ArpaNgramModel, folder: Path) -> str:
        files = {name: sha256_of(folder / name) for name in (VOCABULARY_FILE, WEIGHTS_FILE)}
        return fingerprint("arpa", 1, files=files)

    def open(
        self,
        settings: ArpaNgramModel,
        folder: Path,
        *,
        device: str,
        boundary: Boundary | None,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> ArpaModel:

        return ArpaModel(folder, settings.network, on_words)


# Number of sentences scored together, after which progress is reported.
_AT_ONCE = 5_000
_AGAIN = "copy the run folder again, or adopt the model again"


@dataclass
class ArpaModel:
    """An adopted n-gram model; its files are read when they are first needed."""

    _folder: Path
    _settings: ArpaSettings
    _on_words: Callable[[int], None]

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        If the file lists no ``</s>``, ends have no probability, and their values are NaN.
        """
        scorer = NgramScorer(model=self._model, vocabulary=self._vocabulary)
        log_probs: list[Floats] = []
        for begin in range(0, len(sentences), _AT_ONCE):
            chunk = sentences[begin : begin + _AT_ONCE]
            log_probs += scorer.word_log_probs(chunk)
            self._on_words(sum(map(len, chunk)))
        if not self._predicts_ends:
            for scores in log_probs:
                scores[-1] = np.nan
        return log_probs

    def knows(self, word: str) -> bool:
        """Whether the file lists the word."""
        return self._vocabulary.knows(word)

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return each word, or the symbol of unknown words for it."""
        return [
            self._vocabulary.seen_as(word, is_first=position == 0)
            for position, word in enumerate(words)
        ]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        try:
            return Vocabulary.load(self._folder / VOCABULARY_FILE)
        except InputError as error:
            raise DamagedRunError(f"{error}; {_AGAIN}") from error

    @cached_property
    def _model(self) -> NgramModel:
        path = self._folder / WEIGHTS_FILE
        model = NgramModel.load(path, words=len(self._vocabulary), remedy=_AGAIN)
        unknown = self._settings.unknown_log10
        if unknown is not None and model.log_probs[0][UNKNOWN_ID] == -np.inf:
            model.log_probs[0][UNKNOWN_ID] = unknown * NATS_PER_LOG10
        return model

    @property
    def _predicts_ends(self) -> bool:
        model = self._model
        listed = (bool((table.words == END_ID).any()) for table in model.tables[1:])
        return model.log_probs[0][END_ID] > -np.inf or any(listed)
