"""The family hf: causal language models that load through transformers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.adopted import checkpoints
from gardenpath.adopted.checkpoints import Precision
from gardenpath.data.words.pieces import Boundary, BoundaryChoice, Spacing
from gardenpath.errors import InputError
from gardenpath.models.family import AdoptedFamily, AdoptedSettings, ModelSettings
from gardenpath.settings.schema import PositiveInt
from gardenpath.store.files import fingerprint, sha256_of, write_json
from gardenpath.store.run_folder import WEIGHTS_FILE

if TYPE_CHECKING:
    from gardenpath.adopted.grnn import GrnnLm
    from gardenpath.adopted.hf import CausalScorer
    from gardenpath.adopted.masked import MaskedScorer

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
        checkpoints.require_transformers()
        found = checkpoints.find_folder(source, settings.network.revision)
        is_here = Path(source).expanduser().is_dir()
        network = dataclasses.replace(
            settings.network,
            source=str(found) if is_here else source,
            # The hub names the folder of a snapshot by its commit.
            revision=settings.network.revision if is_here else found.name,
            files=checkpoints.checksums(found),
        )
        adopted = dataclasses.replace(settings, network=network)
        self.open(adopted, folder, device="cpu", boundary="next").check()
        return adopted

    def identity(self, settings: HfModel, folder: Path) -> str:
        """Return a hash of the files, and of the settings that change the numbers."""
        network = settings.network
        checkpoints.verify(_place(network), network.files)
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
        checkpoints.require_transformers()
        from gardenpath.adopted.hf import CausalScorer

        network = settings.network
        place = _place(network)
        return CausalScorer(
            load=lambda: checkpoints.load_causal(place, network.precision, device),
            config=checkpoints.load_config(place),
            tokeniser=checkpoints.load_tokeniser(place),
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
    return checkpoints.find_folder(network.source, network.revision)


# ----------------------------------------------------------------------------
# The masked family: BERT-like models, scored by pseudo-log-likelihoods.


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
        from gardenpath.adopted.masked import (
            find_masked,
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
        from gardenpath.adopted.masked import verified_masked

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
        from gardenpath.adopted.masked import (
            MaskedScorer,
            load_masked_network,
            load_masked_tokenizer,
            verified_masked,
        )

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


# ----------------------------------------------------------------------------
# The family of word-level LSTMs that others trained with PyTorch's example code.


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
        from gardenpath.adopted.grnn import EMBEDDING_WEIGHT, read_vocabulary_words, read_weights
        from gardenpath.models.weights import save_arrays

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
        from gardenpath.adopted.grnn import GrnnLm

        return GrnnLm(folder, settings.network, device=device, on_words=on_words)

    def is_order_dependent(self, settings: GrnnModel) -> bool:
        return settings.network.state == "carry"

    def notes(self, settings: GrnnModel, folder: Path) -> tuple[str, ...]:
        return {
            "eos": (),
            "fresh": ("state=fresh: the first word of a sentence is not predicted.",),
            "carry": ("state=carry: scores depend on the order of the sentences.",),
        }[settings.network.state]
