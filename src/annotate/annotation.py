"""The task `annotate`: raw text to sentences, words and trees, in files that `data=` reads.

Found through the registry of tasks. Work goes in stages: files are divided into words, shard by
shard; repeated sentences are left out, in the order of the files; and the others are parsed, again
in shards. Each shard is a whole file with a checksum in a hidden folder beside the output, so that
a killed process continues. Shards and results depend on the files and settings only, never on the
number of processes. Everything that is left out stands in a log.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from gardenpath.annotate.parsers import TreeParser, kind_of_parser, parser_named
from gardenpath.annotate.raw import (
    AnnotateTask,
    LeftOut,
    Passage,
    chosen_encoding,
    format_of,
    input_files,
    is_compressed,
    passage_sentences,
    read_passages,
    splitter_problem,
)
from gardenpath.console import console, count_in_lines, show_counting
from gardenpath.data.readers.base import FileRange, cut_file, in_groups
from gardenpath.data.sentence import SPLITS, Split
from gardenpath.data.words.segmenting import segmenter_label, segmenter_named, treebank_quotes
from gardenpath.data.words.vocabulary import Language
from gardenpath.errors import ConfigError, GardenpathError
from gardenpath.runs.find import load
from gardenpath.runs.results import how_made
from gardenpath.safe_text import parse_json
from gardenpath.settings.evaluate import EvaluateSettings
from gardenpath.settings.schema import plain
from gardenpath.store.files import (
    digest,
    fingerprint,
    remove_tree,
    sha256_of,
    whole_file,
    write_json,
    write_text,
)
from gardenpath.store.manifest import results_folder
from gardenpath.util import Words, enumeration
from gardenpath.workers import Advance, Task, available_cores, done_together

# Characters of a sentence that are shown in the log.
SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file of raw text, and how it is read."""

    path: Path
    encoding: str
    format: str

    @staticmethod
    def of(path: Path, task: AnnotateTask, language: Language) -> RawFile:
        """Look at a file; raise an error if it is no raw text."""
        encoding = chosen_encoding(path, task.raw, language)
        return RawFile(path, encoding, format_of(path, task.raw, encoding))

    def pieces(self, task: AnnotateTask) -> Iterator[FileRange]:
        """Yield the parts of the file that can be read on their own."""
        is_cut = self.format == "text" and task.raw.paragraphs == "lines"
        if not is_cut or is_compressed(self.path):
            yield FileRange(self.path)
        else:
            yield from cut_file(self.path, encoding=self.encoding, is_bracketed=False)


