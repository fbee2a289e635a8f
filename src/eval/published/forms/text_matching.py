"""Find the sentences of a file by their text.

The characters of a sentence, without blanks, must be those of a sentence that is asked for. Files
of vLLM do not contain the first token: it is the mark of the beginning, or the beginning of the
first word, which then has no number. Which of the two must be the same for all sentences of a file.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gardenpath.errors import InputError
from gardenpath.eval.published.forms.foreign import ForeignFile, ForeignSentence, without_blanks
from gardenpath.eval.published.surprisal_files import ScoredSentence, without_edges
from gardenpath.text import Words, plural

# Longest first token, in characters.
_LONGEST_TOKEN = 30

# Numbers of one sentence that differ by less came from the same computation.
_SAME = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSentences:
    """The sentences of a file by their text without blanks; ``others`` were not asked for."""

    by_text: Mapping[str, ScoredSentence]
    others: int

    def of(self, words: Words) -> ScoredSentence | None:
        """Return the sentence with these words."""
        return self.by_text.get(without_blanks(words))


def find_sentences(file: ForeignFile, asked: Sequence[Words]) -> FoundSentences:
    """Return the asked sentences that a file contains; doubtful and doubled ones are refused."""
    counts = Counter(map(without_blanks, asked))
    sentences = [replace(one, scored=without_edges(one.scored)) for one in file.sentences]
    if any(one.is_first_hidden for one in sentences):
        texts = _hidden_texts(file, sentences, list(counts))
    else:
        texts = [_text(file, one) for one in sentences]
    found: dict[str, list[ScoredSentence]] = {}
    others = 0
    for text, one in zip(texts, sentences, strict=True):
        if text is None or text not in counts:
            others += 1
            continue
        found.setdefault(text, []).append(_with_first(one.scored, text))
    for text, group in found.items():
        _require_single(file, group, counts[text])
    return FoundSentences(by_text={key: group[0] for key, group in found.items()}, others=others)


def _text(file: ForeignFile, one: ForeignSentence) -> str:
    """Return the characters of the tokens, which must be those that the file states."""
    spelt = without_blanks(one.scored.tokens)
    if one.text and without_blanks([one.text]) != spelt:
        raise _misspelt(file, one)
    return spelt


def _misspelt(file: ForeignFile, one: ForeignSentence) -> InputError:
    return InputError(
        f"{one.place}: the tokens {' '.join(one.scored.tokens)!r} do not spell {one.text!r}",
        path=file.path,
        line=one.scored.line,
    )


def _hidden_texts(
    file: ForeignFile, sentences: Sequence[ForeignSentence], asked: Sequence[str]
) -> list[str | None]:
    """Return the texts of sentences whose first token is not known; None if none was asked for."""
    longer: dict[str, set[str]] = {}
    for text in asked:
        for cut in range(1, min(len(text), _LONGEST_TOKEN) + 1):
            longer.setdefault(text[cut:], set()).add(text)
    known = set(asked)
    stated: list[set[str]] = []
    for one in sentences:
        tail = without_blanks(one.scored.tokens)
        if one.text:
            whole = without_blanks([one.text])
            if not whole.endswith(tail) or len(whole) - len(tail) > _LONGEST_TOKEN:
                raise _misspelt(file, one)
            stated.append({whole})
        else:
            stated.append(({tail} & known) | longer.get(tail, set()))
    marks = _marks(sentences, stated)
    if len(marks) == 2:
        raise InputError(
            "some sentences have a number for their first word and others have none",
            path=file.path,
            remedy="write the prompt of each sentence beside its numbers, as 'prompt'",
        )
    is_mark = marks != {False}
    texts: list[str | None] = []
    for one, options in zip(sentences, stated, strict=True):
        tail = without_blanks(one.scored.tokens)
        fitting = sorted(text for text in options if (text == tail) == is_mark)
        if len(fitting) > 1:
            raise InputError(
                f"{one.place}: {' '.join(one.scored.tokens)!r} may be the end of "
                f"{len(fitting)} sentences that begin differently",
                path=file.path,
                line=one.scored.line,
                remedy="write the prompt of each sentence beside its numbers, as 'prompt'",
            )
        texts.append(fitting[0] if fitting else None)
    return texts


def _marks(sentences: Sequence[ForeignSentence], options: Sequence[set[str]]) -> set[bool]:
    """Return whether first tokens are marks, as the sentences that allow one answer say."""
    found = set()
    for one, texts in zip(sentences, options, strict=True):
        kinds = {text == without_blanks(one.scored.tokens) for text in texts}
        if len(kinds) == 1:
            found |= kinds
    return found


def _with_first(scored: ScoredSentence, text: str) -> ScoredSentence:
    """Return a sentence with its first token, which has no number."""
    rest = text[: len(text) - len(without_blanks(scored.tokens))]
    if not rest:
        return scored
    return replace(scored, tokens=(rest, *scored.tokens), values=(math.nan, *scored.values))


def _require_single(file: ForeignFile, group: Sequence[ScoredSentence], asked: int) -> None:
    """Refuse sentences that occur more often than they are asked for, or differ."""
    first = group[0]
    for other in group[1:]:
        is_same = first.tokens == other.tokens and all(map(_is_close, first.values, other.values))
        if len(group) > asked or not is_same:
            what = "with different numbers" if not is_same else f"of {plural(asked, 'sentence')}"
            raise InputError(
                f"{' '.join(first.tokens)!r} occurs {len(group)} times {what}",
                path=file.path,
                line=other.line,
                remedy="give every sentence once",
            )


def _is_close(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)
