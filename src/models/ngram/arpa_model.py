"""The family of n-gram models in ARPA files, made by SRILM, KenLM or other programs.

``task=adopt`` stores such a model in a run folder; scoring opens it from there. It is never
trained, and keeps its own vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np

from gardenpath.data.arrays import Floats
from gardenpath.data.words.vocabulary import END_ID, UNKNOWN_ID, Vocabulary
from gardenpath.errors import DamagedRunError, InputError
from gardenpath.models.family import AdoptedFamily, AdoptedSettings, ModelSettings
from gardenpath.models.ngram.model import NgramModel
from gardenpath.settings.schema import Bounds
from gardenpath.store.files import fingerprint, sha256_of
from gardenpath.store.run_folder import VOCABULARY_FILE, WEIGHTS_FILE
from gardenpath.util import NATS_PER_LOG10

if TYPE_CHECKING:
    from gardenpath.data.words.pieces import Boundary
    from gardenpath.data.words.vocabulary import Language
    from gardenpath.models.sequential.scorer import SequentialScorer


@dataclass(frozen=True, kw_only=True)
class ArpaSettings:
    """How the model of an ARPA file is used."""

    unknown_log10: Annotated[float, Bounds(-1000.0, 0.0)] | None = None
    """Log10 probability of unknown words, before backing off, if the file gives them none: KenLM
    uses -100. With null their probability is zero and their surprisal infinite."""


@dataclass(frozen=True, kw_only=True)
class ArpaNgramModel(AdoptedSettings):
    """An n-gram model from an ARPA file."""

    family: Literal["arpa"] = "arpa"
    network: ArpaSettings = ArpaSettings()


class ArpaFamily(AdoptedFamily):
    """N-gram models from ARPA files, with their own vocabularies."""

    settings: ClassVar[type[ModelSettings]] = ArpaNgramModel

    def adopt(self, settings: ArpaNgramModel, source: str, folder: Path) -> AdoptedSettings:
        from gardenpath.models.ngram.arpa import read_arpa

        # The language selects among classes of unknown words, which only own models have.
        language: Language = "zh" if settings.language == "zh" else "en"
        model, vocabulary = read_arpa(Path(source), language=language)
        vocabulary.save(folder / VOCABULARY_FILE)
        model.save(folder / WEIGHTS_FILE)
        return settings

    def identity(self, settings: ArpaNgramModel, folder: Path) -> str:
        files = {name: sha256_of(folder / name) for name in (VOCABULARY_FILE, WEIGHTS_FILE)}
        return fingerprint("arpa", 1, files=files)

    def open(
        self,
        settings: ArpaNgramModel,
        folder: Path,
        *,
        device: str,
        boundary: Boundary | None,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> ArpaModel:

        return ArpaModel(folder, settings.network, on_words=on_words)


# Number of sentences scored together, after which progress is reported.
_AT_ONCE = 5_000
_AGAIN = "copy the run folder again, or adopt the model again"


class ArpaModel:
    """An adopted n-gram model; its files are read when they are first needed."""

    def __init__(
        self,
        folder: Path,
        settings: ArpaSettings,
        *,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._on_words = on_words

    def word_log_probs(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return, for each sentence, the log probability (nats) of each word, then its end.

        If the file lists no ``</s>``, ends have no probability, and their values are NaN.
        """
        log_probs: list[Floats] = []
        for begin in range(0, len(sentences), _AT_ONCE):
            chunk = sentences[begin : begin + _AT_ONCE]
            log_probs += self._scorer.word_log_probs(chunk)
            self._on_words(sum(map(len, chunk)))
        if not self._predicts_ends:
            for scores in log_probs:
                scores[-1] = np.nan
        return log_probs

    def knows(self, word: str) -> bool:
        """Whether the file lists the word."""
        return self._vocabulary.knows(word)

    def seen_as(self, words: Sequence[str]) -> list[str]:
        """Return each word, or the symbol of unknown words for it."""
        return [
            self._vocabulary.seen_as(word, is_first=position == 0)
            for position, word in enumerate(words)
        ]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        try:
            return Vocabulary.load(self._folder / VOCABULARY_FILE)
        except InputError as error:
            raise DamagedRunError(f"{error}; {_AGAIN}") from error

    @cached_property
    def _model(self) -> NgramModel:
        path = self._folder / WEIGHTS_FILE
        model = NgramModel.load(path)
        if model.vocabulary_size != len(self._vocabulary):
            raise DamagedRunError(
                f"{path}: the model has {model.vocabulary_size} words, but {VOCABULARY_FILE} next "
                f"to it has {len(self._vocabulary)}; {_AGAIN}"
            )
        unknown = self._settings.unknown_log10
        if unknown is not None and model.log_probs[0][UNKNOWN_ID] == -np.inf:
            model.log_probs[0][UNKNOWN_ID] = unknown * NATS_PER_LOG10
        return model

    @property
    def _predicts_ends(self) -> bool:
        model = self._model
        listed = (bool((table.words == END_ID).any()) for table in model.tables[1:])
        return model.log_probs[0][END_ID] > -np.inf or any(listed)

    @cached_property
    def _scorer(self) -> SequentialScorer:
        from gardenpath.models.sequential.scorer import SequentialScorer

        return SequentialScorer(model=self._model, vocabulary=self._vocabulary)
