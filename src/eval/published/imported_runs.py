"""The runs of an import: their names, their numbers, and their surprisals on a suite."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.surprisal_files import ScoredSentence
from gardenpath.eval.suites.design.suite import Suite
from gardenpath.eval.suites.scoring.scored_items import RunName

_SEED = re.compile(r"(?:trial|seed|run)[_-]?(\d{1,18})$")
_OUTPUTS = re.compile(r"_(?:outputs?|surprisals?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """The surprisals of one run on one suite.

    ``suite`` has the sentences as they were scored. ``rows``: surprisals (bits) of the words of
    every variant of every item, in order; NaN where a word was not scored. ``unknown``: the
    out-of-vocabulary words. ``tokens``: the sentences as the file has them, in bits, with the
    tokens that mark beginnings and ends; empty where they are not those of the suite, in its order.
    ``is_searched``: whether the file says that the surprisals come from a search.
    """

    name: RunName
    suite: Suite
    rows: tuple[tuple[float, ...], ...]
    unknown: frozenset[str]
    tokens: tuple[ScoredSentence, ...] = ()
    is_searched: bool = False


def run_name(folder: Path, root: Path) -> RunName:
    """Derive model and random seed from the path of a folder below ``root``."""
    parts = folder.relative_to(root).parts or (folder.name,)
    found = _SEED.search(parts[-1])
    bare = parts if found is None else (*parts[:-1], parts[-1][: found.start()].rstrip("_-"))
    names = [_OUTPUTS.sub("", part) for part in bare if part]
    model = "/".join(names) or _OUTPUTS.sub("", root.name)
    return RunName(
        run="/".join(parts), model=model, seed=None if found is None else int(found.group(1))
    )


def with_ranks(runs: Sequence[ImportedRun]) -> list[ImportedRun]:
    """Number the runs of each model and corpus from 1, and give each a name of its own.

    The numbers of folders may have gaps. A single run without a number has no seed.
    """
    names = list(dict.fromkeys(run.name for run in runs))
    seen = Counter((run.name, run.suite.name) for run in runs)
    if twice := [key for key, count in seen.items() if count > 1]:
        name, suite = twice[0]
        raise InputError(
            f"two files have surprisals of this run for {suite}",
            path=name.run,
            remedy="give every run once, or name the corpora of the sets: "
            "'surprisals={ctb: FOLDER, xinhua: FOLDER}'",
        )
    groups: dict[tuple[str, str], list[RunName]] = {}
    for name in names:
        groups.setdefault((name.model, name.corpus), []).append(name)
    taken = Counter(name.run for name in names)
    new: dict[RunName, RunName] = {}
    for group in groups.values():
        group.sort(key=lambda name: (-1 if name.seed is None else name.seed, name.run))
        for rank, name in enumerate(group, start=1):
            is_single = len(group) == 1 and name.seed is None
            called = f"{name.corpus}/{name.run}" if taken[name.run] > 1 else name.run
            new[name] = replace(name, run=called, seed=None if is_single else rank)
    return [replace(run, name=new[run.name]) for run in runs]
