"""Confidential counts from an array of xarray.

xarray is not imported: the array is asked for what it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import whole_turn
from geodp.table.memory.array import describe_array, numbers_of, read_array, require_plane
from geodp.table.reading import Reading
from geodp.table.source import Source
from geodp.table.stated.reading import describe_facts

if TYPE_CHECKING:
    from geodp.grid.lattice import Lattice

ALIGNED, OFF = 1e-3, 0.25
"""How far, in cells, a middle may be off, and how far where it was rounded to single precision, as
degrees often are."""


class FromFrames:
    """The front door of :class:`geodp.CountTable` for those who live in xarray."""

    if TYPE_CHECKING:

        @classmethod
        def from_keys(
            cls, grid: Grid, key: ArrayLike, count: ArrayLike, *, reading: Reading | None = None
        ) -> Self:
            """As :class:`geodp.table.counts.CountTable` has it."""

    @classmethod
    def from_xarray(
        cls,
        array: Any,
        grid: Grid,
        *,
        x: str = "x",
        y: str = "y",
        unit: float | None = None,
        missing: Sequence[float] = (),
    ) -> Self:
        """Return a table from an ``xarray.DataArray`` of counts of cells.

        What the array says of itself is applied as :func:`geodp.read_raster` applies what a file
        says: ``scale_factor``, ``add_offset``, ``_FillValue``, ``missing_value``, ``valid_range``
        and ``_Unsigned`` in its attributes (what xarray keeps in ``encoding`` was applied when the
        file was opened), its unit, its type and its CRS.

        Parameters
        ----------
        array : xarray.DataArray
            Over `y`, `x` and the grid's attributes, in any order; whole numbers, which may be
            written as floats. NaN is nobody.
        grid : Grid
            Of one map.
        x, y : str
            Coordinates of the middles of columns and rows, in the grid's CRS, in any order;
            longitudes may be whole turns of 360 degrees away.
        unit : float, optional
            Value of one person, after scale and offset. Default: 1.
        missing : sequence of float, optional
            Numbers that mean nobody, as the array holds them.

        Raises
        ------
        UsageError
            Other dimensions, coordinates that are not the middles of columns and rows, each
            once, another CRS than the grid's, or numbers that are no counts.
        CodeError
            Counts outside the domain, or a count that is negative, fractional or too large for a
            floating-point number.
        """
        place = grid.require_map(
            Rule("array-needs-one-map", "Arrays of x and y need a grid of one map.")
        )
        names = (y, x, *(attribute.name for attribute in grid.attributes))
        if set(getattr(array, "dims", ())) != set(names) or not {*names} <= {*array.coords}:
            rule = Rule(
                "array-dimensions",
                f"The array must have the dimensions {', '.join(names)}, with coordinates.",
            )
            raise UsageError(rule)
        require_plane(array, place.crs)
        dense = numbers_of(array, names)
        stored = read_array(array, dense.dtype, unit, missing)
        axes = _rows_and_columns(place, *(_floats(array.coords[one]) for one in (x, y)))
        for attribute in grid.attributes:
            axes.append(_numbers(attribute.labels, np.asarray(array.coords[attribute.name])))
        valid = stored.present(dense)
        held = np.nonzero(valid & stored.nonzero(dense))
        index = np.array([axis[at] for axis, at in zip(axes, held, strict=True)], np.int64)
        count = stored.counts(dense[held])
        _require(
            grid.contains(index), Rule("row-outside-domain", "The row lies outside the domain.")
        )
        pixels, people = int(np.count_nonzero(valid)), sum(count.tolist())
        facts = tuple(describe_array(array, stored, dense.dtype, unit, missing))
        source = Source(
            str(array.name or "array"),
            facts,
            rows=pixels,
            selected=pixels,
            inside=count.size,
            people=people,
        )
        name = None if array.name is None else str(array.name)
        labels = {one: one for one in names[2:]}
        public = describe_facts("array", facts, name, {"x": x, "y": y}, labels)
        read = Reading((source,), public=public)
        return cls.from_keys(grid, grid.encode(index), count, reading=read)


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
    _require(numbers >= 0, Rule("row-label-unknown", "The row has an unknown label."))
    return numbers


def _require(good: NDArray[np.bool_], rule: str) -> None:
    """Raise CodeError at the first row that does not keep a rule."""
    if not good.all():
        raise CodeError(int(good.argmin()), rule)
