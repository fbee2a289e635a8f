"""Vocabularies, one per corpus and shared by all models trained on it, and unknown words.

Used by everything that turns words into numbers. Ids are those of the special symbols first, then
of the unknown-word classes, then of the words. Words seen fewer than ``min_count`` times in the
training split are replaced by their class. Vocabularies are stored as JSON and identified by a
hash; the same words must always have the same ids. Settings import this module, so NumPy is loaded
when it is needed.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from gardenpath.errors import InputError
from gardenpath.safe_text import parse_json
from gardenpath.store.files import fingerprint, write_json

if TYPE_CHECKING:
    from gardenpath.data.arrays import Bools

# ----------------------------------------------------------------------------
# Fine-grained classes for unknown words.
#
# English classes follow the signatures of the Berkeley parser (suffix, capitals, digits, hyphens);
# Chinese classes use script, length and the last character. A class is written ``<unk-…>`` with
# its features from general to specific; dropping the last feature gives the next coarser class.


UNKNOWN = "<unk>"

Language = Literal["en", "zh"]

_ENGLISH_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")

_CHINESE_NUMERALS = frozenset(
    "零〇一二三四五六七八九十百千万萬亿億兆两兩廿卅点點分之第几幾多余餘.%％"
)

# The last character of a Chinese word is informative about its class.
_CHINESE_FINALS: dict[str, str] = {
    "person": "人者员員家师師长長生手民工兵士客迷子",
    "place": "国國省市县縣区區州镇鎮乡鄉村城路街山河江湖海岛島港洲湾灣",
    "time": "年月日时時天周週晚晨期代",
    "organisation": "会會院社厂廠司部局处處所校团團队隊党黨店馆館军軍",
    "quality": "性化度率力式型级級类類权權法学學业業",
    "predicate": "了着著过過起来來去出入成到开開住得给給",
    "modifier": "的地然",
}
_FINAL_CLASS = {char: name for name, chars in _CHINESE_FINALS.items() for char in chars}


def unknown_class(
    word: str, *, language: Language, is_first: bool, is_known: Callable[[str], bool]
) -> str:
    """Return the class of a word, e.g. ``<unk-caps-num>``.

    ``is_first`` says whether the word begins its sentence, where a capital is less informative;
    ``is_known`` says whether the vocabulary contains a form, here the lower-cased word.
    """
    if word == UNKNOWN:  # a corpus whose rare words have been replaced already
        return UNKNOWN
    if not any(char.isalnum() for char in word):
        return _name(["punct"])
    if language == "zh":
        return _name(_chinese_features(word))
    return _name(_english_features(word, is_first, is_known))


def coarser(name: str) -> Iterator[str]:
    """Yield the class itself, then ever coarser ones, down to ``<unk>``."""
    features = name[1:-1].split("-")
    for length in range(len(features), 0, -1):
        yield f"<{'-'.join(features[:length])}>"


def _name(features: list[str]) -> str:
    return f"<{'-'.join(['unk', *features])}>"


def _english_features(word: str, is_first: bool, is_known: Callable[[str], bool]) -> list[str]:
    return [
        *_english_case(word, is_first, is_known),
        *(["num"] if any(char.isdigit() for char in word) else []),
        *(["dash"] if "-" in word else []),
        *_english_suffix(word),
    ]


def _english_case(word: str, is_first: bool, is_known: Callable[[str], bool]) -> list[str]:
    capitals = sum(char.isupper() for char in word)
    if word[0].isupper():
        if is_first and capitals == 1:
            return ["initc", "knownlc"] if is_known(word.lower()) else ["initc"]
        return ["caps"]
    if capitals:
        return ["caps"]
    return ["lc"] if any(char.islower() for char in word) else []


def _english_suffix(word: str) -> list[str]:
    lower = word.lower()
    if len(word) >= 3 and lower.endswith("s") and lower[-2] not in "siu":
        return ["s"]
    is_code = any(c.isdigit() for c in word) and any(c.isupper() for c in word)
    if len(word) < 5 or "-" in word or is_code:
        return []
    return [suffix for suffix in _ENGLISH_SUFFIXES if lower.endswith(suffix)][:1]


def _chinese_features(word: str) -> list[str]:
    # Full-width letters and digits count as their ordinary counterparts.
    plain = unicodedata.normalize("NFKC", word)
    if all(char.isdigit() or char in _CHINESE_NUMERALS for char in plain):
        return ["num"]
    if any("a" <= char <= "z" for char in plain.lower()):
        return ["latin"]
    length = ["len4"] if len(word) >= 4 else [f"len{len(word)}"]
    if any(char.isdigit() for char in plain):
        return ["mixed"]
    final = _FINAL_CLASS.get(word[-1])
    return length + ([final] if final else [])


# ----------------------------------------------------------------------------
# Vocabularies.


# Raise it whenever models see other units for the same words, with the same vocabulary.
WORDS_VERSION = 1

Element = TypeVar("Element")

PAD, BEGIN, END = "<pad>", "<s>", "</s>"
SPECIALS = (PAD, BEGIN, END, UNKNOWN)
PAD_ID, BEGIN_ID, END_ID, UNKNOWN_ID = range(4)

# The first piece of each word begins with this mark, which may be a piece of its own.
WORD_MARK = "▁"


@dataclass(frozen=True)
class Vocabulary:
    """The units that models predict (words or subword pieces) and the constituent labels."""

    tokens: tuple[str, ...]
    counts: tuple[int, ...]
    labels: tuple[str, ...]
    language: Language
    min_count: int
    subword_hash: str | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """Maps tokens to ids."""
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def label_ids(self) -> Mapping[str, int]:
        """Maps constituent labels to ids."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def is_continuation(self) -> Bools:
        """``(tokens,)``: whether a token is a piece that continues a word.

        An unknown character follows the mark of beginnings, if that is a piece of its own.
        """
        # Imported here because NumPy takes long to load and settings do not need it.
        import numpy as np

        if self.subword_hash is None:
            return np.zeros(len(self.tokens), dtype=bool)
        continues = np.array([not token.startswith(WORD_MARK) for token in self.tokens])
        continues[: len(SPECIALS)] = False
        continues[UNKNOWN_ID] = WORD_MARK in self.ids
        return continues

    @property
    def continuations(self) -> Bools | None:
        """:attr:`is_continuation` if a word can consist of several tokens, else None."""
        return self.is_continuation if self.is_continuation.any() else None

    @cached_property
    def content_hash(self) -> str:
        """A hash that identifies the vocabulary; equal hashes mean equal ids."""
        return fingerprint("vocabulary", 1, **self._as_json())

    def knows(self, word: str) -> bool:
        """Whether a word is in the vocabulary."""
        return word in self.ids and not _is_reserved(word)

    def seen_as(self, word: str, *, is_first: bool) -> str:
        """Return what a model sees instead of a word: the word itself or an unknown-word class."""
        if self.knows(word):
            return word
        name = unknown_class(word, language=self.language, is_first=is_first, is_known=self.knows)
        return next(candidate for candidate in coarser(name) if candidate in self.ids)

    def encode(self, words: Sequence[str]) -> list[int]:
        """Return the ids of the words of a sentence."""
        return [
            self.ids[self.seen_as(word, is_first=position == 0)]
            for position, word in enumerate(words)
        ]

    def save(self, path: Path) -> None:
        """Write the vocabulary as JSON."""
        write_json(path, self._as_json())

    @staticmethod
    def load(path: Path) -> Vocabulary:
        """Read a vocabulary written by :meth:`save`."""
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            loaded = Vocabulary(
                tokens=_list_of(str, content["tokens"]),
                counts=_list_of(int, content["counts"]),
                labels=_list_of(str, content["labels"]),
                language=content["language"],
                min_count=content["min_count"],
                subword_hash=content["subword_hash"],
            )
            loaded._require_usable()
            return loaded
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise InputError(
                f"is not a vocabulary: {error}", path=path, remedy="prepare the corpus again"
            ) from error

    def _require_usable(self) -> None:
        """Raise ValueError for content that no vocabulary has."""
        if self.tokens[: len(SPECIALS)] != SPECIALS:
            raise ValueError(f"it does not begin with {', '.join(SPECIALS)}")
        if len(self.ids) != len(self.tokens) or len(self.label_ids) != len(self.labels):
            raise ValueError("a token or label occurs twice")
        if len(self.counts) != len(self.tokens):
            raise ValueError(f"{len(self.counts)} counts for {len(self.tokens)} tokens")
        if self.language not in get_args(Language):
            raise ValueError(f"unknown language {str(self.language)[:50]!r}")
        if type(self.min_count) is not int or not isinstance(self.subword_hash, str | None):
            raise ValueError("min_count or subword_hash has another type")

    def _as_json(self) -> dict[str, Any]:
        return {
            "language": self.language,
            "min_count": self.min_count,
            "subword_hash": self.subword_hash,
            "labels": list(self.labels),
            "tokens": list(self.tokens),
            "counts": list(self.counts),
        }


