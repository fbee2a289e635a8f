"""Score sentences with the surprisal store: compute only missing ones, and store each chunk."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gardenpath.errors import ScoringStoppedError, StoppedError
from gardenpath.store.entries.entry_needs import ANY_ENTRY, EntryNeeds
from gardenpath.store.surprisal_store import Stored, SurprisalStore
from gardenpath.text import Words

# An interrupted job loses about as much at most.
_CHUNK_SECONDS = 60.0
# Multiplications and additions per second, as counted here: a PLM of 4 layers, 256 wide, with a
# beam of 100 needs 3.4e9 per word and scores 16 words per second on a core.
_CPU_SPEED = 5e10
_GPU_SPEED = 20 * _CPU_SPEED
# Actions of a syntactic model per word.
_STEPS_PER_WORD = 3

# Scores sentences, in order.
Compute = Callable[[Sequence[Words]], Sequence[Stored]]


def score_through(
    store: SurprisalStore | None,
    model_key: str,
    sentences: Iterable[Sequence[str]],
    compute: Compute,
    *,
    chunk: int = 256,
    chunk_words: int | None = None,
    needs: EntryNeeds = ANY_ENTRY,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[Words, Stored]:
    """Return the scores of all sentences, from the store if available.

    Missing sentences are computed a ``chunk`` at a time, or fewer if they have more than
    ``chunk_words`` words, and each chunk is stored immediately, so that a killed job loses at most
    one chunk. If a signal stops the job, a :class:`ScoringStoppedError` says how many are stored.
    Sentences are sorted by their words, so that those with a common prefix are in the same chunk. A
    restarted job forms the same chunks as an uninterrupted one, which matters if numbers depend on
    what is computed together.

    A sentence that is stored without what it ``needs``, such as parses, is computed again.
    ``progress`` is called with the number of words found or computed. If two jobs compute the same
    sentence at once, both return the scores stored first. Without a ``store``, everything is
    computed, also chunk by chunk.
    """
    asked = list(dict.fromkeys(map(tuple, sentences)))
    found = {} if store is None else store.get(model_key, asked)
    chunks = missing_chunks(found, asked, chunk=chunk, chunk_words=chunk_words, needs=needs)
    left = sum(map(len, chunks))
    progress(sum(map(len, asked)) - sum(len(words) for members in chunks for words in members))
    try:
        for members in chunks:
            computed = dict(zip(members, compute(members), strict=True))
            if store is not None:
                store.put(model_key, computed)
                # Another job may have been faster; somebody may even have deleted the file.
                computed |= store.get(model_key, members)
            found.update(computed)
            left -= len(members)
            progress(sum(map(len, members)))
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, StoppedError) else signal.SIGINT
        raise ScoringStoppedError(
            number,
            stored=len(asked) - left,
            total=len(asked),
            path=None if store is None else store.path,
        ) from stop
    return {words: found[words] for words in asked}


def missing_chunks(
    found: Mapping[Words, Stored],
    asked: Sequence[Words],
    *,
    chunk: int,
    chunk_words: int | None = None,
    needs: EntryNeeds = ANY_ENTRY,
) -> list[list[Words]]:
    """Divide the sentences that are not ``found``, or found without what they need, into chunks.

    The sentences of a chunk are computed together.
    """
    missing = sorted(
        words for words in asked if words not in found or not needs.are_met(words, found[words])
    )
    return list(chunks_of(missing, chunk, chunk_words))


def chunks_of(
    sentences: Sequence[Words], most: int, enough_words: int | None = None
) -> Iterator[list[Words]]:
    """Divide sentences into chunks of at most ``most`` sentences, in order.

    A chunk also ends with the sentence that gives it ``enough_words``. Since its end does not
    depend on what follows, the chunks of a job remain the same if some of them, in any order, are
    stored already: several processes, and a job that was killed, compute the same chunks as one
    process does.
    """
    members: list[Words] = []
    words = 0
    for sentence in sentences:
        members.append(sentence)
        words += len(sentence)
        if len(members) == most or (enough_words is not None and words >= enough_words):
            yield members
            members, words = [], 0
    if members:
        yield members


def words_per_chunk(weight_bytes: int, *, hypotheses: int = 1, is_gpu: bool = False) -> int:
    """Return the number of words that a network of this size scores in at most about a minute.

    ``hypotheses`` is the width of a search; 1 without one. The estimate depends on nothing that
    varies between two starts of a job, so that both form the same chunks.
    """
    steps = 1 if hypotheses == 1 else _STEPS_PER_WORD
    operations = 2 * (weight_bytes / 4) * hypotheses * steps
    speed = _GPU_SPEED if is_gpu else _CPU_SPEED
    return max(1, int(_CHUNK_SECONDS * speed / max(operations, 1.0)))


def first_call_of(progress: Callable[[int], None]) -> Callable[[int], None]:
    """Return a function that forwards only its first call, which reports the stored words.

    It is meant for models that report their own progress while they compute.
    """
    calls = itertools.count()
    return lambda words: None if next(calls) else progress(words)
