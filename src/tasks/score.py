"""Print surprisals as a table of words: a column per word, a line per run, coloured by bits."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text

from gardenpath.console import FittedTable, console, words_progress
from gardenpath.data.corpus import DataSettings
from gardenpath.data.sentence import Sentence, Split
from gardenpath.data.trees.tree import Tree
from gardenpath.errors import InputError, RunError
from gardenpath.eval.display import models_in_order
from gardenpath.eval.parsing import (
    Bracketing,
    Conventions,
    bracketing,
    convergence,
    convergence_table,
    mass_rows,
    mean_best_share,
)
from gardenpath.eval.perplexity import PerplexityRow, as_table, perplexity_frame
from gardenpath.eval.search.settings import WordSync, search_in_words
from gardenpath.eval.surprisal.inputs import (
    GivenText,
    Stimulus,
    check_alignment,
    looks_like_file,
    read_input,
)
from gardenpath.eval.surprisal.tables import (
    EndPolicy,
    RunHeader,
    SurprisalRow,
    TableHeader,
    check_form,
    print_surprisals,
    write_surprisals,
)
from gardenpath.runs.find import each_whole, file_places, skip_facts
from gardenpath.runs.parsing import parsed, trees_text
from gardenpath.runs.perplexity import perplexities
from gardenpath.runs.processes import ScoringJob, spread_jobs
from gardenpath.runs.results import how_made
from gardenpath.runs.run import Run
from gardenpath.runs.scoring import require_one_measure, scoring_notes
from gardenpath.runs.text import read_as, rows_and_header, unconverged_notes
from gardenpath.settings.evaluate import STANDARD_OUTPUT, EvaluateSettings
from gardenpath.settings.schema import plain
from gardenpath.settings.tasks import ParseTask, PerplexityTask, SurprisalTask
from gardenpath.store.files import only_writer, require_writable, write_text
from gardenpath.store.manifest import results_folder
from gardenpath.store.run_folder import RunStatus
from gardenpath.store.tables import BRACKETING, PERPLEXITY, WORD_SURPRISALS, write_table
from gardenpath.tasks import sole_writer_of
from gardenpath.tasks.output import asked_runs, conclude, print_search, require_known_input
from gardenpath.util import Words, plural

# Upper ends of the ranges of bits, and their colours: text and background.
_COLOURS = (
    (2.0, "black on #fff7ec"),
    (5.0, "black on #fee8c8"),
    (8.0, "black on #fdbb84"),
    (12.0, "black on #fc8d59"),
    (16.0, "white on #b30000"),
    (math.inf, "white on #7f0000"),
)
_UNKNOWN = "*"
_LONGEST_LABEL = 24


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """The rows of a run, and the sentences that it read, in the same order."""

    name: str
    stimuli: Sequence[Stimulus]
    rows: Sequence[SurprisalRow]


def print_cells(runs: Sequence[ScoredRun], *, measure: str) -> None:
    """Print every sentence with the numbers of all runs, in bits; unknown words have a star."""
    labels = _labels([run.name for run in runs])
    tables = [_by_sentence(run.rows) for run in runs]
    for number, stimulus in enumerate(runs[0].stimuli):
        console.print()
        for line in _heading(number, stimulus, runs):
            console.print(line, soft_wrap=True)
        for line in _blocks(labels, [rows[number] for rows in tables], console.width):
            console.print(line, no_wrap=True, overflow="ignore", crop=False)
    has_unknown = any(not row.seen for run in runs for row in run.rows)
    star = f"; {_UNKNOWN} unknown word: the number is that of its class" if has_unknown else ""
    what = "surprisal" if measure == "surprisal" else "pseudo-log-likelihood"
    console.print(f"\n{what} in bits{star}", style="dim", highlight=False, soft_wrap=True)


def _by_sentence(rows: Sequence[SurprisalRow]) -> list[list[SurprisalRow]]:
    sentences: dict[int, list[SurprisalRow]] = {}
    for row in rows:
        sentences.setdefault(row.sentence_id, []).append(row)
    return list(sentences.values())


def _heading(number: int, first: Stimulus, runs: Sequence[ScoredRun]) -> Iterator[Text]:
    """Yield the sentence as written and, if models read other words, as they read it."""
    yield Text.assemble((f"{number + 1}  ", "bold"), first.written)
    readings: dict[str, list[str]] = {}
    for run in runs:
        readings.setdefault(" ".join(run.stimuli[number].sentence.words), []).append(run.name)
    for reading, names in readings.items():
        if reading != first.written:
            whose = "" if len(readings) == 1 else f" by {', '.join(names)}"
            yield Text(f"   read{whose} as: {reading}", style="dim")


def _labels(names: Sequence[str]) -> list[str]:
    """Return the names of runs without the folders that all have in common."""
    if len(names) == 1:
        return [""]
    shared = os.path.commonpath(names) if len(set(map(os.path.isabs, names))) == 1 else ""
    short = [os.path.relpath(name, shared) if shared else name for name in names]
    return [
        heading if len(heading) <= _LONGEST_LABEL else f"…{heading[1 - _LONGEST_LABEL :]}"
        for heading in short
    ]


def _blocks(
    labels: Sequence[str], runs: Sequence[Sequence[SurprisalRow]], width: int
) -> Iterator[Text]:
    """Yield lines with as many words each as fit."""
    margin = max(map(cell_len, labels))
    cells = [[_number(row) for row in rows] for rows in runs]
    words = [row.word for row in runs[0]]
    widths = [
        max(cell_len(word), *(len(row[place]) for row in cells)) + 2
        for place, word in enumerate(words)
    ]
    start = 0
    while start < len(words):
        end, used = start, margin + 3
        while end < len(words) and (end == start or used + widths[end] <= width):
            used += widths[end]
            end += 1
        line = Text(" " * (margin + 3))
        for place in range(start, end):
            line.append(_right(words[place], widths[place] - 1) + " ", style="bold")
        yield line
        for label, rows, numbers in zip(labels, runs, cells, strict=True):
            line = Text(f"   {label}{' ' * (margin - cell_len(label))}")
            for place in range(start, end):
                style = _style(rows[place])
                line.append(_right(numbers[place], widths[place] - 1) + " ", style=style)
            yield line
        start = end


def _right(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _number(row: SurprisalRow) -> str:
    bits = row.surprisal_bits
    shown = f"{bits:.2f}" if math.isfinite(bits) else {"nan": "–"}.get(str(bits), "∞")
    return shown + ("" if row.seen else _UNKNOWN)


def _style(row: SurprisalRow) -> str:
    if math.isnan(row.surprisal_bits):
        return "dim"
    colour = next(colour for limit, colour in _COLOURS if row.surprisal_bits <= limit)
    return colour if row.seen else f"underline {colour}"


# ----------------------------------------------------------------------------
# Where task=surprisal writes its table: a file, or standard output.


def surprisal_file(settings: EvaluateSettings, task: SurprisalTask) -> Path | None:
    """Return the file of the table, which can be written; None for standard output.

    ``output`` is a folder or, if it ends like a table, the file. A name that ends like another kind
    of file is an error.
    """
    if task.file is None and settings.output == STANDARD_OUTPUT:
        check_form(on_standard_output(task), task.form)
        return None
    output = Path(settings.output)
    is_file = looks_like_file(output.name) and not output.is_dir()
    in_folder = output / Path(WORD_SURPRISALS.file).with_suffix(f".{task.format or 'tsv'}")
    path = Path(task.file or (output if is_file else in_folder))
    check_form(path, task.form)
    if task.format and path.suffix.lower() != f".{task.format}":
        remedy = "leave out task.format=: the name of the file chooses the format"
        raise InputError(f"is no file of the format {task.format}", path=path, remedy=remedy)
    _require_no_input(path, task)
    if path.is_dir():
        raise InputError("is a folder, not a file", path=path, remedy="name a file in it")
    require_writable(path.parent)
    return path


def _require_no_input(path: Path, task: SurprisalTask) -> None:
    """Refuse to replace the sentences by their surprisals."""
    path_given = Path(task.input) if isinstance(task.input, str) else None
    with contextlib.suppress(OSError, ValueError):  # a sentence that is too long for a file name
        if path_given is not None and path.is_file() and path.samefile(path_given):
            remedy = "choose another output="
            raise InputError("is the input, which would be overwritten", path=path, remedy=remedy)


def on_standard_output(task: SurprisalTask) -> Path:
    """Return a name with the extension of the table on standard output, for checks."""
    return Path(f"<stdout>.{task.format or 'csv'}")


def write_output(
    path: Path | None, rows: Sequence[SurprisalRow], table: TableHeader, task: SurprisalTask
) -> None:
    """Write the table to its file, or to standard output if there is none."""
    if path is not None:
        write_surprisals(path, rows, table, form=task.form)
        return
    print_surprisals(f".{task.format or 'csv'}", rows, table, form=task.form)
    for run in table.runs:
        console.print(f"{run.run}: {table.unit}, search {run.search}", highlight=False)


@contextmanager
def messages_to_standard_error() -> Iterator[None]:
    """Within the block, print everything but tables to standard error."""
    before = console.stderr
    console.stderr = True
    try:
        yield
    finally:
        console.stderr = before


# ----------------------------------------------------------------------------
# task=surprisal: write a table of the surprisal of every word, from every run.


def run_surprisal(settings: EvaluateSettings, task: SurprisalTask) -> None:
    """Score the input with every run, and write one long table.

    With ``output=-``, standard output has the table alone; all else goes to standard error.
    """
    path = surprisal_file(settings, task)
    if path is None:
        with messages_to_standard_error():
            _run(settings, task, None)
    else:
        require_writable(path.parent)  # before hours of work
        with only_writer(path):
            _run(settings, task, path)


def _run(settings: EvaluateSettings, task: SurprisalTask, path: Path | None) -> None:
    runs = asked_runs(settings)
    check_form(path or on_standard_output(task), task.form, runs=len(runs))
    require_one_measure(runs)
    skipped = list(runs.skipped)
    read = _inputs(task, runs)
    require_known_input(runs, [[one.sentence for one in given] for given in read], task)
    words = [[stimulus.sentence.words for stimulus in given] for given in read]
    spread_jobs([ScoringJob(*run, chunk=task.chunk) for run in zip(runs, words, strict=True)])
    inputs = dict(zip(map(id, runs), read, strict=True))
    scored = each_whole(runs, lambda one: _scored(one, inputs[id(one)], task), skipped)
    rows = [row for _, (found, _, _) in scored for row in found]
    headers = [header for _, (_, header, _) in scored]
    policy: EndPolicy = "row" if task.end else "none"
    table = replace(_header(headers, policy, skipped), measure=runs[0].measure)
    order = models_in_order(one.name.model for one, _ in scored)
    ranked = sorted(scored, key=lambda each: order.index(each[0].name.model))
    shown = [ScoredRun(one.name.run, inputs[id(one)], found) for one, (found, _, _) in ranked]
    if shown and len(read[0]) <= task.shown and path is not None:
        print_cells(shown, measure=table.measure)
    write_output(path, rows, table, task)
    print_search(runs)
    unconverged = [note for _, (_, _, notes) in scored for note in notes]
    for note in (*scoring_notes(runs), *unconverged):
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    for header in headers:
        for failure in header.failures:
            problem = f"{failure.place}: no hypothesis survived; {failure.remedy}"
            console.print(problem, soft_wrap=True)
    count = plural(len(read[0]), "sentence")
    where = "" if path is None else f": {path}"
    console.print(f"{count} from {plural(len(headers), 'run')}{where}", soft_wrap=True)
    conclude(skipped, runs.skipped)


def _header(
    headers: Sequence[RunHeader], policy: EndPolicy, skipped: Sequence[RunStatus]
) -> TableHeader:
    return TableHeader(
        runs=tuple(headers),
        end_of_sentence=policy,
        skipped=tuple(status.reason for status in skipped),
    )


def _inputs(task: SurprisalTask, runs: Sequence[Run]) -> list[list[Stimulus]]:
    """Return, for each run, the input cleaned and divided into words like its corpus."""
    text = read_input(task.input, task.column)
    inputs = [
        read_as(run, text, tokenised=task.tokenised, segmenter=task.segmenter) for run in runs
    ]
    named = zip(runs, inputs, strict=True)
    check_alignment({str(run.path): [one.sentence for one in found] for run, found in named})
    return inputs


def _scored(
    run: Run, stimuli: Sequence[Stimulus], task: SurprisalTask
) -> tuple[list[SurprisalRow], RunHeader, list[str]]:
    """Return the rows of a run, how they were computed, and notes for the reader."""
    sentences = [stimulus.sentence for stimulus in stimuli]
    words = [sentence.words for sentence in sentences]
    with words_progress(str(run.path), sum(map(len, words))) as on_words:
        scored = run.scored(words, on_words=on_words, chunk=task.chunk)
    carried = [member.carried for member in stimuli]
    rows, header = rows_and_header(
        run, sentences, scored, end=task.end, columns=task.columns, carried=carried
    )
    return rows, header, unconverged_notes(run, words, scored)


# ----------------------------------------------------------------------------
# task=perplexity: perplexity of models on a split of their own or of named corpora.


def perplexity_file(settings: EvaluateSettings) -> Path:
    """Return the file of the table."""
    return Path(settings.output) / PERPLEXITY.file


@sole_writer_of(perplexity_file)
def run_perplexity(settings: EvaluateSettings, task: PerplexityTask) -> None:
    """Compute the perplexity of every run on a split of its own or of named corpora."""
    runs = asked_runs(settings)
    skipped = list(runs.skipped)
    rows = printed_perplexities(
        runs,
        settings,
        split=task.split,
        limit=task.marginal_sentences,
        corpora=settings.named_corpora,
        skipped=skipped,
        allow_unknown=task.allow_unknown,
    )
    path = perplexity_file(settings)
    frame = perplexity_frame(rows)
    is_searched = any(run.is_syntactic for run in runs)
    search = search_in_words(plain(settings.search)) if is_searched else None
    write_table(path, frame, PERPLEXITY.header(frame.columns, split=task.split, search=search))
    console.print(f"Written to {path}")
    conclude(skipped, runs.skipped)


def printed_perplexities(
    runs: Sequence[Run],
    settings: EvaluateSettings,
    *,
    split: Split,
    limit: int | None,
    corpora: Sequence[DataSettings] = (),
    skipped: list[RunStatus] | None = None,
    allow_unknown: bool = False,
) -> list[PerplexityRow]:
    """Return the rows of all corpora; print the table of each as soon as it is complete.

    Damaged runs among several are added to ``skipped``.
    """
    rows: list[PerplexityRow] = []
    for of_run in perplexities(
        runs,
        split=split,
        marginal_sentences=limit,
        cache=Path(settings.paths.cache),
        corpora=corpora,
        skipped=skipped,
        processes=settings.paths.preparation_processes,
        allow_unknown=allow_unknown,
    ):
        title = f"{of_run.corpus}: perplexity per word ({split} split)"
        console.print(as_table(of_run.rows, title=title, caption=of_run.caption))
        rows += of_run.rows
    return rows


# ----------------------------------------------------------------------------
# task=parse: the best trees of sentences, their accuracy, and the convergence of the search.


PARSES_FOLDER = "parses"
_COLUMNS = ("run", "sentences", "precision", "recall", "F1", "exact match", "best parse")


@sole_writer_of(lambda settings: Path(settings.output) / PARSES_FOLDER)
def run_parse(settings: EvaluateSettings, task: ParseTask) -> None:
    """Parse with every syntactic model; write trees, and F1 if gold trees are available."""
    runs_asked = asked_runs(settings)
    runs = [run for run in runs_asked if run.is_syntactic]
    if not runs:
        raise RunError(
            f"{', '.join(settings.run_folders)}: no run of a syntactic model at or below; "
            "train one with 'python train.py model=rnng' (or plm), or set run="
        )
    table = FittedTable("Labelled bracketing", elsewhere=BRACKETING.file)
    for name in _COLUMNS:
        table.column(name, right=name != "run")
    text = read_input(task.input) if task.input is not None else None
    if text is not None:
        require_known_input(runs, [_sentences(candidate, text, task) for candidate in runs], task)
    folder = Path(settings.output) / PARSES_FOLDER
    skipped = list(runs_asked.skipped)
    about = how_made(settings=plain(settings))
    places = dict(zip(map(id, runs), file_places(runs), strict=True))
    how = search_in_words(plain(settings.search))
    with results_folder(folder, about=about) as temporary:
        parsed_runs = each_whole(
            runs,
            lambda candidate: _parsed(candidate, text, temporary / places[id(candidate)], task),
            skipped,
        )
        rows = [row for _, row in parsed_runs]
        for row in rows:
            table.add_row(*[_cell(value) for value in row.values()])
        frame = BRACKETING.frame(rows)
        write_table(
            temporary / BRACKETING.file, frame, BRACKETING.header(frame.columns, search=how)
        )
        about |= skip_facts(skipped)
    console.print(table)
    print_search(runs)
    console.print(f"Trees: {folder}")
    conclude(skipped, runs_asked.skipped)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _parsed(run: Run, text: GivenText | None, place: Path, task: ParseTask) -> dict[str, object]:
    """Parse with one run; ``place`` is the beginning of its file names."""
    sentences = _sentences(run, text, task)
    words = [sentence.words for sentence in sentences]
    with words_progress(str(run.path), sum(map(len, words))) as on_words:
        parses_found = parsed(run, words, k=task.k_best, on_words=on_words)
    parses = [one.trees for one in parses_found]
    write_text(place.with_name(f"{place.name}.trees"), trees_text(parses))
    mass = mass_rows(words, [one.best_shares for one in parses_found])
    header = {
        "table": "best parse",
        "unit": "share of the probability of the words so far, from 0 to 1",
        "run": run.name.run,
        "search": search_in_words(plain(run.search)),
    }
    best_parse = place.with_name(f"{place.name}_best_parse.csv")
    write_table(best_parse, [asdict(row) for row in mass], header)
    if task.convergence:
        _show_convergence(run, words)
    best = [parse[0][1] if parse else None for parse in parses]
    score = _score([one.tree for one in sentences], best, run, task)
    total = score.total if score else None
    return {
        "run": run.name.run,
        "sentences": len(words),
        "precision": total.precision if total else None,
        "recall": total.recall if total else None,
        "f1": total.f1 if total else None,
        "exact_match": score.exact_match if score else None,
        "best_parse_share": mean_best_share(mass),
    }


def _sentences(run: Run, text: GivenText | None, task: ParseTask) -> list[Sentence]:
    """Return the input, cleaned like the run's corpus, or a split of that corpus."""
    if text is None:
        return list(run.data.preparation().sentences(task.split))[: task.sentences]
    return [stimulus.sentence for stimulus in read_as(run, text, tokenised=task.tokenised)][
        : task.sentences
    ]


def _score(
    gold: Sequence[Tree | None], parsed: Sequence[Tree | None], run: Run, task: ParseTask
) -> Bracketing | None:
    trees = [tree for tree in gold if tree is not None]
    if len(trees) < len(gold):
        return None
    if not task.ignore_punctuation:
        return bracketing(trees, parsed, Conventions(punctuation="counted"))
    return bracketing(trees, parsed, Conventions(punctuation=run.vocabulary.language))


def _show_convergence(run: Run, sentences: Sequence[Words]) -> None:
    if not isinstance(run.search, WordSync):
        return
    rows = convergence(lambda wider: run.scorer(search=wider).word_log_probs(sentences), run.search)
    console.print(convergence_table(rows))