@dataclass(frozen=True, slots=True)
class FoundSentence:
    """The words of a sentence, its file and line, and the line where its document begins."""

    words: Words
    path: str
    line: int
    document: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A sentence or a line that is not written, and why."""

    path: str
    line: int
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class RawShard:
    """Some pieces of files, which are read by one process."""

    pieces: tuple[tuple[RawFile, FileRange], ...]

    def read(self, task: AnnotateTask, language: Language) -> Iterator[FoundSentence | Skipped]:
        """Yield the sentences and what was left out, in order."""
        for file, piece in self.pieces:
            passages = read_passages(piece, task.raw, encoding=file.encoding, format=file.format)
            for passage in passages:
                if isinstance(passage, LeftOut):
                    yield Skipped(str(file.path), passage.line, passage.reason, passage.detail)
                else:
                    yield from _sentences(passage, file, task, language)


def _sentences(
    passage: Passage, file: RawFile, task: AnnotateTask, language: Language
) -> Iterator[FoundSentence | Skipped]:
    segmenter = segmenter_named(task.segmenter_for(language))
    path = str(file.path)
    for line, text in passage_sentences(passage, language=language, settings=task.sentences):
        words = segmenter.segment(text)
        if task.quotes == "treebank":
            words = treebank_quotes(text, words)
        if not words:
            yield Skipped(path, line, "no words", text[:SHOWN_CHARACTERS])
        elif task.max_tokens is not None and len(words) > task.max_tokens:
            yield Skipped(path, line, "too long", f"{len(words)} tokens: {text[:SHOWN_CHARACTERS]}")
        else:
            yield FoundSentence(tuple(words), path, line, passage.document)


def as_record(line: FoundSentence | Skipped) -> list[Any]:
    """Convert to JSON types."""
    if isinstance(line, FoundSentence):
        return [list(line.words), line.path, line.line, line.document]
    return [None, line.path, line.line, line.reason, line.detail]


def from_record(record: Sequence[Any]) -> FoundSentence | Skipped:
    """Convert from JSON types."""
    words, path, line, *rest = record
    if words is None:
        return Skipped(path, line, rest[0], rest[1])
    return FoundSentence(tuple(words), path, line, rest[0])


# ----------------------------------------------------------------------------
# Raw text and everything that determines its annotation: files, segmenter and parser.


# Increment whenever the same text and settings give other words or trees.
ANNOTATION_VERSION = 1

# Settings that do not change the result; the input counts by its content.
_WORK_ONLY = {"input", "processes", "allow_unknown"}


@dataclass(frozen=True)
class RawAnnotation:
    """Raw files and everything that determines their annotation."""

    task: AnnotateTask
    language: Language
    parser: TreeParser | None

    @cached_property
    def paths(self) -> list[Path]:
        """The files of raw text, in order."""
        return input_files(self.task.input)

    @cached_property
    def checksums(self) -> dict[str, str]:
        """The SHA-256 of each file."""
        return {str(path): sha256_of(path) for path in self.paths}

    @cached_property
    def files(self) -> list[RawFile]:
        """How each file is read."""
        return [RawFile.of(path, self.task, self.language) for path in self.paths]

    @property
    def segmenter_label(self) -> str:
        """The segmenter and its version."""
        return segmenter_label(segmenter_named(self.task.segmenter_for(self.language)))

    def key(self) -> str:
        """Return a hash of the files and of all settings that determine the result."""
        settings = {
            name: value for name, value in plain(self.task).items() if name not in _WORK_ONLY
        }
        return fingerprint(
            "annotation",
            ANNOTATION_VERSION,
            settings=settings,
            files=self.checksums,
            language=self.language,
            segmenter=self.segmenter_label,
            parser=self.parser.key if self.parser else None,
        )

    def check(self) -> None:
        """Raise an error if anything is missing, before hours of work."""
        if problem := splitter_problem(self.language, self.task.sentences):
            raise GardenpathError(problem)
        segmenter_named(self.task.segmenter_for(self.language))
        if self.parser is not None:
            self.parser.check([])
        _ = self.files

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says about the input and the programs."""
        return {
            "segmenter": self.segmenter_label,
            "parser": self.parser.label if self.parser else None,
            "language": self.language,
            "inputs": {
                str(file.path): {
                    "sha256": self.checksums[str(file.path)],
                    "encoding": file.encoding,
                    "format": file.format,
                }
                for file in self.files
            },
        }


# ----------------------------------------------------------------------------
# Files of JSON lines with a checksum, so that a damaged one is noticed and made again.


def write_checked(path: Path, records: Iterable[Any]) -> None:
    """Write records, one per line, and a last line with their checksum; whole or not at all."""
    # ASCII, so that no character of a word is taken for the end of a line.
    body = "".join(f"{json.dumps(record, separators=(',', ':'))}\n" for record in records)
    write_text(path, f"{body}{digest(body)}\n")


def read_checked(path: Path) -> list[Any] | None:
    """Return the records of a file; None if it does not exist or is damaged."""
    try:
        body, _, last = path.read_text(encoding="ascii").removesuffix("\n").rpartition("\n")
        body = f"{body}\n" if body else ""
        if digest(body) != last:
            return None
        return [parse_json(line) for line in body.splitlines()]
    except (OSError, ValueError):
        return None


