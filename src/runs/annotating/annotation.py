"""Raw text and everything that determines its annotation: files, segmenter and parser."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gardenpath.data.raw.raw_files import input_files
from gardenpath.data.raw.sentence_splitter import splitter_problem
from gardenpath.data.segmenting.segmenter import segmenter_label, segmenter_named
from gardenpath.data.shards.task_pool import available_cores, may_start_processes
from gardenpath.data.words.unknown_words import Language
from gardenpath.errors import GardenpathError
from gardenpath.runs.annotating.raw_shards import RawFile
from gardenpath.runs.annotating.tree_parser import TreeParser
from gardenpath.settings.check import plain
from gardenpath.settings.task_settings import AnnotateTask
from gardenpath.store.files import sha256_of
from gardenpath.store.keys import fingerprint

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

    @property
    def processes(self) -> int:
        """Number of processes."""
        return (self.task.processes or available_cores()) if may_start_processes() else 1

    def key(self) -> str:
        """Return a hash of the files and of all settings that determine the result."""
        settings = {name: one for name, one in plain(self.task).items() if name not in _WORK_ONLY}
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
                str(one.path): {
                    "sha256": self.checksums[str(one.path)],
                    "encoding": one.encoding,
                    "format": one.format,
                }
                for one in self.files
            },
        }
