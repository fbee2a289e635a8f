"""Which sequences of tokens stand for the beginning of a text, and which sums give its probability.

Used by the scorer of causal models (``hf``), without torch: this module asks for sums of
probabilities of next tokens after contexts, and the scorer computes them. Tokens are compared with
text as bytes (UTF-8), because a token may be a part of a character. A tokeniser that changes a text
is refused, so that probabilities are those of the text that the user gave.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gardenpath.data.arrays import Floats, Ints
from gardenpath.data.words.pieces import NEGATION, After, Spacing, ending_beginnings, is_ending
from gardenpath.errors import GardenpathError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# SentencePiece writes blanks and bytes in this way.
BLANK = "▁"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

# A blank after something else; most vocabularies have no such tokens.
_INNER_BLANK = re.compile(rb"[^ ] ")
# Length of a character, by the highest bits of its first byte; 0 if no character begins with it.
_LENGTHS = [1] * 8 + [0] * 4 + [2] * 2 + [3, 4]


class TokenBytes:
    """The bytes of each token, None for special tokens.

    The tokens that begin with given bytes are a range of ``order``: the tokens that have bytes,
    sorted by them. ``rank`` is the inverse, with −1 for tokens without bytes.
    """

    def __init__(self, content: Sequence[bytes | None], *, is_byte_level: bool = False) -> None:
        self.content = list(content)
        self.is_byte_level = is_byte_level
        # A token without any bytes could be repeated for ever.
        pairs = sorted((data, token) for token, data in enumerate(content) if data)
        self.order: Ints = np.array([token for _, token in pairs], dtype=np.int64)
        self.rank: Ints = np.full(len(content), -1, dtype=np.int64)
        self.rank[self.order] = np.arange(len(pairs))
        self._sorted = [data for data, _ in pairs]
        self.longest = max(map(len, self._sorted), default=0)
        inner = filter(_INNER_BLANK.search, self._sorted)
        self._longest_with_blank = max(map(len, inner), default=0)

    @staticmethod
    def of(tokeniser: Tokenizer) -> TokenBytes:
        """Read the vocabulary of a tokeniser: byte-level, or with ▁ for blanks."""
        ids = tokeniser.get_vocab(with_added_tokens=True)
        added = tokeniser.get_added_tokens_decoder()
        is_byte_level = "ByteLevel" in f"{tokeniser.decoder!r} {tokeniser.pre_tokenizer!r}"
        content: list[bytes | None] = [None] * (max(ids.values(), default=-1) + 1)
        for text, token in ids.items():
            if token in added:
                known = added[token]
                text = known.content if is_byte_level else known.content.replace(BLANK, " ")
                content[token] = None if known.special else text.encode()
            elif is_byte_level:
                codes = [_BYTES.get(character, -1) for character in text]
                content[token] = None if -1 in codes else bytes(codes)
            elif byte := _BYTE.fullmatch(text):
                content[token] = bytes([int(byte[1], 16)])
            else:
                content[token] = text.replace(BLANK, " ").encode()
        return TokenBytes(content, is_byte_level=is_byte_level)

    def text(self, tokens: Sequence[int]) -> bytes | None:
        """Return the bytes of a sequence of tokens; None if one of them has no bytes."""
        parts = [self.content[token] for token in tokens]
        return b"".join(part for part in parts if part) if all(parts) else None

    def beginning_with(self, prefix: bytes) -> tuple[int, int]:
        """Return the range of the sorted vocabulary whose tokens begin with a prefix."""
        begin = bisect.bisect_left(self._sorted, prefix)
        if begin == len(self._sorted) or not self._sorted[begin].startswith(prefix):
            return begin, begin
        # Larger than anything that begins with the prefix.
        bound = prefix + b"\xff" * (self.longest - len(prefix) + 1)
        return begin, bisect.bisect_left(self._sorted, bound, lo=begin)

    def goes_on_after(self, ending: bytes) -> bool:
        """Whether a token begins with the last bytes of a character and goes on with another."""
        first = (ending + b"\x00", ending + b"\xc0")
        last = (ending + b"\x80", ending + b"\xff")  # no character begins with 80 to BF, or FF
        places = [bisect.bisect_left(self._sorted, bound) for bound in (*first, *last)]
        return places[0] < places[2] or places[1] < places[3]

    def is_too_long(self, text: bytes) -> bool:
        """Whether no token can contain a text because of its length or its blanks."""
        if len(text) <= self._longest_with_blank:
            return False
        return len(text) > self.longest or _INNER_BLANK.search(text) is not None

    def ending_after(self, prefix: bytes, spacing: Spacing) -> list[int]:
        """Return the ranks of tokens that begin with a prefix, and in which it then ends a word."""
        begin, end = self.beginning_with(prefix)
        length = len(prefix)
        return [n for n in range(begin, end) if ends_word(self._sorted[n][length:], spacing)]


def ends_word(following: bytes, spacing: Spacing) -> bool:
    """Whether a word before these bytes ends there: their first character cannot continue it.

    If they are only the beginning of a character, whether the character can be one that ends words.
    """
    if not following:
        return False
    length = _LENGTHS[following[0] >> 4]
    if len(following) < length:
        return following in ending_beginnings(spacing)
    try:
        return is_ending(following[:length].decode(), spacing) if length else False
    except UnicodeDecodeError:
        return False


def _byte_characters() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary stands for.

    Printable characters of Latin-1 stand for themselves, and those from U+0100 for the other bytes.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    shown = {chr(0x100 + n): byte for n, byte in enumerate(others)}
    return {chr(byte): byte for byte in printable} | shown


_BYTES = _byte_characters()


# ---- What is asked of a model: sums of probabilities of next tokens, after distinct contexts.

# A set of tokens: a range of :attr:`TokenSets.tokens`.
TokenSet = tuple[int, int]
# The set of all tokens that end a word, and the end of the text; it is half of a vocabulary.
ENDING: TokenSet = (-1, -1)
# The context of no tokens.
EMPTY = 0
# Tokens of a text.
TokenIds = tuple[int, ...]


class TokenSets:
    """Sets of tokens for a spacing; ``end`` is the token that ends texts, if there is one.

    Sets are ranges of one list of tokens: the sorted vocabulary, followed by other sets.
    """

    def __init__(self, vocabulary: TokenBytes, spacing: Spacing, end: int | None) -> None:
        self.vocabulary = vocabulary
        self._spacing = spacing
        self._others: list[int] = []
        self._known: dict[bytes, TokenSet] = {}
        self.end = self._add([] if end is None else [end])
        ending = [
            token
            for token, content in enumerate(vocabulary.content)
            if content is not None and ends_word(content, spacing)
        ]
        self.ending: Ints = np.array(ending if end is None else [*ending, end], dtype=np.int64)

    @property
    def tokens(self) -> Ints:
        """The tokens of which sets are ranges."""
        return np.concatenate([self.vocabulary.order, np.array(self._others, dtype=np.int64)])

    def covering(self, rest: bytes, *, is_word: bool) -> TokenSet:
        """Return the tokens that begin with bytes; in ``is_word``, that end a word after them."""
        if not is_word:
            return self.vocabulary.beginning_with(rest)
        known = self._known.get(rest)
        if known is None:
            ranks = self.vocabulary.ending_after(rest, self._spacing)
            known = self._known[rest] = self._add(self.vocabulary.order[ranks].tolist())
        return known

    def _add(self, tokens: Sequence[int]) -> TokenSet:
        begin = len(self.vocabulary.order) + len(self._others)
        self._others += tokens
        return begin, begin + len(tokens)


class Contexts:
    """A tree of contexts, and the sums of probabilities that are asked after each.

    Equal beginnings of texts are the same context; context 0 is empty. Sum i is that of the tokens
    ``sets[i]`` after context ``askers[i]``; ``first_tokens`` has −1 for the empty context.
    """

    def __init__(self, sets: TokenSets) -> None:
        self.token_sets = sets
        self.parents = [EMPTY]
        self.tokens = [-1]
        self.depths = [0]
        self.askers: list[int] = []
        self.sets: list[TokenSet] = []
        self.first_tokens = [-1]
        self._own = [-1]  # the sum of each context's last token
        self._children: dict[tuple[int, int], int] = {}
        self._numbers: dict[tuple[int, TokenSet], int] = {}

    def path(self, tokens: Sequence[int]) -> list[int]:
        """Return the contexts of a sequence of tokens: the empty one, ..., the whole sequence."""
        path = [EMPTY]
        for token in tokens:
            parent = path[-1]
            child = self._children.get((parent, token))
            if child is None:
                child = self._children[parent, token] = len(self.parents)
                self.parents.append(parent)
                self.tokens.append(token)
                self.depths.append(self.depths[parent] + 1)
                self.first_tokens.append(token if parent == EMPTY else self.first_tokens[parent])
                rank = int(self.token_sets.vocabulary.rank[token])  # the token has bytes
                self._own.append(self.ask(parent, (rank, rank + 1)))
            path.append(child)
        return path

    def ask(self, context: int, tokens: TokenSet) -> int:
        """Ask for a sum; return its number."""
        number = self._numbers.get((context, tokens))
        if number is None:
            number = self._numbers[context, tokens] = len(self.askers)
            self.askers.append(context)
            self.sets.append(tokens)
        return number

    def log_probs(self, sums: Floats) -> Floats:
        """Return the log probability of each context, given all sums.

        Where the sums after the empty context are not defined, those given the first token.
        """
        log_probs = np.zeros(len(self.parents))
        for context in range(1, len(log_probs)):
            parent = self.parents[context]
            own = sums[self._own[context]]
            is_defined = parent != EMPTY or not np.isnan(own)
            log_probs[context] = log_probs[parent] + (own if is_defined else 0.0)
        return log_probs

    def sequence(self, context: int) -> list[int]:
        """Return the tokens of a context."""
        tokens = []
        while context != EMPTY:
            tokens.append(self.tokens[context])
            context = self.parents[context]
        return tokens[::-1]


# ---- Text as tokens, checked byte by byte.


class TextTokens:
    """Divides text into tokens whose bytes, one after the other, are the text.

    ``lead`` is what the tokeniser puts before each text: nothing, or a blank.
    """

    def __init__(self, tokeniser: Tokenizer) -> None:
        self._tokeniser = tokeniser
        # A tokeniser may be stored with settings that shorten or lengthen texts.
        tokeniser.no_truncation()
        tokeniser.no_padding()
        self.bytes = TokenBytes.of(tokeniser)
        self.lead = self._lead()

    def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return the tokens of each text, without special ones."""
        encoded = [tuple(encoding.ids) for encoding in self._encode(texts)]
        for text, tokens in zip(texts, encoded, strict=True):
            if self.bytes.text(tokens) != self.data(text):
                raise self._changed(text, tokens)
        return encoded

    def encode_without(self, text: str, missing: int) -> TokenIds:
        """Return the tokens of a text without its last bytes, which are a part of a character.

        What remains may also be the leading blank. Only byte-level tokenisers have tokens that
        begin within a character and contain another.
        """
        rest = self.data(text)[:-missing]
        parts = [BLANK]
        if self.bytes.is_byte_level or rest != self.lead:
            # Parts of the text are divided into tokens one by one.
            normaliser, splitter = self._tokeniser.normalizer, self._tokeniser.pre_tokenizer
            normal = text if normaliser is None else normaliser.normalize_str(text)
            parts = [part for part, _ in splitter.pre_tokenize_str(normal)]
        if self.bytes.is_byte_level:
            parts[-1] = parts[-1][:-missing]  # each character of a part is a byte
        model = self._tokeniser.model
        tokens = tuple(token.id for part in parts for token in model.tokenize(part))
        if self.bytes.text(tokens) != rest:
            raise self._changed(text, tokens)
        return tokens

    def data(self, text: str) -> bytes:
        """Return the bytes that the tokens of a text stand for."""
        return self.lead + text.encode() if text else b""

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return tokens as they are written in the vocabulary, or as text where that is legible."""
        pieces = []
        for token in tokens:
            try:
                text = (self.bytes.content[token] or b"").decode()
            except UnicodeDecodeError:
                text = ""
            pieces.append(text.replace(" ", BLANK) or str(self._tokeniser.id_to_token(token)))
        return pieces

    def is_known(self, word: str) -> bool:
        """Whether the tokens of a word are its characters, not a symbol for unknown ones."""
        (encoded,) = self._encode([word])
        return self.bytes.text(encoded.ids) == self.data(word)

    def _encode(self, texts: Sequence[str]) -> list[Any]:
        try:
            return self._tokeniser.encode_batch(list(texts), add_special_tokens=False)
        except (TypeError, UnicodeError) as error:  # half of a surrogate pair
            raise GardenpathError(f"a text cannot be tokenised: {error}") from error

    def _lead(self) -> bytes:
        for known in ("a", "一"):
            ids = self._tokeniser.encode(known, add_special_tokens=False).ids
            data = self.bytes.text(ids) or b""
            lead = data.removesuffix(known.encode())
            if data != lead and lead in (b"", b" "):
                return lead
        raise GardenpathError(
            f"the tokens of the text {known!r} stand for {data!r}: the tokeniser changes texts, "
            "or marks words in another way than with a blank; such models cannot be used"
        )

    def _changed(self, text: str, tokens: TokenIds) -> GardenpathError:
        became = "with a symbol for unknown characters"
        if (data := self.bytes.text(tokens)) is not None:
            became = repr(data.decode(errors="replace"))
        return GardenpathError(
            f"the tokeniser changes the text {text!r}: its tokens are {became}; write the text as "
            "the tokeniser does (Unicode form NFC, lower case, known characters)"
        )


# ---- The probability that a text begins with given characters, from a model over tokens.
#
# A sequence of tokens *covers* the characters s if its text begins with s, but not without its
# last token. C(s) are the tokens into which the tokeniser divides s. The covers of s are counted
# whose tokens before the last are C(r), for any r with which s begins:
#
#     P(s) = Σ_r P(C(r)) · Σ_v p(v | C(r)),   over tokens v that begin with the rest of s after r.
#
# - P is a function of s alone, so that equal beginnings of texts have equal probabilities.
# - Different covers exclude each other: P(s) is at most the probability that the model assigns to
#   all texts that begin with s. What is missing are texts in tokens that the tokeniser does not
#   produce.
# - Σ_c P(sc) + P(C(s), end) ≤ P(s), over all characters c. A cover of sc begins with a cover of s:
#   its last token begins with the rest of s and goes on with c, or C(s) precedes it, which is
#   itself a cover of s. This needs that the beginning of C(s) up to a token is what the tokeniser
#   makes of that text, which holds for byte-pair encoding and unigram models, and is verified.
#
# Tokens may be parts of characters. If r ends within a character, C(r) is counted where it can
# matter: if the tokeniser divides the character there, or if some token contains the rest of the
# character and the beginning of another. The same holds for a blank that the tokeniser puts before
# each text: it and the first character count as one.
#
# With the condition that a word ends after s, tokens v are those in which a character follows s
# that ends a word, and after C(s), those that begin with such a character (or the end of the
# text).

# A prefix of a text, given by its number of characters, and what may follow.
Mark = tuple[int, After]
# A context and the number of a sum after it; None stands for the context itself.
CoverTerm = tuple[int, int | None]


@dataclass(frozen=True, slots=True)
class Covered:
    """The terms of one prefix: its log probability is the logarithm of their sum."""

    terms: tuple[CoverTerm, ...]
    first_token: int | None

    def log_prob(self, contexts: Floats, sums: Floats) -> float:
        """Return the log probability, given those of all contexts and all sums."""
        values = [contexts[c] + (0.0 if s is None else sums[s]) for c, s in self.terms]
        return float(np.logaddexp.reduce(values)) if values else -np.inf

    def given_first(self, contexts: Contexts) -> Covered:
        """Return the terms in which the first token is that of the prefix, given this token."""
        terms = [term for term in self.terms if contexts.first_tokens[term[0]] == self.first_token]
        if not terms and self.first_token is not None:
            terms = [(EMPTY, None)]  # the prefix is a part of this token
        return Covered(tuple(terms), self.first_token)


class Covers:
    """Finds the covers of prefixes of texts, and asks for the sums that they need."""

    def __init__(self, tokens: TextTokens, contexts: Contexts) -> None:
        self._tokens = tokens
        self._contexts = contexts
        self._sets = contexts.token_sets
        self._encoded: dict[str, TokenIds] = {}
        self._paths: dict[str, list[int]] = {}
        self._inner: dict[str, list[tuple[int, int]]] = {}

    def whole(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the contexts on the path of each text."""
        self._encode(texts)
        return [self._path(text) for text in texts]

    def prefixes(
        self, texts: Sequence[str], marks: Sequence[Sequence[Mark]]
    ) -> list[list[Covered]]:
        """Return the terms of the marked prefixes of each text; marks ascend."""
        wanted = []
        for text, marked in zip(texts, marks, strict=True):
            befores = [0, *(end for end, _ in marked)]
            pairs = zip(marked, befores, strict=False)
            wanted.append([(text[:end], after, before) for (end, after), before in pairs])
        # Texts with the same beginning ask for the same prefixes.
        distinct = dict.fromkeys(itertools.chain.from_iterable(wanted))
        plans = {key: self._plan(*key[:2]) for key in distinct}
        every = itertools.chain.from_iterable(plans.values())
        self._encode(itertools.chain.from_iterable(plan.prefixes for plan in every))
        covered = {}
        for key, conditions in plans.items():
            prefix, _, before = key
            for text in itertools.chain.from_iterable(plan.prefixes for plan in conditions):
                if len(text) > before:
                    self._require_same_beginning(text, before)
            terms = [term for plan in conditions for term in self._terms(plan)]
            tokens = self._encoded[prefix]
            covered[key] = Covered(tuple(terms), tokens[0] if tokens else None)
        return [[covered[key] for key in keys] for keys in wanted]

    # ---- Which contexts are needed.

    def _plan(self, prefix: str, after: After) -> list[_Plan]:
        """Divide the condition on what follows into such that exclude each other."""
        if after == "anything":
            return [self._starts(prefix, is_word=False)]
        plans = [self._starts(prefix, is_word=True)]
        if after == "negation":
            plans.append(self._starts(prefix + NEGATION, is_word=False))
        return plans

    def _starts(self, prefix: str, *, is_word: bool) -> _Plan:
        """Find the places from which a token can cover the rest of a prefix."""
        data = self._tokens.data(prefix)
        plan = _Plan(prefix, data, is_word)
        vocabulary = self._tokens.bytes
        offset = len(data)
        for place in range(len(prefix) - 1, -1, -1):
            end, offset = offset, (offset - len(prefix[place].encode()) if place else 0)
            if end - offset > 1:
                plan.within.append(place + 1)
            rest = data[offset:]
            if vocabulary.is_too_long(rest):
                break
            tokens = self._sets.covering(rest, is_word=is_word)
            if tokens[0] < tokens[1]:
                plan.starts.append((place, tokens))
        return plan

    # ---- The contexts.

    def _encode(self, texts: Iterable[str]) -> None:
        if missing := [text for text in dict.fromkeys(texts) if text not in self._encoded]:
            self._encoded.update(zip(missing, self._tokens.encode(missing), strict=True))

    def _path(self, text: str) -> list[int]:
        if text not in self._paths:
            self._paths[text] = self._contexts.path(self._encoded[text])
        return self._paths[text]

    def _terms(self, plan: _Plan) -> Iterator[CoverTerm]:
        ask = self._contexts.ask
        if not plan.prefix:  # every text begins with nothing
            yield EMPTY, None
            return
        for place, tokens in plan.starts:
            context = self._path(plan.prefix[:place])[-1]
            yield context, ask(context, tokens)
        parts = (part for place in plan.within for part in self._within(plan.prefix[:place]))
        for context, offset in parts:
            tokens = self._sets.covering(plan.data[offset:], is_word=plan.is_word)
            if tokens[0] < tokens[1]:
                yield context, ask(context, tokens)
        if plan.is_word:
            context = self._path(plan.prefix)[-1]
            yield context, ask(context, ENDING)

    def _within(self, text: str) -> list[tuple[int, int]]:
        """Contexts that end within the last character of a text, and their numbers of bytes.

        The first character includes the leading blank.
        """
        if text not in self._inner:
            begin, end = len(self._tokens.data(text[:-1])), len(self._tokens.data(text))
            self._inner[text] = [
                (self._contexts.path(tokens)[-1], offset)
                for offset in range(begin + 1, end)
                if (tokens := self._tokens_within(text, end - offset)) is not None
            ]
        return self._inner[text]

    def _tokens_within(self, text: str, missing: int) -> TokenIds | None:
        """Return the tokens of a text without the last bytes of its last character."""
        data = self._tokens.data(text)
        offsets = self._offsets(text)
        if len(data) - missing in offsets:
            return self._encoded[text][: offsets.index(len(data) - missing)]
        if self._tokens.bytes.goes_on_after(data[-missing:]):
            return self._tokens.encode_without(text, missing)
        return None

    def _offsets(self, text: str) -> list[int]:
        """Number of bytes before each token of a text, and of all."""
        content = self._tokens.bytes.content
        lengths = (len(content[token] or b"") for token in self._encoded[text])
        return list(itertools.accumulate(lengths, initial=0))

    def _require_same_beginning(self, text: str, before: int) -> None:
        """Raise an error if the tokens of a text do not begin with those of a shorter one.

        ``before`` is the number of characters up to the previous mark.
        """
        tokens = self._encoded[text]
        limit = len(self._tokens.data(text[:before]))
        offsets = self._offsets(text)
        count = max(n for n, offset in enumerate(offsets) if offset <= limit)
        beginning = self._tokens.data(text)[: offsets[count]][len(self._tokens.lead) :]
        shorter = text[: len(beginning.decode(errors="ignore"))]
        is_within = offsets[count] != len(self._tokens.data(shorter))
        if is_within:
            shorter = text[: len(shorter) + 1]
        self._encode([shorter])
        missing = len(self._tokens.data(shorter)) - offsets[count]
        same = self._tokens_within(shorter, missing) if is_within else self._encoded[shorter]
        if same != tokens[:count]:
            raise GardenpathError(
                f"the tokeniser divides {shorter!r} in another way if {text[len(shorter) :]!r} "
                "follows: probabilities of prefixes are not defined; change the text, or select "
                "boundary=none"
            )


@dataclass(slots=True)
class _Plan:
    """The places of a prefix, with its bytes, at which its last token can begin."""

    prefix: str
    data: bytes
    is_word: bool
    starts: list[tuple[int, TokenSet]] = field(default_factory=list)
    within: list[int] = field(default_factory=list)

    @property
    def prefixes(self) -> Iterator[str]:
        """The texts whose tokens are needed."""
        yield self.prefix
        yield from (self.prefix[:place] for place, _ in self.starts)
        yield from (self.prefix[:place] for place in self.within)
