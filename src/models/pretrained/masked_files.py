"""The files of a masked language model: found, checked for code, and compared with checksums.

Weights are safetensors, because other formats can run code. Configurations that name code
(``auto_map``) are refused. Only files that are listed here, and so have checksums, are loaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gardenpath.errors import DamagedRunError, GardenpathError, InputError
from gardenpath.models.pretrained.masked_family import MaskedSettings
from gardenpath.safe_text import parse_json
from gardenpath.store.files import read_text, sha256_of

_CONFIG = "config.json"
_WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_SHARDS = "model-*-of-*.safetensors"
_TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model",
    "tokenizer.model",
)  # fmt: skip
# Files that may name code of their own.
_MAY_NAME_CODE = (_CONFIG, "tokenizer_config.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5")

MISSING_EXTRA = (
    "models of Hugging Face need the library transformers: install it with "
    "pip install 'gardenpath[hf]'"
)


@dataclass(frozen=True, kw_only=True)
class MaskedFiles:
    """Where the files of a model are; ``revision`` is the commit of a model of the Hub."""

    source: str
    revision: str | None
    paths: Mapping[str, Path]

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file."""
        return {name: sha256_of(path) for name, path in self.paths.items()}


def find_masked(source: str, revision: str | None = None) -> MaskedFiles:
    """Find the files of a model in a folder, or on the Hub; refuse what could run code."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        place = Path(os.path.realpath(folder))
        return MaskedFiles(source=str(place), revision=None, paths=_used_files(place))
    if folder.exists():
        raise InputError("is a file; a model is a folder", path=folder)
    place = _downloaded(source, revision)
    # The folders of the Hub's cache are named after commits.
    return MaskedFiles(source=source, revision=place.name, paths=_used_files(place))


def verified_masked(settings: MaskedSettings) -> MaskedFiles:
    """Return the files of an adopted model, which must be those that were adopted."""
    found = find_masked(settings.source, settings.revision)
    hashes = found.hashes()
    for name in sorted({*hashes, *settings.files}):
        if hashes.get(name) == settings.files.get(name):
            continue
        problem = "is missing" if name not in hashes else "is not the file that was adopted"
        raise DamagedRunError(
            f"{settings.source}: {name} {problem}; restore it, or adopt the model again"
        )
    return found


def _downloaded(name: str, revision: str | None) -> Path:
    """Return the folder of a model of the Hub, from the cache if it is there."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise GardenpathError(MISSING_EXTRA) from error
    wanted = [_CONFIG, _WEIGHTS, _INDEX, _SHARDS, *_TOKENIZER]
    options: dict[str, Any] = {"revision": revision, "allow_patterns": wanted}
    try:
        try:
            return Path(snapshot_download(name, local_files_only=True, **options))
        except LocalEntryNotFoundError:
            return Path(snapshot_download(name, **options))
    # Errors of the network and of HTTP are OSErrors.
    except (HFValidationError, OSError) as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise GardenpathError(
            f"{name}: is not a folder, and cannot be loaded from the Hugging Face Hub: {problem}; "
            "check the name and the connection"
        ) from error


def _used_files(folder: Path) -> dict[str, Path]:
    """Return the files of a model by name."""
    if not (folder / _CONFIG).is_file():
        raise InputError(f"has no {_CONFIG}: it is not a model of Hugging Face", path=folder)
    names = [_CONFIG, *(name for name in _TOKENIZER if (folder / name).is_file())]
    for name in set(_MAY_NAME_CODE) & set(names):
        _refuse_code(folder / name)
    names += _weight_files(folder)
    return {name: folder / name for name in names}


def _refuse_code(path: Path) -> None:
    content = _json_of(path)
    if "auto_map" in content:
        raise InputError(
            "names code of its own (auto_map), which is never run", path=path,
            remedy="only architectures of the library transformers are supported",
        )  # fmt: skip


def _weight_files(folder: Path) -> list[str]:
    if (folder / _WEIGHTS).is_file():
        return [_WEIGHTS]
    if not (folder / _INDEX).is_file():
        pickled = [name for name in _PICKLED if (folder / name).exists()]
        found = f" (only {pickled[0]}, which can run code)" if pickled else ""
        raise InputError(
            f"has no weights in {_WEIGHTS}{found}", path=folder,
            remedy="convert the weights to safetensors with save_pretrained of transformers",
        )  # fmt: skip
    shards = _json_of(folder / _INDEX).get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(one, str) for one in shards.values()):
        raise InputError("is not an index of weights", path=folder / _INDEX)
    names = sorted(set(shards.values()))
    for name in names:
        if PurePosixPath(name).name != name or not name.endswith(".safetensors"):
            raise InputError(f"names {name[:100]!r}, not a file of weights", path=folder / _INDEX)
        if not (folder / name).is_file():
            raise InputError(f"{name} is missing", path=folder, remedy="copy the model again")
    return [_INDEX, *names]


def _json_of(path: Path) -> dict[str, Any]:
    try:
        content = parse_json(read_text(path))
    except ValueError as error:
        raise InputError(f"cannot be read: {error}", path=path) from error
    if not isinstance(content, dict):
        raise InputError("is not an object of JSON", path=path)
    return content
