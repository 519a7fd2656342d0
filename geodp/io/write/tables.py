"""Released tables as rows: one for every cell that is not 0, in key order, with its uncertainty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.accuracy.area_sums import Areas
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.memory import fit
from geodp.io.numbers import column_of
from geodp.io.write.geometry import _sides
from geodp.kernels.codes import pack
from geodp.reprs import one_line
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray

ERROR, LOW, HIGH = UNCERTAINTY_COLUMNS = ("standard_error", "low", "high")
"""Columns of tables after the count, and the raster's bands after the counts; a method whose error
depends on the data has none of them, and areas have the first."""


class Intervals(Protocol):
    """95 % intervals of single cells.

    Attributes
    ----------
    alike : int
        Number of keys of an aligned block in which all cells released as 0 have one interval.
    """

    @property
    def alike(self) -> int:
        """Number of keys of a block with one interval; see above."""

    def of(self, key: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Compute low and high ends for cells of the domain: float64[n]; ``key``: uint64[n]."""
        ...

    def unlisted(self, error: float) -> tuple[float, float]:
        """Return the ends of intervals of cells that are not listed, at most.

        ``error``: the largest standard error of a cell.
        """
        ...


@dataclass(frozen=True, eq=False)
class RowErrors:
    """Errors of a table.

    Attributes
    ----------
    standard_error : float or float64[n]
        Closed form in counts: of every row, or one for all rows.
    intervals : Intervals, optional
        Intervals of cells; None for areas.
    """

    __repr__ = one_line

    standard_error: float | NDArray[np.float64] = field(repr=False)
    intervals: Intervals | None = field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return UNCERTAINTY_COLUMNS[:1] if self.intervals is None else UNCERTAINTY_COLUMNS

    def columns(self, key: NDArray[np.uint64], rows: slice) -> list[NDArray[np.float64]]:
        """Return the columns of some rows: float64[n] each.

        Standard errors have six significant digits, the ends of intervals three decimals.

        Parameters
        ----------
        key : uint64[n]
            Keys of the rows' cells.
        rows : slice
            Position of the rows in the table.
        """
        error = self.standard_error
        once = np.array([error]) if isinstance(error, float) else error[rows]
        each = np.broadcast_to(six_digits(once), key.shape)
        ends = () if self.intervals is None else widen(*self.intervals.of(key))
        return [each, *ends]


def extra_columns_of(card: Card) -> tuple[str, ...]:
    """Return the names of the uncertainty columns in the tables of a card's cells."""
    error = card.expected_error
    return () if error.blocks is None and not error.has_parts else UNCERTAINTY_COLUMNS


def names_of(errors: RowErrors | None) -> tuple[str, ...]:
    """Return the names of the uncertainty columns."""
    return () if errors is None else errors.names


