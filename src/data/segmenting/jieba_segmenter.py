"""Chinese words by jieba: the most probable words of its dictionary, and a model of unknown ones.

jieba keeps its dictionary in a file of the system's folder of temporary files, which any user may
write and which it reads without checks. The dictionary is therefore built from the package itself.
"""

from __future__ import annotations

import warnings
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from gardenpath.errors import GardenpathError


def jieba_problem() -> str:
    """Return why jieba cannot be used; empty if it can."""
    if find_spec("jieba") is not None:
        return ""
    return "segmenter=jieba needs the package jieba: pip install 'gardenpath[annotate]'"


class JiebaSegmenter:
    """Chinese words as jieba divides them, without dictionaries of the user."""

    name = "jieba"

    def __init__(self) -> None:
        if problem := jieba_problem():
            raise GardenpathError(problem)
        self._tokeniser = _tokeniser()
        self.version = version("jieba")

    def segment(self, text: str) -> list[str]:
        """Return the words of a text."""
        return [word for word in self._tokeniser.cut(text) if not word.isspace()]


def _tokeniser() -> Any:
    with warnings.catch_warnings():
        # It asks setuptools for its files where that still answers, with a warning.
        warnings.simplefilter("ignore")
        import jieba
    made = jieba.Tokenizer()
    made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made
