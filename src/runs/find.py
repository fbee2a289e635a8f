"""Find the runs at or below folders that can be evaluated, and name the others."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gardenpath.data.readers.base import TableColumns
from gardenpath.data.sentence import Split
from gardenpath.data.words.pieces import BoundaryChoice
from gardenpath.errors import DamagedRunError, RunError
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.runs.adopting import adopted_reference, reference_of
from gardenpath.runs.run import Run
from gardenpath.runs.text import Given
from gardenpath.settings.schema import (
    ProcessCount,
    flat_settings,
    nearest,
    plain,
    short_names,
    written_value,
)
from gardenpath.store.run_folder import (
    HARMLESS,
    RunFolder,
    RunStatus,
    find_statuses,
    is_run_like,
    real_place,
    run_status,
)
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.util import file_stem, plural

if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.data.corpus import DataSettings

# Skipped folders that an error message lists.
_MOST_LISTED = 5


def runs_below(
    roots: Sequence[Path], make: Callable[[Path], Run], *, unfinished: bool
) -> tuple[list[Run], list[RunStatus]]:
    """Return the runs at or below folders, and the folders that were skipped.

    With ``unfinished``, runs that were stopped are included if they have weights. There must be a
    run in each folder. A folder that is itself a run must be usable.
    """
    runs: list[Run] = []
    skipped: list[RunStatus] = []
    for status in find_statuses(*roots, partial=unfinished):
        if status.state != "done" and not (unfinished and status.is_partial):
            skipped.append(status)
            continue
        run = make(status.folder.path)
        try:
            _ = run.settings
        except DamagedRunError as error:
            skipped.append(replace(status, state="damaged", reason=str(error)))
        else:
            runs.append(run)
    for root in roots:
        _require_any(root, runs, skipped)
    return runs, skipped


def require_usable(folder: RunFolder, *, unfinished: bool) -> None:
    """Raise an error if a run cannot be evaluated."""
    if not is_run_like(folder.path):
        raise DamagedRunError(f"{folder.path}: not a run folder: it has no config.yaml of a run")
    status = run_status(folder)
    if status.state != "done" and not (unfinished and status.is_partial):
        raise _unusable(status)


def require_named(roots: Sequence[str | Path], skipped: Sequence[RunStatus]) -> None:
    """Raise an error if a folder that was named is itself a run, and was skipped."""
    places = {real_place(Path(root)) for root in roots}
    for status in skipped:
        if real_place(status.folder.path) in places and status.state != "copy":
            raise _unusable(status)


def _require_any(root: Path, runs: Sequence[Run], skipped: Sequence[RunStatus]) -> None:
    require_named([root], skipped)
    if any(_is_below(run.path, root) for run in runs):
        return
    if any(
        left_out.state == "copy" and _is_below(left_out.folder.path, root) for left_out in skipped
    ):
        return
    if any(status.state == "done" for status in find_statuses(root)):
        return  # a link to a run below another folder
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "does not exist"
        raise RunError(
            f"{root}: no finished runs at or below this folder: it {problem}{_beside(root)}; train "
            "one with 'python train.py', or name another folder (run=)"
        )
    reasons = [left_out.reason for left_out in skipped if _is_below(left_out.folder.path, root)]
    listed = "".join(f"\n  - {reason}" for reason in reasons[:_MOST_LISTED])
    more = f"\n  - … {len(reasons) - _MOST_LISTED} more" * (len(reasons) > _MOST_LISTED)
    raise RunError(
        f"{root}: no finished runs at or below this folder; train one with 'python train.py', or "
        f"name another folder (run=){listed}{more}"
    )


def _beside(root: Path) -> str:
    """Return the folder that was probably meant, or those where the path goes wrong."""
    folder = next((parent for parent in root.parents if parent.is_dir()), None)
    if folder is None:
        return ""
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != ".")
    wrong = root.relative_to(folder).parts[0]
    shown = names[:_MOST_LISTED]
    hint = nearest(wrong, names, otherwise=[*shown, "…"] if len(names) > len(shown) else shown)
    return f" ({folder} has no {wrong!r}; {hint})" if names else ""


def _is_below(path: Path, root: Path) -> bool:
    """Whether a path is below a folder, by its name or by its real place."""
    return path.is_relative_to(root) or Path(real_place(path)).is_relative_to(real_place(root))


def _unusable(status: RunStatus) -> RunError:
    kind = DamagedRunError if status.state == "damaged" else RunError
    return kind(status.reason)


# ----------------------------------------------------------------------------
# Tell apart runs of one model and corpus whose settings differ, such as those of a sweep.
#
# Tables average over the runs of a model. Runs that differ in more than their random seed are
# different models, so the settings in which they differ become part of the model's name. Folders
# of corpora differ between machines and say nothing, but the vocabulary counts the words of the
# training split: runs with the same settings and different vocabularies were trained on different
# corpora.


# Settings that make another model; others, such as devices or folders, belong to the machine.
_DECISIVE = (
    "model.", "data.min_count", "data.subwords.", "data.cleaning.", "data.max_train_tokens",
    "data.reader.", "trainer.max_epochs", "trainer.max_steps", "trainer.early_stopping",
    "trainer.gradient_clip",
)  # fmt: skip
_MACHINE = ("model.batches.workers",)
_FOLDER = "root"
# Digits of the hash of a vocabulary, where nothing else tells two corpora apart.
_HASH_LENGTH = 8


def name_variants(runs: Sequence[Run]) -> None:
    """Name the settings in which runs of one model and corpus differ: ``lstm (size=tiny)``."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        settings = run.settings
        groups.setdefault((settings.model.name, run.corpus), []).append(run)
    for members in groups.values():
        decisive = [_decisive(run) for run in members]
        if len(members) > 1:
            _tell_corpora_apart(members, decisive)
        for run, variant in zip(members, _variants(decisive), strict=True):
            run.variant = variant


