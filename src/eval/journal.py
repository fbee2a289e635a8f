"""What a long job has done so far, so that a job that was killed goes on where it was.

A journal is a file of JSON lines beside the output: first the key of the job, then one line per
finished sentence. Lines are only ever appended. A line that was torn when the job was killed is
cut off when the journal is opened again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_log = logging.getLogger(__name__)

Entry = tuple[int, list[float], str]


def journal_path(output: Path, run: str) -> Path:
    """Where the journal of a run stands while ``output`` is being made."""
    folder = output.with_name(f"{output.name}.partial")
    return folder / f"{_hash([run])}.jsonl"


def job_key(parts: Iterable[str], sentences: Iterable[Sequence[str]]) -> str:
    """Identifies a job: equal keys, equal results.

    ``parts`` are texts that stand for all that decides a result beside the sentences: a hash of
    the weights, the settings of the search.
    """
    return _hash([*parts, *(json.dumps(list(words)) for words in sentences)])


def _hash(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()[:16]


class Journal:
    """The finished sentences of one job, by number, with log probabilities in nats.

    A journal that was begun with another key is of another job: a new one takes its place, with a
    message. Without a path the journal lives in memory only.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        self.path = path
        self._key = key
        self.done: dict[int, list[float]] = {}
        self.notes: dict[int, str] = {}
        self._unwritten: list[bytes] = []
        if path is not None:
            self._begin(path)

    def add(self, number: int, log_probs: Sequence[float], note: str = "") -> None:
        """Enter a finished sentence, with what there is to say about it; see :meth:`flush`."""
        entry = (number, [float(value) for value in log_probs], note)
        self._keep(entry)
        self._unwritten.append(_line(_entry_as_json(entry)))

    def flush(self) -> None:
        """Make sure that what was entered survives the end of this process."""
        if self.path is not None and self._unwritten:
            with self.path.open("ab") as file:
                file.write(b"".join(self._unwritten))
        self._unwritten = []

    def close(self, *, remove: bool = False) -> None:
        """Write what is left, or ``remove`` the journal, for the output is complete."""
        if not remove:
            self.flush()
        elif self.path is not None:
            self.path.unlink(missing_ok=True)
            # Other runs of the job may still have their journals there.
            with contextlib.suppress(OSError):
                self.path.parent.rmdir()

    def _begin(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        good = self._take_over(lines)
        if good == 0:
            path.write_bytes(_line({"key": self._key}))
        else:
            os.truncate(path, good)

    def _take_over(self, lines: Sequence[bytes]) -> int:
        """Keep the entries of this job; returns how many bytes of the file are good."""
        key = _parse(lines[0]).get("key") if lines else None
        if key != self._key:
            if key is not None:
                _log.warning(
                    "%s: unfinished work of other settings or sentences; starting anew", self.path
                )
            return 0
        good = len(lines[0])
        for line in lines[1:]:
            entry = _entry_from_json(_parse(line))
            if entry is None:
                break
            self._keep(entry)
            good += len(line)
        return good

    def _keep(self, entry: Entry) -> None:
        number, log_probs, note = entry
        self.done[number] = log_probs
        if note:
            self.notes[number] = note


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8") + b"\n"


def _parse(line: bytes) -> dict[str, Any]:
    """The object on a line; nothing for a line that is torn."""
    if not line.endswith(b"\n"):
        return {}
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _entry_as_json(entry: Entry) -> dict[str, Any]:
    number, log_probs, note = entry
    content: dict[str, Any] = {"sentence": number, "log_probs": log_probs}
    return content | {"note": note} if note else content


def _entry_from_json(content: dict[str, Any]) -> Entry | None:
    try:
        log_probs = [float(value) for value in content["log_probs"]]
        return int(content["sentence"]), log_probs, str(content.get("note", ""))
    except (KeyError, TypeError, ValueError):
        return None
