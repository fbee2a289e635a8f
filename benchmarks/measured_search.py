"""Searches of a run, measured: log probabilities, CPU time and work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.surprisal_errors import LogProbs
from gardenpath.data.arrays import Floats
from gardenpath.errors import GardenpathError
from gardenpath.eval.search.replicates import standard_error, t_quantile
from gardenpath.eval.search.scorer import StructuredScorer, word_deviations_of, word_log_probs_of
from gardenpath.eval.search.settings import SEARCHES, SearchSettings, WordSync
from gardenpath.runs.run import Run
from gardenpath.util import Words

# Scored before the clock starts, so that everything is loaded.
_WARM_UP: list[Words] = [("The",)]


@dataclass(frozen=True)
class Found:
    """What a search found, in CPU seconds, and the hypotheses that it advanced.

    ``states`` is None if the implementation does not count them. ``errors_bits`` is how far each
    surprisal may be off according to the search itself, with a probability of 95 %; None if it
    does not say.
    """

    log_probs: LogProbs
    words: int
    seconds: float
    states: int | None = None
    errors_bits: Sequence[Floats] | None = None

    @property
    def speed(self) -> float:
        """Words per CPU second."""
        return self.words / self.seconds

    @property
    def cost(self) -> float:
        """CPU seconds per word."""
        return self.seconds / self.words

    @property
    def states_per_word(self) -> float | None:
        """Hypotheses per word."""
        return None if self.states is None else self.states / self.words


def timed(search: Callable[[], LogProbs], sentences: Sequence[Words]) -> Found:
    """Run a search that has been prepared; its states are not counted."""
    begin = time.process_time()
    log_probs = search()
    return Found(log_probs, sum(map(len, sentences)), time.process_time() - begin)


def searched(
    run: Run, search: SearchSettings, sentences: Sequence[Words], *, together: int | None = None
) -> Found:
    """Search sentences with a new scorer, which remembers nothing of earlier ones.

    ``together`` is the number of sentences that are given to the scorer at once (None: all).
    """
    scorer = run.scorer(search=search)
    if not isinstance(scorer, StructuredScorer):
        raise GardenpathError(f"{run.path}: is not the run of an RNNG or a PLM")
    scorer.word_log_probs(_WARM_UP)
    before = scorer.work.expanded
    size = together or len(sentences)
    parts = [sentences[begin : begin + size] for begin in range(0, len(sentences), size)]
    errors: list[Floats] = []

    def run_parts() -> LogProbs:
        log_probs: list[Floats] = []
        for part in parts:
            results, split = scorer.search(part, keeps_history=False)
            for number, result in enumerate(results):
                how = {"boundary": scorer.boundary}
                log_probs.append(word_log_probs_of(result, split, number, **how))
                deviations = word_deviations_of(result, split, number, **how)
                if deviations is not None:
                    errors.append(t_quantile(result.replicates) * standard_error(deviations))
        return log_probs

    found = timed(run_parts, sentences)
    states = scorer.work.expanded - before
    return Found(found.log_probs, found.words, found.seconds, states, errors or None)


def parse_setting(text: str) -> SearchSettings:
    """Read ``kind:key=value,…``, such as ``word_sync:action_beam=200,word_beam=20``."""
    kind, _, rest = text.partition(":")
    if kind not in SEARCHES:
        raise GardenpathError(
            f"{text}: there is no search {kind}; use one of {', '.join(SEARCHES)}"
        )
    pairs = [part.partition("=") for part in rest.split(",") if part]
    try:
        return SEARCHES[kind](**{key.strip(): _value(value.strip()) for key, _, value in pairs})
    except TypeError as error:
        raise GardenpathError(
            f"{text}: {error}; settings are listed in docs/settings.md"
        ) from error


def _value(text: str) -> Any:
    known = {"true": True, "false": False, "null": None}
    if text in known:
        return known[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


_BEAMS = ("action_beam", "word_beam", "fast_track")


def in_short(search: SearchSettings) -> str:
    """Name a search by its beams, and by the settings that differ from the defaults of its kind."""
    values, defaults = search.result_settings(), type(search)().result_settings()
    beams = [str(values[key]) for key in _BEAMS if key in values]
    changed = [
        f"{key}={value}"
        for key, value in values.items()
        if value != defaults[key] and key not in _BEAMS
    ]
    return " ".join([str(values["kind"]), *(["/".join(beams)] if beams else []), *changed])


def series_of(search: SearchSettings) -> str:
    """Name the searches that differ in size only."""
    if not isinstance(search, WordSync):
        return str(search.kind)
    if search.margin_bits is not None:
        return "word_sync, within a margin"
    if search.fast_track == "word_beam":
        return "word_sync, words need no place"
    # As a number, words compete for places, also if it is as large as the word beam.
    wide = search.fast_track == search.word_beam
    return f"word_sync, fast track {'= word beam' if wide else search.fast_track}"