def _tell_corpora_apart(runs: Sequence[Run], settings: Sequence[dict[str, Any]]) -> None:
    """Add the folders of corpora, or else vocabularies, where equal settings hide different ones.

    Runs whose vocabulary cannot be read are reported and left out elsewhere.
    """
    folders: dict[str, dict[str, str]] = {}
    known = [_vocabulary(run) for run in runs]
    for run, chosen, vocabulary in zip(runs, settings, known, strict=True):
        folders_of = folders.setdefault(repr(chosen), {})
        if vocabulary:
            folders_of.setdefault(vocabulary, str(None if run.is_adopted else run.data.root))
    for chosen, vocabulary in zip(settings, known, strict=True):
        folders_of = folders[repr(chosen)]
        if len(folders_of) < 2 or not vocabulary:
            continue
        if len(set(folders_of.values())) == len(folders_of):
            chosen[f"data.{_FOLDER}"] = folders_of[vocabulary]
        else:
            chosen["vocabulary"] = vocabulary[:_HASH_LENGTH]


def _vocabulary(run: Run) -> str:
    try:
        return run.model.units.content_hash
    except RunError:
        return ""


def _variants(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    keys = list(dict.fromkeys(key for chosen in settings for key in chosen))
    different = [
        key for key in keys if any(chosen.get(key) != settings[0].get(key) for chosen in settings)
    ]
    names = short_names(different)
    return [
        ", ".join(f"{names[key]}={written_value(setting.get(key))}" for key in different)
        for setting in settings
    ]


def _decisive(run: Run) -> dict[str, Any]:
    return {
        name: value
        for name, value in flat_settings(plain(run.settings)).items()
        if name.startswith(_DECISIVE)
        and name not in _MACHINE
        and name.rpartition(".")[2] != _FOLDER
    }


# ----------------------------------------------------------------------------
# Evaluate several runs, and go on without those that turn out to be damaged.


_Found = TypeVar("_Found")


def each_whole(
    runs: Iterable[Run], act: Callable[[Run], _Found], skipped: list[RunStatus]
) -> list[tuple[Run, _Found]]:
    """Return the result of ``act`` for each run; damaged runs are added to ``skipped``.

    If all runs are damaged, or the only one, the first error is raised.
    """
    results: list[tuple[Run, _Found]] = []
    errors: list[DamagedRunError] = []
    for run in runs:
        try:
            results.append((run, act(run)))
        except DamagedRunError as error:
            errors.append(error)
            skipped.append(RunStatus(folder=run.folder, state="damaged", reason=str(error)))
    if errors and not results:
        raise errors[0]
    return results


def whole_runs(runs: Iterable[Run], skipped: list[RunStatus]) -> list[Run]:
    """Return the runs whose files have their checksums; the others are added to ``skipped``."""
    return [run for run, _ in each_whole(runs, lambda member: member.verify(), skipped)]


def skipped_runs(runs: Iterable[object]) -> list[RunStatus]:
    """Return the runs that were left out when a list of runs was made."""
    return list(getattr(runs, "skipped", ()))


def skip_notes(skipped: Sequence[RunStatus]) -> tuple[str, ...]:
    """Return a note for each skipped run."""
    return tuple(f"skipped ({status.state}): {status.reason}" for status in skipped)


def skip_facts(skipped: Sequence[RunStatus]) -> dict[str, dict[str, str]]:
    """Return what a manifest says of skipped runs; nothing if there are none."""
    facts = {str(status.folder.path): f"{status.state}: {status.reason}" for status in skipped}
    return {"skipped": facts} if facts else {}


def skip_counts(skipped: Sequence[RunStatus]) -> str:
    """Return a text such as ``3 run folders skipped: 1 damaged, 2 unfinished``."""
    counts: Mapping[str, int] = {
        state: sum(status.state == state for status in skipped)
        for state in dict.fromkeys(status.state for status in skipped)
    }
    listed = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return f"{plural(len(skipped), 'run folder')} skipped: {listed}"


def damaged_among(skipped: Iterable[RunStatus]) -> list[RunStatus]:
    """Return the skipped runs that should have been evaluated."""
    return [status for status in skipped if status.state not in HARMLESS]


# ----------------------------------------------------------------------------
# Load trained models from folders: one, or all at or below some folders.


class Runs(list[Run]):
    """A list of runs, whose tables are concatenated.

    ``skipped`` are the run folders that were left out, with the reason.
    """

    def __init__(self, runs: Iterable[Run] = (), *, skipped: Iterable[RunStatus] = ()) -> None:
        super().__init__(runs)
        self.skipped = list(skipped)

    def surprisal(
        self,
        text: Given,
        *,
        end: bool = True,
        allow_unknown: bool = False,
        columns: TableColumns = "all",
    ) -> pd.DataFrame:
        """Return the surprisals of all runs in one table; damaged ones are added to ``skipped``.

        Columns of a search are empty for runs without one (see :meth:`Run.surprisal`).
        """
        from gardenpath.runs.text import stacked

        tables = each_whole(
            self,
            lambda run: run.surprisal(text, end=end, allow_unknown=allow_unknown, columns=columns),
            self.skipped,
        )
        return stacked([frame for _, frame in tables])

    def perplexity(
        self,
        split: Split = "test",
        *,
        marginal_sentences: int | None = None,
        data: DataSettings | None = None,
        allow_unknown: bool = False,
    ) -> pd.DataFrame:
        """Return the perplexities of all runs in one table, on their own corpora or on ``data``."""
        from gardenpath.runs.perplexity import perplexities_of_runs

        return perplexities_of_runs(
            self,
            split=split,
            marginal_sentences=marginal_sentences,
            corpora=[] if data is None else [data],
            allow_unknown=allow_unknown,
        )


def load(
    path: str | Path,
    *,
    device: str = "auto",
    search: SearchSettings | None = None,
    cache: str | Path | None = None,
    processes: ProcessCount | None = None,
    unfinished: bool = False,
    boundary: BoundaryChoice = "auto",
) -> Run:
    """Load the run in a folder; one that is not a run, damaged or not finished is refused.

    A model that others trained can be loaded without a run folder by its kind and its source, as in
    ``hf:gpt2``. ``boundary`` says how pieces make words, for models over pieces: ``next``,
    ``leading``, ``none``, or what fits the model (``auto``).
    ``cache`` is a file in which log probabilities are stored, so that nothing is computed twice.
    ``processes`` is the number of processes, of one thread each, that compute them; None computes
    in this process with all its threads, ``auto`` starts processes for long searches on a CPU.
    With ``unfinished``, a run that was stopped is loaded with its best weights so far, unless its
    training diverged; tables mark it.
    """
    run = Run(
        _folder_of(path, cache),
        device=device,
        search=search,
        store=_store(cache),
        processes=processes,
        boundary=boundary,
    )
    require_usable(run.folder, unfinished=unfinished)
    _ = run.settings
    return run


def find(
    *roots: str | Path,
    device: str = "auto",
    search: SearchSettings | None = None,
    cache: str | Path | None = None,
    processes: ProcessCount | None = None,
    unfinished: bool = False,
    boundary: BoundaryChoice = "auto",
) -> Runs:
    """Return all finished runs at or below folders, sorted by path; at least one in each folder.

    A run that is below two of the folders, and a copy of a run, is returned once. Links to folders
    are followed. ``skipped`` of the returned list names the folders that were left out: unfinished
    runs (included with ``unfinished``, if they have weights), damaged ones and copies. A folder
    that is itself a run must be usable. ``processes``, ``boundary`` and references such as
    ``hf:gpt2`` as in :func:`load`.
    """
    store = _store(cache)

    def make(path: Path) -> Run:
        return Run(
            path,
            device=device,
            search=search,
            store=store,
            processes=processes,
            boundary=boundary,
        )

    folders = [_folder_of(root, cache) for root in roots]
    runs, skipped = runs_below(folders, make, unfinished=unfinished)
    name_variants(runs)
    return Runs(runs, skipped=skipped)


def _folder_of(root: str | Path, cache: str | Path | None) -> Path:
    """Return a folder of runs; a model that is named by its kind is adopted first.

    Its run folder is next to the stored log probabilities or, if none are stored, temporary.
    """
    if reference_of(root) is None:
        return Path(root)
    place = _temporary_place() if cache is None else Path(cache).parent / "adopted"
    return adopted_reference(str(root), place)


@functools.cache
def _temporary_place() -> Path:
    """A folder that is removed when the process ends."""
    place = Path(tempfile.mkdtemp(prefix="gardenpath-adopted-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _store(cache: str | Path | None) -> SurprisalStore | None:
    return None if cache is None else SurprisalStore(Path(cache))


# ----------------------------------------------------------------------------
# Names for files that tasks write for each of several runs.


def file_places(runs: Sequence[Run]) -> list[Path]:
    """Return the beginning of the file names of each run: corpus, model and random seed.

    Runs that agree in all three are distinguished by the parts of their paths that differ.
    """
    # The names come from run folders, which may be those of others.
    named = [
        (named_run.name.corpus, named_run.settings.model.name + named_run.mark, named_run.name.seed)
        for named_run in runs
    ]
    stems = [file_stem(f"{corpus}_{model}_seed{seed}") for corpus, model, seed in named]
    places = []
    for run, stem in zip(runs, stems, strict=True):
        namesakes = [
            named_run.path for named_run, other in zip(runs, stems, strict=True) if other == stem
        ]
        shared = os.path.commonpath(namesakes)
        is_alone = len(namesakes) == 1
        places.append(Path(stem) if is_alone else run.path.relative_to(shared) / stem)
    return places
