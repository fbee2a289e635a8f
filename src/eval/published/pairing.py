"""Whether the sentences of a file of surprisals are those of the materials, compared as text.

Sentences pair in the order of the materials' file. A pair is equal if the tokens spell the
words; case, ``<unk>`` and the division into tokens are ignored. A sentence that equals another
one of the same materials is *misplaced*, one that equals none is *reworded*. Neither is accepted
unless :class:`PairingRules` or the layout allow it; if accepted, the sentence as it was scored
takes the place of the original in the suite of that run, so that no surprisal is attributed to a
sentence for which it was not computed.

Called for every file of an import; the layouts of studies give their :class:`Materials`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from gardenpath.errors import InputError
from gardenpath.eval.published.files import PairingRules, ScoredSentence
from gardenpath.eval.suites.regions import AlignmentError, align_words, is_unknown
from gardenpath.eval.suites.suite import Item, Suite, Variant
from gardenpath.store.files import digest
from gardenpath.util import Words, plural


def wording_digest(suite: str, place: int, words: Words) -> str:
    """Return the digest that identifies a sentence at a place (from 0) of a file."""
    return digest(f"{suite}:{place}:{' '.join(words)}")[:12]


def same_words(words: Sequence[str], tokens: Sequence[str]) -> bool:
    """Whether every token is the word at its place, ignoring case and ``<unk>``."""
    return len(words) == len(tokens) and all(map(same_word, words, tokens))


def same_word(word: str, token: str) -> bool:
    """Whether a token is a word, ignoring case and ``<unk>``."""
    return word == token or word.lower() == token.lower() or is_unknown(token)


def joined_variant(
    suite: Suite, item: Item, variant: Variant, sentence: ScoredSentence
) -> tuple[Variant, tuple[float, ...]] | None:
    """Return the variant and the surprisals of its words if the tokens spell it, else None.

    Tokens are joined to words. Words that a token spans (*has n't* in *hasn't*) become one word,
    if they are of one region.
    """
    try:
        covered = align_words(suite, item, variant, sentence.tokens)
    except AlignmentError:
        return None
    regions = [n for n, region in enumerate(variant.regions) for _ in region]
    if any(regions[words[0]] != regions[words[-1]] for words in covered if words):
        return None
    starts = set(range(len(variant.words))) - {n for words in covered for n in words[1:]}
    owner = list(itertools.accumulate(n in starts for n in range(len(variant.words))))
    parts: list[list[float]] = [[] for _ in starts]
    for words, bits in zip(covered, sentence.values, strict=True):
        if words:
            parts[owner[words[0]] - 1].append(bits)
    merged: list[list[str]] = [[] for _ in variant.regions]
    for place, word in enumerate(variant.words):
        if place in starts:
            merged[regions[place]].append(word)
        else:
            merged[regions[place]][-1] += word
    changed = replace(variant, regions=tuple(map(tuple, merged)))
    return changed, tuple(math.fsum(part) for part in parts)


def reworded_variant(variant: Variant, tokens: Sequence[str], critical: set[int]) -> Variant | None:
    """Return a variant with these tokens, if they differ in one region that is not critical."""
    sizes = [len(region) for region in variant.regions]
    starts = [0, *itertools.accumulate(sizes)]
    words, count = variant.words, len(variant.words)
    for place in range(len(sizes)):
        begin, rest = starts[place], count - starts[place + 1]
        if place in critical or len(tokens) < begin + rest:
            continue
        end = len(tokens) - rest
        if same_words(words[:begin], tokens[:begin]) and same_words(
            words[count - rest :], tokens[end:]
        ):
            regions = list(variant.regions)
            regions[place] = tuple(tokens[begin:end])
            return replace(variant, regions=tuple(regions))
    return None


# Why a sentence that differs from the materials was accepted.
DifferenceKind = Literal["reworded", "misplaced", "known wording", "other stated wording"]

# Number of differences that an error shows.
_SHOWN = 3


@dataclass(frozen=True)
class Materials:
    """One suite with the places of its sentences in the file of the materials.

    ``places``: for each variant of the suite, in order, its place among the sentences of the file;
    ``lines``: the line of each sentence of the file. ``other``: further wordings that the file
    itself gives for a sentence, by place. ``known``: digests of other published wordings that the
    layout accepts (see :func:`wording_digest`). ``labels``: the conditions in which each variant of
    the suite counts, if these are not its own; a variant may count in several or in none.
    """

    path: Path
    suite: Suite
    places: tuple[int, ...]
    lines: tuple[int, ...]
    other: Mapping[int, tuple[Words, ...]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    labels: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def located(self) -> tuple[tuple[Item, Variant], ...]:
        """Item and variant of each sentence, in the order of the file."""
        located = [(item, variant) for item in self.suite.items for variant in item.variants]
        by_place = sorted(zip(self.places, located, strict=True), key=lambda pair: pair[0])
        return tuple(pair for _, pair in by_place)

    @cached_property
    def places_of_text(self) -> Mapping[str, tuple[int, ...]]:
        """Places of the sentences by their text without spaces, in lower case."""
        places: dict[str, tuple[int, ...]] = {}
        for place, (_, variant) in enumerate(self.located):
            text = "".join(variant.words).lower()
            places[text] = (*places.get(text, ()), place)
        return places

    @property
    def lengths(self) -> list[int]:
        """Number of words of each sentence, in the order of the file."""
        return [len(variant.words) for _, variant in self.located]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A sentence of a file that is not that of the materials; lines are those of both files."""

    kind: DifferenceKind
    line: int
    materials_line: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The surprisals of a file, in the order of the suite, and how its sentences were paired."""

    suite: Suite
    rows: tuple[tuple[float, ...], ...]
    unknown: frozenset[str]
    equal: int
    respelt: int
    joined: int
    accepted: tuple[Difference, ...]


def in_file_order(path: Path, suite: Suite, lines: Sequence[int] | None = None) -> Materials:
    """Return materials whose sentences are in the order of the suite."""
    count = sum(len(item.variants) for item in suite.items)
    return Materials(path, suite, tuple(range(count)), tuple(lines or range(1, count + 1)))


def pair(
    materials: Materials, sentences: Sequence[ScoredSentence], rules: PairingRules, path: Path
) -> Paired:
    """Pair sentences, without edge tokens and in bits, with the materials, or refuse them."""
    return _Pairing(materials, sentences, rules, path).result()


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A sentence that differs from its own; ``home`` is the place of the one that it equals.

    ``is_own_text``: whether the characters are those of the materials, divided otherwise.
    """

    place: int
    words: Words
    tokens: Words
    home: int | None = None
    is_own_text: bool = False

    @property
    def is_of_same_length(self) -> bool:
        return len(self.words) == len(self.tokens)

    @property
    def lacks_stop(self) -> bool:
        """Whether one of the two sentences is the other without its last word."""
        words, tokens = self.words, self.tokens
        return same_words(words[:-1], tokens) or same_words(words, tokens[:-1])


