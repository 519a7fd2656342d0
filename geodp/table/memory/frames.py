"""Confidential counts from what people have in memory: pandas, geopandas, xarray.

Nothing of these libraries is imported: their frames and arrays are asked for what they hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.units import has_units, index_of_units

if TYPE_CHECKING:
    from geodp.grid.lattice import Lattice

Outside = Literal["error", "drop"]

NEAR = 1e-3
"""How far, in cells, the sides of an outline may lie from those of its cell."""


OFF = 0.25
"""How far, in cells, a middle may be off: float32 degrees are, and an edge is 0.5."""


class FromFrames:
    """Front doors of :class:`geodp.CountTable` for those who live in pandas."""

    if TYPE_CHECKING:

        @classmethod
        def from_keys(cls, grid: Grid, key: ArrayLike, count: ArrayLike) -> Self:
            """As :class:`geodp.table.counts.CountTable` has it."""

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        grid: Grid,
        *,
        code: str | tuple[str, str] | None = None,
        x: str | tuple[str, str] | None = None,
        y: str | tuple[str, str] | None = None,
        value: str | None = None,
        columns: Mapping[str, str] | None = None,
        outside: Outside = "error",
    ) -> Self:
        """Return a table from a ``pandas.DataFrame``: of cells with counts, or of records.

        Parameters
        ----------
        frame : pandas.DataFrame
            Of polars or whatever else gives its columns by name, too.
        grid : Grid
        code : str, optional
            Column of published codes, text or whole numbers, which may be floats; of pairs, two
            columns.
        x, y : str, optional
            Instead: columns of coordinates in the grid's CRS; of pairs, two each.
        value : str, optional
            Column of counts. Default: every row is one record, and counts 1.
        columns : mapping, optional
            By attribute: the column of its labels. Default: that of its name.
        outside : {"error", "drop"}
            For rows outside the domain.

        Raises
        ------
        UsageError
            A column that is not there, or neither codes nor coordinates.
        CodeError
            A row that has no cell, or whose count is negative, fractional or missing; its message
            says which row, and shows no value.

        Notes
        -----
        Rows of one cell are summed. Nothing tells what one person adds, so :func:`geodp.publish`
        asks for a contribution.

        Examples
        --------
        >>> import pandas as pd, geodp
        >>> frame = pd.DataFrame({"mesh": ["53394611", "53394612"], "residents": [812, 40]})
        >>> grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
        >>> table = geodp.CountTable.from_pandas(frame, grid, code="mesh", value="residents")
        >>> int(table.count.sum())
        852
        """
        if (code is None) == (x is None or y is None):
            raise UsageError("Give code=, or x= and y=: where each row lies.")
        index: list[NDArray[np.int64]] = []
        units = has_units(grid)
        for number, place in enumerate(grid.places):
            if code is not None:
                codes = np.asarray(_column(frame, _nth(code, number)))
                index.extend(index_of_units(grid, codes) if units else place.parse(codes))
            else:
                at = (_floats(_column(frame, _nth(axis, number))) for axis in (x, y))
                index += place.locate(*at)
        index += _labels(frame, grid, columns or {})
        count = None if value is None else _column(frame, value)
        return cls._from_rows(grid, np.array(index, np.int64), count, outside)

    @classmethod
    def from_geopandas(
        cls,
        frame: Any,
        grid: Grid,
        *,
        value: str | None = None,
        columns: Mapping[str, str] | None = None,
        outside: Outside = "error",
    ) -> Self:
        """Return a table from a ``geopandas.GeoDataFrame`` of points or of outlines of cells.

        Parameters are those of :meth:`from_pandas`. Points count in the cell that holds them;
        an outline must be a rectangle with the sides of a cell.

        Raises
        ------
        UsageError
            A frame in another CRS than the grid, or without one.
        CodeError
            As :meth:`from_pandas`; also for a geometry that is neither a point nor a cell.
        """
        if len(grid.places) != 1:
            raise UsageError("Geometries need a grid of one map.")
        place = grid.places[0]
        if not hasattr(frame, "crs"):
            raise UsageError("The frame has no geometries: use from_pandas().")
        require_crs(frame, place.crs)
        shapes = frame.geometry
        kinds, sides = np.asarray(shapes.geom_type), np.asarray(shapes.bounds, float)
        is_point, is_outline = (kinds == name for name in ("Point", "Polygon"))
        _require(is_point | is_outline, "The geometry is no point and no outline of a cell.")
        _require(np.isfinite(sides).all(axis=1), "The geometry is empty.")
        west, south, east, north = sides.T
        row, col = place.locate((west + east) / 2, (south + north) / 2)
        if is_outline.any():
            own = np.array(place.edges_at(row, col)).T
            size = own[:, 2:] - own[:, :2]
            far = np.abs(sides - own).max(axis=1) > NEAR * size.min(axis=1)
            full = np.abs(_areas(shapes) - size.prod(axis=1)) <= 4 * NEAR * size.prod(axis=1)
            _require(is_point | (~far & full), "The geometry is no cell of the grid.")
        index = [row, col, *_labels(frame, grid, columns or {})]
        count = None if value is None else _column(frame, value)
        return cls._from_rows(grid, np.array(index, np.int64), count, outside)

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
        found: Self = cls._from_rows(grid, index[:, inside], count[inside], "error")
        return found

    @classmethod
    def _from_rows(cls, grid: Grid, index: NDArray[np.int64], count: Any, outside: Outside) -> Self:
        """Return the table of rows with their cells, int64[d, n], and perhaps their counts."""
        if outside not in ("error", "drop"):
            raise UsageError("outside is error or drop.")
        inside = grid.contains(index)
        if outside == "error":
            _require(inside, "The row lies outside the domain.")
        counts = np.ones(inside.size, np.int64) if count is None else np.asarray(count)
        key = grid.encode(index[:, inside])
        return cls.from_keys(grid, key, counts[inside])


def _column(frame: Any, name: str) -> Any:
    """Return a column of a frame."""
    if name not in frame.columns:
        raise UsageError(f"The frame has no column {name!r}.")
    column = frame[name]
    return column.to_numpy() if hasattr(column, "to_numpy") else column


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


def _nth(names: Any, number: int) -> str:
    """Return the column of a place: of origin or destination where there are two."""
    several = (names,) if isinstance(names, str) else tuple(names)
    if number >= len(several):
        raise UsageError("A grid of pairs needs two columns: of origins and of destinations.")
    return str(several[number])


def _labels(frame: Any, grid: Grid, columns: Mapping[str, str]) -> list[NDArray[np.int64]]:
    """Return the indices of the grid's attributes, int64[n] each."""
    names = [attribute.name for attribute in grid.attributes]
    if unknown := [name for name in columns if name not in names]:
        raise UsageError(f"The grid has no attribute {unknown[0]!r}.")
    return [
        _numbers(one.labels, np.asarray(_column(frame, columns.get(one.name, one.name))))
        for one in grid.attributes
    ]


