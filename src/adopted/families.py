"""The families hf, masked and grnn of models that others trained, and the files of the first two.

The registry finds the families here. Their settings are read without torch, so this module must
not import torch or transformers at its top; scorers are in ``hf``, ``masked`` and ``grnn``. Files
of Hugging Face models are found, compared with their checksums and loaded here; code that comes
with a model never runs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from gardenpath.data.words.pieces import Boundary, BoundaryChoice, Spacing
from gardenpath.errors import DamagedRunError, GardenpathError, InputError
from gardenpath.models.family import AdoptedFamily, AdoptedSettings, Measure, ModelSettings
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.settings.schema import PositiveInt
from gardenpath.store.files import fingerprint, read_text, sha256_of, write_json
from gardenpath.store.run_folder import WEIGHTS_FILE

if TYPE_CHECKING:
    from gardenpath.adopted.grnn import GrnnLm
    from gardenpath.adopted.hf import CausalScorer
    from gardenpath.adopted.masked import MaskedScorer

Bos = Literal["required", "auto", "none"]
Precision = Literal["fp32", "bf16"]
# What is masked when one token of a word is predicted.
Pll = Literal["within_word_l2r", "original", "whole_word"]
# What to do with a sentence in which a word has no tokens of its own.
Unscorable = Literal["refuse", "missing"]


# ---- Settings.


@dataclass(frozen=True, kw_only=True)
class PretrainedSettings:
    """Settings common to models of Hugging Face, whose files stay where they are."""

    source: str = ""
    """Folder of the model, or its name on the Hugging Face hub."""
    revision: str | None = None
    """Commit, tag or branch on the hub; null is the newest on this machine or on the hub. An
    adopted model keeps the commit."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file, recorded when the model is adopted."""
    spacing: Spacing = "auto"
    """How words become text: auto (English as printed, no blanks beside Chinese characters),
    natural (the same with blanks), blanks (between all words), none."""
    precision: Precision = "fp32"
    """Number format of the weights: fp32 or bf16."""


@dataclass(frozen=True, kw_only=True)
class HfSettings(PretrainedSettings):
    """Settings of a causal model of Hugging Face."""

    bos: Bos = "required"
    """Token before each sentence: required has exactly one, auto does what the tokeniser does, and
    none has none, so that the first word has no probability."""
    context: Literal["slide", "refuse"] = "slide"
    """Sentences longer than the model's context: slide reads at least the last half of the context
    for each token, refuse stops with an error."""
    batch_tokens: PositiveInt = 512
    """Number of tokens that the model reads at once; large vocabularies reduce it."""


@dataclass(frozen=True, kw_only=True)
class MaskedSettings(PretrainedSettings):
    """Settings of a masked language model."""

    pll: Pll = "within_word_l2r"
    """Tokens of the word that are masked with the predicted one: those after it (within_word_l2r,
    Kauf and Ivanova 2023), none (original, Salazar et al. 2020), or all (whole_word)."""
    unscorable: Unscorable = "refuse"
    """What to do with words that share a token with another word, or have none: refuse the
    sentence, or leave out the values of these words."""
    max_batch_tokens: PositiveInt = 4096
    """Number of tokens that are computed together."""


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
class HfModel(AdoptedSettings):
    """A causal model of Hugging Face."""

    family: Literal["hf"] = "hf"
    network: HfSettings = HfSettings()


@dataclass(frozen=True, kw_only=True)
class MaskedModel(AdoptedSettings):
    """A masked language model that others trained."""

    family: Literal["masked"] = "masked"
    network: MaskedSettings = MaskedSettings()


@dataclass(frozen=True, kw_only=True)
class GrnnModel(AdoptedSettings):
    """A word-level LSTM, such as the one of Gulordava et al. (2018)."""

    family: Literal["grnn"] = "grnn"
    network: GrnnSettings = GrnnSettings()


# ---- Families.

_Network = TypeVar("_Network", bound=PretrainedSettings)


