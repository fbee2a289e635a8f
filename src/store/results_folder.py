"""Results of an evaluation: one folder that is replaced as a whole, with a manifest.

While an evaluation writes, the results before it stay where they are; at the end the new folder
takes their place in one step, so no file of an earlier evaluation remains beside new ones.
"""

from __future__ import annotations

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
RESULTS_FORMAT = 1

# What results may depend on, beside the models.
_PACKAGES = ("torch", "numpy", "scipy", "pandas")

# How long to wait for another evaluation that writes to the same folder, in seconds.
_PATIENCE = 60.0

# What versions without a manifest wrote: a folder with all names of one of these sets is theirs …
_OLD_SIGNS = (
    {"items.csv", "report.html"},
    {"items.csv", "statistics"},
    {"statistics.csv", "report.html"},
)
# … if it holds nothing but these names.
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

    ``about`` says how the results were made (command, settings, runs with their fingerprints) in
    what JSON can express. As it is at the end of the block, it goes into ``manifest.json`` with the
    versions of the software and the checksums of all files. If the block fails, the results before
    it stay. A folder that holds anything else than results is refused before the block runs, and
    so is one that another process is writing to for more than ``wait`` seconds.
    """
    target = path.resolve()  # the new folder is made where the results really are
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
    """Refuse to replace anything that is not a results folder, or holds files of somebody else."""
    if not path.exists():
        return
    if not path.is_dir():
        raise RunError(f"{path}: is a file; results need a folder: choose another output=")
    if foreign := foreign_files(path):
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise RunError(
            f"{path}: holds files that no evaluation wrote ({', '.join(foreign[:3])}{more}), "
            "which new results would replace; move them, or choose another output="
        )


def foreign_files(path: Path) -> list[str]:
    """List what a folder holds beside results, as paths within it; hidden files do not count."""
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
