"""Subword pieces, what they say about words, and words as running text.

Used by the preparation (SentencePiece), by models over pieces, and by pretrained models, which read
running text. Each word is segmented on its own and its first piece carries the boundary mark: a
word's probability is the product over its pieces, and no piece spans two words. Text is written and
read back without loss, so that a word keeps its place in it.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import sentencepiece

from gardenpath.data.words.vocabulary import SPECIALS, UNKNOWN_ID, WORD_MARK, Language, Vocabulary
from gardenpath.errors import ConfigError, GardenpathError, InputError
from gardenpath.settings.schema import PositiveInt
from gardenpath.store.files import digest, write_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SubwordSettings:
    """Settings of the segmentation of words into pieces."""

    algorithm: Literal["none", "unigram", "bpe"] = "none"
    """SentencePiece algorithm; none keeps words whole."""
    pieces: PositiveInt = 8000
    """Number of pieces."""


class Subwords:
    """A trained segmentation of words into pieces."""

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @property
    def content_hash(self) -> str:
        """A hash that identifies the segmentation."""
        # The vocabulary.json of run folders contains it in this form.
        return digest(self.model)[:16]

    @property
    def pieces(self) -> list[str]:
        """All pieces except the unknown piece."""
        size = self._processor.get_piece_size()
        return [self._processor.id_to_piece(number) for number in range(1, size)]

    def split(self, word: str) -> list[str]:
        """Return the pieces of one word; unknown characters are unchanged."""
        pieces: list[str] = self._processor.encode(word, out_type=str)
        return pieces or [word]

    def encode(self, word: str, vocabulary: Vocabulary) -> list[int]:
        """Return the ids of the pieces of one word: the first begins it, the others continue it.

        Words that contain the mark themselves would have pieces that begin another word; these are
        unknown.
        """
        first, *others = (vocabulary.ids.get(piece, UNKNOWN_ID) for piece in self.split(word))
        if WORD_MARK not in vocabulary.ids:
            return [first, *others]
        continues = vocabulary.is_continuation
        others = [other if continues[other] else UNKNOWN_ID for other in others]
        return [vocabulary.ids[WORD_MARK]] * bool(continues[first]) + [first, *others]

    def save(self, path: Path) -> None:
        """Write the SentencePiece model."""
        write_bytes(path, self.model)

    @staticmethod
    def load(path: Path) -> Subwords:
        """Read a SentencePiece model."""
        try:
            loaded = Subwords(path.read_bytes())
            # An empty file gives a segmentation without a model, which only fails when it is used;
            # pieces that are not text fail when they are listed.
            loaded.split("a")
            _ = loaded.pieces
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"is not a SentencePiece model: {error}", path=path) from error
        return loaded


def train_subwords(sentences: Iterable[str], settings: SubwordSettings) -> Subwords:
    """Train a segmentation on the words of the training split.

    Text is not normalised, because the words of suites must be encoded in the same way.
    """
    output = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=output,
            model_type=settings.algorithm,
            vocab_size=settings.pieces,
            character_coverage=1.0,
            normalization_rule_name="identity",
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            num_threads=1,  # more threads would make the result depend on timing
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ConfigError(
            [f"data.subwords.pieces={settings.pieces}: SentencePiece reports: {error}"]
        ) from error
    return Subwords(output.getvalue())


def subword_vocabulary(
    subwords: Subwords,
    counts: Mapping[str, int],
    *,
    labels: Iterable[str],
    language: Language,
) -> Vocabulary:
    """Return the vocabulary whose units are the pieces of a segmentation."""
    tokens = (*SPECIALS, *subwords.pieces)
    return Vocabulary(
        tokens=tokens,
        counts=tuple(counts.get(token, 0) for token in tokens),
        labels=tuple(sorted(set(labels))),
        language=language,
        min_count=1,
        subword_hash=subwords.content_hash,
    )


# ----------------------------------------------------------------------------
# How the pieces of a word make the probability of the word.
#
# Models over pieces assign probabilities to sequences of pieces, and a word may continue: the
# pieces of *king* are also the beginning of those of *kings*. The product over the pieces of a
# word is the probability that the text goes on with these pieces, whatever follows; over all
# words, these products add up to more than one.
#
# ``next`` The word ends where it ends: the probability includes that the next token begins a word
#     or ends the sentence, p(w) = Π p(pieces) · B(after w) / B(before w), where B is its
#     probability (Pimentel and Meister 2024; Oh and Schuler 2024). These are probabilities of
#     words. ``leading`` Probability of the characters of the word and of the blank before it,
#     whatever follows. It is the only choice for text that is not separated by blanks. ``none``
#     The product over the pieces, as computed by most tools.


# What a user selects; auto is next where tokens mark the beginnings of words, else leading.
BoundaryChoice = Literal["auto", "none", "next", "leading"]

# What a table was computed with.
Boundary = Literal["none", "next", "leading"]


# ----------------------------------------------------------------------------
# Words as running text: where blanks stand, and what may follow a word.
#
# Models that others trained read running text. :class:`SpacedText` is the text of a list of words
# with the place of each word in it. The text of a prefix of the words is a prefix of the text:
# whether a blank precedes a word depends on this word and those before it.
#
# What may follow a word, whatever the next word is (``after``):
#
# ``anything`` The next word may be attached: after a Chinese character, an opening bracket or
#     quotation mark. ``ending`` A blank, the end of the text or, where the spacing attaches it,
#     punctuation, a clitic (*'s*) or a Chinese character. A letter would continue the word.
#     ``negation`` The same or *n't*: after *do*, *is* and other verbs to which it is attached.
#
# The actual text always satisfies this.


Spacing = Literal["auto", "blanks", "natural", "none"]
After = Literal["anything", "ending", "negation"]

NEGATION = "n't"

_CLOSING = frozenset(".,;:?!%)]}'\"’”…")
_OPENING = frozenset("([{“‘$£€¥")
_CLITICS = frozenset({"'s", "'re", "'ve", "'ll", "'d", "'m", "’s", "’re", "’ve", "’ll", "’d", "’m"})
_NEGATED = frozenset(
    ("ai", "are", "ca", "could", "dare", "did", "do", "does", "had", "has", "have", "is", "may",
     "might", "must", "need", "ought", "sha", "should", "was", "were", "wo", "would")
)  # fmt: skip
# Words of treebanks that stand for characters; True opens and False closes.
_WRITTEN: dict[str, tuple[str, bool]] = {
    "-lrb-": ("(", True), "-lsb-": ("[", True), "-lcb-": ("{", True),
    "-rrb-": (")", False), "-rsb-": ("]", False), "-rcb-": ("}", False),
    "``": ('"', True), "''": ('"', False), "`": ("'", True),
}  # fmt: skip

# Han characters, kana and bopomofo with their punctuation and fullwidth forms. Hangul is not among
# them: Korean is written with blanks.
_CHINESE = (
    (0x2E80, 0x312F), (0x31A0, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFE30, 0xFE4F),
    (0xFF00, 0xFFEF), (0x20000, 0x3FFFF),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpacedText:
    """The text of a list of words; word i is ``text[starts[i]:ends[i]]``."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    after: tuple[After, ...]


