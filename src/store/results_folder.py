"""Results folders: replaced as a whole by each evaluation, with a manifest.

While an evaluation writes, earlier results remain in place; at the end, the new folder replaces
them in one step, so that files of different evaluations are never mixed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gardenpath.errors import RunError
from gardenpath.store.files import swap_folder
from gardenpath.store.keys import fingerprint
from gardenpath.store.locks import locked
from gardenpath.store.manifest import (
    Manifest,
    describe_folder,
    kind_of_folder,
    read_manifest,
    write_manifest,
)

RESULTS_KIND = "results"
RESULTS_FORMAT = 2

# Packages that results may depend on, in addition to the models.
_PACKAGES = ("torch", "numpy", "scipy", "pandas")

# Seconds to wait for another evaluation that writes to the same folder.
_PATIENCE = 60.0

# For folders without a manifest (older versions): all names of one of these sets must be present …
_OLD_SIGNS = (
    {"items.csv", "report.html"},
    {"items.csv", "statistics"},
    {"statistics.csv", "report.html"},
)
# … and no names other than these.
_OLD_NAMES = {
    "constructions.csv", "correlations.csv", "effects.csv", "figures", "items.csv", "lengths.csv",
    "licensing_by_frequency.csv", "perplexity.csv", "report.html", "sentences.csv", "statistics",
    "statistics.csv", "summary.csv", "surprisals.tsv", "word_pairs.csv",
}  # fmt: skip


@contextmanager
def results_folder(
    path: Path, *, about: Mapping[str, Any], wait: float = _PATIENCE
) -> Iterator[Path]:
    """Yield a new folder to write results to; it replaces ``path`` when the block ends.

    ``about`` says how the results were produced (command, settings, runs with their fingerprints)
    in JSON types. Its state at the end of the block is written to ``manifest.json`` with the
    software versions and the checksums of all files. If the block fails, earlier results remain.
    Before the block runs, an error is raised if the folder contains anything else than results, or
    if another process is writing to it for more than ``wait`` seconds.
    """
    # Links are resolved, so that their target is replaced; Path.resolve fails for circles.
    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    remedy = "wait until it ends, or choose another output="
    with locked(lock, what=f"the results folder {path}", remedy=remedy, wait=wait):
        require_replaceable(target)
        with swap_folder(target) as temporary:
            yield temporary
            manifest = describe_folder(
                temporary,
                kind=RESULTS_KIND,
                format=RESULTS_FORMAT,
                fingerprint=fingerprint(RESULTS_KIND, RESULTS_FORMAT, about=about),
                packages=_PACKAGES,
                about=about,
            )
            write_manifest(temporary, manifest)


def read_results_manifest(path: Path) -> Manifest:
    """Read the manifest of a results folder."""
    remedy = "evaluate again"
    return read_manifest(path, kind=RESULTS_KIND, format=RESULTS_FORMAT, remedy=remedy)


def require_replaceable(path: Path) -> None:
    """Raise an error if ``path`` is not a results folder, or contains other files."""
    if not path.exists():
        return
    if not path.is_dir():
        raise RunError(f"{path}: is a file; results need a folder: choose another output=")
    if foreign := foreign_files(path):
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise RunError(
            f"{path}: contains files that no evaluation wrote ({', '.join(foreign[:3])}{more}), "
            "which new results would replace; move them, or choose another output="
        )


def foreign_files(path: Path) -> list[str]:
    """List the files of a folder that are not results, as relative paths, without hidden files."""
    names = [one.name for one in sorted(path.iterdir()) if not one.name.startswith(".")]
    if kind_of_folder(path) == RESULTS_KIND:
        known = {"manifest.json", *read_results_manifest(path).files}
        found = (one for one in sorted(path.rglob("*")) if not one.is_dir() or one.is_symlink())
        relative = [one.relative_to(path) for one in found]
        return [
            one.as_posix()
            for one in relative
            if one.as_posix() not in known and not any(part.startswith(".") for part in one.parts)
        ]
    if any(signs <= set(names) for signs in _OLD_SIGNS):
        return [name for name in names if name not in _OLD_NAMES]
    return names
