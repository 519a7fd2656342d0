"""Classes of records that look alike: who shares all columns that others may know of somebody."""

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

MOST_CODES = 1 << 62
"""Most combinations of values of all columns."""

DENSE = 1 << 16
"""Combinations that are counted one by one, however few records there are."""


@runtime_checkable
class Columns(Protocol):
    """Columns by name: a mapping of names to sequences, or a data frame."""

    def __getitem__(self, name: str, /) -> Any:
        """One column."""

    def keys(self) -> Any:
        """Names of the columns."""


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """Confidential records by what can be known of them from elsewhere; the repr shows none.

    Attributes
    ----------
    values : dict of str to tuple
        Different values of every column, in the order in which they come.
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
        """Put records into classes.

        Parameters
        ----------
        table : mapping or data frame
            Columns of one length.
        columns : sequence of str, optional
            What others may know; default: all but `count`.
        count : str, optional
            Column of how many records a row stands for: whole, not negative.

        Raises
        ------
        UsageError
            No column, one that is not there, or columns of different lengths.
        InputError
            Missing values, values of several types, or no record.
        """
        if not isinstance(table, Columns):
            raise UsageError(
                "Records are a mapping of names to columns, or a data frame.", code="records-form"
            )
        there = [*table.keys()]
        names = [name for name in there if name != count] if columns is None else [*columns]
        if not names or not {*names, *([] if count is None else [count])} <= {*there}:
            raise UsageError(
                f"The table has columns {', '.join(map(str, there))}.", code="columns-unknown"
            )
        coded = {name: _encode(table[name], name) for name in names}
        rows = {codes.size for codes, _ in coded.values()}
        people = None if count is None else as_counts(np.asarray(table[count]))
        if len(rows | ({people.size} if people is not None else set())) != 1:
            raise UsageError(
                "All columns have the same number of rows.", code="columns-differ-in-length"
            )
        sizes = [len(values) for _, values in coded.values()]
        if prod(sizes) > MOST_CODES:
            raise UsageError(
                "The columns have more than 2**62 combinations; name fewer.",
                code="combinations-too-many",
            )
        key = np.zeros(rows.pop(), np.int64)
        for codes, values in coded.values():
            key = key * len(values) + codes
        found, number = _tally(key, prod(sizes), people)
        if not number.size:
            raise InputError("The table has no record.", code="table-without-records")
        code = np.empty((len(sizes), found.size), np.int64)
        for at in reversed(range(len(sizes))):
            found, code[at] = np.divmod(found, sizes[at])
        return cls({name: values for name, (_, values) in coded.items()}, code, number)

    @property
    def total(self) -> int:
        """All records."""
        return int(self.count.sum())

    def __repr__(self) -> str:
        return f"Classes(confidential, columns={[*self.values]})"


def k_anonymity(
    table: CountTable | Columns, columns: Sequence[str] | None = None, count: str | None = None
) -> int:
    """Count the records of the smallest class; confidential, as all that is not noisy.

    **It protects nobody by itself**: a class of k people who all have the same answer tells the
    answer of each, and a change of one record changes what is published with certainty.

    Parameters
    ----------
    table : CountTable, mapping or data frame
        Classes are the occupied cells of a table of counts, or records that agree in all columns.
    columns : sequence of str, optional
        What others may know, of records; default: all but `count`.
    count : str, optional
        Column of how many records a row stands for.

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
        return int(Classes.of(table, columns, count).count.min())
    if columns is not None or count is not None:
        raise UsageError(
            "Columns are those of records; a table of counts has cells.",
            code="columns-need-records",
        )
    if not table.count.size:
        raise InputError("The table has no record.", code="table-without-records")
    return int(table.count.min())


def require_k(k: Any) -> int:
    """Return a number of records, as int; UsageError for what is no whole number of 1 or more."""
    if isinstance(k, bool) or not isinstance(k, Integral) or int(k) < 1:
        raise UsageError("k is a whole number of 1 or more.", code="k-not-whole")
    return int(k)


def _tally(
    key: NDArray[np.int64], size: int, people: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Different keys below a size in order, and how many records each stands for."""
    if people is not None:
        found, which = np.unique(key, return_inverse=True)
        number = np.zeros(found.size, np.int64)
        np.add.at(number, which, people)
    elif size <= max(DENSE, 4 * key.size):
        number = np.bincount(key, minlength=1)
        found = np.arange(number.size)
    else:
        found, number = np.unique(key, return_counts=True)
    return found[number > 0], number[number > 0]


def _encode(column: Any, name: str) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Positions of a column's values among the different ones: int64[n]."""
    import pyarrow as pa

    if isinstance(column, np.ndarray) and column.dtype.kind in "US":
        column = column.tolist()
    try:
        array = pa.array(column)
        whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        found = whole.dictionary_encode()
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError(
            f"The column {name} must have values of one plain type.", code="column-of-mixed-types"
        ) from None
    values = tuple(found.dictionary.to_pylist())
    if found.null_count or any(value is None or value != value for value in values):
        raise InputError(
            f"The column {name} has missing values; drop them or give them a name.",
            code="column-has-missing",
        )
    return found.indices.to_numpy(zero_copy_only=False).astype(np.int64), values
