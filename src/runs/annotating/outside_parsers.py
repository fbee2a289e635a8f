"""Parsers of others: the Berkeley Neural Parser (benepar) and Stanza, where they are installed.

Nothing is downloaded here. Each process loads a model once and computes with one thread on a CPU,
so that trees do not depend on the number of processes.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from gardenpath.data.trees.brackets import format_tree, parse_tree
from gardenpath.data.trees.tree import Tree
from gardenpath.data.words.unknown_words import Language
from gardenpath.errors import GardenpathError
from gardenpath.runs.parsing import with_words
from gardenpath.store.keys import fingerprint
from gardenpath.text import Words

# Labels of the bracket around a whole tree.
_OUTER = ("TOP", "ROOT", "S1", "VROOT")


class _OutsideParser(abc.ABC):
    """A parser of another package, with a model that is chosen by language."""

    _package: ClassVar[str]
    _models: ClassVar[dict[Language, str]]

    def __init__(self, model: str, *, language: Language, device: str) -> None:
        self._model = model or self._models[language]
        self._device = device

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process, which loads the model itself."""
        return {name: value for name, value in vars(self).items() if name != "_loaded"}

    @property
    def stays_here(self) -> bool:
        """Whether it computes on a GPU, which processes do not share."""
        return not self._uses_cpu

    @property
    def label(self) -> str:
        """Name, version and model."""
        try:
            installed = version(self._package)
        except PackageNotFoundError:
            installed = "unknown version"
        return f"{self._package} {installed}, model {self._model}"

    @property
    def key(self) -> str:
        """A hash of the versions; files of models have no version of their own."""
        return fingerprint("outside parser", 1, label=self.label)

    def check(self, sentences: Sequence[Words]) -> None:
        """Raise an error if the package or the model is not installed."""
        if find_spec(self._package) is None:
            raise GardenpathError(
                f"parser={self._package} needs the package {self._package}: pip install "
                f"{self._package}; or name a run of a syntactic model, as in parser=runs/gum/rnng"
            )
        _ = self._loaded

    def parse(self, sentences: Sequence[Words], scratch: Path) -> list[str | None]:
        """Return the trees, without a bracket for the whole, with the words as they were given."""
        trees = list(self._trees(sentences))
        lengths = [len(tree.words()) for tree in trees]
        if lengths != [len(words) for words in sentences]:
            raise GardenpathError(
                f"{self.label}: a tree has other words than its sentence; use another version"
            )
        return [
            format_tree(with_words(_inner(tree), words))
            for tree, words in zip(trees, sentences, strict=True)
        ]

    @cached_property
    def _loaded(self) -> Any:
        if self._uses_cpu:
            import torch

            torch.set_num_threads(1)
        return self._load()

    @property
    def _uses_cpu(self) -> bool:
        import torch

        return self._device == "cpu" or not torch.cuda.is_available()

    @abc.abstractmethod
    def _load(self) -> Any:
        """Load the model, or raise an error that says how to install it."""

    @abc.abstractmethod
    def _trees(self, sentences: Sequence[Words]) -> Iterator[Tree]:
        """Yield the tree of each sentence, over any words."""


class BeneparParser(_OutsideParser):
    """The Berkeley Neural Parser (Kitaev and Klein 2018), which Wang et al. (2021) used."""

    _package = "benepar"
    _models: ClassVar[dict[Language, str]] = {"en": "benepar_en3", "zh": "benepar_zh2"}

    def _load(self) -> Any:
        import benepar

        try:
            return benepar.Parser(self._model)
        except LookupError as error:
            raise GardenpathError(
                f'parser=benepar needs its model: python -c "import benepar; '
                f"benepar.download('{self._model}')\""
            ) from error

    def _trees(self, sentences: Sequence[Words]) -> Iterator[Tree]:
        import benepar

        inputs = [benepar.InputSentence(words=list(words)) for words in sentences]
        return (_from_nested(tree) for tree in self._loaded.parse_sents(inputs))


class StanzaParser(_OutsideParser):
    """The constituency parser of Stanza, with its own parts of speech."""

    _package = "stanza"
    _models: ClassVar[dict[Language, str]] = {"en": "en", "zh": "zh-hans"}

    def _load(self) -> Any:
        import stanza

        try:
            return stanza.Pipeline(
                self._model,
                processors="tokenize,pos,constituency",
                tokenize_pretokenized=True,
                download_method=None,
                use_gpu=not self._uses_cpu,
                verbose=False,
            )
        except Exception as error:  # its class depends on the version
            raise GardenpathError(
                f"parser=stanza cannot load the model {self._model} ({str(error)[:200]}); download "
                f"it with: python -c \"import stanza; stanza.download('{self._model}')\""
            ) from error

    def _trees(self, sentences: Sequence[Words]) -> Iterator[Tree]:
        # Blanks within a word would divide it, and words are without blanks.
        found = self._loaded([list(words) for words in sentences])
        return (parse_tree(str(one.constituency)) for one in found.sentences)


def _from_nested(tree: Any) -> Tree:
    """Convert a tree of NLTK's class, of any depth."""
    # Its labels and words have no blanks, and brackets in words are escaped.
    return parse_tree(" ".join(tree.pformat(margin=10**9).split()))


def _inner(tree: Tree) -> Tree:
    """Drop the bracket around the whole tree, unless it is the only constituent."""
    only = tree.children[0]
    is_outer = tree.label in _OUTER and len(tree.children) == 1
    return only if is_outer and isinstance(only, Tree) and not only.is_preterminal else tree
