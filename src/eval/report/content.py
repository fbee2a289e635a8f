"""The content of any report, in one record, and the sentences that lead it.

``Results``, ``task=corpus`` and ``task=rescore`` build a ``ReportContent``; ``page``, ``explorer``
and ``figures`` show it. The statistical analyses of a report are run and written here, too. Nothing
here draws or writes HTML, and matplotlib is not imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from gardenpath.errors import GardenpathError, InputError
from gardenpath.eval.display import EXACT, models_in_order
from gardenpath.eval.means import near_tied
from gardenpath.eval.perplexity import PerplexityRow
from gardenpath.eval.report.means import accuracies, accuracy_difference, bit_means, in_numbers
from gardenpath.eval.statistics.analysis import AnalysisResult, load_analyses, own_analysis
from gardenpath.eval.statistics.answers import ALPHA, is_significant
from gardenpath.eval.statistics.formulas import Correction, Weighting
from gardenpath.eval.suites.library import Chain, modifier_orders
from gardenpath.eval.suites.outcomes import (
    MIN_ITEMS,
    ItemCount,
    is_enough,
    unusable_items,
    usable_counts,
    with_usable,
)
from gardenpath.eval.suites.pairs import pair_words
from gardenpath.eval.suites.suite import USUAL_CHANCE, Glosses, Suite, chance_by_class
from gardenpath.eval.suites.summary import RunName, ScoredItems
from gardenpath.store.files import write_text
from gardenpath.store.tables import (
    AGGREGATE,
    COULD_FLIP,
    EFFECTS,
    ITEMS,
    METRICS,
    RUN_COLUMNS,
    SUMMARY,
    SURPRISALS,
    read_table,
)
from gardenpath.util import CONFIG_DIR, Words, enumeration, heading, key, plural, spaced


def ranked(values: Iterable[str], chains: Sequence[Chain]) -> list[str]:
    """Return distinct values in an order consistent with the chains, else of first appearance."""
    left = list(dict.fromkeys(values))
    before: dict[str, set[str]] = {}
    for chain in chains:
        names = [key(name) for name in chain]
        for place, name in enumerate(names):
            before.setdefault(name, set()).update(names[:place])
    order: list[str] = []
    while left:
        waiting = {key(value) for value in left}
        # If chains contradict each other, no value is free; then take the first one.
        free = (name for name in left if not (before.get(key(name), set()) - {key(name)}) & waiting)
        order.append(next(free, left[0]))
        left.remove(order[-1])
    return order


def arranged(table: pd.DataFrame, by: Sequence[str], chains: Sequence[Chain]) -> pd.DataFrame:
    """Sort the rows by the given columns, each in its display order; the sort is stable."""
    ranks = pd.DataFrame(index=range(len(table)))
    for column in by:
        values = table[column]
        if column == "model":
            order = models_in_order(values)
        elif column == "modifier":
            order = ranked(values, chains)
        else:
            order = list(dict.fromkeys(values))
        places = {value: place for place, value in enumerate(order)}
        ranks[column] = values.map(places).to_numpy()
    return table.iloc[ranks.sort_values(list(by), kind="stable").index] if by else table


# Characters of title and answer of a statistical question that fit on a line of 1,060 pixels.
_LINE = 118
# Number of models or classes that a sentence of the answer names.
_MOST_NAMES = 4
# Run, suite, item, condition, variant, word_id.
ParseKey = tuple[str, str, int | str, str, int | str, int]
# Glosses of each condition and variant, and the translation of the first one.
Glossed = tuple[Mapping[tuple[str, int], Words], str]
# Posterior probability and partial tree: ``(S (NP the cat) (VP``.
Parse = tuple[float, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedAnalysis:
    """One statistical analysis in the report: title, results as sentences, and tables.

    ``significant`` marks, for each sentence, whether it reports a significant result; if it is
    empty, all sentences are treated alike. The table ``estimates`` (or, if there is none, every
    table with the columns of ``ESTIMATES``) is also drawn as a figure. ``skipped`` lists
    comparisons that could not be tested, with reasons; ``notes`` say which rows were left out.
    """

    title: str
    sentences: Sequence[str] = ()
    significant: Sequence[bool] = ()
    skipped: Sequence[str] = ()
    notes: Sequence[str] = ()
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def split_by_significance(self) -> tuple[list[str], list[str]]:
        """Return the significant sentences and the others; a single sentence is never hidden."""
        if not self.significant or len(self.sentences) == 1:
            return list(self.sentences), []
        pairs = list(zip(self.sentences, self.significant, strict=True))
        return [text for text, is_so in pairs if is_so], [
            text for text, is_so in pairs if not is_so
        ]

    @property
    def line(self) -> str:
        """The answer in one line beside the title: a sentence, or how many differ from zero."""
        count = sum(self.significant)
        if len(self.sentences) == 1:
            # The sentence, its claim without numbers, or only whether there is a difference.
            sentence = self.sentences[0]
            for text in (sentence, f"{sentence.partition(': ')[0].rstrip('.')}."):
                if len(self.title) + len(text) <= _LINE:
                    return text
            if not self.significant:
                return "1 result."
            return "A significant difference." if count else "No significant difference."
        if len(self.significant) > 1:
            of_all = f"{count} of {len(self.significant)}"
            differ = "differs" if count == 1 else "differ"
            text = f"{of_all} comparisons {differ} significantly from zero (p < .05)."
            return text if len(self.title) + len(text) <= _LINE else f"{of_all} significant."
        if self.sentences:
            return f"{plural(len(self.sentences), 'result')}."
        return f"Not tested in {plural(len(self.skipped), 'case')}." if self.skipped else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The training metrics of a run: the table of its ``metrics.csv``."""

    model: str
    corpus: str
    seed: int | None
    metrics: pd.DataFrame

    @classmethod
    def read(cls, path: Path, name: RunName) -> Curve | None:
        """Read the metrics of a run; return None if the table cannot be read."""
        try:
            metrics = read_table(path, METRICS)
        except InputError:
            return None
        return cls(model=name.model, corpus=name.corpus, seed=name.seed, metrics=metrics)

    @property
    def is_joint(self) -> bool:
        return "valid/joint_perplexity" in self.metrics.columns


