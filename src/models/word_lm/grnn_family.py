"""The family of word-level LSTMs that others trained with PyTorch's example code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.errors import InputError
from gardenpath.models.family import AdoptedFamily, AdoptedSettings, ModelSettings
from gardenpath.store.files import sha256_of, write_json
from gardenpath.store.keys import fingerprint
from gardenpath.store.run_folder import WEIGHTS_FILE

if TYPE_CHECKING:
    from gardenpath.data.words.boundaries import Boundary
    from gardenpath.models.word_lm.grnn_lm import GrnnLm

# The words of the model in the order of their numbers.
WORDS_FILE = "words.json"
# Where the files came from; it does not determine any number.
SOURCE_FILE = "source.json"

_VOCABULARY = "vocab.txt"


@dataclass(frozen=True, kw_only=True)
class GrnnSettings:
    """How a word-level LSTM is used."""

    state: Literal["eos", "fresh", "carry"] = "eos"
    """What precedes a sentence: eos is a zero state and the symbol <eos>; fresh is a zero state
    alone, so that the first word is not predicted; carry is the sentence before, and <eos>."""
    vocabulary: str | None = None
    """File of the words, one per line, or corpus.pt; null uses vocab.txt beside the model file."""
    eos: str = "<eos>"
    """Symbol that separates sentences."""
    unknown: str = "<unk>"
    """Symbol of unknown words."""


@dataclass(frozen=True, kw_only=True)
class GrnnModel(AdoptedSettings):
    """A word-level LSTM, such as the one of Gulordava et al. (2018)."""

    family: Literal["grnn"] = "grnn"
    network: GrnnSettings = GrnnSettings()


class GrnnFamily(AdoptedFamily):
    """Word-level LSTMs of PyTorch's example ``word_language_model``."""

    settings: ClassVar[type[ModelSettings]] = GrnnModel

    def adopt(self, settings: GrnnModel, source: str, folder: Path) -> AdoptedSettings:
        from gardenpath.models.tensor_files import save_arrays
        from gardenpath.models.word_lm.word_lm_files import (
            EMBEDDING_WEIGHT,
            read_vocabulary_words,
            read_weights,
        )

        path = Path(source)
        vocabulary = Path(settings.network.vocabulary or path.with_name(_VOCABULARY))
        weights = read_weights(path)
        words = read_vocabulary_words(vocabulary, len(weights[EMBEDDING_WEIGHT]))
        if settings.network.eos not in words:
            raise InputError(
                f"does not contain {settings.network.eos}, which separates sentences",
                path=vocabulary,
                remedy="name the symbol with model.network.eos=",
            )
        save_arrays(weights, folder / WEIGHTS_FILE)
        write_json(folder / WORDS_FILE, list(words))
        sources = {"model": path, "vocabulary": vocabulary}
        origin = {k: {"file": str(p), "sha256": sha256_of(p)} for k, p in sources.items()}
        write_json(folder / SOURCE_FILE, origin)
        # The words are in the folder now.
        return replace(settings, network=replace(settings.network, vocabulary=None))

    def identity(self, settings: GrnnModel, folder: Path) -> str:
        files = {name: sha256_of(folder / name) for name in (WEIGHTS_FILE, WORDS_FILE)}
        return fingerprint("grnn", 1, files=files)

    def open(
        self,
        settings: GrnnModel,
        folder: Path,
        *,
        device: str,
        boundary: Boundary | None,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> GrnnLm:
        from gardenpath.models.word_lm.grnn_lm import GrnnLm

        return GrnnLm(folder, settings.network, device=device, on_words=on_words)

    def is_order_dependent(self, settings: GrnnModel) -> bool:
        return settings.network.state == "carry"

    def notes(self, settings: GrnnModel, folder: Path) -> tuple[str, ...]:
        return {
            "eos": (),
            "fresh": ("state=fresh: the first word of a sentence is not predicted.",),
            "carry": ("state=carry: scores depend on the order of the sentences.",),
        }[settings.network.state]
