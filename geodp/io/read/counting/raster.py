"""Rasters and arrays: the cells of their numbers on a grid, and their counts.

The metadata are packing, missing values, unit and CRS. ``attrs`` hold what is still to be applied,
``encoding`` what was applied when a file was opened, as in xarray and rioxarray. xarray itself is
not imported: arrays are read by their attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.errors import Rule, UsageError
from geodp.grid.crs import same_plane
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice, longitude_period
from geodp.io.read.options import RasterOptions
from geodp.io.read.rows.columns import RowPositions
from geodp.io.read.rows.count_parser import Rounder, rounder
from geodp.io.read.rows.forms.locations import fetch_urls
from geodp.io.read.rows.input_files import LabelledArray, TableSource, list_paths, unpack
from geodp.io.read.rows.pixels import Lines, align_blocks
from geodp.io.read.rows.raster_header import ALIGNED, OFF
from geodp.io.read.rows.tally import Tally
from geodp.table.counts import CountTable
from geodp.table.reading import describe_facts
from geodp.table.source import ARRAY_IN_MEMORY, Fact
from geodp.table.stored import (
    Stored,
    describe_stored,
    exact,
    read_stored,
    require_counts,
    signed_as,
)

AXES = {
    "x": ("x", "lon", "longitude", "easting", "projection_x_coordinate"),
    "y": ("y", "lat", "latitude", "northing", "projection_y_coordinate"),
}
"""Usual names of the dimensions of columns and rows, or their ``standard_name``."""

DATASET = Rule(
    "array-is-dataset",
    "A Dataset holds arrays by their names; give one of them: dataset['population'].",
)

PACKED = ("scale_factor", "add_offset")
NAMES = ("spatial_ref", "crs")
"""Coordinates that hold a CRS if no attribute names one."""


@dataclass(frozen=True, eq=False)
class ArrayPixels:
    """The numbers of an array and their cells on a grid; the repr hides them.

    Attributes
    ----------
    name : str
        Name of the array in errors.
    width : int
        Number of values in a line.
    places : mapping of str to str
        Dimensions of columns and rows; ``labels`` has those of attributes.
    index : int64[d, n]
        Cells of the numbers that are not 0, possibly outside the domain.
    position : int64[n]
        Position of each of them among all numbers, from 0.
    values : ndarray[n]
        As they are stored.
    valid : int
        Number of values that are not missing.
    stored : Stored
        How the values mean counts.
    facts : tuple of Fact
    """

    name: str
    width: int
    places: dict[str, str]
    labels: dict[str, str]
    index: NDArray[np.int64] = field(repr=False)
    position: NDArray[np.int64] = field(repr=False)
    values: NDArray[Any] = field(repr=False)
    valid: int = field(repr=False)
    stored: Stored = field(repr=False)
    facts: tuple[Fact, ...] = field(repr=False)


def align_array(
    array: Any,
    grid: Grid,
    axes: tuple[str | None, str | None] = (None, None),
    *,
    unit: float | None = None,
    missing: Sequence[float] = (),
) -> ArrayPixels:
    """Return the numbers of a ``DataArray`` on the grid whose cells are its own.

    Parameters
    ----------
    array : xarray.DataArray
        Over y, x and the grid's attributes, in any order.
    grid : Grid
        Grid of one map.
    axes : (str or None, str or None)
        The dimensions of columns and rows. Default: those with a usual name.
    unit : float, optional
        Value of one person, after scale and offset. Default: 1.
    missing : sequence of float
        Numbers that count as 0, as the array holds them.

    Raises
    ------
    UsageError
        A Dataset, other dimensions, coordinates that are not the centres of columns and rows, each
        once, another CRS than the grid's, unknown labels, or numbers that are no counts.
    """
    # xarray is not imported, so that a Dataset is recognised by its attributes.
    if hasattr(array, "data_vars"):
        raise UsageError(DATASET)
    place = grid.require_map("Arrays of x and y need a grid of one map.")
    labels = [attribute.name for attribute in grid.attributes]
    x, y = (name or _find_axis(array, kind) for name, kind in zip(axes, "xy", strict=True))
    names = (*labels, y, x)
    dimensions = ", ".join(map(str, array.dims)) or "none"
    if {*array.dims} != {*names}:
        raise UsageError(
            f"The array must have the dimensions {', '.join(names)}, and has "
            f"{dimensions}; x= and y= say which are columns and rows.",
            code="array-dimensions-differ",
        )
    if not {*names} <= {*array.coords}:
        raise UsageError(
            f"The array must have coordinates of {dimensions}: centres of columns and rows, and "
            "labels.",
            code="array-without-coordinates",
        )
    require_plane(array, place.crs)
    dense = numbers_of(array, names)
    stored = read_array(array, dense.dtype, unit, missing)
    rows = _rows_and_columns(place, *(_floats(array.coords[name]) for name in (x, y)))
    at = [
        *rows,
        *(
            _numbers(attribute.labels, np.asarray(array.coords[attribute.name]))
            for attribute in grid.attributes
        ),
    ]
    valid = stored.present(dense)
    # Only numbers that are not 0 are kept, so that a large empty raster takes little memory.
    occupied = np.nonzero(valid & stored.nonzero(dense))
    coordinates = (*occupied[len(labels) :], *occupied[: len(labels)])
    return ArrayPixels(
        str(array.name or "xarray.DataArray"),
        dense.shape[-1],
        {"x": x, "y": y},
        {name: name for name in labels},
        np.array(
            [axis[positions] for axis, positions in zip(at, coordinates, strict=True)], np.int64
        ),
        np.ravel_multi_index(occupied, dense.shape) if dense.size else np.empty(0, np.int64),
        dense[occupied],
        int(np.count_nonzero(valid)),
        stored,
        tuple(describe_array(array, stored, dense.dtype, unit, missing)),
    )


def _find_axis(array: Any, kind: str) -> str:
    """Return the dimension of columns or rows, by its usual names; "x" or "y" without one."""
    for dimension in array.dims:
        attributes = array.coords[dimension].attrs if dimension in array.coords else {}
        if {str(dimension).lower(), str(attributes.get("standard_name"))} & {*AXES[kind]}:
            return str(dimension)
    return kind


def numbers_of(array: Any, dimensions: Sequence[str]) -> NDArray[Any]:
    """Return an array's numbers in an order of dimensions, in the type that ``_Unsigned`` sets.

    Raises UsageError for numbers that are not real.
    """
    dense = np.asarray(array.transpose(*dimensions).values)
    if dense.dtype.kind == "b":
        return dense.astype(np.uint8)
    if dense.dtype.kind not in "iuf":
        raise UsageError(
            f"Counts are real numbers, and the array has the type {dense.dtype}; convert it first: "
            "array.astype('int64').",
            code="array-not-real",
        )
    return dense.view(signed_as(array.attrs, dense.dtype))


def read_array(
    array: Any, dtype: np.dtype[Any], unit: float | None, missing: Sequence[float]
) -> Stored:
    """Return how the numbers of an array encode counts; see :func:`read_stored`.

    Raises UsageError for numbers that are no counts, and for contradictory packing.
    """
    attributes, applied = dict(array.attrs), dict(array.encoding)
    require_counts(attributes, unit)
    before = [name for name in PACKED if applied.get(name) is not None]
    if before and any(attributes.get(name) is not None for name in PACKED):
        raise UsageError(
            "The array is packed by its attrs and already unpacked by its encoding "
            f"({before[0]}); delete the one that is wrong.",
            code="array-packed-twice",
        )
    stored = read_stored(attributes, dtype, unit=unit, missing=missing)
    if before:
        stored = _unpack_limits(stored, applied)
    written = applied.get("dtype")
    # Numbers decoded from float32 to float64 have no more digits than the file held.
    if dtype.kind == "f" and written is not None and np.dtype(written).kind == "f":
        stored = replace(stored, digits=np.finfo(np.dtype(written)).nmant + 1)
    return stored


def describe_array(
    array: Any,
    stored: Stored,
    dtype: np.dtype[Any],
    unit: float | None,
    missing: Sequence[float],
) -> list[Fact]:
    """Return facts on an array, as :func:`describe_stored` does."""
    facts = [ARRAY_IN_MEMORY]
    facts += describe_stored(stored, str(dtype), unit, missing)
    facts += [
        Fact(f"{name}, applied before", str(array.encoding[name]), "file")
        for name in (*PACKED, "_FillValue", "missing_value")
        if array.encoding.get(name) is not None
    ]
    if array.attrs.get("units"):
        facts.append(Fact("unit", str(array.attrs["units"]), "file"))
    return facts


def require_plane(array: Any, wanted: str | None) -> None:
    """Raise UsageError if an array declares another CRS than the grid's.

    An array without a CRS is accepted, as its coordinates must be those of the grid.
    """
    for written in _crs_of(array):
        if not same_plane(written, wanted):
            raise UsageError(
                f"The array is in another CRS than the grid ({wanted}), or in none that is known; "
                "choose a grid in its CRS, as warping makes counts of fractions.",
                code="array-crs-differs",
            )


def _unpack_limits(stored: Stored, applied: dict[str, Any]) -> Stored:
    """Convert limits of valid values from packed numbers, as in files, to unpacked ones."""
    scale = exact(np.asarray(applied.get("scale_factor", 1)).item())
    offset = exact(np.asarray(applied.get("add_offset", 0)).item())
    limits = [
        None if limit is None else exact(limit) * scale + offset
        for limit in (stored.low, stored.high)
    ]
    # A negative scale exchanges the lower and the upper limit.
    if scale < 0:
        limits.reverse()
    tolerance = abs(scale) / Fraction(4)  # unpacking rounds; packed numbers differ by a scale
    low, high = limits
    return replace(
        stored,
        low=None if low is None else float(low - tolerance),
        high=None if high is None else float(high + tolerance),
    )


def _crs_of(array: Any) -> Iterator[Any]:
    """Yield every CRS that an array declares: grid mapping, attribute, and accessor."""
    mapping = array.attrs.get("grid_mapping") or array.encoding.get("grid_mapping")
    name = str(mapping or "").split(":")[0].strip()
    if name and name not in array.coords:
        raise UsageError(
            f"The array names its CRS ({name}) and does not hold it; open the file with "
            "decode_coords='all', or delete the attribute grid_mapping.",
            code="array-crs-not-held",
        )
    for coordinate in {name, *NAMES} & {*array.coords}:
        attributes = array.coords[coordinate].attrs
        text = attributes.get("crs_wkt") or attributes.get("spatial_ref")
        if text or "grid_mapping_name" in attributes:
            yield text or dict(attributes)
        # GDAL's six numbers, as rioxarray stores them: the third and the fifth are rotation terms.
        transform = str(attributes.get("GeoTransform", "")).split()
        if len(transform) == 6 and any(transform[number].strip("-+0.e") for number in (2, 4)):
            raise UsageError(
                "The array is rotated (GeoTransform), so its cells are not those of a grid.",
                code="array-rotated",
            )
    for declared in (array.attrs.get("crs"), getattr(getattr(array, "rio", None), "crs", None)):
        if declared is not None:
            yield declared.to_wkt() if hasattr(declared, "to_wkt") else str(declared)


def _floats(column: Any) -> NDArray[np.float64]:
    """Return coordinates as float64; UsageError, without quoting them, if they are no numbers."""
    try:
        return np.asarray(column, np.float64)
    except (TypeError, ValueError):
        pass  # NumPy's message quotes the value
    raise UsageError("Coordinates are numbers.", code="coordinates-not-numbers")


def _rows_and_columns(
    place: Lattice, x: NDArray[np.float64], y: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Return the row of each y and the column of each x: int64[n] and int64[m].

    Raises UsageError unless they are the centres of rows and columns, each once: coordinates of
    edges or corners would move people by half a cell.
    """
    rotation = None if place.crs is None else longitude_period(place.crs)
    # Longitudes from 0 to 360 and from -180 to 180 are the same places.
    if rotation is not None:
        bounds = place.bounds
        x = x - rotation * np.round((x - (bounds[0] + bounds[2]) / 2) / rotation)
    if not x.size or not y.size:
        return [np.empty(y.size, np.int64), np.empty(x.size, np.int64)]
    row = place.locate(np.full(y.size, x[0]), y)[0]
    col = place.locate(x, np.full(x.size, y[0]))[1]
    west, _, east, _ = place.edges_at(np.zeros_like(col), col)
    _, south, _, north = place.edges_at(row, np.zeros_like(row))
    for number, at, low, high in ((col, x, west, east), (row, y, south, north)):
        cell = high - low
        # Two units in the last place of a float32, but never so much that the cell is in doubt.
        rounded = np.minimum(2 * np.spacing(np.abs(at).astype(np.float32)), OFF * cell)
        misplaced = np.abs(at - (low + high) / 2) > ALIGNED * cell + rounded
        if misplaced.any() or np.unique(number).size < number.size:
            raise UsageError(
                "The coordinates of the array must be the centres of the grid's columns and "
                "rows, each once; align the array with the grid first.",
                code="coordinates-not-middles",
            )
    return [row, col]


