"""Hu et al. 2020: licensing of reflexives, with the pronoun constant and the context varied.

``layouts`` reads the released stimuli and the surprisals of BERT here, and ``replicate`` computes
``reflexives_study`` from surprisals of them or of our own suites. The readers come first, then
accuracies and effects, the claims of the paper, each judged by the data of a source, and the cells
of its tables and figures. Nothing is imported or scored here.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from gardenpath.data.arrays import Floats
from gardenpath.errors import InputError
from gardenpath.eval.means import NORMAL, bootstrap_mean
from gardenpath.eval.published.files import (
    ConditionSource,
    ScoredSentence,
    check_folders,
    number_of,
    read_lines,
)
from gardenpath.eval.published.pairing import Materials
from gardenpath.eval.statistics.answers import prose_name, rounded
from gardenpath.eval.suites.effects import DISTRACTOR, UNGRAMMATICAL
from gardenpath.eval.suites.formula import Formula
from gardenpath.eval.suites.nodes import csv_columns, csv_rows
from gardenpath.eval.suites.regions import is_edge
from gardenpath.eval.suites.suite import Item, Prediction, Suite, Variant
from gardenpath.settings.tasks import ItemChoice
from gardenpath.studies.study import (
    ClaimSpec,
    Evidence,
    FigureStyle,
    Judgement,
    ModelRows,
    PartSpec,
    StudyCell,
    StudyModels,
    StudySpec,
    count_cell,
    depends,
    interval_cell,
    judged,
    names_or_none,
    untested,
)
from gardenpath.util import Words, is_count

# There is one CSV file per experiment and pronoun, ``exp2-rc/herself.csv``. An item has several
# rows per condition, in which the nouns are exchanged; these become variants, which are averaged
# before conditions are compared. Rows of an item need not be contiguous.
#
# Conditions come from the sentences: a sentence is ungrammatical if the noun that binds the pronoun
# differs from it in number, a distractor if the other noun does. ``mismatch_position`` says the
# same; a file in which it does not is refused. The labels ``grammatical`` and ``locality``
# contradict the sentences in some rows of one experiment. The authors' script used ``grammatical``,
# as does ``conditions="labels"`` here.
#
# A row gives its sentence twice, with and without ``<eos>``. In one row the two differ in a word;
# surprisals may be those of either.

PRONOUNS = ("themselves", "himself", "herself")
_CONDITIONS = ("baseline", "distractor", "ungrammatical")
# Name of each experiment in the paper, and which of the two nouns binds the pronoun.
EXPERIMENTS = {
    "exp1a-ml-rc": ("exp1a", 0),
    "exp1b-ml-comp": ("exp1b", 1),
    "exp2-rc": ("exp2a", 0),
    "exp3-comp": ("exp2b", 1),
    "exp4-pp": ("exp3", 0),
}

_CONDITION_OF_POSITION = {
    "none": "baseline",
    **dict.fromkeys(("rc_subj", "nonlocal_subj", "distractor"), "distractor"),
    **dict.fromkeys(("matrix_subj", "local_subj", "head"), "ungrammatical"),
}

# Items that Table 3 of the paper leaves out, by pronoun, in the experiments with 75 released items.
UNUSED_ITEMS = {"himself": range(46, 61), "themselves": range(46, 61), "herself": range(61, 76)}
EXPERIMENTS_WITH_UNUSED_ITEMS = ("exp2a", "exp2b", "exp3")

_LICENSING = Prediction(
    "licensing",
    Formula.parse(
        "(reflexive;%ungrammatical%) > (reflexive;%baseline%)"
        " & (reflexive;%ungrammatical%) > (reflexive;%distractor%)"
    ),
)

_COLUMNS = (
    *("item", "grammatical", "mismatch_position", "pronoun", "verb"),
    *("sentence", "sentence_no_eos"),
)


@dataclass(frozen=True)
class Stimuli:
    """The suite of one experiment and pronoun, and the rows of its file.

    ``contradicting`` counts rows by wrong label.
    """

    materials: Materials
    contradicting: Mapping[str, int]
    rows: tuple[Mapping[str, str], ...]

    @property
    def notes(self) -> list[str]:
        name = self.materials.suite.name
        return [
            f"{name}: {label} contradicts the sentence in {count} rows"
            for label, count in self.contradicting.items()
        ]


@dataclass(frozen=True, slots=True)
class _Row:
    line: int
    item: int
    condition: str
    labelled: tuple[str, ...]
    words: Words
    other: tuple[Words, ...]
    cells: Mapping[str, str]


def load_reflexives(
    folders: Sequence[Path], conditions: ConditionSource = "sentences"
) -> dict[tuple[str, str], Stimuli]:
    """Read the suites in folders of experiments, by experiment (its folder) and pronoun."""
    check_folders(folders)
    stimuli: dict[tuple[str, str], Stimuli] = {}
    for path in sorted({path for folder in folders for path in folder.rglob("*.csv")}):
        key = (path.parent.name, path.stem)
        if path.stem not in PRONOUNS or path.parent.name not in EXPERIMENTS:
            continue
        if key in stimuli:
            raise InputError(f"is the same suite as {stimuli[key].materials.path}", path=path)
        stimuli[key] = read_stimuli(path, conditions)
    if not stimuli:
        known = ", ".join(EXPERIMENTS)
        problem = "contains no reflexive stimuli"
        remedy = f"stimuli are tables such as exp2-rc/herself.csv; experiments: {known}"
        raise InputError(problem, path=", ".join(map(str, folders)), remedy=remedy)
    return stimuli


def read_stimuli(path: Path, conditions: ConditionSource = "sentences") -> Stimuli:
    name, binder = EXPERIMENTS[path.parent.name]
    rows = [_row(line, cells, binder, path) for line, cells in _read_rows(path, _COLUMNS)]
    if not rows:
        raise InputError("contains no sentences", path=path)
    _check_items(rows, path)
    items: dict[int, list[tuple[int, Variant]]] = {}
    for place, row in enumerate(rows):
        start = len(row.words) - 1 - row.words[::-1].index(row.cells["pronoun"])
        regions = (row.words[:start], row.words[start : start + 1], row.words[start + 1 :])
        items.setdefault(row.item, []).append((place, Variant(row.condition, regions)))
    suite = Suite(
        name=f"reflexives/{name}/{path.stem}", language="en",
        regions=("context", "reflexive", "end"), conditions=_CONDITIONS, predictions=(_LICENSING,),
        items=tuple(
            Item(number, tuple(variant for _, variant in own), {"pronoun": path.stem})
            for number, own in items.items()
        ),
        kind="reflexives", modifier=name, critical=("reflexive",), ties="complete",
        reference="Hu, Chen and Levy 2020: A closer look at the performance of neural language "
        "models",
    )  # fmt: skip
    places = tuple(place for own in items.values() for place, _ in own)
    materials = Materials(
        path, suite, places, tuple(row.line for row in rows),
        other={place: row.other for place, row in enumerate(rows) if row.other},
        labels=tuple(rows[n].labelled for n in places) if conditions == "labels" else (),
    )  # fmt: skip
    return Stimuli(materials, _contradicting(rows), tuple(row.cells for row in rows))


def _read_rows(
    path: Path, columns: Sequence[str], where: str = ""
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table, with their lines; ``where`` precedes what the header lacks."""
    reader = csv.DictReader(io.StringIO("\n".join(read_lines(path)) + "\n"))
    names = csv_columns(reader, path)
    if missing := [column for column in columns if column not in names]:
        raise InputError(f"{where}has no column {', '.join(missing)}", path=path, line=1)
    for line, row in csv_rows(reader, path):
        if any(row.get(column) is None for column in columns):
            raise InputError("has too few columns", path=path, line=line)
        yield line, row


