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
    mask: NDArray[np.uint32], fanout: int, lane: tuple[int, int], child: NDArray[np.uint64]
) -> np.uint64:
    """List the numbers of a family's children that a mask names, in order, and count them.

    The mask's words stand at ``lane[0]``, ``lane[0] + lane[1]`` ...
    """
    found, at = np.uint64(0), np.uint64(lane[0])
    for j in range(0, fanout, ROWS):
        word = np.uint64(mask[at])
        at += np.uint64(lane[1])
        while word:
            power = word & (~word + np.uint64(1))
            child[found] = np.uint64(j) + bit_of(power)
            found += np.uint64(1)
            word ^= power
    return found
