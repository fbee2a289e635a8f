"""Which tokens of a masked language model belong to which word.

Words are joined to a text, the text is divided into tokens as a whole, and a token belongs to the
word that contains its characters.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gardenpath.data.words.spacing import Spacing, joined_words
from gardenpath.errors import GardenpathError


@dataclass(frozen=True)
class WordTokens:
    """A sentence as tokens, special ones included.

    ``positions`` has, for each word, the positions of its tokens. ``problems`` says why words have
    no tokens of their own, by the number of the word.
    """

    ids: tuple[int, ...]
    positions: tuple[tuple[int, ...], ...]
    problems: Mapping[int, str]


def word_tokens(tokenizer: Any, words: Sequence[str], spacing: Spacing) -> WordTokens:
    """Divide a sentence into tokens, and assign them to its words.

    A sentence is refused if a word of it is a special token for the tokeniser all the same.
    """
    joined = joined_words(words, spacing)
    text, spans = joined.text, list(zip(joined.starts, joined.ends, strict=True))
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
