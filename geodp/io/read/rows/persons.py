"""Persons of records: held until all are read, so that what each adds can be bounded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError
from geodp.io.read.rows.columns import Rows
from geodp.io.read.rows.scratch import bytes_of

HELD = 224
"""Bytes beside the person's name that a record takes while persons are bounded."""

TOO_MANY_RECORDS = (
    "Bounding what a person adds holds all records in memory, and they go beyond the limit; raise "
    "it (--memory, memory=), or bound persons before and vouch for it (--contribution)."
)


class Persons:
    """The cells of records and whose they are.

    Parameters
    ----------
    column : str
        Of persons.
    memory : int, str or None
        Limit; see :func:`geodp.io.read.rows.scratch.bytes_of`.
    """

    def __init__(self, column: str, memory: int | str | None) -> None:
        self._column = column
        self._left = bytes_of(memory)
        self._names: list[pa.Array] = []
        self._keys = [np.empty(0, np.uint64)]

    def add(
        self,
        rows: Rows,
        key: NDArray[np.uint64],
        names: pa.Array,
        inside: NDArray[np.bool_] | None,
    ) -> None:
        """Take in the rows inside the domain: their keys uint64[n], and all rows' persons.

        Raises InputError where a person is missing, and where the records go beyond the limit.
        """
        if pa.types.is_floating(names.type):
            rule = "persons are told apart by text or whole numbers."
            raise rows.error(0, f"Column {self._column}: {rule}")
        text = pc.utf8_trim_whitespace(names.cast(pa.string()))
        text = text if inside is None else text.filter(pa.array(inside))
        missing = pc.fill_null(pc.equal(text, ""), True).to_numpy(zero_copy_only=False)
        if missing.any():
            rule = f"Column {self._column}: the person is missing."
            raise rows.error(int(missing.argmax()), rule)
        self._keys.append(key)
        self._names.append(text)
        self._left -= text.nbytes + HELD * key.size
        if self._left < 0:
            raise InputError(TOO_MANY_RECORDS, file=rows.table.name)

    def records(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Persons int64[n] as numbers in the order of their first records, and keys uint64[n]."""
        numbers = np.empty(0, np.int64)
        if self._names:
            encoded = pa.chunked_array(self._names).combine_chunks().dictionary_encode()
            numbers = encoded.indices.to_numpy().astype(np.int64)
        return numbers, np.concatenate(self._keys)
