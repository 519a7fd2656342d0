"""Draw and read reports of many bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.features.local.coins import Chance, Coins
from geodp.features.local.kernels import hashing
from geodp.features.local.oracles.base import Oracle, field_of, require_fitting


def bits_type(width: int, rows: int = 1) -> np.dtype[Any]:
    """Build the type of reports of ``width`` bits, with their row where there are several."""
    bits = ("bits", "u1", ((width + 7) // 8,))
    return np.dtype([("row", "<u4"), bits] if rows > 1 else [bits])


def draw_bits(
    oracle: Oracle,
    value: NDArray[np.uint64],
    shape: tuple[int, int, int, int],
    flip_chances: tuple[Chance, Chance],
    coins: Coins,
) -> NDArray[Any]:
    """Draw reports with a row, and a coin for each bit.

    Parameters
    ----------
    oracle : Oracle
    value : uint64[n]
    shape : tuple
        The first seed, rows, hash functions and bits, see
        :func:`geodp.features.local.kernels.hashing.draw_bits`.
    flip_chances : pair of Chance
        The chance that a 0, and that a 1, is flipped.
    coins : Coins
    """
    _, rows, _, width = shape
    row, bits = np.empty(value.size, np.uint64), np.empty((value.size, (width + 7) // 8), np.uint8)
    numbers = np.array(shape, np.uint64)
    coins.fill(
        lambda first, unit, digit: hashing.draw_bits(first, unit, digit, value, numbers, row, bits),
        value.size,
        width + (rows > 1),
        flip_chances,
    )
    reports = np.empty(value.size, oracle.report_type)
    reports["bits"] = bits
    if rows > 1:
        reports["row"] = row
    return reports


def bits_of(oracle: Oracle, reports: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """Read the bits of reports, uint8[n, bytes]; CodeError where one beyond the last is 1."""
    bits = np.ascontiguousarray(reports["bits"])
    if width % 8:
        require_fitting(bits[:, -1] >> width % 8 == 0, oracle, "bit beyond its last one", "0")
    return bits


def rows_of(oracle: Oracle, reports: NDArray[Any], rows: int) -> NDArray[np.uint64]:
    """Read the rows of reports, uint64[n]; CodeError where one is not below their number."""
    if "row" not in (oracle.report_type.names or ()):
        return np.zeros(reports.size, np.uint64)
    row = field_of(reports, "row")
    require_fitting(row < rows, oracle, "row", "below the number of rows")
    return row
