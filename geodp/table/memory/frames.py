"""Confidential counts from an array of xarray.

xarray is not imported: the array is asked for what it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid

if TYPE_CHECKING:
    from geodp.grid.lattice import Lattice

OFF = 0.25
"""How far, in cells, a middle may be off: float32 degrees are, and an edge is 0.5."""


class FromFrames:
    """The front door of :class:`geodp.CountTable` for those who live in xarray."""

    if TYPE_CHECKING:

        @classmethod
        def from_keys(cls, grid: Grid, key: ArrayLike, count: ArrayLike) -> Self:
            """As :class:`geodp.table.counts.CountTable` has it."""

    @classmethod
    def from_xarray(cls, array: Any, grid: Grid, *, x: str = "x", y: str = "y") -> Self:
        """Return a table from an ``xarray.DataArray`` of counts of cells.

        Parameters
        ----------
        array : xarray.DataArray
            Over `y`, `x` and the grid's attributes, in any order; whole numbers, which may be
            written as floats. Cells outside the domain may be NaN or 0.
        grid : Grid
            Of one map.
        x, y : str
            Coordinates of the middles of columns and rows, in the grid's CRS, in any order.

        Raises
        ------
        UsageError
            Other dimensions, or coordinates that are not the middles of columns and rows, each
            once.
        CodeError
            Counts outside the domain, or a count that is negative, fractional or missing.
        """
        if len(grid.places) != 1:
            raise UsageError("Arrays of x and y need a grid of one map.")
        names = (y, x, *(attribute.name for attribute in grid.attributes))
        if set(getattr(array, "dims", ())) != set(names) or not {*names} <= {*array.coords}:
            rule = f"The array must have the dimensions {', '.join(names)}, with coordinates."
            raise UsageError(rule)
        dense = np.asarray(array.transpose(*names).values)
        axes = _rows_and_columns(grid.places[0], *(_floats(array.coords[one]) for one in (x, y)))
        for attribute in grid.attributes:
            axes.append(_numbers(attribute.labels, np.asarray(array.coords[attribute.name])))
        held = np.nonzero(dense)  # NaN is not 0
        index = np.array([axis[at] for axis, at in zip(axes, held, strict=True)], np.int64)
        count = dense[held]
        inside = grid.contains(index)
        if dense.dtype.kind == "f":
            inside |= ~np.isnan(count)  # nobody is counted outside the domain
        index = index[:, inside]
        _require(grid.contains(index), "The row lies outside the domain.")
        return cls.from_keys(grid, grid.encode(index), count[inside])


def _floats(column: Any) -> NDArray[np.float64]:
    """Return coordinates; UsageError, which quotes none, where they are no numbers."""
    try:
        return np.asarray(column, np.float64)
    except (TypeError, ValueError):
        pass  # its words quote what it failed on
    raise UsageError("Coordinates are numbers.")


def _rows_and_columns(
    place: Lattice, x: NDArray[np.float64], y: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Return the row of each y and the column of each x: int64[n] and int64[m].

    UsageError where they are not the middles of rows and columns, each once: those of another grid,
    or of edges or corners, would move people by half a cell.
    """
    if not x.size or not y.size:
        return [np.empty(y.size, np.int64), np.empty(x.size, np.int64)]
    row = place.locate(np.full(y.size, x[0]), y)[0]
    col = place.locate(x, np.full(x.size, y[0]))[1]
    west, _, east, _ = place.edges_at(np.zeros_like(col), col)
    _, south, _, north = place.edges_at(row, np.zeros_like(row))
    for number, at, low, high in ((col, x, west, east), (row, y, south, north)):
        away = np.abs(at - (low + high) / 2) > (high - low) * OFF
        if away.any() or np.unique(number).size < number.size:
            raise UsageError(
                "The coordinates of the array must be the middles of the grid's columns and rows, "
                "each once; bring the array onto the grid first."
            )
    return [row, col]


def _numbers(labels: Sequence[str], found: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of each label; CodeError at the first that is unknown."""
    once, back = np.unique(found.astype(str), return_inverse=True)
    known = {label: number for number, label in enumerate(labels)}
    numbers = np.array([known.get(text, -1) for text in once.tolist()], np.int64)[back.reshape(-1)]
    _require(numbers >= 0, "The row has an unknown label.")
    return numbers


def _require(good: NDArray[np.bool_], rule: str) -> None:
    """Raise CodeError at the first row that does not keep a rule."""
    if not good.all():
        raise CodeError(int(good.argmin()), rule)