def _row(line: int, cells: Mapping[str, str], binder: int, path: Path) -> _Row:
    pronoun, position = cells["pronoun"], cells["mismatch_position"]
    words = tuple(cells["sentence_no_eos"].split())
    spoken = tuple(word for word in cells["sentence"].split() if not is_edge(word))
    if pronoun != path.stem or pronoun not in words:
        raise InputError(f"the sentence does not contain {path.stem!r}", path=path, line=line)
    if not is_count(cells["item"]):
        raise InputError(f"item {cells['item']!r} is not a number", path=path, line=line)
    if position not in _CONDITION_OF_POSITION:
        known = ", ".join(_CONDITION_OF_POSITION)
        problem = f"mismatch_position is {position!r}"
        raise InputError(problem, path=path, line=line, remedy=f"known: {known}")
    condition = _CONDITION_OF_POSITION[position]
    said = [_condition_in(sentence, pronoun, binder) for sentence in (words, spoken)]
    if condition not in said:
        raise InputError(
            f"mismatch_position is {position!r} ({condition}), but the sentence is of condition "
            f"{said[0]}: {' '.join(words)!r}",
            path=path,
            line=line,
            remedy="the conditions of the stimuli are exchanged, or the file is of another "
            "experiment",
        )
    # The authors' script takes all rows with grammatical 0 as ungrammatical, even distractors.
    labelled = [condition] if condition != "ungrammatical" else []
    labelled += ["ungrammatical"] if cells["grammatical"] == "0" else []
    other = (spoken,) if spoken != words else ()
    return _Row(line, int(cells["item"]), condition, tuple(labelled), words, other, cells)


