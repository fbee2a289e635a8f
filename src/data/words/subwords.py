"""Optional subword units by SentencePiece, with word boundaries kept.

Each word is segmented by itself and its first piece carries the boundary mark, so a word's
probability is the product over its pieces and pieces never span two words.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sentencepiece

from gardenpath.data.words.unknown_words import Language
from gardenpath.data.words.vocabulary import SPECIALS, UNKNOWN_ID, Vocabulary
from gardenpath.errors import ConfigError, InputError
from gardenpath.settings.bounds import PositiveInt
from gardenpath.store.files import write_bytes
from gardenpath.store.keys import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class SubwordSettings:
    """How to train a segmentation of words into pieces."""

    algorithm: Literal["none", "unigram", "bpe"] = "none"
    """SentencePiece algorithm; none keeps words whole."""
    pieces: PositiveInt = 8000
    """Size of the inventory of pieces."""


class Subwords:
    """A trained segmentation of words into pieces."""

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @property
    def content_hash(self) -> str:
        """Identifies the segmentation."""
        # In this form it is part of the vocabulary.json of run folders.
        return digest(self.model)[:16]

    @property
    def pieces(self) -> list[str]:
        """All pieces, without the unknown piece."""
        size = self._processor.get_piece_size()
        return [self._processor.id_to_piece(number) for number in range(1, size)]

    def split(self, word: str) -> list[str]:
        """The pieces of one word; unknown characters appear as they are."""
        pieces: list[str] = self._processor.encode(word, out_type=str)
        return pieces or [word]

    def encode(self, word: str, vocabulary: Vocabulary) -> list[int]:
        """The ids of the pieces of one word."""
        return [vocabulary.ids.get(piece, UNKNOWN_ID) for piece in self.split(word)]

    def save(self, path: Path) -> None:
        """Write the SentencePiece model."""
        write_bytes(path, self.model)

    @staticmethod
    def load(path: Path) -> Subwords:
        """Read a SentencePiece model."""
        try:
            return Subwords(path.read_bytes())
        except (OSError, RuntimeError) as error:
            raise InputError(f"is not a SentencePiece model: {error}", path=path) from error


def train_subwords(sentences: Iterable[str], settings: SubwordSettings) -> Subwords:
    """Train a segmentation on the words of the training split.

    Text is taken as it is: no Unicode normalisation, for suites must meet the same characters.
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
            [f"data.subwords.pieces={settings.pieces}: SentencePiece says: {error}"]
        ) from error
    return Subwords(output.getvalue())


def subword_vocabulary(
    subwords: Subwords,
    counts: Mapping[str, int],
    *,
    labels: Iterable[str],
    language: Language,
) -> Vocabulary:
    """The vocabulary whose units are the pieces of a segmentation."""
    tokens = (*SPECIALS, *subwords.pieces)
    return Vocabulary(
        tokens=tokens,
        counts=tuple(counts.get(token, 0) for token in tokens),
        labels=tuple(sorted(set(labels))),
        language=language,
        min_count=1,
        subword_hash=subwords.content_hash,
    )
