"""Counts in NetCDF by the CF conventions 1.8: of one map, or of a series of them over time.

It is the classic format with 64-bit offsets, which every reader of NetCDF supports, written by
SciPy. It has no integers beyond 32 bits, so larger counts are written as doubles, which are exact
to 2**53. Row 0 is the southernmost.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.lattice import Lattice
from geodp.io.write.frame import crs_of
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.table.counts import ReleasedTable

COUNT = "count"
"""Name of the variable: NetCDF's classic format allows fewer names than file systems."""

MAX_BYTES = 1 << 30
"""Largest file in bytes: it is held in memory, and it is not compressed."""

LARGEST = (1 << 31) - 1
OUTSIDE = -(1 << 31)
"""Fill value of integers: no count is as far below 0."""


def why_not(views: Sequence[View]) -> str | None:
    """Return why a series has no NetCDF; None if it has."""
    grid = views[0].table.grid
    if grid.plain_map is None or not grid.names.on_map:
        return "NetCDF is written of a grid of one map without attributes"
    if prod(grid.shape) * count_type(views).itemsize * len(views) > MAX_BYTES:
        return f"NetCDF is written of up to {MAX_BYTES:,} bytes, as it is not compressed"
    return None


def write_places(file: Any, place: Lattice) -> None:
    """Write the centres of rows and columns, and the CRS."""
    west, south, east, north = place.edges_at(
        np.arange(max(place.rows, place.cols)) % place.rows,
        np.arange(max(place.rows, place.cols)) % place.cols,
    )
    # Row 0 is the southernmost, so that y increases.
    values = {
        "x": ((west + east) / 2)[: place.cols],
        "y": np.sort(((south + north) / 2)[: place.rows]),
    }
    crs = None if place.crs is None else crs_of(place.crs)
    for axis, middle in values.items():
        variable = add_variable(file, axis, np.dtype("f8"), (axis,))
        variable.axis = axis.upper()
        if crs is None:
            variable.units, variable.long_name = "1", f"{axis} in cells"
        elif crs.is_geographic:
            name = "longitude" if axis == "x" else "latitude"
            variable.standard_name = name
            variable.units = "degrees_east" if axis == "x" else "degrees_north"
        else:
            variable.standard_name = f"projection_{axis}_coordinate"
            variable.units = crs.axis_info[0].unit_name.replace("metre", "m")
        variable[:] = middle
    if crs is not None:
        mapping = add_variable(file, "crs", np.dtype("i4"), ())
        # Only its attributes matter, but SciPy would write uninitialised memory.
        mapping.data[...] = 0
        for name, value in crs.to_cf().items():
            if isinstance(value, str | float):
                plain = value.encode() if isinstance(value, str) else np.float64(value)
                setattr(mapping, name, plain)


def write_counts(file: Any, views: Sequence[View], dimensions: tuple[str, ...]) -> None:
    """Write the counts of releases on one grid, over time or of a single one."""
    tables = [view.table for view in views]
    place = tables[0].grid.places[0]
    counts = add_variable(file, COUNT, count_type(views), dimensions)
    counts.long_name = views[0].counted.encode()
    counts.units = "1"
    counts.cell_methods = "area: sum"
    if place.crs is not None:
        counts.grid_mapping = "crs"
    # Integers have no NaN.
    fill = counts.data.dtype.type(OUTSIDE if counts.data.dtype.kind == "i" else np.nan)
    counts._FillValue = fill
    outside = _outside(tables[0], place)
    for number, table in enumerate(tables):
        at = number if len(dimensions) == 3 else slice(None)
        counts[at] = _dense(table, place, outside, fill)


def add_variable(file: Any, name: str, kind: np.dtype[Any], dimensions: tuple[str, ...]) -> Any:
    """Add a variable of a type to a file, in the byte order of the format."""
    return file.createVariable(name, kind.newbyteorder(">"), dimensions)


def count_type(views: Sequence[View]) -> np.dtype[Any]:
    """Return the type of counts: 32 bits if all are integers and fit."""
    tables = [view.table for view in views]
    integral = all(table.count.dtype == np.int64 for table in tables)
    largest = max(
        (int(np.abs(table.count).max()) for table in tables if table.count.size), default=0
    )
    return np.dtype("i4") if integral and largest <= LARGEST else np.dtype("f8")


def _outside(table: ReleasedTable, place: Lattice) -> NDArray[np.bool_] | None:
    """Return cells outside the domain, the southernmost row first; None if there are none."""
    if table.grid.domain.is_box:
        return None
    row, col = np.arange(place.rows), np.arange(place.cols)
    outside = ~table.grid.domain.contains_lattice(row, col)
    return outside if is_upwards(place) else outside[::-1]


def _dense(
    table: ReleasedTable, place: Lattice, outside: NDArray[np.bool_] | None, fill: Any
) -> NDArray[Any]:
    """Return counts by rows and columns, the southernmost row first."""
    values = np.zeros((place.rows, place.cols), np.asarray(fill).dtype)
    for _, index, count in chunks(table):
        values[index[0], index[1]] = count
    values = values if is_upwards(place) else values[::-1]
    if outside is not None:
        values[outside] = fill
    return values


def is_upwards(place: Lattice) -> bool:
    """Test whether y increases with the row number."""
    return place.transform is None or place.northwards
