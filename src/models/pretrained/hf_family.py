"""The family hf: causal language models that load through transformers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.data.words.boundaries import Boundary, BoundaryChoice
from gardenpath.data.words.spacing import Spacing
from gardenpath.models.family import AdoptedFamily, AdoptedSettings, ModelSettings
from gardenpath.models.pretrained import hf_files
from gardenpath.models.pretrained.hf_files import Precision
from gardenpath.settings.bounds import PositiveInt
from gardenpath.store.keys import fingerprint

if TYPE_CHECKING:
    from gardenpath.models.pretrained.causal_scorer import CausalScorer

Bos = Literal["required", "auto", "none"]


@dataclass(frozen=True, kw_only=True)
class HfSettings:
    """Settings of a causal model of Hugging Face."""

    source: str = ""
    """Folder of the model, or its name on the Hugging Face hub."""
    revision: str | None = None
    """Commit, tag or branch on the hub; null is the newest on this machine or on the hub."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file, recorded when the model is adopted."""
    bos: Bos = "required"
    """Token before each sentence: required has exactly one, auto does what the tokeniser does, and
    none has none, so that the first word has no probability."""
    precision: Precision = "fp32"
    """Number format of the weights: fp32 or bf16."""
    context: Literal["slide", "refuse"] = "slide"
    """Sentences longer than the model's context: slide reads at least the last half of the context
    for each token, refuse stops with an error."""
    spacing: Spacing = "auto"
    """How words become text: auto (English as printed, no blanks beside Chinese characters),
    natural (the same with blanks), blanks (between all words), none."""
    batch_tokens: PositiveInt = 512
    """Number of tokens that the model reads at once; large vocabularies reduce it."""


@dataclass(frozen=True, kw_only=True)
class HfModel(AdoptedSettings):
    """A causal model of Hugging Face."""

    family: Literal["hf"] = "hf"
    network: HfSettings = HfSettings()


class HfFamily(AdoptedFamily):
    """Causal models of Hugging Face; their files stay where they are."""

    settings: ClassVar[type[ModelSettings]] = HfModel
    reads_text: ClassVar[bool] = True

    def adopt(self, settings: HfModel, source: str, folder: Path) -> HfModel:
        """Check the files of a model and record their checksums."""
        hf_files.require_transformers()
        found = hf_files.find_folder(source, settings.network.revision)
        is_here = Path(source).expanduser().is_dir()
        network = dataclasses.replace(
            settings.network,
            source=str(found) if is_here else source,
            # The hub names the folder of a snapshot by its commit.
            revision=settings.network.revision if is_here else found.name,
            files=hf_files.checksums(found),
        )
        adopted = dataclasses.replace(settings, network=network)
        self.open(adopted, folder, device="cpu", boundary="next").check()
        return adopted

    def identity(self, settings: HfModel, folder: Path) -> str:
        """Return a hash of the files, and of the settings that change the numbers."""
        network = settings.network
        hf_files.verify(_place(network), network.files)
        return fingerprint(
            "hf", self.scores_version, files=dict(network.files), bos=network.bos,
            precision=network.precision, context=network.context, spacing=network.spacing,
        )  # fmt: skip

    def open(
        self,
        settings: HfModel,
        folder: Path,
        *,
        device: str,
        boundary: Boundary | None,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> CausalScorer:
        """Open the model; its weights are loaded when the first sentence is scored."""
        hf_files.require_transformers()
        from gardenpath.models.pretrained.causal_scorer import CausalScorer

        network = settings.network
        place = _place(network)
        return CausalScorer(
            load=lambda: hf_files.load_causal(place, network.precision, device),
            config=hf_files.load_config(place),
            tokeniser=hf_files.load_tokeniser(place),
            settings=network,
            boundary=boundary or "none",
            on_words=on_words,
        )

    def boundary(self, settings: HfModel, asked: BoundaryChoice) -> Boundary:
        """Return how words are made of tokens: next, unless something else is asked."""
        if asked != "auto":
            return asked
        return "leading" if settings.network.spacing == "none" else "next"

    def weight_bytes(self, settings: HfModel, folder: Path) -> int:
        """Return the size of the weights, which are where the model is."""
        return sum(path.stat().st_size for path in _place(settings.network).glob("*.safetensors"))

    def notes(self, settings: HfModel, folder: Path) -> tuple[str, ...]:
        """Announce settings that make numbers unlike the usual ones."""
        scorer = self.open(settings, folder, device="cpu", boundary="next")
        return tuple(f"{settings.name}: {note}" for note in scorer.notes)


def _place(network: HfSettings) -> Path:
    return hf_files.find_folder(network.source, network.revision)
