"""From the surprisals of words or tokens to those of regions, with their search errors.

``runs`` builds a :class:`RegionTable` for each run and suite, from which ``outcomes`` and
``effects`` take the values of formulas; published tables of tokens are aligned with suites here.
Settings import this module, so numerical libraries are loaded only inside functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.formula import WHOLE_SENTENCE, Lookup, Number, Value, signed_terms
from gardenpath.eval.suites.suite import Item, Metric, Suite, Variant
from gardenpath.util import Words

if TYPE_CHECKING:
    from gardenpath.data.arrays import Floats

# Alignment of tokens with the words and regions of a sentence, by character offsets.
#
# The sentence is its written text, with or without spaces between words. Tokens must cover it from
# left to right; spaces, case and the marks with which subword models show word boundaries are
# ignored. ``<unk>`` is aligned with the text that the neighbouring tokens do not cover. A token may
# cover several words of one region, but not parts of two regions, because its surprisal could not
# be divided between them.

# Start of a word (GPT-2, SentencePiece), end of a line (GPT-2), continuation (BERT, subword-nmt).
_MARKS_BEFORE = ("Ġ", "▁", "Ċ", "##")
_MARKS_AFTER = ("@@", "</w>")

_EDGES = frozenset(
    {
        *("<s>", "</s>", "<bos>", "<eos>", "<pad>", "[CLS]", "[SEP]", "[PAD]", "<|endoftext|>"),
        *("<|begin_of_text|>", "<|end_of_text|>", "<|startoftext|>"),
        *("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    }
)
_UNKNOWN = frozenset({"<unk>", "[UNK]", "UNK"})


# The values of the units of each region.
ByRegion = tuple[tuple[float, ...], ...]


class AlignmentError(GardenpathError):
    """Tokens do not spell the sentence, or cross a boundary of words or regions."""

    def __init__(self, problem: str, *, place: str) -> None:
        super().__init__(f"{place}: {problem}")


class Span(NamedTuple):
    """The characters of a token in the text; empty for a token that is only a mark."""

    start: int
    end: int


@cache
def is_edge(token: str) -> bool:
    """Whether a token only marks the start or the end of a sentence."""
    return token in _EDGES or token.lower() in _EDGES


@cache
def is_unknown(token: str) -> bool:
    """Whether a token represents an out-of-vocabulary word: ``<unk-caps>``, ``UNK-LC-s``."""
    bare = _without_marks(token)
    if bare in _UNKNOWN or bare.startswith("UNK-"):
        return True
    return bare.lower().startswith("<unk") and bare.endswith(">")


def place_of(suite: Suite, item: Item, variant: Variant) -> str:
    """Return the description of a sentence for errors."""
    return f"suite {suite.name}, item {item.number}, condition {variant.condition}"


def token_spans(
    text: str, tokens: Sequence[str], *, word_ends: Sequence[int], place: str
) -> tuple[Span | None, ...]:
    """Return the span of each token in the text; None for tokens that mark sentence edges.

    ``word_ends`` are the offsets at which words end: an ``<unk>`` token covers a whole word if
    possible, otherwise as few characters as allow the following tokens to be aligned.
    """
    ends = _token_ends(text, tokens, word_ends, place)
    spans: list[Span | None] = []
    position = 0
    for token, end in zip(tokens, ends, strict=True):
        start = _skip_blanks(text, position)
        spans.append(None if is_edge(token) else Span(min(start, end), end))
        position = end
    return tuple(spans)


def _token_ends(
    text: str, tokens: Sequence[str], word_ends: Sequence[int], place: str
) -> list[int]:
    """Return the end of each token; AlignmentError names the first without an alignment.

    Depth-first search without recursion; alternatives exist only for ``<unk>`` tokens.
    """
    stuck: set[tuple[int, int]] = set()
    furthest = 0

    def choices(number: int, position: int) -> Iterator[int]:
        """Yield the possible ends of a token that starts at a position, after any spaces."""
        if number < len(tokens):
            possible = _possible_ends(text, tokens[number], position, word_ends)
            yield from (end for end in possible if (number + 1, end) not in stuck)

    ends: list[int] = []
    open_choices = [choices(0, 0)]
    while len(ends) < len(tokens) or _skip_blanks(text, ends[-1] if ends else 0) < len(text):
        end = next(open_choices[-1], None)
        if end is not None:
            ends.append(end)
            furthest = max(furthest, len(ends))
            open_choices.append(choices(len(ends), end))
            continue
        open_choices.pop()
        if open_choices:
            stuck.add((len(ends), ends.pop()))
        elif furthest < len(tokens):
            problem = f"token {furthest + 1}, {tokens[furthest]!r}, does not continue the sentence"
            raise AlignmentError(f"{problem} {text!r}", place=place)
        else:
            last = tokens[-1] if tokens else ""
            problem = f"the {len(tokens)} tokens, the last of them {last!r}, do not cover"
            raise AlignmentError(f"{problem} the sentence {text!r}", place=place)
    return ends


def _possible_ends(text: str, token: str, position: int, word_ends: Sequence[int]) -> Iterator[int]:
    if is_edge(token):
        yield position
        return
    start = _skip_blanks(text, position)
    matches = list(dict.fromkeys(_matches(text, start, token)))
    yield from matches
    if is_unknown(token):
        wholes = [end for end in word_ends if end > start][:1]
        others = (end for end in range(start + 1, len(text) + 1) if end not in wholes)
        yield from (end for end in (*wholes, *others) if end not in matches)


def _matches(text: str, start: int, token: str) -> Iterator[int]:
    """Yield the possible ends of a token that starts at ``start``: verbatim, then without marks.

    Verbatim comes first because a text may contain characters that are marks elsewhere.
    """
    for form in (token, _without_marks(token)):
        position = start
        for char in form:
            if char.isspace():
                continue
            position = _skip_blanks(text, position)
            if position == len(text) or char.lower() != text[position].lower():
                break
            position += 1
        else:
            yield position


@cache
def _without_marks(token: str) -> str:
    bare = token.strip()
    while mark := next((mark for mark in _MARKS_BEFORE if bare.startswith(mark)), ""):
        bare = bare[len(mark) :]
    for mark in _MARKS_AFTER:
        bare = bare.removesuffix(mark)
    return bare


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def align_words(
    suite: Suite, item: Item, variant: Variant, tokens: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Return the indices of the words that each token covers; none for sentence edges."""
    if tuple(tokens) == variant.words:
        return tuple((number,) for number in range(len(tokens)))
    starts, ends, position = [], [], 0
    for word in variant.words:
        starts.append(position)
        ends.append(position + len(word))
        position += len(word) + suite.spaced
    place = place_of(suite, item, variant)
    spans = token_spans(suite.text(variant), tokens, word_ends=ends, place=place)
    covered: list[tuple[int, ...]] = []
    for span in spans:
        if span is None:
            covered.append(())
            continue
        last = max(span.end, span.start + 1)  # an empty span belongs to the next word
        inside = [n for n in range(len(starts)) if starts[n] < last and ends[n] > span.start]
        covered.append(tuple(inside) or tuple(range(len(starts)))[-1:])
    return tuple(covered)


