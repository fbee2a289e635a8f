"""Parsers of word sequences behind one small interface, chosen by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from gardenpath.data.words.unknown_words import Language
from gardenpath.eval.search.search_settings import SearchSettings
from gardenpath.text import Words

NO_PARSER = "none"
OUTSIDE_PARSERS = ("benepar", "stanza")
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
        # Imported here, because runs need torch.
        from gardenpath.runs.annotating.run_parser import RunParser

        assert name is not None
        return RunParser(
            Path(name),
            device=device,
            search=search,
            processes=processes,
            allow_unknown=allow_unknown,
        )
    from gardenpath.runs.annotating.outside_parsers import BeneparParser, StanzaParser

    if kind == "benepar":
        return BeneparParser(model, language=language, device=device)
    return StanzaParser(model, language=language, device=device)
