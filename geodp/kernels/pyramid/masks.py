"""Which children of a family are meant, a bit each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline
from geodp.kernels.pyramid.edges import ROWS

_PLACES = np.zeros(32, np.uint8)
_PLACES[(0x077CB531 << np.arange(32) & 0xFFFFFFFF) >> 27] = np.arange(32)
"""Which bit a power of 2 is, by the upper 5 of 32 bits of its product with 0x077CB531."""


@bare_inline
def bit_of(power: np.uint64) -> np.uint64:
    """Which bit a power of 2 below ``2**32`` is."""
    product = (power * np.uint64(0x077CB531)) & np.uint64(0xFFFFFFFF)
    return np.uint64(_PLACES[product >> np.uint64(27)])


@bare_inline
def list_children(
    mask: NDArray[np.uint32],
    noisy: NDArray[np.int32],
    fanout: int,
    lane: tuple[int, int, int],
    to: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.float64]],
) -> tuple[np.uint64, float]:
    """List a family's children that a mask names, in order; count them and add them up.

    Parameters
    ----------
    mask : uint32[.]
        Words at ``lane[0]``, ``lane[0] + lane[1]`` ...
    noisy : int32[.]
        A row's child in the same place, rows ``lane[2]`` apart.
    fanout : int
    lane : int, int, int
    to : uint64[.], uint64[.], float64[.], written
        The children's numbers, 0, 1, 2 ..., and what is measured of them.
    """
    (child, at, z), here, pitch = to, np.uint64(lane[0]), np.uint64(lane[2])
    found, above = np.uint64(0), 0.0
    for j in range(0, fanout, ROWS):
        word = np.uint64(mask[here])
        while word:
            power = word & (~word + np.uint64(1))
            row = bit_of(power)
            child[found], at[found] = np.uint64(j) + row, found
            z[found] = np.float64(noisy[row * pitch + here])
            above += z[found]
            found += np.uint64(1)
            word ^= power
        here += np.uint64(lane[1])
    return found, above