# ----------------------------------------------------------------------------
# The stages.


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
        # Shards depend on the files and the settings only.
        parts = [(file, piece) for file in self._annotation.files for piece in file.pieces(task)]
        groups = in_groups(parts, lambda part: part[1].byte_count)
        shards = [RawShard(tuple(group)) for group in groups]
        self._share(
            partial(_segment, shards, task, language, self._folder),
            self._waiting("words", len(shards), advance),
            advance,
        )
        return len(shards)

    # ---- Repeated sentences

    def keep(self, shards: int) -> int:
        """Leave out repeated sentences; return the number of shards to parse."""
        if (done := read_checked(self._folder / "kept")) is not None:
            return int(done[0])
        skipped: list[list[Any]] = []

        def kept() -> Iterator[list[Any]]:
            for line in self._distinct(shards):
                if isinstance(line, Skipped):
                    skipped.append(as_record(line))
                else:
                    yield as_record(line)

        records, count = kept(), 0
        while group := list(islice(records, PARSED_TOGETHER)):
            write_checked(self._path("kept", count), group)
            count += 1
        write_checked(self._folder / "skipped", skipped)
        write_checked(self._folder / "kept", [count])
        return count

    def _distinct(self, shards: int) -> Iterator[FoundSentence | Skipped]:
        seen: set[bytes] = set()
        for number in range(shards):
            for record in self._records("words", number):
                line = from_record(record)
                if isinstance(line, FoundSentence) and self._annotation.task.deduplicate:
                    name = bytes.fromhex(digest("\n".join(line.words)))[:16]
                    if name in seen:
                        yield Skipped(line.path, line.line, "duplicate", _shown(line))
                        continue
                    seen.add(name)
                yield line

    # ---- Words to trees

    def parse(self, shards: int, advance: Advance) -> None:
        """Parse the sentences that were kept."""
        parser = self._annotation.parser
        if parser is None:
            return
        waiting = self._waiting("trees", shards, advance)
        if not waiting:
            return
        # The same text is checked whatever was done before.
        parser.check([tuple(words) for words, *_ in self._records("kept", 0)])
        task = partial(_parse, parser, self._folder)
        self._share(task, waiting, advance, stays_here=parser.stays_here)

    # ---- The result

    def write(self, folder: Path, shards: int) -> dict[str, Any]:
        """Write the sentences, the log and the summary; return the summary."""
        skipped = [Skipped(*record[1:]) for record in self._records("skipped")]
        counts: Counter[str] = Counter()
        words = 0
        with ExitStack() as stack:
            files: dict[Split, TextIO] = {}
            for split in self._splits():
                path = stack.enter_context(whole_file(folder / f"{split}.txt"))
                files[split] = stack.enter_context(path.open("w", encoding="utf-8"))
            for sentence, line in self._lines(shards):
                if line is None:
                    place = sentence.path, sentence.line
                    skipped.append(Skipped(*place, "no parse", _shown(sentence)))
                    continue
                split = self._split_of(sentence)
                files[split].write(f"{line}\n")
                counts[split] += 1
                words += len(sentence.words)
        reasons = Counter(line.reason for line in skipped)
        if not counts:
            said = ", ".join(f"{reason} {count:,}" for reason, count in sorted(reasons.items()))
            raise GardenpathError(f"no sentence is left: {said or 'the files are empty'}")
        with whole_file(folder / LEFT_OUT_FILE) as path, path.open("w", encoding="utf-8") as file:
            file.write("file\tline\treason\tdetail\n")
            for left in skipped:
                cells = (left.path, str(left.line), left.reason, left.detail)
                file.write("\t".join(" ".join(cell.split()) for cell in cells) + "\n")
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
                lines = [" ".join(words) for words, *_ in records]
            else:
                lines = self._records("trees", number)
            for record, line in zip(records, lines, strict=True):
                sentence = from_record(record)
                assert isinstance(sentence, FoundSentence)
                yield sentence, line

    def _splits(self) -> list[Split]:
        task = self._annotation.task
        shares = {"train": 1.0, "valid": task.valid, "test": task.test}
        return [split for split in SPLITS if shares[split] > 0]

    def _split_of(self, sentence: FoundSentence) -> Split:
        """Return the split of a sentence: that of its document, by a hash of its place."""
        task = self._annotation.task
        number = int(digest(f"{Path(sentence.path).name}:{sentence.document}")[:12], 16) / 16**12
        if number < task.valid:
            return "valid"
        return "test" if number < task.valid + task.test else "train"

    # ---- Files of the folder

    def _path(self, stage: str, number: int) -> Path:
        return _shard_path(self._folder, stage, number)

    def _waiting(self, stage: str, shards: int, advance: Advance) -> list[int]:
        """Return the shards of a stage that are not done, and count the sentences of the others."""
        waiting = []
        for number in range(shards):
            records = read_checked(self._path(stage, number))
            if records is None:
                waiting.append(number)
            else:
                advance(len(records))
        return waiting

    def _records(self, stage: str, number: int | None = None) -> list[Any]:
        path = self._folder / stage if number is None else self._path(stage, number)
        records = read_checked(path)
        if records is None:
            raise GardenpathError(f"{path}: is damaged; delete {self._folder}, and start again")
        return records

    def _share(
        self,
        task: Task[int],
        waiting: list[int],
        advance: Advance,
        *,
        stays_here: bool = False,
    ) -> None:
        """Do tasks in several processes; those that fail are done again here, for their error."""
        wanted = 1 if stays_here else self._annotation.task.processes or available_cores()
        count = min(wanted, len(waiting))
        if count > 1:
            waiting = done_together(waiting, task, processes=count, advance=advance, remedy=_REMEDY)
        for number in waiting:
            task(number, advance)


