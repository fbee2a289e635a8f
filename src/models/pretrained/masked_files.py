"""The files of a masked language model, which are compared with their checksums.

Only files that are listed here, and so have checksums, are loaded (:mod:`masked_loading`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gardenpath.models.pretrained import hf_files
from gardenpath.models.pretrained.masked_family import MaskedSettings


@dataclass(frozen=True, kw_only=True)
class MaskedFiles:
    """Where the files of a model are; ``revision`` is the commit of a model of the hub."""

    source: str
    revision: str | None
    folder: Path
    paths: Mapping[str, Path]

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file."""
        return hf_files.checksums(self.folder)


def find_masked(source: str, revision: str | None = None) -> MaskedFiles:
    """Find the files of a model in a folder, or on the hub; refuse what could run code."""
    folder = hf_files.find_folder(source, revision)
    is_here = Path(source).expanduser().is_dir()
    return MaskedFiles(
        source=str(folder) if is_here else source,
        # The folders of the hub's cache are named after commits.
        revision=None if is_here else folder.name,
        folder=folder,
        paths=hf_files.model_files(folder),
    )


def verified_masked(settings: MaskedSettings) -> MaskedFiles:
    """Return the files of an adopted model, which must be those that were adopted."""
    found = find_masked(settings.source, settings.revision)
    hf_files.verify(found.folder, settings.files)
    return found
