"""Files of surprisals as version 1 wrote them."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from gardenpath.store.files import canonical, digest
from gardenpath.store.surprisals import Stored
from gardenpath.util import Words

_SCHEMA = """
CREATE TABLE surprisals (
    model_key TEXT NOT NULL,
    sentence TEXT NOT NULL,
    log_probs BLOB NOT NULL,
    remedy TEXT,
    parses TEXT,
    checksum TEXT NOT NULL,
    PRIMARY KEY (model_key, sentence)
)
"""


def write_old_store(
    path: Path, model_key: str, scored: Mapping[Words, Stored], *, journal: str = "WAL"
) -> None:
    """Write a file of version 1; columns and deviations are left out, as it had none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
        connection.execute(_SCHEMA)
        connection.execute("PRAGMA application_id=1196454773")
        connection.execute("PRAGMA user_version=1")
        for words, stored in scored.items():
            sentence = canonical(list(words))
            blob = struct.pack(f"<{len(stored.log_probs)}d", *stored.log_probs)
            parses = None if stored.parses is None else json.dumps(stored.parses)
            content = [model_key, sentence, blob.hex(), stored.remedy, parses]
            row = (model_key, sentence, blob, stored.remedy, parses, digest(canonical(content)))
            connection.execute("INSERT INTO surprisals VALUES (?, ?, ?, ?, ?, ?)", row)


def version_of(path: Path) -> int:
    """Return the version of a file."""
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
