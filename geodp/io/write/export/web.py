"""Features of formats for the web: squares of cells in degrees, with their counts and classes.

Counts of larger squares are sums of released counts, so that they are the same wherever they are
computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.grid.crs import open_transformer
from geodp.grid.grid import Grid
from geodp.io.write.frame import Frame
from geodp.io.write.geometry import NOWHERE, has_geometry, why_no_geometry
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import BEGINS, DARK_IS_MANY, classify, name_class
from geodp.io.write.tables import CHUNK, ERROR, six_digits
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.table.display import is_below, show_limit
from geodp.typing import CountArray, FloatArray, IntArray

CLASSES = tuple(name_class(number) for number in range(len(BEGINS) + 1))
"""Names of the classes of counts above 0, in rising order."""

NEGATIVE = "below 0"
"""Name of the class of negative values."""


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
    """

    grid: Grid
    side: int
    row: IntArray
    col: IntArray
    count: CountArray

    @classmethod
    def of(cls, table: ReleasedTable) -> WebSquares:
        """Return the cells of a released table: in key order if it has no attributes."""
        index = table.grid.decode(table.key)
        cells = cls(table.grid, 1, index[0], index[1], table.count)
        return cells if index.shape[0] == 2 else cells.widen(1)

    def part(self, some: slice) -> WebSquares:
        """Return a slice of the squares."""
        return replace(self, row=self.row[some], col=self.col[some], count=self.count[some])

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
        count = np.add.reduceat(self.count[order], first) if first.size else self.count
        nonzero = count != 0
        row, col = np.divmod(number[first][nonzero], cols)
        return WebSquares(self.grid, side, row, col, count[nonzero])

    def edges(self) -> tuple[FloatArray, ...]:
        """Return west, south, east, north in the grid's CRS: float64[n], equal at common edges."""
        place, side = self.grid.places[0], self.side
        first = place.edges_at(self.row * side, self.col * side)
        last = place.edges_at(
            np.minimum((self.row + 1) * side, place.rows) - 1,
            np.minimum((self.col + 1) * side, place.cols) - 1,
        )
        return first[0], np.minimum(first[1], last[1]), last[2], np.maximum(first[3], last[3])

    def classes(self, limit: int | None) -> NDArray[np.str_]:
        """Return the names of the classes of the counts, by density as on all maps: str[n].

        ``limit``: the office's limit of display; counts above 0 and below it are one class.
        """
        high, wide = Frame(self.grid.places[0], self.side, (1, 1), None).lengths()
        density = self.count / (high[self.row] * wide[self.col])
        names = np.array([*CLASSES, NEGATIVE, "" if limit is None else show_limit(limit)])
        number = classify(np.maximum(density, 0)).astype(np.int64)
        number[self.count < 0] = len(CLASSES)
        number[is_below(self.count, limit)] = len(CLASSES) + 1
        return names[number]

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


def list_colours(card: Card) -> list[tuple[str, str]]:
    """List the classes that counts of a release can be in, each with its colour on white."""
    limit = card.display_below
    special = [] if card.mechanism.nonnegative else [(NEGATIVE, BELOW)]
    special += [] if limit is None else [(show_limit(limit), FEW)]
    return [*special, *zip(CLASSES, DARK_IS_MANY, strict=True)]


CLASS, SIDE = ADDED = ("class", "side")
"""Columns after those of the tables: the class on maps, and the number of cells along a side."""

DECIMALS = 7
"""Decimals of degrees: about a centimetre."""

POLE = 85.06
"""Latitude in degrees where Mercator's square ends."""


def why_not_on_web(view: View) -> str | None:
    """Require one map on the Earth, and columns of different names."""
    grid = view.table.grid
    if grid.raster_map is None:
        return "only a grid of one map has squares"
    if not has_geometry(grid) or grid.places[0].crs is None:
        return why_no_geometry(grid) or NOWHERE
    if view.name in ADDED:
        return f"the count is called {view.name}, as another column is"
    return None


def pieces_of(view: View, squares: WebSquares, what: str) -> Iterator[tuple[WebSquares, Any]]:
    """Yield squares in chunks, with their columns as an Arrow table; the first chunk is empty.

    Cells have the columns of the release's tables; sums have a count, and a standard error if
    the card has one. ``what`` labels the progress for the operator.
    """
    if squares.side == 1 and not view.table.grid.attributes:
        for rows in chain([view.empty], view.rows(what)):
            row, col = rows.index
            cells = replace(squares, row=row, col=col, count=rows.count)
            yield cells, _add(rows.columns, cells, view)
        return
    error = None if view.level is not None else squares.standard_error(view.card)
    for start in chain([squares.count.size], range(0, squares.count.size, CHUNK)):
        some = squares.part(slice(start, start + CHUNK))
        columns = pa.table({view.name: some.count})
        if error is not None:
            each = np.broadcast_to(six_digits(np.array([error])), some.count.shape)
            columns = columns.append_column(ERROR, pa.array(each))
        yield some, _add(columns, some, view)


def _add(columns: Any, squares: WebSquares, view: View) -> Any:
    """Append the columns that all squares have."""
    names = squares.classes(view.limit)
    columns = columns.append_column(CLASS, pa.array(names.tolist(), pa.string()))
    return columns.append_column(SIDE, pa.array(np.full(squares.count.size, squares.side)))


def outlines_of(squares: WebSquares) -> NDArray[np.object_]:
    """Compute the outlines of squares in degrees of WGS 84, as RFC 7946 requires.

    Longitudes lie between -180 and 180; a square across 180 degrees is cut in two. Squares with a
    common corner have the same coordinates there.

    Returns
    -------
    object[n]
        Polygons of Shapely, and multipolygons for squares that are cut.
    """
    import shapely

    west, south, east, north = squares.edges()
    x = np.stack([west, east, east, west, west], axis=1)
    y = np.stack([south, south, north, north, south], axis=1)
    across = open_transformer(squares.grid.places[0].crs, "EPSG:4326")
    lon, lat = across.transform(x, y)
    # The transformation wraps longitudes: corners of one square must be on the same side of 180.
    far = lon - lon[:, :1]
    lon = lon - 360 * np.sign(far) * (np.abs(far) > 180)
    middle = (lon.min(axis=1) + lon.max(axis=1)) / 2
    # The centre decides on which side of 180 degrees a square counts.
    lon -= 360 * np.floor((middle + 180) / 360)[:, None]
    shapes = shapely.polygons(np.round(np.stack([lon, lat], axis=-1), DECIMALS))
    for at in np.flatnonzero((lon.min(axis=1) < -180) | (lon.max(axis=1) > 180)):
        shapes[at] = _cut(shapes[at])
    return np.asarray(shapes, object)


def _cut(outline: Any) -> Any:
    """Cut an outline across 180 degrees into its parts on both sides, counter-clockwise."""
    import shapely
    from shapely.affinity import translate
    from shapely.geometry.polygon import orient

    offsets = (-360, 0, 360)
    cut = [shapely.clip_by_rect(outline, offset - 180, -90, offset + 180, 90) for offset in offsets]
    parts = [(part, offset) for part, offset in zip(cut, offsets, strict=True) if part.area]
    return shapely.multipolygons([orient(translate(part, -offset)) for part, offset in parts])
