"""Adopt models that others trained: write run folders for them, which are runs like any other.

``gp.adopt``, ``task=adopt`` and references such as ``run=hf:gpt2`` come here. What a kind of model
is, its family says (``adopted``, or ARPA files in ``models.ngram``).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gardenpath.errors import ConfigError, GardenpathError
from gardenpath.models.family import ADOPTED, AdoptedSettings
from gardenpath.runs.run import Run
from gardenpath.settings.schema import nearest, plain, read
from gardenpath.settings.train import AdoptedRunSettings, Paths
from gardenpath.store.files import digest
from gardenpath.store.run_claim import Existing, claim
from gardenpath.store.run_folder import ADOPTED_RESULT, RunFolder
from gardenpath.util import file_stem

if TYPE_CHECKING:
    pass


# ----------------------------------------------------------------------------
# Adopt a model that others trained: write a run folder for it.


# Name of the corpus of a model that others trained, unless another is given.
ELSEWHERE = "elsewhere"

# hf:gpt2, arpa:models/news.arpa
_REFERENCE = re.compile(r"([a-z]+):(.+)", re.DOTALL)
_DIGITS = 10
# Raise it whenever the folders of references have other files or settings.
_FOLDER_FORMAT = 2


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
        content = (_FOLDER_FORMAT, *_content(adopted, Path(stage)))
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


def _content(adopted: AdoptedSettings, stage: Path) -> tuple[Any, ...]:
    files = sorted(path for path in stage.rglob("*") if path.is_file())
    return plain(adopted), [(path.name, digest(path.read_bytes())) for path in files]


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
