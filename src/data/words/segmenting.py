"""Text into words: segmenters, chosen by name, and the way in which a corpus writes its words.

Called for text of users and of published sets (`runs.text`, suites) and by the task `annotate`. A
segmenter never changes the text: its words, joined, are the text without its blanks. Its name and
version stand in results, because other words have other probabilities. Nothing is downloaded, and
programs of others are loaded when they are used.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gardenpath.data.sentence import Source
from gardenpath.errors import GardenpathError, InputError
from gardenpath.settings.schema import nearest

# ----------------------------------------------------------------------------
# Chinese text: whether there is any, and punctuation attached to words.


CHINESE_MARKS = "。，、；：！？…「」『』《》（）“”‘’"

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MARKS_OR_WORDS = re.compile(rf"(?:…+|[{CHINESE_MARKS}])|[^{CHINESE_MARKS}]+")


def has_han(text: str) -> bool:
    """Whether a text contains Chinese characters."""
    return _HAN.search(text) is not None


# ----------------------------------------------------------------------------
# English text as words of treebanks: punctuation and clitics are words of their own.
#
# ``She doesn't like Bill's dog.`` has the words ``She does n't like Bill 's dog .``. Full stops of
# titles and initials (``Mr.``, ``J.``) stay with their word except at the end of the sentence.


_BLANKS = re.compile(r"[ \t\n\r]+")
_OPENING = "\"'“‘([{"
_CLOSING = ".,;:!?\"'”’…)]}"
_CLITIC = re.compile(r"(?i)n['’]t|['’](?:s|re|ve|ll|d|m)")
_ABBREVIATION = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|(?:[A-Za-z]\.)*[A-Za-z])\.")


def english_words(sentence: str) -> tuple[str, ...]:
    """Split a sentence into words, punctuation and clitics, as in treebanks."""
    chunks = [chunk for chunk in _BLANKS.split(sentence) if chunk]
    inner = [word for chunk in chunks[:-1] for word in english_parts(chunk, False)]
    return (*inner, *(word for chunk in chunks[-1:] for word in english_parts(chunk, True)))


@lru_cache(maxsize=50_000)
def english_parts(chunk: str, is_last: bool, clitics: bool = True) -> tuple[str, ...]:
    """Divide what stands between spaces; the sentences of a set have the same words again.

    ``is_last``: whether it ends the sentence; ``clitics``: whether these are words of their own.
    """
    before, word, after = _peel(chunk, is_last=is_last)
    # The length of the clitic at the end of the word, 0 if it has none.
    sizes = (n for n in (3, 2) if len(word) > n and _CLITIC.fullmatch(word[-n:]))
    size = next(sizes, 0) if clitics else 0
    middle = [word[:-size], word[-size:]] if size else [word] if word else []
    return (*before, *middle, *after)


def _peel(chunk: str, *, is_last: bool) -> tuple[list[str], str, list[str]]:
    start, end = 0, len(chunk)
    # A clitic on its own is not an opening quotation mark.
    while end - start > 1 and chunk[start] in _OPENING and not _CLITIC.fullmatch(chunk, start):
        start += 1
    before, after = list(chunk[:start]), list[str]()
    while end > start and chunk[end - 1] in _CLOSING:
        if not is_last and not after and _ABBREVIATION.fullmatch(chunk, start, end):
            break
        begin = end - 1
        while chunk[end - 1] == "." and begin > start and chunk[begin - 1] == ".":
            begin -= 1
        after.append(chunk[begin:end])
        end = begin
    return before, chunk[start:end], after[::-1]


# ----------------------------------------------------------------------------
# Segmenters, by name.


@dataclass(frozen=True, slots=True)
class Segmenter:
    """Divides text into words, which ``segment`` returns without blanks.

    ``version`` is that of the program that divides the text; empty for a rule of ours.
    """

    name: str
    version: str
    segment: Callable[[str], list[str]]


def _jieba() -> Segmenter:
    """The most probable words of jieba's dictionary, and a model of unknown ones.

    jieba keeps its dictionary in a file of the system's folder of temporary files, which any user
    may write and which it reads without checks. It is therefore built from the package itself.
    """
    with warnings.catch_warnings():
        # It asks setuptools for its files where that still answers, with a warning.
        warnings.simplefilter("ignore")
        import jieba
    tokeniser: Any = jieba.Tokenizer()
    tokeniser.FREQ, tokeniser.total = tokeniser.gen_pfdict(tokeniser.get_dict_file())
    tokeniser.initialized = True

    def segment(text: str) -> list[str]:
        return [word for word in tokeniser.cut(text) if not word.isspace()]

    return Segmenter("jieba", version("jieba"), segment)


def _nltk() -> Segmenter:
    """English words by the rules of the Penn Treebank, which need no data.

    NLTK writes straight quotes as the Treebank does; here they are put back, so that the words are
    those of the text.
    """

    def segment(text: str) -> list[str]:
        # Imported here because NLTK takes a second to load.
        from nltk.tokenize.destructive import NLTKWordTokenizer

        joined = " ".join(text.split())
        return list(restored(joined, NLTKWordTokenizer().tokenize(joined)))

    return Segmenter("nltk", version("nltk"), segment)


# Models of spaCy are Python packages; a path is not accepted, because a folder of a model may name
# code that is run when it is loaded.
_DEFAULT_SPACY_MODEL = "zh_core_web_sm"
_DEFAULT_PKUSEG_MODEL = "spacy_ontonotes"
_PACKAGE = re.compile(r"[a-z]\w*", re.ASCII)


def _spacy(model: str) -> Segmenter:
    """Words as the tokeniser of a model of spaCy divides them."""
    import spacy

    loaded: Any = spacy.load(model)

    def segment(text: str) -> list[str]:
        return [word for token in loaded.make_doc(text) for word in token.text.split()]

    versions = f"{_version('spacy')}, model {_version(model.replace('_', '-'))}"
    return Segmenter(f"spacy:{model}", versions, segment)


def _pkuseg(model: str) -> Segmenter:
    """Chinese words by pkuseg, as spaCy uses it."""
    import spacy_pkuseg

    # A folder that exists is never downloaded.
    loaded: Any = spacy_pkuseg.pkuseg(model_name=str(_pkuseg_folder(model)))

    def segment(text: str) -> list[str]:
        return [word for part in text.split() for word in loaded.cut(part)]

    return Segmenter(f"pkuseg:{model}", _version("spacy-pkuseg"), segment)


def _pkuseg_folder(model: str) -> Path:
    return Path(os.environ.get("PKUSEG_HOME") or Path.home() / ".pkuseg") / model


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


# Latin words, numbers and names such as e-mail, 2.5 and Ph.D, else single characters. Words of
# Latin letters keep their hyphens and inner full stops, because the blank that separates them would
# change the text.
_CHARACTERS = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\S")

SEGMENTERS: Mapping[str, Callable[[], Segmenter]] = {
    "characters": lambda: Segmenter("characters", "", _CHARACTERS.findall),
    "whitespace": lambda: Segmenter("whitespace", "", str.split),
    "jieba": _jieba,
    "nltk": _nltk,
}


@cache
def segmenter_named(name: str) -> Segmenter:
    """Return a segmenter; raise an error if there is none of this name, or if it is not installed.

    Segmenters load their dictionaries once per process.
    """
    if problem := segmenter_problem(name):
        raise GardenpathError(problem)
    kind, _, model = name.partition(":")
    if kind == "spacy":
        return _spacy(model or _DEFAULT_SPACY_MODEL)
    if kind == "pkuseg":
        return _pkuseg(model or _DEFAULT_PKUSEG_MODEL)
    return SEGMENTERS[name]()


def segmenter_problem(name: str) -> str:
    """Return why a segmenter cannot be used, before its data are loaded; empty if it can."""
    kind, _, model = name.partition(":")
    if kind == "spacy":
        return _spacy_problem(model or _DEFAULT_SPACY_MODEL)
    if kind == "pkuseg":
        return _pkuseg_problem(model or _DEFAULT_PKUSEG_MODEL)
    if name not in SEGMENTERS:
        return f"unknown segmenter {name!r}; {nearest(name, [*SEGMENTERS, 'spacy', 'pkuseg'])}"
    return jieba_problem() if name == "jieba" else ""


def jieba_problem() -> str:
    """Return why jieba cannot be used; empty if it can."""
    if find_spec("jieba") is not None:
        return ""
    return "segmenter=jieba needs the package jieba: pip install 'gardenpath[annotate]'"


def _spacy_problem(model: str) -> str:
    if not _PACKAGE.fullmatch(model):
        return f"segmenter=spacy:{model}: name an installed model, such as {_DEFAULT_SPACY_MODEL}"
    if find_spec("spacy") is None:
        return "segmenter=spacy needs the package spacy: pip install spacy"
    if find_spec(model) is None:
        return f"segmenter=spacy:{model} needs its model: python -m spacy download {model}"
    return ""


def _pkuseg_problem(model: str) -> str:
    if not _PACKAGE.fullmatch(model):
        return f"segmenter=pkuseg:{model}: name a model, such as {_DEFAULT_PKUSEG_MODEL}"
    if find_spec("spacy_pkuseg") is None:
        return "segmenter=pkuseg needs the package spacy-pkuseg: pip install spacy-pkuseg"
    folder = _pkuseg_folder(model)
    if folder.is_dir():
        return ""
    return (
        f"segmenter=pkuseg:{model} needs its model in {folder}: download it from the releases "
        "of https://github.com/explosion/spacy-pkuseg and unpack it there"
    )


def segmenter_label(segmenter: Segmenter) -> str:
    """Return name and version, as they stand in results: ``jieba 0.42.1``."""
    return f"{segmenter.name} {segmenter.version}".strip()


# ----------------------------------------------------------------------------
# Quotation marks, in the text and as the Penn Treebank writes them.


_QUOTES = ("``", "''")
_STRAIGHT = ('"', "''", "``")


def restored(text: str, tokens: Sequence[str]) -> Iterator[str]:
    """Yield the pieces of a text that tokens stand for; quotes may be written differently there.

    From a token on that does not occur in the text, the rest is divided at blanks.
    """
    position = 0
    for token in tokens:
        position += text[position : position + 1].isspace()
        forms = (token, *_STRAIGHT) if token in _QUOTES else (token,)
        form = next((form for form in forms if form and text.startswith(form, position)), None)
        if form is None:
            break
        yield form
        position += len(form)
    yield from text[position:].split()


def treebank_quotes(text: str, words: Sequence[str]) -> list[str]:
    """Write the straight quotes among the words of a text as the Penn Treebank does.

    A quote opens at the beginning of the text, after a blank and after an opening bracket.
    """
    written = []
    position = 0
    for word in words:
        while position < len(text) and text[position].isspace():
            position += 1
        before = text[position - 1 : position] if position else " "
        if word == '"':
            opens = before.isspace() or before in "([{"
            written.append(_QUOTES[0] if opens else _QUOTES[1])
        else:
            written.append({"“": _QUOTES[0], "”": _QUOTES[1]}.get(word, word))
        position += len(word)
    return written


# ----------------------------------------------------------------------------
# How the corpus of a model writes its words, and text divided in the same way.
#
# Text is divided at blanks first. Then punctuation and clitics become words of their own if they
# are in the model's corpus, quotation marks and case are those of the corpus, and what the model
# knows as a word stays whole (*Inc.*). Text that is divided already does not change: a sentence
# with punctuation marks as words of their own, and none that ends a clause attached to a word, is
# not divided further.


MARKS = (".", ",", "?", "!", ";", ":", *CHINESE_MARKS)
CLITICS = ("n't", "'s", "'re", "'ve", "'ll")
OPENING_QUOTE, CLOSING_QUOTE = "``", "''"

_SEPARATE = frozenset(MARKS)
# Before the end of a sentence, a full stop may belong to an abbreviation; these end a clause.
_ATTACHED = tuple(mark for mark in MARKS if mark != ".")
_HOW_TO_SEGMENT = (
    "separate words by blanks as the model's corpus does, as in 他 喜欢 猫 。, or choose "
    "what finds the words: segmenter=jieba (or spacy, pkuseg, characters)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingStyle:
    """How words are written in a corpus.

    ``keeps`` says whether what stands between blanks is a word of the model. ``segmenter`` divides
    Chinese text, whether or not it has blanks; ``without_blanks`` divides sentences that have none,
    and None refuses them.
    """

    keeps: Callable[[str], bool]
    splits_punctuation: bool = True
    splits_clitics: bool = True
    has_treebank_quotes: bool = False
    lowercase: bool = False
    segmenter: str | None = None
    without_blanks: str | None = None

    def words(self, chunks: Sequence[str], source: Source) -> list[tuple[str, int]]:
        """Return the words of a sentence, each with the place of the chunk that it is from.

        ``chunks`` are what stands between blanks, ``source`` is named in messages.
        """
        cased = [chunk.lower() for chunk in chunks] if self.lowercase else list(chunks)
        if (segmenter := self._segmenter(cased, source)) is not None:
            segment = segmenter_named(segmenter).segment
            return [(word, place) for place, chunk in enumerate(cased) for word in segment(chunk)]
        if not self.splits_punctuation or _is_divided(cased):
            return [(chunk, place) for place, chunk in enumerate(cased)]
        words = [
            (word, place)
            for place, chunk in enumerate(cased)
            for word in self._parts(chunk, is_last=place == len(cased) - 1)
        ]
        return self._quoted(words) if self.has_treebank_quotes else words

    def _parts(self, chunk: str, *, is_last: bool) -> tuple[str, ...]:
        if self.keeps(chunk):
            return (chunk,)
        if any(mark in chunk for mark in CHINESE_MARKS) and has_han(chunk):
            return tuple(_MARKS_OR_WORDS.findall(chunk))
        return english_parts(chunk, is_last, self.splits_clitics)

    def _segmenter(self, chunks: Sequence[str], source: Source) -> str | None:
        """Return what divides a sentence; refuse Chinese without blanks if nothing does."""
        if self.segmenter is not None and any(map(has_han, chunks)):
            return self.segmenter
        has_blanks = len(chunks) > 1 or len(_HAN.findall(chunks[0])) < 2
        if has_blanks or self.keeps(chunks[0]):
            return None
        if self.without_blanks is None:
            raise InputError(
                f"the words of {chunks[0]!r} are not separated",
                path=source.path,
                line=source.line,
                remedy=_HOW_TO_SEGMENT,
            )
        return self.without_blanks

    def _quoted(self, words: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Write double quotation marks as the Penn Treebank does."""
        is_open = False
        quoted = []
        for word, place in words:
            if word in ('"', "“", "”"):
                is_open = word == "“" or (word == '"' and not is_open)
                word = OPENING_QUOTE if is_open else CLOSING_QUOTE
            quoted.append((word, place))
        return quoted


def _is_divided(chunks: Sequence[str]) -> bool:
    """Whether punctuation marks stand alone, and none that ends a clause is attached."""
    if not any(chunk in _SEPARATE for chunk in chunks):
        return False
    return not any(
        len(chunk) > 1
        and chunk[0].isalnum()
        and chunk.endswith(MARKS if place == len(chunks) else _ATTACHED)
        for place, chunk in enumerate(chunks, start=1)
    )
