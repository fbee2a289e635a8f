"""Valid values of some settings of an analysis.

This module imports no numerical library, so analyses can be read and checked quickly.
"""

from __future__ import annotations

from typing import Literal

# Distribution of the response given the linear predictor.
Distribution = Literal["gaussian", "binomial"]
# Contrasts that code the levels of a factor.
ContrastKind = Literal["treatment", "sum"]
# Within-item intervals: Loftus and Masson (1994); Cousineau (2005) with Morey's correction; or 1.96
# standard errors of values centred by item, which is Cousineau's interval without the correction.
WithinMethod = Literal["masson_loftus", "cousineau_morey", "item_centred"]
# The distribution to which t statistics of linear models are compared.
Reference = Literal["satterthwaite", "normal"]
# Weights of rows of linear mixed models: none, or precisions by the standard errors of responses.
Weighting = Literal["none", "error"]
# Adjustment of p values for the number of tests of an analysis.
Correction = Literal["none", "bonferroni", "holm", "benjamini_hochberg"]
