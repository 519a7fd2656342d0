"""Conversion between cell indices and keys, for any order of bits and for mixed radices.

On a square grid with alternating axes this is the Morton order of Terada et al. (2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

TOGETHER = 1 << 10
"""Number of keys that are encoded or decoded together."""


@inline
def _find_places(axis: NDArray[np.int64], axes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of bits of each axis, int64[axes], and the position within its axis of
    every bit of the key, least significant first, int64[bits]."""
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
        Axis ``a`` has as many bits as ``axis`` has entries ``a``.
    axis : int64[bits]
        The axis of every bit of the key, most significant first. The bits of one axis
        are in order of falling significance.
    key : uint64[n], written

    Returns
    -------
    int
        Position of the first index that is negative or has too many bits; n if all have keys.
    """
    taken, low = _find_places(axis, index.shape[0])
    # The outer loop is over bits, the inner one over a block of keys that stays in the cache: so
    # the inner loop is vectorised.
    for start in range(0, key.size, TOGETHER):
        packed = key[start : start + TOGETHER]
        packed[:] = 0
        for position in range(axis.size):
            indices = index[axis[axis.size - 1 - position], start : start + TOGETHER]
            down, up = low[position], np.uint64(position)
            for i in range(packed.size):
                packed[i] |= np.uint64((indices[i] >> down) & 1) << up
    good = key.size
    for a in range(index.shape[0]):
        for i in range(good):
            if index[a, i] >> taken[a] != 0:
                good = i
                break
    return good


@kernel
def decode_bits(key: NDArray[np.uint64], axis: NDArray[np.int64], index: NDArray[np.int64]) -> None:
    """Invert :func:`encode_bits`; ``index`` (int64[d, n]) is written."""
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

    Like :func:`encode_bits`, with ``radix`` (int64[digits]) in addition to ``axis``: the key is
    the number whose digits, most significant first, have these radices.
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
        # Anything left over after all digits means that an index was too large, or negative.
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
    """Invert :func:`encode_digits`; ``index`` (int64[d, n]) is written."""
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
