"""Features of formats for the web, in degrees: squares of cells, units or lines, with classes.

Counts of larger squares are sums of released counts, so that they are the same wherever they are
computed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.grid.crs import open_transformer
from geodp.grid.grid import Grid
from geodp.io.numbers import column_of, numbers_of
from geodp.io.write.frame import Frame
from geodp.io.write.geometry import (
    LENGTH,
    NOWHERE,
    geometry_crs,
    has_geometry,
    line_ends,
    measure_lines,
    why_no_geometry,
)
from geodp.io.write.qgis_style import BELOW, EMPTY, FEW, UNSURE
from geodp.io.write.scale import area_of
from geodp.io.write.tables import CHUNK, ERROR, six_digits
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.table.display import is_below, show_limit
from geodp.typing import CountArray, FloatArray, IntArray

NEGATIVE, UNKNOWN, NONE = "below 0", "not known well", "0"
"""Names of the classes of negative values, of numbers whose interval is too long for a class, and
of units whose count is 0."""

CLASS, SIDE = ADDED = ("class", "side")
"""Columns after those of the tables: the class on maps, and the number of cells along a side."""

DECIMALS = 7
"""Decimals of degrees: about a centimetre."""

POLE = 85.06
"""Latitude in degrees where Mercator's square ends."""