def _condition_in(words: Words, pronoun: str, binder: int) -> str:
    nouns = [words[n + 1] for n, word in enumerate(words[:-1]) if word.lower() == "the"]
    if len(nouns) != 2:
        return f"with {len(nouns)} nouns"
    fits = [_is_plural(noun) == (pronoun == "themselves") for noun in nouns]
    if not fits[binder]:
        return "ungrammatical" if fits[1 - binder] else "with two mismatches"
    return "baseline" if fits[1 - binder] else "distractor"


def _is_plural(noun: str) -> bool:
    is_regular = noun.endswith("s") and not noun.endswith("ss")
    return is_regular or noun.endswith(("men", "children", "people"))


def _check_items(rows: Sequence[_Row], path: Path) -> None:
    """Refuse item numbers that do not fit: every item has one verb and as many rows as others."""
    verbs: dict[int, str] = {}
    counts: Counter[tuple[int, str]] = Counter()
    for row in rows:
        if verbs.setdefault(row.item, row.cells["verb"]) != row.cells["verb"]:
            problem = f"item {row.item} has the verb {verbs[row.item]!r} in another row"
            raise InputError(problem, path=path, line=row.line, remedy="item numbers are wrong")
        counts[row.item, row.condition] += 1
    usual = Counter(counts.values()).most_common(1)[0][0]
    for item in verbs:
        for condition in _CONDITIONS:
            if counts[item, condition] != usual:
                raise InputError(
                    f"item {item} has {counts[item, condition]} rows of condition {condition}, "
                    f"others have {usual}",
                    path=path,
                    remedy="rows are missing or item numbers are wrong",
                )


def _contradicting(rows: Sequence[_Row]) -> dict[str, int]:
    wrong = [row.condition == "ungrammatical" for row in rows]
    counts = {
        "grammatical": sum(
            (row.cells["grammatical"] == "0") != is_wrong
            for row, is_wrong in zip(rows, wrong, strict=True)
        )
    }
    places = [row.cells.get("locality") for row in rows]
    # Where the label varies, it is "nonlocal" if and only if the sentence is ungrammatical.
    if len(set(places)) > 1:
        pairs = zip(places, wrong, strict=True)
        counts["locality"] = sum((place == "nonlocal") != is_wrong for place, is_wrong in pairs)
    return {label: count for label, count in counts.items() if count}


# Surprisals of masked language models as published with the stimuli.
#
# The file repeats the columns of the stimuli and adds ``bert_sentence``, in which the pronoun is
# masked, and its ``surprisal`` in bits. No other word has a surprisal.

