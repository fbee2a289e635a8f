"""Optional subword units from SentencePiece that preserve word boundaries.

Each word is segmented on its own and its first piece carries the boundary mark. A word's
probability is therefore the product over its pieces, and no piece spans two words.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sentencepiece

from gardenpath.data.words.unknown_words import Language
from gardenpath.data.words.vocabulary import SPECIALS, UNKNOWN_ID, WORD_MARK, Vocabulary
from gardenpath.errors import ConfigError, InputError
from gardenpath.settings.bounds import PositiveInt
from gardenpath.store.files import write_bytes
from gardenpath.store.keys import digest


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
