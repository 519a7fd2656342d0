"""Search for records of delimited text with line breaks inside quoted fields.

The reader of :mod:`geodp.io.read.rows.quotes` handles these records separately.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel

_QUOTE, _LF, _CR = 34, 10, 13
_START, _PLAIN, _QUOTED, _CLOSED = 0, 1, 2, 3


@kernel
def find_broken(
    text: NDArray[np.uint8], first: int, delimiter: int, span: NDArray[np.int64]
) -> int:
    """Find the next record that has a line break in a quoted field.

    A quote opens a field only as its first character, as in pyarrow (RFC 4180).

    Parameters
    ----------
    text : uint8[n]
        In an encoding that contains ASCII.
    first : int
        Where a record begins.
    delimiter : int
        A byte.
    span : int64[3], written
        Where the record begins; where it ends, after its line break; and 1 if more text follows
        the closing quote of a field with a line break. If there is no such record: where the last
        record begins, which may be incomplete; n; and 1 if a quote is open at the end.

    Returns
    -------
    int
        1, or 0 if no complete record has a line break in a quoted field.
    """
    state, broken, ragged, here = _START, False, False, False
    record = first
    for at in range(first, text.size):
        byte = text[at]
        if state == _QUOTED:
            if byte == _QUOTE:
                state = _CLOSED
            elif byte in (_LF, _CR):
                broken = here = True
        elif byte in (_LF, _CR):
            if broken:
                span[0], span[1], span[2] = record, at + 1, np.int64(ragged)
                return 1
            record, state, here = at + 1, _START, False
        elif byte == delimiter:
            state, here = _START, False
        # A quote in the middle of an unquoted field is an ordinary character, as in pyarrow.
        elif byte == _QUOTE and state != _PLAIN:  # the first one, or one of a pair
            state = _QUOTED
        else:
            ragged |= here and state == _CLOSED
            state = _PLAIN
    span[0], span[1], span[2] = record, text.size, np.int64(state == _QUOTED)
    return 0
