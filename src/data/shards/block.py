"""Blocks of cleaned sentences on disk, before the vocabulary is known.

A block numbers its words and labels on its own, in order of first appearance. Blocks are written
while a corpus is prepared and removed afterwards. They are archives with a checksum of each array,
so that a block that was not written completely is noticed.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gardenpath.data.encoding.raw_split import Inventory, RawSplit, collect
from gardenpath.data.sentence import Sentence
from gardenpath.safe_text import parse_json

# Number of sentences, as they are in the corpus, of a block.
BLOCK_SENTENCES = 10_000

_DAMAGE = (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile)


@dataclass(frozen=True)
class SentenceBlock:
    """Sentences as numbers, and the words and labels that these stand for."""

    raw: RawSplit
    words: list[str]
    labels: list[str]

    def __len__(self) -> int:
        return len(self.raw.sources)

    @property
    def sources(self) -> bytes:
        """The sources of the sentences, one per line."""
        return "".join(f"{source}\n" for source in self.raw.sources).encode()

    @staticmethod
    def of(sentences: Iterable[Sentence]) -> SentenceBlock:
        """Turn cleaned sentences into a block."""
        words, labels = Inventory(), Inventory()
        raw = collect(sentences, words, labels)
        return SentenceBlock(raw, words.items, labels.items)

    def save(self, path: Path) -> None:
        """Write the block; a block of this name is either whole or noticed as damaged."""
        raw = self.raw
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        with temporary.open("wb") as file:
            np.savez(
                file,
                allow_pickle=False,
                words=raw.words.astype(np.int32),
                offsets=raw.offsets,
                actions=raw.actions.astype(np.int32),
                action_offsets=raw.action_offsets,
                sources=_as_bytes(raw.sources),
                word_items=_as_bytes(self.words),
                label_items=_as_bytes(self.labels),
            )
        temporary.replace(path)

    @staticmethod
    def load(path: Path) -> SentenceBlock | None:
        """Read a block; None if it does not exist or is damaged."""
        try:
            with np.load(path, allow_pickle=False) as found:
                return SentenceBlock(
                    RawSplit(
                        words=found["words"].astype(np.int64),
                        offsets=found["offsets"],
                        actions=found["actions"].astype(np.int64),
                        action_offsets=found["action_offsets"],
                        sources=_as_list(found["sources"]),
                    ),
                    _as_list(found["word_items"]),
                    _as_list(found["label_items"]),
                )
        except _DAMAGE:
            return None


def _as_bytes(items: list[str]) -> npt.NDArray[np.uint8]:
    # ASCII, so that words with unpaired surrogates survive.
    return np.frombuffer(json.dumps(items).encode("ascii"), dtype=np.uint8)


def _as_list(content: npt.NDArray[Any]) -> list[str]:
    found: list[str] = parse_json(content.tobytes().decode("utf-8"))
    return found
