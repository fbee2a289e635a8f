"""Evaluate runs, other models or tables of surprisals on test suites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from gardenpath.console import track_runs, words_progress
from gardenpath.data.sentence import Scorer
from gardenpath.errors import GardenpathError
from gardenpath.eval.report.content import Curve
from gardenpath.eval.search.settings import search_in_words
from gardenpath.eval.suites.effects import critical_positions
from gardenpath.eval.suites.library import load_suite_file, load_suites
from gardenpath.eval.suites.outcomes import MIN_ITEMS, TieRule, Ties, tie_rule
from gardenpath.eval.suites.pairs import PairSource
from gardenpath.eval.suites.suite import Suite
from gardenpath.runs.find import (
    each_whole,
    name_variants,
    skip_facts,
    skip_notes,
    skipped_runs,
    whole_runs,
)
from gardenpath.runs.results import Results
from gardenpath.runs.run import Run
from gardenpath.runs.scoring import (
    Measured,
    exact_grammars,
    how_scored,
    marked,
    measured_run,
    measured_scorer,
    measured_table,
    scorer_name,
    scoring_notes,
)
from gardenpath.runs.suite_tables import (
    SuiteTables,
    parse_table,
    selected,
    sentences_in,
    suite_tables,
    word_pair_rows,
)
from gardenpath.runs.text import require_known, unknown_words
from gardenpath.settings.schema import ProcessCount, plain
from gardenpath.store.run_folder import METRICS_FILE, RunStatus
from gardenpath.util import Words

# A run, or any other model.
Subject = Run | Scorer


def suites(*patterns: str, root: str | Path | None = None, segmenter: str = "") -> list[Suite]:
    """Return test suites by name, by pattern (``mandarin/*``) or from files; by default, all.

    The sets of suites that ``suite=`` accepts on the command line, such as ``reflexives``, have the
    same names here. ``blimp``, ``climp``, ``sling`` and ``zhoblimp`` are read from ``root``, a
    folder or an archive; ``segmenter`` (``jieba``, ``characters``) divides Mandarin into words.
    """
    from gardenpath.eval.suites.library import suite_names
    from gardenpath.settings.tasks import suites_of_set

    chosen = [name for pattern in patterns for name in suites_of_set(pattern)]
    pairs = PairSource(root=None if root is None else str(root), segmenter=segmenter or None)
    return load_suites(chosen if patterns else suite_names(), pairs=pairs)


def pairs_for(subjects: Iterable[Subject], source: PairSource) -> PairSource:
    """Return the source of minimal pairs with a segmenter that suits all models, if any does.

    Models that read text see the same text whatever its words are, so characters suit them. For
    models of words there is no default: their corpus decides what a word is.
    """
    concerned = [subject for subject in subjects if _language(subject) in (None, "any", "zh")]
    read_text = [bool(getattr(model, "reads_text", False)) for model in concerned]
    if source.segmenter is not None or not read_text or not all(read_text):
        return source
    return replace(source, segmenter="characters")


def read_suite(path: str | Path) -> Suite:
    """Read the suite in a file: YAML, SyntaxGym's JSON or CSV, or minimal pairs."""
    return load_suite_file(Path(path))


def evaluate(
    subjects: Subject | Iterable[Subject],
    suites: Suite | Sequence[Suite],
    *,
    title: str = "suites",
    in_vocabulary: bool = False,
    items: int | None = None,
    ties: Ties | TieRule = "near",
    parsed_items: int = 0,
    processes: ProcessCount | None = None,
    min_items: int = MIN_ITEMS,
    allow_unknown: bool = False,
) -> Results:
    """Score models on test suites in their languages.

    ``subjects`` are runs, or objects with a method ``word_log_probs`` (:class:`Scorer`). With
    ``in_vocabulary``, only items whose words are in the vocabularies of all models are scored, and
    the exact grammars of toy corpora are scored too. ``items`` limits the number of items of each
    suite. ``ties`` says whether differences that cannot be told from zero are ties, or exactly
    equal surprisals only (``exact``); a :class:`TieRule` has further settings. ``parsed_items`` is
    the number of items of each suite for which the report shows partial parses of syntactic
    models, beside the item on which it opens. ``processes`` is the number of processes, of one
    thread each, that score sentences with the runs; None uses those given with the runs. Damaged
    runs among several are left out and listed in ``skipped`` of the results. Tests and intervals
    need ``min_items`` usable items: those whose critical words are known and whose surprisals are
    present. A run that does not know most words of the suites is refused, unless ``allow_unknown``
    is set.
    """
    skipped = skipped_runs(subjects if isinstance(subjects, Iterable) else ())
    models = _whole(_as_list(subjects), skipped)
    name_variants([one for one in models if isinstance(one, Run)])
    _require_own_names(_as_suites(suites))
    chosen = suitable(_as_suites(suites), models)
    knowers = {
        suite.language: [_knows(one) for one in models if _fits(one, suite.language)]
        for suite in chosen
    }
    chosen = selected(chosen, knowers, in_vocabulary=in_vocabulary, items=items)
    models = [model for model in models if any(_fits(model, suite.language) for suite in chosen)]
    _require_different(models)
    how = how_scored(one for one in models if isinstance(one, Run))
    require_known(
        [
            unknown_words(one, sentences_in(chosen, one.language))
            for one in models
            if isinstance(one, Run)
        ],
        allow_unknown=allow_unknown,
    )
    _spread(models, chosen, parsed_items, processes)
    measured = _measured(models, chosen, parsed_items, skipped)
    names = tuple(one.name for one in measured)
    scored = {one.run for one in names}
    runs = [one for one in models if isinstance(one, Run) and one.name.run in scored]
    if in_vocabulary:
        measured += exact_grammars(runs, lambda language: sentences_in(chosen, language))
    searches = dict.fromkeys(search_in_words(plain(r.search)) for r in runs if r.is_syntactic)
    rule = tie_rule(ties)
    tables = suite_tables(chosen, measured, ties=rule)
    if parsed_items:
        tables = _with_opening(tables, chosen, runs)
    tables = marked(tables, how)
    return Results(
        title=title,
        suites=tuple(chosen),
        names=names,
        tables=replace(tables, notes=(*scoring_notes(runs), *tables.notes, *skip_notes(skipped))),
        how=how,
        skipped=tuple(skipped),
        word_pairs=word_pair_rows(chosen, runs),
        curves=tuple(curve for run in runs if (curve := _curve(run)) is not None),
        search="; ".join(searches) or None,
        about={
            "runs": {run.name.run: run.folder.known_fingerprint() for run in runs},
            "boundary": {name: one.boundary for name, one in how.items() if one.boundary},
            **skip_facts(skipped),
        },
        min_items=min_items,
        ties=rule,
    )


def _require_own_names(suites: Sequence[Suite]) -> None:
    """Refuse different suites of one name: their items could not be told apart in the results."""
    seen: dict[str, Suite] = {}
    for suite in suites:
        if seen.setdefault(suite.name, suite) is not suite:
            raise GardenpathError(
                f"two suites are called {suite.name!r}, so that their items cannot be told apart; "
                "change name: in one of their files (a table without one has the name of its file)"
            )


def score(
    suites: Suite | Sequence[Suite],
    surprisals: Any,
    *,
    title: str = "suites",
    ties: Ties | TieRule = "exact",
    min_items: int = MIN_ITEMS,
) -> Results:
    """Score surprisals that were computed elsewhere, without running a model.

    ``surprisals`` is a DataFrame with the columns ``sentence_id``, ``word`` and ``surprisal_bits``
    (and ``model``, ``run`` or ``seed`` for several models), or a mapping from models to mappings
    from sentences to surprisals in bits. It must contain every sentence of the suites, word by
    word. Tests and intervals need ``min_items`` usable items. How exact the numbers are is not
    known, so only exactly equal surprisals are ties, unless ``ties`` says otherwise.
    """
    rule = tie_rule(ties)
    chosen = _as_suites(suites)
    _require_own_names(chosen)
    measured = measured_table(surprisals, sentences_in(chosen, None))
    return Results(
        title=title,
        suites=tuple(chosen),
        names=tuple(subject.name for subject in measured),
        tables=suite_tables(chosen, measured, ties=rule),
        min_items=min_items,
        ties=rule,
    )


def suitable(suites: Sequence[Suite], models: Sequence[Subject]) -> list[Suite]:
    """Return the suites in the languages of the models; raise an error if there are none."""
    fitting = [
        suite for suite in suites if any(_fits(subject, suite.language) for subject in models)
    ]
    if not fitting:
        languages = sorted({suite.language for suite in suites})
        known = sorted({str(_language(model)) for model in models})
        raise GardenpathError(
            f"the suites are in {', '.join(languages)}, but all models are in {', '.join(known)}; "
            "train one with 'python train.py data=…', or choose another suite="
        )
    return fitting


def _as_list(subjects: Subject | Iterable[Subject]) -> list[Subject]:
    if isinstance(subjects, Run) or hasattr(subjects, "word_log_probs"):
        return [cast(Subject, subjects)]
    listed = list(subjects)
    if not listed:
        raise GardenpathError("no models given")
    return listed


def _as_suites(suites: Suite | Sequence[Suite]) -> list[Suite]:
    listed = [suites] if isinstance(suites, Suite) else list(suites)
    if not listed:
        raise GardenpathError("no suites are given")
    if not all(isinstance(suite, Suite) for suite in listed):
        raise TypeError("give suites, as gp.suites('reflexives') and gp.read_suite(file) return")
    return listed


def _require_different(models: Sequence[Subject]) -> None:
    """Refuse models with one name: their results could not be told apart."""
    names = Counter(
        model.name.run if isinstance(model, Run) else scorer_name(model) for model in models
    )
    if twice := [name for name, count in names.items() if count > 1]:
        raise GardenpathError(
            f"{twice[0]}: {names[twice[0]]} models have this name; give each once, with an "
            "attribute name of its own"
        )


def _language(subject: Subject) -> str | None:
    return getattr(subject, "language", None)


def _fits(subject: Subject, language: str) -> bool:
    return _language(subject) in (None, language)


def _knows(subject: Subject) -> Any:
    return getattr(subject, "knows", lambda _: True)


def _whole(models: Sequence[Subject], skipped: list[RunStatus]) -> list[Subject]:
    """Return the models without damaged runs."""
    runs = whole_runs([subject for subject in models if isinstance(subject, Run)], skipped)
    return [model for model in models if not isinstance(model, Run) or model in runs]


def _spread(
    models: Sequence[Subject],
    suites: Sequence[Suite],
    parsed_items: int,
    processes: ProcessCount | None,
) -> None:
    """Let several processes, if asked for, score the sentences of all runs into the store."""
    from gardenpath.runs.processes import ScoringJob, spread_jobs

    parsed, matters = _parsed(suites, parsed_items), critical_positions(suites)
    runs = [model for model in models if isinstance(model, Run)]
    jobs = [
        ScoringJob(run, sentences_in(suites, run.language), parsed=parsed, matters=matters)
        for run in runs
    ]
    spread_jobs(jobs, processes)


def _measured(
    models: Sequence[Subject],
    suites: Sequence[Suite],
    parsed_items: int,
    skipped: list[RunStatus],
) -> list[Measured]:
    parsed, matters = _parsed(suites, parsed_items), critical_positions(suites)

    def measured(run: Run) -> Measured:
        sentences = sentences_in(suites, run.language)
        with words_progress(str(run.path), sum(map(len, sentences))) as on_words:
            wanted = [words for words in sentences if words in parsed]
            return measured_run(run, sentences, parsed=wanted, on_words=on_words, matters=matters)

    runs = [model for model in models if isinstance(model, Run)]
    others = {
        id(subject): measured_scorer(subject, sentences_in(suites, _language(subject)))
        for subject in models
        if not isinstance(subject, Run)
    }
    of_runs = each_whole(track_runs(runs, "scoring runs"), measured, skipped)
    of_all = {**others, **{id(run): subject for run, subject in of_runs}}
    return [of_all[id(subject)] for subject in models if id(subject) in of_all]


def _parsed(suites: Sequence[Suite], items: int) -> set[Words]:
    """Return the sentences whose partial parses the report shows."""
    return {
        variant.words
        for suite in suites
        for item in suite.items[:items]
        for variant in item.variants
    }


def _with_opening(tables: SuiteTables, suites: Sequence[Suite], runs: Sequence[Run]) -> SuiteTables:
    """Add the parses of the item on which the report opens; which it is, is known only now."""
    from gardenpath.eval.report.content import ReportContent
    from gardenpath.eval.report.explorer import opening

    first = opening(ReportContent(title="", items=tables.items, surprisals=tables.surprisals))
    if first is None or (first.suite, first.item) in {key[1:3] for key in tables.parses}:
        return tables
    alone = [
        replace(suite, items=tuple(item for item in suite.items if item.number == first.item))
        for suite in suites
        if suite.name == first.suite
    ]
    matters, parses = critical_positions(suites), dict(tables.parses)
    for run in runs:
        sentences = sentences_in(alone, run.language)
        if run.is_syntactic and sentences:
            opening_run = measured_run(run, sentences, parsed=sentences, matters=matters)
            parses |= parse_table(alone, [opening_run])
    return replace(tables, parses=parses)


def _curve(run: Run) -> Curve | None:
    """Return the metrics of each epoch of a run, if available."""
    manifest = run.folder.manifest()
    if manifest is not None and METRICS_FILE in manifest.files:
        run.folder.verify(METRICS_FILE)
    return Curve.read(run.folder / METRICS_FILE, run.name)