@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """The results of an evaluation.

    ``facts`` describe the evaluation (models, corpora, seeds, search, versions), in display order.
    ``critical`` maps suites to their critical regions, ``chance`` maps classes to chance levels
    (default: 1/2). ``modifier_orders`` rank modifiers from simple to complex. ``lengths`` counts,
    for each corpus, the sentences of each length in words. ``glosses`` maps suite and item to the
    glosses of its variants, by condition and number, and its translation. ``notes`` stand below
    the answer. Intervals need ``min_items`` usable items. ``aggregate`` has the accuracies on
    published minimal pairs.
    """

    title: str
    description: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    items: pd.DataFrame = field(default_factory=lambda: ITEMS.frame([]))
    summary: pd.DataFrame = field(default_factory=lambda: SUMMARY.frame([]))
    surprisals: pd.DataFrame = field(default_factory=lambda: SURPRISALS.frame([]))
    effects: pd.DataFrame = field(default_factory=lambda: EFFECTS.frame([]))
    perplexity: Sequence[PerplexityRow] = ()
    analyses: Sequence[ReportedAnalysis] = ()
    parses: Mapping[ParseKey, Sequence[Parse]] = field(default_factory=dict)
    curves: Sequence[Curve] = ()
    lengths: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    critical: Mapping[str, Sequence[str]] = field(default_factory=dict)
    chance: Mapping[str, float] = field(default_factory=dict)
    glosses: Mapping[tuple[str, int | str], Glossed] = field(default_factory=dict)
    modifier_orders: Sequence[Chain] = field(default_factory=modifier_orders)
    min_items: int = MIN_ITEMS
    aggregate: pd.DataFrame = field(default_factory=lambda: AGGREGATE.frame([]))

    def __post_init__(self) -> None:
        for schema in (ITEMS, SUMMARY, SURPRISALS, EFFECTS):
            if missing := schema.missing(getattr(self, schema.name).columns):
                lacking = ", ".join(missing)
                raise GardenpathError(f"the table {schema.name!r} lacks the columns {lacking}")

    def chance_of(self, name: str) -> float:
        return self.chance.get(name, USUAL_CHANCE)

    def modifiers(self, values: Iterable[str]) -> list[str]:
        return ranked(values, self.modifier_orders)

    def ranks(self, values: Iterable[str]) -> bool:
        """Whether every modifier is ranked in some order."""
        known = {key(name) for chain in self.modifier_orders for name in chain}
        return all(key(value) in known for value in values)

    @cached_property
    def by_model(self) -> pd.DataFrame:
        """Mean accuracy over classes: model, corpus, mean, low, high, and counts."""
        return self._accuracies("model", "corpus")

    @cached_property
    def by_class(self) -> pd.DataFrame:
        """Accuracy of each class, averaged over modifiers."""
        return self._accuracies("model", "corpus", "class")

    @cached_property
    def by_modifier(self) -> pd.DataFrame:
        """Accuracy of each class with each modifier."""
        return self._accuracies("model", "corpus", "class", "modifier")

    def _accuracies(self, *by: str) -> pd.DataFrame:
        return accuracies(self.items, by=by, min_items=self.min_items)

    def bit_means(self, table: pd.DataFrame, *, value: str, by: Sequence[str]) -> pd.DataFrame:
        """Return means in bits of rows of items or effects, with intervals if items suffice."""
        marked = with_usable(table, self.items)
        return bit_means(marked, value=value, by=by, min_items=self.min_items)

    @cached_property
    def unusable(self) -> list[ItemCount]:
        """The models with unusable items, the worst first."""
        return unusable_items(self.items)

    def suites(self) -> list[str]:
        """Return every suite with surprisals, by class and by modifier from simple to complex."""
        known = self.items[["suite", "class", "modifier"]].drop_duplicates("suite")
        suites = pd.DataFrame({"suite": self.surprisals["suite"].unique()})
        suites = suites.merge(known, on="suite", how="left")
        suites["class"] = suites["class"].fillna(suites["suite"])
        suites["modifier"] = suites["modifier"].fillna("")
        return list(arranged(suites, ["class", "modifier"], self.modifier_orders)["suite"])

    def runs(self) -> pd.DataFrame:
        """Return every scored run once, with models in the order of their families."""
        tables = [table[list(RUN_COLUMNS)] for table in (self.items, self.surprisals)]
        runs = pd.concat([table for table in tables if len(table)] or tables[:1])
        runs = runs.drop_duplicates("run").astype({"seed": "Int64"})
        order = {model: place for place, model in enumerate(models_in_order(runs["model"]))}
        runs = runs.assign(order=runs["model"].map(order))
        runs = runs.sort_values(["corpus", "order", "seed"], kind="stable")
        return runs.drop(columns="order").reset_index(drop=True)


