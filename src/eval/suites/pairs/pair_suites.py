"""Read a published set of minimal pairs, one suite per paradigm, from an archive or a folder.

Suites are named ``blimp/adjunct_island``. Their kind is the phenomenon of the paper; items have the
labels of the files. ``meta`` has the set, and how the words were made.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gardenpath.data.packed_files import PackedText, packed_texts
from gardenpath.data.segmenting.segmenter import Segmenter, segmenter_label, segmenter_named
from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.suites.design.suite import Suite, SuiteError
from gardenpath.eval.suites.formats.blimp import blimp_pairs
from gardenpath.eval.suites.formats.climp import climp_pairs
from gardenpath.eval.suites.formats.minimal_pairs import Pair, has_blanks, pair_suite
from gardenpath.eval.suites.pairs.pair_sets import PAIR_SETS, PairSet
from gardenpath.settings.check import nearest

# Entries of ``meta``: the set of a suite, and the segmenter or rule that made its words.
SET_ENTRY, WORDS_ENTRY = "minimal_pairs", "words"

# How the words of English and of Chinese with blanks are made.
AS_IN_TREEBANKS, AS_WRITTEN = "as in treebanks", "as written"

# Folders whose files are a set of their own.
_APART = {folder: name for one in PAIR_SETS.values() for folder, name in one.apart.items()}

_READERS: dict[str, Callable[[str, str | Path], list[Pair]]] = {
    ".jsonl": blimp_pairs,
    ".csv": climp_pairs,
}


class MissingPairsError(GardenpathError):
    """A published set of minimal pairs is not where the settings say, or they do not say it."""

    def __init__(self, which: PairSet, looked_for: str) -> None:
        super().__init__(
            f"{which.title} ({which.reference}) is not part of Gardenpath; {looked_for}.\n"
            f"  Where to get it: {which.source}\n"
            f"  Then set:        suite.root=FOLDER_OR_ARCHIVE (in Python, root=)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSource:
    """Where published pairs are, and what divides those without blanks into words.

    ``root`` is a folder or an archive; ``segmenter`` the name of a segmenter.
    """

    root: str | None = None
    segmenter: str | None = None


def is_pair_pattern(pattern: str) -> bool:
    """Whether a name or pattern stands for suites of a published set: ``blimp/*``."""
    return pattern.split("/")[0] in PAIR_SETS


def pair_set_of(suite: Suite) -> PairSet | None:
    """Return the published set that a suite belongs to, if any."""
    return PAIR_SETS.get(str(suite.meta.get(SET_ENTRY, "")))


def load_pair_suites(patterns: Sequence[str], source: PairSource) -> list[Suite]:
    """Return the suites that patterns such as ``blimp`` and ``sling/zai_*`` match, each once.

    Suites are in the order of the sets, and within a set in alphabetical order.
    """
    heads = dict.fromkeys(pattern.split("/")[0] for pattern in patterns)
    return [
        suite
        for head in heads
        for suite in _of_set(
            PAIR_SETS[head], [one for one in patterns if one.split("/")[0] == head], source
        )
    ]


def _of_set(which: PairSet, patterns: Sequence[str], source: PairSource) -> list[Suite]:
    files = _files(which, source)
    names = list(files)
    chosen = [name for name in names if any(_matches(name, pattern) for pattern in patterns)]
    if not chosen:
        hint = nearest(patterns[0], names, names[:5])
        raise SuiteError(f"{which.title} has no paradigm {patterns[0]!r}; {hint}")
    return [_suite(which, name, files[name], source) for name in chosen]


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern.rstrip('/')}/")


def _files(which: PairSet, source: PairSource) -> dict[str, PackedText]:
    """Return the file of each paradigm, by the name of its suite, in alphabetical order."""
    if source.root is None:
        raise MissingPairsError(which, "say where it is")
    found: dict[str, PackedText] = {}
    for one in _texts(which, Path(source.root)):
        name = f"{which.name}/{one.stem.removesuffix(which.ending)}"
        if name in found:
            remedy = "give the folder with the files of one version"
            problem = f"is a second file of the paradigm, beside {found[name].path}"
            raise InputError(problem, path=one.path, remedy=remedy)
        found[name] = one
    return dict(sorted(found.items()))


def _texts(which: PairSet, root: Path) -> list[PackedText]:
    """Return the files of a set below a root, or in its archive below the root."""
    found = [
        one
        for one in packed_texts(root, lambda name: name.lower().endswith(which.suffix))
        if _belongs(which, one.folders)
    ]
    # A copy of the repository has other files beside the folder of the set.
    inside = [one for one in found if which.folder in one.folders]
    if found:
        return inside or found
    if root.is_dir():
        for archive in sorted(root.rglob(which.archive)):
            return _texts(which, archive)
    raise MissingPairsError(which, f"{root} has no files *{which.suffix} of it")


def _belongs(which: PairSet, folders: Sequence[str]) -> bool:
    """Whether the files of a folder are those of the set and not of one beside it."""
    owner = next((_APART[folder] for folder in folders if folder in _APART), None)
    return which.name not in _APART.values() if owner is None else owner == which.name


def _suite(which: PairSet, name: str, file: PackedText, source: PairSource) -> Suite:
    pairs = _READERS[which.suffix](file.text, file.path)
    if not pairs:
        raise InputError("contains no pairs", path=file.path)
    paradigm = name.split("/", 1)[1]
    phenomenon = _phenomenon(which, paradigm, file, pairs)
    made, segmenter = _words(which, pairs, file, source)
    labelled = [
        replace(one, labels={**one.labels, "paradigm": paradigm, "phenomenon": phenomenon})
        for one in pairs
    ]
    suite = pair_suite(
        labelled,
        path=file.path,
        name=name,
        language=which.language,
        kind=phenomenon,
        segmenter=segmenter,
    )
    meta = {SET_ENTRY: which.name, WORDS_ENTRY: made}
    return replace(suite, reference=f"{which.title} ({which.reference})", meta=meta)


def _phenomenon(which: PairSet, paradigm: str, file: PackedText, pairs: Sequence[Pair]) -> str:
    """Return the phenomenon of the paper that a paradigm belongs to."""
    for folder, phenomenon in which.folders.items():
        if folder in file.folders:
            return phenomenon
    written = {one.labels.get("phenomenon", paradigm) for one in pairs}
    if len(written) > 1:
        problem = f"has pairs of several phenomena: {', '.join(sorted(written))}"
        raise InputError(problem, path=file.path, remedy="give the files as published")
    (found,) = written
    return which.merged.get(found, found)


def _words(
    which: PairSet, pairs: Sequence[Pair], file: PackedText, source: PairSource
) -> tuple[str, Segmenter | None]:
    """Return how words are made, for results, and the segmenter that makes them, if any."""
    if which.is_segmented:
        return AS_IN_TREEBANKS, None
    if has_blanks(pairs, file.path):
        return AS_WRITTEN, None
    if source.segmenter is None:
        raise SuiteError(
            f"{which.title} does not separate words, and models of words need the words of their "
            "corpus: name a segmenter, suite.segmenter=jieba for models of words, "
            "suite.segmenter=characters for models of characters (in Python, segmenter=)"
        )
    segmenter = segmenter_named(source.segmenter)
    return segmenter_label(segmenter), segmenter
