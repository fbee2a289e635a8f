"""Clean the trees of a corpus, as annotated, for training."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from gardenpath.data.sentence import Sentence
from gardenpath.data.trees import transforms
from gardenpath.settings.bounds import PositiveInt

# Number of trees examined to decide whether a corpus has part-of-speech tags.
_PEEK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """The transforms to apply, in a fixed order."""

    strip_function_tags: bool = True
    """Whether to strip function tags: ``NP-SBJ`` becomes ``NP``."""
    drop_traces: bool = True
    """Whether to remove empty elements."""
    keep_pos: bool = False
    """Whether to keep part-of-speech brackets as constituents."""
    pos_in_source: Literal["auto", "present", "absent"] = "auto"
    """Whether words have part-of-speech brackets in the corpus; auto examines its first trees."""
    collapse_unary: bool = True
    """Whether to collapse a chain ``X -> X`` into one constituent."""
    lowercase: bool = False
    """Whether to lower-case words."""
    max_tokens: PositiveInt | None = None
    """Maximum sentence length, counted without traces; null keeps all sentences."""

    def apply(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Clean each sentence; skip sentences that become empty or are too long."""
        stream = iter(sentences)
        head = list(itertools.islice(stream, _PEEK)) if self.pos_in_source == "auto" else []
        clean = transforms.compose(self.settled(head)._transforms())
        for sentence in itertools.chain(head, stream):
            cleaned = self._clean(sentence, clean)
            if cleaned is not None and self._short_enough(cleaned):
                yield cleaned

    def settled(self, sentences: Iterable[Sentence]) -> Cleaning:
        """Decide ``pos_in_source=auto`` by the first sentences of a corpus."""
        if self.pos_in_source != "auto":
            return self
        head = itertools.islice(sentences, _PEEK)
        has_pos = transforms.has_pos_tags(one.tree for one in head if one.tree is not None)
        return replace(self, pos_in_source="present" if has_pos else "absent")

    def _transforms(self) -> list[transforms.Transform]:
        assert self.pos_in_source != "auto"
        # Traces are found by their part of speech, so tags are removed last.
        wanted: list[tuple[bool, transforms.Transform]] = [
            (self.strip_function_tags, transforms.strip_function_tags),
            (self.drop_traces, transforms.drop_traces),
            (self.collapse_unary, transforms.collapse_unary),
            (self.lowercase, transforms.lowercase),
            (self.pos_in_source == "present" and not self.keep_pos, transforms.drop_pos),
        ]
        return [transform for switch, transform in wanted if switch]

    def _clean(self, sentence: Sentence, clean: transforms.Transform) -> Sentence | None:
        if sentence.tree is None:
            words = sentence.words
            lowered = tuple(word.lower() for word in words) if self.lowercase else words
            return Sentence(lowered, sentence.source)
        tree = clean(sentence.tree)
        return None if tree is None else Sentence(tree.words(), sentence.source, tree)

    def _short_enough(self, sentence: Sentence) -> bool:
        return self.max_tokens is None or len(sentence.words) <= self.max_tokens
