"""Alignment of a model's tokens with the words and regions of a sentence, by character offsets.

The sentence is its written text, with or without spaces between words. Tokens must cover it from
left to right; spaces are ignored, and so are the marks with which subword models show word
boundaries. ``<unk>`` is aligned with the text that the neighbouring tokens do not cover, and
differences in case are ignored. A token may cover several words of one region, but not parts of two
regions, because its surprisal could not be divided between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from gardenpath.errors import GardenpathError
from gardenpath.eval.suites.design.suite import Item, Suite, Variant

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


class AlignmentError(GardenpathError):
    """Tokens do not spell the sentence, or cross a boundary of words or regions."""

    def __init__(self, problem: str, *, place: str) -> None:
        super().__init__(f"{place}: {problem}")


@dataclass(frozen=True, slots=True)
class Span:
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
    ends = _Placement(text, tokens, word_ends).ends(place)
    spans: list[Span | None] = []
    position = 0
    for token, end in zip(tokens, ends, strict=True):
        start = _skip_blanks(text, position)
        spans.append(None if is_edge(token) else Span(min(start, end), end))
        position = end
    return tuple(spans)


class _Placement:
    """Search for the ends of tokens; alternatives exist only for ``<unk>`` tokens."""

    def __init__(self, text: str, tokens: Sequence[str], word_ends: Sequence[int]) -> None:
        self.text = text
        self.tokens = tokens
        self.word_ends = word_ends
        self.furthest = 0
        self._stuck: set[tuple[int, int]] = set()

    def ends(self, place: str) -> list[int]:
        """Return the end of each token; AlignmentError names the first without an alignment."""
        # Depth-first search without recursion: one iterator of possible ends per aligned token.
        ends: list[int] = []
        choices = [self._choices(0, 0)]
        while len(ends) < len(self.tokens) or not self._is_complete(ends):
            end = next(choices[-1], None) if len(ends) < len(self.tokens) else None
            if end is not None:
                ends.append(end)
                self.furthest = max(self.furthest, len(ends))
                choices.append(self._choices(len(ends), end))
                continue
            choices.pop()
            if not choices:
                raise AlignmentError(self._problem(), place=place)
            self._stuck.add((len(ends), ends.pop()))
        return ends

    def _is_complete(self, ends: list[int]) -> bool:
        reached = ends[-1] if ends else 0
        return _skip_blanks(self.text, reached) == len(self.text)

    def _choices(self, number: int, position: int) -> Iterator[int]:
        """Yield the possible ends of a token that starts at a position, after any spaces."""
        if number == len(self.tokens):
            return
        for end in self._possible_ends(self.tokens[number], position):
            if (number + 1, end) not in self._stuck:
                yield end

    def _possible_ends(self, token: str, position: int) -> Iterator[int]:
        if is_edge(token):
            yield position
            return
        start = _skip_blanks(self.text, position)
        matches = list(dict.fromkeys(_matches(self.text, start, token)))
        yield from matches
        if is_unknown(token):
            wholes = [end for end in self.word_ends if end > start][:1]
            others = (end for end in range(start + 1, len(self.text) + 1) if end not in wholes)
            yield from (end for end in (*wholes, *others) if end not in matches)

    def _problem(self) -> str:
        if self.furthest < len(self.tokens):
            number, token = self.furthest, self.tokens[self.furthest]
            return f"token {number + 1}, {token!r}, does not continue the sentence {self.text!r}"
        return (
            f"the {len(self.tokens)} tokens, the last of them "
            f"{self.tokens[-1] if self.tokens else ''!r}, do not cover the sentence {self.text!r}"
        )


def _matches(text: str, start: int, token: str) -> Iterator[int]:
    """Yield the possible ends of a token that starts at ``start``: verbatim, then without marks.

    Verbatim comes first because a text may contain characters that are marks elsewhere.
    """
    for form in (token, _without_marks(token)):
        end = _spelled_end(text, start, form)
        if end is not None:
            yield end


def _spelled_end(text: str, start: int, form: str) -> int | None:
    """Return the end of the characters of ``form`` in the text, ignoring spaces in both."""
    position = start
    for char in form:
        if char.isspace():
            continue
        position = _skip_blanks(text, position)
        if position == len(text) or not _same(char, text[position]):
            return None
        position += 1
    return position


def _same(one: str, other: str) -> bool:
    return one == other or one.lower() == other.lower()


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
    starts, ends = _word_borders(suite, variant)
    place = place_of(suite, item, variant)
    spans = token_spans(suite.text(variant), tokens, word_ends=ends, place=place)
    return tuple(() if span is None else _covered(span, starts, ends) for span in spans)


def _word_borders(suite: Suite, variant: Variant) -> tuple[list[int], list[int]]:
    starts, ends, position = [], [], 0
    for word in variant.words:
        starts.append(position)
        position += len(word)
        ends.append(position)
        position += suite.spaced
    return starts, ends


def _covered(span: Span, starts: Sequence[int], ends: Sequence[int]) -> tuple[int, ...]:
    """Return the words that overlap with a span; an empty span belongs to the next word."""
    last = max(span.end, span.start + 1)
    inside = [n for n in range(len(starts)) if starts[n] < last and ends[n] > span.start]
    return tuple(inside) or tuple(range(len(starts)))[-1:]


def region_tokens(
    suite: Suite,
    item: Item,
    variant: Variant,
    tokens: Sequence[str],
    surprisal_bits: Sequence[float],
    *,
    end_counts: bool = False,
) -> tuple[tuple[float, ...], ...]:
    """Return the surprisals of the tokens of each region, in bits.

    With ``end_counts``, the end-of-sentence token belongs to the last region, as in SyntaxGym.
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
        if not regions and end_counts and is_begun:
            regions = [len(parts) - 1]
        for region in regions:
            parts[region].append(surprisal)
    return tuple(tuple(part) for part in parts)
