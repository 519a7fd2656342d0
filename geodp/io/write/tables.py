"""Released tables as rows: one for every cell that is not 0, in key order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.accuracy.areas import Areas
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.memory import fit
from geodp.io.write.geometry import _sides
from geodp.io.write.uncertainty import BESIDE, RowErrors, names_of, six_digits
from geodp.kernels.codes import pack
from geodp.table.released import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray

ROW_GROUP = 1 << 16
"""Rows of a Parquet row group: in key order, a compact piece of the map."""

MOST_PACKED, ASCII = 2**31 - 1, 127
"""Bytes that an array of Arrow's strings takes, and the last character of ASCII."""

CHUNK = 4 * ROW_GROUP
"""Rows that are held in memory at a time."""

ROW_BYTES = 1 << 10
"""Of a row that is made: its indices, its code as text, its outline."""


def require_released(table: object) -> None:
    """Raise UsageError for anything but a ReleasedTable: what is written is public."""
    if not isinstance(table, ReleasedTable):
        raise UsageError(
            "Only released tables are written; geodp.publish makes one.",
            code="released-table-expected",
        )


def slices(rows: int) -> Iterator[slice]:
    """Cut so many rows into pieces of up to ``CHUNK``.

    Fewer where memory is limited, and then whole row groups.
    """
    step = fit(CHUNK, ROW_BYTES, min(ROW_GROUP, CHUNK))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def chunks(table: ReleasedTable) -> Iterator[tuple[slice, IntArray, CountArray]]:
    """Return a table in pieces of up to ``CHUNK`` cells: which they are, their indices and counts.

    Yields
    ------
    slice
    index : int64[d, n]
    count : int64[n] or float64[n]
    """
    for part in slices(table.key.size):
        yield part, table.grid.decode(table.key[part]), table.count[part]


def centre_columns(grid: Grid) -> tuple[str, ...]:
    """Names of the columns that hold coordinates: x and y of every place, or none.

    Published codes say where a cell is; rows and columns do not, so their centres are written.
    """
    if any(place.system is not None or place.transform is None for place in grid.places):
        return ()
    return grid.maps.name_columns("x", "y")


def centres(grid: Grid, index: IntArray) -> list[FloatArray]:
    """Return the values of `centre_columns`, in the places' CRS: float64[n] each."""
    found: list[FloatArray] = []
    if not centre_columns(grid):
        return found
    for number, _ in enumerate(grid.places):
        west, south, east, north = _sides(grid, index, number)
        found += [(west + east) / 2, (south + north) / 2]
    return found


def name_of_counts(name: str, unit: str) -> str:
    """Return what is counted, for labels: the name of the count, or the unit of privacy in plural.

    The name of a population says less than who is counted.

    Examples
    --------
    >>> [name_of_counts(*two) for two in (("population", "trip"), ("jobs", "person"))]
    ['trips', 'jobs']
    """
    if name != "population":
        return name
    return f"{unit}s" if unit.isascii() and unit.isalpha() and not unit.endswith("s") else unit


def column_names(grid: Grid, name: str, beside: tuple[str, ...] = BESIDE) -> tuple[str, ...]:
    """Names of the CSV's columns: places, centres, plain axes, attributes, count, its errors.

    ``beside``: those after the count; all that there can be are taken even where there are none.

    Raises UsageError where two columns would have one name.
    """
    where = (*grid.maps.codes, *centre_columns(grid))
    names = (*where, *grid.axis_names[grid.plain_axes.start :], name)
    taken = [column.casefold() for column in (*names, *BESIDE, "geometry", "bbox")]
    twice = sorted({column for column in taken if taken.count(column) > 1})
    if twice:
        raise UsageError(
            f"Two columns would be called {twice[0]!r}; choose another name for the count or "
            "for the attribute.",
            code="columns-of-one-name",
        )
    return (*names, *beside)


def arrow_columns(
    table: ReleasedTable,
    rows: slice,
    index: IntArray,
    name: str,
    errors: RowErrors | None,
) -> Any:
    """Return the CSV's columns of some rows, with their indices, as an Arrow table."""
    grid, key = table.grid, table.key[rows]
    arrays = []
    for number, _ in enumerate(grid.places):
        arrays.append(_pack(grid.names.format(number, index)))
    arrays += [pa.array(axis) for axis in centres(grid, index)]
    arrays += [pa.array(index[axis]) for axis in grid.plain_axes]
    for attribute, axis in zip(grid.attributes, grid.attribute_axes, strict=True):
        arrays.append(pa.array(attribute.labels, pa.string()).take(pa.array(index[axis])))
    arrays.append(pa.array(table.count[rows]))
    if errors is not None:
        arrays += [pa.array(column) for column in errors.columns(key, rows)]
    return pa.table(arrays, names=list(column_names(grid, name, names_of(errors))))


def _pack(codes: NDArray[np.str_]) -> Any:
    """Return codes as Arrow's strings."""
    n, width = codes.size, codes.dtype.itemsize // 4
    text = codes.view(np.uint32).reshape(n, width)
    if n * width > MOST_PACKED or text.max(initial=0) > ASCII:
        return pa.array(codes, pa.string())
    ends, packed = np.empty(n + 1, np.int32), np.empty(n * width, np.uint8)
    pack(text, ends, packed)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(packed[: ends[-1]])]
    return pa.Array.from_buffers(pa.string(), n, buffers)


def region_columns(regions: Areas, part: slice, name: str, errors: RowErrors | None) -> Any:
    """Return codes, counts and standard errors of some of an office's regions: an Arrow table."""
    arrays = [pa.array(text[part], pa.string()) for text in regions.texts.values()]
    arrays.append(pa.array(regions.count[part]))
    if errors is not None:
        arrays.append(pa.array(six_digits(np.asarray(errors.standard_error)[part])))
    return pa.table(arrays, names=[*regions.texts, name, *names_of(errors)])