@dataclass
class _Pairing:
    materials: Materials
    sentences: Sequence[ScoredSentence]
    rules: PairingRules
    path: Path
    counts: Counter[str] = field(default_factory=Counter)
    rows: list[tuple[float, ...]] = field(default_factory=list)
    replaced: dict[int, Variant] = field(default_factory=dict)
    accepted: list[Difference] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)

    def result(self) -> Paired:
        materials = self.materials
        count, expected = len(self.sentences), len(materials.located)
        common = range(min(count, expected))
        doubts = [self._doubt(place) for place in common if not self._matches(place)]
        if count != expected:
            problem = f"has {count} sentences, but {materials.path} has {expected}"
            raise self._refusal(problem, doubts)
        # Wordings that the materials or the layout give for this very sentence.
        for doubt in doubts:
            stated = materials.other.get(doubt.place, ())
            if any(same_words(words, doubt.tokens) for words in stated):
                self._accept(doubt, "other stated wording")
            elif wording_digest(materials.suite.name, doubt.place, doubt.tokens) in materials.known:
                self._accept(doubt, "known wording")
        self._judge([doubt for doubt in doubts if doubt.place not in self.replaced])
        suite = materials.suite
        rows = [self.rows[place] for place in materials.places]
        if self.replaced or materials.labels:
            suite, rows = self._as_scored()
        return Paired(
            suite=suite, rows=tuple(rows), unknown=frozenset(self.unknown),
            equal=self.counts["equal"], respelt=self.counts["respelt"],
            joined=self.counts["joined"], accepted=tuple(self.accepted),
        )  # fmt: skip

    def _matches(self, place: int) -> bool:
        """Record the surprisals of a sentence if its tokens spell the words of the materials."""
        sentence = self.sentences[place]
        item, variant = self.materials.located[place]
        words = variant.words
        if same_words(words, sentence.tokens):
            self.counts["equal" if sentence.tokens == words else "respelt"] += 1
            self.rows.append(sentence.values)
            pairs = zip(words, sentence.tokens, strict=True)
            self.unknown.update(
                word for word, token in pairs if word != token and is_unknown(token)
            )
            return True
        joined = joined_variant(self.materials.suite, item, variant, sentence)
        self.rows.append(joined[1] if joined else ())
        if joined is None:
            return False
        self.counts["joined"] += 1
        if joined[0] != variant:
            self.replaced[place] = joined[0]
        return True

    def _doubt(self, place: int) -> _Doubt:
        """Return a sentence that is not its own, with another of the materials that it equals."""
        tokens = self.sentences[place].tokens
        located = self.materials.located
        places = self.materials.places_of_text.get("".join(tokens).lower(), ())
        is_own_text = place in places
        if not places and any(map(is_unknown, tokens)):
            words = [variant.words for _, variant in located]
            places = tuple(n for n, own in enumerate(words) if same_words(own, tokens))
        home = places[0] if places and not is_own_text else None
        return _Doubt(place, located[place][1].words, tokens, home, is_own_text)

    def _accept(self, doubt: _Doubt, kind: DifferenceKind) -> None:
        changed = self._changed(doubt)
        if changed is None:
            doubt = replace(doubt, home=None)
            raise self._refusal("the critical region is reworded", [doubt])
        self.replaced[doubt.place] = changed
        self.rows[doubt.place] = self.sentences[doubt.place].values
        self.accepted.append(
            Difference(
                kind=kind,
                line=self.sentences[doubt.place].line,
                materials_line=self.materials.lines[doubt.place],
                expected=" ".join(doubt.words),
                found=" ".join(doubt.tokens),
            )
        )

    def _changed(self, doubt: _Doubt) -> Variant | None:
        """Return the variant in the words of the file, if they differ in one uncritical region."""
        suite = self.materials.suite
        critical = {suite.region_index(name) for name in suite.critical}
        return reworded_variant(self.materials.located[doubt.place][1], doubt.tokens, critical)

    def _judge(self, doubts: Sequence[_Doubt]) -> None:
        if crossing := [doubt for doubt in doubts if doubt.is_own_text]:
            problem = f"{_sentences(crossing)} with tokens that belong to two regions"
            raise self._refusal(problem, crossing)
        misplaced = [doubt for doubt in doubts if doubt.home is not None]
        reworded = [doubt for doubt in doubts if doubt.home is None]
        if len(misplaced) > self.rules.misplaced:
            raise self._refusal(f"{_sentences(misplaced)} misplaced", misplaced)
        conditions = [variant.condition for _, variant in self.materials.located]
        if swapped := [
            doubt
            for doubt in misplaced
            if doubt.home is not None and conditions[doubt.home] != conditions[doubt.place]
        ]:
            raise self._refusal("a sentence is that of another condition", swapped)
        if lengths := [doubt for doubt in reworded if not doubt.is_of_same_length]:
            raise self._refusal(f"{_sentences(lengths)} of another length", lengths)
        if others := [doubt for doubt in doubts if self._changed(doubt) is None]:
            raise self._refusal(f"{_sentences(others)} with another critical region", others)
        if many := [
            doubt
            for doubt in reworded
            if sum(not same_word(*pair) for pair in zip(doubt.words, doubt.tokens, strict=True)) > 1
        ]:
            raise self._refusal(f"{_sentences(many)} with several other words", many)
        if len(reworded) > self.rules.reworded * len(self.sentences):
            raise self._refusal(f"{_sentences(reworded)} reworded", reworded)
        for doubt in doubts:
            self._accept(doubt, "reworded" if doubt.home is None else "misplaced")

    def _as_scored(self) -> tuple[Suite, list[tuple[float, ...]]]:
        places, labels = iter(self.materials.places), iter(self.materials.labels)
        items, rows = [], []
        for item in self.materials.suite.items:
            variants = []
            for variant, place in zip(item.variants, places, strict=False):
                scored = self.replaced.get(place, variant)
                names = next(labels, (variant.condition,))
                variants += [replace(scored, condition=name) for name in names]
                rows += [self.rows[place]] * len(names)
            items.append(replace(item, variants=tuple(variants)))
        return replace(self.materials.suite, items=tuple(items)), rows

    def _refusal(self, problem: str, doubts: Sequence[_Doubt]) -> InputError:
        path, lines = self.materials.path, self.materials.lines
        for doubt in doubts[:_SHOWN]:
            what = "" if doubt.home is None else f", line {lines[doubt.home]} of it"
            problem += (
                f"\n  line {self.sentences[doubt.place].line}: expected {' '.join(doubt.words)!r} "
                f"({path}:{lines[doubt.place]}), found {' '.join(doubt.tokens)!r}{what}"
            )
        if len(doubts) > _SHOWN:
            problem += f"\n  and {len(doubts) - _SHOWN} more"
        line = self.sentences[doubts[0].place].line if doubts else None
        return InputError(problem, path=self.path, line=line, remedy=_remedy(doubts))


def _sentences(doubts: Sequence[_Doubt]) -> str:
    return plural(len(doubts), "sentence")


def _remedy(doubts: Sequence[_Doubt]) -> str:
    if any(doubt.is_own_text for doubt in doubts):
        return "divide the sentences of materials and surprisals in the same way"
    if doubts and all(doubt.lacks_stop for doubt in doubts):
        return "write the final full stop in both, or in neither"
    if any(doubt.home is not None for doubt in doubts):
        return "the sentences must be those of the materials, in their order"
    if doubts and all(doubt.is_of_same_length for doubt in doubts):
        return "reworded=0.2 accepts one other word outside the critical regions"
    return "materials and surprisals must be of the same sentences"