def region_tokens(
    suite: Suite,
    item: Item,
    variant: Variant,
    tokens: Sequence[str],
    surprisal_bits: Sequence[float],
) -> ByRegion:
    """Return the surprisals of the tokens of each region, in bits.

    The end-of-sentence token belongs to the last region, as in SyntaxGym.
    """
    of_word = [n for n, region in enumerate(variant.regions) for _ in region]
    parts: list[list[float]] = [[] for _ in variant.regions]
    covered = align_words(suite, item, variant, tokens)
    is_begun = False
    for token, words, surprisal in zip(tokens, covered, surprisal_bits, strict=True):
        regions = sorted({of_word[word] for word in words})
        if len(regions) > 1:
            names = " and ".join(repr(suite.regions[region]) for region in regions[:2])
            raise AlignmentError(
                f"token {token!r} spans the regions {names}", place=place_of(suite, item, variant)
            )
        is_begun = is_begun or bool(regions)
        if not regions and is_begun:
            regions = [len(parts) - 1]
        for region in regions:
            parts[region].append(surprisal)
    return tuple(tuple(part) for part in parts)


# The search error of sums and differences of surprisals.
#
# A search with replicates gives deviations of every surprisal
# (:mod:`gardenpath.eval.search.replicates`). Deviations of a
# sum are the sums of the deviations, replicate by replicate, so that prefixes that two sentences
# share cancel as they do in surprisals.
# If sentences have different numbers of replicates, the first ones of each correspond: of a prefix
# that two sentences share, they are the same.

# Deviations (bits) that are this small come from rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Deviations:
    """Deviations in bits: ``(replicates,)`` for each number of replicates; none: no error."""

    by_count: Mapping[int, Floats]

    @property
    def standard_error(self) -> float:
        """The standard error in bits; NaN if a deviation is."""
        import numpy as np

        if not self.by_count:
            return 0.0
        # The variance of a mean of R replicates is the sum of the squares of d / √(R (R - 1)).
        # Where one mean has more replicates, those without a counterpart vary by themselves.
        total = np.zeros(max(self.by_count))
        for count, vector in self.by_count.items():
            total[:count] += vector / math.sqrt(count * (count - 1))
        return math.sqrt(float((total**2).sum()))

    @property
    def reach(self) -> float:
        """Half the width of the 95 % interval, in bits.

        With several numbers of replicates, the smallest gives an interval that is not too narrow.
        """
        from gardenpath.eval.search.replicates import standard_error, t_quantile

        # A deviation that is not known (NaN) is uncertain.
        uncertain = [
            count
            for count, vector in self.by_count.items()
            if not standard_error(vector) <= _ROUNDING
        ]
        return t_quantile(min(uncertain)) * self.standard_error if uncertain else 0.0


