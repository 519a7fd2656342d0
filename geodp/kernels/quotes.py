"""Records of delimited text whose quoted fields hold line breaks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel

_QUOTE, _LF, _CR = 34, 10, 13
_START, _PLAIN, _QUOTED, _CLOSED = 0, 1, 2, 3


@kernel
def find_broken(
    text: NDArray[np.uint8], first: int, delimiter: int, found: NDArray[np.int64]
) -> int:
    """Find the next record that has a line break in a quoted field.

    A quote opens a field where it is the first mark of it, as pyarrow reads (RFC 4180).

    Parameters
    ----------
    text : uint8[n]
        Of an encoding that keeps ASCII.
    first : int
        Where a record begins.
    delimiter : int
        A byte.
    found : int64[3], written
        Where the record begins; where it ends, after its line end; and 1 where more text follows
        the closing quote of a field with a line break. Of the last record, which the text may hold
        in part: where it begins, n, and 1 where a quote is open at the end.

    Returns
    -------
    int
        1, or 0 where no whole record has one.
    """
    state, broken, ragged, here = _START, False, False, False
    record = first
    for at in range(first, text.size):
        mark = text[at]
        if state == _QUOTED:
            if mark == _QUOTE:
                state = _CLOSED
            elif mark in (_LF, _CR):
                broken = here = True
        elif mark in (_LF, _CR):
            if broken:
                found[0], found[1], found[2] = record, at + 1, np.int64(ragged)
                return 1
            record, state, here = at + 1, _START, False
        elif mark == delimiter:
            state, here = _START, False
        elif mark == _QUOTE and state != _PLAIN:  # the first one, or one of a pair
            state = _QUOTED
        else:
            ragged |= here and state == _CLOSED
            state = _PLAIN
    found[0], found[1], found[2] = record, text.size, np.int64(state == _QUOTED)
    return 0