def corpus_groups(table: pd.DataFrame) -> list[list[str]]:
    """Group corpora whose models were scored on the same suites and can be compared."""
    groups: list[tuple[set[str], list[str]]] = []
    for corpus, rows in table.groupby("corpus", sort=False):
        suites, members = set(rows["suite"]), [str(corpus)]
        alike = [group for group in groups if group[0] & suites]
        groups = [group for group in groups if not group[0] & suites]
        for others, names in alike:
            suites, members = suites | others, [*names, *members]
        groups.append((suites, members))
    return [names for _, names in groups]


# Statistical analyses: computation, files, and their form in the report.

SKIPPED_FILE = "skipped.txt"
_SKIPPED_TITLE = "Analyses that were not run"


def run_analyses(
    items: pd.DataFrame,
    effects: pd.DataFrame | None = None,
    sentences: pd.DataFrame | None = None,
    *,
    study: str | None = None,
    correction: Correction | None = None,
    weights: Weighting = "none",
    min_items: int = MIN_ITEMS,
    formula: str = "",
) -> list[AnalysisResult]:
    """Run the analyses of ``conf/analysis``: all of them, or those of one study.

    Without a study, those that compute means alone are left out: the summary has these already.
    ``correction`` replaces that of each analysis with p values; ``weights`` replaces that of each
    analysis that can be weighted, and a note of the others says why they are not. The result of an
    analysis that the tables do not allow is empty and says why (``AnalysisResult.skipped``); every
    test and interval needs ``min_items`` usable items. Exact grammars are left out: they are what
    models are compared with, and their surprisals are known without error. ``formula`` asks a
    question of one's own, which is answered first.
    """
    from gardenpath.eval.statistics.answering import run_analysis, why_not_weighted  # loads scipy

    tables = {
        name: None if table is None else of_models(with_usable(table, items))
        for name, table in (("items", items), ("effects", effects), ("sentences", sentences))
    }
    results = []
    own = [own_analysis(formula, tables)] if formula else []
    for analysis in (*own, *load_analyses(CONFIG_DIR / "analysis", study=study)):
        if study is None and analysis.test == "means":
            continue
        if correction is not None and analysis.test in ("mixed", "t_test"):
            analysis = dataclasses.replace(analysis, correction=correction)
        table, reason = tables[analysis.table], ""
        if weights == "error" and not (reason := why_not_weighted(analysis, table)):
            analysis = dataclasses.replace(analysis, weights=weights)
        result = run_analysis(analysis, table, min_items=min_items)
        if reason and not result.is_empty:
            note = f"not weighted by search error: {reason}"
            result = dataclasses.replace(result, notes=(*result.notes, note))
        results.append(result)
    return results