def _shard_path(folder: Path, stage: str, number: int) -> Path:
    return folder / f"{stage}-{number:06d}"


def _segment(
    shards: Sequence[RawShard],
    task: AnnotateTask,
    language: Language,
    folder: Path,
    number: int,
    advance: Advance,
) -> None:
    records = [as_record(line) for line in shards[number].read(task, language)]
    write_checked(_shard_path(folder, "words", number), records)
    advance(len(records))


def _parse(parser: TreeParser, folder: Path, number: int, advance: Advance) -> None:
    records = read_checked(_shard_path(folder, "kept", number))
    if records is None:
        raise GardenpathError(f"{folder}: is damaged; delete it, and start again")
    scratch = _shard_path(folder, "scratch", number)
    trees = parser.parse([tuple(words) for words, *_ in records], scratch)
    write_checked(_shard_path(folder, "trees", number), trees)
    for leftover in folder.glob(f"{scratch.name}*"):
        leftover.unlink(missing_ok=True)
    advance(len(trees))


def _shown(sentence: FoundSentence) -> str:
    return " ".join(sentence.words)[:SHOWN_CHARACTERS]


# ----------------------------------------------------------------------------
# task=annotate: raw text to sentences, words and trees.


def run_annotate(settings: EvaluateSettings, task: AnnotateTask) -> None:
    """Write the annotated sentences to the output folder, with a log of what was left out."""
    language = task.language
    if language is None:
        if kind_of_parser(task.parser) != "run":
            raise ConfigError(["task.language is missing: name the language of the text, en or zh"])
        assert task.parser is not None
        language = load(task.parser).data.language
    parser = parser_named(
        task.parser,
        language=language,
        device=settings.device,
        search=settings.search,
        processes=task.processes or available_cores(),
        allow_unknown=task.allow_unknown,
    )
    annotation = RawAnnotation(task, language, parser)
    annotation.check()
    folder = Path(settings.output)
    about = how_made(settings=plain(settings), **annotation.facts())
    with results_folder(folder, about=about) as temporary:
        key = annotation.key()
        target = Path(temporary).parent
        unfinished = target / f".{folder.resolve().name}.{key}.unfinished"
        work = AnnotationWork(annotation, unfinished)
        with show_counting("dividing into words") as advance:
            shards = work.segment(advance)
        kept = work.keep(shards)
        with count_in_lines("parsing") as advance:
            work.parse(kept, advance)
        about["summary"] = summary = work.write(temporary, kept)
        if RawAnnotation(task, language, parser).key() != key:  # reads the files again
            raise GardenpathError("the input has changed meanwhile; start again")
    remove_tree(unfinished)
    written = enumeration([f"{name} {count:,}" for name, count in summary["sentences"].items()])
    console.print(f"{written} sentences, {summary['words']:,} words in {folder}", soft_wrap=True)
    if summary["skipped"]:
        listed = enumeration([f"{name} {count:,}" for name, count in summary["skipped"].items()])
        console.print(f"Left out: {listed}; see {folder / LEFT_OUT_FILE}", soft_wrap=True)
    reader = "text" if parser is None else "brackets"
    other = "" if language == "en" else f" data.language={language}"
    console.print(f"To read it: data={reader} data.root={folder}{other}", soft_wrap=True)
