"""The stages of an annotation, which a killed process leaves in whole shards.

Files are divided into words, shard by shard; repeated sentences are left out, in the order of the
files; and the others are parsed, again in shards. Each shard is a file in a hidden folder beside
the output, so that the next process continues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from gardenpath.data.sentence import SPLITS, Split
from gardenpath.data.shards.shard import Advance
from gardenpath.data.shards.task_pool import done_together
from gardenpath.data.words.unknown_words import Language
from gardenpath.errors import GardenpathError
from gardenpath.runs.annotating.annotation import RawAnnotation
from gardenpath.runs.annotating.checked_lines import read_checked, write_checked
from gardenpath.runs.annotating.raw_shards import (
    SHOWN_CHARACTERS,
    FoundSentence,
    RawShard,
    Skipped,
    as_record,
    from_record,
    raw_shards,
)
from gardenpath.runs.annotating.tree_parser import TreeParser
from gardenpath.settings.task_settings import AnnotateTask
from gardenpath.store.files import whole_file, write_json
from gardenpath.store.keys import digest

# Sentences that are parsed together, and lost at most if the process is killed.
PARSED_TOGETHER = 1024

LEFT_OUT_FILE = "skipped.tsv"
SUMMARY_FILE = "summary.json"

_REMEDY = "start again with a smaller task.processes: what was done is kept"


class AnnotationWork:
    """The stages of an annotation, in a folder that keeps what was done."""

    def __init__(self, annotation: RawAnnotation, folder: Path) -> None:
        self._annotation = annotation
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    # ---- Files to words

    def segment(self, advance: Advance) -> int:
        """Divide all files into words; return the number of shards."""
        task, language = self._annotation.task, self._annotation.language
        shards = raw_shards(self._annotation.files, task)
        waiting = []
        for number in range(len(shards)):
            found = read_checked(self._path("words", number))
            if found is None:
                waiting.append(number)
            else:
                advance(len(found))
        self._share(
            partial(_segment, shards, waiting, task, language, self._folder), waiting, advance
        )
        return len(shards)

    # ---- Repeated sentences

    def keep(self, shards: int) -> int:
        """Leave out repeated sentences; return the number of shards to parse."""
        if (done := read_checked(self._folder / "kept")) is not None:
            return int(done[0])
        skipped: list[list[Any]] = []
        kept: list[list[Any]] = []
        count = 0
        for one in self._distinct(shards):
            if isinstance(one, Skipped):
                skipped.append(as_record(one))
                continue
            kept.append(as_record(one))
            if len(kept) == PARSED_TOGETHER:
                write_checked(self._path("kept", count), kept)
                kept, count = [], count + 1
        if kept:
            write_checked(self._path("kept", count), kept)
            count += 1
        write_checked(self._folder / "skipped", skipped)
        write_checked(self._folder / "kept", [count])
        return count

    def _distinct(self, shards: int) -> Iterator[FoundSentence | Skipped]:
        seen: set[bytes] = set()
        for number in range(shards):
            for record in self._records("words", number):
                one = from_record(record)
                if isinstance(one, FoundSentence) and self._annotation.task.deduplicate:
                    name = bytes.fromhex(digest("\n".join(one.words)))[:16]
                    if name in seen:
                        yield Skipped(one.path, one.line, "duplicate", _shown(one))
                        continue
                    seen.add(name)
                yield one

    # ---- Words to trees

    def parse(self, shards: int, advance: Advance) -> None:
        """Parse the sentences that were kept."""
        parser = self._annotation.parser
        if parser is None:
            return
        waiting = []
        for number in range(shards):
            found = read_checked(self._path("trees", number))
            if found is None:
                waiting.append(number)
            else:
                advance(len(found))
        if not waiting:
            return
        # The same text is checked whatever was done before.
        parser.check([_words(one) for one in self._records("kept", 0)])
        task = partial(_parse, parser, waiting, self._folder)
        if parser.stays_here:
            for number in range(len(waiting)):
                task(number, advance)
        else:
            self._share(task, waiting, advance)

    # ---- The result

    def write(self, folder: Path, shards: int) -> dict[str, Any]:
        """Write the sentences, the log and the summary; return the summary."""
        skipped = [from_record(one) for one in self._records("skipped")]
        counts: Counter[str] = Counter()
        words = 0
        with ExitStack() as stack:
            files = {split: self._opened(stack, folder, split) for split in self._splits()}
            for one, line in self._lines(shards):
                if line is None:
                    skipped.append(Skipped(one.path, one.line, "no parse", _shown(one)))
                    continue
                split = self._split_of(one)
                files[split].write(f"{line}\n")
                counts[split] += 1
                words += len(one.words)
        reasons = Counter(one.reason for one in skipped if isinstance(one, Skipped))
        if not counts:
            said = ", ".join(f"{reason} {count:,}" for reason, count in sorted(reasons.items()))
            raise GardenpathError(f"no sentence is left: {said or 'the files are empty'}")
        _write_log(folder / LEFT_OUT_FILE, skipped)
        summary = {
            "files": len(self._annotation.paths),
            "sentences": {split: counts[split] for split in self._splits()},
            "words": words,
            "skipped": dict(sorted(reasons.items())),
        }
        write_json(folder / SUMMARY_FILE, summary)
        return summary

    def _lines(self, shards: int) -> Iterator[tuple[FoundSentence, str | None]]:
        """Yield the sentences with what is written for them; None if they have no tree."""
        for number in range(shards):
            records = self._records("kept", number)
            if self._annotation.parser is None:
                lines = [" ".join(_words(one)) for one in records]
            else:
                lines = self._records("trees", number)
            for record, line in zip(records, lines, strict=True):
                one = from_record(record)
                assert isinstance(one, FoundSentence)
                yield one, line

    def _splits(self) -> list[Split]:
        task = self._annotation.task
        shares = {"train": 1.0, "valid": task.valid, "test": task.test}
        return [split for split in SPLITS if shares[split] > 0]

    def _split_of(self, one: FoundSentence) -> Split:
        """Return the split of a sentence: that of its document, by a hash of its place."""
        task = self._annotation.task
        number = int(digest(f"{Path(one.path).name}:{one.document}")[:12], 16) / 16**12
        if number < task.valid:
            return "valid"
        return "test" if number < task.valid + task.test else "train"

    def _opened(self, stack: ExitStack, folder: Path, split: Split) -> TextIO:
        path = stack.enter_context(whole_file(folder / f"{split}.txt"))
        return stack.enter_context(path.open("w", encoding="utf-8"))

    # ---- Files of the folder

    def _path(self, stage: str, number: int) -> Path:
        return _shard_path(self._folder, stage, number)

    def _records(self, stage: str, number: int | None = None) -> list[Any]:
        path = self._folder / stage if number is None else self._path(stage, number)
        found = read_checked(path)
        if found is None:
            raise GardenpathError(f"{path}: is damaged; delete {self._folder}, and start again")
        return found

    def _share(self, task: Any, waiting: Sequence[int], advance: Advance) -> None:
        """Do tasks in several processes; those that fail are done again here, for their error."""
        count = min(self._annotation.processes, len(waiting))
        left: Sequence[int] = range(len(waiting))
        if count > 1:
            left = done_together(
                len(waiting), task, processes=count, advance=advance, remedy=_REMEDY
            )
        for number in left:
            task(number, advance)


def _shard_path(folder: Path, stage: str, number: int) -> Path:
    return folder / f"{stage}-{number:06d}"


def _segment(
    shards: Sequence[RawShard],
    waiting: Sequence[int],
    task: AnnotateTask,
    language: Language,
    folder: Path,
    number: int,
    advance: Advance,
) -> None:
    shard = waiting[number]
    records = [as_record(one) for one in shards[shard].read(task, language)]
    write_checked(_shard_path(folder, "words", shard), records)
    advance(len(records))


def _parse(
    parser: TreeParser, waiting: Sequence[int], folder: Path, number: int, advance: Advance
) -> None:
    shard = waiting[number]
    records = read_checked(_shard_path(folder, "kept", shard))
    if records is None:
        raise GardenpathError(f"{folder}: is damaged; delete it, and start again")
    scratch = _shard_path(folder, "scratch", shard)
    trees = parser.parse([_words(one) for one in records], scratch)
    write_checked(_shard_path(folder, "trees", shard), trees)
    for leftover in folder.glob(f"{scratch.name}*"):
        leftover.unlink(missing_ok=True)
    advance(len(trees))


def _shown(one: FoundSentence) -> str:
    return " ".join(one.words)[:SHOWN_CHARACTERS]


def _words(record: Sequence[Any]) -> tuple[str, ...]:
    return tuple(record[0])


def _write_log(path: Path, skipped: Sequence[FoundSentence | Skipped]) -> None:
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write("file\tline\treason\tdetail\n")
        for one in skipped:
            assert isinstance(one, Skipped)
            cells = (one.path, str(one.line), one.reason, one.detail)
            file.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")
