"""English words by the rules of the Penn Treebank, as NLTK's ``word_tokenize`` has them.

The rules need no data. NLTK writes straight quotes as the Treebank does; here they are put back, so
that the words are those of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

_QUOTES = ("``", "''")
_STRAIGHT = ('"', "''", "``")


class NltkSegmenter:
    """Words and punctuation of an English sentence."""

    name = "nltk"

    @cached_property
    def version(self) -> str:
        """Version of NLTK."""
        return version("nltk")

    @cached_property
    def _tokeniser(self) -> Any:
        # Imported here because NLTK takes a second to load.
        from nltk.tokenize.destructive import NLTKWordTokenizer

        return NLTKWordTokenizer()

    def segment(self, text: str) -> list[str]:
        """Return the words of a sentence."""
        joined = " ".join(text.split())
        return list(restored(joined, self._tokeniser.tokenize(joined)))


def restored(text: str, tokens: Sequence[str]) -> Iterator[str]:
    """Yield the pieces of a text that tokens stand for; quotes may be written differently there.

    From a token on that does not occur in the text, the rest is divided at blanks.
    """
    position = 0
    for token in tokens:
        position += text[position : position + 1].isspace()
        forms = (token, *_STRAIGHT) if token in _QUOTES else (token,)
        found = next((one for one in forms if one and text.startswith(one, position)), None)
        if found is None:
            break
        yield found
        position += len(found)
    yield from text[position:].split()


def treebank_quotes(text: str, words: Sequence[str]) -> list[str]:
    """Write the straight quotes among the words of a text as the Penn Treebank does.

    A quote opens at the beginning of the text, after a blank and after an opening bracket.
    """
    found = []
    position = 0
    for word in words:
        while position < len(text) and text[position].isspace():
            position += 1
        before = text[position - 1 : position] if position else " "
        if word == '"':
            opens = before.isspace() or before in "([{"
            found.append(_QUOTES[0] if opens else _QUOTES[1])
        else:
            found.append({"“": _QUOTES[0], "”": _QUOTES[1]}.get(word, word))
        position += len(word)
    return found
