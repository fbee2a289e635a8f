"""A transition system of six states, small enough to be searched by hand.

Probabilities of columns, and of the words x, y, z::

    state   columns                        x     y     z     after a word
    0       A 0.6 -> 1   B 0.4 -> 2        (no word)
    1       WORD 0.5   A 0.2 -> 1          0.5   0.5   0     5
                       B 0.3 -> 3
    2       WORD 0.6   B 0.4 -> 4          0.1   0.9   0     5
    3       WORD 1                         0.25  0.75  0     5
    4       WORD 1                         0.9   0     0.1   1
    5       WORD 0.3   END 0.2             0.4   0.6   0     5
                       CLOSE 0.5 -> 2

A and B open a constituent. The derivations of the word x, with at most two openings before it, are

    A x    0.6 * 0.5 * 0.5         = 0.15       then in state 5
    BB x   0.4 * 0.4 * 1 * 0.9     = 0.144      then in state 1
    AB x   0.6 * 0.3 * 1 * 0.25    = 0.045      then in state 5
    AA x   0.6 * 0.2 * 0.5 * 0.5   = 0.03       then in state 5
    B x    0.4 * 0.6 * 0.1         = 0.024      then in state 5
                               sum = 0.393

and a derivation of probability p goes on to the word y, and then to the end (factor 0.2), by

    from state 5:   y        p * 0.3 * 0.6             = 0.18 p
                    CLOSE y  p * 0.5 * 0.6 * 0.9       = 0.27 p      (CLOSE B y: 4 has no y)
    from state 1:   y        p * 0.5 * 0.5             = 0.25 p
                    B y      p * 0.3 * 1 * 0.75        = 0.225 p
                    A y      p * 0.2 * 0.5 * 0.5       = 0.05 p
                    AB y     p * 0.2 * 0.3 * 1 * 0.75  = 0.045 p
                    AA y     p * 0.2 * 0.2 * 0.5 * 0.5 = 0.01 p

after which all stand in state 5.
"""

from __future__ import annotations

import torch

from gardenpath.data.trees.legality import Column
from tests.eval.search.toy_model import ToyModel

X, Y, Z = 0, 1, 2
A, B = Column.FIRST_OPEN, Column.FIRST_OPEN + 1
C = Column.CLOSE


def six_states(*, bound_gap: float | None = None) -> ToyModel:
    """The system above."""
    return ToyModel(
        #                      WORD END CLOSE A   B
        columns=torch.tensor(
            [
                [0.0, 0.0, 0.0, 0.6, 0.4],
                [0.5, 0.0, 0.0, 0.2, 0.3],
                [0.6, 0.0, 0.0, 0.0, 0.4],
                [1.0, 0.0, 0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0, 0.0, 0.0],
                [0.3, 0.2, 0.5, 0.0, 0.0],
            ],
            dtype=torch.float64,
        ),
        words=torch.tensor(
            [
                [0.0, 0.0, 0.0],
                [0.5, 0.5, 0.0],
                [0.1, 0.9, 0.0],
                [0.25, 0.75, 0.0],
                [0.9, 0.0, 0.1],
                [0.4, 0.6, 0.0],
            ],
            dtype=torch.float64,
        ),
        after_column=torch.tensor(
            [
                [0, 0, 0, 1, 2],
                [0, 0, 0, 1, 3],
                [0, 0, 0, 0, 4],
                [0, 0, 0, 0, 0],
                [0, 0, 0, 0, 0],
                [0, 0, 2, 0, 0],
            ]
        ),
        after_word=torch.tensor([[0] * 3, [5] * 3, [5] * 3, [5] * 3, [1] * 3, [5] * 3]),
        bound_gap=bound_gap,
    )