def _located(network: _Network, source: str) -> tuple[Path, _Network]:
    """Find the files of a model that is adopted; return their folder and the settings to store."""
    folder = find_folder(source, network.revision)
    is_here = Path(source).expanduser().is_dir()
    return folder, replace(
        network,
        source=str(folder) if is_here else source,
        # The hub names the folder of a snapshot by its commit.
        revision=None if is_here else folder.name,
        files=checksums(folder),
    )


def _place(network: PretrainedSettings) -> Path:
    return find_folder(network.source, network.revision)


class HfFamily(AdoptedFamily):
    """Causal models of Hugging Face; their files stay where they are."""

    settings: ClassVar[type[ModelSettings]] = HfModel
    reads_text: ClassVar[bool] = True

    def adopt(self, settings: HfModel, source: str, folder: Path) -> HfModel:
        """Check the files of a model and record their checksums."""
        require_transformers()
        adopted = replace(settings, network=_located(settings.network, source)[1])
        self.open(adopted, folder, device="cpu", boundary="next").check()
        return adopted

    def identity(self, settings: HfModel, folder: Path) -> str:
        """Return a hash of the files, and of the settings that change the numbers."""
        network = settings.network
        verify(_place(network), network.files)
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
        require_transformers()
        from gardenpath.adopted.hf import CausalScorer

        place = _place(settings.network)
        return CausalScorer(
            load=lambda: load_causal(place, settings.network.precision, device),
            config=load_config(place),
            tokeniser=load_tokeniser(place),
            settings=settings.network,
            boundary=boundary or "none",
            on_words=on_words,
        )

    def boundary(self, settings: HfModel, asked: BoundaryChoice) -> Boundary:
        """Return how words are made of tokens: next, unless something else is asked."""
        if asked != "auto":
            return asked
        return "leading" if settings.network.spacing == "none" else "next"

    def weight_bytes(self, settings: HfModel, folder: Path) -> int:
        return sum(path.stat().st_size for path in _place(settings.network).glob("*.safetensors"))

    def notes(self, settings: HfModel, folder: Path) -> tuple[str, ...]:
        """Announce settings that make numbers unlike the usual ones."""
        scorer = self.open(settings, folder, device="cpu", boundary="next")
        return tuple(f"{settings.name}: {note}" for note in scorer.notes)


class MaskedFamily(AdoptedFamily):
    """Masked language models: each word is predicted from the words on both of its sides."""

    settings: ClassVar[type[ModelSettings]] = MaskedModel
    reads_text: ClassVar[bool] = True
    measure: ClassVar[Measure] = "pll"

    def adopt(self, settings: MaskedModel, source: str, folder: Path) -> MaskedModel:
        """Load the model once and record the checksums of its files, which stay in place."""
        require_transformers()
        from gardenpath.adopted.masked import load_network, load_tokenizer

        place, network = _located(settings.network, source)
        load_tokenizer(network, place)
        load_network(network, place)
        return replace(settings, network=network)

    def identity(self, settings: MaskedModel, folder: Path) -> str:
        """Return a hash of the files of the model, after comparing them with their checksums."""
        verify(_place(settings.network), settings.network.files)
        return fingerprint("masked_model", 1, files=dict(settings.network.files))

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
        require_transformers()
        from gardenpath.adopted.masked import MaskedScorer, load_network, load_tokenizer

        network, place = settings.network, _place(settings.network)
        verify(place, network.files)
        return MaskedScorer(
            load_tokenizer(network, place),
            lambda: load_network(network, place),
            network,
            device=device,
            on_words=on_words,
        )


# The words of a model of the family grnn in the order of their numbers.
WORDS_FILE = "words.json"


