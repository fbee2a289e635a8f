"""The published Mandarin suites (Wang et al. 2021).

A suite is a text file, ``cls_none_txt.txt``, with one sentence per line and spaces between words;
consecutive lines form an item.

All published tables of surprisals were made from an earlier version of two suites: the relative
clauses of three items (twelve sentences) have other words, the critical words are the same. These
wordings are accepted, and listed in the receipt; the suite of an imported run has the sentences
that were scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.pairing import Materials, in_file_order
from gardenpath.eval.published.released.mandarin_checks import (
    RELATIVISER,
    check_item,
    check_sisters,
)
from gardenpath.eval.published.surprisal_files import check_folders, read_lines
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


# The earlier wordings (see ``wordings.wording_digest``) of object_rc, items 5 and 7, and of
# subject_rc, item 28, of classifier-noun.
_EARLIER_WORDINGS = frozenset(
    {
        *("be626ae95a67", "b10d5fa7a752", "3997bbb7d3c8", "1564141d8e01"),
        *("68694f2910da", "b781a3e7d2a2", "17509181026f", "18dd8f1409a4"),
        *("956e718cec48", "54fd0c10c081", "5ed9df67ac16", "f0eb8bbac055"),
    }
)

# In two published folders of the LSTM, the files of classifier-noun and of garden path object give
# equal beginnings of sentences other surprisals than the files beside them: they are of other
# models (see ``beginnings.numbers_digest``). In the second folder, classifier-noun without modifier
# agrees with the rest.
OTHER_MODELS = frozenset(
    {
        *("5a13e5e910e1", "3fc92db0b739", "46659b04eddc", "3231d2e2a34c"),
        *("66fcb1a5f755", "77e70c8ee971", "5677212b9292", "1d83b03ffbf0"),
        *("3550cbd0193c", "8aae4a77ffad", "dab53708c8b5"),
        *("971b1d13cb93", "44420dc1ed81", "edfd3a8fe80a", "1aedabd118f5"),
    }
)


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
    last = max((number for number, word in enumerate(words) if word == RELATIVISER), default=-1)
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


def load_mandarin(folders: Sequence[Path]) -> dict[str, Materials]:
    """Read the suites in folders and their subfolders, by file key (``cls_none``)."""
    check_folders(folders)
    found: dict[str, Materials] = {}
    for layout in LAYOUTS:
        for modifier in _MODIFIERS:
            key = f"{layout.key}_{modifier}"
            names = (f"{key}_txt.txt", f"{key}.txt")
            paths = sorted({path for one in folders for name in names for path in one.rglob(name)})
            if len(paths) > 1:
                raise InputError(f"{paths[1]} is the same suite", path=paths[0])
            if paths:
                found[key] = read_mandarin_suite(paths[0], layout, modifier)
    if not found:
        raise InputError(
            "contains no Mandarin suite",
            path=", ".join(map(str, folders)),
            remedy="suites are text files such as cls_none_txt.txt, in any subfolder",
        )
    check_sisters(found.values())
    return found


def read_mandarin_suite(path: Path, layout: Layout, modifier: str) -> Materials:
    """Read one suite from its text file; the lines of every item must fit their conditions."""
    lines = read_lines(path)
    sentences = [(n, tuple(line.split())) for n, line in enumerate(lines, 1) if line.strip()]
    size = len(layout.conditions)
    if not sentences or len(sentences) % size:
        raise InputError(
            f"{len(sentences)} sentences cannot be divided into items of {size}", path=path
        )
    items = []
    for start in range(0, len(sentences), size):
        group = sentences[start : start + size]
        check_item(layout.kind, [words for _, words in group], path, group[0][0])
        variants = tuple(
            Variant(condition, _regions(words, layout, path, line))
            for condition, (line, words) in zip(layout.conditions, group, strict=True)
        )
        items.append(Item(start // size + 1, variants))
    suite = Suite(
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
    found = in_file_order(path, suite, [line for line, _ in sentences])
    return replace(found, known=_EARLIER_WORDINGS)


def _regions(words: Words, layout: Layout, path: Path, line: int) -> tuple[Words, ...]:
    start, end = layout.target(words)
    if start < 0:
        raise InputError("the sentence has no critical region", path=path, line=line)
    return words[:start], words[start:end], words[end:]


def _prediction(more: str, less: str) -> Prediction:
    return Prediction(f"{more}>{less}", Formula.parse(f"(target;%{more}%) > (target;%{less}%)"))
