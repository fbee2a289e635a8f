"""Segmenters whose models are installed apart from Gardenpath: spaCy and pkuseg.

Nothing is downloaded here. Models of spaCy are Python packages; a path is not accepted, because a
folder of a model may name code that is run when it is loaded.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gardenpath.errors import GardenpathError

DEFAULT_SPACY_MODEL = "zh_core_web_sm"
DEFAULT_PKUSEG_MODEL = "spacy_ontonotes"
_PACKAGE = re.compile(r"[a-z]\w*", re.ASCII)


class SpacySegmenter:
    """Words as the tokeniser of a model of spaCy divides them: ``spacy:zh_core_web_sm``."""

    def __init__(self, model: str = "") -> None:
        self._model = model or DEFAULT_SPACY_MODEL
        self.name = f"spacy:{self._model}"
        if problem := spacy_problem(self._model):
            raise GardenpathError(problem)
        import spacy

        self._spacy: Any = spacy.load(self._model)

    @cached_property
    def version(self) -> str:
        """Versions of spaCy and of the model."""
        return f"{_version('spacy')}, model {_version(self._model.replace('_', '-'))}"

    def segment(self, text: str) -> list[str]:
        """Return the words of a text."""
        found = (word for token in self._spacy.make_doc(text) for word in token.text.split())
        return list(found)


class PkusegSegmenter:
    """Chinese words by pkuseg, as spaCy uses it: ``pkuseg:spacy_ontonotes``."""

    def __init__(self, model: str = "") -> None:
        self._model = model or DEFAULT_PKUSEG_MODEL
        self.name = f"pkuseg:{self._model}"
        if problem := pkuseg_problem(self._model):
            raise GardenpathError(problem)
        import spacy_pkuseg

        # A folder that exists is never downloaded.
        self._pkuseg: Any = spacy_pkuseg.pkuseg(model_name=str(_pkuseg_folder(self._model)))

    @cached_property
    def version(self) -> str:
        """Version of the program."""
        return _version("spacy-pkuseg")

    def segment(self, text: str) -> list[str]:
        """Return the words of a text."""
        return [word for part in text.split() for word in self._pkuseg.cut(part)]


def spacy_problem(model: str) -> str:
    """Return why a model of spaCy cannot be used; empty if it can."""
    if not _PACKAGE.fullmatch(model):
        return f"segmenter=spacy:{model}: name an installed model, such as {DEFAULT_SPACY_MODEL}"
    if find_spec("spacy") is None:
        return "segmenter=spacy needs the package spacy: pip install spacy"
    if find_spec(model) is None:
        return f"segmenter=spacy:{model} needs its model: python -m spacy download {model}"
    return ""


def pkuseg_problem(model: str) -> str:
    """Return why a model of pkuseg cannot be used; empty if it can."""
    if not _PACKAGE.fullmatch(model):
        return f"segmenter=pkuseg:{model}: name a model, such as {DEFAULT_PKUSEG_MODEL}"
    if find_spec("spacy_pkuseg") is None:
        return "segmenter=pkuseg needs the package spacy-pkuseg: pip install spacy-pkuseg"
    folder = _pkuseg_folder(model)
    if not folder.is_dir():
        return (
            f"segmenter=pkuseg:{model} needs its model in {folder}: download it from the releases "
            "of https://github.com/explosion/spacy-pkuseg and unpack it there"
        )
    return ""


def _pkuseg_folder(model: str) -> Path:
    home = os.environ.get("PKUSEG_HOME") or Path.home() / ".pkuseg"
    return Path(home) / model


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