def _list_of(kind: type[Element], content: Any) -> tuple[Element, ...]:
    if not isinstance(content, list) or not all(type(item) is kind for item in content):
        raise ValueError(f"expected a list of {kind.__name__}")
    return tuple(content)


def _is_reserved(word: str) -> bool:
    """Whether a word of a corpus looks like a reserved symbol: a special symbol or a class."""
    return word in SPECIALS or word.startswith("<unk-")


def build_vocabulary(
    counts: Mapping[tuple[str, bool], int],
    *,
    labels: Iterable[str],
    language: Language,
    min_count: int,
) -> Vocabulary:
    """Build a vocabulary from the training split.

    ``counts`` gives the frequency of each word at the start of a sentence (``True``) and elsewhere.
    """
    totals: Counter[str] = Counter()
    for (word, _), count in counts.items():
        totals[word] += count
    frequent = {w for w, n in totals.items() if n >= min_count and not _is_reserved(w)}
    classes: Counter[str] = Counter()
    for (word, is_first), count in counts.items():
        if word not in frequent:
            name = unknown_class(
                word, language=language, is_first=is_first, is_known=frequent.__contains__
            )
            classes[name] += count
    words = sorted(frequent, key=lambda word: (-totals[word], word))
    tokens = (*SPECIALS, *sorted(classes.keys() - {UNKNOWN}), *words)
    return Vocabulary(
        tokens=tokens,
        counts=tuple(classes[t] if _is_reserved(t) else totals[t] for t in tokens),
        labels=tuple(sorted(set(labels))),
        language=language,
        min_count=min_count,
    )
