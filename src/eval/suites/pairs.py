"""The published sets of minimal pairs: their files, their size, and how their authors score them.

A set has one file per paradigm. Its authors compare a score of the two sentences of a pair, and
average over the pairs of a paradigm, the paradigms of a phenomenon, and all paradigms.

*BLiMP*: log probability of the sentence; a tie is an error (``prob_good > prob_bad`` in the
authors' script). Phenomena are means over paradigms, in the paper twelve: the two paradigms that
the files call ``s-selection`` belong to ``argument_structure``. The overall accuracy is the mean
over the 67 paradigms.

*CLiMP*: like BLiMP, with 16 paradigms of nine phenomena. One of the files has neither names nor
labels; the good sentence comes first there.

*SLING*: perplexity, and thus the log probability per token; the authors' script counts a pair as
failed if the good sentence has the higher perplexity, so a tie is correct. *Anaphor* is two
phenomena in the paper, gender and number (the folder ``Plural``). The paper has 38 paradigms; the
files have 40 of 1,000 pairs, among them two versions of the classifiers of compound nouns. The
reflexives of a later paper, 40 pairs per file, are a set of their own here.

*ZhoBLiMP*: log probability divided by the square root of the number of tokens (SLLN-LP, alpha
1/2), because the sentences of many pairs have different lengths; a tie is an error.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Literal, cast

import pandas as pd

from gardenpath.console import FittedTable
from gardenpath.data.archives import PackedText, packed_texts
from gardenpath.data.words.segmenting import Segmenter, segmenter_label, segmenter_named
from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.display import models_in_order
from gardenpath.eval.suites.benchmarks import (
    BAD,
    GOOD,
    Pair,
    blimp_pairs,
    climp_pairs,
    has_blanks,
    pair_suite,
)
from gardenpath.eval.suites.outcomes import USUAL_TIES, TieRule
from gardenpath.eval.suites.regions import Deviations, exact_sum, weighted_sum
from gardenpath.eval.suites.suite import Suite, SuiteError
from gardenpath.eval.suites.summary import RunName
from gardenpath.settings.schema import nearest
from gardenpath.store.tables import AGGREGATE, NEAR_TIES
from gardenpath.util import Words, spaced

# What is compared: the log probability of a sentence, or it divided by the number of tokens, or by
# the square root of this number.
PairScore = Literal["log_prob", "mean_log_prob", "sublinear_log_prob"]
PAIR_SCORES: Mapping[PairScore, float] = {
    "log_prob": 0.0,
    "mean_log_prob": 1.0,
    "sublinear_log_prob": 0.5,
}
"""The power of the length by which each score divides the log probability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSet:
    """A published set of minimal pairs.

    ``folder`` and ``archive`` are the names that its authors gave to its files, ``source`` is where
    they published it. ``merged`` maps phenomena as written in the files to those of the paper;
    ``folders`` maps folders to phenomena. Files in folders of ``apart`` make other sets.
    ``tie_is_correct`` says how the authors count ties.
    """

    name: str
    title: str
    reference: str
    language: Literal["en", "zh"]
    suffix: Literal[".jsonl", ".csv"]
    folder: str
    archive: str
    source: str
    paradigms: int
    phenomena: int
    pairs: int
    score: PairScore
    tie_is_correct: bool = False
    ending: str = ""
    merged: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_segmented(self) -> bool:
        """Whether words are separated in the files."""
        return self.language == "en"


_SLING = PairSet(
    name="sling",
    title="SLING",
    reference="Song et al. 2022",
    language="zh",
    suffix=".jsonl",
    folder="SLING_Data",
    archive="SLING_Data.tar.gz",
    source="the folder SLING_Data of the repository Yixiao-Song/SLING_Data_Code",
    paradigms=40,
    phenomena=9,
    pairs=1000,
    score="mean_log_prob",
    tie_is_correct=True,
    merged={"Anaphor": "Anaphor (gender)"},
    folders={"Plural": "Anaphor (number)"},
    apart=dict.fromkeys(("reflexive_auto", "reflexive_natural"), "sling_reflexives"),
)

