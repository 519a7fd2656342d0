"""Which children of a family are meant, a bit each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline
from geodp.kernels.pyramid.edges import ROWS

_PLACES = np.zeros(67, np.uint8)
_PLACES[[2**bit % 67 for bit in range(64)]] = np.arange(64)
"""Which bit a power of 2 is, by what is left of it modulo 67: 2 is a primitive root."""

WORDS = 4
"""Words of a family's mask that are gone through as one."""


@bare_inline
def bit_of(power: np.uint64) -> np.uint64:
    """Which bit a power of 2 below ``2**64`` is."""
    return np.uint64(_PLACES[power % np.uint64(67)])


@bare_inline
def list_children(
    mask: NDArray[np.uint32],
    noisy: NDArray[np.int32],
    fanout: int,
    lane: tuple[int, int, int],
    to: tuple[NDArray[np.uint64], NDArray[np.int32]],
) -> np.uint64:
    """List a family's children that a mask names, in order, and count them.

    Parameters
    ----------
    mask : uint32[.]
        Words at ``lane[0]``, ``lane[0] + lane[1]`` ...
    noisy : int32[.]
        A row's child in the same place, rows ``lane[2]`` apart.
    fanout : int
    lane : int, int, int
    to : uint64[.], int32[.], written
        The children's numbers, and what is measured of them.
    """
    (child, z), here, step, pitch = to, np.uint64(lane[0]), np.uint64(lane[1]), np.uint64(lane[2])
    found, last = np.uint64(0), np.uint64(ROWS - 1)
    for j in range(0, fanout, ROWS * WORDS):
        word = np.uint64(mask[here])
        for p in range(1, min(WORDS, -((j - fanout) // ROWS))):
            more = np.uint64(mask[here + np.uint64(p) * step])
            word |= more << np.uint64(ROWS * p)
        while word:
            power = word & (~word + np.uint64(1))
            bit = bit_of(power)
            child[found] = np.uint64(j) + bit
            z[found] = noisy[(bit & last) * pitch + (bit >> np.uint64(4)) * step + here]
            found += np.uint64(1)
            word ^= power
        here += np.uint64(WORDS) * step
    return found
