"""Get runs: load one, find all below some folders, or adopt models that others trained.

This is where ``gp.load``, ``gp.find``, ``gp.adopt``, ``run=`` and ``task=adopt`` begin, with
references such as ``run=hf:gpt2`` too. Folders that cannot be evaluated are named with the reason,
never passed over in silence. Finding reads no weights and needs no torch.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gardenpath.data.readers.base import TableColumns
from gardenpath.data.sentence import Split
from gardenpath.data.words.pieces import BoundaryChoice
from gardenpath.errors import ConfigError, DamagedRunError, GardenpathError, RunError
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.models.family import ADOPTED, AdoptedSettings
from gardenpath.runs.run import Run, each_whole
from gardenpath.runs.text import Given, stacked
from gardenpath.settings.schema import (
    ProcessCount,
    flat_settings,
    nearest,
    plain,
    read,
    short_names,
    written_value,
)
from gardenpath.settings.train import AdoptedRunSettings, Paths
from gardenpath.store.files import digest
from gardenpath.store.run_claim import Existing, claim
from gardenpath.store.run_folder import (
    ADOPTED_RESULT,
    RunFolder,
    RunStatus,
    find_statuses,
    is_run_like,
    real_place,
    run_status,
)
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.util import file_stem

if TYPE_CHECKING:
    import pandas as pd

    from gardenpath.data.corpus import DataSettings

# Skipped folders that an error message lists.
_MOST_LISTED = 5
# Name of the corpus of a model that others trained, unless another is given.
ELSEWHERE = "elsewhere"

# hf:gpt2, arpa:models/news.arpa
_REFERENCE = re.compile(r"([a-z]+):(.+)", re.DOTALL)
_DIGITS = 10
# Raise it whenever the folders of references have other files or settings.
_FOLDER_FORMAT = 2


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
            data=data,
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
        store=None if cache is None else SurprisalStore(Path(cache)),
        processes=processes,
        boundary=boundary,
    )
    if not is_run_like(run.path):
        raise DamagedRunError(f"{run.path}: not a run folder: it has no config.yaml of a run")
    status = run_status(run.folder)
    if not _is_usable(status, unfinished):
        raise _unusable(status)
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
    store = None if cache is None else SurprisalStore(Path(cache))
    folders = [_folder_of(root, cache) for root in roots]
    runs: list[Run] = []
    skipped: list[RunStatus] = []
    for status in find_statuses(*folders, partial=unfinished):
        if not _is_usable(status, unfinished):
            skipped.append(status)
            continue
        run = Run(
            status.folder.path,
            device=device,
            search=search,
            store=store,
            processes=processes,
            boundary=boundary,
        )
        try:
            _ = run.settings
        except DamagedRunError as error:
            skipped.append(replace(status, state="damaged", reason=str(error)))
        else:
            runs.append(run)
    for folder in folders:
        _require_any(folder, runs, skipped)
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


def require_named(roots: Sequence[str | Path], skipped: Sequence[RunStatus]) -> None:
    """Raise an error if a folder that was named is itself a run, and was skipped."""
    places = {real_place(Path(root)) for root in roots}
    for status in skipped:
        if real_place(status.folder.path) in places and status.state != "copy":
            raise _unusable(status)


def _require_any(root: Path, runs: Sequence[Run], skipped: Sequence[RunStatus]) -> None:
    require_named([root], skipped)
    copies = [status.folder for status in skipped if status.state == "copy"]
    if any(_is_below(folder.path, root) for folder in (*(run.folder for run in runs), *copies)):
        return
    if any(status.state == "done" for status in find_statuses(root)):
        return  # a link to a run below another folder
    problem = ""
    if not root.is_dir():
        problem = f": it {'is not a folder' if root.exists() else 'does not exist'}{_beside(root)}"
    reasons = [status.reason for status in skipped if _is_below(status.folder.path, root)]
    listed = "".join(f"\n  - {reason}" for reason in reasons[:_MOST_LISTED])
    more = f"\n  - … {len(reasons) - _MOST_LISTED} more" * (len(reasons) > _MOST_LISTED)
    raise RunError(
        f"{root}: no finished runs at or below this folder{problem}; train one with "
        f"'python train.py', or name another folder (run=){listed}{more}"
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


def _is_usable(status: RunStatus, unfinished: bool) -> bool:
    return status.state == "done" or (unfinished and status.is_partial)


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
        groups.setdefault((run.settings.model.name, run.corpus), []).append(run)
    for members in groups.values():
        decisive = [
            {
                name: value
                for name, value in flat_settings(plain(run.settings)).items()
                if name.startswith(_DECISIVE)
                and name not in _MACHINE
                and name.rpartition(".")[2] != _FOLDER
            }
            for run in members
        ]
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


def file_places(runs: Sequence[Run]) -> list[Path]:
    """Return the beginning of the file names of each run: corpus, model and random seed.

    Runs that agree in all three are distinguished by the parts of their paths that differ.
    """
    # The names come from run folders, which may be those of others.
    stems = [
        file_stem(f"{run.name.corpus}_{run.settings.model.name}{run.mark}_seed{run.name.seed}")
        for run in runs
    ]
    places = []
    for run, stem in zip(runs, stems, strict=True):
        namesakes = [other.path for other, its in zip(runs, stems, strict=True) if its == stem]
        within = run.path.relative_to(os.path.commonpath(namesakes)) if len(namesakes) > 1 else ""
        places.append(Path(within) / stem)
    return places


# ----------------------------------------------------------------------------
# Adopt models that others trained: write run folders for them, which are runs like any other.
#
# What a kind of model is, its family says (``adopted``, or ARPA files in ``models.ngram``).


def adopt(
    model: str | AdoptedSettings,
    source: str | Path,
    *,
    run_dir: str | Path | None = None,
    corpus: str = ELSEWHERE,
    seed: int = 1,
    existing: Existing = "refuse",
    **settings: Any,
) -> Run:
    """Write a run folder for a model that others trained, and load it.

    ``model`` is its kind: ``hf``, ``masked``, ``grnn``, ``arpa`` or ``table``; ``source`` is its
    file, its folder or its name on the Hugging Face hub. ``settings`` are those of the kind, such
    as ``bos="none"``; ``name`` is that of the model in tables, ``language`` that of the suites on
    which it is scored, ``corpus`` that of the corpus it was trained on. By default the folder is
    ``runs/adopted/<name>``.
    """
    wanted = model if isinstance(model, AdoptedSettings) else settings_of(model, settings)
    with tempfile.TemporaryDirectory(prefix="gardenpath-") as stage:
        adopted = _adopted(wanted, str(source), Path(stage))
        folder = Path(run_dir or Path(Paths().runs) / "adopted" / file_stem(adopted.name))
        _write(folder, adopted, Path(stage), corpus=corpus, seed=seed, existing=existing)
    return Run(folder)


def settings_of(family: str, settings: Mapping[str, Any]) -> AdoptedSettings:
    """Return the settings of a kind of models; those of its network need no prefix."""
    if family not in ADOPTED:
        raise ConfigError([f"model={family}: cannot be adopted; {nearest(family, ADOPTED)}"])
    kind = ADOPTED[family].settings
    own = {name: value for name, value in settings.items() if name in ("name", "language")}
    network = {name: value for name, value in settings.items() if name not in own}
    checked = read(kind, {"family": family, **own, "network": network}, place="model")
    assert isinstance(checked, AdoptedSettings)
    return checked


def reference_of(text: str | Path) -> tuple[str, str] | None:
    """Return kind and source of a reference such as ``hf:gpt2``; None for a path."""
    match = _REFERENCE.fullmatch(str(text))
    if match is None or match[1] not in ADOPTED or Path(str(text)).exists():
        return None
    return match[1], match[2]


def adopted_reference(reference: str, place: Path) -> Path:
    """Return the run folder of a reference such as ``hf:gpt2``, which is written below a folder.

    The name of the run folder contains a hash of the files of the model, so that a model that has
    changed is another run.
    """
    kind_and_source = reference_of(reference)
    if kind_and_source is None:
        raise GardenpathError(f"{reference}: write the kind of a model and its source: hf:gpt2")
    with tempfile.TemporaryDirectory(prefix="gardenpath-") as stage:
        adopted = _adopted(settings_of(kind_and_source[0], {}), kind_and_source[1], Path(stage))
        paths = sorted(path for path in Path(stage).rglob("*") if path.is_file())
        files = [(path.name, digest(path.read_bytes())) for path in paths]
        content = (_FOLDER_FORMAT, plain(adopted), files)
        key = digest(repr(content).encode())[:_DIGITS]
        folder = place / f"{file_stem(adopted.name)}-{key}"
        _write(folder, adopted, Path(stage), corpus=ELSEWHERE, seed=1, existing="skip")
    return folder


def name_of_source(source: str) -> str:
    """Return the name of a model: that of its folder, of its file, or on the hub."""
    path = Path(source.rstrip("/"))
    # What follows a dot is an extension of files only: Qwen2.5-0.5B has none.
    return (path.stem if path.is_file() else path.name) or source


def _adopted(settings: AdoptedSettings, source: str, stage: Path) -> AdoptedSettings:
    adopted = ADOPTED[settings.family].adopt(settings, source, stage)
    if adopted.name:
        return adopted
    return replace(adopted, name=name_of_source(source))


def _write(
    folder: Path,
    adopted: AdoptedSettings,
    stage: Path,
    *,
    corpus: str,
    seed: int,
    existing: Existing,
) -> None:
    """Write a finished run folder with the files in ``stage``."""
    config = plain(AdoptedRunSettings(model=adopted, corpus=corpus, seed=seed))
    names = sorted(path.name for path in stage.iterdir())

    def move_files(place: Path) -> None:
        for name in names:
            shutil.move(stage / name, place / name)

    with claim(RunFolder(folder), config, existing=existing) as claimed:
        if claimed.is_done:
            return
        claimed.begin(config, move_files)
        claimed.finish({ADOPTED_RESULT: {"family": adopted.family}}, files=names)
