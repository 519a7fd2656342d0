"""Masks of a family's children, with a bit for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline
from geodp.kernels.pyramid.edges import ROWS

_PLACES = np.zeros(67, np.uint8)
_PLACES[[2**bit % 67 for bit in range(64)]] = np.arange(64)
"""Position of the bit of a power of 2, by its remainder modulo 67: as 2 is a primitive root of 67,
the remainders of all 64 powers differ."""

WORDS = 4
"""Words of a family's mask that are combined into one word of 64 bits."""


@bare_inline
def bit_of(power: np.uint64) -> np.uint64:
    """Return the position of the only 1 bit of a power of 2 below ``2**64``."""
    # A table of 67 bytes, which stays in the cache.
    return np.uint64(_PLACES[power % np.uint64(67)])


@bare_inline
def list_children(
    mask: NDArray[np.uint32],
    noisy: NDArray[np.int32],
    fanout: int,
    lane: tuple[int, int, int],
    to: tuple[NDArray[np.uint64], NDArray[np.int32]],
) -> np.uint64:
    """List a family's children whose bits are set in a mask, in order, and count them.

    Parameters
    ----------
    mask : uint32[.]
        Words at ``lane[0]``, ``lane[0] + lane[1]`` ...
    noisy : int32[.]
        Children at the same positions; rows are ``lane[2]`` apart.
    fanout : int
    lane : int, int, int
    to : uint64[.], int32[.], written
        The children's numbers, and their noisy counts.
    """
    (child, z), here, step, pitch = to, np.uint64(lane[0]), np.uint64(lane[1]), np.uint64(lane[2])
    count, last = np.uint64(0), np.uint64(ROWS - 1)
    for j in range(0, fanout, ROWS * WORDS):
        word = np.uint64(mask[here])
        for p in range(1, min(WORDS, -((j - fanout) // ROWS))):
            more = np.uint64(mask[here + np.uint64(p) * step])
            word |= more << np.uint64(ROWS * p)
        while word:
            # A number and its negative have exactly the lowest 1 bit in common.
            power = word & (~word + np.uint64(1))
            bit = bit_of(power)
            child[count] = np.uint64(j) + bit
            z[count] = noisy[(bit & last) * pitch + (bit >> np.uint64(4)) * step + here]
            count += np.uint64(1)
            word ^= power
        here += np.uint64(WORDS) * step
    return count
