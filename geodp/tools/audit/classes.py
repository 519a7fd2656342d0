"""Equivalence classes: records that agree in all columns that others may know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from numbers import Integral
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, UsageError
from geodp.table.counts import CountTable, as_counts

MAX_COMBINATIONS = 1 << 62
"""Largest number of combinations of values of all columns."""

DENSE = 1 << 16
"""Number of combinations up to which each has a counter, however few records there are."""


@runtime_checkable
class Columns(Protocol):
    """Columns by name: a mapping of names to sequences, or a data frame."""

    def __getitem__(self, name: str, /) -> Any:
        """Return one column."""

    def keys(self) -> Any:
        """List the names of the columns."""


@dataclass(frozen=True, eq=False, repr=False)
class EquivalenceClasses:
    """Confidential records grouped by what others may know of them; the repr shows none.

    Attributes
    ----------
    values : dict of str to tuple
        Distinct values of every column, in the order in which they occur.
    code : int64[columns, n]
        Positions of the values of every class.
    count : int64[n]
        Records of every class, none 0.
    """

    values: dict[str, tuple[Any, ...]] = field()
    code: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, table: Columns, columns: Sequence[str] | None, count: str | None) -> Self:
        """Group records into classes.

        Parameters
        ----------
        table : mapping or data frame
            Columns of one length.
        columns : sequence of str, optional
            Columns that others may know; default: all but `count`.
        count : str, optional
            Column with the number of records that a row stands for: whole, not negative.

        Raises
        ------
        UsageError
            No column, an unknown one, or columns of different lengths.
        InputError
            Missing values, values of several types, or no record.
        """
        # A list of rows would be indexed by name later, with an error that nobody understands.
        if not isinstance(table, Columns):
            raise UsageError(
                "Give records as a mapping of names to columns, or as a data frame.",
                code="records-form",
            )
        available = [*table.keys()]
        names = [name for name in available if name != count] if columns is None else [*columns]
        if not names or not {*names, *([] if count is None else [count])} <= {*available}:
            raise UsageError(
                f"The table has columns {', '.join(map(str, available))}.", code="columns-unknown"
            )
        coded = {name: _encode(table[name], name) for name in names}
        rows = {codes.size for codes, _ in coded.values()}
        # Weights are read exactly, as a fraction of a record would be a silent error.
        people = None if count is None else as_counts(np.asarray(table[count]))
        if len(rows | ({people.size} if people is not None else set())) != 1:
            raise UsageError(
                "All columns must have the same number of rows.", code="columns-differ-in-length"
            )
        sizes = [len(values) for _, values in coded.values()]
        if prod(sizes) > MAX_COMBINATIONS:
            raise UsageError(
                "The columns have more than 2**62 combinations; name fewer.",
                code="combinations-too-many",
            )
        # One mixed-radix number for each combination, so that classes are counted by one sort.
        key = np.zeros(rows.pop(), np.int64)
        for codes, values in coded.values():
            key = key * len(values) + codes
        keys, number = _count_keys(key, prod(sizes), people)
        if not number.size:
            raise InputError("The table has no record.", code="table-without-records")
        code = np.empty((len(sizes), keys.size), np.int64)
        for at in reversed(range(len(sizes))):
            keys, code[at] = np.divmod(keys, sizes[at])
        return cls({name: values for name, (_, values) in coded.items()}, code, number)

    @property
    def total(self) -> int:
        """The number of all records."""
        return int(self.count.sum())

    def __repr__(self) -> str:
        return f"Classes(confidential, columns={[*self.values]})"


def k_anonymity(
    table: CountTable | Columns, columns: Sequence[str] | None = None, count: str | None = None
) -> int:
    """Count the records of the smallest class; confidential, as everything without noise.

    **It protects nobody by itself**: a class of k people who all have the same answer reveals the
    answer of each, and a change of one record changes what is published with certainty.

    Parameters
    ----------
    table : CountTable, mapping or data frame
        Classes are the occupied cells of a table of counts, or records that agree in all columns.
    columns : sequence of str, optional
        Columns of records that others may know; default: all but `count`.
    count : str, optional
        Column with the number of records that a row stands for.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    UsageError, InputError
        A table without such columns, with missing values, or without a record.

    Examples
    --------
    >>> k_anonymity({"sex": ["f", "f", "m", "m", "m"], "age": [30, 30, 30, 30, 30]})
    2
    """
    if not isinstance(table, CountTable):
        return int(EquivalenceClasses.of(table, columns, count).count.min())
    if columns is not None or count is not None:
        raise UsageError(
            "Columns are chosen for records; a table of counts has cells.",
            code="columns-need-records",
        )
    if not table.count.size:
        raise InputError("The table has no record.", code="table-without-records")
    return int(table.count.min())


def require_k(k: Any) -> int:
    """Convert k to int; UsageError unless it is a whole number of 1 or more."""
    if isinstance(k, bool) or not isinstance(k, Integral) or int(k) < 1:
        raise UsageError("k must be a whole number of 1 or more.", code="k-not-whole")
    return int(k)


def _count_keys(
    key: NDArray[np.int64], size: int, people: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the records of each key below a size; return the occurring keys and their counts."""
    if people is not None:
        keys, position = np.unique(key, return_inverse=True)
        number = np.zeros(keys.size, np.int64)
        np.add.at(number, position, people)
    elif size <= max(DENSE, 4 * key.size):
        # Counting is faster than sorting while the counters fit memory.
        number = np.bincount(key, minlength=1)
        keys = np.arange(number.size)
    else:
        keys, number = np.unique(key, return_counts=True)
    return keys[number > 0], number[number > 0]


def _encode(column: Any, name: str) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Encode a column: positions of its values among the distinct ones, int64[n], and these."""
    import pyarrow as pa

    # Arrow would infer a type by its own rules; a list of Python texts is read as texts.
    if isinstance(column, np.ndarray) and column.dtype.kind in "US":
        column = column.tolist()
    try:
        array = pa.array(column)
        flat = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        encoded = flat.dictionary_encode()
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError(
            f"The column {name} must have values of one plain type.", code="column-of-mixed-types"
        ) from None
    values = tuple(encoded.dictionary.to_pylist())
    if encoded.null_count or any(value is None or value != value for value in values):
        raise InputError(
            f"The column {name} has missing values; drop them or give them a name.",
            code="column-has-missing",
        )
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), values
