"""Collects the runs of an import, refuses what does not fit, and writes down what was decided.

The import of tables and the layouts of studies give every file of surprisals to
:class:`Importing`, which has its numbers checked and its sentences paired with the materials, and
compares the runs with each other. The results read :class:`Imported`: runs, notes for the reader
and the receipt. No file of surprisals is opened here.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gardenpath.errors import InputError
from gardenpath.eval.published.checks import (
    MOST_DIFFERENT,
    RunBeginnings,
    check_beginnings,
    checked_in_bits,
    converted,
    numbers_digest,
    unit_problem,
)
from gardenpath.eval.published.files import (
    PairingRules,
    ScoredSentence,
    StatedRun,
    StatedUnit,
    SurprisalSet,
)
from gardenpath.eval.published.pairing import Difference, Materials, Paired, pair
from gardenpath.eval.suites.formula import WHOLE_SENTENCE
from gardenpath.eval.suites.suite import Suite
from gardenpath.eval.suites.summary import RunName
from gardenpath.store.files import digest, sha256_of, write_json
from gardenpath.util import enumeration, plural, versions

# Number of suites or files that a note names.
_SHOWN = 3

_SEED = re.compile(r"(?:trial|seed|run)[_-]?(\d{1,18})$")
_OUTPUTS = re.compile(r"_(?:outputs?|surprisals?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """The surprisals of one run on one suite.

    ``suite`` has the sentences as they were scored. ``rows``: surprisals (bits) of the words of
    every variant of every item, in order; NaN where a word was not scored. ``unknown``: the
    out-of-vocabulary words. ``tokens``: the sentences as the file has them, in bits, with the
    tokens that mark beginnings and ends; empty where they are not those of the suite, in its order.
    ``is_searched``: whether the file says that the surprisals come from a search.
    """

    name: RunName
    suite: Suite
    rows: tuple[tuple[float, ...], ...]
    unknown: frozenset[str]
    tokens: tuple[ScoredSentence, ...] = ()
    is_searched: bool = False


def run_name(folder: Path, root: Path) -> RunName:
    """Derive model and random seed from the path of a folder below ``root``."""
    parts = folder.relative_to(root).parts or (folder.name,)
    number = _SEED.search(parts[-1])
    bare = parts if number is None else (*parts[:-1], parts[-1][: number.start()].rstrip("_-"))
    names = [_OUTPUTS.sub("", part) for part in bare if part]
    model = "/".join(names) or _OUTPUTS.sub("", root.name)
    seed = None if number is None else int(number.group(1))
    return RunName(run="/".join(parts), model=model, seed=seed)


def with_ranks(runs: Sequence[ImportedRun]) -> list[ImportedRun]:
    """Number the runs of each model and corpus from 1, and give each a name of its own.

    The numbers of folders may have gaps. A single run without a number has no seed.
    """
    names = list(dict.fromkeys(run.name for run in runs))
    seen = Counter((run.name, run.suite.name) for run in runs)
    if twice := [key for key, count in seen.items() if count > 1]:
        name, suite = twice[0]
        raise InputError(
            f"two files have surprisals of this run for {suite}",
            path=name.run,
            remedy="give every run once, or name the corpora of the sets: "
            "'surprisals={ctb: FOLDER, xinhua: FOLDER}'",
        )
    groups: dict[tuple[str, str], list[RunName]] = {}
    for name in names:
        groups.setdefault((name.model, name.corpus), []).append(name)
    taken = Counter(name.run for name in names)
    new: dict[RunName, RunName] = {}
    for group in groups.values():
        group.sort(key=lambda name: (-1 if name.seed is None else name.seed, name.run))
        for rank, name in enumerate(group, start=1):
            is_single = len(group) == 1 and name.seed is None
            called = f"{name.corpus}/{name.run}" if taken[name.run] > 1 else name.run
            new[name] = replace(name, run=called, seed=None if is_single else rank)
    return [replace(run, name=new[run.name]) for run in runs]


# Fewest words from which surprisals of two runs are compared, and fewest different surprisals.
_ENOUGH_FOR_UNITS = 100
_ENOUGH_FOR_COPIES = 20
_FEWEST_DIFFERENT = 5


def check_units(runs: Sequence[ImportedRun]) -> None:
    """Refuse runs of one model whose surprisals differ by the ratio of two units."""
    means: dict[tuple[str, str, str], dict[str, float]] = {}
    for run in runs:
        known = [bits for row in run.rows for bits in row if math.isfinite(bits)]
        key = (run.name.model, run.name.corpus, run.suite.name)
        if len(known) >= _ENOUGH_FOR_UNITS:
            means.setdefault(key, {})[run.name.run] = math.fsum(known) / len(known)
    for (_, _, suite), by_run in means.items():
        reference = sorted(by_run.values())[len(by_run) // 2]
        for name, mean in by_run.items():
            if mean and reference and (problem := unit_problem(mean / reference)):
                raise InputError(
                    f"{suite}: the mean surprisal of this run is {mean:.3f}, that of another run "
                    f"of the model {reference:.3f}: they differ by a factor of {problem}",
                    path=name,
                    remedy="give all surprisals in one unit",
                )


def copies(runs: Sequence[ImportedRun]) -> list[str]:
    """Return notes on runs with the same surprisals, where this is not a mistake.

    These are runs of a model whose runs are all equal, such as an n-gram model, and runs on a few
    words. Other copies are refused: a file of one run in the folder of another, a run that is given
    under the names of two models or corpora, and a run that is given twice.
    """
    digests: dict[RunName, dict[str, str]] = {}
    long = set()
    for run in runs:
        values = [bits for row in run.rows for bits in row]
        text = " ".join(f"{bits:.6f}" for bits in values)
        digests.setdefault(run.name, {})[run.suite.name] = digest(text)
        known = list(filter(math.isfinite, values))
        # Two models cannot have the same surprisals on these words by chance.
        if len(known) >= _ENOUGH_FOR_COPIES and len(set(known)) >= _FEWEST_DIFFERENT:
            long.add(run.suite.name)
    notes = []
    for name, other in itertools.combinations(digests, 2):
        common = digests[name].keys() & digests[other].keys()
        copied = sorted(suite for suite in common if digests[name][suite] == digests[other][suite])
        if not copied:
            continue
        runs_of_model = [n for n in digests if (n.model, n.corpus) == (name.model, name.corpus)]
        is_deterministic = all(digests[run] == digests[name] for run in runs_of_model)
        is_deterministic &= other in runs_of_model
        is_mistake = len(copied) < len(common) or not is_deterministic
        if is_mistake and not long.isdisjoint(copied):
            raise InputError(
                f"has the same surprisals as {other.run} on {copied[0]}"
                + (f" and {len(copied) - 1} more suites" if len(copied) > 1 else ""),
                path=name.run,
                remedy="give every run once, with its own files",
            )
        notes.append(f"{name.run} and {other.run} have the same surprisals")
    return notes


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalReceipt:
    """How one file of surprisals was read.

    ``equal``, ``respelt`` (case or ``<unk>``) and ``joined`` (other division into tokens) count
    sentences; ``not_scored`` counts words. ``is_masked``: whether a masked model scored one word of
    each sentence. ``boundary``: how words were made of pieces, if the file says it.
    """

    path: str
    sha256: str
    run: str
    suite: str
    materials: str
    pairing: str
    unit: str
    unit_from: str
    sentences: int
    equal: int
    respelt: int
    joined: int
    not_scored: int
    is_masked: bool = False
    accepted: tuple[Difference, ...] = ()
    boundary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterialsReceipt:
    """How one file of materials was read; ``contradicting`` counts its rows by label."""

    path: str
    sha256: str
    suites: tuple[str, ...]
    sentences: int
    conditions: str
    contradicting: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Everything that an import read and decided, and what it could not check (``unchecked``)."""

    layout: str
    rules: Mapping[str, Any]
    materials: tuple[MaterialsReceipt, ...]
    surprisals: tuple[SurprisalReceipt, ...]
    left_out: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write ``receipt.json``, with the versions of the software, to a folder."""
        content = {"versions": versions("numpy", "pandas"), **asdict(self)}
        write_json(folder / "receipt.json", content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """All runs of an import, notes for the reader, and the receipt."""

    runs: tuple[ImportedRun, ...]
    notes: tuple[str, ...]
    receipt: Receipt

    @property
    def suites(self) -> tuple[Suite, ...]:
        """The distinct suites, each as in the first run that has it."""
        suites: dict[str, Suite] = {}
        for run in self.runs:
            suites.setdefault(run.suite.name, run.suite)
        return tuple(suites.values())

    @property
    def names(self) -> tuple[RunName, ...]:
        """The distinct runs, in order."""
        return tuple(dict.fromkeys(run.name for run in self.runs))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """How the sentences of a file were found, and what is known of its numbers.

    ``is_own``: whether it is a table of ours, in which no zero means that a word was not scored.
    ``is_published``: whether the layout is that of a study, in which every word of a critical
    region has a surprisal, and equal beginnings of sentences have equal ones.
    """

    pairing: str
    unit: StatedUnit
    is_own: bool = False
    is_left_to_right: bool = True
    is_published: bool = True


@dataclass
class Importing:
    """Collects the runs of an import and refuses what does not fit."""

    layout: str
    rules: PairingRules
    runs: list[ImportedRun] = field(default_factory=list)
    receipts: list[SurprisalReceipt] = field(default_factory=list)
    materials: dict[str, MaterialsReceipt] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    other_models: frozenset[str] = frozenset()
    """Digests of the numbers of published files that are of another model than the files beside
    them (see :func:`numbers_digest`)."""
    beginnings: dict[RunName, RunBeginnings] = field(default_factory=dict)
    apart: Counter[str] = field(default_factory=Counter)
    boundaries: dict[RunName, tuple[str | None, Path]] = field(default_factory=dict)
    searched: set[RunName] = field(default_factory=set)

    def add(
        self, name: RunName, materials: Materials, sentences: Sequence[ScoredSentence], path: Path,
        form: FileForm, *, parts: Sequence[Suite] = (),
    ) -> None:  # fmt: skip
        """Check the sentences of a file, pair them with the materials, and add them as a run.

        If one file has several suites, ``materials`` has the items of all of them, and ``parts``
        are these suites, in order.
        """
        read, count = checked_in_bits(sentences, form.unit, path, is_own=form.is_own)
        paired = pair(materials, read, self.rules, path)
        if lacking := _without_surprisal(paired):
            if form.is_published:
                problem = f"the critical region of {lacking[0]!r} has no surprisal"
                raise InputError(problem, path=path)
            count_of = plural(len(lacking), "sentence")
            self.notes.append(f"{path}: {count_of} without a surprisal in a critical region")
        if self.rules.prefixes and form.is_left_to_right:
            most = 0.0 if form.is_published else MOST_DIFFERENT
            check_beginnings(read, path, shifts=not form.is_own, most_different=most)
            new = RunBeginnings(name.run, form.is_published)
            beginnings = self.beginnings.setdefault(name, new)
            if self.other_models and numbers_digest(read) in self.other_models:
                self.apart[name.run] += 1
            else:
                beginnings.add(read, materials.suite.name, path)
        predictions = [own for suite in parts or (materials.suite,) for own in suite.predictions]
        terms = itertools.chain(*(prediction.formula.terms for prediction in predictions))
        if count and any(term.region == WHOLE_SENTENCE for term in terms):
            self.notes.append(
                f"{path}: first words are not scored, so comparisons of whole sentences are "
                "undefined"
            )
        whole = converted(sentences, form.unit)
        places = materials.places if not (parts or materials.labels) else ()
        tokens = tuple(whole[place] for place in places)
        unknown = paired.unknown.union(*(sentence.unseen for sentence in sentences))
        for suite, rows in _divided(paired, parts):
            self.runs.append(
                ImportedRun(
                    name=name, suite=suite, rows=rows, unknown=unknown, tokens=tokens,
                    is_searched=name in self.searched,
                )
            )  # fmt: skip
        self._record(name, materials, paired, path, form, count)

    def _record(
        self, name: RunName, materials: Materials, paired: Paired, path: Path, form: FileForm,
        count: int,
    ) -> None:  # fmt: skip
        self.receipts.append(
            SurprisalReceipt(
                path=str(path), sha256=_hash_of(path), run=name.run, suite=materials.suite.name,
                materials=str(materials.path), pairing=form.pairing, unit=form.unit.unit,
                unit_from=form.unit.source, sentences=len(paired.rows), equal=paired.equal,
                respelt=paired.respelt, joined=paired.joined, not_scored=count,
                is_masked=not form.is_left_to_right, accepted=paired.accepted,
                boundary=self.boundaries.get(name, (None, path))[0],
            )
        )  # fmt: skip

    def state(self, name: RunName, stated: StatedRun | None, path: Path) -> None:
        """Record what a file says about a run; None if it says nothing.

        Words of all files must be made of pieces in the same way.
        """
        if stated is not None and stated.is_searched:
            self.searched.add(name)
        boundary = None if stated is None else stated.boundary
        first, where = self.boundaries.setdefault(name, (boundary, path))
        if first != boundary:
            raise InputError(
                f"was computed with boundary={boundary or 'none stated'}, but {where}, of the same "
                f"run ({name.run}), with boundary={first or 'none stated'}",
                path=path,
                remedy="compute all surprisals of a run with the same boundary=",
            )
        choices = {choice: place for choice, place in self.boundaries.values() if choice}
        if len(choices) > 1:
            shown = [f"boundary={choice} ({place})" for choice, place in choices.items()]
            listed = enumeration(shown)
            raise InputError(
                f"runs differ in how words are made of pieces, which cannot be compared: {listed}",
                path=path,
                remedy="compute all surprisals with the same boundary=, or score the runs apart",
            )

    def used(
        self, path: Path, suites: Sequence[Suite], conditions: str,
        contradicting: Mapping[str, int] | None = None,
    ) -> None:  # fmt: skip
        """Record a file of materials; ``contradicting`` counts rows whose labels are wrong."""
        self.materials[str(path)] = MaterialsReceipt(
            path=str(path), sha256=_hash_of(path), suites=tuple(suite.name for suite in suites),
            sentences=sum(len(item.variants) for suite in suites for item in suite.items),
            conditions=conditions, contradicting=contradicting or {},
        )  # fmt: skip

    def finish(self, sets: Sequence[SurprisalSet], expected: str) -> Imported:
        """Return the import; raise an error if no file belongs to the materials."""
        if not self.runs:
            raise InputError(
                "contains no surprisals for these suites",
                path=", ".join(str(surprisals.path) for surprisals in sets),
                remedy=f"expected {expected}",
            )
        runs = with_ranks(self.runs)
        check_units(runs)
        sums = [note for run in self.beginnings.values() for note in run.check_sums()]
        receipt = Receipt(
            layout=self.layout, rules=asdict(self.rules), materials=tuple(self.materials.values()),
            surprisals=tuple(self.receipts), left_out=tuple(self.left_out),
            exceptions=tuple(self.exceptions), unchecked=tuple(self._unchecked()),
        )  # fmt: skip
        apart = [
            f"{run}: {plural(count, 'file')} of other models than the rest, as published"
            for run, count in self.apart.items()
        ]
        notes = (*self.notes, *self._gaps(runs), *self._differences(), *copies(runs), *apart, *sums)
        return Imported(runs=tuple(runs), notes=notes, receipt=receipt)

    def _gaps(self, runs: Sequence[ImportedRun]) -> list[str]:
        """Say which runs have no surprisals for some suites, in one note for equal gaps."""
        suites = [suite for file in self.materials.values() for suite in file.suites]
        scored: dict[str, set[str]] = {}
        for run in runs:
            scored.setdefault(run.name.run, set()).add(run.suite.name)
        gaps: dict[tuple[str, ...], list[str]] = {}
        for name, own in scored.items():
            if lacking := tuple(suite for suite in suites if suite not in own):
                gaps.setdefault(lacking, []).append(name)
        return [
            f"no surprisals of {enumeration(names)} for {enumeration(lacking[:_SHOWN])}"
            + (f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else "")
            for lacking, names in gaps.items()
        ]

    def _differences(self) -> list[str]:
        counts: Counter[tuple[str, str, int]] = Counter()
        for receipt in self.receipts:
            kinds = Counter(difference.kind for difference in receipt.accepted)
            counts.update((receipt.suite, kind, number) for kind, number in kinds.items())
        notes = [
            f"{suite}: {plural(number, 'sentence')} in {kind} ({plural(files, 'file')})"
            if kind.endswith("wording")
            else f"{suite}: {plural(number, 'sentence')} {kind} in {plural(files, 'file')}"
            for (suite, kind, number), files in counts.items()
        ]
        if self.left_out:
            shown = enumeration(sorted({Path(path).name for path in self.left_out})[:_SHOWN])
            files = plural(len(self.left_out), "file")
            notes.append(f"{files} without materials left out, such as {shown}")
        return notes

    def _unchecked(self) -> list[str]:
        """Say which mistakes in the files would not have been noticed."""
        mistakes = [
            "numbers that were exchanged between sentences only after their words begin to differ",
            "another unit in all files of a run, if probabilities do not sum to more than 1",
        ]
        if masked := [receipt.path for receipt in self.receipts if receipt.is_masked]:
            mistakes.append(
                f"numbers of masked models that were exchanged between sentences, or in another "
                f"unit ({plural(len(masked), 'file')})"
            )
        if not self.rules.prefixes:
            mistakes.append(
                "equal beginnings of sentences with different surprisals (prefixes=false)"
            )
        if not self.rules.words:
            mistakes.append("numbers of other sentences, in files without words (words=false)")
        return mistakes


def _hash_of(path: Path) -> str:
    """Return the SHA-256 of a file; empty for suites that are not in a file."""
    return sha256_of(path) if path.is_file() else ""


def _divided(
    paired: Paired, parts: Sequence[Suite]
) -> Iterator[tuple[Suite, tuple[tuple[float, ...], ...]]]:
    """Yield the suites of a file with their rows, each with the sentences that were scored."""
    if not parts:
        yield paired.suite, paired.rows
        return
    items, rows = iter(paired.suite.items), iter(paired.rows)
    for part in parts:
        own = tuple(itertools.islice(items, len(part.items)))
        count = sum(len(item.variants) for item in own)
        yield replace(part, items=own), tuple(itertools.islice(rows, count))


def _without_surprisal(paired: Paired) -> list[str]:
    """Return the sentences in which a word of a critical region has no surprisal."""
    suite = paired.suite
    critical = [suite.region_index(name) for name in suite.critical]
    variants = [variant for item in suite.items for variant in item.variants]
    lacking = []
    for variant, row in zip(variants, paired.rows, strict=True):
        ends = [0, *itertools.accumulate(map(len, variant.regions))]
        if any(math.isnan(bits) for n in critical for bits in row[ends[n] : ends[n + 1]]):
            lacking.append(" ".join(variant.words))
    return lacking