def _numbers(labels: Sequence[str], texts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each label; UsageError for an unknown one."""
    once, back = np.unique(texts.astype(str), return_inverse=True)
    positions = {label: number for number, label in enumerate(labels)}
    position_of = np.array([positions.get(text, -1) for text in once.tolist()], np.int64)
    numbers = position_of[back.reshape(-1)]
    if (numbers < 0).any():
        raise UsageError(
            "A label of the array is not one of the grid's attribute; rename it, or leave the "
            "others out: array.sel(...).",
            code="array-label-unknown",
        )
    return numbers


def count_raster(reader: RasterOptions, paths: TableSource) -> CountTable:
    """Read the pixels of the one raster, or the numbers of the array."""
    progress.begin("Reading")
    tally = Tally(
        reader.grid,
        reader.outside,
        "error",
        rounding=reader.rounding,
        memory=reader.memory,
        scratch=reader.scratch,
    )
    rounded = None if reader.rounding is None else rounder(reader.rounding, reader.secret)
    # An array keeps its coordinates and attributes, and needs neither a file nor windows.
    add = _add_array if isinstance(paths, LabelledArray) else _add_file
    add(reader, paths, tally, rounded)
    return tally.table()


def _add_array(reader: RasterOptions, array: Any, tally: Tally, rounded: Rounder | None) -> None:
    """Count the numbers of an array in memory."""
    if reader.band is not None or reader.member is not None:
        raise UsageError(
            "An array has no bands and no members: choose a part of it first.",
            code="array-has-no-bands",
        )
    axes = (reader.x, reader.y)
    aligned = align_array(array, reader.grid, axes, unit=reader.value_unit, missing=reader.missing)
    lines = Lines(aligned.name, aligned.width, aligned.facts)
    tally.survey.note(aligned.name, aligned.facts)
    name = None if array.name is None else aligned.name
    tally.survey.state(describe_facts("array", aligned.facts, name, aligned.places, aligned.labels))
    # Every valid number counts as read, including zeros.
    tally.survey.take(aligned.name, aligned.valid, {}, aligned.valid)
    rows = RowPositions(lines, 0, aligned.position)
    _add(tally, rows, aligned.index, aligned.values, aligned.stored, rounded)


def _add_file(reader: RasterOptions, paths: Any, tally: Tally, rounded: Rounder | None) -> None:
    """Count the pixels of the one file."""
    if reader.x is not None or reader.y is not None:
        raise UsageError(
            "x= and y= name dimensions of an array in memory; a file has its own.",
            code="dimensions-of-file",
        )
    place = reader.grid.require_plain_map("A raster needs a grid of one map without attributes.")
    # Downloads and unpacked members must outlive the loop over windows that reads them.
    with ExitStack() as held:
        fetched = held.enter_context(fetch_urls(paths, reader.scratch))
        (path, *others) = list_paths(fetched)
        # Two rasters could count the same people, and their overlap is not checked.
        if others:
            raise UsageError("Give one raster at a time.", code="raster-several")
        here = held.enter_context(unpack(path, reader.scratch, reader.member))
        for part in align_blocks(
            here, place, reader.band, unit=reader.value_unit, missing=reader.missing
        ):
            values, stored = part.values, part.stored
            pixels = int(np.count_nonzero(part.valid))
            tally.survey.note(part.lines.name, part.lines.facts)
            tally.survey.state(describe_facts("raster", part.lines.facts))
            tally.survey.take(part.lines.name, pixels, {}, pixels)
            row, col = np.nonzero(part.valid & stored.nonzero(values))
            rows = RowPositions(
                part.lines, part.first, np.ravel_multi_index((row, col), values.shape)
            )
            index = np.stack([part.rows[row], part.cols[col]])
            _add(tally, rows, index, values[row, col], stored, rounded)


def _add(
    tally: Tally,
    rows: RowPositions,
    index: NDArray[np.int64],
    values: NDArray[Any],
    stored: Stored,
    rounded: Rounder | None,
) -> None:
    """Add numbers to the counts of their cells."""
    with rows.named():
        count = (
            stored.counts(values) if rounded is None else rounded(index, stored.fractions(values))
        )
    tally.add(rows, index, count)