def _numbers(labels: Sequence[str], found: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of each label; CodeError at the first that is unknown."""
    once, back = np.unique(found.astype(str), return_inverse=True)
    known = {label: number for number, label in enumerate(labels)}
    numbers = np.array([known.get(text, -1) for text in once.tolist()], np.int64)[back.reshape(-1)]
    _require(numbers >= 0, "The row has an unknown label.")
    return numbers


def require_crs(frame: Any, crs: str | None) -> None:
    """Raise UsageError where a frame is not in a grid's CRS."""
    if crs is None:
        raise UsageError("The grid has no CRS, so nothing says where geometries lie on it.")
    if frame.crs is None:
        raise UsageError(f"The frame has no CRS; say which it is in: frame.set_crs({crs!r}).")
    if not frame.crs.equals(crs, ignore_axis_order=True):
        raise UsageError(f"The frame is in another CRS than the grid: use frame.to_crs({crs!r}).")


def _areas(shapes: Any) -> NDArray[np.float64]:
    """Return the areas of geometries in squares of their CRS's units: float64[n]."""
    import shapely

    return np.asarray(shapely.area(np.asarray(shapes)), np.float64)


def _require(good: NDArray[np.bool_], rule: str) -> None:
    """Raise CodeError at the first row that does not keep a rule."""
    if not good.all():
        raise CodeError(int(good.argmin()), rule)
