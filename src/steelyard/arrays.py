"""Columns: the arrays that observations stand in and all figures are computed on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Words = NDArray[np.str_]
"""Short texts that many rows share."""
Names = NDArray[np.object_]
"""Names that few rows share, each stored once."""
Digests = NDArray[np.bytes_]
"""Content hashes, 32 bytes each."""
