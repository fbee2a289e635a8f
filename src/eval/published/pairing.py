"""Whether the tokens of a file spell a sentence of the materials, and how they differ from it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.files import Difference, DifferenceKind, PairingRules, ScoredSentence
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


# ----------------------------------------------------------------------------
# Pairing of the sentences of a file of surprisals with those of the materials, compared as text.
#
# Sentences pair in the order of the materials' file. A pair is equal if the tokens spell the
# words; case, ``<unk>`` and the division into tokens are ignored. A sentence that equals another
# one of the same materials is *misplaced*, one that equals none is *reworded*. Neither is accepted
# unless :class:`PairingRules` or the layout allow it; if accepted, the sentence as it was scored
# takes the place of the original in the suite of that run, so that no surprisal is attributed to a
# sentence for which it was not computed.


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
        found = [(item, variant) for item in self.suite.items for variant in item.variants]
        by_place = sorted(zip(self.places, found, strict=True), key=lambda pair: pair[0])
        return tuple(one for _, one in by_place)

    @cached_property
    def places_of_text(self) -> Mapping[str, tuple[int, ...]]:
        """Places of the sentences by their text without spaces, in lower case."""
        found: dict[str, list[int]] = {}
        for place, (_, variant) in enumerate(self.located):
            found.setdefault("".join(variant.words).lower(), []).append(place)
        return {text: tuple(places) for text, places in found.items()}

    @property
    def lengths(self) -> list[int]:
        """Number of words of each sentence, in the order of the file."""
        return [len(variant.words) for _, variant in self.located]


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


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A sentence that differs from its own; ``home`` is the place of the one that it equals."""

    place: int
    home: int | None


def in_file_order(path: Path, suite: Suite, lines: Sequence[int] | None = None) -> Materials:
    """Return materials whose sentences are in the order of the suite."""
    count = sum(len(item.variants) for item in suite.items)
    return Materials(path, suite, tuple(range(count)), tuple(lines or range(1, count + 1)))


def pair(
    materials: Materials, sentences: Sequence[ScoredSentence], rules: PairingRules, path: Path
) -> Paired:
    """Pair sentences, without edge tokens and in bits, with the materials, or refuse them."""
    return _Pairing(materials, sentences, rules, path).result()


