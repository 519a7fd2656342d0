"""Array types that many signatures share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

KeyArray: TypeAlias = NDArray[np.uint64]
"""Keys of cells or nodes: positions on the grid's curve."""

IntArray: TypeAlias = NDArray[np.int64]
"""Indices, sizes or exact counts."""

FloatArray: TypeAlias = NDArray[np.float64]
"""Estimates, variances or coordinates."""

CountArray: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
"""Whole counts, or the real numbers that linear estimators release."""

KeyedCounts: TypeAlias = tuple[KeyArray, IntArray]
"""Keys in increasing order, and their counts, none of which is 0."""

EntryArray: TypeAlias = NDArray[np.uint16]
"""Entries of tables."""

WordArray: TypeAlias = NDArray[np.uint32]
"""Random words of 32 bits."""

ReportArray: TypeAlias = NDArray[Any]
"""Reports of devices, one record each, of the type that the protocol names."""
