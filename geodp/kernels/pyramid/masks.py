"""Which children of a family are open, a bit each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline
from geodp.kernels.pyramid.layout import SEVERAL, WORD

_PLACES = np.zeros(32, np.uint8)
_PLACES[(0x077CB531 << np.arange(32) & 0xFFFFFFFF) >> 27] = np.arange(32)
"""Which bit a power of 2 is, by the upper 5 of 32 bits of its product with 0x077CB531."""


@inline
def bit_of(power: np.uint64) -> np.uint64:
    """Which bit a power of 2 below ``2**32`` is."""
    product = (power * np.uint64(0x077CB531)) & np.uint64(0xFFFFFFFF)
    return np.uint64(_PLACES[product >> np.uint64(27)])


@inline
def list_children(
    mask: NDArray[np.unsignedinteger], fanout: int, first: int, step: int, child: NDArray[np.int64]
) -> int:
    """Write the numbers of a family's children that a mask names, in order; how many they are.

    The mask's words stand at ``first``, ``first + step`` ...
    """
    found, at = 0, np.uint64(first)
    for j in range(0, fanout, WORD):
        word = np.uint64(mask[at]) & np.uint64(SEVERAL - 1)
        at += np.uint64(step)
        while word:
            power = word & (~word + np.uint64(1))
            child[np.uint64(found)] = j + np.int64(bit_of(power))
            found += 1
            word ^= power
    return found
