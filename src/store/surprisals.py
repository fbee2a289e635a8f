"""A store of computed surprisals, in one SQLite file for all models, and scoring through it.

An entry contains the log probabilities of the words of one sentence and of its end, under one model
key, which identifies everything that determines the numbers. Whoever scores sentences calls
:func:`score_through`, so that none is computed twice; several processes may read and write the
file at once. Every row has a checksum; a damaged row raises an error and never yields a number.

The file uses SQLite's write-ahead log, which requires a local disk. On network file systems, and
wherever that log cannot be used, SQLite's older rollback journal is used instead; it is slower but
works on file systems with POSIX locks.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import signal
import sqlite3
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gardenpath.errors import InputError, ScoringStoppedError, StoppedError
from gardenpath.safe_text import parse_json
from gardenpath.store.files import canonical, digest, is_network, locked, whole_file
from gardenpath.store.tables import SURPRISAL_SE
from gardenpath.util import Words, bits

STORE_VERSION = 2

# The best partial parses of each word, with their posterior shares.
Parses = Sequence[Sequence[tuple[float, str]]]

# "GPsu": distinguishes these files from other SQLite files.
_APPLICATION = 0x47507375

_TABLE = """
CREATE TABLE surprisals (
    model_key TEXT NOT NULL,
    sentence TEXT NOT NULL,   -- JSON list of words
    log_probs BLOB NOT NULL,  -- little-endian float64, nats: the words and, last, the end
    remedy TEXT,              -- what to do about a failed search
    parses TEXT,              -- JSON: per word a list of [share, tree]
    checksum TEXT NOT NULL,
    column_names TEXT,        -- JSON list of names
    column_values BLOB,       -- little-endian float64, column by column
    deviations BLOB,          -- little-endian float32, bits, word by word
    PRIMARY KEY (model_key, sentence)
)
"""

_FIELDS = (
    "model_key, sentence, log_probs, remedy, parses, checksum, column_names, column_values, "
    "deviations"
)
_PUT = f"INSERT OR REPLACE INTO surprisals ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_GET = f"SELECT {_FIELDS} FROM surprisals WHERE model_key = ? AND sentence IN ({{}})"
_NEXT = f"""
SELECT {_FIELDS} FROM surprisals
WHERE (model_key, sentence) > (?, ?) ORDER BY model_key, sentence LIMIT ?
"""

# SQLite allows at least 999 variables in a statement.
_PER_SELECT = 500

# Seconds that a writer waits for others.
_PATIENCE = 120.0

# Errors of the environment, not of the file's content.
_OUTSIDE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_AUTH,
}  # fmt: skip

_Row = tuple[
    str, str, bytes, str | None, str | None, str, str | None, bytes | None, bytes | None
]  # fmt: skip


@dataclass(frozen=True)
class Stored:
    """The stored scores of one sentence.

    ``log_probs`` are in nats: those of the words and, last, of the end; NaN if a search failed, in
    which case ``remedy`` says what to do. ``parses`` contains, for each word, the best partial
    parses with their shares, if requested. A search also gives ``columns``: further numbers of the
    words and the end, by name (``SEARCH_COLUMNS`` of :mod:`gardenpath.store.tables`). A search with
    replicates gives ``deviations``: for each word and the end, by how many bits the surprisal of
    each replicate deviates from the reported one (:mod:`replicates`).
    """

    log_probs: Sequence[float]
    remedy: str | None = None
    parses: Parses | None = None
    columns: Mapping[str, Sequence[float]] = field(default_factory=dict)
    deviations: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_probs", tuple(map(float, self.log_probs)))
        if self.parses is not None:
            parses = tuple(
                tuple((float(share), str(tree)) for share, tree in word) for word in self.parses
            )
            object.__setattr__(self, "parses", parses)
        columns = {name: tuple(map(float, values)) for name, values in self.columns.items()}
        object.__setattr__(self, "columns", columns)
        if self.deviations is not None:
            deviations = tuple(tuple(map(float, word)) for word in self.deviations)
            object.__setattr__(self, "deviations", deviations)

    @property
    def surprisal_bits(self) -> tuple[float, ...]:
        """Surprisal in bits of the words and, last, of the end."""
        return tuple(bits(value) for value in self.log_probs)

    @property
    def replicates(self) -> int:
        """Number of replicates; 0 if the search has none."""
        return len(self.deviations[0]) if self.deviations else 0


class SurprisalStore:
    """A file of surprisals; safe for concurrent use and across forks (each call reopens it)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, model_key: str, sentences: Iterable[Sequence[str]]) -> dict[Words, Stored]:
        """Return the stored scores of sentences; sentences that are not stored are omitted."""
        keys = [_sentence_key(words) for words in dict.fromkeys(map(tuple, sentences))]
        if not keys or not self.path.exists():
            return {}
        with self._opened("BEGIN") as connection:
            return self._entries(connection, model_key, keys)

    def _entries(
        self, connection: sqlite3.Connection, model_key: str, keys: Sequence[str]
    ) -> dict[Words, Stored]:
        entries: dict[Words, Stored] = {}
        wanted = set(keys)
        for begin in range(0, len(keys), _PER_SELECT):
            some = keys[begin : begin + _PER_SELECT]
            select = _GET.format(",".join("?" * len(some)))
            for row in connection.execute(select, (model_key, *some)):
                words, stored = self._checked(row)
                # A damaged index leads to a valid row of another model or sentence.
                if row[0] != model_key or row[1] not in wanted:
                    raise self._damaged("the index names a wrong row")
                entries[words] = stored
        return entries

    def put(self, model_key: str, scored: Mapping[Words, Stored]) -> None:
        """Add sentences in one transaction: all of them or, if the process is killed, none.

        A stored sentence keeps its numbers, so that all readers get the same ones, unless the new
        ones say more: they have the columns of a search and the stored ones have none, or they are
        the means of more replicates. Parses are added to an entry without, and never lost.
        """
        rows = {words: _row(model_key, words, stored) for words, stored in scored.items()}
        if not rows:
            return
        if not self.path.exists():
            self._create()
        with self._opened("BEGIN IMMEDIATE") as connection:
            keys = [row[1] for row in rows.values()]
            for words, old in self._entries(connection, model_key, keys).items():
                kept = _joined(old, scored[words])
                if kept is old:
                    del rows[words]
                elif kept is not scored[words]:
                    rows[words] = _row(model_key, words, kept)
            connection.executemany(_PUT, rows.values())
            connection.execute("COMMIT")

    def add_from(self, other: SurprisalStore) -> int:
        """Add the entries of another file; return their number.

        Entries of this file are kept unless the others say more, as in :meth:`put`.
        """
        count = 0
        last = ("", "")
        while True:
            with other._opened("BEGIN") as connection:
                rows = connection.execute(_NEXT, (*last, _PER_SELECT)).fetchall()
            if not rows:
                return count
            by_model: dict[str, dict[Words, Stored]] = {}
            for row in rows:
                words, stored = other._checked(row)
                by_model.setdefault(row[0], {})[words] = stored
            for model_key, scored in by_model.items():
                self.put(model_key, scored)
            count += len(rows)
            last = rows[-1][:2]

    @contextmanager
    def _opened(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction, if the file is of the version that is read here."""
        uri = f"file:{quote(str(self.path.absolute()))}?mode=rw"
        with self._explained():
            connection = sqlite3.connect(
                uri, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            with closing(connection):
                self._require_known(connection)
                if _value(connection, "PRAGMA journal_mode") == "wal":
                    # A kill loses nothing; a power failure may lose the last transactions.
                    connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(begin)
                yield connection

    def _require_known(self, connection: sqlite3.Connection) -> None:
        version = _value(connection, "PRAGMA user_version")
        is_ours = _value(connection, "PRAGMA application_id") == _APPLICATION and version >= 1
        if not is_ours or version < STORE_VERSION:
            raise InputError(
                "is a file of surprisals of a version before 0.2.0, which is no longer read"
                if is_ours
                else "is not a file of surprisals",
                path=self.path,
                remedy=f"{self._delete}, or set another paths.surprisals=",
            )
        if version > STORE_VERSION:
            raise InputError(
                f"was written by a newer version of Gardenpath (format {version}; this version "
                f"reads {STORE_VERSION})",
                path=self.path,
                remedy="update Gardenpath, or set another paths.surprisals=",
            )

    def _create(self) -> None:
        """Create the file under a lock, so that it appears complete and only once."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        with locked(lock, what=f"the file of surprisals {self.path}", wait=_PATIENCE):
            if self.path.exists():
                return
            for name in self._companions:  # left by a deleted file
                name.unlink(missing_ok=True)
            with (
                self._explained(),
                whole_file(self.path) as temporary,
                closing(sqlite3.connect(temporary, isolation_level=None)) as connection,
            ):
                if not is_network(temporary):
                    with contextlib.suppress(sqlite3.OperationalError):
                        connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(_TABLE)
                connection.execute(f"PRAGMA application_id={_APPLICATION}")
                connection.execute(f"PRAGMA user_version={STORE_VERSION}")

    @property
    def _companions(self) -> tuple[Path, ...]:
        return tuple(
            self.path.with_name(f"{self.path.name}{suffix}")
            for suffix in ("-wal", "-shm", "-journal")
        )

    @property
    def _delete(self) -> str:
        names = " and ".join(path.name for path in (self.path, *self._companions[:2]))
        return f"delete {names}; surprisals are then computed again"

    def _checked(self, row: _Row) -> tuple[Words, Stored]:
        """Decode a row after verifying its checksum."""
        try:
            model_key, sentence, blob, remedy, parses, checksum, names, values, deviations = row
            words = tuple(parse_json(sentence, any_string=True))
            if checksum != _checksum(
                model_key, sentence, blob, remedy, parses, names, values, deviations
            ):
                raise ValueError("wrong checksum")
            length = len(words) + 1
            return words, Stored(
                struct.unpack(f"<{length}d", blob),
                remedy,
                None if parses is None else parse_json(parses, any_string=True),
                _unpacked_columns(names, values, length),
                _unpacked_deviations(deviations, length),
            )
        except (ValueError, TypeError, AttributeError, struct.error) as error:
            raise self._damaged(str(error)) from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert SQLite errors into messages that name the file and the remedy."""
        try:
            yield
        except UnicodeDecodeError as error:  # names in the file that are no longer text
            raise self._damaged(str(error)) from error
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code not in _OUTSIDE:
                raise self._damaged(str(error)) from error
            raise InputError(
                f"cannot be used: {error}",
                path=self.path,
                remedy="check permissions, free space and other processes that use it, or set "
                "another paths.surprisals=",
            ) from error

    def _damaged(self, problem: str) -> InputError:
        return InputError(f"is damaged: {problem}", path=self.path, remedy=self._delete)


def _sentence_key(words: Sequence[str]) -> str:
    return canonical(list(words))


def _joined(old: Stored, new: Stored) -> Stored:
    """Return what is kept of two entries of a sentence: the numbers that say more, and parses."""
    says_more = (bool(new.columns), new.replicates) > (bool(old.columns), old.replicates)
    kept, other = (new, old) if says_more else (old, new)
    if kept.parses is not None or other.parses is None:
        return kept
    return replace(kept, parses=other.parses)


def _row(model_key: str, words: Words, stored: Stored) -> _Row:
    """Return the row of an entry; its numbers must be as many as the words and the end."""
    length = len(words) + 1
    if len(stored.log_probs) != length:
        raise ValueError(
            f"{len(stored.log_probs)} log probabilities for {len(words)} words and the end"
        )
    for name, values in stored.columns.items():
        if len(values) != length:
            raise ValueError(f"column {name} has {len(values)} values, not {length}")
    if stored.deviations is not None and (
        len(stored.deviations) != length or len(set(map(len, stored.deviations))) != 1
    ):
        raise ValueError(f"deviations are not {length} rows of as many replicates each")
    sentence = _sentence_key(words)
    blob = _packed("d", [stored.log_probs])
    parses = None if stored.parses is None else json.dumps(stored.parses)
    names = json.dumps(list(stored.columns)) if stored.columns else None
    columns = _packed("d", stored.columns.values()) if stored.columns else None
    deviations = None if stored.deviations is None else _packed("f", stored.deviations)
    checksum = _checksum(
        model_key, sentence, blob, stored.remedy, parses, names, columns, deviations
    )
    return (
        model_key, sentence, blob, stored.remedy, parses, checksum, names, columns, deviations
    )  # fmt: skip


def _packed(kind: str, rows: Iterable[Sequence[float]]) -> bytes:
    """Return the numbers of all rows, little-endian: ``d`` in double, ``f`` in single precision."""
    flat = [value for row in rows for value in row]
    return struct.pack(f"<{len(flat)}{kind}", *flat)


def _unpacked_columns(
    names: str | None, values: bytes | None, length: int
) -> dict[str, tuple[float, ...]]:
    """Return columns from their names and values; raises ValueError or struct.error."""
    if names is None and values is None:
        return {}
    if names is None or values is None:
        raise ValueError("columns without names, or names without columns")
    listed = parse_json(names, any_string=True)
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise ValueError("names of columns are not a list of texts")
    flat = struct.unpack(f"<{len(listed) * length}d", values)
    columns = {name: flat[n * length : (n + 1) * length] for n, name in enumerate(listed)}
    if len(columns) != len(listed) or not columns:
        raise ValueError("a column occurs twice, or there is none")
    return columns


def _unpacked_deviations(blob: bytes | None, length: int) -> list[tuple[float, ...]] | None:
    """Return ``length`` rows of deviations; raises ValueError or struct.error."""
    if blob is None:
        return None
    replicates, rest = divmod(len(blob), struct.calcsize("f") * length)
    if rest:
        raise ValueError("deviations are not as many for each word")
    flat = struct.unpack(f"<{replicates * length}f", blob)
    return [flat[n * replicates : (n + 1) * replicates] for n in range(length)]


def _checksum(
    model_key: str,
    sentence: str,
    blob: bytes,
    remedy: str | None,
    parses: str | None,
    *others: str | bytes | None,
) -> str:
    """Return the checksum of a row: names and values of its columns and deviations come last."""
    parts = [model_key, sentence, blob.hex(), remedy, parses]
    further = [part.hex() if isinstance(part, bytes) else part for part in others]
    return digest(canonical(parts if further == [None] * 3 else [*parts, *further]))


def _value(connection: sqlite3.Connection, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]


# ---- What a stored sentence must have so that it need not be computed again

# Positions of each sentence whose surprisals matter, from 0; the number of words is the end.
Matters = Mapping[Words, Collection[int]]

# The search stops when its own errors, in double precision, reach the tolerance.
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True, kw_only=True)
class EntryNeeds:
    """What is asked of stored sentences; one that has less counts as missing.

    ``parses``: which sentences need parses: all, none, or those given. ``columns``: whether the
    numbers of a search are needed. ``tolerance_bits``: the largest standard error of a surprisal
    that ``matters`` (see :func:`places_of`), unless the sentence has ``max_replicates`` already;
    None accepts any error.
    """

    parses: bool | Collection[Words] = False
    columns: bool = False
    tolerance_bits: float | None = None
    max_replicates: int | None = None
    matters: Matters | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.parses, bool):
            object.__setattr__(self, "parses", frozenset(map(tuple, self.parses)))

    def are_met(self, words: Words, stored: Stored) -> bool:
        """Whether a stored sentence has all that is needed."""
        if self.columns and not stored.columns:
            return False
        needs_parses = self.parses if isinstance(self.parses, bool) else words in self.parses
        if needs_parses and stored.parses is None:
            return False
        errors = stored.columns.get(SURPRISAL_SE)
        if self.tolerance_bits is None or errors is None:
            return True
        if self.max_replicates is not None and stored.replicates >= self.max_replicates:
            return True
        largest = self.tolerance_bits * _ROUNDING
        # An undefined error is not too large: more replicates do not define it.
        return not any(errors[place] > largest for place in places_of(words, self.matters))


ANY_ENTRY = EntryNeeds()


def places_of(words: Words, matters: Matters | None) -> Collection[int]:
    """Return the positions of a sentence that matter: all, unless ``matters`` names some."""
    everything = range(len(words) + 1)
    return everything if matters is None else matters.get(words, everything)


# ---- Score sentences with the store: compute only missing ones, and store each chunk

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
    distinct = list(dict.fromkeys(map(tuple, sentences)))
    scored = {} if store is None else store.get(model_key, distinct)
    chunks = missing_chunks(scored, distinct, chunk=chunk, chunk_words=chunk_words, needs=needs)
    left = sum(map(len, chunks))
    progress(sum(map(len, distinct)) - sum(len(words) for members in chunks for words in members))
    try:
        for members in chunks:
            computed = dict(zip(members, compute(members), strict=True))
            if store is not None:
                store.put(model_key, computed)
                # Another job may have been faster; somebody may even have deleted the file.
                computed |= store.get(model_key, members)
            scored.update(computed)
            left -= len(members)
            progress(sum(map(len, members)))
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, StoppedError) else signal.SIGINT
        raise ScoringStoppedError(
            number,
            stored=len(distinct) - left,
            total=len(distinct),
            path=None if store is None else store.path,
        ) from stop
    return {words: scored[words] for words in distinct}


def missing_chunks(
    scored: Mapping[Words, Stored],
    sentences: Sequence[Words],
    *,
    chunk: int,
    chunk_words: int | None = None,
    needs: EntryNeeds = ANY_ENTRY,
) -> list[list[Words]]:
    """Divide the sentences that are not ``scored``, or lack what they need, into chunks, sorted.

    The sentences of a chunk are computed together: at most ``chunk``, and a chunk also ends with
    the sentence that gives it ``chunk_words``. Since its end does not depend on what follows, the
    chunks of a job remain the same if some of them, in any order, are stored already: several
    processes, and a job that was killed, compute the same chunks as one process does.
    """
    chunks: list[list[Words]] = []
    most_words = math.inf if chunk_words is None else chunk_words
    size, is_full = 0, True
    for words in sorted(sentences):
        if words in scored and needs.are_met(words, scored[words]):
            continue
        if is_full:
            chunks.append([])
            size = 0
        chunks[-1].append(words)
        size += len(words)
        is_full = len(chunks[-1]) == chunk or size >= most_words
    return chunks


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
