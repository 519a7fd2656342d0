"""Numbers of Arrow arrays as NumPy arrays, and back, without a copy.

Arrow's own conversions import pandas where it is installed, which takes longer than a small file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers_of(column: Any) -> NDArray[Any]:
    """Return integers or floats of an Arrow array as a read-only NumPy array; nulls become NaN."""
    if not len(column):
        return np.empty(0, column.type.to_pandas_dtype())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not column.null_count:
        return np.asarray(np.from_dlpack(column))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def column_of(numbers: NDArray[Any]) -> Any:
    """Return integers or floats as an Arrow array; masked ones are missing there.

    Arrow keeps the NumPy array alive.

    Examples
    --------
    >>> column_of(np.array([3, 4])).to_pylist()
    [3, 4]
    """
    if isinstance(numbers, np.ma.MaskedArray):
        return pa.array(numbers)
    # Arrow has the byte order of the machine.
    kept = np.ascontiguousarray(numbers, numbers.dtype.newbyteorder("="))
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(kept.dtype), kept.size, [None, pa.py_buffer(kept)]
    )
