"""Settings that the documents name exist."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest

from gardenpath.playground.settings import PlaygroundSettings
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import Tagged
from gardenpath.settings.train import TrainSettings
from tests.documents import PAGES, ROOT

_GROUPS = "task|search|suite|study|model|data|trainer|logger|paths|limits"
_NAMED = re.compile(rf"(?<![\w./$-])((?:{_GROUPS})(?:\.[a-z]\w*)+)(?![\w/(-])(?!\.\w)")
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def _names(annotation: Any, prefix: str) -> Iterator[str]:
    """The names of all settings of all choices of an annotation."""
    if get_origin(annotation) is Annotated:
        for one in get_args(annotation)[1:]:
            if isinstance(one, Tagged):
                for record in one.classes.values():
                    yield from _names(record, prefix)
    is_mapping = get_origin(annotation) in (Mapping, dict)
    for part in get_args(annotation):
        yield from _names(part, f"{prefix}*." if is_mapping else prefix)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        hints = get_type_hints(annotation, include_extras=True)
        for field in dataclasses.fields(annotation):
            yield f"{prefix}{field.name}"
            yield from _names(hints[field.name], f"{prefix}{field.name}.")


NAMES = {
    name
    for root in (TrainSettings, EvaluateSettings, PlaygroundSettings)
    for name in _names(root, "")
}
SHORT = {*TrainSettings.SHORT, *EvaluateSettings.SHORT}

# A function of R.
_OTHERS = {"model.matrix"}


def unknown_settings(text: str) -> list[str]:
    """Names in code within a line that look like settings and are none."""
    found = [name for code in _INLINE.findall(text) for name in _NAMED.findall(code)]
    return [name for name in dict.fromkeys(found) if not _exists(name)]


def _exists(name: str) -> bool:
    part = re.sub(r"^data\.parts\.\w+|^data\.reader\.parts\.\w+", "data.reader.parts.*", name)
    is_file = Path(name).suffix in (".txt", ".csv", ".py")
    return is_file or part in NAMES or name in SHORT or name in _OTHERS


@pytest.mark.parametrize("path", [ROOT / "README.md", *PAGES], ids=lambda path: path.name)
def test_named_settings_exist(path: Path) -> None:
    assert unknown_settings(path.read_text(encoding="utf-8")) == []


def test_an_unknown_setting_is_found() -> None:
    text = "`task.porcessing` and `search.word_beam=3`, `data.txt`, `data.parts.ptb.root`, `x.y`"
    assert unknown_settings(text) == ["task.porcessing"]
