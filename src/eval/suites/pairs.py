"""The published sets of minimal pairs: how to read them, and accuracy as their authors compute it.

The library loads sets here, and ``runs`` and the reports their accuracies. Sentences are scored
elsewhere: nothing here knows a model. Each paradigm of a set is a file and becomes a suite named
``blimp/adjunct_island``, whose ``meta`` has the set and how the words were made.

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
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Literal, cast

import pandas as pd

from gardenpath.console import FittedTable
from gardenpath.data.readers.base import PackedText, packed_texts
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
# Levels of averages, of which the first three are also labels of pairs.
PARADIGM, PHENOMENON, FIELD, OVERALL = "paradigm", "phenomenon", "field", "overall"

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
    folder: str
    archive: str
    source: str
    paradigms: int
    phenomena: int
    score: PairScore
    pairs: int = 1000
    language: Literal["en", "zh"] = "zh"
    suffix: Literal[".jsonl", ".csv"] = ".jsonl"
    tie_is_correct: bool = False
    ending: str = ""
    merged: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)


_SLING = PairSet(
    name="sling",
    title="SLING",
    reference="Song et al. 2022",
    folder="SLING_Data",
    archive="SLING_Data.tar.gz",
    source="the folder SLING_Data of the repository Yixiao-Song/SLING_Data_Code",
    paradigms=40,
    phenomena=9,
    score="mean_log_prob",
    tie_is_correct=True,
    merged={"Anaphor": "Anaphor (gender)"},
    folders={"Plural": "Anaphor (number)"},
    apart=dict.fromkeys(("reflexive_auto", "reflexive_natural"), "sling_reflexives"),
)

PAIR_SETS: Mapping[str, PairSet] = {
    each.name: each
    for each in (
        PairSet(
            name="blimp",
            title="BLiMP",
            reference="Warstadt et al. 2020",
            language="en",
            folder="data",
            archive="BLiMP.zip",
            source="BLiMP.zip, or the folder data, of the repository alexwarstadt/blimp",
            paradigms=67,
            phenomena=12,
            score="log_prob",
            merged={"s-selection": "argument_structure"},
        ),
        PairSet(
            name="climp",
            title="CLiMP",
            reference="Xiang et al. 2021",
            suffix=".csv",
            folder="CLiMP_corpus",
            archive="CLiMP_corpus.zip",
            source="CLiMP_corpus.zip, on the page of resources of the group NALA at the "
            "University of Colorado Boulder",
            paradigms=16,
            phenomena=9,
            score="log_prob",
            ending="_1000",
        ),
        _SLING,
        replace(
            _SLING,
            name="sling_reflexives",
            title="SLING, reflexives",
            reference="Yang 2025",
            paradigms=14,
            phenomena=2,
            pairs=40,
            merged={},
            folders={"reflexive_auto": "Reflexive_auto", "reflexive_natural": "Reflexive_natural"},
            apart={},
        ),
        PairSet(
            name="zhoblimp",
            title="ZhoBLiMP",
            reference="Liu et al. 2024",
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


# Reading a set from an archive or a folder.

# Entries of ``meta``: the set of a suite, and the segmenter or rule that made its words.
_SET_ENTRY, _WORDS_ENTRY = "minimal_pairs", "words"

# Folders whose files are a set of their own.
_APART = {folder: name for which in PAIR_SETS.values() for folder, name in which.apart.items()}


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
    return PAIR_SETS.get(str(suite.meta.get(_SET_ENTRY, "")))


def load_pair_suites(patterns: Sequence[str], source: PairSource) -> list[Suite]:
    """Return the suites that patterns such as ``blimp`` and ``sling/zai_*`` match, each once.

    Suites are in the order of the sets, and within a set in alphabetical order.
    """
    by_set: dict[str, list[str]] = {}
    for pattern in patterns:
        by_set.setdefault(pattern.split("/")[0], []).append(pattern)
    suites = []
    for set_name, own in by_set.items():
        which = PAIR_SETS[set_name]
        files = _files(which, source)
        chosen = [
            _suite(which, name, file, source)
            for name, file in files.items()
            if any(
                fnmatch.fnmatchcase(name, pattern) or name.startswith(f"{pattern.rstrip('/')}/")
                for pattern in own
            )
        ]
        if not chosen:
            hint = nearest(own[0], list(files), list(files)[:5])
            raise SuiteError(f"{which.title} has no paradigm {own[0]!r}; {hint}")
        suites += chosen
    return suites


def _files(which: PairSet, source: PairSource) -> dict[str, PackedText]:
    if source.root is None:
        raise MissingPairsError(which, "say where it is")
    files: dict[str, PackedText] = {}
    for file in _texts(which, Path(source.root)):
        name = f"{which.name}/{file.stem.removesuffix(which.ending)}"
        if name in files:
            remedy = "give the folder with the files of one version"
            problem = f"is a second file of the paradigm, beside {files[name].path}"
            raise InputError(problem, path=file.path, remedy=remedy)
        files[name] = file
    return dict(sorted(files.items()))


def _texts(which: PairSet, root: Path) -> list[PackedText]:
    """Return the files of a set below a root, or in its archive below the root."""
    files = []
    for file in packed_texts(root, lambda name: name.lower().endswith(which.suffix)):
        owner = next((_APART[folder] for folder in file.folders if folder in _APART), None)
        if owner == which.name or (owner is None and which.name not in _APART.values()):
            files.append(file)
    if files:
        # A copy of the repository has other files beside the folder of the set.
        return [file for file in files if which.folder in file.folders] or files
    if root.is_dir():
        for archive in sorted(root.rglob(which.archive)):
            return _texts(which, archive)
    raise MissingPairsError(which, f"{root} has no files *{which.suffix} of it")


def _suite(which: PairSet, name: str, file: PackedText, source: PairSource) -> Suite:
    read = blimp_pairs if which.suffix == ".jsonl" else climp_pairs
    pairs = read(file.text, file.path)
    if not pairs:
        raise InputError("contains no pairs", path=file.path)
    paradigm = name.split("/", 1)[1]
    phenomenon = next((p for folder, p in which.folders.items() if folder in file.folders), "")
    if not phenomenon:
        written = {pair.labels.get(PHENOMENON, paradigm) for pair in pairs}
        if len(written) > 1:
            problem = f"has pairs of several phenomena: {', '.join(sorted(written))}"
            raise InputError(problem, path=file.path, remedy="give the files as published")
        (phenomenon,) = written
        phenomenon = which.merged.get(phenomenon, phenomenon)
    made, segmenter = _words(which, pairs, file, source)
    labelled = [
        replace(pair, labels={**pair.labels, PARADIGM: paradigm, PHENOMENON: phenomenon})
        for pair in pairs
    ]
    suite = pair_suite(
        labelled,
        path=file.path,
        name=name,
        language=which.language,
        kind=phenomenon,
        segmenter=segmenter,
    )
    meta = {_SET_ENTRY: which.name, _WORDS_ENTRY: made}
    return replace(suite, reference=f"{which.title} ({which.reference})", meta=meta)


def _words(
    which: PairSet, pairs: Sequence[Pair], file: PackedText, source: PairSource
) -> tuple[str, Segmenter | None]:
    """Return how words are made, for results, and the segmenter that makes them, if any."""
    if which.language == "en":
        return "as in treebanks", None
    if has_blanks(pairs, file.path):
        return "as written", None
    if source.segmenter is None:
        raise SuiteError(
            f"{which.title} does not separate words, and models of words need the words of their "
            "corpus: name a segmenter, suite.segmenter=jieba for models of words, "
            "suite.segmenter=characters for models of characters (in Python, segmenter=)"
        )
    segmenter = segmenter_named(source.segmenter)
    return segmenter_label(segmenter), segmenter


# Accuracy. A pair is correct if the score of its good sentence is higher: the log probability of
# the words, or it divided by a power of the number of tokens; the end of the sentence is no part
# of it, because models without such a symbol could not be compared. Accuracies of pairs are
# averaged over the pairs of a paradigm; those of paradigms over phenomena, fields, and all
# paradigms; the mean over phenomena is given beside the latter. Every score is computed for every
# set; that of its authors, with their rule for exact ties, is marked where all pairs of the set
# were scored. Near ties are counted; they have half the credit only where exact ties do.


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
    tokens: Callable[[Words], int] = len
    errors: Sequence[Deviations | None] = ()
    is_searched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paradigm:
    """Number of pairs of a paradigm by outcome; ``near_correct`` are the correct near ties."""

    name: str
    phenomenon: str
    field: str
    correct: int
    ties: int
    near_ties: int
    near_correct: int
    missing: int
    pairs: int

    def accuracy(self, tie_counts: float) -> float:
        """Return the share of correct pairs among those that have a score; NaN without any."""
        return self._share(self.correct + tie_counts * self.ties)

    @property
    def accuracy_ties_half(self) -> float:
        clear = self.correct - self.near_correct
        return self._share(clear + 0.5 * (self.ties + self.near_ties))

    def _share(self, credit: float) -> float:
        scored = self.pairs - self.missing
        return credit / scored if scored else math.nan


def pair_accuracies(scored: Iterable[ScoredPairs], ties: TieRule = USUAL_TIES) -> pd.DataFrame:
    """Return the accuracies of every run on every published set among the suites.

    Suites that belong to no set are left out.
    """
    sets: dict[tuple[str, str], tuple[PairSet, list[ScoredPairs]]] = {}
    for paradigm in scored:
        which = pair_set_of(paradigm.suite)
        if which is not None:
            sets.setdefault((paradigm.name.run, which.name), (which, []))[1].append(paradigm)
    return AGGREGATE.frame(
        [row for which, members in sets.values() for row in _rows_of_set(which, members, ties)]
    )


def _rows_of_set(
    which: PairSet, members: Sequence[ScoredPairs], ties: TieRule
) -> Iterator[dict[str, object]]:
    name = members[0].name
    sums = [[exact_sum(row) for row in each.rows] for each in members]
    words = dict.fromkeys(str(each.suite.meta.get(_WORDS_ENTRY, "")) for each in members)
    for score, power in PAIR_SCORES.items():
        paradigms = [
            _counted(each, totals, power, ties) for each, totals in zip(members, sums, strict=True)
        ]
        is_complete = len(paradigms) == which.paradigms and all(
            each.pairs == which.pairs and not each.missing for each in paradigms
        )
        fixed = {
            "run": name.run,
            "model": name.model,
            "corpus": name.corpus,
            "seed": name.seed,
            "set": which.name,
            "words": ", ".join(words),
            "score": score,
            "official": score == which.score and is_complete,
        }
        for row in _averages(paradigms, float(which.tie_is_correct)):
            yield {**fixed, **row}


def _counted(scored: ScoredPairs, sums: Sequence[float], power: float, ties: TieRule) -> _Paradigm:
    totals = iter(zip(sums, scored.errors or [None] * len(sums), strict=True))
    correct = tied = near = near_correct = missing = 0
    for item in scored.suite.items:
        by_condition: dict[str, tuple[float, float, Deviations | None]] = {}
        for variant in item.variants:
            size = max(scored.tokens(variant.words), 1) ** power
            total, error = next(totals)
            by_condition[variant.condition] = total / size, size, error
        good, good_size, good_error = by_condition[GOOD]
        bad, bad_size, bad_error = by_condition[BAD]
        spread = weighted_sum([(1.0 / good_size, good_error), (-1.0 / bad_size, bad_error)])
        threshold = ties.threshold_bits(
            None if spread is None else spread.reach,
            is_searched=scored.is_searched,
            share=1.0 / min(good_size, bad_size),
        )
        is_near = 0.0 < abs(good - bad) <= threshold
        correct += good < bad
        tied += good == bad
        near += is_near
        near_correct += is_near and good < bad
        missing += math.isnan(good) or math.isnan(bad)
    labels = scored.suite.items[0].labels
    return _Paradigm(
        name=labels.get(PARADIGM, scored.suite.name),
        phenomenon=scored.suite.kind,
        field=labels.get(FIELD, ""),
        correct=correct,
        ties=tied,
        near_ties=near,
        near_correct=near_correct,
        missing=missing,
        pairs=len(scored.suite.items),
    )


def _averages(paradigms: Sequence[_Paradigm], tie_counts: float) -> Iterator[dict[str, object]]:
    for paradigm in paradigms:
        yield _row(PARADIGM, paradigm.name, [[paradigm]], tie_counts)
    phenomena = _grouped(paradigms, lambda paradigm: paradigm.phenomenon)
    fields = _grouped(paradigms, lambda paradigm: paradigm.field)
    for level, groups in ((PHENOMENON, phenomena), (FIELD, fields)):
        for name, members in groups.items():
            if name:
                yield _row(level, name, [[each] for each in members], tie_counts)
    yield _row(OVERALL, "mean over paradigms", [[each] for each in paradigms], tie_counts)
    yield _row(OVERALL, "mean over phenomena", list(phenomena.values()), tie_counts)


def _grouped(
    paradigms: Sequence[_Paradigm], key: Callable[[_Paradigm], str]
) -> dict[str, list[_Paradigm]]:
    return {name: list(group) for name, group in groupby(sorted(paradigms, key=key), key=key)}


def _row(
    level: str, name: str, groups: Sequence[Sequence[_Paradigm]], tie_counts: float
) -> dict[str, object]:
    members = [paradigm for group in groups for paradigm in group]

    def mean(accuracy: Callable[[_Paradigm], float]) -> float:
        return fmean(fmean(map(accuracy, group)) for group in groups)

    return {
        "level": level,
        "name": name,
        "accuracy": mean(lambda paradigm: paradigm.accuracy(tie_counts)),
        "accuracy_ties_half": mean(lambda paradigm: paradigm.accuracy_ties_half),
        "paradigms": len(members),
        "pairs": sum(paradigm.pairs for paradigm in members),
        "ties": sum(paradigm.ties for paradigm in members),
        "missing": sum(paradigm.missing for paradigm in members),
        NEAR_TIES: sum(paradigm.near_ties for paradigm in members),
    }


# Accuracies as tables for readers, and what they must know of them.

_SCORE_IN_WORDS: dict[PairScore, str] = {
    "log_prob": "log probability of the sentence",
    "mean_log_prob": "log probability per token (perplexity)",
    "sublinear_log_prob": "log probability divided by the square root of the number of tokens",
}


def pair_words(suites: Iterable[Suite]) -> dict[str, str]:
    """Return, for each published set among the suites, what made its words."""
    by_set: dict[str, dict[str, None]] = {}
    for suite in suites:
        which = pair_set_of(suite)
        if which is not None:
            by_set.setdefault(which.name, {})[str(suite.meta[_WORDS_ENTRY])] = None
    return {name: ", ".join(words) for name, words in by_set.items()}


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
    tables = []
    for which, frame in phenomenon_frames(aggregate):
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
        tables.append(table)
    return tables