class WebLayer(ABC):
    """What a map in a browser shows of a view.

    Attributes
    ----------
    view : View
    """

    view: View

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of features."""

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Plain values on which features there are."""

    @abstractmethod
    def fit(self, limit: int) -> WebLayer:
        """Return a layer of fewer features, if there are more than a limit."""

    @abstractmethod
    def pieces(self, what: str) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Yield features in chunks: columns as an Arrow table, and shapes in degrees, object[n].

        The first chunk is empty. ``what`` labels the progress for the operator.
        """

    def name_classes(self, columns: Any, area: FloatArray | None = None) -> Any:
        """Return the classes of rows by name, as on all maps: an Arrow array.

        Parameters
        ----------
        columns : pyarrow.Table
        area : float64[n], optional
            Areas of the rows in square kilometres, or in cells.
        """
        view, shown = self.view, self.view.shown
        value = np.asarray(numbers_of(columns[shown.column]), np.float64)
        each = value if area is None or not shown.by_area else np.maximum(value / area, 0)
        names = [*shown.classes, NEGATIVE, UNKNOWN, show_limit(view.limit or 0), NONE]
        first, number = len(shown.classes), shown.classify(each)
        if shown.column == view.name:
            number[value < 0] = first
        number[np.isnan(value)] = first + 1
        ends = [f"{shown.column}_low", f"{shown.column}_high"]
        if shown.widest is not None and {*ends} <= {*columns.column_names}:
            low, high = (numbers_of(columns[end]) for end in ends)
            number[high - low > shown.widest] = first + 1
        count = numbers_of(columns[view.name])
        number[is_below(count, view.limit)] = first + 2
        number[count == 0] = first + 3
        return pa.array(np.array(names)[number].tolist(), pa.string())


def find_layer(view: View) -> WebLayer:
    """Build the layer of a view for which `why_not_on_web` is None."""
    if view.table.grid.maps.one is None:
        return WebLines.of(view)
    return WebMap.of(view)


def list_colours(view: View) -> list[tuple[str, str]]:
    """List the classes that rows of a release can be in, each with its colour on white."""
    limit, shown = view.limit, view.shown
    negative = shown.column == view.name and not view.card.mechanism.nonnegative
    special = [] if view.table.grid.outlines is None else [(NONE, EMPTY)]
    special += [(NEGATIVE, BELOW)] if negative else []
    special += [] if shown.widest is None else [(UNKNOWN, UNSURE)]
    special += [] if limit is None else [(show_limit(limit), FEW)]
    return [*special, *zip(shown.classes, shown.colours, strict=True)]


def name_legend(view: View) -> str:
    """Return the title of the legend of a map."""
    grid, shown = view.table.grid, view.shown
    if shown.column != view.name:
        return f"{shown.column}, {shown.unit}"
    if not shown.by_area or grid.maps.one is None:
        return view.counted
    has_area = grid.outlines is not None or area_of(grid.places[0]) is not None
    return f"{view.counted} per {'km²' if has_area else 'cell'}"


def why_not_on_web(view: View) -> str | None:
    """Require cells, units or lines on the Earth, and columns of different names."""
    grid = view.table.grid
    if grid.extents:
        return "only a grid of one map, or of origins and destinations, is on a map"
    if not has_geometry(grid) or geometry_crs(grid) is None:
        return why_no_geometry(grid) or NOWHERE
    if view.name in ADDED:
        return f"the count is called {view.name}, as another column is"
    of_squares = (*view.sums, *(view.ratio or ())[:1])
    if grid.maps.one is not None and grid.outlines is None and view.coloured not in of_squares:
        return f"larger squares have no {view.coloured}"
    return None


@dataclass(frozen=True, eq=False)
class WebSquares:
    """Squares of a map whose count is not 0.

    Attributes
    ----------
    grid : Grid
        Grid of one map.
    side : int
        Number of cells along a side; squares at the far edges end where the map does.
    row, col : int64[n]
        Rows and columns of squares, from 0.
    count : int64[n] or float64[n]
        Exact sums of their cells, over all labels.
    others : mapping of str to int64[n] or float64[n]
        Further columns that are sums of their cells.
    """

    grid: Grid
    side: int
    row: IntArray
    col: IntArray
    count: CountArray
    others: Mapping[str, CountArray] = field(default_factory=dict)

    @classmethod
    def of(cls, table: ReleasedTable, others: Mapping[str, CountArray] | None = None) -> WebSquares:
        """Return the cells of a released table: in key order if it has no attributes."""
        index = table.grid.decode(table.key)
        cells = cls(table.grid, 1, index[0], index[1], table.count, others or {})
        return cells if index.shape[0] == 2 else cells.widen(1)

    def part(self, some: slice) -> WebSquares:
        """Return a slice of the squares."""
        others = {name: column[some] for name, column in self.others.items()}
        row, col, count = self.row[some], self.col[some], self.count[some]
        return replace(self, row=row, col=col, count=count, others=others)

    def widen(self, times: int) -> WebSquares:
        """Return sums over squares with sides ``times`` as long, row by row.

        Examples
        --------
        >>> at = np.array([0, 0, 1, 5])
        >>> cells = WebSquares(Grid.regular((6, 6)), 1, at, at, np.array([1, 2, 3, 4]))
        >>> wide = cells.widen(2)
        >>> wide.side, wide.row.tolist(), wide.count.tolist()
        (2, [0, 2], [6, 4])
        """
        side = self.side * times
        cols = -(-self.grid.places[0].cols // side)
        number = self.row // times * cols + self.col // times
        # A stable order fixes the order of floating-point sums.
        order = np.argsort(number, kind="stable")
        number = number[order]
        first = np.flatnonzero(np.append(True, number[1:] != number[:-1])[: number.size])
        sums = {
            name: np.add.reduceat(column[order], first) if first.size else column
            for name, column in {"": self.count, **self.others}.items()
        }
        nonzero = sums[""] != 0
        row, col = np.divmod(number[first][nonzero], cols)
        count, *others = (column[nonzero] for column in sums.values())
        return WebSquares(
            self.grid, side, row, col, count, dict(zip(self.others, others, strict=True))
        )

    def edges(self) -> tuple[FloatArray, ...]:
        """Return west, south, east, north in the grid's CRS: float64[n], equal at common edges."""
        place, side = self.grid.places[0], self.side
        first = place.edges_at(self.row * side, self.col * side)
        last = place.edges_at(
            np.minimum((self.row + 1) * side, place.rows) - 1,
            np.minimum((self.col + 1) * side, place.cols) - 1,
        )
        return first[0], np.minimum(first[1], last[1]), last[2], np.maximum(first[3], last[3])

    def areas(self) -> FloatArray:
        """Compute areas in square kilometres, or in cells if these are unknown: float64[n]."""
        if self.grid.outlines is not None:
            return self.grid.outlines.areas[self.col]
        high, wide = Frame(self.grid.places[0], self.side, (1, 1), None).lengths()
        return np.asarray(high[self.row] * wide[self.col], np.float64)

    def standard_error(self, card: Card) -> float | None:
        """Return the card's standard error of all such squares; None if it has none.

        It is the largest of any of the squares.
        """
        order, error = self.grid.order, card.expected_error
        # Errors of blocks hold for nodes of the hierarchy, which are squares only in such an order.
        if len(self.grid.shape) > 2 or not order.follows_map or any(order.offset):
            return None
        by_size = {block.cells: block.largest for block in error.blocks or ()}
        return by_size.get(self.side**2)