PAIR_SETS: Mapping[str, PairSet] = {
    one.name: one
    for one in (
        PairSet(
            name="blimp",
            title="BLiMP",
            reference="Warstadt et al. 2020",
            language="en",
            suffix=".jsonl",
            folder="data",
            archive="BLiMP.zip",
            source="BLiMP.zip, or the folder data, of the repository alexwarstadt/blimp",
            paradigms=67,
            phenomena=12,
            pairs=1000,
            score="log_prob",
            merged={"s-selection": "argument_structure"},
        ),
        PairSet(
            name="climp",
            title="CLiMP",
            reference="Xiang et al. 2021",
            language="zh",
            suffix=".csv",
            folder="CLiMP_corpus",
            archive="CLiMP_corpus.zip",
            source="CLiMP_corpus.zip, on the page of resources of the group NALA at the "
            "University of Colorado Boulder",
            paradigms=16,
            phenomena=9,
            pairs=1000,
            score="log_prob",
            ending="_1000",
        ),
        _SLING,
        PairSet(
            name="sling_reflexives",
            title="SLING, reflexives",
            reference="Yang 2025",
            language="zh",
            suffix=".jsonl",
            folder="SLING_Data",
            archive="SLING_Data.tar.gz",
            source=_SLING.source,
            paradigms=14,
            phenomena=2,
            pairs=40,
            score="mean_log_prob",
            tie_is_correct=True,
            folders={
                "reflexive_auto": "Reflexive_auto",
                "reflexive_natural": "Reflexive_natural",
            },
        ),
        PairSet(
            name="zhoblimp",
            title="ZhoBLiMP",
            reference="Liu et al. 2024",
            language="zh",
            suffix=".jsonl",
            folder="ZhoBLiMP",
            archive="ZhoBLiMP.tar.gz",
            source="data/ZhoBLiMP.tar.gz of the repository sjtu-compling/ZhoBLiMP",
            paradigms=118,
            phenomena=15,
            pairs=300,
            score="sublinear_log_prob",
        ),
    )
}


# ----------------------------------------------------------------------------
# Read a published set of minimal pairs, one suite per paradigm, from an archive or a folder.
#
# Suites are named ``blimp/adjunct_island``. Their kind is the phenomenon of the paper; items have
# the labels of the files. ``meta`` has the set, and how the words were made.


# Entries of ``meta``: the set of a suite, and the segmenter or rule that made its words.
SET_ENTRY, WORDS_ENTRY = "minimal_pairs", "words"

# How the words of English and of Chinese with blanks are made.
AS_IN_TREEBANKS, AS_WRITTEN = "as in treebanks", "as written"

# Folders whose files are a set of their own.
_APART = {folder: name for one in PAIR_SETS.values() for folder, name in one.apart.items()}

_READERS: dict[str, Callable[[str, str | Path], list[Pair]]] = {
    ".jsonl": blimp_pairs,
    ".csv": climp_pairs,
}


