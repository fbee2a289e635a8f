"""Array and word types that the whole package shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Ids of words or subword pieces, as they are stored.
Tokens = npt.NDArray[np.int32]

# The words of a sentence.
Words = tuple[str, ...]