def widen(
    low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Round intervals outward to three decimals: float64[n] each.

    Examples
    --------
    >>> widen(np.array([0.0, 1.2345]), np.array([1.0, 7.0001]))
    (array([0.   , 1.234]), array([1.   , 7.001]))
    """
    # Rounded outwards, and never inside the exact ends, so that the coverage does not shrink.
    below, above = np.floor(low * 1000) / 1000, np.ceil(high * 1000) / 1000
    return np.minimum(below, low), np.maximum(above, high)


SIX = 6
"""Significant digits of standard errors."""

POWERS = np.array([float(f"1e{exponent}") for exponent in range(23)])
"""Powers of ten that are exact as float64."""

NEAR_MIDDLE = 0.5 - 1e-6
"""Products this near to a whole number are rounded to it, as the exact ones are."""


def six_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round values to six significant digits, as in the card.

    Examples
    --------
    >>> six_digits(np.array([0.0, 1 / 3, 1234567.0]))
    array([0.00000e+00, 3.33333e-01, 1.23457e+06])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = SIX - 1 - np.floor(np.log10(np.abs(values)))
        known = (digits >= 0) & (digits < POWERS.size)
        power = POWERS[np.where(known, digits, 0).astype(np.int64)]
        # A quotient of a whole number and an exact power is the float64 nearest to the decimal.
        scaled = values * power
        rounded = np.round(scaled)
        sure = known & (np.abs(scaled - rounded) < NEAR_MIDDLE)
    found, rest = rounded / power, np.flatnonzero(~sure)
    found[rest] = [float(f"{value:.{SIX}g}") for value in values[rest].tolist()]
    return np.asarray(found, np.float64)


ROW_GROUP = 1 << 16
"""Rows of a Parquet row group: in key order, a compact part of the map."""

MAX_PACKED_BYTES, ASCII = 2**31 - 1, 127
"""Largest size of an array of Arrow's strings in bytes, and the last character of ASCII."""

CHUNK = 4 * ROW_GROUP
"""Number of rows that are held in memory at a time."""

ROW_BYTES = 1 << 10
"""Bytes of a row: its indices, its code as text, its outline."""


def require_released(table: object) -> None:
    """Raise UsageError for anything but a ReleasedTable: only public data are written."""
    if not isinstance(table, ReleasedTable):
        raise UsageError(
            "Only released tables are written; geodp.publish makes one.",
            code="released-table-expected",
        )


def slices(rows: int) -> Iterator[slice]:
    """Divide rows into chunks of up to ``CHUNK``.

    If memory is limited, chunks are smaller, in complete row groups.
    """
    step = fit(CHUNK, ROW_BYTES, min(ROW_GROUP, CHUNK))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def chunks(table: ReleasedTable) -> Iterator[tuple[slice, IntArray, CountArray]]:
    """Yield a table in chunks of up to ``CHUNK`` cells: their slice, indices and counts.

    Yields
    ------
    slice
    index : int64[d, n]
    count : int64[n] or float64[n]
    """
    for part in slices(table.key.size):
        yield part, table.grid.decode(table.key[part]), table.count[part]


def centre_columns(grid: Grid) -> tuple[str, ...]:
    """Return names of the columns that hold coordinates: x and y of every place, or none.

    Published codes locate a cell; rows and columns do not, so their centres are written.
    """
    if any(place.system is not None or place.transform is None for place in grid.places):
        return ()
    return grid.maps.name_columns("x", "y")


def centres(grid: Grid, index: IntArray) -> list[FloatArray]:
    """Compute the values of `centre_columns`, in the places' CRS: float64[n] each."""
    coordinates: list[FloatArray] = []
    if not centre_columns(grid):
        return coordinates
    for number, _ in enumerate(grid.places):
        west, south, east, north = _sides(grid, index, number)
        coordinates += [(west + east) / 2, (south + north) / 2]
    return coordinates


def title_columns(grid: Grid) -> tuple[str, ...]:
    """Return names of the columns of the names of units, behind those of codes; none without."""
    if not grid.names.titled:
        return ()
    return tuple("name" if code == "code" else f"{code}_name" for code in grid.maps.codes)


def name_of_counts(name: str, unit: str) -> str:
    """Return a label for the counts: their name, or the unit of privacy in plural.

    For a population, the unit of privacy says more than its name.

    Examples
    --------
    >>> [name_of_counts(*two) for two in (("population", "trip"), ("jobs", "person"))]
    ['trips', 'jobs']
    """
    if name != "population":
        return name
    return f"{unit}s" if unit.isascii() and unit.isalpha() and not unit.endswith("s") else unit


def column_names(
    grid: Grid, name: str, extras: tuple[str, ...] = UNCERTAINTY_COLUMNS
) -> tuple[str, ...]:
    """Name the CSV's columns: places, centres, plain axes, attributes, count, its errors.

    ``extras``: the columns after the count; the names of all possible ones are reserved.

    Raises UsageError if two columns would have one name.
    """
    where = (*grid.maps.codes, *title_columns(grid), *centre_columns(grid))
    names = (*where, *grid.axis_names[grid.plain_axes.start :], name)
    # SQLite and GDAL compare the names of columns without regard to case.
    reserved = {*UNCERTAINTY_COLUMNS, "geometry", "bbox"} - {*extras}
    taken = Counter(column.casefold() for column in (*names, *extras, *reserved))
    twice = sorted(column for column, times in taken.items() if times > 1)
    if twice:
        raise UsageError(
            f"Two columns would be called {twice[0]!r}; choose another name for the count or "
            "for the attribute.",
            code="columns-of-one-name",
        )
    return (*names, *extras)


def arrow_columns(
    table: ReleasedTable,
    rows: slice,
    index: IntArray,
    name: str,
    errors: RowErrors | None,
) -> Any:
    """Return the CSV's columns of some rows, with their indices, as an Arrow table."""
    grid, key = table.grid, table.key[rows]
    arrays = [_pack(grid.names.format(end, index)) for end in range(len(grid.places))]
    arrays += [_pack(grid.names.title(end, index)) for end, _ in enumerate(title_columns(grid))]
    arrays += [column_of(axis) for axis in centres(grid, index)]
    arrays += [column_of(index[axis]) for axis in grid.plain_axes]
    for attribute, axis in zip(grid.attributes, grid.attribute_axes, strict=True):
        # Indices are gathered by Arrow, so that no Python string is made for a row.
        arrays.append(pa.array(attribute.labels, pa.string()).take(column_of(index[axis])))
    arrays.append(column_of(table.count[rows]))
    if errors is not None:
        arrays += [column_of(column) for column in errors.columns(key, rows)]
    return pa.table(arrays, names=list(column_names(grid, name, names_of(errors))))


def _pack(codes: NDArray[np.str_]) -> Any:
    """Convert codes to Arrow's strings."""
    n, width = codes.size, codes.dtype.itemsize // 4
    text = codes.view(np.uint32).reshape(n, width)
    # 32-bit offsets and one byte a character: other codes take Arrow's slower general way.
    if n * width > MAX_PACKED_BYTES or text.max(initial=0) > ASCII:
        return pa.array(codes, pa.string())
    ends, packed = np.empty(n + 1, np.int32), np.empty(n * width, np.uint8)
    pack(text, ends, packed)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(packed[: ends[-1]])]
    return pa.Array.from_buffers(pa.string(), n, buffers)


def region_columns(regions: Areas, part: slice, name: str, errors: RowErrors | None) -> Any:
    """Return codes, counts and standard errors of some of an office's regions: an Arrow table."""
    arrays = [pa.array(text[part], pa.string()) for text in regions.texts.values()]
    arrays.append(column_of(regions.count[part]))
    if errors is not None:
        arrays.append(column_of(six_digits(np.asarray(errors.standard_error)[part])))
    return pa.table(arrays, names=[*regions.texts, name, *names_of(errors)])
