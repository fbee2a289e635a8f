"""A syntactic model of our own as a parser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gardenpath.data.trees.brackets import format_tree
from gardenpath.errors import RunError
from gardenpath.eval.search.search_settings import SearchSettings
from gardenpath.runs.finding.loading import load
from gardenpath.runs.known_words import require_known, unknown_words
from gardenpath.runs.parsing import parsed, parses_key, with_words
from gardenpath.store.surprisal_store import SurprisalStore
from gardenpath.text import Words


class RunParser:
    """The best tree of each sentence by the search of a run; unknown words stay as they are."""

    stays_here = True

    def __init__(
        self,
        path: Path,
        *,
        device: str,
        search: SearchSettings,
        processes: int,
        allow_unknown: bool,
    ) -> None:
        # One thread each, also in one process: the trees are the same for any number of them.
        self.run = load(path, device=device, search=search, processes=processes)
        self._allow_unknown = allow_unknown
        if not self.run.is_syntactic:
            raise RunError(
                f"{path}: model={self.run.settings.model.name} does not generate trees; parse with "
                "a syntactic model such as rnng or plm"
            )
        if self.run.device.type != "cpu":
            self.run.processes = 1

    @property
    def label(self) -> str:
        """The run folder and the hash of its model and search."""
        return f"{self.run.path} ({self.key})"

    @property
    def key(self) -> str:
        """The key of its trees in stores."""
        return parses_key(self.run, 1)

    def check(self, sentences: Sequence[Words]) -> None:
        """Raise an error if the run is damaged, or does not know most words."""
        self.run.verify()
        found = unknown_words(self.run, map(self._seen, sentences))
        require_known([found], allow_unknown=self._allow_unknown)

    def parse(self, sentences: Sequence[Words], scratch: Path) -> list[str | None]:
        """Return the best trees; chunks of sentences are kept in ``scratch``."""
        self.run.store = SurprisalStore(scratch)
        seen = [self._seen(words) for words in sentences]
        found = parsed(self.run, seen, k=1)
        return [
            format_tree(with_words(one.trees[0][1], words)) if one.trees else None
            for one, words in zip(found, sentences, strict=True)
        ]

    def _seen(self, words: Words) -> Words:
        """Return the words as they are in the run's corpus."""
        lowercase = self.run.settings.data.cleaning.lowercase
        return tuple(word.lower() for word in words) if lowercase else words
