"""Toy treebanks: trees drawn from a grammar whose exact answers are known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from gardenpath.data.pcfg.grammar import Grammar
from gardenpath.data.pcfg.grammar_file import read_grammar
from gardenpath.data.pcfg.sampler import Sampler
from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.errors import InputError
from gardenpath.settings.bounds import NonNegativeInt, PositiveInt
from gardenpath.store.keys import digest, fingerprint

GRAMMARS = Path(__file__).parents[1] / "grammars"


class ToyTreebank:
    """Sentences drawn from ``grammar``: a file, or the name of one that is shipped.

    Each split has a generator of its own, so that resizing one leaves the others as they were.
    """

    has_trees = True

    def __init__(
        self,
        *,
        grammar: str,
        seed: NonNegativeInt = 0,
        train: PositiveInt = 8000,
        valid: PositiveInt = 500,
        test: PositiveInt = 500,
    ) -> None:
        shipped = GRAMMARS / f"{grammar}.pcfg"
        self.path = shipped if shipped.is_file() else Path(grammar)
        self._seed = seed
        self._sizes = dict(zip(SPLITS, (train, valid, test), strict=True))

    @cached_property
    def grammar(self) -> Grammar:
        """The grammar behind the corpus, for exact answers."""
        return read_grammar(self.path)

    def read(self, split: str) -> Iterator[Sentence]:
        sampler = Sampler(self.grammar, seed=self._seed * len(SPLITS) + SPLITS.index(split))
        for number in range(1, self._sizes[split] + 1):
            tree = sampler.draw()
            yield Sentence(tree.words(), Source(f"{self.path.stem}-{split}", number), tree)

    def fingerprint(self) -> str:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            shipped = ", ".join(sorted(path.stem for path in GRAMMARS.glob("*.pcfg")))
            raise InputError(
                f"cannot be opened: {error.strerror}",
                path=self.path,
                remedy=f"give a grammar file, or one that is shipped: {shipped}",
            ) from error
        return fingerprint("toy", 1, seed=self._seed, sizes=self._sizes, grammar=digest(content))
