"""The probability that a text begins with given characters, from a model over tokens.

A sequence of tokens *covers* the characters s if its text begins with s, but not without its last
token. C(s) are the tokens into which the tokeniser divides s. The covers of s are counted whose
tokens before the last are C(r), for any r with which s begins:

    P(s) = Σ_r P(C(r)) · Σ_v p(v | C(r)),   over tokens v that begin with the rest of s after r.

- P is a function of s alone, so that equal beginnings of texts have equal probabilities.
- Different covers exclude each other: P(s) is at most the probability that the model assigns to all
  texts that begin with s. What is missing are texts in tokens that the tokeniser does not produce.
- Σ_c P(sc) + P(C(s), end) ≤ P(s), over all characters c. A cover of sc begins with a cover of s:
  its last token begins with the rest of s and goes on with c, or C(s) precedes it, which is itself
  a cover of s. This needs that the beginning of C(s) up to a token is what the tokeniser makes of
  that text, which holds for byte-pair encoding and unigram models, and is verified.

Tokens may be parts of characters. If r ends within a character, C(r) is counted where it can
matter: if the tokeniser divides the character there, or if some token contains the rest of the
character and the beginning of another. The same holds for a blank that the tokeniser puts before
each text: it and the first character count as one.

With the condition that a word ends after s, tokens v are those in which a character follows s that
ends a word, and after C(s), those that begin with such a character (or the end of the text).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.words.spacing import NEGATION, After
from gardenpath.errors import GardenpathError
from gardenpath.models.pretrained.contexts import EMPTY, ENDING, Contexts, TokenSet
from gardenpath.models.pretrained.text_tokens import TextTokens, TokenIds

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
        terms = [one for one in self.terms if contexts.first_token(one[0]) == self.first_token]
        exact = [(EMPTY, None)] if not terms and self.first_token is not None else []
        return Covered((*terms, *exact), self.first_token)


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
        asked = [_asked(text, marked) for text, marked in zip(texts, marks, strict=True)]
        # Texts with the same beginning ask for the same prefixes.
        distinct = dict.fromkeys(one for found in asked for one in found)
        plans = {one: self._plan(one) for one in distinct}
        every = (part for plan in plans.values() for part in plan)
        self._encode(itertools.chain.from_iterable(part.prefixes for part in every))
        covered = {}
        for one, plan in plans.items():
            self._require_stable(plan, one.before)
            covered[one] = self._covered(one.prefix, plan)
        return [[covered[one] for one in found] for found in asked]

    # ---- Which contexts are needed.

    def _plan(self, asked: _Asked) -> list[_Plan]:
        """Divide the condition on what follows into such that exclude each other."""
        if asked.after == "anything":
            return [self._starts(asked.prefix, is_word=False)]
        found = [self._starts(asked.prefix, is_word=True)]
        if asked.after == "negation":
            found.append(self._starts(asked.prefix + NEGATION, is_word=False))
        return found

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
            tokens = self._covering(rest, is_word=is_word)
            if tokens[0] < tokens[1]:
                plan.starts.append((place, tokens))
        return plan

    def _covering(self, rest: bytes, *, is_word: bool) -> TokenSet:
        return self._sets.ending_after(rest) if is_word else self._sets.beginning_with(rest)

    # ---- The contexts.

    def _encode(self, texts: Iterable[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._encoded]
        if not missing:
            return
        self._encoded.update(zip(missing, self._tokens.encode(missing), strict=True))

    def _path(self, text: str) -> list[int]:
        if text not in self._paths:
            self._paths[text] = self._contexts.path(self._encoded[text])
        return self._paths[text]

    def _covered(self, prefix: str, plans: Sequence[_Plan]) -> Covered:
        terms = [term for plan in plans for term in self._terms(plan)]
        tokens = self._encoded[prefix]
        return Covered(tuple(terms), tokens[0] if tokens else None)

    def _terms(self, plan: _Plan) -> Iterator[CoverTerm]:
        ask = self._contexts.ask
        if not plan.prefix:  # every text begins with nothing
            yield EMPTY, None
            return
        for place, tokens in plan.starts:
            context = self._path(plan.prefix[:place])[-1]
            yield context, ask(context, tokens)
        within = (found for place in plan.within for found in self._within(plan.prefix[:place]))
        for context, offset in within:
            tokens = self._covering(plan.data[offset:], is_word=plan.is_word)
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
            begin, end = (len(self._tokens.data(one)) for one in (text[:-1], text))
            parts = ((self._tokens_within(text, end - n), n) for n in range(begin + 1, end))
            self._inner[text] = [
                (self._contexts.path(tokens)[-1], offset)
                for tokens, offset in parts
                if tokens is not None
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

    # ---- The condition.

    def _require_stable(self, plans: Sequence[_Plan], before: int) -> None:
        """Raise an error if the tokens of a prefix do not begin with those of a shorter one.

        ``before`` is the number of characters up to the previous mark.
        """
        for plan in plans:
            for text in plan.prefixes:
                if len(text) > before:
                    self._require_same_beginning(text, before)

    def _require_same_beginning(self, text: str, before: int) -> None:
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """A marked prefix; ``before`` is the length of the marked prefix before it."""

    prefix: str
    after: After
    before: int


def _asked(text: str, marks: Sequence[Mark]) -> list[_Asked]:
    befores = [0, *(end for end, _ in marks)]
    return [
        _Asked(text[:end], after, before)
        for (end, after), before in zip(marks, befores, strict=False)
    ]


class _Plan:
    """The places of a prefix at which its last token can begin."""

    def __init__(self, prefix: str, data: bytes, is_word: bool) -> None:
        self.prefix, self.data, self.is_word = prefix, data, is_word
        self.starts: list[tuple[int, TokenSet]] = []
        self.within: list[int] = []

    @property
    def prefixes(self) -> Iterator[str]:
        """The texts whose tokens are needed."""
        yield self.prefix
        yield from (self.prefix[:place] for place, _ in self.starts)
        yield from (self.prefix[:place] for place in self.within)