_BERT_COLUMNS = ("pronoun", "sentence_no_eos", "bert_sentence", "surprisal")
_MASK = "***mask***"


def count_other_labels(path: Path, stimuli: Sequence[Mapping[str, str]]) -> int:
    """Return how many rows have another item or condition than the same row of the stimuli."""
    pairs = zip((row for _, row in _read_rows(path, ())), stimuli, strict=False)
    labels = ("item", "mismatch_position")
    return sum(any(row.get(name) != own[name] for name in labels) for row, own in pairs)


def read_bert(path: Path) -> list[ScoredSentence]:
    """Read one sentence per row; only the masked pronoun has a value, the others are NaN."""
    sentences = []
    for line, row in _read_rows(path, _BERT_COLUMNS, "the header "):
        words = tuple(row["sentence_no_eos"].split())
        masked = tuple(row["bert_sentence"].split())
        if masked.count(_MASK) != 1:
            raise InputError(f"{row['bert_sentence']!r} has not one mask", path=path, line=line)
        place = masked.index(_MASK)
        read = tuple(row["pronoun"] if word == _MASK else word for word in masked)
        if [word.lower() for word in words] != [word.lower() for word in read]:
            problem = f"{row['bert_sentence']!r} is not {row['sentence_no_eos']!r} with a mask"
            raise InputError(problem, path=path, line=line)
        values = [math.nan] * len(words)
        values[place] = number_of(row["surprisal"], path, line)
        sentences.append(ScoredSentence(words, tuple(values), line))
    return sentences


REFLEXIVE_EXPERIMENTS = ("exp1a", "exp2a", "exp1b", "exp2b", "exp3")
REFLEXIVE_MODELS = StudyModels(
    labels={
        "bert": "BERT",
        "trans": "TransXL",
        "jrnn": "JRNN",
        "grnn": "GRNN",
        "tiny": "TinyLSTM",
        "rnng": "RNNG",
        "ngram": "n-gram",
    },
    spellings={
        **dict.fromkeys(("transxl", "transformerxl"), "trans"),
        "tinylstm": "tiny",
        "5gram": "ngram",
    },
)
CHANCE = 1.0 / 3.0