class MissingPairsError(GardenpathError):
    """A published set of minimal pairs is not where the settings say, or they do not say it."""

    def __init__(self, which: PairSet, looked_for: str) -> None:
        super().__init__(
            f"{which.title} ({which.reference}) is not part of Gardenpath; {looked_for}.\n"
            f"  Where to get it: {which.source}\n"
            f"  Then set:        suite.root=FOLDER_OR_ARCHIVE (in Python, root=)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSource:
    """Where published pairs are, and what divides those without blanks into words.

    ``root`` is a folder or an archive; ``segmenter`` the name of a segmenter.
    """

    root: str | None = None
    segmenter: str | None = None


def is_pair_pattern(pattern: str) -> bool:
    """Whether a name or pattern stands for suites of a published set: ``blimp/*``."""
    return pattern.split("/")[0] in PAIR_SETS


def pair_set_of(suite: Suite) -> PairSet | None:
    """Return the published set that a suite belongs to, if any."""
    return PAIR_SETS.get(str(suite.meta.get(SET_ENTRY, "")))


def load_pair_suites(patterns: Sequence[str], source: PairSource) -> list[Suite]:
    """Return the suites that patterns such as ``blimp`` and ``sling/zai_*`` match, each once.

    Suites are in the order of the sets, and within a set in alphabetical order.
    """
    heads = dict.fromkeys(pattern.split("/")[0] for pattern in patterns)
    return [
        suite
        for head in heads
        for suite in _of_set(
            PAIR_SETS[head], [one for one in patterns if one.split("/")[0] == head], source
        )
    ]


def _of_set(which: PairSet, patterns: Sequence[str], source: PairSource) -> list[Suite]:
    files = _files(which, source)
    names = list(files)
    chosen = [name for name in names if any(_matches(name, pattern) for pattern in patterns)]
    if not chosen:
        hint = nearest(patterns[0], names, names[:5])
        raise SuiteError(f"{which.title} has no paradigm {patterns[0]!r}; {hint}")
    return [_suite(which, name, files[name], source) for name in chosen]


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern.rstrip('/')}/")


def _files(which: PairSet, source: PairSource) -> dict[str, PackedText]:
    """Return the file of each paradigm, by the name of its suite, in alphabetical order."""
    if source.root is None:
        raise MissingPairsError(which, "say where it is")
    found: dict[str, PackedText] = {}
    for one in _texts(which, Path(source.root)):
        name = f"{which.name}/{one.stem.removesuffix(which.ending)}"
        if name in found:
            remedy = "give the folder with the files of one version"
            problem = f"is a second file of the paradigm, beside {found[name].path}"
            raise InputError(problem, path=one.path, remedy=remedy)
        found[name] = one
    return dict(sorted(found.items()))


def _texts(which: PairSet, root: Path) -> list[PackedText]:
    """Return the files of a set below a root, or in its archive below the root."""
    found = [
        one
        for one in packed_texts(root, lambda name: name.lower().endswith(which.suffix))
        if _belongs(which, one.folders)
    ]
    # A copy of the repository has other files beside the folder of the set.
    inside = [one for one in found if which.folder in one.folders]
    if found:
        return inside or found
    if root.is_dir():
        for archive in sorted(root.rglob(which.archive)):
            return _texts(which, archive)
    raise MissingPairsError(which, f"{root} has no files *{which.suffix} of it")


def _belongs(which: PairSet, folders: Sequence[str]) -> bool:
    """Whether the files of a folder are those of the set and not of one beside it."""
    owner = next((_APART[folder] for folder in folders if folder in _APART), None)
    return which.name not in _APART.values() if owner is None else owner == which.name


def _suite(which: PairSet, name: str, file: PackedText, source: PairSource) -> Suite:
    pairs = _READERS[which.suffix](file.text, file.path)
    if not pairs:
        raise InputError("contains no pairs", path=file.path)
    paradigm = name.split("/", 1)[1]
    phenomenon = _phenomenon(which, paradigm, file, pairs)
    made, segmenter = _words(which, pairs, file, source)
    labelled = [
        replace(one, labels={**one.labels, "paradigm": paradigm, "phenomenon": phenomenon})
        for one in pairs
    ]
    suite = pair_suite(
        labelled,
        path=file.path,
        name=name,
        language=which.language,
        kind=phenomenon,
        segmenter=segmenter,
    )
    meta = {SET_ENTRY: which.name, WORDS_ENTRY: made}
    return replace(suite, reference=f"{which.title} ({which.reference})", meta=meta)


def _phenomenon(which: PairSet, paradigm: str, file: PackedText, pairs: Sequence[Pair]) -> str:
    """Return the phenomenon of the paper that a paradigm belongs to."""
    for folder, phenomenon in which.folders.items():
        if folder in file.folders:
            return phenomenon
    written = {one.labels.get("phenomenon", paradigm) for one in pairs}
    if len(written) > 1:
        problem = f"has pairs of several phenomena: {', '.join(sorted(written))}"
        raise InputError(problem, path=file.path, remedy="give the files as published")
    (found,) = written
    return which.merged.get(found, found)


