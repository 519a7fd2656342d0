"""Arrays as text in a page: variable-length integers, deflated, in base64.

``assets/unpack.js`` reads what is written here.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_NUMBER = 1 << 53
"""Exclusive upper limit of integers in a page: the 53 bits of JavaScript's numbers."""


def pack_sorted(values: NDArray[Any]) -> dict[str, Any]:
    """Pack ascending nonnegative integers as differences from their predecessors.

    ``values``: uint64[n] or int64[n], below 2**53.
    """
    step = np.asarray(np.diff(values.astype(np.uint64), prepend=np.uint64(0)), np.uint64)
    return _pack("sorted", write_numbers(step), values.size)


def pack_integers(values: NDArray[np.int64]) -> dict[str, Any]:
    """Pack signed integers: int64[n], between -2**52 and 2**52."""
    # Zigzag code: small negative numbers take few bytes as well.
    folded = np.where(values < 0, -2 * values - 1, 2 * values)
    return _pack("whole", write_numbers(folded.astype(np.uint64)), values.size)


def pack_real(values: NDArray[np.float64]) -> dict[str, Any]:
    """Pack real numbers, bit for bit: float64[n]."""
    # Little-endian: the script reads the bytes as a Float64Array, without a conversion.
    return _pack("real", values.astype("<f8").tobytes(), values.size)


def pack_bits(values: NDArray[np.bool_]) -> dict[str, Any]:
    """Pack booleans: bool[n]."""
    return _pack("bits", np.packbits(values, bitorder="little").tobytes(), values.size)


def pack_counts(values: NDArray[Any]) -> dict[str, Any]:
    """Pack counts by their dtype: int64[n] or float64[n]."""
    if values.dtype.kind == "f":
        return pack_real(values)
    return pack_integers(values.astype(np.int64))


def write_numbers(values: NDArray[np.uint64]) -> bytes:
    """Encode integers as LEB128: seven bits a byte, the least significant first.

    The last byte of a number is below 128.

    Examples
    --------
    >>> write_numbers(np.array([1, 300], np.uint64)).hex()
    '01ac02'
    """
    length = np.ones(values.size, np.int64)
    for more in range(1, 10):
        length += values >> np.uint64(7 * more) > 0
    end = np.cumsum(length)
    encoded = np.zeros(int(end[-1]) if end.size else 0, np.uint8)
    first = end - length
    # One step for each position in a number, vectorised over all numbers: at most ten steps.
    for at in range(int(length.max(initial=0))):
        some = length > at
        seven = (values[some] >> np.uint64(7 * at)) & np.uint64(127)
        goes_on = np.where(length[some] > at + 1, 128, 0)
        encoded[first[some] + at] = seven.astype(np.uint8) + goes_on.astype(np.uint8)
    return encoded.tobytes()


def _pack(kind: str, raw: bytes, size: int) -> dict[str, Any]:
    data = base64.b64encode(zlib.compress(raw, 9)).decode("ascii")
    return {"kind": kind, "size": int(size), "data": data}
