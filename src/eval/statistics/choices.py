"""Valid values of some settings of an analysis.

This module imports no numerical library, so analyses can be read and checked quickly.
"""

from __future__ import annotations

from typing import Literal

# Distribution of the response given the linear predictor.
Distribution = Literal["gaussian", "binomial"]
# Contrasts that code the levels of a factor.
ContrastKind = Literal["treatment", "sum"]
# Within-item intervals: Loftus and Masson (1994), or Cousineau (2005) with Morey's correction.
WithinMethod = Literal["masson_loftus", "cousineau_morey"]