def _words(
    which: PairSet, pairs: Sequence[Pair], file: PackedText, source: PairSource
) -> tuple[str, Segmenter | None]:
    """Return how words are made, for results, and the segmenter that makes them, if any."""
    if which.is_segmented:
        return AS_IN_TREEBANKS, None
    if has_blanks(pairs, file.path):
        return AS_WRITTEN, None
    if source.segmenter is None:
        raise SuiteError(
            f"{which.title} does not separate words, and models of words need the words of their "
            "corpus: name a segmenter, suite.segmenter=jieba for models of words, "
            "suite.segmenter=characters for models of characters (in Python, segmenter=)"
        )
    segmenter = segmenter_named(source.segmenter)
    return segmenter_label(segmenter), segmenter


# ----------------------------------------------------------------------------
# Accuracy on published minimal pairs, scored and averaged as their authors do.
#
# A pair is correct if the score of its good sentence is higher. Scores are the log probability of
# the words, or it divided by a power of the number of tokens; the end of the sentence is no part
# of it, because models without such a symbol could not be compared. Accuracies of pairs are
# averaged over the pairs of a paradigm; those of paradigms over phenomena, fields, and all
# paradigms; the mean over phenomena is given beside the latter. Every score is computed for every
# set; that of its authors, with their rule for exact ties, is marked where all pairs of the set
# were scored. Near ties are counted; they have half the credit only where exact ties do.


# Levels of averages, and the two overall means.
PARADIGM, PHENOMENON, FIELD, OVERALL = "paradigm", "phenomenon", "field", "overall"
OVER_PARADIGMS, OVER_PHENOMENA = "mean over paradigms", "mean over phenomena"

