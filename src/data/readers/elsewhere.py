"""The corpus of a model that others trained: known by its name only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gardenpath.data.sentence import SPLITS, Sentence
from gardenpath.errors import GardenpathError


@dataclass(frozen=True, kw_only=True)
class CorpusElsewhere:
    """A corpus that is not here."""

    kind: Literal["elsewhere"] = "elsewhere"

    @property
    def has_trees(self) -> bool:
        """No trees are here."""
        return False

    def read(self, split: str) -> Iterator[Sentence]:
        """Raise an error: there is nothing to read."""
        raise _not_here()

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        """Raise an error: there is nothing to read."""
        raise _not_here()


def _not_here() -> GardenpathError:
    return GardenpathError(
        "the corpus of an adopted model is not here; name a corpus, as in data=ptb_sample"
    )
