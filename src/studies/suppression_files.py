"""The released items of Wilcox et al. 2019: centre embedding, and filler-gap dependencies.

``layouts`` imports surprisals for them, and scores runs of our own on them. Each experiment is a
folder with ``input.txt``, one sentence per line. The lines are blocks of items: of centre
embedding, 8 blocks of sentences and embeddings; of filler-gap dependencies, 8 constructions with 4
blocks each. The words of every item are compared between its blocks, so that files with other
blocks are refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gardenpath.errors import InputError
from gardenpath.eval.published.files import check_folders, read_lines
from gardenpath.eval.published.pairing import Materials
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.regions import is_edge
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant
from gardenpath.util import Words

_REFERENCE = "Wilcox, Levy and Futrell 2019: Hierarchical representation in neural language models"

_STOP = "."
_REMEDY = "the blocks must be in the order of the layout"

_ORDER_REGIONS = ("outer", "that", "inner", "modifier", "verb1", "verb2", "end")
# The condition of each block, named as in our suite of centre embedding, so that both have the
# same effects: N1 and V2 are subject and verb of the main clause, N2 and V1 of the relative clause.
_ORDER_BLOCKS = (
    *("n1_v2", "n2_v1", "n1_v1", "n2_v2"),
    *("match", "mismatch", "match_long", "mismatch_long"),
)
_ORDER_PREDICTIONS = {
    "sentence": "(verb1;%n2_v2%) + (verb2;%n1_v1%) > (verb1;%n2_v1%) + (verb2;%n1_v2%)",
    "embedding": "(verb1;%mismatch%) + (verb2;%mismatch%) > (verb1;%match%) + (verb2;%match%)",
    "long": (
        "(verb1;%mismatch_long%) + (verb2;%mismatch_long%)"
        " > (verb1;%match_long%) + (verb2;%match_long%)"
    ),
}

# One published file has a misspelt noun in six sentences (see ``wordings.wording_digest``).
_MISSPELT = frozenset(
    {
        *("447a20c01e72", "cdb1d2b640b3", "a50ab3bcd76f"),
        *("82b2c1d020b9", "a4adde46d2d3", "dba415806226"),
    }
)

_GAP_REGIONS = ("matrix", "filler", "context", "object", "tail", "rest", "end")
_GAP_CONDITIONS = ("that_nogap", "that_gap", "what_nogap", "what_gap")
_GAP_PREDICTIONS = {
    "gap": "(tail;%that_gap%) > (tail;%what_gap%)",
    "no_gap": "(object;%what_nogap%) > (object;%that_nogap%)",
}
_FILLERS = ("that", "who")
# Whether the words between filler and object start with a comma and contain a relative clause, and
# whether words follow the adverbial; by construction.
_SHAPES = (
    *((False, False, False), (False, False, False)),
    *((True, False, True), (True, False, False), (True, False, False)),
    *((False, True, True), (False, True, False), (False, True, False)),
)
# Constructions of the same shape: the first has more words between filler and object.
_LONGER = ((0, 1), (3, 4), (6, 7))
# Name, class and modifier of the suite of each construction, and its labels, as in our own suites.
_CONSTRUCTIONS = (
    ("islands/object", "islands", "object", {"island": "no"}),
    ("wh_discharge/subject", "wh_discharge", "subject", {"discharged": "yes"}),
    ("islands/adjunct", "islands", "adjunct", {"island": "yes"}),
    ("islands/over_adjunct", "islands", "over_adjunct", {"island": "no"}),
    ("wh_discharge/adjunct", "wh_discharge", "adjunct_discharge", {"discharged": "no"}),
    ("islands/complex_np", "islands", "complex_np", {"island": "yes"}),
    ("islands/over_complex_np", "islands", "over_complex_np", {"island": "no"}),
    ("wh_discharge/complex_np", "wh_discharge", "cnp_discharge", {"discharged": "no"}),
)


@dataclass(frozen=True)
class SuppressionFile:
    """The suites of one experiment; ``whole`` has the items of all of them, to pair a file."""

    path: Path
    suites: tuple[Suite, ...]
    whole: Materials


def load_suppression(folders: Sequence[Path]) -> dict[str, SuppressionFile]:
    """Read the experiments in folders and their subfolders, by the name of their folder."""
    check_folders(folders)
    files: dict[str, SuppressionFile] = {}
    for path in sorted({path for folder in folders for path in folder.rglob("input.txt")}):
        name = path.parent.name
        if name in files:
            raise InputError(f"is the same experiment as {files[name].path}", path=path)
        lines, sentences = [], []
        for line, text in enumerate(read_lines(path), start=1):
            words = tuple(word for word in text.split() if not is_edge(word))
            if not words:
                continue
            if words[-1] != _STOP or len(words) < 3:
                raise InputError("a sentence must end in a full stop", path=path, line=line)
            lines.append(line)
            sentences.append(words)
        read = _gaps if "filler" in name else _orders
        files[name] = read(path, sentences, lines)
    if not files:
        raise InputError(
            "contains no materials",
            path=", ".join(map(str, folders)),
            remedy="materials are center-embeddings/input.txt and the like",
        )
    return files


def _blocks(path: Path, sentences: Sequence[Words], blocks: int) -> int:
    if not sentences or len(sentences) % blocks:
        problem = f"{len(sentences)} sentences cannot be divided into {blocks} blocks"
        raise InputError(problem, path=path)
    return len(sentences) // blocks


def _orders(path: Path, sentences: Sequence[Words], lines: Sequence[int]) -> SuppressionFile:
    """Read centre embedding: item i is line 28·block + i."""
    count = _blocks(path, sentences, len(_ORDER_BLOCKS))
    items, places = [], []
    for number in range(count):
        own = [number + count * block for block in range(len(_ORDER_BLOCKS))]
        regions = _order_regions([sentences[place] for place in own])
        if isinstance(regions, str):
            shown = " / ".join(" ".join(sentences[place]) for place in own[:6])
            problem = f"item {number + 1}: {regions}\n  {shown}"
            raise InputError(problem, path=path, line=lines[own[0]], remedy=_REMEDY)
        items.append(Item(number + 1, tuple(map(Variant, _ORDER_BLOCKS, regions))))
        places += own
    suite = Suite(
        name="center_embedding/verb_order", language="en", regions=_ORDER_REGIONS,
        conditions=_ORDER_BLOCKS, predictions=_predictions(_ORDER_PREDICTIONS), items=tuple(items),
        kind="center_embedding", critical=("verb1", "verb2"),
        differing=("outer", "that", "inner", "modifier"), reference=_REFERENCE,
    )  # fmt: skip
    whole = Materials(path, suite, tuple(places), tuple(lines), known=_MISSPELT)
    return SuppressionFile(path, (suite,), whole)


def _order_regions(lines: Sequence[Words]) -> list[tuple[Words, ...]] | str:
    """Return the regions of the eight sentences of an item, or what is wrong with them."""
    verb2, verb1 = lines[0][-2], lines[1][-2]
    outer, inner = lines[0][:-2], lines[1][:-2]
    if verb1 == verb2:
        return "both verbs are the same"
    if lines[2] != (*outer, verb1, _STOP) or lines[3] != (*inner, verb2, _STOP):
        return "blocks 2 and 3 must exchange the verbs of blocks 0 and 1"
    stop = (_STOP,)
    regions: list[tuple[Words, ...]] = [
        (outer, (), (), (), (), (verb2,), stop),
        ((), (), inner, (), (verb1,), (), stop),
        (outer, (), (), (), (), (verb1,), stop),
        ((), (), inner, (), (verb2,), (), stop),
    ]
    beginning = (*outer, "that", inner[0].lower(), *inner[1:])
    modifier = lines[6][len(beginning) : -3]
    for place, middle in ((4, ()), (6, modifier)):
        for line, verbs in ((place, (verb1, verb2)), (place + 1, (verb2, verb1))):
            if lines[line] != (*beginning, *middle, *verbs, _STOP):
                return f"block {line} must be {' '.join((*beginning, *middle, *verbs))!r}"
            parts = (outer, ("that",), beginning[len(outer) + 1 :], middle)
            regions.append((*parts, verbs[:1], verbs[1:], stop))
    return regions if modifier else "blocks 6 and 7 must have a modifier"


def _gaps(path: Path, sentences: Sequence[Words], lines: Sequence[int]) -> SuppressionFile:
    """Read filler-gap dependencies: item i is line 400·construction + 100·condition + i."""
    size = len(_GAP_CONDITIONS)
    count = _blocks(path, sentences, size * len(_CONSTRUCTIONS))
    suites, places = [], []
    for block, (name, kind, modifier, labels) in enumerate(_CONSTRUCTIONS):
        items = []
        for number in range(count):
            # The closing adverbial of an item, from its object construction.
            full, gapped = sentences[number], sentences[number + count]
            gap = _gap_place(full, gapped)
            tail = () if gap is None else gapped[gap:-1]
            own = [number + count * (size * block + n) for n in range(size)]
            regions = _gap_regions([sentences[place] for place in own], tail, block)
            if isinstance(regions, str):
                shown = "\n  ".join(" ".join(sentences[place]) for place in own)
                problem = f"{name}, item {number + 1}: {regions}\n  {shown}"
                raise InputError(problem, path=path, line=lines[own[0]], remedy=_REMEDY)
            items.append(Item(number + 1, tuple(map(Variant, _GAP_CONDITIONS, regions)), labels))
            places += own
        suites.append(_gap_suite(name, kind, modifier, tuple(items)))
    for longer, shorter in ((suites[first], suites[second]) for first, second in _LONGER):
        for item, other in zip(longer.items, shorter.items, strict=True):
            if len(item.variants[0].words) <= len(other.variants[0].words):
                names = f"{longer.name} must have more words than {shorter.name}"
                raise InputError(f"item {item.number}: {names}", path=path, remedy=_REMEDY)
    whole = _gap_suite(path.parent.name, "", "", tuple(item for s in suites for item in s.items))
    return SuppressionFile(path, tuple(suites), Materials(path, whole, tuple(places), tuple(lines)))


def _gap_suite(name: str, kind: str, modifier: str, items: tuple[Item, ...]) -> Suite:
    return Suite(
        name=name, language="en", regions=_GAP_REGIONS, conditions=_GAP_CONDITIONS,
        predictions=_predictions(_GAP_PREDICTIONS), items=items, kind=kind, modifier=modifier,
        critical=("object", "tail"), differing=("filler",), reference=_REFERENCE,
    )  # fmt: skip


def _predictions(formulas: dict[str, str]) -> tuple[Prediction, ...]:
    return tuple(Prediction(name, Formula.parse(text)) for name, text in formulas.items())


def _gap_place(full: Words, gapped: Words) -> int | None:
    """Return where the object was taken out: its first word is an article, if there is a choice."""
    size = len(full) - len(gapped)
    if size < 1:
        return None
    places = [
        n for n in range(len(gapped)) if full == (*gapped[:n], *full[n : n + size], *gapped[n:])
    ]
    articles = [n for n in places if full[n].lower() in ("the", "a", "an", "his", "her")]
    return next(iter(articles or places), None)


def _gap_regions(
    lines: Sequence[Words], tail: Words, construction: int
) -> list[tuple[Words, ...]] | str:
    """Return the regions of the four sentences of an item, or what is wrong with them."""
    full, gapped, who_full, who_gapped = lines
    differences = [n for n, (a, b) in enumerate(zip(full, who_full, strict=False)) if a != b]
    if len(full) != len(who_full) or len(differences) != 1:
        return "the sentences with and without a filler must differ in one word"
    filler = differences[0]
    if (full[filler], who_full[filler]) != _FILLERS:
        return f"{full[filler]!r} and {who_full[filler]!r} are not {' and '.join(_FILLERS)}"
    if (*gapped[:filler], _FILLERS[1], *gapped[filler + 1 :]) != who_gapped:
        return "the sentences with a gap must differ in the filler only"
    place = _gap_place(full, gapped)
    if place is None:
        return "the sentences with a gap must lack the object"
    if not tail or gapped[place : place + len(tail)] != tail:
        return f"the adverbial {' '.join(tail)!r} of the item must follow the gap"
    regions = []
    for words in lines:
        size = len(words) - len(gapped)
        end = place + size + len(tail)
        cuts = (0, filler, filler + 1, place, place + size, end, len(words) - 1, len(words))
        regions.append(tuple(words[start:stop] for start, stop in itertools.pairwise(cuts)))
    _, _, context, _, _, rest, _ = regions[0]
    shape = (context[:1] == (",",), "that" in context, bool(rest))
    return regions if shape == _SHAPES[construction] else "is not a sentence of this construction"
