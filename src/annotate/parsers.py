"""Parsers of word sequences behind one small interface, `TreeParser`, chosen by `parser=`.

Called by `annotate.annotation`. Parsers of others (the Berkeley Neural Parser, Stanza) are used
where they are installed; a run of a syntactic model is a parser, too. Nothing is downloaded here.
Each process loads a model once and computes with one thread on a CPU, so that trees do not depend
on the number of processes.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from gardenpath.data.trees.tree import Tree, format_tree, parse_tree, without_outer
from gardenpath.data.words.vocabulary import Language
from gardenpath.errors import GardenpathError, RunError
from gardenpath.eval.search.settings import SearchSettings
from gardenpath.runs.find import load
from gardenpath.runs.parsing import parsed, parses_key, with_words
from gardenpath.runs.text import require_known, unknown_words
from gardenpath.store.files import fingerprint
from gardenpath.store.surprisals import SurprisalStore
from gardenpath.util import Words

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
            format_tree(with_words(without_outer(tree, _OUTER), words))
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
        for tree in self._loaded.parse_sents(inputs):  # of NLTK's class, of any depth
            # Its labels and words have no blanks, and brackets in words are escaped.
            yield parse_tree(" ".join(tree.pformat(margin=10**9).split()))


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
        document = self._loaded([list(words) for words in sentences])
        return (parse_tree(str(sentence.constituency)) for sentence in document.sentences)


# ----------------------------------------------------------------------------
# A syntactic model of our own as a parser.


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
        unknown = unknown_words(self.run, map(self._seen, sentences))
        require_known([unknown], allow_unknown=self._allow_unknown)

    def parse(self, sentences: Sequence[Words], scratch: Path) -> list[str | None]:
        """Return the best trees; chunks of sentences are kept in ``scratch``."""
        self.run.store = SurprisalStore(scratch)
        seen = [self._seen(words) for words in sentences]
        parses = parsed(self.run, seen, k=1)
        return [
            format_tree(with_words(parse.trees[0][1], words)) if parse.trees else None
            for parse, words in zip(parses, sentences, strict=True)
        ]

    def _seen(self, words: Words) -> Words:
        """Return the words as they are in the run's corpus."""
        lowercase = self.run.cleaning.lowercase
        return tuple(word.lower() for word in words) if lowercase else words


# ----------------------------------------------------------------------------
# Parsers of word sequences behind one small interface, chosen by name.


DEFAULT_PARSER = "benepar"

ParserKind = Literal["none", "benepar", "stanza", "run"]


class TreeParser(Protocol):
    """Finds the trees of sentences that are divided into words."""

    @property
    def label(self) -> str:
        """What stands in results: the name and version of the program and of its model."""

    @property
    def key(self) -> str:
        """A hash of everything that determines trees."""

    @property
    def stays_here(self) -> bool:
        """Whether it is used in this process only: it has a GPU, or starts processes itself."""

    def check(self, sentences: Sequence[Words]) -> None:
        """Raise an error if it cannot be used, or not for text like these sentences."""

    def parse(self, sentences: Sequence[Words], scratch: Path) -> list[str | None]:
        """Return the tree of each sentence, in brackets on one line; None if there is none.

        The words of a tree are those of the sentence. ``scratch`` is a file for what should survive
        if the process is killed.
        """


def kind_of_parser(name: str | None) -> ParserKind:
    """Return the kind of parser that ``parser=`` names; whatever is no name is a run folder."""
    kind = DEFAULT_PARSER if name is None else name.partition(":")[0]
    if kind == "none" or kind == "benepar" or kind == "stanza":
        return kind  # type: ignore[return-value]
    return "run"


def parser_named(
    name: str | None,
    *,
    language: Language,
    device: str,
    search: SearchSettings,
    processes: int,
    allow_unknown: bool,
) -> TreeParser | None:
    """Return the parser that ``parser=`` names; None for ``none``."""
    kind = kind_of_parser(name)
    if kind == "none":
        return None
    model = (name or "").partition(":")[2]
    if kind == "run":
        assert name is not None
        return RunParser(
            Path(name),
            device=device,
            search=search,
            processes=processes,
            allow_unknown=allow_unknown,
        )
    if kind == "benepar":
        return BeneparParser(model, language=language, device=device)
    return StanzaParser(model, language=language, device=device)
