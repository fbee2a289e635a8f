"""Fine-grained classes for out-of-vocabulary words.

English classes follow the signatures of the Berkeley parser (suffix, capitals, digits, hyphens);
Chinese classes use script, length and the last character. A class is written ``<unk-…>`` with its
features from general to specific; dropping the last feature gives the next coarser class.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal

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
