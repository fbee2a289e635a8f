"""How the pieces of a word make the probability of the word.

Models over pieces assign probabilities to sequences of pieces, and a word may continue: the pieces
of *king* are also the beginning of those of *kings*. The product over the pieces of a word is the
probability that the text goes on with these pieces, whatever follows; over all words, these
products add up to more than one.

``next``
    The word ends where it ends: the probability includes that the next token begins a word or ends
    the sentence, p(w) = Π p(pieces) · B(after w) / B(before w), where B is its probability
    (Pimentel and Meister 2024; Oh and Schuler 2024). These are probabilities of words.
``leading``
    Probability of the characters of the word and of the blank before it, whatever follows. It is
    the only choice for text that is not separated by blanks.
``none``
    The product over the pieces, as computed by most tools.
"""

from __future__ import annotations

from typing import Literal

# What a user selects; auto is next where tokens mark the beginnings of words, else leading.
BoundaryChoice = Literal["auto", "none", "next", "leading"]

# What a table was computed with.
Boundary = Literal["none", "next", "leading"]