NO_ERROR = Deviations({})

# The deviations of a region (or ``*``) in a condition; None if the error is not known.
ErrorLookup = Callable[[str, str], Deviations | None]


def weighted_sum(parts: Iterable[tuple[float, Deviations | None]]) -> Deviations | None:
    """Return the deviations of a weighted sum; None if those of a part are not known."""
    total: dict[int, Floats] = {}
    for weight, part in parts:
        if part is None:
            return None
        for count, vector in part.by_count.items():
            total[count] = total[count] + weight * vector if count in total else weight * vector
    return Deviations(total)


def quantity_error(node: Value, errors: ErrorLookup) -> Deviations | None:
    """Return the deviations of a quantity: a sum or difference of terms and numbers."""
    return weighted_sum(
        (sign, NO_ERROR if isinstance(leaf, Number) else errors(leaf.region, leaf.condition))
        for sign, leaf in signed_terms(node)
    )


def region_deviations(
    deviations: Floats,
    surprisal_bits: Sequence[float],
    *,
    metric: Metric = "sum",
    normalised: bool = False,
) -> Deviations:
    """Return the deviations of the value of a region under a metric.

    ``deviations`` are those of its words, ``(words, replicates)``. The maximum deviates as its word
    does.
    """
    words, count = deviations.shape
    if not words:
        return NO_ERROR
    if metric == "sum":
        own = deviations.sum(axis=0)
    elif metric == "mean":
        own = deviations.mean(axis=0)
    elif metric == "max":
        own = deviations[max(range(words), key=lambda place: surprisal_bits[place])]
    else:
        own = deviations[0]
    return Deviations({count: own / words if normalised else own})


def word_errors(deviations: Floats) -> list[float]:
    """Return the standard error of each word from ``(words, replicates)`` deviations."""
    from gardenpath.eval.search.replicates import standard_error

    return [float(error) for error in standard_error(deviations)]


def sum_deviations(deviations: Floats) -> Deviations:
    """Return the deviations of the sum of all words from those of the words."""
    return Deviations({deviations.shape[1]: deviations.sum(axis=0)})


def error_of_sum(deviations: Sequence[Floats]) -> float:
    """Return the standard error of a sum of surprisals from the deviations of each, in bits."""
    if not deviations:
        return 0.0
    return Deviations({len(deviations[0]): sum(deviations[1:], deviations[0])}).standard_error


# Region surprisals: the aggregated surprisal of the words of a region, per item and condition.


class MissingSurprisalError(GardenpathError):
    """Surprisals are missing or do not match the sentences of a suite."""


def exact_sum(values: Iterable[float]) -> float:
    """Return the sum, which does not depend on the order of the values.

    Exact ties must be detected, and a sum that depended on the order of counterbalanced rows would
    hide them. The sum of infinities of both signs is NaN.
    """
    listed = list(values)
    if math.inf in listed and -math.inf in listed:
        return math.nan
    return math.fsum(listed)


def exact_mean(values: Sequence[float]) -> float:
    """Return the mean, computed from an exact sum; NaN without values."""
    return exact_sum(values) / len(values) if values else math.nan


def quantity(node: Value, lookup: Lookup) -> float:
    """Return the value of a quantity, rounded only once.

    An infinite term makes the sum infinite; infinities of opposite sign make it NaN.
    """
    return exact_sum(
        sign * (leaf.value if isinstance(leaf, Number) else lookup(leaf.region, leaf.condition))
        for sign, leaf in signed_terms(node)
    )


def region_value(
    surprisal_bits: Sequence[float], *, metric: Metric = "sum", normalised: bool = False
) -> float:
    """Return the surprisal of a region under a metric, in bits.

    ``normalised`` divides by the number of words. The sum over a region without words is 0; its
    mean, maximum and first value are NaN.
    """
    if metric == "sum":
        value = exact_sum(surprisal_bits)
    elif not surprisal_bits:
        return math.nan
    elif metric == "mean":
        value = exact_mean(surprisal_bits)
    elif metric == "max":
        value = math.nan if any(map(math.isnan, surprisal_bits)) else max(surprisal_bits)
    else:
        value = surprisal_bits[0]
    if not normalised:
        return value
    return value / len(surprisal_bits) if surprisal_bits else math.nan


