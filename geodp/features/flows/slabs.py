"""Rows of large matrices a few at a time, so that what is made of them takes little memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodp.typing import FloatArray, IntArray

SLAB = 1 << 18
"""Most entries of some rows, unless a row alone has more."""


def split_rows(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of rows of a matrix, in their order."""
    rows, columns = shape
    # Kernels take four rows at a time.
    some = max(SLAB // max(columns, 1) // 4 * 4, 1)
    for start in range(0, rows, some):
        yield slice(start, min(start + some, rows))


def to_real(rows: FloatArray | IntArray) -> FloatArray:
    """Return rows as real numbers: float64[m, n]; without a copy where they are."""
    return rows.astype(np.float64, copy=False)
