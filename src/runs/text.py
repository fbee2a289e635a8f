"""Text as a run reads it: sentences from Python, the style of its corpus, unknown words, tables.

:meth:`Run.surprisal`, ``task=surprisal``, ``task=parse``, suites and the playground use this, so
that all read the same words. Scores come from the run; nothing here computes any.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gardenpath.data.readers.base import TableColumns
from gardenpath.data.sentence import Sentence, Source
from gardenpath.data.trees.cleaning import Cleaning
from gardenpath.data.trees.tree import Tree, parse_tree
from gardenpath.data.words.segmenting import (
    CLITICS,
    CLOSING_QUOTE,
    MARKS,
    OPENING_QUOTE,
    WritingStyle,
)
from gardenpath.data.words.vocabulary import WORD_MARK
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.replicates import not_converged, tolerance_note
from gardenpath.eval.surprisal.inputs import GivenText, Stimulus, stimuli_of
from gardenpath.eval.surprisal.tables import RunHeader, SurprisalRow, failures_of, rows_of
from gardenpath.settings.schema import plain
from gardenpath.store.surprisals import Stored
from gardenpath.store.tables import PLL_BITS, SEARCH_COLUMN_NAMES, SURPRISAL_BITS, SURPRISAL_SE
from gardenpath.util import Words, plural, versions

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# One sentence: words separated by spaces, a bracketed tree, a list of words, or a tree.
OneGiven = str | Sequence[str] | Tree
Given = OneGiven | Sequence[OneGiven]

# Name of sentences that are not from a file, in messages.
_SOURCE = "sentence"


def is_single(text: Given) -> bool:
    """Whether a single sentence is given, not a list of sentences."""
    return isinstance(text, str | Tree)


def sentences_of_given(
    text: Given, cleaning: Cleaning, style: WritingStyle | None = None
) -> list[Sentence]:
    """Return sentences, cleaned like the corpus of a model; none may be empty.

    A list of strings is a list of sentences; a list of lists of strings is a list of tokenised
    sentences. Strings are divided into words as the corpus is (``style``), else at blanks.
    """
    members = [text] if isinstance(text, str | Tree) else list(text)
    sentences = [_sentence(member, number) for number, member in enumerate(members, start=1)]
    cleaned = list(replace(cleaning, max_tokens=None).apply(sentences))
    if style is not None:
        written = {n for n, member in enumerate(members, start=1) if isinstance(member, str)}
        for place, sentence in enumerate(cleaned):
            if sentence.source.line in written and sentence.tree is None:
                words = style.words(sentence.words, sentence.source)
                cleaned[place] = replace(sentence, words=tuple(word for word, _ in words))
    if len(cleaned) < len(sentences) or not sentences:
        kept = {sentence.source.line for sentence in cleaned}
        empty = next((n for n in range(1, len(sentences) + 1) if n not in kept), 1)
        raise GardenpathError(f"sentence {empty} has no words")
    return cleaned


def _sentence(text: OneGiven, number: int) -> Sentence:
    source = Source(_SOURCE, number)
    if isinstance(text, str) and text.lstrip().startswith("("):
        text = parse_tree(text)
    if isinstance(text, Tree):
        return Sentence(text.words(), source, text)
    if isinstance(text, str) and len(text.strip().splitlines()) > 1:
        raise GardenpathError(
            f"sentence {number} contains line breaks; give a list with one string per sentence, "
            "such as text.splitlines()"
        )
    words = tuple(text.split()) if isinstance(text, str) else tuple(text)
    for word in words:
        if not isinstance(word, str) or word.split() != [word]:
            raise GardenpathError(f"{word!r} is not a word; give strings, lists of words, or trees")
    if not words:
        raise GardenpathError(f"sentence {number} has no words")
    return Sentence(words, source)


# ----------------------------------------------------------------------------
# How the corpus of a run writes words, from the words that its model knows.


# Frequent words with a capital letter; a model that knows none of them was trained on lower case.
_CAPITALISED = ("The", "A", "I", "He", "She", "It", "In", "But", "This", "And")


def read_as(
    run: Run, text: GivenText, *, tokenised: bool, segmenter: str | None = None
) -> list[Stimulus]:
    """Return the sentences of an input as a run reads them, like those of its corpus."""
    style = None if tokenised else style_of(run, segmenter)
    return stimuli_of(text, run.cleaning, style)


def style_of(run: Run, segmenter: str | None = None) -> WritingStyle:
    """Return how words are written in the corpus of a run.

    ``segmenter`` divides Chinese text into words. Models that read text get words as treebanks
    write them, which are put together again; without blanks, every Chinese character is a word.
    """
    if run.model.units.reads_text:
        return WritingStyle(keeps=lambda _: False, segmenter=segmenter, without_blanks="characters")
    if run.is_adopted:
        knows: Callable[[str], bool] = run.knows
        is_lower = any(knows(word.lower()) for word in _CAPITALISED)
        is_lower = is_lower and not any(map(knows, _CAPITALISED))
    else:
        vocabulary = run.vocabulary
        # A unit of the model: a word, or a piece that is a whole word.
        has_words = vocabulary.subword_hash is None
        knows = vocabulary.knows if has_words else lambda w: f"{WORD_MARK}{w}" in vocabulary.ids
        is_lower = not any(token != token.lower() for token in vocabulary.tokens if token[0] != "<")
    return WritingStyle(
        keeps=knows,
        splits_punctuation=any(map(knows, MARKS)),
        splits_clitics=any(map(knows, CLITICS)),
        has_treebank_quotes=knows(OPENING_QUOTE) and knows(CLOSING_QUOTE) and not knows('"'),
        lowercase=is_lower,
        segmenter=segmenter,
    )


# ----------------------------------------------------------------------------
# How much of an input a model knows: sentences in another language or tokenisation are refused.
#
# The words of a model's own test split are mostly known, and those of a related corpus too. If
# more than half of the tokens of an input are unknown, it is in another language, in other tokens
# or in another case; its surprisals are those of unknown-word classes and say nothing about the
# words.
#
# Subword pieces cover nearly any word. A word counts as unknown to such a model if it contains a
# character that the training corpus did not, or if it is spelled out letter by letter although the
# training corpus was not.


# Above this share of unknown words an input is refused.
MOST_UNKNOWN = 0.5
# Above this share a warning says so: one in ten words is then a guess about a class of words.
MANY_UNKNOWN = 0.1

_SHOWN = 5
# Unknown words that are listed where there is room.
_LISTED = 40
# Mean number of pieces per word above which a segmentation spells words out anyway.
_FEW_PIECES = 2.0
_SPELLED_OUT = 3

Known = Callable[[str], bool]

_PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$|n't$|'\w+$")
_HAN = re.compile(r"[\u3400-\u9fff]")
_UNSEGMENTED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownWords:
    """The words of an input that a run does not know; ``listed`` are the first ones."""

    run: str
    words: int
    unknown: int
    listed: tuple[str, ...] = ()
    distinct: int = 0
    hint: str = ""

    @property
    def share(self) -> float:
        """The share of unknown words among all tokens."""
        return self.unknown / self.words if self.words else 0.0

    @property
    def is_large(self) -> bool:
        """Whether most words are unknown."""
        return self.share > MOST_UNKNOWN

    @property
    def is_many(self) -> bool:
        """Whether so many words are unknown that readers must be warned."""
        return self.share > MANY_UNKNOWN

    def __str__(self) -> str:
        return self.said(_SHOWN)

    def said(self, most: int = _LISTED) -> str:
        """Say how many words are unknown, and which: at most this number of them."""
        shown = ", ".join(self.listed[:most]) + (", …" if self.distinct > most else "")
        share = f"{self.share:.0%}" if self.share >= 0.01 else f"{self.share:.2%}"
        count = f"{share} of {self.words:,} words are unknown ({shown})"
        return f"{self.run}: {count}" + (f"; {self.hint}" if self.hint else "")


def unknown_words(run: Run, sentences: Iterable[Sequence[str]]) -> UnknownWords:
    """Count the words of an input that a run does not know."""
    counts = Counter(word for words in sentences for word in words)
    knows = _knower(run)
    unknown = {word: count for word, count in counts.items() if not knows(word)}
    return UnknownWords(
        run=str(run.path),
        words=counts.total(),
        unknown=sum(unknown.values()),
        listed=tuple(itertools.islice(unknown, _LISTED)),
        distinct=len(unknown),
        hint=_hint(unknown, knows),
    )


def require_known(unknown: Iterable[UnknownWords], *, allow_unknown: bool) -> None:
    """Refuse an input of which a run does not know most words, unless that is allowed."""
    if allow_unknown:
        return
    counted = list(unknown)
    large = [counts for counts in counted if counts.is_large]
    if not large:
        return
    others = f" (and for {plural(len(large) - 1, 'other run')})" if len(large) > 1 else ""
    fitting = [counts.run for counts in counted if not counts.is_large]
    named = ",".join(fitting[:_SHOWN]) + (",…" if len(fitting) > _SHOWN else "")
    which = f"run={named}, which know the words," if fitting else "run="
    raise GardenpathError(
        f"{max(large, key=lambda counts: counts.share)}{others}. Is the input in the language, the "
        f"tokenisation and the case of the model's corpus? Name other runs with {which} or score "
        "it all the same with task.allow_unknown=true (in Python, allow_unknown=True)"
    )


def _knower(run: Run) -> Known:
    """Return a test of whether a model knows a word."""
    if run.is_adopted or run.trained.subwords is None:
        return run.knows
    subwords, vocabulary = run.trained.subwords, run.vocabulary
    total = sum(vocabulary.counts)
    starts = sum(
        count
        for piece, count in zip(vocabulary.tokens, vocabulary.counts, strict=True)
        if piece.startswith(WORD_MARK)
    )
    is_usually_whole = 0 < total <= _FEW_PIECES * starts

    def knows(word: str) -> bool:
        pieces = subwords.split(word)
        if any(piece not in vocabulary.ids for piece in pieces):
            return False
        letters = [piece.removeprefix(WORD_MARK) for piece in pieces]
        is_spelled = len(word) >= _SPELLED_OUT and all(len(letter) <= 1 for letter in letters)
        return not (is_usually_whole and is_spelled)

    return knows


def _hint(unknown: dict[str, int], knows: Known) -> str:
    """Say what would make most of the unknown words known; empty if nothing does."""

    def is_known_inside(word: str) -> bool:
        inside = _PUNCTUATION.sub("", word)
        return inside not in ("", word) and (knows(inside) or knows(inside.lower()))

    causes: dict[str, Callable[[str], bool]] = {
        "most of them are known in lower case": lambda word: knows(word.lower()),
        "most of them are known with a capital letter": lambda word: knows(word.capitalize()),
        "most of them are known without the punctuation attached to them, which the corpus "
        "writes as a word of its own": is_known_inside,
        "most of them are long strings of Han characters: separate words by spaces": lambda word: (
            len(word) >= _UNSEGMENTED and _HAN.search(word) is not None
        ),
    }
    total = sum(unknown.values())
    for said, explains in causes.items():
        if 2 * sum(count for word, count in unknown.items() if explains(word)) > total:
            return said
    return ""


# ----------------------------------------------------------------------------
# Surprisals of sentences as a table, with metadata.


# Packages that the numbers may depend on.
_PACKAGES = ("torch", "numpy", "sentencepiece")


def surprisal_frame(
    run: Run, sentences: Sequence[Sentence], *, end: bool, columns: TableColumns = "all"
) -> pd.DataFrame:
    """Return one row per word; ``.attrs`` has the model, the search, the unit and the versions."""
    words = [sentence.words for sentence in sentences]
    scored = run.scored(words)
    rows, header = rows_and_header(run, sentences, scored, end=end, columns=columns)
    records = []
    for row in rows:
        content = asdict(row)
        bits, further = content.pop("surprisal_bits"), content.pop("columns")
        given = content.pop("given")
        records.append({**given, **content, "seen": row.seen, "surprisal_bits": bits, **further})
    frame = pd.DataFrame(records)
    if run.measure == "pll":
        frame = frame.rename(columns={SURPRISAL_BITS: PLL_BITS})
    name = run.name
    frame.attrs.update(
        run=name.run,
        model=name.model,
        corpus=name.corpus,
        seed=name.seed,
        unit="bits",
        measure=run.measure,
        boundary=run.boundary,
        notes=[*run.notes, *unconverged_notes(run, words, scored)],
        search={"kind": header.search, **header.settings},
        vocabulary=header.vocabulary,
        failures=[str(failure) for failure in header.failures],
        versions=versions(*_PACKAGES),
        unknown=unknown_words(run, words).share,
    )
    return frame


def rows_and_header(
    run: Run,
    sentences: Sequence[Sentence],
    scored: Mapping[tuple[str, ...], Stored],
    *,
    end: bool,
    columns: TableColumns = "all",
    carried: Sequence[Sequence[Mapping[str, str]]] = (),
) -> tuple[list[SurprisalRow], RunHeader]:
    """Return the rows of a run, and a description of how they were computed.

    ``carried`` are further columns of the input, for each word and the end of each sentence.
    """
    words = [sentence.words for sentence in sentences]
    log_probs = [np.array(scored[sentence].log_probs) for sentence in words]
    remedies = {n: scored[sentence].remedy or "" for n, sentence in enumerate(words)}
    seen = [run.model.seen_as(sentence) for sentence in words]
    # Sequential models are not searched.
    search = plain(run.search) if run.is_syntactic else {"kind": "none"}
    header = RunHeader(
        run=run.name.run,
        model=run.name.model,
        vocabulary=run.model.units.content_hash,
        search=search.pop("kind"),
        settings=search,
        # Adopted models may leave values undefined, such as those of ends; no search has failed.
        failures=() if run.is_adopted else failures_of(sentences, log_probs, remedies),
        boundary=run.boundary,
    )
    further = [scored[sentence].columns for sentence in words] if columns == "all" else None
    rows = rows_of(run.name.run, words, log_probs, seen, columns=further, given=carried, end=end)
    return rows, header


def unconverged_notes(
    run: Run, sentences: Sequence[Words], scored: Mapping[Words, Stored]
) -> list[str]:
    """Say for how many words and ends the standard error is above ``search.tolerance``."""
    tolerance = getattr(run.search, "tolerance", None) if run.is_syntactic else None
    if tolerance is None:
        return []
    errors = [scored[words].columns.get(SURPRISAL_SE, ()) for words in dict.fromkeys(sentences)]
    above = [not_converged(error, None, tolerance) for error in errors]
    of = f"{sum(map(len, errors))} words and ends"
    note = tolerance_note(run.name.run, above, of, tolerance)
    return [] if note is None else [note]


def stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables of several runs; ``.attrs["runs"]`` has the metadata of each."""
    attrs = [dict(frame.attrs) for frame in frames]
    for frame in frames:
        frame.attrs.clear()  # pandas keeps them only if they are equal
    table = pd.concat(frames, ignore_index=True)
    further = [name for name in SEARCH_COLUMN_NAMES if name in table.columns]
    table = table[[*(name for name in table.columns if name not in further), *further]]
    table.attrs.update({"unit": "bits", "runs": attrs})
    return table
