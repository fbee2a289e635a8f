"""N-gram models: their tables, Kneser-Ney estimation, families, and masses of sets of pieces.

An n-gram is a row in the table of its order. Its key combines the row of the (n-1)-gram it extends
with its last word, so that any order fits into 64 bits and all n-grams of a text are looked up with
one vectorised search per order. Torch is not needed here.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from gardenpath.data.arrays import Bools, Floats, Ints
from gardenpath.data.encoding import EncodedSplit, PieceSets, encode_sentences, words_of_pieces
from gardenpath.data.sentence import Sharing
from gardenpath.data.words.pieces import Boundary, Subwords
from gardenpath.data.words.vocabulary import BEGIN_ID, END_ID, PAD_ID
from gardenpath.errors import DamagedRunError
from gardenpath.models.family import ModelSettings, TrainedFamily
from gardenpath.models.weights import load_arrays, save_arrays
from gardenpath.settings.schema import PositiveInt
from gardenpath.store.run_folder import VOCABULARY_FILE

if TYPE_CHECKING:
    from gardenpath.data.preparation import PreparedCorpus
    from gardenpath.data.words.vocabulary import Vocabulary

ABSENT = -1


@dataclass(frozen=True, slots=True)
class NgramTable:
    """The n-grams of one order, sorted by key = (row of the shorter n-gram) · vocabulary + word."""

    keys: Ints
    vocabulary_size: int

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def contexts(self) -> Ints:
        """For each n-gram, the row of its context in the table of the next lower order."""
        return self.keys // self.vocabulary_size

    @property
    def words(self) -> Ints:
        """The last word of each n-gram."""
        return self.keys % self.vocabulary_size

    def find(self, contexts: Ints, words: Ints) -> Ints:
        """Return the rows of n-grams; ``ABSENT`` if an n-gram or its context is not listed."""
        keys = contexts * self.vocabulary_size + words
        rows = np.searchsorted(self.keys, keys)
        rows[rows == len(self.keys)] = 0
        is_listed = (contexts != ABSENT) & (len(self.keys) > 0)
        if len(self.keys):
            is_listed &= self.keys[rows] == keys
        return np.where(is_listed, rows, ABSENT)


def find_all(tables: list[NgramTable], words: Ints, is_begin: Bools) -> list[Ints]:
    """Return, for each order, the row of the n-gram that ends at each position of a text.

    ``is_begin`` marks the begin symbol of each sentence; no n-gram crosses it.
    """
    rows_by_order = []
    previous = np.zeros(len(words), dtype=np.int64)  # the empty context has row 0
    for table in tables:
        rows = table.find(previous, words)
        rows_by_order.append(rows)
        previous = _shift(rows, is_begin)
    return rows_by_order


def _shift(rows: Ints, is_begin: Bools) -> Ints:
    """Return the rows at the previous position; nothing precedes a sentence."""
    shifted = np.concatenate([[ABSENT], rows[:-1]])
    shifted[is_begin] = ABSENT
    return shifted


def count_ngrams(
    words: Ints, is_begin: Bools, *, order: int, vocabulary_size: int
) -> tuple[list[NgramTable], list[Ints]]:
    """Return all n-grams of a text up to an order, and their frequencies.

    The table of order 1 lists the whole vocabulary, seen or not, in the order of ids.
    """
    tables = [NgramTable(np.arange(vocabulary_size), vocabulary_size)]
    counts = [np.bincount(words, minlength=vocabulary_size)]
    rows = words
    for _ in range(1, order):
        contexts = _shift(rows, is_begin)
        exists = contexts != ABSENT
        keys, inverse, occurrences = np.unique(
            contexts[exists] * vocabulary_size + words[exists],
            return_inverse=True,
            return_counts=True,
        )
        rows = np.full(len(words), ABSENT)
        rows[exists] = inverse
        tables.append(NgramTable(keys, vocabulary_size))
        counts.append(occurrences)
    return tables, counts


def suffix_rows(tables: list[NgramTable], order: int) -> Ints:
    """Return, for each n-gram of an order, the row of the n-gram without its first word.

    The row is ``ABSENT`` if the suffix is not listed, which happens only in pruned models.
    """
    if order == 2:
        return tables[1].words
    shorter = suffix_rows(tables, order - 1)
    table = tables[order - 1]
    return tables[order - 2].find(shorter[table.contexts], table.words)


# ----------------------------------------------------------------------------
# Modified interpolated Kneser-Ney smoothing (Chen and Goodman 1998), in vectorised form.
#
# The highest order uses counts. Lower orders use the number of different words that precede an
# n-gram, except that n-grams at the beginning of a sentence, which no word precedes, keep their
# counts. With discounts D1, D2, D3+ estimated for each order from the counts of counts::
#
#     p(w | context) = (a(context w) - D(a)) / sum_x a(context x)
#                      + backoff(context) · p(w | shorter context)
#
# and the empty context backs off to the uniform distribution.


# Used if a corpus is too small to estimate discounts.
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)

# Symbols that are never predicted.
NOT_PREDICTED = (PAD_ID, BEGIN_ID)


def estimate(
    words: Ints, is_begin: Bools, *, order: int, vocabulary_size: int
) -> tuple[list[NgramTable], list[Floats], list[Floats]]:
    """Return tables, log probabilities and log backoff weights (nats) of each order.

    ``words`` is the text with a begin and an end symbol around each sentence. Probabilities are
    already interpolated, so that scoring only has to back off.
    """
    tables, counts = count_ngrams(words, is_begin, order=order, vocabulary_size=vocabulary_size)
    adjusted, begins = [], np.arange(vocabulary_size) == BEGIN_ID
    for level, count in enumerate(counts[:-1]):
        # Each distinct longer n-gram adds one to the count of its suffix.
        preceded = np.bincount(suffix_rows(tables, level + 2), minlength=len(count))
        adjusted.append(np.where(begins, count, preceded))
        begins = begins[tables[level + 1].contexts]
    adjusted.append(counts[-1].copy())
    adjusted[0][list(NOT_PREDICTED)] = 0

    probabilities: list[Floats] = []
    backoffs: list[Floats] = []
    for level in range(order):
        size = len(tables[level - 1]) if level else 1
        contexts = tables[level].contexts
        direct, weight = _discounted(adjusted[level], contexts, size)
        if level == 0:
            lower = np.full(vocabulary_size, 1.0 / (vocabulary_size - len(NOT_PREDICTED)))
            lower[list(NOT_PREDICTED)] = 0.0
        else:
            lower = probabilities[-1][suffix_rows(tables, level + 1)]
            backoffs.append(weight)
        probabilities.append(direct + weight[contexts] * lower)
    backoffs.append(np.ones(len(tables[-1])))
    with np.errstate(divide="ignore"):
        return tables, [np.log(p) for p in probabilities], [np.log(b) for b in backoffs]


def _discounted(adjusted: Ints, contexts: Ints, context_count: int) -> tuple[Floats, Floats]:
    """Return discounted relative frequencies, and the mass that each context keeps for backing off.

    A context that is never followed by a word keeps all of its mass.
    """
    discounts = np.concatenate([[0.0], estimate_discounts(adjusted)])
    discount = discounts[np.minimum(adjusted, 3)]
    totals = np.bincount(contexts, weights=adjusted, minlength=context_count)
    kept = np.bincount(contexts, weights=discount, minlength=context_count)
    seen = totals > 0
    totals[~seen] = 1.0
    direct = (adjusted - discount) / totals[contexts]
    return direct, np.where(seen, kept / totals, 1.0)


def estimate_discounts(adjusted: Ints) -> tuple[float, float, float]:
    """Estimate D1, D2 and D3+ from the numbers of n-grams with counts 1, 2, 3 and 4."""
    n1, n2, n3, n4 = (int((adjusted == k).sum()) for k in range(1, 5))
    if min(n1, n2, n3, n4) == 0:
        return FALLBACK_DISCOUNTS
    y = n1 / (n1 + 2 * n2)
    discounts = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
    # A discount of zero would leave no mass for words never seen after a context.
    if any(not 0.0 < value <= k for k, value in enumerate(discounts, start=1)):
        return FALLBACK_DISCOUNTS
    return discounts


# ----------------------------------------------------------------------------
# Backoff n-gram language models, estimated from counts or read from an ARPA file.


@dataclass(eq=False, kw_only=True)
class NgramModel:
    """An n-gram model over a vocabulary of ids; log probabilities are in nats.

    If an n-gram is not listed, its probability is that of the n-gram without its first word, times
    the backoff weight of its context.
    """

    tables: list[NgramTable]
    log_probs: list[Floats]
    log_backoffs: list[Floats]

    @property
    def order(self) -> int:
        return len(self.tables)

    @property
    def vocabulary_size(self) -> int:
        return len(self.tables[0])

    def score(self, sentences: Sequence[Ints]) -> list[Floats]:
        """Return the log probability of each token and, last, of the end of the sentence."""
        if not sentences:
            return []
        lengths = np.array([len(sentence) for sentence in sentences])
        text, is_begin = with_boundaries(np.concatenate(sentences), lengths)
        scores = self._score_text(text, is_begin)[~is_begin]
        return np.split(scores, np.cumsum(lengths + 1)[:-1])

    def score_ngrams(self, grams: Ints) -> Floats:
        """``(n-grams,)`` log probabilities of the last words of n-grams after the other words."""
        is_begin = np.arange(grams.size) % grams.shape[1] == 0
        return self._score_text(grams.ravel(), is_begin).reshape(grams.shape)[:, -1]

    def last_log_probs(self, grams: Sequence[tuple[Sequence[int], bool, int]]) -> Floats:
        """Return the log probability of a token after a history, for each of ``grams``.

        A gram is a history, whether it begins a sentence, and a token.
        """
        lengths = np.array([len(history) + is_first + 1 for history, is_first, _ in grams])
        text = np.array(
            [
                token
                for history, is_first, last in grams
                for token in (*((BEGIN_ID,) if is_first else ()), *history, last)
            ],
            dtype=np.int64,
        )
        starts = np.zeros(len(text), dtype=bool)
        starts[np.cumsum(lengths) - lengths] = True
        scores: Floats = self._score_text(text, starts)[np.cumsum(lengths) - 1]
        return scores

    def _score_text(self, text: Ints, is_begin: Bools) -> Floats:
        rows = find_all(self.tables, text, is_begin)
        scores = self.log_probs[0][rows[0]]
        for level in range(1, self.order):
            # Backing off costs the weight of the context; an unlisted context has weight one.
            context = _shift(rows[level - 1], is_begin)
            backed_off = scores + _look_up(self.log_backoffs[level - 1], context, 0.0)
            scores = _look_up(self.log_probs[level], rows[level], backed_off)
        return scores

    def save(self, path: Path) -> None:
        arrays: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {}
        for level in range(self.order):
            arrays[f"keys.{level + 1}"] = self.tables[level].keys
            arrays[f"log_prob.{level + 1}"] = self.log_probs[level]
            arrays[f"log_backoff.{level + 1}"] = self.log_backoffs[level]
        save_arrays(arrays, path)

    @staticmethod
    def load(
        path: Path, *, words: int | None = None, remedy: str = "copy the run folder again"
    ) -> NgramModel:
        """Read a model written by :meth:`save`, over so many words."""
        arrays = load_arrays(path)
        try:
            size = len(arrays["keys.1"])
            levels = range(1, len(arrays) // 3 + 1)
            model = NgramModel(
                tables=[NgramTable(arrays[f"keys.{level}"], size) for level in levels],
                log_probs=[arrays[f"log_prob.{level}"] for level in levels],
                log_backoffs=[arrays[f"log_backoff.{level}"] for level in levels],
            )
        except (KeyError, IndexError, ValueError) as error:
            raise DamagedRunError(f"{path}: is not an n-gram model ({error})") from error
        if words not in (None, model.vocabulary_size):
            raise DamagedRunError(
                f"{path}: the model has {model.vocabulary_size} words, but {VOCABULARY_FILE} next "
                f"to it has {words}; {remedy}"
            )
        return model


def _look_up(values: Floats, rows: Ints, otherwise: Floats | float) -> Floats:
    """Return the values of rows, and ``otherwise`` for ``ABSENT`` rows; tables may be empty."""
    return np.where(rows == ABSENT, otherwise, np.append(values, 0.0)[rows])


def with_boundaries(tokens: Ints, lengths: Ints) -> tuple[Ints, Bools]:
    """Add a begin and an end symbol to each sentence; also mark the begin symbols."""
    ends = np.cumsum(lengths + 2)
    text = np.empty(int(ends[-1]), dtype=np.int64)
    is_begin = np.zeros(len(text), dtype=bool)
    is_begin[ends - (lengths + 2)] = True
    is_end = np.zeros(len(text), dtype=bool)
    is_end[ends - 1] = True
    text[is_begin] = BEGIN_ID
    text[is_end] = END_ID
    text[~(is_begin | is_end)] = tokens
    return text, is_begin


def train_ngram(split: EncodedSplit, *, vocabulary_size: int, order: PositiveInt = 5) -> NgramModel:
    """Estimate a Kneser-Ney model from a split."""
    text, is_begin = with_boundaries(split.tokens.astype(np.int64), split.lengths)
    tables, log_probs, log_backoffs = estimate(
        text, is_begin, order=order, vocabulary_size=vocabulary_size
    )
    return NgramModel(tables=tables, log_probs=log_probs, log_backoffs=log_backoffs)


def train_unigram(split: EncodedSplit, *, vocabulary_size: int) -> NgramModel:
    """Estimate a unigram model with add-one smoothing."""
    text, _ = with_boundaries(split.tokens.astype(np.int64), split.lengths)
    counts = np.bincount(text, minlength=vocabulary_size) + 1.0
    counts[list(NOT_PREDICTED)] = 0.0
    with np.errstate(divide="ignore"):
        log_probs = np.log(counts / counts.sum())
    return NgramModel(
        tables=[NgramTable(np.arange(vocabulary_size), vocabulary_size)],
        log_probs=[log_probs],
        log_backoffs=[np.zeros(vocabulary_size)],
    )


# ----------------------------------------------------------------------------
# Families of n-gram models, which are estimated from counts.


class EstimatedFamily(TrainedFamily):
    """Models that are estimated from counts in one pass."""

    @abc.abstractmethod
    def estimate(self, settings: Any, corpus: PreparedCorpus) -> tuple[NgramModel, Vocabulary]:
        """Return the model and the vocabulary it is defined on."""

    def load(self, settings: Any, vocabulary: Vocabulary, path: Path) -> NgramModel:
        return NgramModel.load(path, words=len(vocabulary))


@dataclass(frozen=True, kw_only=True)
class KneserNeySettings:
    """Modified interpolated Kneser-Ney smoothing."""

    order: PositiveInt = 5
    """Order of the model: 5 conditions on four words."""
    arpa: str | None = None
    """ARPA file of an existing model, which is used unchanged and with its own vocabulary."""


@dataclass(frozen=True, kw_only=True)
class KneserNeyModel(ModelSettings):
    """A Kneser-Ney n-gram model."""

    family: Literal["ngram"] = "ngram"
    network: KneserNeySettings = KneserNeySettings()


class KneserNeyFamily(EstimatedFamily):
    """Modified interpolated Kneser-Ney, or a model from an ARPA file."""

    settings: ClassVar[type[ModelSettings]] = KneserNeyModel

    def estimate(
        self, settings: KneserNeyModel, corpus: PreparedCorpus
    ) -> tuple[NgramModel, Vocabulary]:
        from gardenpath.models.ngram.arpa import read_arpa

        vocabulary, network = corpus.vocabulary, settings.network
        if network.arpa is not None:
            return read_arpa(Path(network.arpa), language=vocabulary.language)
        split = corpus.split("train")
        model = train_ngram(split, vocabulary_size=len(vocabulary), order=network.order)
        return model, vocabulary


@dataclass(frozen=True, kw_only=True)
class UnigramSettings:
    """Settings of unigram models (none)."""


@dataclass(frozen=True, kw_only=True)
class UnigramModel(ModelSettings):
    """A unigram model with add-one smoothing."""

    family: Literal["unigram"] = "unigram"
    network: UnigramSettings = UnigramSettings()


class UnigramFamily(EstimatedFamily):
    """Unigram models with add-one smoothing."""

    settings: ClassVar[type[ModelSettings]] = UnigramModel

    def estimate(
        self, settings: UnigramModel, corpus: PreparedCorpus
    ) -> tuple[NgramModel, Vocabulary]:
        vocabulary = corpus.vocabulary
        return train_unigram(corpus.split("train"), vocabulary_size=len(vocabulary)), vocabulary


# ----------------------------------------------------------------------------
# Word scores, and total probabilities of sets of pieces, for models over pieces.
#
# The mass of a set after a context is that of the n-grams listed with the context, plus the
# backoff weight times the mass after the shorter context of the tokens that are not listed. So the
# masses after all listed contexts follow from those after shorter ones.


class NgramScorer:
    """Scores words with an n-gram model, like a scorer of sequential networks.

    Prefixes are not shared, because a lookup costs less than finding them. ``boundary`` says how
    the pieces of a word make its probability; it has no effect on models of whole words.
    """

    def __init__(
        self,
        *,
        model: NgramModel,
        vocabulary: Vocabulary,
        subwords: Subwords | None = None,
        boundary: Boundary | None = None,
    ) -> None:
        self._model = model
        self._vocabulary = vocabulary
        self._subwords = subwords
        self.sharing = Sharing(0, 0)
        self._boundary: Boundary = boundary if subwords is not None and boundary else "none"
        self._sets = None if self._boundary == "none" else PieceSets(vocabulary)
        self._after: list[Floats] = []

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the log probability (nats) of each word and, last, of the end of each sentence."""
        return self.split_log_probs(encode_sentences(sentences, self._vocabulary, self._subwords))

    def split_log_probs(self, split: EncodedSplit) -> list[Floats]:
        """Like :meth:`word_log_probs`, for sentences that are already encoded."""
        sentences = [split.sentence(number).astype(np.int64) for number in range(len(split))]
        scores = self._model.score(sentences)
        masses: Sequence[Floats | None] = [None] * len(split)
        if self._sets is not None and self._boundary == "next":
            masses = self._after_words(sentences, self._sets)
        elif self._sets is not None:
            masses = [self._alike(sentence, self._sets) for sentence in sentences]
        tokens = len(split.tokens) + len(split)
        self.sharing = Sharing(tokens, tokens)
        return [
            words_of_pieces(split, number, log_probs, mass, self._boundary)
            for number, (log_probs, mass) in enumerate(zip(scores, masses, strict=True))
        ]

    def _after_words(self, sentences: Sequence[Ints], sets: PieceSets) -> list[Floats]:
        """``(tokens + 1,)`` log masses of all tokens that can follow a word, by sentence."""
        if not sentences:
            return []
        after = self._after = self._after or masses_after(self._model, sets.follows_word)
        lengths = np.array([len(sentence) for sentence in sentences])
        text, is_begin = with_boundaries(np.concatenate(sentences), lengths)
        rows = find_all(self._model.tables, text, is_begin)
        masses = np.full(len(text), after[0][0])
        for level in range(1, self._model.order):
            context = _shift(rows[level - 1], is_begin)
            known = context != ABSENT
            masses[known] = after[level][context[known]]
        return np.split(np.log(masses[~is_begin]), np.cumsum(lengths + 1)[:-1])

    def _alike(self, sentence: Ints, sets: PieceSets) -> Floats:
        """Score each position with all pieces that begin with the piece at this position."""
        order = self._model.order
        tokens = [*sentence.tolist(), END_ID]
        histories: list[tuple[list[int], bool, int]] = []
        places: list[int] = []
        for place, token in enumerate(tokens):
            history = tokens[max(place - order + 1, 0) : place]
            # Shorter contexts than that of the model occur only at the beginning of a sentence.
            histories += [(history, place < order, int(piece)) for piece in sets.alike(token)]
            places += [place] * (len(histories) - len(places))
        result = np.full(len(tokens), -np.inf)
        np.logaddexp.at(result, np.array(places), self._model.last_log_probs(histories))
        return result


def masses_after(model: NgramModel, is_member: Bools) -> list[Floats]:
    """Return the mass of a set of tokens after each listed context, by length of the context."""
    probs = [np.exp(level_log_probs) for level_log_probs in model.log_probs]
    masses = [np.array([probs[0][is_member].sum()])]
    for level in range(1, model.order):
        table = model.tables[level]
        longer = np.flatnonzero(is_member[table.words])
        shorter = suffix_rows(model.tables, level + 1)[longer]
        contexts = table.contexts[longer]
        size = len(model.tables[level - 1])
        listed = np.bincount(contexts, weights=probs[level][longer], minlength=size)
        covered = np.bincount(contexts, weights=probs[level - 1][shorter], minlength=size)
        # Contexts without their first tokens; those of one token become the empty context.
        shorter_contexts = suffix_rows(model.tables, level) if level > 1 else np.zeros(size, int)
        below = masses[level - 1][shorter_contexts]
        weight = np.exp(model.log_backoffs[level - 1])
        masses.append(listed + weight * np.maximum(below - covered, 0.0))
    return masses
