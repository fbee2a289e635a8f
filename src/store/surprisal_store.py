"""A store of computed surprisals, in one SQLite file for all models.

An entry contains the log probabilities of the words of one sentence and of its end, under one model
key. The key identifies everything that determines the numbers: the model and its search settings.
All tasks share the file, and several processes may read and write it at once. Every row has a
checksum; a damaged row raises an error and never yields a number.

The file uses SQLite's write-ahead log, which requires a local disk. On network file systems (see
:mod:`gardenpath.store.disks`), and wherever the write-ahead log cannot be used, SQLite's older
rollback journal is used instead; it is slower but works on file systems with POSIX locks.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gardenpath.errors import InputError
from gardenpath.safe_text import parse_json
from gardenpath.store.disks import is_network
from gardenpath.store.files import whole_file
from gardenpath.store.keys import canonical, digest
from gardenpath.store.locks import locked
from gardenpath.text import Words
from gardenpath.units import bits

STORE_VERSION = 1

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
    PRIMARY KEY (model_key, sentence)
)
"""

# Existing entries are kept, so that all readers get the same numbers; only parses are added.
_PUT = """
INSERT INTO surprisals (model_key, sentence, log_probs, remedy, parses, checksum)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (model_key, sentence) DO UPDATE SET
    log_probs = excluded.log_probs, remedy = excluded.remedy, parses = excluded.parses,
    checksum = excluded.checksum
WHERE excluded.parses IS NOT NULL AND surprisals.parses IS NULL
"""

_GET = """
SELECT model_key, sentence, log_probs, remedy, parses, checksum FROM surprisals
WHERE model_key = ? AND sentence IN ({})
"""

_NEXT = """
SELECT model_key, sentence, log_probs, remedy, parses, checksum FROM surprisals
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

_Row = tuple[str, str, bytes, str | None, str | None, str]


@dataclass(frozen=True)
class Stored:
    """The stored scores of one sentence.

    ``log_probs`` are in nats: those of the words and, last, of the end; NaN if a search failed, in
    which case ``remedy`` says what to do. ``parses`` contains, for each word, the best partial
    parses with their shares, if requested. A search also gives ``columns``: further numbers of the
    words and the end, by name (``SEARCH_COLUMNS`` of :mod:`gardenpath.store.tables`). A search with
    replicates gives ``deviations``: for each word and the end, by how many bits the surprisal of
    each replicate deviates from the reported one (:mod:`gardenpath.eval.search.replicates`).
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


class SurprisalStore:
    """A file of surprisals; safe for concurrent use and across forks (each call reopens it)."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, model_key: str, sentences: Iterable[Sequence[str]]) -> dict[Words, Stored]:
        """Return the stored scores of sentences; sentences that are not stored are omitted."""
        keys = [_sentence_key(words) for words in dict.fromkeys(map(tuple, sentences))]
        if not keys or not self.path.exists():
            return {}
        found: dict[Words, Stored] = {}
        wanted = set(keys)
        with self._opened() as connection:
            for begin in range(0, len(keys), _PER_SELECT):
                some = keys[begin : begin + _PER_SELECT]
                select = _GET.format(",".join("?" * len(some)))
                for row in connection.execute(select, (model_key, *some)):
                    words, stored = self._checked(row)
                    # A damaged index leads to a valid row of another model or sentence.
                    if row[0] != model_key or row[1] not in wanted:
                        raise self._damaged("the index names a wrong row")
                    found[words] = stored
        return found

    def put(self, model_key: str, scored: Mapping[Words, Stored]) -> None:
        """Add sentences in one transaction: all of them or, if the process is killed, none.

        A stored sentence keeps its numbers, so that all readers get the same ones, but an entry
        without parses is replaced by one with parses.
        """
        rows = [_row(model_key, words, stored) for words, stored in scored.items()]
        if not rows:
            return
        if not self.path.exists():
            self._create()
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_PUT, rows)
            connection.execute("COMMIT")

    def add_from(self, other: SurprisalStore) -> int:
        """Add the entries of another file; return their number. Entries of this file are kept."""
        count = 0
        for rows in other._all_rows():
            by_model: dict[str, dict[Words, Stored]] = {}
            for row in rows:
                words, stored = other._checked(row)
                by_model.setdefault(row[0], {})[words] = stored
            for model_key, scored in by_model.items():
                self.put(model_key, scored)
            count += len(rows)
        return count

    def _all_rows(self) -> Iterator[list[_Row]]:
        """Yield all rows, some at a time, in the order of their keys."""
        last = ("", "")
        while True:
            with self._opened() as connection:
                rows = connection.execute(_NEXT, (*last, _PER_SELECT)).fetchall()
            if not rows:
                return
            yield rows
            last = rows[-1][:2]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
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
                yield connection

    def _require_known(self, connection: sqlite3.Connection) -> None:
        version = _value(connection, "PRAGMA user_version")
        if _value(connection, "PRAGMA application_id") != _APPLICATION or version < 1:
            raise InputError(
                "is not a file of surprisals",
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
            with self._explained(), whole_file(self.path) as temporary:
                _write_schema(temporary)

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
            model_key, sentence, blob, remedy, parses, checksum = row
            words = tuple(parse_json(sentence, any_string=True))
            if checksum != _checksum(model_key, sentence, blob, remedy, parses):
                raise ValueError("wrong checksum")
            log_probs = struct.unpack(f"<{len(words) + 1}d", blob)
            trees = None if parses is None else parse_json(parses, any_string=True)
            return words, Stored(log_probs, remedy, trees)
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


def _write_schema(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if not is_network(path):
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(_TABLE)
        connection.execute(f"PRAGMA application_id={_APPLICATION}")
        connection.execute(f"PRAGMA user_version={STORE_VERSION}")


def _sentence_key(words: Sequence[str]) -> str:
    return canonical(list(words))


def _row(model_key: str, words: Words, stored: Stored) -> _Row:
    if len(stored.log_probs) != len(words) + 1:
        raise ValueError(
            f"{len(stored.log_probs)} log probabilities for {len(words)} words and the end"
        )
    sentence = _sentence_key(words)
    blob = struct.pack(f"<{len(words) + 1}d", *stored.log_probs)
    parses = None if stored.parses is None else json.dumps(stored.parses)
    checksum = _checksum(model_key, sentence, blob, stored.remedy, parses)
    return model_key, sentence, blob, stored.remedy, parses, checksum


def _checksum(
    model_key: str, sentence: str, blob: bytes, remedy: str | None, parses: str | None
) -> str:
    return digest(canonical([model_key, sentence, blob.hex(), remedy, parses]))


def _value(connection: sqlite3.Connection, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]
