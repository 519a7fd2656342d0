"""The work of a refinement, counted from its tables alone: nodes, draws and blocks of noise.

Nothing here uses geodp's refinement, so that tests can compare its work with the necessary one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.noise import LEVELS
from geodp.mechanisms.trees.levels import LevelScheme
from geodp.privacy.noise.node import WORDS_PER_BLOCK

BLOCK = 64
"""Bytes of a ChaCha20 block."""


@dataclass(frozen=True)
class Work:
    """Necessary work.

    Attributes
    ----------
    visited : int
        Nodes that are split (topdown) or measured (pyramid): each has a separate draw.
    with_data : int
        Nodes among them with an occupied cell.
    blocks : int
        ChaCha20 blocks that hold their noise.
    """

    visited: int
    with_data: int
    blocks: int


def of_topdown(occupied: NDArray[np.uint64], released: NDArray[np.uint64], bits: int) -> Work:
    """Count from the keys of the table and of the output, whose ancestors are the split nodes."""
    split = ancestors(released, bits)
    either = ancestors(np.sort(np.concatenate([occupied, released])), bits)
    both = split + ancestors(occupied, bits) - either
    visited, with_data = int(split[:-1].sum()), int(both[:-1].sum())
    started = np.arange(bits) == 0
    started |= (bits - np.arange(bits)) % LEVELS == 0
    # One for the total.
    return Work(visited, with_data, 1 + int(split[:-1][started].sum()))


def of_pyramid(
    occupied: NDArray[np.uint64], opened: NDArray[np.uint64], chain: LevelScheme
) -> Work:
    """Count from the keys of the table and of the first pass, whose children are measured.

    ``opened`` is the output of the same pyramid with one pass.
    """
    visited = with_data = blocks = 1
    for fanout, stride in zip(chain.fanouts, chain.strides, strict=False):
        parent = _distinct(opened // np.uint64(stride))
        child = _distinct(occupied // np.uint64(stride // fanout))
        at = np.searchsorted(parent, child // np.uint64(fanout))
        inside = parent[np.minimum(at, parent.size - 1)] == child // np.uint64(fanout)
        visited += fanout * parent.size
        with_data += int(inside.sum())
        blocks += -(-fanout // WORDS_PER_BLOCK) * parent.size
    return Work(visited, with_data, blocks)


def ancestors(key: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """Count the nodes of every level above sorted keys, from the root down: int64[bits + 1].

    Two neighbouring keys are below the same node of a level if they differ in no bit above it.
    Keys may be repeated.

    Examples
    --------
    >>> ancestors(np.array([0, 1, 6], np.uint64), 3).tolist()
    [1, 2, 2, 3]
    """
    meet = key[1:] ^ key[:-1]
    # Binary lengths by frexp, which is exact for 32 bits but not for 64.
    low, high = np.frexp(meet & np.uint64(2**32 - 1))[1], np.frexp(meet >> np.uint64(32))[1]
    length = np.where(high > 0, high + 32, low)
    apart = np.cumsum(np.bincount(length, minlength=bits + 1)[::-1])
    counts: NDArray[np.int64] = min(key.size, 1) + np.concatenate([[0], apart[:-1]])
    return counts


def _distinct(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return key[np.concatenate([[True], key[1:] != key[:-1]])] if key.size else key
