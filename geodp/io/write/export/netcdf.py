"""NetCDF by the CF conventions 1.8: of one map, of a series of them over time, or of pairs.

It is the classic format with 64-bit offsets, which every reader of NetCDF supports, written by
SciPy. It has no integers beyond 32 bits, so larger counts are written as doubles, which are exact
to 2**53. Row 0 is the southernmost.

Zones and labels of pairs are coordinates, so that a flow is looked up by codes. Where all pairs
with all labels would be a large file, only those that are listed are written, gathered as the
conventions say in 8.2: their positions among all are one variable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.write.format import Export
from geodp.io.write.frame import crs_of
from geodp.io.write.public_tables import count_zones, list_zones, number_zones
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.table.counts import ReleasedTable
from geodp.table.plain import list_captioned
from geodp.typing import IntArray

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


ENDS = ("origin", "destination")
"""Dimensions of both ends of a pair."""

LISTED = "flow"
"""Dimension of gathered pairs, and the variable of their positions."""

LENGTH = "_length"
"""Ending of the dimension of the letters of names."""

MOST_ZONES = 20_000
"""Most zones at either end."""

DENSE_BYTES = 1 << 28
"""Largest array of all pairs that is written; larger ones are gathered."""


def why_no_pairs(view: View) -> str | None:
    """Return why a release of pairs has no NetCDF; None if it has."""
    grid = view.table.grid
    if view.regions is not None:
        return "NetCDF is written of origins and destinations that are cells or areal units"
    if count_zones(grid) > MOST_ZONES:
        return f"NetCDF is written of up to {MOST_ZONES:,} zones"
    if not is_dense(view):
        if prod(_count_axes(grid)) > LARGEST:
            return f"NetCDF numbers up to {LARGEST:,} pairs of zones with labels"
        if view.table.key.size * (4 + count_type([view]).itemsize) > MAX_BYTES:
            return f"NetCDF is written of up to {MAX_BYTES:,} bytes, as it is not compressed"
    names = [one.name for one in grid.attributes]
    if not all(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name) for name in names):
        return "names of attributes have letters, digits and _ alone in NetCDF after CF"
    taken = [*ENDS, *_locate_names(grid), COUNT, LISTED]
    if {*taken} & {*names} or any(name.endswith(LENGTH) for name in names):
        return f"an attribute has a name that NetCDF has for other things: {', '.join(taken)}"
    return None


def is_dense(view: View) -> bool:
    """Return whether all pairs are written, and not only those that are listed."""
    return prod(_count_axes(view.table.grid)) * count_type([view]).itemsize <= DENSE_BYTES


def _count_axes(grid: Grid) -> tuple[int, ...]:
    """Return the sizes of the dimensions: zones at either end, and labels."""
    return (count_zones(grid), count_zones(grid), *grid.shape[4:])


def write_pairs(file: Any, view: View) -> None:
    """Write zones, labels and counts."""
    grid = view.table.grid
    names = [*ENDS, *(one.name for one in grid.attributes)]
    for name, size in zip(names, _count_axes(grid), strict=True):
        file.createDimension(name, size)
    located = _write_zones(file, grid)
    for one in grid.attributes:
        _write_names(file, one.name, list(one.labels), f"label of {one.name}")
    kind = count_type([view])
    if is_dense(view):
        counts = add_variable(file, COUNT, kind, tuple(names))
        # SciPy leaves the memory of a new variable as it finds it.
        counts.data[...] = 0
        for position, count in _list_positions(view):
            counts.data.reshape(-1)[position] = count
    else:
        file.createDimension(LISTED, view.table.key.size)
        at = add_variable(file, LISTED, np.dtype("i4"), (LISTED,))
        at.compress = " ".join(names).encode()
        counts = add_variable(file, COUNT, kind, (LISTED,))
        begin = 0
        for position, count in _list_positions(view):
            end = begin + position.size
            at[begin:end], counts[begin:end] = position, count
            begin = end
    counts.long_name = view.counted.encode()
    counts.units = "1"
    if located:
        counts.coordinates = " ".join(located).encode()


def _list_positions(view: View) -> Any:
    """Yield positions of pairs among all pairs with all labels, and their counts."""
    grid = view.table.grid
    for _, index, count in chunks(view.table):
        ends = [number_zones(grid, index[at : at + 2]) for at in (0, 2)]
        yield np.ravel_multi_index((*ends, *index[4:]), _count_axes(grid)), count


def _locate_names(grid: Grid) -> list[str]:
    """Return the names of coordinates that locate zones without codes."""
    if grid.places[0].system is not None or not grid.names.on_map:
        return []
    return [f"{end}_{axis}" for end in ENDS for axis in ("row", "column")]


def _write_zones(file: Any, grid: Grid) -> list[str]:
    """Write the codes of zones, or their rows and columns, whose names are returned."""
    index = list_zones(grid)
    located = _locate_names(grid)
    if not located:
        codes = [*map(str, grid.names.format(0, index))]
        for end in ENDS:
            _write_names(file, end, codes, f"code of the {end}")
    for number, name in enumerate(located):
        variable = add_variable(file, name, np.dtype("i4"), (ENDS[number // 2],))
        variable[:] = index[number % 2]
        variable.long_name = name.replace("_", " ").encode()
    return located


def _write_names(file: Any, name: str, values: list[str], what: str) -> None:
    """Write a coordinate of names: as integers where all are, as text otherwise."""
    numbers = as_numbers(values)
    if numbers is not None:
        variable = add_variable(file, name, np.dtype("i4"), (name,))
        variable[:] = numbers
    else:
        encoded = [one.encode() for one in values]
        longest = max(map(len, encoded))
        length = f"{name}{LENGTH}"
        file.createDimension(length, longest)
        variable = file.createVariable(name, np.dtype("S1"), (name, length))
        text: NDArray[Any] = np.array(encoded, f"S{longest}")
        variable[:] = text.view("S1").reshape(len(values), longest)
        variable._Encoding = b"utf-8"
    variable.long_name = what.encode()


def as_numbers(values: list[str]) -> IntArray | None:
    """Return names as numbers of 32 bits; None where a name would not be the same.

    Examples
    --------
    >>> as_numbers(["7", "8"]), as_numbers(["07", "8"]), as_numbers(["bus"])
    (array([7, 8]), None, None)
    """
    plain = all(one.isascii() and one.isdecimal() and len(one) < 11 for one in values)
    numbers = [*map(int, values)] if plain else []
    if not plain or [*map(str, numbers)] != values or max(numbers) > LARGEST:
        return None
    return np.array(numbers, np.int64)


class NetCDF(Export):
    """Counts over y and x, the southernmost row first; of pairs, over origins and destinations."""

    name: ClassVar[str] = "netcdf"
    ending: ClassVar[str] = "nc"
    help: ClassVar[str] = "NetCDF after CF 1.8: xarray, GDAL, climate tools"

    def why_not(self, view: View) -> str | None:
        """Require one map without attributes, or pairs, of not too many cells."""
        if len(view.table.grid.places) == len(ENDS):
            return why_no_pairs(view)
        return why_not([view])

    def write(self, view: View, path: Path) -> None:
        """Write one file."""
        from scipy.io import netcdf_file

        place = view.table.grid.places[0]
        with netcdf_file(path, "w", version=2) as file:
            for name, value in self._attributes(view).items():
                setattr(file, name, value.encode())
            if len(view.table.grid.places) == len(ENDS):
                write_pairs(file, view)
                return
            file.createDimension("y", place.rows)
            file.createDimension("x", place.cols)
            write_places(file, place)
            write_counts(file, [view], ("y", "x"))

    def _attributes(self, view: View) -> dict[str, str]:
        """Return the global attributes of the file."""
        card = view.card
        attributes = {
            "Conventions": "CF-1.8",
            "title": card.name,
            "source": f"{card.software}, {card.mechanism.spec}",
            "comment": card.guarantee.in_words,
            "history": f"released by {card.software}",
            "geodp_spends": card.guarantee.spends,
            "geodp_private": "yes" if card.private else "NO",
            "geodp_release_id": card.release_id,
        }
        if view.level is not None:
            attributes["geodp_level"] = view.level
        captions = list_captioned(view.card.metadata)
        return attributes | {one.cf or f"geodp_{name}": value for name, one, value in captions}


EXPORTS = (NetCDF(),)
