"""How the corpus of a run writes words, from the words that its model knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gardenpath.data.segmenting.writing_style import (
    CLITICS,
    CLOSING_QUOTE,
    MARKS,
    OPENING_QUOTE,
    WritingStyle,
)
from gardenpath.data.words.vocabulary import WORD_MARK, Vocabulary
from gardenpath.eval.surprisal.inputs import GivenText
from gardenpath.eval.surprisal.stimuli import Stimulus, stimuli_of
from gardenpath.models.family import AdoptedFamily

if TYPE_CHECKING:
    from gardenpath.runs.run import Run

# Frequent words with a capital letter; a model that knows none of them was trained on lower case.
_CAPITALISED = ("The", "A", "I", "He", "She", "It", "In", "But", "This", "And")


def read_as(
    run: Run, given: GivenText, *, tokenised: bool, segmenter: str | None = None
) -> list[Stimulus]:
    """Return the sentences of an input as a run reads them, like those of its corpus."""
    style = None if tokenised else style_of(run, segmenter)
    return stimuli_of(given, run.settings.data.cleaning, style)


def style_of(run: Run, segmenter: str | None = None) -> WritingStyle:
    """Return how words are written in the corpus of a run.

    ``segmenter`` divides Chinese text into words. Models that read text get words as treebanks
    write them, which are put together again; without blanks, every Chinese character is a word.
    """
    if run.reads_text:
        return WritingStyle(keeps=lambda _: False, segmenter=segmenter, without_blanks="characters")
    if isinstance(run.family, AdoptedFamily):
        knows: Callable[[str], bool] = run.knows
        is_lower = any(knows(one.lower()) for one in _CAPITALISED)
        is_lower = is_lower and not any(map(knows, _CAPITALISED))
    else:
        vocabulary = run.vocabulary
        knows = _word_test(vocabulary)
        is_lower = not any(one != one.lower() for one in vocabulary.tokens if one[0] != "<")
    return WritingStyle(
        keeps=knows,
        splits_punctuation=any(map(knows, MARKS)),
        splits_clitics=any(map(knows, CLITICS)),
        has_treebank_quotes=knows(OPENING_QUOTE) and knows(CLOSING_QUOTE) and not knows('"'),
        lowercase=is_lower,
        segmenter=segmenter,
    )


def _word_test(vocabulary: Vocabulary) -> Callable[[str], bool]:
    """Return whether a word is a unit of the model: a word, or a piece that is a whole word."""
    if vocabulary.subword_hash is None:
        return vocabulary.knows
    return lambda word: f"{WORD_MARK}{word}" in vocabulary.ids
