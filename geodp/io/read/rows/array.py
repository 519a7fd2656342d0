"""An array of xarray: where its numbers lie on a grid, and what it says beside them.

That is packing, missing values, unit and CRS. ``attrs`` hold what is still to be applied,
``encoding`` what was applied when a file was opened: so xarray and rioxarray keep them. xarray is
not imported: the array is asked for what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.crs import same_plane
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice, whole_turn
from geodp.table.source import ARRAY_IN_MEMORY, Fact
from geodp.table.stored import (
    Stored,
    describe_stored,
    exact,
    read_stored,
    require_counts,
    signed_as,
)

ALIGNED, OFF = 1e-3, 0.25
"""How far, in cells, a middle may be off, and how far where it was rounded to single precision, as
degrees often are."""

AXES = {
    "x": ("x", "lon", "longitude", "easting", "projection_x_coordinate"),
    "y": ("y", "lat", "latitude", "northing", "projection_y_coordinate"),
}
"""What the dimensions of columns and rows are called, by their names or ``standard_name``."""

DATASET = Rule(
    "array-is-dataset",
    "A Dataset holds arrays by their names; give one of them: dataset['population'].",
)

PACKED = ("scale_factor", "add_offset")
NAMES = ("spatial_ref", "crs")
"""Coordinates that hold a CRS where nothing names one."""


@dataclass(frozen=True, eq=False)
class ArrayPixels:
    """The numbers of an array, and the cells of a grid that they are of; its repr shows nothing.

    Attributes
    ----------
    name : str
        What errors call it.
    width : int
        Numbers of a line.
    places : mapping of str to str
        Dimensions of columns and rows; ``labels``: those of attributes.
    index : int64[d, n]
        Cells of the numbers that are not 0, possibly outside the domain.
    position : int64[n]
        Which of all numbers, from 0, each of them is.
    values : ndarray[n]
        As they are stored.
    valid : int
        How many numbers are not missing.
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
        Of one map.
    axes : (str or None, str or None)
        The dimensions of columns and rows. Default: as they are usually called.
    unit : float, optional
        Value of one person, after scale and offset. Default: 1.
    missing : sequence of float
        Numbers that mean nobody, as the array holds them.

    Raises
    ------
    UsageError
        A Dataset, other dimensions, coordinates that are not the middles of columns and rows, each
        once, another CRS than the grid's, labels that the grid has not, or numbers that are no
        counts.
    """
    if hasattr(array, "data_vars"):
        raise UsageError(DATASET)
    place = grid.require_map("Arrays of x and y need a grid of one map.")
    labels = [attribute.name for attribute in grid.attributes]
    x, y = (given or _find_axis(array, kind) for given, kind in zip(axes, "xy", strict=True))
    names = (*labels, y, x)
    own = ", ".join(map(str, array.dims)) or "none"
    if {*array.dims} != {*names}:
        raise UsageError(
            f"The array must have the dimensions {', '.join(names)}, and has {own}; x= and y= say "
            "which are columns and rows.",
            code="array-dimensions-differ",
        )
    if not {*names} <= {*array.coords}:
        raise UsageError(
            f"The array must have coordinates of {own}: middles of columns and rows, and labels.",
            code="array-without-coordinates",
        )
    require_plane(array, place.crs)
    dense = numbers_of(array, names)
    stored = read_array(array, dense.dtype, unit, missing)
    rows = _rows_and_columns(place, *(_floats(array.coords[one]) for one in (x, y)))
    at = [
        *rows,
        *(_numbers(one.labels, np.asarray(array.coords[one.name])) for one in grid.attributes),
    ]
    valid = stored.present(dense)
    held = np.nonzero(valid & stored.nonzero(dense))
    turned = (*held[len(labels) :], *held[: len(labels)])
    return ArrayPixels(
        str(array.name or "xarray.DataArray"),
        dense.shape[-1],
        {"x": x, "y": y},
        {one: one for one in labels},
        np.array([axis[one] for axis, one in zip(at, turned, strict=True)], np.int64),
        np.ravel_multi_index(held, dense.shape) if dense.size else np.empty(0, np.int64),
        dense[held],
        int(np.count_nonzero(valid)),
        stored,
        tuple(describe_array(array, stored, dense.dtype, unit, missing)),
    )


def _find_axis(array: Any, kind: str) -> str:
    """Return the dimension of columns or rows; the letter itself where none is called like it."""
    for one in array.dims:
        said = array.coords[one].attrs if one in array.coords else {}
        if {str(one).lower(), str(said.get("standard_name"))} & {*AXES[kind]}:
            return str(one)
    return kind


def numbers_of(array: Any, dimensions: Sequence[str]) -> NDArray[Any]:
    """Return an array's numbers in an order of dimensions, in the type that ``_Unsigned`` says.

    UsageError where they are no real numbers.
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
    """Return how an array's numbers of a type mean counts; see :func:`read_stored`.

    UsageError for numbers that are no counts, and for packing that is said twice.
    """
    attributes, applied = dict(array.attrs), dict(array.encoding)
    require_counts(attributes, unit)
    before = [name for name in PACKED if applied.get(name) is not None]
    if before and any(attributes.get(name) is not None for name in PACKED):
        raise UsageError(
            "The array says in attrs that it is still packed and in encoding that it is not "
            f"({before[0]}); delete the one that is wrong.",
            code="array-packed-twice",
        )
    found = read_stored(attributes, dtype, unit=unit, missing=missing)
    if before:
        found = _unpack_limits(found, applied)
    written = applied.get("dtype")
    if dtype.kind == "f" and written is not None and np.dtype(written).kind == "f":
        found = replace(found, digits=np.finfo(np.dtype(written)).nmant + 1)
    return found