class GrnnFamily(AdoptedFamily):
    """Word-level LSTMs of PyTorch's example ``word_language_model``."""

    settings: ClassVar[type[ModelSettings]] = GrnnModel

    def adopt(self, settings: GrnnModel, source: str, folder: Path) -> AdoptedSettings:
        from gardenpath.adopted.grnn import EMBEDDING_WEIGHT, read_vocabulary_words, read_weights
        from gardenpath.models.weights import save_arrays

        path = Path(source)
        vocabulary = Path(settings.network.vocabulary or path.with_name("vocab.txt"))
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
        # Where the files came from; that does not determine any number.
        sources = {"model": path, "vocabulary": vocabulary}
        origin = {k: {"file": str(p), "sha256": sha256_of(p)} for k, p in sources.items()}
        write_json(folder / "source.json", origin)
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


# ----------------------------------------------------------------------------
# The files of a Hugging Face model: found, checked, and loaded without running code from them.


CONFIG = "config.json"
# All files that determine the numbers; no other ones are fetched.
_USED = (
    CONFIG, "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "spiece.model",
    "sentencepiece.bpe.model", "vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json",
    "added_tokens.json", "*.safetensors", "*.safetensors.index.json",
)  # fmt: skip
# The same weights in the layout of another program.
_UNUSED = "consolidated*"
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
# Options of transformers with which nothing is fetched and no code of a model runs.
SAFELY: Mapping[str, Any] = {"trust_remote_code": False, "local_files_only": True}


def find_folder(source: str, revision: str | None) -> Path:
    """Return the folder of a model: a folder, or a name on the Hugging Face hub.

    Files of the hub that are on this machine are used; otherwise they are fetched.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder.absolute()
    if folder.exists():
        raise InputError("is a file; a model is a folder", path=folder)
    if not _HUB_NAME.fullmatch(source):
        raise GardenpathError(f"{source} is neither a folder nor a name on the Hugging Face hub")
    return _fetched(source, revision)


def model_files(folder: Path) -> dict[str, Path]:
    """Check that a folder has a model that is safe to load; return its files by name."""
    _require_safe(folder)
    _require_shards(folder)
    return {path.name: path for path in _files(folder)}


def checksums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a model that is safe to load."""
    return {name: sha256_of(path) for name, path in model_files(folder).items()}


def verify(folder: Path, expected: Mapping[str, str]) -> None:
    """Raise an error if a file is not the one that was adopted."""
    present = checksums(folder)
    names = {**expected, **present}
    differing = [name for name in names if present.get(name) != expected.get(name)]
    if differing:
        raise DamagedRunError(
            f"{folder}: {', '.join(sorted(differing))} changed after the model was adopted; adopt "
            "it again under another name, or restore the files"
        )


def require_transformers() -> None:
    """Raise an error if the extra is not installed."""
    try:
        import tokenizers  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise GardenpathError(
            f"models of Hugging Face need transformers ({error}): pip install 'gardenpath[hf]'"
        ) from error


def load_config(folder: Path) -> Any:
    """Load the configuration of a model."""
    from transformers import AutoConfig

    with reading(folder):
        return AutoConfig.from_pretrained(folder, **SAFELY)


def load_tokeniser(folder: Path) -> Any:
    """Load the tokeniser of a model, with its special tokens."""
    from transformers import AutoTokenizer

    with reading(folder):
        tokeniser = AutoTokenizer.from_pretrained(folder, **SAFELY)
    if not hasattr(tokeniser, "backend_tokenizer"):
        raise GardenpathError(
            f"{folder}: the tokeniser {type(tokeniser).__name__} is not one of the library "
            "tokenizers (tokenizer.json), and cannot be used"
        )
    return tokeniser


def load_causal(folder: Path, precision: Precision, device: str) -> Any:
    """Load the weights of a causal language model, in evaluation mode."""
    import torch
    from transformers import AutoModelForCausalLM

    with reading(folder):
        model, loading = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype={"fp32": torch.float32, "bf16": torch.bfloat16}[precision],
            use_safetensors=True,
            output_loading_info=True,
            **SAFELY,
        )
    absent = sorted(str(name) for name in loading.get("missing_keys", ()))
    if absent:
        raise GardenpathError(
            f"{folder}: the weights of {', '.join(absent[:3])} are missing ({len(absent)} in all); "
            "with random ones instead, the model would give meaningless numbers"
        )
    return model.to(device).eval()