# The released suites with new nouns have 75 items per pronoun, of which the paper used 60.
_RELEASED_ITEMS = 75
_SUITE = ["model", "corpus", "modifier", "pronoun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflexiveAccuracy:
    """The accuracy of a model in an experiment: per pronoun, then the mean of all three.

    ``reach`` is the half-width of the 95 % interval of the pooled items. NaN if a pronoun lacks,
    with its name in ``lacking``.
    """

    experiment: str
    model: ModelRows
    value: float
    reach: float
    lacking: Sequence[str]

    @property
    def low(self) -> float:
        return self.value - self.reach

    @property
    def high(self) -> float:
        return self.value + self.reach


def chosen_items(table: pd.DataFrame, items: ItemChoice) -> pd.DataFrame:
    """Return the rows of the items that count.

    Suites of Exps. 2a, 2b and 3 with the 75 released items lose the 15 that the paper did not use;
    suites with another number of items, such as those of own runs, keep all.
    """
    if items == "all" or not len(table):
        return table
    sizes = table.groupby(_SUITE, dropna=False)["item"].transform("nunique")
    is_larger = table["modifier"].isin(EXPERIMENTS_WITH_UNUSED_ITEMS) & (sizes == _RELEASED_ITEMS)
    unused = [
        number in UNUSED_ITEMS.get(str(pronoun), ())
        for pronoun, number in zip(table["pronoun"], table["item"], strict=True)
    ]
    return table[~(is_larger & np.asarray(unused, dtype=bool))]


def _by_model(
    evidence: Evidence, table: pd.DataFrame, column: str, experiment: str, items: ItemChoice
) -> list[ModelRows]:
    if "pronoun" not in table.columns:
        return []
    table = table[(table["class"] == "reflexives") & (table["modifier"] == experiment)]
    table = chosen_items(table, items)
    means = table.groupby([*_SUITE, "item"], sort=False, dropna=False)[column].mean()
    known = means[np.isfinite(means)].reset_index()
    return REFLEXIVE_MODELS.rows(known, evidence) if len(known) else []


def outcomes(evidence: Evidence, experiment: str, items: ItemChoice) -> list[ModelRows]:
    """Return the items of an experiment by model; their outcomes are means over runs."""
    return _by_model(evidence, evidence.data.items, "outcome", experiment, items)


def reflexive_accuracies(
    evidence: Evidence, items: ItemChoice, experiments: Sequence[str] = REFLEXIVE_EXPERIMENTS
) -> Iterator[ReflexiveAccuracy]:
    """Yield the accuracy of every model in the experiments, in the order of Table 3."""
    for experiment in experiments:
        for model in outcomes(evidence, experiment, items):
            by_pronoun = model.rows.groupby("pronoun")["outcome"].mean()
            lacking = [name for name in PRONOUNS if name not in by_pronoun.index]
            pooled = float(model.rows["outcome"].mean())
            reach = NORMAL * math.sqrt(pooled * (1.0 - pooled) / len(model.rows))
            yield ReflexiveAccuracy(
                experiment=experiment,
                model=model,
                value=math.nan if lacking else float(by_pronoun.loc[list(PRONOUNS)].mean()),
                reach=math.nan if lacking else reach,
                lacking=lacking,
            )


def reflexive_effects(evidence: Evidence, experiment: str, effect: str) -> list[ModelRows]:
    """Return an effect of all items of an experiment by model; values are means over runs."""
    table = evidence.data.effects
    table = table[table["effect"] == effect] if "effect" in table.columns else table
    return _by_model(evidence, table, "value_bits", experiment, "all")


def of_pronoun(model: ModelRows, pronoun: str) -> Floats:
    rows = model.rows[model.rows["pronoun"] == pronoun]
    return np.asarray(rows["value_bits"], dtype=np.float64)


# The claims, each judged by the data of a source.
#
# Where the paper gives no number: *near ceiling* is an accuracy of at least .90, *above chance* an
# interval above 1/3, and *well above chance* an interval above 1/2. A claim about several models
# is judged by those that the source has, and its reason names the others.

_LARGE = ("bert", "trans", "jrnn", "grnn")
_SMALL = ("tiny", "rnng")
Models = Sequence[str]
AccuracyCheck = Callable[[ReflexiveAccuracy], bool]

_CHECKS: Mapping[str, AccuracyCheck] = {
    "near ceiling": lambda accuracy: accuracy.value >= 0.90,
    "above chance": lambda accuracy: accuracy.low > CHANCE,
    "well above chance": lambda accuracy: accuracy.low > 0.50,
    "at chance": lambda accuracy: accuracy.low <= CHANCE <= accuracy.high,
    "perfect": lambda accuracy: accuracy.value == 1.0,
    # The accuracy of BERT in relative clauses after Goldberg (2019), with chance at 1/2.
    "below Goldberg": lambda accuracy: accuracy.value < 0.80,
}


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges claims about accuracies; ``items`` are those that count."""

    items: ItemChoice

    def accuracies(
        self, experiment: str, check: str, passing: Models, failing: Models, evidence: Evidence
    ) -> Judgement:
        """Judge whether some models pass a check in an experiment and the others do not.

        Models that should not pass say nothing alone: one that passes no check does so, too.
        """
        models = (*passing, *failing)
        known = self._known(evidence, experiment, models)
        if not any(accuracy.model.model in passing for accuracy in known):
            return _needs(passing, experiment)
        passes = _CHECKS[check]
        is_so = all(passes(accuracy) == (accuracy.model.model in passing) for accuracy in known)
        said = "; ".join(
            f"{accuracy.model.label} {accuracy.value:.3f} ± {accuracy.reach:.3f}"
            for accuracy in known
        )
        return judged(
            is_so,
            said + REFLEXIVE_MODELS.lacking([accuracy.model.model for accuracy in known], models),
        )

    def relative_clauses_are_harder(self, evidence: Evidence) -> Judgement:
        pairs = [
            (clause, complement)
            for clause in self._known(evidence, "exp1a", _LARGE)
            for complement in self._known(evidence, "exp1b", _LARGE)
            if clause.model.key == complement.model.key
        ]
        if not pairs:
            return untested("needs a model with Exps. 1a and 1b")
        said = "; ".join(
            f"{clause.model.label} {clause.value:.3f} in relative clauses, {complement.value:.3f} "
            "in complements"
            for clause, complement in pairs
        )
        lacking = REFLEXIVE_MODELS.lacking([clause.model.model for clause, _ in pairs], _LARGE)
        is_harder = all(clause.value < complement.value for clause, complement in pairs)
        return judged(is_harder, said + lacking)

    def supervision(self, evidence: Evidence, *, experiment: str, is_clear: bool) -> Judgement:
        """Judge whether RNNGs are more accurate than LSTMs of the same corpus, item by item."""
        models = {
            (model.model, model.corpus): model
            for model in outcomes(evidence, experiment, self.items)
        }
        pairs = [
            (models[sequential, corpus], models["rnng", corpus])
            for sequential in ("tiny", "lstm")
            for model, corpus in models
            if model == "rnng" and (sequential, corpus) in models
        ]
        if not pairs:
            return untested(f"needs an RNNG and an LSTM of one corpus in {_experiment(experiment)}")
        said, gains = [], []
        for lstm, rnng in pairs:
            both = rnng.rows.merge(lstm.rows, on=["pronoun", "item"], suffixes=("", "_lstm"))
            gain = bootstrap_mean(both["outcome"] - both["outcome_lstm"])
            gains.append(gain)
            said.append(
                f"{rnng.label} − {lstm.label} {rounded(gain.mean)}, 95 % interval "
                f"{rounded(gain.low)} to {rounded(gain.high)}"
            )
        reason = "; ".join(said)
        is_more, is_sure = all(gain.mean > 0 for gain in gains), all(gain.low > 0 for gain in gains)
        if not is_clear and is_more and not is_sure:
            return depends(f"whether a difference within sampling error counts: {reason}")
        return judged(is_more and (is_sure or not is_clear), reason)

    def _known(
        self, evidence: Evidence, experiment: str, models: Sequence[str]
    ) -> list[ReflexiveAccuracy]:
        return [
            accuracy
            for accuracy in reflexive_accuracies(evidence, self.items, [experiment])
            if accuracy.model.model in models and not accuracy.lacking
        ]


def _distractors(
    experiment: str, models: Models, against: Sequence[str], claimed: Literal["higher", "equal"],
    evidence: Evidence,
) -> Judgement:  # fmt: skip
    """Judge whether the distractor effect at *herself* is significantly higher than at others.

    If ``equal`` is claimed, judge whether the two do not differ significantly.
    """
    effects = reflexive_effects(evidence, experiment, DISTRACTOR)
    effects = [model for model in effects if model.model in models]
    if not effects:
        return _needs(models, experiment)
    said, is_so = [], True
    for model in effects:
        herself = of_pronoun(model, "herself")
        for pronoun in against:
            other = of_pronoun(model, pronoun)
            if min(len(herself), len(other)) < 2:
                return untested(f"{model.label} lacks items with herself or {pronoun}")
            # The difference of the means, and the half-width of its 95 % interval (Welch).
            variances = [float(np.var(bits, ddof=1)) / len(bits) for bits in (herself, other)]
            more = float(herself.mean() - other.mean())
            reach = NORMAL * math.sqrt(sum(variances))
            is_so &= more > reach if claimed == "higher" else abs(more) <= reach
            said.append(f"{model.label}, herself − {pronoun}: {rounded(more)} ± {rounded(reach)}")
    lacking = REFLEXIVE_MODELS.lacking([model.model for model in effects], models)
    return judged(is_so, " bits; ".join(said) + " bits" + lacking)


def _needs(models: Sequence[str], experiment: str) -> Judgement:
    names = " or ".join(REFLEXIVE_MODELS.label(name) for name in models)
    return untested(f"needs {names} in {_experiment(experiment)}")


def _experiment(key: str) -> str:
    return f"Exp. {prose_name(key).removeprefix('exp')}"


def reflexives_claims(items: ItemChoice) -> tuple[ClaimSpec, ...]:
    """Return the claims, in the paper's order."""
    judge = _Judge(items)
    return (
        ClaimSpec("section 5.1, Table 3",
                  "In relative clauses (Exp. 1a), GRNN is well above chance (.70 against 1/3), "
                  "where Marvin and Linzen (2018) report .55 with chance at 1/2.",
                  partial(judge.accuracies, "exp1a", "well above chance", ["grnn"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "The n-gram model is at chance in relative clauses (Exp. 1a).",
                  partial(judge.accuracies, "exp1a", "at chance", ["ngram"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "BERT is slightly less accurate in Exp. 1a than the .80 of Goldberg (2019).",
                  partial(judge.accuracies, "exp1a", "below Goldberg", ["bert"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "In sentential complements (Exp. 1b), all large-vocabulary neural models are "
                  "near ceiling.", partial(judge.accuracies, "exp1b", "near ceiling", _LARGE, ())),
        ClaimSpec("section 5.1, Table 3", "GRNN has an accuracy of 100 % in Exp. 1b.",
                  partial(judge.accuracies, "exp1b", "perfect", ["grnn"], ())),
        ClaimSpec("section 5.1, Table 3",
                  "Relative clauses (Exp. 1a) are harder than sentential complements (Exp. 1b).",
                  judge.relative_clauses_are_harder),
        ClaimSpec("section 5.2, Table 3",
                  "In relative clauses with new nouns (Exp. 2a), BERT, TransXL, JRNN and GRNN are "
                  "above chance; the other models are at or below it.",
                  partial(judge.accuracies, "exp2a", "above chance", _LARGE, (*_SMALL, "ngram"))),
        ClaimSpec("section 5.2, Table 3",
                  "In sentential complements with new nouns (Exp. 2b), all large-vocabulary "
                  "neural models are near ceiling, and the small-vocabulary models are not.",
                  partial(judge.accuracies, "exp2b", "near ceiling", _LARGE, _SMALL)),
        ClaimSpec("section 5.2, Table 3", "RNNG is more accurate than TinyLSTM in Exp. 2b.",
                  partial(judge.supervision, experiment="exp2b", is_clear=False)),
        ClaimSpec(
            "section 5.3, Table 3",
            "In prepositional phrases (Exp. 3), all neural models but TinyLSTM are well above "
            "chance.",
            partial(judge.accuracies, "exp3", "well above chance", (*_LARGE, "rnng"), ["tiny"]),
        ),
        ClaimSpec("section 5.3, Table 3", "RNNG has a clear advantage over TinyLSTM in Exp. 3.",
                  partial(judge.supervision, experiment="exp3", is_clear=True)),
        # These do not depend on the choice of items, because Figure 2 has all of them.
        ClaimSpec("section 5.4, Figure 2",
                  "Exp. 1b: of the three pronouns, herself has the largest distractor effect, by "
                  "a significant margin.",
                  partial(_distractors, "exp1b", _LARGE, ("himself", "themselves"), "higher")),
        ClaimSpec("section 5.4, Figure 2",
                  "Exp. 2b, large vocabularies: no significant difference between the distractor "
                  "effects of himself and herself.",
                  partial(_distractors, "exp2b", _LARGE, ["himself"], "equal")),
        ClaimSpec("section 5.4, Figure 2",
                  "Exp. 2b, small vocabularies: the distractor effect of herself significantly "
                  "exceeds that of himself.",
                  partial(_distractors, "exp2b", _SMALL, ["himself"], "higher")),
    )  # fmt: skip


_LABELS = {
    **REFLEXIVE_MODELS.labels,
    "exp1a": "Relative clause (Exp. 1a)",
    "exp2a": "Relative clause (Exp. 2a)",
    "exp1b": "Sentential complement (Exp. 1b)",
    "exp2b": "Sentential complement (Exp. 2b)",
    "exp3": "Prepositional phrase (Exp. 3)",
    "tokens": "training tokens",
    "vocabulary": "vocabulary size",
}


def _training_data(evidence: Evidence) -> Iterator[StudyCell]:
    table = evidence.data.corpora
    if table is None:
        return
    train = table[table["split"] == "train"].set_index("corpus")
    names = {"tokens": "tokens", "vocabulary": "vocabulary"}
    names |= {f"count_{pronoun}": pronoun for pronoun in PRONOUNS}
    for model in REFLEXIVE_MODELS.rows(evidence.data.items, evidence):
        known = train.loc[model.corpus].dropna() if model.corpus in train.index else {}
        for name, column in names.items():
            if name in known:
                yield count_cell(int(known[name]), row=model.key, column=column)


def _accuracies(evidence: Evidence, *, items: ItemChoice) -> Iterator[StudyCell]:
    for accuracy in reflexive_accuracies(evidence, items):
        lacking = f"no items with {names_or_none(accuracy.lacking)}" if accuracy.lacking else ""
        yield StudyCell(
            row=accuracy.experiment, column=accuracy.model.key, value=accuracy.value,
            low=accuracy.low, high=accuracy.high, n=len(accuracy.model.rows), note=lacking,
        )  # fmt: skip


def _differences(evidence: Evidence) -> Iterator[StudyCell]:
    for experiment, pronoun in itertools.product(("exp1b", "exp2b"), PRONOUNS):
        for letter, effect in (("D", DISTRACTOR), ("U", UNGRAMMATICAL)):
            for model in reflexive_effects(evidence, experiment, effect):
                values, column = of_pronoun(model, pronoun), f"{pronoun} {letter}"
                if len(values):
                    mean = bootstrap_mean(values)
                    yield interval_cell(mean, panel=experiment, row=model.key, column=column)


def reflexives_study(items: ItemChoice = "paper") -> StudySpec:
    """Return the study; ``items``: whether Table 3 has the paper's items, or all released ones."""
    used = {
        "paper": "Exps. 2a, 2b and 3: the 60 of 75 released items per pronoun that the paper used.",
        "all": "Exps. 2a, 2b and 3: all released items; the paper used 60 of 75 per pronoun.",
    }
    return StudySpec(
        name="reflexives",
        title="Reflexives: a closer look at anaphor licensing",
        reference="Hu, Chen and Levy 2020",
        labels=_LABELS,
        row_labels=lambda own: REFLEXIVE_MODELS.row_labels(own.data.items, own),
        claims=reflexives_claims(items),
        parts=(
            PartSpec(number="Table 2", title="Training data of the models", cells=_training_data,
                     lacking="files of surprisals do not contain it; it is computed for the "
                     "corpora of own runs", digits=0,
                     note="The last three columns are counts of the pronouns in the training "
                     "data."),
            PartSpec(
                number="Table 3", title="Accuracy by experiment and model",
                cells=partial(_accuracies, items=items),
                lacking="there are no models on these suites",
                note="Accuracy per pronoun, then the mean of the three; chance is 1/3. Intervals: "
                f"1.96·√(p(1 − p)/n) over the pooled items. {used[items]}",
            ),
            PartSpec(number="Figure 2", title="Surprisal of the pronoun compared with the baseline",
                     cells=_differences,
                     lacking="there are no models on sentential complements (Exps. 1b and 2b)",
                     style=FigureStyle(y_label="bits", reference=0.0),
                     note="D: distractor − baseline; U: ungrammatical − baseline; means over all "
                     "items with bootstrapped 95 % intervals."),
        ),
    )  # fmt: skip
