"""Write the sentences of a corpus to files: bracketed trees or plain text, one per line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from gardenpath.data.sentence import Sentence, Split
from gardenpath.data.trees.brackets import format_tree
from gardenpath.errors import InputError
from gardenpath.store.files import whole_file

CorpusForm = Literal["trees", "text"]


def write_corpus(
    folder: Path, splits: Mapping[Split, Iterable[Sentence]], *, form: CorpusForm
) -> dict[Split, int]:
    """Write one file per split, in the format of ``data=brackets`` or ``data=text``.

    Returns the number of sentences of each split.
    """
    return {
        split: _write(folder / f"{split}.txt", sentences, form)
        for split, sentences in splits.items()
    }


def _write(path: Path, sentences: Iterable[Sentence], form: CorpusForm) -> int:
    count = 0
    with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for sentence in sentences:
            file.write(_line(sentence, form) + "\n")
            count += 1
    return count


def _line(sentence: Sentence, form: CorpusForm) -> str:
    if form == "text":
        return " ".join(sentence.words)
    if sentence.tree is None:
        raise InputError(
            "has no tree",
            path=sentence.source.path,
            line=sentence.source.line,
            remedy="write plain text with task.form=text",
        )
    try:
        return format_tree(sentence.tree)
    except ValueError as error:
        raise InputError(
            str(error), path=sentence.source.path, line=sentence.source.line
        ) from error
