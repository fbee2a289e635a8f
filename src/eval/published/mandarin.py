"""The published Mandarin suites (Wang et al. 2021) and per-word surprisals for them.

A suite is a text file, ``cls_none_txt.txt``, with one sentence per line and spaces between words;
consecutive lines form an item. Surprisals are tables of tokens, one per suite and run, in the order
of the lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.fitting import FittedSurprisals, fit
from gardenpath.eval.published.surprisal_files import read_lines, read_token_table
from gardenpath.eval.suites.design.formula import Formula
from gardenpath.eval.suites.design.suite import Item, Prediction, Suite, Variant
from gardenpath.text import Words

_REFERENCE = "Wang, Hu, Levy and Qian 2021: Controlled evaluation of grammatical knowledge"

_REGIONS = ("context", "target", "rest")

# The material between the dependent words, by the suffix of a file's name.
_MODIFIERS = {
    "none": "none",
    "adj": "adjective",
    "obj": "object_rc",
    "sub": "subject_rc",
    "sub2": "coordinated_rc",
    "subh": "embedded_rc",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of the files of a class.

    ``conditions``: the conditions of the lines of an item; ``target``: a function that returns
    start and end of the critical region; ``predictions``: pairs of a condition with higher and one
    with lower surprisal.
    """

    key: str
    kind: str
    conditions: tuple[str, ...]
    predictions: tuple[tuple[str, str], ...]
    target: Callable[[Words], tuple[int, int]]


def _from_end(start: int, end: int = 0) -> Callable[[Words], tuple[int, int]]:
    return lambda words: (len(words) - start, len(words) - end)


def _last_de(words: Words) -> tuple[int, int]:
    """Return the relativiser of the outermost relative clause: the last 的."""
    last = max((number for number, word in enumerate(words) if word == "的"), default=-1)
    return last, last + 1


LAYOUTS = (
    Layout(
        key="cls",
        kind="classifier_noun",
        conditions=("match_a", "mismatch_a", "match_b", "mismatch_b"),
        predictions=(
            ("mismatch_a", "match_a"),
            ("mismatch_b", "match_b"),
            ("mismatch_b", "match_a"),
            ("mismatch_a", "match_b"),
        ),
        target=_from_end(2),
    ),
    Layout(
        key="gpo",
        kind="garden_path_object",
        conditions=("specific", "general"),
        predictions=(("general", "specific"),),
        target=_from_end(4, 3),
    ),
    Layout(
        key="gps",
        kind="garden_path_subject",
        conditions=("specific", "general"),
        predictions=(("general", "specific"),),
        target=_last_de,
    ),
    Layout(
        key="vo",
        kind="verb_noun",
        conditions=("compatible", "incompatible"),
        predictions=(("incompatible", "compatible"),),
        target=_from_end(2),
    ),
    Layout(
        key="mobj",
        kind="missing_object",
        conditions=("missing", "present"),
        predictions=(("missing", "present"),),
        target=_from_end(1),
    ),
    Layout(
        key="sd",
        kind="subordination",
        conditions=("with_main", "without_main"),
        predictions=(("without_main", "with_main"),),
        target=_from_end(1),
    ),
)


def load_mandarin(folder: Path) -> dict[str, Suite]:
    """Read the suites in a folder and its subfolders, by file key (``cls_none``)."""
    found = {}
    for layout in LAYOUTS:
        for modifier in _MODIFIERS:
            key = f"{layout.key}_{modifier}"
            paths = sorted({*folder.rglob(f"{key}_txt.txt"), *folder.rglob(f"{key}.txt")})
            if paths:
                found[key] = read_mandarin_suite(paths[0], layout, modifier)
    if not found:
        raise InputError(
            "contains no Mandarin suite",
            path=folder,
            remedy="suites are text files such as cls_none_txt.txt, in any subfolder",
        )
    return found


def read_mandarin_suite(path: Path, layout: Layout, modifier: str) -> Suite:
    """Read one suite from its text file."""
    lines = read_lines(path)
    sentences = [(n, tuple(line.split())) for n, line in enumerate(lines, 1) if line.strip()]
    size = len(layout.conditions)
    if len(sentences) % size:
        raise InputError(
            f"{len(sentences)} sentences cannot be divided into items of {size}", path=path
        )
    items = []
    for start in range(0, len(sentences), size):
        variants = tuple(
            Variant(condition, _regions(words, layout, path, line))
            for condition, (line, words) in zip(
                layout.conditions, sentences[start : start + size], strict=True
            )
        )
        items.append(Item(start // size + 1, variants))
    return Suite(
        name=f"mandarin/{layout.kind}/{_MODIFIERS[modifier]}",
        language="zh",
        regions=_REGIONS,
        conditions=layout.conditions,
        predictions=tuple(_prediction(*pair) for pair in layout.predictions),
        items=tuple(items),
        kind=layout.kind,
        modifier=_MODIFIERS[modifier],
        spaced=False,
        critical=("target",),
        reference=_REFERENCE,
    )


def _regions(words: Words, layout: Layout, path: Path, line: int) -> tuple[Words, ...]:
    start, end = layout.target(words)
    if start < 0:
        raise InputError("the sentence has no critical region", path=path, line=line)
    return words[:start], words[start:end], words[end:]


def _prediction(more: str, less: str) -> Prediction:
    return Prediction(f"{more}>{less}", Formula.parse(f"(target;%{more}%) > (target;%{less}%)"))


def read_mandarin_run(path: Path, suite: Suite) -> FittedSurprisals:
    """Read the surprisals of a run on a suite, from a table in the order of the suite's lines."""
    return fit(suite, read_token_table(path), path=path)