TokenCount = Callable[[Words], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPairs:
    """The surprisals (bits) of one run on a suite of pairs, a row for every sentence, in order.

    ``tokens`` returns the number of tokens of a sentence; for models of words, these are the words.
    ``errors`` are the search errors of the sums of the rows, as far as they are known, and empty if
    none is; ``is_searched`` says whether the surprisals come from a search.
    """

    name: RunName
    suite: Suite
    rows: Sequence[Sequence[float]]
    tokens: TokenCount = len
    errors: Sequence[Deviations | None] = ()
    is_searched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Count:
    """Number of pairs of a paradigm by outcome; ``near_correct`` are the correct near ties."""

    correct: int = 0
    ties: int = 0
    near_ties: int = 0
    near_correct: int = 0
    missing: int = 0
    pairs: int = 0

    def accuracy(self, tie_counts: float) -> float:
        """Return the share of correct pairs among those that have a score; NaN without any."""
        return self._share(self.correct + tie_counts * self.ties)

    @property
    def accuracy_ties_half(self) -> float:
        """The same if ties and near ties count 1/2."""
        clear = self.correct - self.near_correct
        return self._share(clear + 0.5 * (self.ties + self.near_ties))

    def _share(self, credit: float) -> float:
        scored = self.pairs - self.missing
        return credit / scored if scored else math.nan


@dataclass(frozen=True, slots=True)
class _Paradigm:
    name: str
    phenomenon: str
    field: str
    count: _Count


def pair_accuracies(scored: Iterable[ScoredPairs], ties: TieRule = USUAL_TIES) -> pd.DataFrame:
    """Return the accuracies of every run on every published set among the suites.

    Suites that belong to no set are left out.
    """
    sets: dict[tuple[str, str], tuple[RunName, PairSet, list[ScoredPairs]]] = {}
    for one in scored:
        which = pair_set_of(one.suite)
        if which is not None:
            sets.setdefault((one.name.run, which.name), (one.name, which, []))[2].append(one)
    return AGGREGATE.frame(
        [
            row
            for name, which, members in sets.values()
            for row in _rows_of_set(name, which, members, ties)
        ]
    )


def _rows_of_set(
    name: RunName, which: PairSet, members: Sequence[ScoredPairs], ties: TieRule
) -> Iterator[dict[str, object]]:
    sums = [[exact_sum(row) for row in one.rows] for one in members]
    words = ", ".join(dict.fromkeys(str(one.suite.meta.get(WORDS_ENTRY, "")) for one in members))
    for score in PAIR_SCORES:
        paradigms = [
            _paradigm(one, totals, score, ties) for one, totals in zip(members, sums, strict=True)
        ]
        is_official = score == which.score and _is_complete(which, paradigms)
        fixed = {
            "run": name.run,
            "model": name.model,
            "corpus": name.corpus,
            "seed": name.seed,
            "set": which.name,
            "words": words,
            "score": score,
            "official": is_official,
        }
        for row in _averages(paradigms, float(which.tie_is_correct)):
            yield {**fixed, **row}


def _paradigm(
    one: ScoredPairs, sums: Sequence[float], score: PairScore, ties: TieRule
) -> _Paradigm:
    first = one.suite.items[0].labels
    return _Paradigm(
        name=first.get(PARADIGM, one.suite.name),
        phenomenon=one.suite.kind,
        field=first.get(FIELD, ""),
        count=_counted(one, sums, PAIR_SCORES[score], ties),
    )


def _counted(one: ScoredPairs, sums: Sequence[float], power: float, ties: TieRule) -> _Count:
    errors = one.errors or [None] * len(sums)
    given = iter(zip(sums, errors, strict=True))
    correct = tied = near = near_correct = missing = 0
    for item in one.suite.items:
        found: dict[str, tuple[float, float, Deviations | None]] = {}
        for variant in item.variants:
            size = max(one.tokens(variant.words), 1) ** power
            total, error = next(given)
            found[variant.condition] = total / size, size, error
        (good, good_size, good_error), (bad, bad_size, bad_error) = found[GOOD], found[BAD]
        spread = weighted_sum([(1.0 / good_size, good_error), (-1.0 / bad_size, bad_error)])
        threshold = ties.threshold_bits(
            None if spread is None else spread.reach,
            is_searched=one.is_searched,
            share=1.0 / min(good_size, bad_size),
        )
        is_near = 0.0 < abs(good - bad) <= threshold
        correct += good < bad
        tied += good == bad
        near += is_near
        near_correct += is_near and good < bad
        missing += math.isnan(good) or math.isnan(bad)
    return _Count(
        correct=correct,
        ties=tied,
        near_ties=near,
        near_correct=near_correct,
        missing=missing,
        pairs=len(one.suite.items),
    )


def _is_complete(which: PairSet, paradigms: Sequence[_Paradigm]) -> bool:
    """Whether all pairs of a set were scored."""
    return len(paradigms) == which.paradigms and all(
        one.count.pairs == which.pairs and not one.count.missing for one in paradigms
    )


def _averages(paradigms: Sequence[_Paradigm], tie_counts: float) -> Iterator[dict[str, object]]:
    """Yield the rows of paradigms, fields and phenomena, and the two overall means."""
    for one in paradigms:
        yield _row(PARADIGM, one.name, [[one]], tie_counts)
    groups = _grouped(paradigms, [one.phenomenon for one in paradigms])
    for level, found in (
        (PHENOMENON, groups),
        (FIELD, _grouped(paradigms, [one.field for one in paradigms])),
    ):
        for name, members in found.items():
            if name:
                yield _row(level, name, [[one] for one in members], tie_counts)
    yield _row(OVERALL, OVER_PARADIGMS, [[one] for one in paradigms], tie_counts)
    yield _row(OVERALL, OVER_PHENOMENA, list(groups.values()), tie_counts)


def _grouped(paradigms: Sequence[_Paradigm], keys: Sequence[str]) -> dict[str, list[_Paradigm]]:
    found: dict[str, list[_Paradigm]] = {}
    for one, key in sorted(zip(paradigms, keys, strict=True), key=lambda pair: pair[1]):
        found.setdefault(key, []).append(one)
    return found


def _row(
    level: str, name: str, groups: Sequence[Sequence[_Paradigm]], tie_counts: float
) -> dict[str, object]:
    """Return the mean over groups of the means over their paradigms."""
    members = [one for group in groups for one in group]
    return {
        "level": level,
        "name": name,
        "accuracy": fmean(
            fmean(one.count.accuracy(tie_counts) for one in group) for group in groups
        ),
        "accuracy_ties_half": fmean(
            fmean(one.count.accuracy_ties_half for one in group) for group in groups
        ),
        "paradigms": len(members),
        "pairs": sum(one.count.pairs for one in members),
        "ties": sum(one.count.ties for one in members),
        "missing": sum(one.count.missing for one in members),
        NEAR_TIES: sum(one.count.near_ties for one in members),
    }


# ----------------------------------------------------------------------------
# Accuracies on published minimal pairs as tables for readers, and what they must know of them.


_SCORE_IN_WORDS: dict[PairScore, str] = {
    "log_prob": "log probability of the sentence",
    "mean_log_prob": "log probability per token (perplexity)",
    "sublinear_log_prob": "log probability divided by the square root of the number of tokens",
}


def pair_words(suites: Iterable[Suite]) -> dict[str, str]:
    """Return, for each published set among the suites, what made its words."""
    found: dict[str, dict[str, None]] = {}
    for suite in suites:
        which = pair_set_of(suite)
        if which is not None:
            found.setdefault(which.name, {})[str(suite.meta[WORDS_ENTRY])] = None
    return {name: ", ".join(words) for name, words in found.items()}


def phenomenon_frames(aggregate: pd.DataFrame) -> Iterator[tuple[PairSet, pd.DataFrame]]:
    """Yield each set with the accuracies of its phenomena and the overall means, by its own score.

    Models are columns, and their accuracies means over runs.
    """
    for name, rows in aggregate.groupby("set", sort=False):
        which = PAIR_SETS[str(name)]
        shown = rows[(rows["score"] == which.score) & rows["level"].isin((PHENOMENON, OVERALL))]
        keys = ["level", "name"]
        means = shown.groupby([*keys, "model"], sort=False)["accuracy"].mean()
        yield which, means.unstack("model", sort=False).reset_index()


def pairs_in_words(which: PairSet, aggregate: pd.DataFrame) -> str:
    """Say what was compared, and whether the numbers are those that the authors would compute."""
    rows = aggregate[(aggregate["set"] == which.name) & (aggregate["score"] == which.score)]
    ties = "correct" if which.tie_is_correct else "wrong"
    said = f"{_SCORE_IN_WORDS[which.score]}; ties count as {ties}"
    said += f"; words: {', '.join(dict.fromkeys(rows['words']))}"
    if rows["official"].all():
        return f"{said}; all pairs, as in {which.reference}"
    whole = f"{which.paradigms} paradigms of {which.pairs:,} pairs"
    return f"{said}; not all of the {whole} were scored: not comparable with {which.reference}"


def pair_tables(aggregate: pd.DataFrame) -> list[FittedTable]:
    """Return a table for the terminal for each set: phenomena as rows, models as columns."""
    return [_table(which, frame, aggregate) for which, frame in phenomenon_frames(aggregate)]


def _table(which: PairSet, frame: pd.DataFrame, aggregate: pd.DataFrame) -> FittedTable:
    table = FittedTable(f"{which.title}: accuracy", pairs_in_words(which, aggregate))
    table.column(PHENOMENON)
    models = models_in_order(name for name in frame.columns if name not in ("level", "name"))
    for name in models:
        table.column(name, right=True)
    is_overall = cast("pd.Series[bool]", frame["level"] == OVERALL)
    for part in (frame[~is_overall], frame[is_overall]):
        for row in part.to_dict("records"):
            values = (row[name] for name in models)
            cells = ("" if pd.isna(value) else f"{value:.3f}" for value in values)
            table.add_row(spaced(row["name"]), *cells)
        table.add_section()
    return table
