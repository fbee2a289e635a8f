"""Score the sentences of corpora with runs: totals of a split, and perplexities with notes.

``runs.training`` asks for the totals of the held-out splits, ``task=perplexity``, suites, studies
and :meth:`Run.perplexity` for perplexities. Numbers of different vocabularies are shown with a
note, never made comparable here; what a perplexity is, ``eval.perplexity`` says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gardenpath.console import show_counting, track_runs, words_progress
from gardenpath.data.corpus import BatchSettings, DataSettings
from gardenpath.data.encoding import EncodedSplit
from gardenpath.data.pcfg import ExactModel
from gardenpath.data.preparation import Preparation, PreparedCorpus, UnknownLabelsError, encode_with
from gardenpath.data.readers.treebanks import ToyTreebank
from gardenpath.data.sentence import Sentence, Split
from gardenpath.errors import RunError
from gardenpath.eval.perplexity import (
    JOINT,
    MARGINAL,
    ModelPerplexity,
    Perplexity,
    PerplexityRow,
    compare,
    error_notes,
    estimate_errors,
    measure,
    perplexity_frame,
)
from gardenpath.eval.search.settings import search_in_words
from gardenpath.models.family import SyntacticFamily
from gardenpath.models.output import Totals
from gardenpath.runs.run import Run, each_whole, how_scored, scoring_notes, whole_runs
from gardenpath.runs.text import require_known, unknown_words
from gardenpath.settings.schema import plain
from gardenpath.store.run_folder import RunStatus
from gardenpath.store.surprisals import Matters, Stored
from gardenpath.util import Words

if TYPE_CHECKING:
    import pandas as pd


_BATCHES = BatchSettings(max_tokens=4096, max_sentences=64)
# Number of sentences whose scores are held in memory.
SCORED_AT_ONCE = 20_000


def score_split(run: Run, preparation: Preparation, corpus: PreparedCorpus, split: Split) -> Totals:
    """Score the words of a split or, for syntactic models, its words with their gold trees."""
    if run.is_syntactic:
        return joint_with_gold_trees(run, corpus, split)
    from gardenpath.models.ngram.model import NgramScorer
    from gardenpath.models.sequential.networks import SequentialScorer

    scorer = run.scorer()
    assert isinstance(scorer, SequentialScorer | NgramScorer)
    if run.vocabulary.content_hash == corpus.vocabulary.content_hash:
        encoded = corpus.split(split)
        bounds = itertools.pairwise([*range(0, len(encoded), SCORED_AT_ONCE), len(encoded)])
        parts = (encoded.take(np.arange(start, end)) for start, end in bounds)
        log_probs = itertools.chain.from_iterable(map(scorer.split_log_probs, parts))
    else:
        # A model from an ARPA file has its own vocabulary, and words that are rare in the corpus
        # are not part of the prepared corpus; only then the corpus is read again.
        texts = (sentence.words for sentence in preparation.sentences(split))
        lists = iter(lambda: list(itertools.islice(texts, SCORED_AT_ONCE)), [])
        log_probs = itertools.chain.from_iterable(map(scorer.word_log_probs, lists))
    word = end = 0.0
    words = sentences = 0
    for scores in log_probs:
        word += float(scores[:-1].sum())
        end += float(scores[-1])
        words += len(scores) - 1
        sentences += 1
    return Totals(log_prob={"word": word, "end": end}, words=words, sentences=sentences)


def joint_with_gold_trees(run: Run, corpus: PreparedCorpus, split: Split) -> Totals:
    """Return the joint probability of the sentences of a split and their gold trees."""
    if run.vocabulary.content_hash != corpus.vocabulary.content_hash:
        raise RunError(
            f"{run.path}: the vocabulary of the corpus has changed since the model was trained; "
            "restore the corpus, or train again"
        )
    return joint_of(run, corpus.split(split))


def joint_of(run: Run, encoded: EncodedSplit) -> Totals:
    """Return the joint probability of sentences and trees, encoded with the run's vocabulary."""
    from gardenpath.data.batches.tokens import BatchLoader
    from gardenpath.models.output import joint_totals

    family = run.model.family
    assert isinstance(family, SyntacticFamily)
    collate = family.make_collate(run.settings.model, encoded, run.vocabulary)
    batches = BatchLoader(encoded.lengths, collate=collate, settings=_BATCHES)
    return joint_totals(run.trained.network(), batches)


