"""Score sentences with the surprisal store: compute only missing ones, and store each chunk."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gardenpath.store.surprisal_store import Stored, SurprisalStore
from gardenpath.text import Words

# Scores sentences, in order.
Compute = Callable[[Sequence[Words]], Sequence[Stored]]


def score_through(
    store: SurprisalStore | None,
    model_key: str,
    sentences: Iterable[Sequence[str]],
    compute: Compute,
    *,
    chunk: int = 256,
    wants_parses: bool | Collection[Words] = False,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[Words, Stored]:
    """Return the scores of all sentences, from the store if available.

    Missing sentences are computed a ``chunk`` at a time, and each chunk is stored immediately, so
    that a killed job loses at most one chunk. Sentences are sorted by their words, so that those
    with a common prefix are in the same chunk. A restarted job forms the same chunks as an
    uninterrupted one, which matters if numbers depend on what is computed together.

    ``wants_parses`` says which sentences need parses: all, none, or those given. A sentence stored
    without parses is computed again if it needs them. ``progress`` is called with the number of
    words found or computed. If two jobs compute the same sentence at once, both return the scores
    stored first. Without a ``store``, everything is computed, also chunk by chunk.
    """
    asked = list(dict.fromkeys(map(tuple, sentences)))
    found = {} if store is None else store.get(model_key, asked)
    chunks = missing_chunks(found, asked, chunk=chunk, wants_parses=wants_parses)
    progress(sum(map(len, asked)) - sum(len(words) for members in chunks for words in members))
    for members in chunks:
        computed = dict(zip(members, compute(members), strict=True))
        if store is not None:
            store.put(model_key, computed)
            # Another job may have been faster; somebody may even have deleted the file.
            computed |= store.get(model_key, members)
        found.update(computed)
        progress(sum(map(len, members)))
    return {words: found[words] for words in asked}


def missing_chunks(
    found: Mapping[Words, Stored],
    asked: Sequence[Words],
    *,
    chunk: int,
    wants_parses: bool | Collection[Words] = False,
) -> list[list[Words]]:
    """Divide the sentences that are not ``found`` into chunks, which are computed together.

    A chunk ends when it is full, regardless of what follows, and is stored as a whole. Therefore
    the chunks of a job remain the same if some of them, in any order, are stored already: several
    processes, and a job that was killed, compute the same chunks as one process does.
    """
    parsed = _parsed(asked, wants_parses)
    missing = sorted(
        words
        for words in asked
        if words not in found or (words in parsed and found[words].parses is None)
    )
    return [missing[begin : begin + chunk] for begin in range(0, len(missing), chunk)]


def _parsed(asked: Sequence[Words], wants_parses: bool | Collection[Words]) -> set[Words]:
    """Return the sentences that need parses."""
    if isinstance(wants_parses, bool):
        return set(asked) if wants_parses else set()
    return set(map(tuple, wants_parses))


def first_call_of(progress: Callable[[int], None]) -> Callable[[int], None]:
    """Return a function that forwards only its first call, which reports the stored words.

    It is meant for models that report their own progress while they compute.
    """
    calls = itertools.count()
    return lambda words: None if next(calls) else progress(words)
