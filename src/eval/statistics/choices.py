"""Choices that the settings of an analysis offer.

This module imports no library, so that analyses can be read and checked quickly.
"""

from __future__ import annotations

from typing import Literal

# The distribution of the response, given its linear predictor.
Distribution = Literal["gaussian", "binomial"]
# The contrasts by which the levels of a factor become numbers.
ContrastKind = Literal["treatment", "sum"]
# Intervals within items: Loftus and Masson (1994), or Cousineau (2005) with Morey's correction.
WithinMethod = Literal["masson_loftus", "cousineau_morey"]
