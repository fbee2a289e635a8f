"""Imports of published surprisals, one function per layout of a study, and the studies by name.

``task=rescore`` and ``replicate`` call ``import_layout`` and ``published_suites``. Folders name
models: ``lstm_outputs/trial1`` is a run of ``lstm``. Where a layout knows the training corpus, it
is part of the name of a run; the corpus of a set of surprisals takes precedence. Materials are read
in the modules of the studies, files of surprisals in ``gardenpath.eval.published``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gardenpath.errors import ConfigError, InputError
from gardenpath.eval.published.files import (
    ConditionSource,
    PairingRules,
    SurprisalSet,
    check_folders,
    read_token_table,
    read_two_columns,
    unit_or,
)
from gardenpath.eval.published.importing import FileForm, Imported, Importing, run_name
from gardenpath.eval.published.pairing import Materials
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.studies.mandarin_files import OTHER_MODELS, load_mandarin
from gardenpath.studies.reflexives import (
    EXPERIMENTS,
    Stimuli,
    count_other_labels,
    load_reflexives,
    read_bert,
)
from gardenpath.studies.suppression import load_suppression
from gardenpath.util import plural

_XINHUA = re.compile(r"^hybrid1_outputs_(\w+)$")
_CTB = re.compile(r"^(\w+?)_outputs$")
_MANDARIN_MODELS = {"trans": "transformer"}

_TABLES = (".tsv", ".txt", ".csv")


def import_mandarin(
    materials: Sequence[Path], sets: Sequence[SurprisalSet], rules: PairingRules
) -> Imported:
    """Import surprisals for the published Mandarin suites (Wang et al. 2021).

    Below every set, folders with tables such as ``surprisals_cls_none.tsv`` are runs:
    ``hybrid1_outputs_<model>`` were trained on the corpus ``xinhua``, ``<model>_outputs`` on
    ``ctb``.
    """
    suites = load_mandarin(materials)
    importing = Importing("mandarin", rules, other_models=OTHER_MODELS)
    for own in suites.values():
        importing.used(own.path, [own.suite], "order of lines, checked by their words")
    importing.exceptions += [
        "earlier wordings of 12 sentences of classifier_noun (object_rc, items 5 and 7; "
        "subject_rc, item 28), as in all published tables",
        "15 files of classifier_noun and garden_path_object in two folders of the LSTM, which are "
        "of other models than the files beside them",
    ]
    form = FileForm(pairing="order of lines", unit=unit_or(rules.unit, "bits", "the layout"))
    for surprisals, folder in _folders(sets):
        name = _mandarin_name(folder, surprisals)
        for key, path in _files_by_key(folder, suites, importing).items():
            importing.add(name, suites[key], read_token_table(path), path, form)
    return importing.finish(sets, "files such as lstm_outputs/trial0/surprisals_cls_none.tsv")


def _mandarin_name(folder: Path, surprisals: SurprisalSet) -> RunName:
    """Return model, corpus and run; the last folder in the published form names model and corpus.

    The run is the path from that folder on, so that copies of a run are noticed.
    """
    name = run_name(folder, surprisals.path)
    parts = (*surprisals.path.resolve().parts[-1:], *folder.relative_to(surprisals.path).parts)
    for place, part in reversed(list(enumerate(parts))):
        for pattern, corpus in ((_XINHUA, "xinhua"), (_CTB, "ctb")):
            if match := pattern.match(part):
                model = _MANDARIN_MODELS.get(match[1], match[1])
                run = "/".join(parts[place:])
                return replace(name, run=run, model=model, corpus=surprisals.corpus or corpus)
    model = name.model.rpartition("/")[2]
    return replace(name, model=_MANDARIN_MODELS.get(model, model), corpus=surprisals.corpus)


def _files_by_key(
    folder: Path, suites: Mapping[str, Materials], importing: Importing
) -> dict[str, Path]:
    materials = {own.path.resolve() for own in suites.values()}
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in _TABLES[:2] or path.resolve() in materials:
            continue
        key = next((k for k in suites if path.stem == k or path.stem.endswith(f"_{k}")), None)
        if key is None:
            if path.stem.startswith("surprisals"):
                importing.left_out.append(str(path))
        elif key in files:
            raise InputError(f"is the same suite as {files[key].name}", path=path)
        else:
            files[key] = path
    return {key: files[key] for key in suites if key in files}


def import_reflexives(
    materials: Sequence[Path], sets: Sequence[SurprisalSet], rules: PairingRules, *,
    conditions: ConditionSource = "sentences",
) -> Imported:  # fmt: skip
    """Import surprisals for the published reflexive stimuli (Hu et al. 2020).

    Below every set, folders with a folder for each experiment are models:
    ``grnn/exp2-rc/herself_grnn.txt`` has two columns, ``bert/exp2-rc/herself_bert.csv`` those of
    the stimuli and the surprisal of the pronoun.
    """
    stimuli = load_reflexives(materials, conditions)
    importing = Importing("reflexives", rules)
    for own in stimuli.values():
        importing.used(own.materials.path, [own.materials.suite], conditions, own.contradicting)
        importing.notes += own.notes
    for surprisals, folder in _folders(sets):
        experiments = [path for path in sorted(folder.iterdir()) if path.name in EXPERIMENTS]
        if not any(path.is_dir() and not _holds_stimuli(path) for path in experiments):
            continue
        # The run is the name of the model's folder with that of a trial below it.
        name = run_name(folder, surprisals.path)
        model = name.model.rpartition("/")[2]
        run = model if name.seed is None else f"{model}/{folder.name}"
        model = {"trans": "transxl"}.get(model, model)
        name = replace(name, run=run, model=model, corpus=surprisals.corpus)
        for (experiment, pronoun), own in stimuli.items():
            paths = sorted((folder / experiment).glob(f"{pronoun}_*"))
            paths = [path for path in paths if path.suffix in _TABLES]
            if len(paths) > 1:
                raise InputError(f"is the same suite as {paths[0].name}", path=paths[1])
            for path in paths:
                _add_reflexives(importing, name, own, path, rules)
    return importing.finish(sets, "files such as rnng/exp2-rc/herself_rnng.txt")


def _holds_stimuli(folder: Path) -> bool:
    return any(path.suffix == ".csv" and "_" not in path.stem for path in folder.iterdir())


def _add_reflexives(
    importing: Importing, name: RunName, stimuli: Stimuli, path: Path, rules: PairingRules
) -> None:
    is_masked, materials = path.suffix == ".csv", stimuli.materials
    if is_masked and (count := count_other_labels(path, stimuli.rows)):
        importing.notes.append(
            f"{path}: {plural(count, 'row')} with another item or condition than the "
            "stimuli, which count"
        )
    form = FileForm(
        pairing="order of rows",
        unit=unit_or(rules.unit, "bits", "the layout"),
        is_left_to_right=not is_masked,
    )
    read = read_bert(path) if is_masked else read_two_columns(path, materials.lengths)
    importing.add(name, materials, read, path, form)


def import_suppression(
    materials: Sequence[Path], sets: Sequence[SurprisalSet], rules: PairingRules
) -> Imported:
    """Import surprisals for the released items of Wilcox et al. 2019.

    ``<experiment>/<model>_output.tsv`` has two columns; ``<eos>`` ends a sentence.
    """
    files = load_suppression(materials)
    importing = Importing("suppression", rules)
    for own in files.values():
        importing.used(own.path, own.suites, "order of lines, checked by their words")
    importing.exceptions.append(
        "a misspelt noun in six sentences of center_embedding, as in one published file"
    )
    form = FileForm(pairing="order of lines", unit=unit_or(rules.unit, "bits", "the layout"))
    for surprisals, folder in _folders(sets):
        for path in sorted(folder.glob("*_output.tsv")):
            if folder.name not in files:
                importing.left_out.append(str(path))
                continue
            own, run = files[folder.name], path.stem.removesuffix("_output")
            name = RunName(run=run, model=run, corpus=surprisals.corpus)
            above = folder.parent
            if above != surprisals.path and above.is_relative_to(surprisals.path):
                prefix = above.relative_to(surprisals.path).as_posix()
                name = replace(name, run=f"{prefix}/{run}")
            read = read_two_columns(path, own.whole.lengths)
            importing.add(name, own.whole, read, path, form, parts=own.suites)
    return importing.finish(sets, "files such as center-embeddings/gulordava_output.tsv")


def _folders(sets: Sequence[SurprisalSet]) -> Iterator[tuple[SurprisalSet, Path]]:
    for surprisals in sets:
        check_folders([surprisals.path])
        below = sorted(path for path in surprisals.path.rglob("*") if path.is_dir())
        yield from ((surprisals, folder) for folder in (surprisals.path, *below))


# The study whose files have the suites of each set.
_LAYOUTS = {
    "mandarin": "mandarin",
    "reflexives": "reflexives",
    **dict.fromkeys(("suppression", "center_embedding", "islands", "wh_discharge"), "suppression"),
}


def import_layout(
    name: str, materials: Sequence[Path], sets: Sequence[SurprisalSet], rules: PairingRules, *,
    conditions: ConditionSource = "sentences",
) -> Imported:  # fmt: skip
    """Import the surprisals of a study in its published layout."""
    layout = _layout(name)
    if layout == "reflexives":
        return import_reflexives(materials, sets, rules, conditions=conditions)
    if conditions != "sentences":
        raise ConfigError([f"conditions={conditions} is for the reflexives, not for {name}"])
    read = import_mandarin if layout == "mandarin" else import_suppression
    return read(materials, sets, rules)


def published_suites(
    name: str, materials: Sequence[Path], conditions: ConditionSource = "sentences"
) -> list[Suite]:
    """Return the suites of a study in its published layout, to score runs of our own."""
    layout = _layout(name)
    if layout == "mandarin":
        return [own.suite for own in load_mandarin(materials).values()]
    if layout == "reflexives":
        return [own.materials.suite for own in load_reflexives(materials, conditions).values()]
    return [suite for own in load_suppression(materials).values() for suite in own.suites]


def _layout(name: str) -> str:
    if name not in _LAYOUTS:
        known = ", ".join(_LAYOUTS)
        raise ConfigError([f"{name}: materials= is for the published layouts of {known}"])
    return _LAYOUTS[name]