class _Pairing:
    def __init__(
        self,
        materials: Materials,
        sentences: Sequence[ScoredSentence],
        rules: PairingRules,
        path: Path,
    ) -> None:
        self.materials = materials
        self.sentences = sentences
        self.rules = rules
        self.path = path
        self.counts: Counter[str] = Counter()
        self.rows: list[tuple[float, ...]] = []
        self.replaced: dict[int, Variant] = {}
        self.accepted: list[Difference] = []
        self.unknown: set[str] = set()

    def result(self) -> Paired:
        doubts = [place for place in range(self._common()) if not self._matches(place)]
        found = [_Doubt(place, self._home(place)) for place in doubts]
        if len(self.sentences) != len(self.materials.located):
            raise self._refusal(self._wrong_count(), found)
        for doubt in found:
            self._accept_stated(doubt)
        left = [doubt for doubt in found if doubt.place not in self.replaced]
        self._judge(left)
        suite, rows = self._suite(), tuple(self.rows[place] for place in self.materials.places)
        if self.materials.labels:
            suite, rows = _relabelled(suite, rows, self.materials.labels)
        return Paired(
            suite=suite,
            rows=rows,
            unknown=frozenset(self.unknown),
            equal=self.counts["equal"],
            respelt=self.counts["respelt"],
            joined=self.counts["joined"],
            accepted=tuple(self.accepted),
        )

    def _common(self) -> int:
        return min(len(self.sentences), len(self.materials.located))

    def _matches(self, place: int) -> bool:
        """Record the surprisals of a sentence if its tokens spell the words of the materials."""
        sentence = self.sentences[place]
        item, variant = self.materials.located[place]
        words = variant.words
        if sentence.tokens == words:
            self.counts["equal"] += 1
            self.rows.append(sentence.values)
            return True
        if same_words(words, sentence.tokens):
            self.counts["respelt"] += 1
            self.rows.append(sentence.values)
            pairs = zip(words, sentence.tokens, strict=True)
            self.unknown.update(word for word, token in pairs if is_unknown(token))
            return True
        joined = joined_variant(self.materials.suite, item, variant, sentence)
        self.rows.append(joined[1] if joined else ())
        if joined is None:
            return False
        self.counts["joined"] += 1
        if joined[0] != variant:
            self.replaced[place] = joined[0]
        return True

    def _home(self, place: int) -> int | None:
        """Return the place of another sentence of the materials that this one equals."""
        tokens = self.sentences[place].tokens
        found = self.materials.places_of_text.get("".join(tokens).lower(), ())
        if place in found:
            return None
        if not found and any(map(is_unknown, tokens)):
            located = enumerate(self.materials.located)
            found = tuple(n for n, (_, one) in located if same_words(one.words, tokens))[:1]
        return found[0] if found else None

    def _accept_stated(self, doubt: _Doubt) -> None:
        """Accept wordings that the materials or the layout give for this very sentence."""
        place = doubt.place
        tokens = self.sentences[place].tokens
        if any(same_words(words, tokens) for words in self.materials.other.get(place, ())):
            self._accept(place, "other stated wording")
        elif wording_digest(self.materials.suite.name, place, tokens) in self.materials.known:
            self._accept(place, "known wording")

    def _accept(self, place: int, kind: DifferenceKind) -> None:
        changed = self._changed(place)
        if changed is None:
            raise self._refusal("the critical region is reworded", [_Doubt(place, None)])
        sentence = self.sentences[place]
        self.replaced[place] = changed
        self.rows[place] = sentence.values
        self.accepted.append(self._difference(place, kind))

    def _changed(self, place: int) -> Variant | None:
        """Return the variant in the words of the file, if they differ in one uncritical region."""
        suite = self.materials.suite
        critical = {suite.region_index(name) for name in suite.critical}
        return reworded_variant(
            self.materials.located[place][1], self.sentences[place].tokens, critical
        )

    def _judge(self, doubts: Sequence[_Doubt]) -> None:
        """Refuse what the rules do not allow, and accept the rest."""
        if crossing := [doubt for doubt in doubts if self._is_own_text(doubt)]:
            problem = f"{_sentences(crossing)} with tokens that belong to two regions"
            raise self._refusal(problem, crossing)
        misplaced = [doubt for doubt in doubts if doubt.home is not None]
        reworded = [doubt for doubt in doubts if doubt.home is None]
        if len(misplaced) > self.rules.misplaced:
            raise self._refusal(f"{_sentences(misplaced)} misplaced", misplaced)
        if swapped := [doubt for doubt in misplaced if self._is_of_other_condition(doubt)]:
            raise self._refusal("a sentence is that of another condition", swapped)
        if lengths := [doubt for doubt in reworded if not self._is_of_same_length(doubt)]:
            raise self._refusal(f"{_sentences(lengths)} of another length", lengths)
        if others := [doubt for doubt in doubts if self._changed(doubt.place) is None]:
            raise self._refusal(f"{_sentences(others)} with another critical region", others)
        if many := [doubt for doubt in reworded if self._words_changed(doubt) > 1]:
            raise self._refusal(f"{_sentences(many)} with several other words", many)
        if len(reworded) > self.rules.reworded * len(self.sentences):
            raise self._refusal(f"{_sentences(reworded)} reworded", reworded)
        for doubt in doubts:
            self._accept(doubt.place, "reworded" if doubt.home is None else "misplaced")

    def _is_own_text(self, doubt: _Doubt) -> bool:
        """Whether the characters are those of the materials, divided otherwise."""
        text = "".join(self.sentences[doubt.place].tokens).lower()
        return doubt.place in self.materials.places_of_text.get(text, ())

    def _is_of_other_condition(self, doubt: _Doubt) -> bool:
        located = self.materials.located
        home = located[doubt.home][1] if doubt.home is not None else None
        return home is None or home.condition != located[doubt.place][1].condition

    def _is_of_same_length(self, doubt: _Doubt) -> bool:
        expected = self.materials.located[doubt.place][1].words
        return len(expected) == len(self.sentences[doubt.place].tokens)

    def _words_changed(self, doubt: _Doubt) -> int:
        expected = self.materials.located[doubt.place][1].words
        tokens = self.sentences[doubt.place].tokens
        pairs = zip(expected, tokens, strict=True)
        return sum(not same_word(word, token) for word, token in pairs)

    def _suite(self) -> Suite:
        """Return the suite with the sentences as they were scored."""
        if not self.replaced:
            return self.materials.suite
        places = iter(self.materials.places)
        items = tuple(
            replace(
                item,
                variants=tuple(
                    self.replaced.get(place, variant)
                    for variant, place in zip(item.variants, places, strict=False)
                ),
            )
            for item in self.materials.suite.items
        )
        return replace(self.materials.suite, items=items)

    def _wrong_count(self) -> str:
        found, expected = len(self.sentences), len(self.materials.located)
        return f"has {found} sentences, but {self.materials.path} has {expected}"

    def _difference(self, place: int, kind: DifferenceKind) -> Difference:
        return Difference(
            kind=kind,
            line=self.sentences[place].line,
            materials_line=self.materials.lines[place],
            expected=" ".join(self.materials.located[place][1].words),
            found=" ".join(self.sentences[place].tokens),
        )

    def _refusal(self, problem: str, doubts: Sequence[_Doubt]) -> InputError:
        shown = "".join(f"\n  {self._shown(doubt)}" for doubt in doubts[:_SHOWN])
        more = f"\n  and {len(doubts) - _SHOWN} more" if len(doubts) > _SHOWN else ""
        line = self.sentences[doubts[0].place].line if doubts else None
        return InputError(
            f"{problem}{shown}{more}", path=self.path, line=line, remedy=self._remedy(doubts)
        )

    def _shown(self, doubt: _Doubt) -> str:
        one = self._difference(doubt.place, "reworded")
        what = "" if doubt.home is None else f", line {self.materials.lines[doubt.home]} of it"
        return (
            f"line {one.line}: expected {one.expected!r} ({self.materials.path}:"
            f"{one.materials_line}), found {one.found!r}{what}"
        )

    def _remedy(self, doubts: Sequence[_Doubt]) -> str:
        if any(map(self._is_own_text, doubts)):
            return "divide the sentences of materials and surprisals in the same way"
        if doubts and all(map(self._lacks_stop, doubts)):
            return "write the final full stop in both, or in neither"
        if any(doubt.home is not None for doubt in doubts):
            return "the sentences must be those of the materials, in their order"
        if doubts and all(self._is_of_same_length(one) for one in doubts):
            return "reworded=0.2 accepts one other word outside the critical regions"
        return "materials and surprisals must be of the same sentences"

    def _lacks_stop(self, doubt: _Doubt) -> bool:
        """Whether one of the two sentences is the other without its last word."""
        words = self.materials.located[doubt.place][1].words
        tokens = self.sentences[doubt.place].tokens
        return same_words(words[:-1], tokens) or same_words(words, tokens[:-1])


def _sentences(doubts: Sequence[_Doubt]) -> str:
    return plural(len(doubts), "sentence")


def _relabelled(
    suite: Suite, rows: Sequence[tuple[float, ...]], labels: Sequence[tuple[str, ...]]
) -> tuple[Suite, tuple[tuple[float, ...], ...]]:
    """Return the suite with other conditions, and the rows of its variants."""
    given = iter(zip(rows, labels, strict=True))
    items, kept = [], []
    for item in suite.items:
        variants = []
        for variant, (row, names) in zip(item.variants, given, strict=False):
            variants += [replace(variant, condition=name) for name in names]
            kept += [row] * len(names)
        items.append(replace(item, variants=tuple(variants)))
    return replace(suite, items=tuple(items)), tuple(kept)
