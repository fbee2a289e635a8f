"""Sum of the probabilities of all words of a toy grammar after a prefix, for each ``boundary``.

::

    python -m benchmarks.word_sums RUN … --prefix the

The runs are over pieces of words (``data.subwords.algorithm=bpe``) on a toy corpus.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence

import gardenpath as gp
from gardenpath.data.readers.treebanks import ToyTreebank
from gardenpath.data.words.pieces import BoundaryChoice
from gardenpath.errors import GardenpathError

_CHOICES: Sequence[BoundaryChoice] = ("none", "next")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("runs", nargs="+", help="run folders")
    parser.add_argument("--prefix", default="the", help="words before the summed ones")
    given = parser.parse_args(arguments)
    print("\t".join(("run", "prefix", "words", *_CHOICES)))
    for path in given.runs:
        words = grammar_words(path)
        sums = [summed(path, given.prefix.split(), words, choice) for choice in _CHOICES]
        numbers = [f"{one:.3f}" for one in sums]
        print("\t".join((path, given.prefix, str(len(words)), *numbers)))


def grammar_words(path: str) -> list[str]:
    """Return the words of the grammar of a run's corpus."""
    reader = gp.load(path).data.reader
    if not isinstance(reader, ToyTreebank):
        raise GardenpathError(f"{path}: not trained on a toy corpus")
    rules = reader.rules
    return sorted(
        {
            symbol
            for expansions in rules.rules.values()
            for rule in expansions
            for symbol in rule.right
            if symbol not in rules.index
        }
    )


def summed(path: str, prefix: Sequence[str], words: Sequence[str], choice: BoundaryChoice) -> float:
    """Return the sum of the probabilities of words after a prefix."""
    run = gp.load(path, boundary=choice)
    scores = run.word_log_probs([[*prefix, word] for word in words])
    return sum(math.exp(one[len(prefix)]) for one in scores)


if __name__ == "__main__":
    main()