def describe_array(
    array: Any,
    stored: Stored,
    dtype: np.dtype[Any],
    unit: float | None,
    missing: Sequence[float],
) -> list[Fact]:
    """Return the facts of an array, as :func:`describe_stored` does."""
    found = [ARRAY_IN_MEMORY]
    found += describe_stored(stored, str(dtype), unit, missing)
    found += [
        Fact(f"{name}, applied before", str(array.encoding[name]), "file")
        for name in (*PACKED, "_FillValue", "missing_value")
        if array.encoding.get(name) is not None
    ]
    if array.attrs.get("units"):
        found.append(Fact("unit", str(array.attrs["units"]), "file"))
    return found


def require_plane(array: Any, wanted: str | None) -> None:
    """Raise UsageError where an array states another CRS than a grid's.

    One that states none is taken by its coordinates, which are those of the grid.
    """
    for written in _crs_of(array):
        if not same_plane(written, wanted):
            raise UsageError(
                f"The array is in another CRS than the grid ({wanted}), or in none that is known; "
                "choose a grid in its CRS, as warping makes counts of fractions.",
                code="array-crs-differs",
            )


def _unpack_limits(stored: Stored, applied: dict[str, Any]) -> Stored:
    """Return limits of valid values, which files state of packed numbers, of unpacked ones."""
    scale = exact(np.asarray(applied.get("scale_factor", 1)).item())
    offset = exact(np.asarray(applied.get("add_offset", 0)).item())
    limits = [
        None if one is None else exact(one) * scale + offset for one in (stored.low, stored.high)
    ]
    if scale < 0:
        limits.reverse()
    room = abs(scale) / Fraction(4)  # unpacking rounds, and the next packed number is a scale away
    low, high = limits
    return replace(
        stored,
        low=None if low is None else float(low - room),
        high=None if high is None else float(high + room),
    )


def _crs_of(array: Any) -> Iterator[Any]:
    """Yield every CRS that an array states: of its grid mapping, its attribute, its accessor."""
    named = array.attrs.get("grid_mapping") or array.encoding.get("grid_mapping")
    name = str(named or "").split(":")[0].strip()
    if name and name not in array.coords:
        raise UsageError(
            f"The array names its CRS ({name}) and does not hold it; open the file with "
            "decode_coords='all', or delete the attribute grid_mapping.",
            code="array-crs-not-held",
        )
    for one in {name, *NAMES} & {*array.coords}:
        attributes = array.coords[one].attrs
        text = attributes.get("crs_wkt") or attributes.get("spatial_ref")
        if text or "grid_mapping_name" in attributes:
            yield text or dict(attributes)
        turned = str(attributes.get("GeoTransform", "")).split()
        if len(turned) == 6 and any(turned[number].strip("-+0.e") for number in (2, 4)):
            raise UsageError(
                "The array is rotated (GeoTransform), so that its cells are not those of a grid.",
                code="array-rotated",
            )
    for stated in (array.attrs.get("crs"), getattr(getattr(array, "rio", None), "crs", None)):
        if stated is not None:
            yield stated.to_wkt() if hasattr(stated, "to_wkt") else str(stated)


def _floats(column: Any) -> NDArray[np.float64]:
    """Return coordinates; UsageError, which quotes none, where they are no numbers."""
    try:
        return np.asarray(column, np.float64)
    except (TypeError, ValueError):
        pass  # its words quote what it failed on
    raise UsageError("Coordinates are numbers.", code="coordinates-not-numbers")


def _rows_and_columns(
    place: Lattice, x: NDArray[np.float64], y: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Return the row of each y and the column of each x: int64[n] and int64[m].

    UsageError where they are not the middles of rows and columns, each once: those of another grid,
    or of edges or corners, would move people by half a cell.
    """
    turn = None if place.crs is None else whole_turn(place.crs)
    if turn is not None:
        bounds = place.bounds
        x = x - turn * np.round((x - (bounds[0] + bounds[2]) / 2) / turn)
    if not x.size or not y.size:
        return [np.empty(y.size, np.int64), np.empty(x.size, np.int64)]
    row = place.locate(np.full(y.size, x[0]), y)[0]
    col = place.locate(x, np.full(x.size, y[0]))[1]
    west, _, east, _ = place.edges_at(np.zeros_like(col), col)
    _, south, _, north = place.edges_at(row, np.zeros_like(row))
    for number, at, low, high in ((col, x, west, east), (row, y, south, north)):
        cell = high - low
        rounded = np.minimum(2 * np.spacing(np.abs(at).astype(np.float32)), OFF * cell)
        away = np.abs(at - (low + high) / 2) > ALIGNED * cell + rounded
        if away.any() or np.unique(number).size < number.size:
            raise UsageError(
                "The coordinates of the array must be the middles of the grid's columns and rows, "
                "each once; bring the array onto the grid first.",
                code="coordinates-not-middles",
            )
    return [row, col]


def _numbers(labels: Sequence[str], found: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of each label; CodeError at the first that is unknown."""
    once, back = np.unique(found.astype(str), return_inverse=True)
    known = {label: number for number, label in enumerate(labels)}
    numbers = np.array([known.get(text, -1) for text in once.tolist()], np.int64)[back.reshape(-1)]
    if (numbers < 0).any():
        raise UsageError(
            "A label of the array is none of the grid's attribute; name them alike, or leave out "
            "the others: array.sel(...).",
            code="array-label-unknown",
        )
    return numbers
