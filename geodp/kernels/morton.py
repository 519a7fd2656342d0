"""Cell indices <-> keys, for any order of bits and for mixed radices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

TOGETHER = 1 << 10
"""Keys that are encoded or decoded side by side."""


@inline
def _find_places(axis: NDArray[np.int64], axes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many bits axes have, int64[axes], and the place in its axis of every bit of the
    key, the least significant first: int64[bits]."""
    taken = np.zeros(axes, np.int64)
    low = np.empty(axis.size, np.int64)
    for position in range(axis.size):
        a = axis[axis.size - 1 - position]
        low[position] = taken[a]
        taken[a] += 1
    return taken, low


@kernel
def encode_bits(index: NDArray[np.int64], axis: NDArray[np.int64], key: NDArray[np.uint64]) -> int:
    """Interleave the bits of cell indices.

    Parameters
    ----------
    index : int64[d, n]
        Axis ``a`` has as many bits as ``axis`` names it.
    axis : int64[bits]
        The axis of every bit of the key, most significant first. The bits of one axis
        come in falling significance.
    key : uint64[n], written

    Returns
    -------
    int
        Position of the first index that is negative or has more bits; n where all have keys.
    """
    taken, low = _find_places(axis, index.shape[0])
    # Bit after bit of a few keys that stay in the cache, so that the loop over them is vectorised.
    for start in range(0, key.size, TOGETHER):
        packed = key[start : start + TOGETHER]
        packed[:] = 0
        for position in range(axis.size):
            given = index[axis[axis.size - 1 - position], start : start + TOGETHER]
            down, up = low[position], np.uint64(position)
            for i in range(packed.size):
                packed[i] |= np.uint64((given[i] >> down) & 1) << up
    good = key.size
    for a in range(index.shape[0]):
        for i in range(good):
            if index[a, i] >> taken[a] != 0:
                good = i
                break
    return good


@kernel
def decode_bits(key: NDArray[np.uint64], axis: NDArray[np.int64], index: NDArray[np.int64]) -> None:
    """Inverse of :func:`encode_bits`; ``index`` (int64[d, n]) is written."""
    _, low = _find_places(axis, index.shape[0])
    index[:] = 0
    for start in range(0, key.size, TOGETHER):
        packed = key[start : start + TOGETHER]
        for position in range(axis.size):
            taken = index[axis[axis.size - 1 - position], start : start + TOGETHER]
            down, up = np.uint64(position), low[position]
            for i in range(packed.size):
                taken[i] |= np.int64((packed[i] >> down) & np.uint64(1)) << up


@kernel
def encode_digits(
    index: NDArray[np.int64],
    axis: NDArray[np.int64],
    radix: NDArray[np.int64],
    key: NDArray[np.uint64],
) -> int:
    """Interleave the digits of cell indices in a mixed radix.

    As :func:`encode_bits`, with ``radix`` (int64[digits]) beside ``axis``: the key is the
    number whose digits, most significant first, have these radices.
    """
    good = key.size
    rest = np.empty(index.shape[0], np.int64)
    for i in range(key.size):
        for a in range(index.shape[0]):
            rest[a] = index[a, i]
        weight = np.uint64(1)
        packed = np.uint64(0)
        for position in range(axis.size - 1, -1, -1):
            a = axis[position]
            packed += np.uint64(rest[a] % radix[position]) * weight
            rest[a] //= radix[position]
            weight *= np.uint64(radix[position])
        key[i] = packed
        left = np.int64(0)
        for a in range(index.shape[0]):
            left |= rest[a]
        if left != 0 and good == key.size:
            good = i
    return good


@kernel
def decode_digits(
    key: NDArray[np.uint64],
    axis: NDArray[np.int64],
    radix: NDArray[np.int64],
    index: NDArray[np.int64],
) -> None:
    """Inverse of :func:`encode_digits`; ``index`` (int64[d, n]) is written."""
    weight = np.empty(index.shape[0], np.int64)
    for i in range(key.size):
        rest = key[i]
        for a in range(index.shape[0]):
            index[a, i] = 0
            weight[a] = 1
        for position in range(axis.size - 1, -1, -1):
            a = axis[position]
            index[a, i] += np.int64(rest % np.uint64(radix[position])) * weight[a]
            weight[a] *= radix[position]
            rest //= np.uint64(radix[position])
