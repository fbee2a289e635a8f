"""Toy treebanks: trees sampled from a grammar whose exact probabilities are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gardenpath.data.sentence import SPLITS, Sentence, Source
from gardenpath.errors import InputError
from gardenpath.settings.bounds import NonNegativeInt, PositiveInt
from gardenpath.store.keys import digest, fingerprint

if TYPE_CHECKING:
    from gardenpath.data.pcfg.grammar import Grammar

GRAMMARS = Path(__file__).parents[1] / "grammars"


@dataclass(frozen=True, kw_only=True)
class ToyTreebank:
    """Sentences sampled from a probabilistic grammar.

    Each split has its own random generator, so that resizing one split does not change the others.
    """

    has_trees: ClassVar[bool] = True

    kind: Literal["toy"] = "toy"
    grammar: str
    """A grammar file, or the name of an included grammar: english, mandarin or demo_english."""
    seed: NonNegativeInt = 0
    """Random seed of the sampled sentences."""
    train: PositiveInt = 8000
    """Number of sentences of the training split."""
    valid: PositiveInt = 500
    """Number of sentences of the validation split."""
    test: PositiveInt = 500
    """Number of sentences of the test split."""

    @property
    def path(self) -> Path:
        """The grammar file."""
        shipped = GRAMMARS / f"{self.grammar}.pcfg"
        return shipped if shipped.is_file() else Path(self.grammar)

    @cached_property
    def rules(self) -> Grammar:
        """Return the grammar of the corpus, for exact probabilities."""
        # Imported here, and below, because NumPy takes long to load and settings do not need it.
        from gardenpath.data.pcfg.grammar_file import read_grammar

        return read_grammar(self.path)

    def read(self, split: str) -> Iterator[Sentence]:
        from gardenpath.data.pcfg.sampler import Sampler

        sampler = Sampler(self.rules, seed=self.seed * len(SPLITS) + SPLITS.index(split))
        for number in range(1, getattr(self, split) + 1):
            tree = sampler.draw()
            yield Sentence(tree.words(), Source(f"{self.path.stem}-{split}", number), tree)

    def fingerprint(self, splits: Sequence[str] = SPLITS) -> str:
        try:
            content = self.path.read_bytes()
        except OSError as error:
            shipped = ", ".join(sorted(path.stem for path in GRAMMARS.glob("*.pcfg")))
            raise InputError(
                f"cannot be opened: {error.strerror}",
                path=self.path,
                remedy=f"give a grammar file or the name of an included grammar: {shipped}",
            ) from error
        sizes: dict[str, int] = {split: getattr(self, split) for split in splits}
        return fingerprint("toy", 1, seed=self.seed, sizes=sizes, grammar=digest(content))
