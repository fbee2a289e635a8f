"""The family of n-gram models in ARPA files, made by SRILM, KenLM or other programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from gardenpath.models.family import AdoptedFamily, AdoptedSettings, ModelSettings
from gardenpath.settings.bounds import Bounds
from gardenpath.store.files import sha256_of
from gardenpath.store.keys import fingerprint
from gardenpath.store.run_folder import VOCABULARY_FILE, WEIGHTS_FILE

if TYPE_CHECKING:
    from gardenpath.data.words.boundaries import Boundary
    from gardenpath.models.ngram.arpa_model import ArpaModel


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
        language = "zh" if settings.language == "zh" else "en"
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
        from gardenpath.models.ngram.arpa_model import ArpaModel

        return ArpaModel(folder, settings.network, on_words=on_words)
