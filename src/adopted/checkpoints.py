"""Keep the library transformers from writing to the terminal."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from gardenpath.errors import DamagedRunError, GardenpathError, InputError
from gardenpath.safe_text import MalformedTextError, parse_json
from gardenpath.store.files import read_text, sha256_of


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


# ----------------------------------------------------------------------------
# The files of a Hugging Face model: found, checked, and loaded without running code from them.


Precision = Literal["fp32", "bf16"]

CONFIG = "config.json"
# All files that determine the numbers; no other ones are fetched.
_USED = (
    CONFIG, "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "spiece.model",
    "sentencepiece.bpe.model", "vocab.txt", "vocab.json", "merges.txt", "special_tokens_map.json",
    "added_tokens.json", "*.safetensors", "*.safetensors.index.json",
)  # fmt: skip
_INDEX = "model.safetensors.index.json"
# The same weights in the layout of another program.
_UNUSED = "consolidated*"
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_TO_CONVERT = (
    "load it where you trust it, with transformers' from_pretrained, and write it with "
    "save_pretrained, which makes safetensors"
)


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
    found = checksums(folder)
    differing = [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
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
        return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def load_tokeniser(folder: Path) -> Any:
    """Load the tokeniser of a model, with its special tokens."""
    from transformers import AutoTokenizer

    with reading(folder):
        found = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    if not hasattr(found, "backend_tokenizer"):
        raise GardenpathError(
            f"{folder}: the tokeniser {type(found).__name__} is not one of the library tokenizers "
            "(tokenizer.json), and cannot be used"
        )
    return found


def load_causal(folder: Path, precision: Precision, device: str) -> Any:
    """Load the weights of a causal language model, in evaluation mode."""
    import torch
    from transformers import AutoModelForCausalLM

    with reading(folder):
        model, loading = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype={"fp32": torch.float32, "bf16": torch.bfloat16}[precision],
            trust_remote_code=False,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    absent = sorted(str(name) for name in loading.get("missing_keys", ()))
    if absent:
        raise GardenpathError(
            f"{folder}: the weights of {', '.join(absent[:3])} are missing ({len(absent)} in all); "
            "with random ones instead, the model would give meaningless numbers"
        )
    return model.to(device).eval()


def _files(folder: Path) -> list[Path]:
    found = {path for pattern in _USED for path in folder.glob(pattern) if path.is_file()}
    return sorted(path for path in found if not path.match(_UNUSED))


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
        pickled = [path.name for pattern in _PICKLED for path in sorted(folder.glob(pattern))]
        what = f"only {pickled[0]}, which can contain code" if pickled else "no weights"
        raise GardenpathError(f"{folder} has {what}; safetensors are needed: {_TO_CONVERT}")


def _require_shards(folder: Path) -> None:
    """Refuse an index of weights that names anything else than files of weights beside it."""
    if not (folder / _INDEX).is_file():
        return
    shards = _content(folder / _INDEX).get("weight_map")
    if not isinstance(shards, Mapping) or not all(
        isinstance(shard, str) for shard in shards.values()
    ):
        raise InputError("is not an index of weights", path=folder / _INDEX)
    for name in sorted(set(shards.values())):
        if PurePosixPath(name).name != name or not name.endswith(".safetensors"):
            raise InputError(f"names {name[:100]!r}, not a file of weights", path=folder / _INDEX)
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


@contextlib.contextmanager
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
