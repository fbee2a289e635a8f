"""The masked family: BERT-like models, scored by pseudo-log-likelihoods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.data.words.spacing import Spacing
from gardenpath.models.family import AdoptedFamily, AdoptedSettings, ModelSettings
from gardenpath.settings.bounds import PositiveInt
from gardenpath.store.keys import fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from gardenpath.data.words.boundaries import Boundary
    from gardenpath.models.pretrained.masked_scorer import MaskedScorer

# What is masked when one token of a word is predicted.
Pll = Literal["within_word_l2r", "original", "whole_word"]
# What to do with a sentence in which a word has no tokens of its own.
Unscorable = Literal["refuse", "missing"]

_IDENTITY_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class MaskedSettings:
    """Settings of a masked language model."""

    source: str = ""
    """Folder of the model, or its name on the Hugging Face Hub."""
    revision: str | None = None
    """Branch, tag or commit on the Hub; an adopted model keeps the commit."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file that is used; filled in when the model is adopted."""
    pll: Pll = "within_word_l2r"
    """Tokens of the word that are masked with the predicted one: those after it (within_word_l2r,
    Kauf and Ivanova 2023), none (original, Salazar et al. 2020), or all (whole_word)."""
    spacing: Spacing = "auto"
    """How words become text: auto (English as printed, no blanks beside Chinese characters),
    natural (the same with blanks), blanks (between all words), none."""
    unscorable: Unscorable = "refuse"
    """What to do with words that share a token with another word, or have none: refuse the
    sentence, or leave out the values of these words."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """Number format of weights and states."""
    max_batch_tokens: PositiveInt = 4096
    """Number of tokens that are computed together."""


@dataclass(frozen=True, kw_only=True)
class MaskedModel(AdoptedSettings):
    """A masked language model that others trained."""

    family: Literal["masked"] = "masked"
    network: MaskedSettings = MaskedSettings()


class MaskedFamily(AdoptedFamily):
    """Masked language models: each word is predicted from the words on both of its sides."""

    settings: ClassVar[type[ModelSettings]] = MaskedModel
    reads_text: ClassVar[bool] = True
    measure: ClassVar[Literal["surprisal", "pll"]] = "pll"

    def adopt(self, settings: MaskedModel, source: str, folder: Path) -> MaskedModel:
        """Load the model once and record the checksums of its files, which stay in place."""
        from gardenpath.models.pretrained.masked_files import find_masked
        from gardenpath.models.pretrained.masked_loading import (
            load_masked_network,
            load_masked_tokenizer,
        )

        found = find_masked(source, settings.network.revision)
        load_masked_tokenizer(found)
        load_masked_network(found, settings.network.precision)
        network = replace(
            settings.network, source=found.source, revision=found.revision, files=found.hashes()
        )
        return replace(settings, network=network)

    def identity(self, settings: MaskedModel, folder: Path) -> str:
        """Return a hash of the files of the model, after comparing them with their checksums."""
        from gardenpath.models.pretrained.masked_files import verified_masked

        verified_masked(settings.network)
        files = dict(settings.network.files)
        return fingerprint("masked_model", _IDENTITY_VERSION, files=files)

    def open(
        self,
        settings: MaskedModel,
        folder: Path,
        *,
        device: str,
        boundary: Boundary | None,
        on_words: Callable[[int], None] = lambda _: None,
    ) -> MaskedScorer:
        """Open the model; ``boundary`` has no meaning for words that are predicted one by one."""
        from gardenpath.models.pretrained.masked_files import verified_masked
        from gardenpath.models.pretrained.masked_loading import (
            load_masked_network,
            load_masked_tokenizer,
        )
        from gardenpath.models.pretrained.masked_scorer import MaskedScorer

        network = settings.network
        found = verified_masked(network)
        return MaskedScorer(
            load_masked_tokenizer(found),
            lambda: load_masked_network(found, network.precision),
            pll=network.pll,
            unscorable=network.unscorable,
            spacing=network.spacing,
            max_batch_tokens=network.max_batch_tokens,
            device=device,
            on_words=on_words,
        )