def _files(folder: Path) -> list[Path]:
    files = {path for pattern in _USED for path in folder.glob(pattern) if path.is_file()}
    return sorted(path for path in files if not path.match(_UNUSED))


def _require_safe(folder: Path) -> None:
    if not (folder / CONFIG).is_file():
        raise GardenpathError(f"{folder} has no {CONFIG}: it is not a model of transformers")
    for name in (CONFIG, "tokenizer_config.json"):
        if (folder / name).is_file() and "auto_map" in _content(folder / name):
            raise InputError(
                "the model brings its own Python code (auto_map), which is never run",
                path=folder / name,
                remedy="use a model that transformers itself implements",
            )
    if (folder / "adapter_config.json").exists():
        raise GardenpathError(f"{folder} has an adapter: merge it into the model and save that")
    if not any(path.suffix == ".safetensors" for path in _files(folder)):
        patterns = ("*.bin", "*.pt", "*.pth", "*.ckpt")
        pickled = [path.name for pattern in patterns for path in sorted(folder.glob(pattern))]
        what = f"only {pickled[0]}, which can contain code" if pickled else "no weights"
        raise GardenpathError(
            f"{folder} has {what}; safetensors are needed: load it where you trust it, with "
            "transformers' from_pretrained, and write it with save_pretrained, which makes "
            "safetensors"
        )


def _require_shards(folder: Path) -> None:
    """Refuse an index of weights that names anything else than files of weights beside it."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return
    shards = _content(index).get("weight_map")
    if not isinstance(shards, Mapping) or not all(isinstance(s, str) for s in shards.values()):
        raise InputError("is not an index of weights", path=index)
    for name in sorted(set(shards.values())):
        if PurePosixPath(name).name != name or not name.endswith(".safetensors"):
            raise InputError(f"names {name[:100]!r}, not a file of weights", path=index)
        if not (folder / name).is_file():
            raise InputError(f"{name} is missing", path=folder, remedy="copy the model again")


def _content(path: Path) -> Mapping[str, Any]:
    try:
        content = parse_json(read_text(path))
    except MalformedTextError as error:
        raise InputError(error.problem, path=path, line=error.line) from error
    if not isinstance(content, Mapping):
        raise InputError("is not a JSON object", path=path)
    return content


def _fetched(name: str, revision: str | None) -> Path:
    require_transformers()
    from huggingface_hub import constants, snapshot_download

    problem: Exception | None = None
    for is_local in (True, False):
        try:
            folder = Path(
                snapshot_download(
                    name, revision=revision, allow_patterns=list(_USED), ignore_patterns=[_UNUSED],
                    local_files_only=is_local,
                )
            )  # fmt: skip
        except Exception as error:  # many libraries for networks have their own
            problem = error
            continue
        # Another program may have fetched only some of the files.
        if not is_local or any(path.suffix == ".safetensors" for path in _files(folder)):
            return folder
    if constants.HF_HUB_OFFLINE:
        raise GardenpathError(
            f"{name} is no folder here, its files are not on this machine, and downloads are "
            "turned off (HF_HUB_OFFLINE, as in the playground): fetch it with 'python evaluate.py "
            f"task=adopt model=hf name={name}'"
        ) from problem
    reason = str(problem).strip().partition("\n")[0]
    raise GardenpathError(
        f"{name} is no folder here, and could not be fetched from the Hugging Face hub: {reason}"
    ) from problem


@contextmanager
def transformers_quiet() -> Iterator[None]:
    """Show no progress and no warnings of the library within a block."""
    from transformers.utils import logging

    level, shows_progress = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shows_progress:
            logging.enable_progress_bar()


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turn errors of transformers into messages; its own messages and bars are not shown."""
    try:
        with transformers_quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except GardenpathError:
        raise
    except Exception as error:  # of any library that reads one of the files
        reason = str(error).strip().partition("\n")[0]
        raise GardenpathError(f"{folder} cannot be loaded by transformers: {reason}") from error