def joined_words(words: Sequence[str], spacing: Spacing) -> SpacedText:
    """Write words as text.

    ``blanks`` writes a blank between any two words, as in tokenised corpora, and ``none`` none at
    all. ``natural`` writes English as it is printed: no blank before closing punctuation and
    clitics or after opening brackets. ``auto`` does the same, and writes no blank beside Chinese
    characters.
    """
    text = ""
    starts, ends = [], []
    after: list[After] = []
    before: _Word | None = None
    for word in _written(words, spacing):
        if before is not None and _is_apart(before, word, spacing):
            text += " "
        starts.append(len(text))
        text += word.text
        ends.append(len(text))
        is_chinese = spacing == "auto" and _is_chinese(word.text[-1])
        if spacing == "none" or word.opens or is_chinese:
            after.append("anything")
        else:
            is_negated = spacing != "blanks" and word.text.lower() in _NEGATED
            after.append("negation" if is_negated else "ending")
        before = word
    return SpacedText(text, tuple(starts), tuple(ends), tuple(after))


def is_ending(character: str, spacing: Spacing) -> bool:
    """Whether a character that follows a word (other than ``anything``) ends it."""
    if character.isspace():
        return True
    if spacing in ("blanks", "none"):
        return False
    return character in _CLOSING or (spacing == "auto" and _is_chinese(character))


@cache
def ending_beginnings(spacing: Spacing) -> frozenset[bytes]:
    """Return the incomplete UTF-8 codes with which characters that end a word begin."""
    # Codes differ within groups of 64 only in their last byte.
    chinese = (chr(n) for low, high in _CHINESE for n in (*range(low, high, 64), high))
    others = (chr(n) for n in range(0x3001) if is_ending(chr(n), spacing))
    codes = [char.encode() for char in (*others, *chinese) if is_ending(char, spacing)]
    return frozenset(code[:length] for code in codes for length in range(1, len(code)))


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it is written, and whether it opens or closes a bracket or a quotation."""

    text: str
    opens: bool = False
    closes: bool = False


def _written(words: Sequence[str], spacing: Spacing) -> Iterator[_Word]:
    is_quoted = False
    for word in words:
        if not word or any(character.isspace() for character in word):
            raise GardenpathError(f"the word {word!r} is empty or contains a blank; split it")
        if spacing in ("blanks", "none"):
            yield _Word(word)
            continue
        text, opens = _WRITTEN.get(word.lower(), (word.replace("n’t", NEGATION), False))
        if word.lower() in _WRITTEN:
            closes = not opens
        elif word == '"':  # the same character opens and closes
            opens, closes = not is_quoted, is_quoted
        else:
            opens = all(character in _OPENING for character in word)
            closes = word in _CLITICS or all(character in _CLOSING for character in word)
        if text == '"':
            is_quoted = opens
        yield _Word(text, opens, closes)


def _is_apart(before: _Word, word: _Word, spacing: Spacing) -> bool:
    """Whether a blank is written between two words."""
    if spacing in ("blanks", "none"):
        return spacing == "blanks"
    if spacing == "auto" and (_is_chinese(before.text[-1]) or _is_chinese(word.text[0])):
        return False
    if word.text == NEGATION:
        return before.text.lower() not in _NEGATED
    return not (before.opens or word.closes)


def _is_chinese(character: str) -> bool:
    return any(low <= ord(character) <= high for low, high in _CHINESE)
