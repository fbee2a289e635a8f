"""Which form a file has, and its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from gardenpath.data.surprisal_forms import SurprisalForm, Unit
from gardenpath.errors import InputError
from gardenpath.eval.published.forms.completions import (
    is_openai,
    is_vllm,
    read_openai,
    read_vllm,
)
from gardenpath.eval.published.forms.foreign import ForeignFile, form_unit, numbered
from gardenpath.eval.published.forms.json_records import is_json, read_documents
from gardenpath.eval.published.forms.lm_eval import is_lm_eval, read_lm_eval
from gardenpath.eval.published.forms.minicons_tables import is_minicons, read_minicons
from gardenpath.eval.published.forms.readable_tokens import readable_sentences
from gardenpath.eval.published.forms.syntaxgym_regions import (
    is_syntaxgym,
    read_syntaxgym_results,
)
from gardenpath.eval.published.surprisal_files import read_token_table
from gardenpath.eval.published.token_tables import is_token_table
from gardenpath.text import enumeration

_SIGNS: Mapping[SurprisalForm, Callable[[object], bool]] = {
    "lm_eval": is_lm_eval,
    "vllm": is_vllm,
    "openai": is_openai,
    "minicons": is_minicons,
    "syntaxgym": is_syntaxgym,
}


def may_have_form(path: Path, form: SurprisalForm) -> bool:
    """Whether a file in a folder is one of those to read."""
    if not is_json(path):
        return form in ("auto", "table", "lm_zoo", "minicons") and is_token_table(path)
    try:
        return form in _fitting(path) if form != "auto" else bool(_fitting(path))
    except InputError:
        return False


def _fitting(path: Path) -> list[SurprisalForm]:
    documents = read_documents(path)
    sample: list[object] = [documents, *documents[:1]]
    return [name for name, fits in _SIGNS.items() if any(map(fits, sample))]


def form_of(path: Path, form: SurprisalForm = "auto") -> SurprisalForm:
    """Return the form of a file by its content; a file that fits several is refused.

    Everything that is not JSON is a table. Tables of LM Zoo and of minicons have columns of the
    same names in different units: they are tables whose unit is not known, unless their form or
    their unit is stated.
    """
    if form != "auto":
        return form
    if not is_json(path):
        return "table"
    found = _fitting(path)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"fits several forms: {enumeration(found)}",
            path=path,
            remedy=f"name the one to read, as in form={found[0]}",
        )
    raise InputError(
        "is JSON in no known form of surprisals",
        path=path,
        remedy=f"known are {enumeration(list(_SIGNS))}; tables of Gardenpath are read as .tsv or "
        ".csv",
    )


def read_foreign(path: Path, form: SurprisalForm, unit: Unit | None) -> ForeignFile:
    """Read a file of a form other than ``table``; tokens are readable text afterwards."""
    found = _READERS[form](path, unit)
    if not found.sentences:
        raise InputError("contains no sentences", path=path)
    if found.is_whole:
        return found
    return ForeignFile(
        path=path,
        form=form,
        unit=found.unit,
        sentences=readable_sentences(found.sentences, path),
        is_by_text=found.is_by_text,
    )


def _read_lm_zoo(path: Path, unit: Unit | None) -> ForeignFile:
    return ForeignFile(
        path=path,
        form="lm_zoo",
        unit=form_unit("lm_zoo", "bits", unit),
        sentences=numbered(read_token_table(path)),
        is_by_text=False,
    )


_READERS: Mapping[SurprisalForm, Callable[[Path, Unit | None], ForeignFile]] = {
    "lm_zoo": _read_lm_zoo,
    "minicons": read_minicons,
    "lm_eval": read_lm_eval,
    "vllm": read_vllm,
    "openai": read_openai,
    "syntaxgym": read_syntaxgym_results,
}