def of_models(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models; exact grammars are a yardstick, not a subject."""
    return table[table["model"] != EXACT] if "model" in table.columns else table


def write_analyses(folder: Path, results: Sequence[AnalysisResult]) -> None:
    """Write each analysis to a folder: as text, as tables, and as data with an R script.

    Analyses that could not be run are listed in ``skipped.txt``, with reasons.
    """
    from gardenpath.eval.statistics.rscript import write_result  # loads scipy

    for result in results:
        if not result.is_empty:
            write_result(folder, result)
    if skipped := _reasons(results):
        write_text(folder / SKIPPED_FILE, "\n".join([_SKIPPED_TITLE, "", *skipped]) + "\n")


def _reasons(results: Sequence[AnalysisResult]) -> list[str]:
    return [
        f"{result.analysis.name} ({result.analysis.title}): {'; '.join(result.skipped)}"
        for result in results
        if result.is_empty
    ]


def reported_analyses(results: Sequence[AnalysisResult]) -> list[ReportedAnalysis]:
    """Return analyses for the report; those that were not run come last, in one entry."""
    shown = [reported_analysis(result) for result in results if not result.is_empty]
    if skipped := _reasons(results):
        shown.append(ReportedAnalysis(title=_SKIPPED_TITLE, skipped=skipped))
    return shown


def reported_analysis(result: AnalysisResult) -> ReportedAnalysis:
    """Return an analysis for the report, with its rows in display order.

    Every sentence describes a row of the estimates and is significant if its p value, adjusted if
    the analysis has a correction, is below ``ALPHA``. Columns without any value are not shown.
    """
    chains = modifier_orders()
    by = result.analysis.parts_by
    tables = {
        name: arranged(table, [column for column in by if column in table.columns], chains)
        for name, table in result.tables.items()
    }
    estimates = tables.get("estimates", pd.DataFrame())
    sentences, significant = list(result.sentences), []
    if len(estimates) == len(sentences) and "p" in estimates.columns:
        # Sorting keeps the index of each row.
        sentences = [sentences[place] for place in estimates.index]
        decisive = "p_adjusted" if "p_adjusted" in estimates.columns else "p"
        significant = [is_significant(p) for p in estimates[decisive]]
    for name, table in tables.items():
        is_empty = table.isna() | (table.astype(str) == "")
        tables[name] = table.loc[:, ~is_empty.all(axis=0)]
    return ReportedAnalysis(
        title=result.analysis.title, sentences=sentences, significant=significant,
        skipped=result.skipped, notes=result.notes, tables=tables,
    )  # fmt: skip


# Reports on models that were scored on suites.

# The packages that affect the numbers of a report, in addition to Python; and those of models.
REPORT_PACKAGES = ("numpy", "scipy", "pandas", "matplotlib")
MODEL_PACKAGES = ("torch", "pytorch-lightning")


def report_content(
    *,
    title: str,
    suites: Sequence[Suite],
    names: Sequence[RunName],
    results: ScoredItems,
    surprisals: pd.DataFrame,
    versions: str,
    search: str | None = None,
    analyses: Sequence[AnalysisResult] = (),
    parses: Mapping[ParseKey, Sequence[Parse]] | None = None,
    curves: Sequence[Curve] = (),
    perplexity: Sequence[PerplexityRow] = (),
    origin: str = "",
    sources: Mapping[str, str] | None = None,
    aggregate: pd.DataFrame | None = None,
) -> ReportContent:
    """Return the content of the report on models that were scored on suites.

    ``title`` is the name of the set of suites; ``names`` are the runs. ``search`` describes the
    search if some model needs one; ``versions`` lists the versions of the software. For surprisals
    from files, ``origin`` says whose they are (``published``), and ``sources`` are the files.
    ``aggregate`` has the accuracies on published minimal pairs.
    """
    models = models_in_order([name.model for name in names])
    corpora = [name.corpus for name in names if name.corpus]
    trained_on = f" trained on {enumeration(corpora, last=' and ')}" if corpora else ""
    whose = f"{origin} surprisals of " if origin else ""
    items = sum(len(suite.items) for suite in suites)
    facts = {
        **(sources or {}),
        "models": enumeration(models),
        **({"corpora": enumeration(corpora)} if corpora else {}),
        "seeds": enumeration(sorted(name.seed for name in names if name.seed is not None)),
        "suites": f"{len(suites)} with {items} items",
        **{f"words of {name}": words for name, words in pair_words(suites).items()},
        **({"search": search} if search else {}),
        "versions": versions,
    }
    glosses = {suite.name: Glosses(suite) for suite in suites}
    return ReportContent(
        # Such as ``Demo: 6 models trained on toy_english and toy_mandarin``.
        title=f"{heading(title)}: {whose}{plural(len(models), 'model')}{trained_on}",
        facts=facts,
        notes=results.notes,
        items=results.items,
        summary=results.summary,
        surprisals=surprisals,
        effects=EFFECTS.frame([]) if results.effects is None else results.effects,
        perplexity=perplexity,
        analyses=reported_analyses(analyses),
        parses=parses or {},
        curves=curves,
        critical={suite.name: suite.critical for suite in suites},
        chance=chance_by_class(suites),
        glosses={
            (suite.name, item.number): (glosses[suite.name].of(item), item.translation)
            for suite in suites
            for item in suite.items
            if item.gloss or item.translation
        },
        min_items=results.min_items,
        aggregate=AGGREGATE.frame([]) if aggregate is None else aggregate,
    )


# The main result in a few sentences: the models that cannot be told apart from the best.
#
# The model with the highest mean accuracy is compared with every other model of its corpus; both
# are in the best group if the bootstrap interval over items of the difference includes zero. The
# level is 1 − .05 / k for k other models (Bonferroni), as one of several is the highest by chance.


def findings(items: pd.DataFrame, *, min_items: int = MIN_ITEMS) -> Iterator[str]:
    """Yield, for each corpus, a sentence on the best models and on the exact grammar."""
    if not len(items):
        return
    table = accuracies(items, by=["model", "corpus"], min_items=min_items)
    for corpus, rows in table.groupby("corpus", sort=False):
        models = rows[rows["model"] != EXACT].dropna(subset="mean")
        if not len(models):
            continue
        said = _best_models(items[items["corpus"] == corpus], models, min_items)
        sentence = f"On {corpus or 'the given surprisals'}, {said}"
        for ceiling in rows[rows["model"] == EXACT]["mean"]:
            sentence += f"; the exact grammar reaches {ceiling:.3f}"
        yield sentence + "."


def _best_models(items: pd.DataFrame, models: pd.DataFrame, min_items: int) -> str:
    order = {model: place for place, model in enumerate(models_in_order(models["model"]))}
    ranked = models.assign(place=models["model"].map(order)).sort_values(
        ["mean", "place"], ascending=[False, True]
    )
    records = ranked.to_dict("records")
    best, others = records[0], records[1:]
    numbers = {row["model"]: " ".join(in_numbers(row).split()) for row in records}
    if not others:
        return f"{best['model']} has a mean accuracy of {numbers[best['model']]}"
    few = [row for row in records if not is_enough(row["usable"], row["items"], min_items)]
    if few:
        return (
            f"too few items are usable to say which of {plural(len(records), 'model')} is the best "
            f"({few[0]['model']}: {few[0]['usable']} of {few[0]['items']}); the highest mean "
            f"accuracy is {numbers[best['model']]} ({best['model']})"
        )
    level = 1.0 - ALPHA / len(others)
    group = [best["model"]]
    for row in others:
        low, high = accuracy_difference(items, best["model"], row["model"], level=level)
        if not (low > 0.0 or high < 0.0):
            group.append(row["model"])
    count = len(records)
    if len(group) == 1:
        highest = f"{best['model']} has the highest mean accuracy of {plural(count, 'model')}"
        return f"{highest}: {numbers[best['model']]}"
    if len(group) == count and len(set(numbers.values())) == 1:
        return f"the {count} models have the same mean accuracy, {numbers[group[0]]}"
    named = enumeration([f"{model} ({numbers[model]})" for model in group], last=" and ")
    if len(group) == count:
        return f"the mean accuracies of the {count} models cannot be told apart: {named}"
    return (
        f"{len(group)} of {count} models cannot be told apart from the best by their mean "
        f"accuracy: {named}"
    )


# What a reader has to know before the numbers, each of it once and in one sentence.


def cautions(content: ReportContent) -> Iterator[str]:
    """Yield warnings: unusable items, few items, near ties, outcomes within the search error."""
    if not len(content.items):
        return
    if content.unusable:
        yield _unusable(content.unusable)
    usable = usable_counts(of_models(content.items), ["model", "corpus", "class"])
    few = [
        spaced(row["class"]) or "all items"
        for row in usable.to_dict("records")
        if not is_enough(row["usable"], row["items"], content.min_items)
    ]
    if few:
        yield (
            "Too few usable items for intervals and tests of some models in "
            f"{_named(list(dict.fromkeys(few)))}: {content.min_items} are needed, and half of all "
            "items."
        )
    yield from outcome_cautions(content.items)


def outcome_cautions(items: pd.DataFrame) -> Iterator[str]:
    """Yield how many outcomes are near ties, and how many are within the search error."""
    if note := near_tie_note(items):
        yield note
    if COULD_FLIP not in items.columns:
        return
    known = items.dropna(subset=COULD_FLIP)
    counts = known.groupby("model", sort=False)[COULD_FLIP].agg(["sum", "size"])
    if counts["sum"].any():
        total = f"{int(counts['sum'].sum())} of {int(counts['size'].sum())} outcomes"
        more = f" ({', '.join(_shares(counts))})" if len(counts) > 1 else ""
        yield f"{total} could flip within the 95 % interval of the search error{more}."


def near_tie_note(items: pd.DataFrame) -> str:
    """Say how many outcomes of which models are near ties; empty if none is."""
    models = of_models(items)
    counts = near_tied(models).groupby(models["model"], sort=False).agg(["sum", "size"])
    counts = counts[counts["sum"] > 0]
    if not len(counts):
        return ""
    return (
        "Differences too small to tell from zero count as ties (near ties, of all outcomes): "
        f"{', '.join(_shares(counts))}."
    )


def _shares(counts: pd.DataFrame) -> list[str]:
    return [f"{model} {int(row['sum'])} of {int(row['size'])}" for model, row in counts.iterrows()]


def _named(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = names[:_MOST_NAMES] if more > 1 else names
    return enumeration(shown) + (f" and {more} others" if more > 1 else "")


def _unusable(counts: list[ItemCount]) -> str:
    reasons = ["unknown critical words"] if any(count.unknown for count in counts) else []
    reasons += ["no surprisal"] if any(count.missing for count in counts) else []
    shares = [f"{count.name} {count.unusable} of {count.items}" for count in counts]
    text = f"Items with {' or '.join(reasons)}: {_named(shares)}."
    worst = [count.name for count in counts if count.is_large]
    if not worst:
        return text
    whose = "these models" if len(worst) == len(counts) else _named(worst)
    return f"{text} Accuracies of {whose} say little."