@dataclass(frozen=True, eq=False)
class WebMap(WebLayer):
    """Cells of a map, squares of them, or units.

    Attributes
    ----------
    view : View
    squares : WebSquares
        Units are the cells of one row.
    """

    view: View
    squares: WebSquares

    @classmethod
    def of(cls, view: View) -> WebMap:
        """Return the cells or units of a view."""
        others = {
            name: np.concatenate(
                [numbers_of(rows.columns[name]) for rows in view.rows("Adding up")]
            )
            for name in view.sums[1:]
        }
        return cls(view, WebSquares.of(view.table, others))

    @property
    def size(self) -> int:
        """Number of squares or units with counts."""
        return int(self.squares.count.size)

    @property
    def has_units(self) -> bool:
        """Whether these are units, of which there are no larger squares."""
        return self.squares.grid.outlines is not None

    @property
    def about(self) -> dict[str, Any]:
        """Number of cells along the side of a square."""
        return {} if self.has_units else {"side": self.squares.side}

    def widen(self, times: int) -> WebMap:
        """Return squares with sides ``times`` as long."""
        return replace(self, squares=self.squares.widen(times))

    def fit(self, limit: int) -> WebMap:
        """Merge squares, doubling their side, until there are at most ``limit``; units stay."""
        layer = self
        # Merging depends on the public number of released cells only.
        while not self.has_units and layer.size > limit:
            layer = layer.widen(2)
        return layer

    def pieces(self, what: str) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Yield cells and units with the columns of tables, and larger squares with sums."""
        for squares, columns in self._pieces(what):
            names = self.name_classes(columns, squares.areas())
            columns = columns.append_column(CLASS, names)
            if not self.has_units:
                side = np.full(squares.count.size, squares.side)
                columns = columns.append_column(SIDE, pa.array(side))
            yield columns, outlines_of(squares)

    def _pieces(self, what: str) -> Iterator[tuple[WebSquares, Any]]:
        """Yield chunks of squares and their columns.

        Sums have a ratio, and a standard error if the card has one.
        """
        view, squares = self.view, self.squares
        if squares.side == 1 and not view.table.grid.attributes:
            for rows in chain([view.empty], view.rows_of_units(what)):
                row, col = rows.index
                yield replace(squares, row=row, col=col, count=rows.count, others={}), rows.columns
            return
        alone = view.level is None and view.counts_alone and not self.has_units
        error = squares.standard_error(view.card) if alone else None
        for start in chain([squares.count.size], range(0, squares.count.size, CHUNK)):
            some = squares.part(slice(start, start + CHUNK))
            columns = pa.table({view.name: some.count, **some.others})
            if view.ratio is not None:
                name, *parts = view.ratio
                top, bottom = (np.asarray(numbers_of(columns[one]), np.float64) for one in parts)
                quotient = np.full(bottom.size, np.nan)
                np.divide(top, bottom, out=quotient, where=bottom > 0)
                known = np.ma.masked_invalid(six_digits(quotient))
                columns = columns.append_column(name, column_of(known))
            if error is not None:
                each = np.broadcast_to(six_digits(np.array([error])), some.count.shape)
                columns = columns.append_column(ERROR, pa.array(each))
            yield some, columns


@dataclass(frozen=True, eq=False)
class WebLines(WebLayer):
    """Lines from origins to destinations that lie somewhere, the largest last.

    Attributes
    ----------
    view : View
    row : int64[n]
        Their rows in the table; of a release by label, the first row of each pair.
    count : int64[n] or float64[n]
        Over all labels.
    all : int
        Number of lines of the view.
    """

    view: View
    row: IntArray
    count: CountArray
    all: int

    @classmethod
    def of(cls, view: View) -> WebLines:
        """Return all lines of a view."""
        grid, count = view.table.grid, view.table.count
        index = grid.decode(view.table.key)
        row = np.arange(count.size)
        if grid.attributes:
            pair = np.ravel_multi_index(tuple(index[:4]), grid.shape[:4])
            order = np.argsort(pair, kind="stable")
            first = np.flatnonzero(np.diff(pair[order], prepend=-1))
            row = order[first]
            count = np.add.reduceat(count[order], first) if first.size else count
        some = np.isfinite(line_ends(grid, index[:, row])).all(axis=(1, 2)) & (count != 0)
        row, count = row[some], count[some]
        order = np.argsort(count, kind="stable")
        return cls(view, row[order], count[order], row.size)

    @property
    def size(self) -> int:
        """Number of lines."""
        return int(self.row.size)

    @property
    def about(self) -> dict[str, Any]:
        """Numbers of lines here and in the release."""
        return {"lines": self.size, "lines_of_release": self.all}

    def fit(self, limit: int) -> WebLines:
        """Return at most ``limit`` lines, the largest."""
        first = max(self.size - limit, 0)
        return replace(self, row=self.row[first:], count=self.count[first:])

    @cached_property
    def _columns(self) -> Any:
        """The columns of tables; of a release by label the count alone."""
        view = self.view
        if view.table.grid.attributes:
            return pa.table({view.name: self.count})
        wanted, parts, start = np.sort(self.row), [view.empty.columns], 0
        for rows in view.rows("Choosing lines"):
            ends = np.searchsorted(wanted, [start, start + rows.size])
            parts.append(rows.columns.take(pa.array(wanted[slice(*ends)] - start)))
            start += rows.size
        return pa.concat_tables(parts).take(pa.array(np.searchsorted(wanted, self.row)))

    def pieces(self, what: str) -> Iterator[tuple[Any, NDArray[Any]]]:
        """Yield lines with the columns of tables, their length and their class."""
        grid, columns = self.view.table.grid, self._columns
        index = grid.decode(self.view.table.key[self.row])
        if LENGTH not in columns.column_names:
            columns = columns.append_column(LENGTH, column_of(measure_lines(grid, index)))
        columns = columns.append_column(CLASS, self.name_classes(columns))
        shapes = _trace_lines(line_ends(grid, index), str(geometry_crs(grid)))
        for start in chain([self.size], range(0, self.size, CHUNK)):
            yield columns.slice(start, CHUNK), shapes[start : start + CHUNK]


def _trace_lines(ends: FloatArray, crs: str) -> NDArray[Any]:
    """Return lines in degrees from both of their ends, cut in two at 180 degrees: object[n]."""
    import shapely

    across = open_transformer(crs, "EPSG:4326")
    lon, lat = across.transform(ends[..., 0], ends[..., 1])
    lon = _unwrap(lon)
    shapes = shapely.linestrings(np.round(np.stack([lon, lat], axis=-1), DECIMALS))
    return _cut_far(np.atleast_1d(np.asarray(shapes, object)), lon.min(axis=1), lon.max(axis=1))


def _unwrap(lon: FloatArray) -> FloatArray:
    """Put longitudes of each row on one side of 180 degrees; float64[n, k].

    The middle decides on which side of 180 degrees a row counts.
    """
    far = lon - lon[:, :1]
    lon = lon - 360 * np.sign(far) * (np.abs(far) > 180)
    middle = (lon.min(axis=1) + lon.max(axis=1)) / 2
    return np.asarray(lon - 360 * np.floor((middle + 180) / 360)[:, None])


def _cut_far(shapes: NDArray[Any], west: FloatArray, east: FloatArray) -> NDArray[Any]:
    """Cut shapes that reach beyond 180 degrees, in place, and return them."""
    for at in np.flatnonzero((west < -180) | (east > 180)):
        shapes[at] = _cut(shapes[at])
    return shapes


def _trace_units(shapes: NDArray[Any], crs: str) -> NDArray[Any]:
    """Return outlines of units in degrees, cut in two at 180 degrees: object[n]."""
    import shapely

    across = open_transformer(crs, "EPSG:4326")
    parts, unit = shapely.get_parts(shapes, return_index=True)
    traced = shapely.transform(parts, lambda at: np.stack(across.transform(*at.T), axis=1))
    for number, one in enumerate(traced):
        west, _, east, _ = one.bounds
        # A part that the transformation has wrapped: no unit reaches around half of the Earth.
        if east - west > 180:
            traced[number] = shapely.transform(one, lambda at: at + (at[:, :1] < 0) * (360, 0))
    west, _, east, _ = shapely.bounds(traced).T
    rounded = shapely.transform(_cut_far(traced, west, east), lambda at: np.round(at, DECIMALS))
    pieces, part = shapely.get_parts(rounded, return_index=True)
    return np.atleast_1d(shapely.multipolygons(pieces, indices=unit[part]))


def outlines_of(squares: WebSquares) -> NDArray[Any]:
    """Compute the outlines of squares, or of units, in degrees of WGS 84, as RFC 7946 requires.

    Longitudes lie between -180 and 180; a square across 180 degrees is cut in two. Squares with a
    common corner have the same coordinates there.

    Returns
    -------
    object[n]
        Polygons of Shapely, and multipolygons for units and for squares that are cut.
    """
    import shapely

    units = squares.grid.outlines
    if units is not None:
        shapes = units.shapes[squares.col]
        return _trace_units(shapes, units.crs) if shapes.size else shapes
    west, south, east, north = squares.edges()
    x = np.stack([west, east, east, west, west], axis=1)
    y = np.stack([south, south, north, north, south], axis=1)
    across = open_transformer(squares.grid.places[0].crs, "EPSG:4326")
    lon, lat = across.transform(x, y)
    # The transformation wraps longitudes: corners of one square must be on the same side of 180.
    lon = _unwrap(lon)
    shapes = shapely.polygons(np.round(np.stack([lon, lat], axis=-1), DECIMALS))
    return _cut_far(np.asarray(shapes, object), lon.min(axis=1), lon.max(axis=1))


def _cut(shape: Any) -> Any:
    """Cut a line, or an outline, across 180 degrees into its parts on both sides.

    Outlines are counter-clockwise.
    """
    import shapely
    from shapely.affinity import translate
    from shapely.geometry.polygon import orient

    offsets = (-360, 0, 360)
    cut = [shapely.clip_by_rect(shape, offset - 180, -90, offset + 180, 90) for offset in offsets]
    moved = [translate(part, -offset) for part, offset in zip(cut, offsets, strict=True)]
    if shape.geom_type == "LineString":
        return shapely.multilinestrings([part for part in moved if part.length])
    pieces = shapely.get_parts([part for part in moved if part.area])
    return shapely.multipolygons([orient(part) for part in pieces])