# ----------------------------------------------------------------------------
# Perplexities of runs on a split of their own or of other corpora, with exact grammars.


_CAPTIONS = {
    JOINT: "joint: of words together with their gold trees",
    MARGINAL: "marginal: of words alone, summed over the trees found by search",
}


@dataclass(frozen=True)
class CorpusPerplexities:
    """The rows of one corpus, and notes for the reader."""

    corpus: str
    rows: Sequence[PerplexityRow]
    caption: str


def perplexities_of_runs(
    runs: Iterable[Run],
    *,
    split: Split = "test",
    marginal_sentences: int | None = None,
    data: DataSettings | None = None,
    allow_unknown: bool = False,
) -> pd.DataFrame:
    """Return one row per run (two for syntactic models), and rows for exact grammars.

    With ``data``, every run is scored on this corpus instead of its own; if a run does not know
    most of its words, it is refused unless ``allow_unknown`` is set.
    """
    rows = perplexities(
        list(runs),
        split=split,
        marginal_sentences=marginal_sentences,
        corpora=[] if data is None else [data],
        skipped=getattr(runs, "skipped", None),
        allow_unknown=allow_unknown,
    )
    return perplexity_frame([row for corpus in rows for row in corpus.rows])


def perplexities(
    runs: Iterable[Run],
    *,
    split: Split,
    marginal_sentences: int | None,
    cache: Path | None = None,
    corpora: Sequence[DataSettings] = (),
    skipped: list[RunStatus] | None = None,
    processes: int | None = None,
    allow_unknown: bool = False,
) -> Iterator[CorpusPerplexities]:
    """Yield the perplexities of runs, corpus by corpus.

    Each run is scored on its own corpus or, with ``corpora``, on each of these that has its
    language. A run maps the words of another corpus with its own vocabulary. ``cache`` is the
    folder of prepared corpora; None uses the one that the runs were trained with. Damaged runs
    among several are left out and added to ``skipped``. ``processes`` read a corpus that is not
    prepared yet; None uses all cores for large corpora.
    """
    left_out = [] if skipped is None else skipped
    members = whole_runs(runs, left_out)
    how_scored(members)
    if masked := [run for run in members if run.measure == "pll"]:
        raise RunError(
            f"{masked[0].path}: a masked model gives pseudo-log-likelihoods; there is no "
            "perplexity; name other runs with run="
        )
    for data in corpora:
        yield _of_another_corpus(data, members, split, marginal_sentences, left_out, allow_unknown)
    if corpora:
        return
    members.sort(key=lambda run: str(run.data))
    for data, grouped in itertools.groupby(members, key=lambda run: run.data):
        of_corpus = list(grouped)
        place = cache or Path(of_corpus[0].trained.settings.paths.cache)
        prepare = partial(data.preparation().prepare, place, processes=processes)
        yield _of_own_corpus(data, of_corpus, prepare, split, marginal_sentences, left_out)


def _of_own_corpus(
    data: DataSettings,
    runs: Sequence[Run],
    prepare: Callable[..., PreparedCorpus],
    split: Split,
    limit: int | None,
    skipped: list[RunStatus],
) -> CorpusPerplexities:
    corpus = prepare(progress=show_counting)
    sentences = [sentence.words for sentence in data.preparation().sentences(split)]

    def joint(run: Run) -> ModelPerplexity:
        totals = joint_with_gold_trees(run, corpus, split)
        return _named(run, as_perplexity(totals), sentences, JOINT)

    texts = [(run, sentences) for run in runs]
    measured = _measured(data.name, texts, joint, limit, _known_to_all(runs), skipped)
    notes = [*scoring_notes(runs), *_vocabulary_notes(runs, sentences)]
    return _compared(data, measured, [sentences], notes)