def variant_rows(
    suite: Suite, surprisals: Mapping[Words, Sequence[float]]
) -> list[Sequence[float]]:
    """Return the surprisals (bits) of the words of every variant of every item, in order."""
    rows = []
    for item in suite.items:
        for variant in item.variants:
            if variant.words not in surprisals:
                place = place_of(suite, item, variant)
                raise MissingSurprisalError(f"{place}: no surprisals for this sentence")
            rows.append(surprisals[variant.words])
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionTable:
    """The value of every region for every item and condition of a suite.

    ``values`` maps item number and condition to one value per region, followed by the value of the
    whole sentence; values are means over variants if a condition has several. ``deviations`` has
    the search errors of the same values, as far as they are known.
    """

    suite: Suite
    values: Mapping[tuple[int, str], tuple[float, ...]]
    deviations: Mapping[tuple[int, str], tuple[Deviations | None, ...]] = field(
        default_factory=dict
    )

    @classmethod
    def from_rows(
        cls, suite: Suite, rows: Sequence[Sequence[float]], deviations: Sequence[Floats | None] = ()
    ) -> RegionTable:
        """Build the table from the surprisals (bits) of the words of every variant, in order.

        ``deviations`` are those of the words, ``(words, replicates)`` for each variant; None for a
        variant whose search error is not known, and empty if none is.
        """
        variants = [variant for item in suite.items for variant in item.variants]
        if len(rows) != len(variants):
            raise MissingSurprisalError(
                f"suite {suite.name}: surprisals for {len(rows)} sentences, but the suite has "
                f"{len(variants)}"
            )
        has_errors = any(each is not None for each in deviations)
        remaining = iter(zip(rows, deviations or [None] * len(rows), strict=True))
        values, errors = {}, {}
        for item in suite.items:
            values_of: dict[str, list[list[float]]] = {}
            errors_of: dict[str, list[list[Deviations | None]]] = {}
            for variant in item.variants:
                row, known = next(remaining)
                if len(row) != len(variant.words):
                    place = place_of(suite, item, variant)
                    problem = f"{len(row)} surprisals for {len(variant.words)} words"
                    raise MissingSurprisalError(f"{place}: {problem}")
                own, spreads = _variant_values(suite, variant, row, known)
                values_of.setdefault(variant.condition, []).append(own)
                errors_of.setdefault(variant.condition, []).append(spreads)
            for condition, lists in values_of.items():
                key, share = (item.number, condition), 1.0 / len(lists)
                values[key] = tuple(map(exact_mean, zip(*lists, strict=True)))
                if has_errors:
                    errors[key] = tuple(
                        weighted_sum((share, each) for each in column)
                        for column in zip(*errors_of[condition], strict=True)
                    )
        return cls(suite=suite, values=values, deviations=errors)

    def value(self, item: int, region: str, condition: str) -> float:
        """Return the value of a region (name or number) or of the sentence (``*``), in bits."""
        if (item, condition) not in self.values:
            raise MissingSurprisalError(
                f"suite {self.suite.name}, item {item}: no condition {condition}"
            )
        return self.values[item, condition][self._index(region)]

    def _index(self, region: str) -> int:
        return -1 if region == WHOLE_SENTENCE else self.suite.region_index(region)

    def lookup(self, item: int) -> Lookup:
        """Return the lookup function that formulas use for an item."""
        return lambda region, condition: self.value(item, region, condition)

    def errors(self, item: int) -> ErrorLookup | None:
        """Return the lookup of the search errors of an item; None if the table has none."""
        if not self.deviations:
            return None

        def error(region: str, condition: str) -> Deviations | None:
            errors = self.deviations.get((item, condition))
            return None if errors is None else errors[self._index(region)]

        return error


def _variant_values(
    suite: Suite, variant: Variant, surprisal_bits: Sequence[float], deviations: Floats | None
) -> tuple[list[float], list[Deviations | None]]:
    """Return the values, and their errors, of each region of a variant and, last, of the whole."""
    ends = list(itertools.accumulate(map(len, variant.regions)))
    regions = (slice(start, end) for start, end in zip([0, *ends], ends, strict=False))
    metric, normalised = suite.metric, suite.normalised
    values, errors = list[float](), list[Deviations | None]()
    for words in (*regions, slice(None)):
        bits = surprisal_bits[words]
        values.append(region_value(bits, metric=metric, normalised=normalised))
        errors.append(
            None
            if deviations is None
            else region_deviations(deviations[words], bits, metric=metric, normalised=normalised)
        )
    return values, errors
