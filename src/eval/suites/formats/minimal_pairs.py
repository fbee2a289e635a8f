"""Minimal pairs, one good and one bad sentence, as suites that compare whole sentences.

English sentences are tokenised as in treebanks: they are split at spaces, and punctuation and
clitics are separated. ``She doesn't like Bill's dog.`` has the words ``She does n't like Bill 's
dog .``. Full stops of titles and initials (``Mr.``, ``J.``) stay with their word except at the end
of the sentence.

If a Chinese file has spaces between words, these delimit the words; otherwise a segmenter divides
its sentences, by default into characters. A file may not mix the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gardenpath.data.segmenting.chinese_text import has_han
from gardenpath.data.segmenting.english_text import english_words
from gardenpath.data.segmenting.segmenter import Segmenter, segmenter_named
from gardenpath.errors import InputError
from gardenpath.eval.suites.design.formula import Formula
from gardenpath.eval.suites.design.suite import Item, Prediction, Suite, Variant, split_words

GOOD, BAD = "good", "bad"
REGION = "sentence"
PREDICTION = Prediction("good_preferred", Formula.parse(f"(*;%{BAD}%) > (*;%{GOOD}%)"))


@dataclass(frozen=True, slots=True)
class Pair:
    """A minimal pair as read from a file."""

    good: str
    bad: str
    line: int
    labels: Mapping[str, str] = field(default_factory=dict)


def pair_suite(
    pairs: Sequence[Pair],
    *,
    path: str | Path,
    name: str,
    language: str | None = None,
    kind: str = "",
    segmenter: Segmenter | None = None,
) -> Suite:
    """Return a suite of minimal pairs.

    Without ``language``, the suite is Chinese if any sentence contains a Chinese character and
    English otherwise. All languages except Chinese are tokenised like English. ``segmenter``
    divides Chinese sentences without blanks; None makes every character a word.
    """
    if not pairs:
        raise InputError("contains no pairs", path=path)
    written = "zh" if any(has_han(pair.good + pair.bad) for pair in pairs) else "en"
    chosen = language or written
    is_chinese = chosen.split("-")[0] in ("zh", "cmn", "yue")
    split: Callable[[str], Sequence[str]] = english_words
    if is_chinese:
        segment = (segmenter or segmenter_named("characters")).segment
        split = split_words if has_blanks(pairs, path) else segment
    items = tuple(_item(number, pair, split, path) for number, pair in enumerate(pairs, start=1))
    return Suite(
        name=name,
        language=chosen,
        regions=(REGION,),
        conditions=(GOOD, BAD),
        predictions=(PREDICTION,),
        items=items,
        kind=kind,
        spaced=not is_chinese,
        critical=(REGION,),
    )


def _item(number: int, pair: Pair, split: Callable[[str], Sequence[str]], path: str | Path) -> Item:
    variants = []
    for condition, sentence in ((GOOD, pair.good), (BAD, pair.bad)):
        words = tuple(split(sentence))
        if not words:
            raise InputError(f"the {condition} sentence is empty", path=path, line=pair.line)
        variants.append(Variant(condition, (words,), sentence))
    return Item(number, tuple(variants), dict(pair.labels))


def has_blanks(pairs: Sequence[Pair], path: str | Path) -> bool:
    """Whether words are separated by spaces, which must be the case for all pairs or for none."""
    separated = [
        any(len(split_words(sentence)) > 1 for sentence in (pair.good, pair.bad)) for pair in pairs
    ]
    if len(set(separated)) > 1:
        line = next(p.line for p, each in zip(pairs, separated, strict=True) if not each)
        remedy = "put spaces between words in all lines or in none"
        problem = "no spaces between words, unlike other lines of the file"
        raise InputError(problem, path=path, line=line, remedy=remedy)
    return separated[0]