def _of_another_corpus(
    data: DataSettings,
    runs: Sequence[Run],
    split: Split,
    limit: int | None,
    skipped: list[RunStatus],
    allow_unknown: bool,
) -> CorpusPerplexities:
    fitting = [run for run in runs if run.language in (None, data.language)]
    if not fitting:
        raise RunError(
            f"no run has the language of {data.name} ({data.language}); name others with run="
        )
    notes = [
        f"left out, because of another language than {data.name}: {run.path}"
        for run in runs
        if run not in fitting
    ]
    # Models may differ in how they read a corpus, for example in lower case.
    forms = {run.path: data.cleaned_like(run.cleaning) for run in fitting}
    read: list[tuple[DataSettings, list[Sentence]]] = []
    for form in forms.values():
        if all(form != known for known, _ in read):
            read.append((form, list(form.preparation().sentences(split))))
    own = {
        run.path: next(text for form, text in read if form == forms[run.path]) for run in fitting
    }
    texts = [(run, [sentence.words for sentence in own[run.path]]) for run in fitting]
    unknown = [unknown_words(run, words) for run, words in texts]
    require_known(unknown, allow_unknown=allow_unknown)
    notes += [str(counts) for counts in unknown if counts.unknown]

    def joint(run: Run) -> ModelPerplexity | None:
        sentences = own[run.path]
        missing = f"{run.path}: no joint perplexity:"
        if any(sentence.tree is None for sentence in sentences):
            notes.append(f"{missing} the corpus has no trees")
            return None
        try:
            encoded = encode_with(sentences, run.vocabulary, run.trained.subwords)
        except UnknownLabelsError as error:
            notes.append(f"{missing} {error}")
            return None
        words = [sentence.words for sentence in sentences]
        return _named(run, as_perplexity(joint_of(run, encoded)), words, JOINT)

    shared = _known_to_all(fitting) if len(read) == 1 else None
    measured = _measured(data.name, texts, joint, limit, shared, skipped)
    forms_read = [[sentence.words for sentence in sentences] for _, sentences in read]
    notes += scoring_notes(fitting)
    notes += _vocabulary_notes(fitting, forms_read[0], has_shared=shared is not None)
    return _compared(data, measured, forms_read, notes)


def _measured(
    corpus: str,
    texts: Sequence[tuple[Run, Sequence[Words]]],
    joint: Callable[[Run], ModelPerplexity | None],
    limit: int | None,
    is_shared: Callable[[str], bool] | None,
    skipped: list[RunStatus],
) -> list[ModelPerplexity]:
    """Return the perplexities of runs on their sentences: joint, if they have one, and of words.

    Several processes, if the runs ask for them, score the sentences into the store before.
    """
    from gardenpath.runs.processes import ScoringJob, spread_jobs

    sentences = dict(
        zip((run.path for run, _ in texts), (words for _, words in texts), strict=True)
    )
    jobs = []
    for run, words in texts:
        chosen = words[:limit] if run.is_syntactic else words
        jobs.append(ScoringJob(run, chosen, matters=_no_word_matters(chosen)))
    spread_jobs(jobs)

    def score(run: Run) -> list[ModelPerplexity]:
        of_trees = joint(run) if run.is_syntactic else None
        of_words = _of_words(run, sentences[run.path], limit, is_shared)
        return of_words if of_trees is None else [of_trees, *of_words]

    tracked = track_runs([run for run, _ in texts], f"scoring {corpus}")
    return [row for _, rows in each_whole(tracked, score, skipped) for row in rows]


def _no_word_matters(sentences: Sequence[Words]) -> Matters:
    """No standard error of a word must reach a tolerance: in the sum, errors average out."""
    return dict.fromkeys(sentences, ())


def _of_words(
    run: Run,
    sentences: Sequence[Words],
    limit: int | None,
    is_shared: Callable[[str], bool] | None,
) -> list[ModelPerplexity]:
    """Return the perplexity of words alone; for syntactic models, of the first ``limit``."""
    if run.is_syntactic and limit == 0:
        return []
    chosen = sentences[:limit] if run.is_syntactic else sentences
    with words_progress(f"scoring {run.path}", sum(map(len, chosen))) as on_words:
        scored = run.scored(chosen, on_words=on_words, matters=_no_word_matters(chosen))
    log_probs = [np.array(scored[tuple(words)].log_probs) for words in chosen]
    result = with_errors(measure(log_probs, chosen), chosen, scored)
    row = _named(run, result, chosen, MARGINAL if run.is_syntactic else "")
    if is_shared is None:
        return [row]
    of_shared = measure(log_probs, chosen, is_counted=is_shared)
    return [replace(row, shared_perplexity=of_shared.with_end)]


