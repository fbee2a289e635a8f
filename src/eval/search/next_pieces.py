"""Words of several pieces: what the search has to know about the next token of each group.

A hypothesis has exactly one successor inside a word, because the pieces of a word follow directly
on each other. The word beam therefore prunes where words end; between the pieces of a word, as many
hypotheses are kept as the action beam holds. Whether a word ends is known when the next token is
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gardenpath.data.prefixes import Prefix
from gardenpath.eval.search.beam import Beam


@dataclass(frozen=True)
class Next:
    """What follows a group: a token, or the end of the sentence (``prefix`` is None).

    ``continues``: whether the token continues the word before it; ``goes_on``: whether the word
    continues after the token in some sentence; ``ends``: whether it ends there in some sentence.
    """

    parent: int
    token: int
    prefix: Prefix | None
    continues: bool = False
    goes_on: bool = False
    ends: bool = True


def tokens_after(
    prefixes: Iterable[Prefix], is_continuation: Sequence[bool] | None
) -> Iterator[Next]:
    """Yield what follows the prefixes of groups; ``is_continuation``, by token, is for pieces."""
    for number, prefix in enumerate(prefixes):
        if prefix.sentences:
            yield Next(number, 0, None)
        for token, child in prefix.children.items():
            if is_continuation is None:
                yield Next(number, token, child)
                continue
            continued = [is_continuation[later] for later in child.children]
            yield Next(
                number, token, child, continues=is_continuation[token], goes_on=any(continued),
                ends=bool(child.sentences) or not all(continued),
            )  # fmt: skip


@dataclass(frozen=True)
class NextPieces:
    """How the next token of each group relates to words, for models over pieces.

    ``continues``: ``(groups,)`` whether the token continues the word before it; ``all_continue``:
    whether all do. ``kept``: ``(groups, 1)`` number of hypotheses to keep after the token, more if
    the word goes on in some sentence; ``width``: room for all of them.
    """

    continues: Tensor
    all_continue: bool
    kept: Tensor
    width: int


def next_pieces(
    tokens: Sequence[Next],
    *,
    width: int,
    word_width: int,
    replicates: int = 1,
    is_packed: bool,
    device: torch.device,
) -> NextPieces:
    """Describe the next tokens; ``width`` hypotheses survive a piece, ``word_width`` a word."""
    kept = [width if token.goes_on else word_width for token in tokens for _ in range(replicates)]
    continues = [token.continues for token in tokens for _ in range(replicates)]
    return NextPieces(
        continues=torch.tensor(continues, device=device),
        all_continue=all(continues),
        kept=torch.tensor(kept, device=device).unsqueeze(1),
        # With fixed shapes, there is always room for all.
        width=max(kept) if is_packed else width,
    )


def first_slots(beam: Beam, count: Tensor) -> Beam:
    """Drop all but the first slots of each group; ``count`` is ``(groups, 1)``."""
    place = torch.arange(beam.score.shape[1], device=beam.score.device)
    return replace(beam, score=beam.score.masked_fill(place >= count, -torch.inf))
