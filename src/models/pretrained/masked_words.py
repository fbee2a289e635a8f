"""Which tokens of a masked language model belong to which word.

Words are joined to a text, the text is divided into tokens as a whole, and a token belongs to the
word that contains its characters.
"""

from __future__ import annotations

import bisect
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gardenpath.errors import GardenpathError

# Where blanks stand in the text of a sentence: between all words, between none, or between all but
# beside Chinese characters (auto).
MaskedSpacing = Literal["auto", "blanks", "none"]


@dataclass(frozen=True)
class WordTokens:
    """A sentence as tokens, special ones included.

    ``positions`` has, for each word, the positions of its tokens. ``problems`` says why words have
    no tokens of their own, by the number of the word.
    """

    ids: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]
    problems: Mapping[int, str]


def word_tokens(tokenizer: Any, words: Sequence[str], spacing: MaskedSpacing) -> WordTokens:
    """Divide a sentence into tokens, and assign them to its words.

    A sentence is refused if a word of it is a special token for the tokeniser all the same.
    """
    text, spans = _joined(words, spacing)
    # Words that look like special tokens, such as [MASK], are text.
    found = tokenizer(
        text,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        split_special_tokens=True,
    )
    positions: list[list[int]] = [[] for _ in words]
    problems: dict[int, str] = {}
    offsets, specials = found["offset_mapping"], found["special_tokens_mask"]
    reserved = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    for place, ((start, end), is_special) in enumerate(zip(offsets, specials, strict=True)):
        if is_special:
            continue
        if found["input_ids"][place] in reserved:
            raise GardenpathError(
                f"{' '.join(words)[:100]!r}: contains {text[start:end]!r}, which is a special "
                "token of the model; leave the sentence out"
            )
        touched = _words_of(text, start, end, spans)
        for word in touched:
            positions[word].append(place)
        if len(touched) > 1:
            problem = f"the token {text[start:end]!r} belongs to several words"
            problems |= dict.fromkeys(touched, problem)
    for word, own in enumerate(positions):
        if not own:
            problems[word] = f"the tokeniser drops {words[word]!r}"
    return WordTokens(tuple(found["input_ids"]), tuple(map(tuple, positions)), problems)


def _words_of(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> range:
    """Return the words of the characters from ``start`` to ``end``, without blanks around them.

    A token without characters of its own, as one that only marks the beginning of a word, belongs
    to the word that follows.
    """
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    first = bisect.bisect_right(spans, start, key=lambda span: span[1])
    last = bisect.bisect_left(spans, max(end, start + 1), key=lambda span: span[0])
    return range(first, max(last, min(first + 1, len(spans))))


def _joined(words: Sequence[str], spacing: MaskedSpacing) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of a sentence, and where each of its words begins and ends."""
    text, spans = "", list[tuple[int, int]]()
    for word in words:
        if text and word and _is_apart(text[-1], word[0], spacing):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return text, spans


def _is_apart(before: str, after: str, spacing: MaskedSpacing) -> bool:
    """Whether a blank separates two words, given the characters that would meet."""
    if spacing == "auto":
        return not (_is_wide(before) or _is_wide(after))
    return spacing == "blanks"


def _is_wide(character: str) -> bool:
    """Whether a character is as wide as a Chinese one: Han, kana, full-width punctuation."""
    return unicodedata.east_asian_width(character) in "WF"