def with_errors(
    result: Perplexity, sentences: Sequence[Words], scored: Mapping[Words, Stored]
) -> Perplexity:
    """Add standard error and bias, if the log probabilities are estimates with replicates."""
    scored_sentences = [words for words in sentences if not np.isnan(scored[words].log_probs).any()]
    deviations = [
        spread for words in scored_sentences if (spread := scored[words].deviations) is not None
    ]
    if not scored_sentences or len(deviations) < len(scored_sentences):
        return result
    errors = estimate_errors(scored_sentences, [np.array(deviation) for deviation in deviations])
    return replace(result, error_nats=errors.error_nats, bias_nats=errors.bias_nats)


def _named(run: Run, result: Perplexity, sentences: Sequence[Words], kind: str) -> ModelPerplexity:
    name = run.name
    return ModelPerplexity(
        model=name.model + kind,
        seed=name.seed,
        result=result,
        trained_on=name.corpus,
        vocabulary=run.model.units.size,
        unknown_rate=_unknown_rate(run, sentences),
        search=search_in_words(plain(run.search)) if kind == MARGINAL else "",
    )


def _unknown_rate(run: Run, sentences: Sequence[Words]) -> float | None:
    """Return the fraction of unknown words; None if the units are subword pieces."""
    if not run.model.units.has_unknown:
        return None
    known = [run.knows(word) for words in sentences for word in words]
    return 1 - sum(known) / len(known) if known else 0.0


def _known_to_all(runs: Sequence[Run]) -> Callable[[str], bool] | None:
    """Return a test of words that all runs know; None if they have the same vocabulary."""
    if len({run.model.units.content_hash for run in runs}) < 2:
        return None
    return lambda word: all(run.knows(word) for run in runs)


def _vocabulary_notes(
    runs: Sequence[Run], sentences: Sequence[Words], *, has_shared: bool = True
) -> list[str]:
    """Say why perplexities of models with different vocabularies cannot be compared."""
    different = {run.model.units.content_hash: run for run in runs}
    if len(different) < 2:
        return []
    notes = [
        "The models have different vocabularies: perplexities are not comparable one to one, "
        "because an unknown word is predicted as one of a few classes."
    ]
    if has_shared:
        notes.append("shared words: perplexity of the words that all models know")
    for run in different.values():
        rate = _unknown_rate(run, sentences)
        if rate is None:
            unknown = "subword pieces, no unknown words"
        else:
            classes = {
                seen
                for words in sentences
                for word, seen in zip(words, run.model.seen_as(words), strict=True)
                if not run.knows(word)
            }
            kinds = f"{len(classes)} class{'es' * (len(classes) != 1)}"
            unknown = f"{rate:.1%} of the words are unknown, predicted as {kinds}"
        size = run.model.units.size
        units = f"{size:,} units" if size is not None else "units of its own"
        notes.append(f"{run.name.corpus}: {units}, {unknown}")
    return notes


def _compared(
    data: DataSettings,
    measured: Sequence[ModelPerplexity],
    texts: Sequence[Sequence[Words]],
    notes: Sequence[str],
) -> CorpusPerplexities:
    captions = [
        text for mark, text in _CAPTIONS.items() if any(m.model.endswith(mark) for m in measured)
    ]
    captions += [
        f"{row.model}: {row.result.failed} sentences without a surviving hypothesis are excluded"
        for row in measured
        if row.result.failed
    ]
    captions += [f"search: {words}" for words in dict.fromkeys(m.search for m in measured) if words]
    captions += error_notes(measured)
    captions += notes
    reader, exact = data.reader, None
    # The grammar gives probabilities to the words in its own form only.
    if isinstance(reader, ToyTreebank) and len(texts) == 1 and not data.cleaning.lowercase:
        sentences = texts[0]
        model = ExactModel(reader.rules)
        sizes = {len(sentences), *(row.result.sentences for row in measured)}
        exact = {
            size: measure(model.word_log_probs(sentences[:size]), sentences[:size])
            for size in sizes
        }
        entropy = reader.rules.derivation_entropy_bits
        captions.insert(0, f"entropy of the grammar: {entropy:.2f} bits per sentence")
    return CorpusPerplexities(data.name, compare(data.name, measured, exact), "\n".join(captions))


def as_perplexity(totals: Totals) -> Perplexity:
    """Convert totals; in a joint model, the end of a sentence is part of its last action."""
    nats = {kind: -value for kind, value in totals.log_prob.items()}
    end_nats = nats.pop("end", None)
    return Perplexity(
        sentences=totals.sentences,
        words=totals.words,
        word_nats=sum(nats.values()),
        end_nats=end_nats,
    )
