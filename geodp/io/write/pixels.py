"""A released map by windows of raster rows, for writing and verifying rasters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import fsum, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.memory import fit
from geodp.io.write import tables
from geodp.io.write.tables import Intervals
from geodp.kernels.raster import find_empty, spread
from geodp.table.counts import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray

BLOCK = 512
"""Side of a tile, and height of the window that is held in memory."""

WIDE = 8 * BLOCK
"""Largest number of columns of such a window: memory does not grow with the width of the map."""

PIXEL_BYTES = 100
"""Bytes for each pixel of a window whose intervals are computed."""


NOWHERE = np.empty(0, np.int64)


class Pixels:
    """A released table by windows of ``BLOCK`` raster rows; row 0 is the northernmost.

    Cells are not stored: windows side by side decode the chunks of the table that touch them,
    of which there are few in an order of compact areas, and hold their cells until the next strip.

    Parameters
    ----------
    table : ReleasedTable
        Table on a grid that has a raster.
    values : float64[n], optional
        Other numbers of its cells, in place of the counts.

    Attributes
    ----------
    decoded : int
        Number of cells decoded so far.
    """

    def __init__(self, table: ReleasedTable, values: FloatArray | None = None) -> None:
        self._table = table
        self._values = table.count if values is None else values
        self._place = table.grid.places[0]
        strips = -(-self._place.rows // BLOCK)
        self._parts: list[tuple[slice, NDArray[np.bool_]]] = []
        self.decoded = 0
        for start in range(0, table.key.size, tables.ROW_GROUP):
            part = slice(start, start + tables.ROW_GROUP)
            index = table.grid.decode(table.key[part])
            rows = raster_rows(self._place, index[0]) // BLOCK
            self._parts.append((part, np.bincount(rows, minlength=strips) > 0))
            self.decoded += rows.size
        self._strip = -1
        self._held: list[Any] = []

    def dense(self, window: Window, band: int, out: FloatArray) -> None:
        """Add the counts of a window's band to ``out`` (float64[rows, cols]), in place."""
        row, col, count = self.cells(window, band)
        out[row, col] += count

    def cells(self, window: Window, band: int) -> tuple[IntArray, IntArray, CountArray]:
        """Return rows and columns in a window, and counts, of the n cells of its band."""
        strip = window.row_off // BLOCK
        # Windows of one strip come one after the other, for each band: its cells are decoded once.
        if strip != self._strip:
            parts = [self._cells(strip, part) for part, touched in self._parts if touched[strip]]
            self._held = [np.concatenate(one) for one in zip(*parts, strict=True)]
            self._strip = strip
        if not self._held:
            return NOWHERE, NOWHERE, self._values[:0]
        row, col, bands, count = self._held
        across = col - window.col_off
        chosen = (bands == band) & (across >= 0) & (across < window.width)
        return row[chosen], across[chosen], count[chosen]

    def _cells(self, strip: int, part: slice) -> tuple[IntArray, IntArray, Any, CountArray]:
        """Return rows in the strip, columns, bands and counts of a chunk's cells that lie in it."""
        grid = self._table.grid
        index = grid.decode(self._table.key[part])
        self.decoded += index.shape[1]
        row = raster_rows(self._place, index[0]) - strip * BLOCK
        here = (row >= 0) & (row < BLOCK)
        index = index[:, here]
        band = np.zeros(index.shape[1], np.int64)
        for attribute, axis in zip(grid.attributes, index[2:], strict=True):
            band = band * len(attribute.labels) + axis
        return row[here], index[1], band, self._values[part][here]


class Moments:
    """Statistics of a band in GDAL's sense, accumulated over pixels.

    They are summed by tiles, whose sums are added exactly: windows of any width give the same
    result.
    """

    def __init__(self) -> None:
        self._n, self._smallest, self._largest = 0, np.inf, -np.inf
        self._about = 0.0
        self._sums: list[float] = []
        self._squares: list[float] = []

    def add(self, values: NDArray[Any]) -> None:
        """Add pixels, float32 or float64[rows, cols]; NaN is ignored."""
        for left in range(0, values.shape[1], BLOCK):
            self._add_tile(values[:, left : left + BLOCK])

    def _add_tile(self, values: NDArray[Any]) -> None:
        smallest = float(values.min())
        if np.isnan(smallest):
            values = values[~np.isnan(values)]
            if not values.size:
                return
            smallest = float(values.min())
        # Values are summed relative to the first one, so that a small variance survives a large
        # mean.
        if not self._n:
            self._about = float(values.flat[0])
        largest = float(values.max())
        self._n += values.size
        self._smallest, self._largest = min(self._smallest, smallest), max(self._largest, largest)
        # A shortcut for constant tiles: errors, and counts of uninhabited areas.
        if smallest == largest:
            off_by = smallest - self._about
            self._sums.append(values.size * off_by)
            self._squares.append(values.size * off_by * off_by)
            return
        off = np.subtract(values, self._about, dtype=np.float64)
        self._sums.append(float(off.sum()))
        self._squares.append(float(np.multiply(off, off, out=off).sum()))

    def tags(self, pixels: int) -> dict[str, str]:
        """Return metadata of a band of ``pixels``; none unless all values are finite."""
        if not self._n or not np.isfinite([self._smallest, self._largest]).all():
            return {}
        mean = fsum(self._sums) / self._n
        # Rounding can make the difference slightly negative for constant bands.
        deviation = max(fsum(self._squares) / self._n - mean * mean, 0.0) ** 0.5
        return {
            "STATISTICS_MINIMUM": f"{self._smallest:.14g}",
            "STATISTICS_MAXIMUM": f"{self._largest:.14g}",
            "STATISTICS_MEAN": f"{self._about + mean:.14g}",
            "STATISTICS_STDDEV": f"{deviation:.14g}",
            "STATISTICS_VALID_PERCENT": f"{100 * self._n / pixels:.4g}",
        }


def raster_rows(place: Lattice, row: IntArray) -> IntArray:
    """Convert index rows (int64[n]) to rows counted from the north, and back."""
    return place.rows - 1 - row if place.northwards else row


def windows(place: Lattice, widest: int | None = None) -> Iterator[Window]:
    """Yield the windows of ``BLOCK`` rows and up to ``WIDE`` columns, from the north and west.

    If memory is limited, there are fewer columns, in complete tiles. ``widest``: another limit.
    """
    wide = fit(widest or WIDE, BLOCK * PIXEL_BYTES, BLOCK)
    for top in range(0, place.rows, BLOCK):
        for left in range(0, place.cols, wide):
            height, width = min(BLOCK, place.rows - top), min(wide, place.cols - left)
            yield Window(left, top, width, height)


def background(grid: Grid, window: Window) -> FloatArray:
    """Return 0 inside the domain and NaN outside: float64[rows, cols] of a window."""
    place = grid.places[0]
    values = np.zeros((window.height, window.width))
    if grid.domain.is_box:
        return values
    # The test of membership needs several numbers for each cell: blocks of columns bound them.
    row = raster_rows(place, np.arange(window.height) + window.row_off)
    for left in range(0, window.width, 4 * BLOCK):
        piece = values[:, left : left + 4 * BLOCK]
        col = np.arange(piece.shape[1]) + left + window.col_off
        piece[~grid.domain.contains_lattice(row, col)] = np.nan
    return values


class Backgrounds:
    """Backgrounds of the windows of a grid, for bands that come one after the other.

    Which cells lie outside the domain is found once for each window, and kept in a bit for each.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._outside: dict[Window, NDArray[np.uint8]] = {}

    def of(self, window: Window) -> FloatArray:
        """Return 0 inside the domain and NaN outside: float64[rows, cols] of a window."""
        if self._grid.domain.is_box:
            return background(self._grid, window)
        values = np.zeros((window.height, window.width))
        values[self._find_outside(window)] = np.nan
        return values

    @cached_property
    def inside(self) -> tuple[Window, ...]:
        """Windows that have cells of the domain; in a masked one they are single tiles."""
        place = self._grid.places[0]
        if self._grid.domain.is_box:
            return (*windows(place),)
        return tuple(one for one in windows(place, BLOCK) if not self._find_outside(one).all())

    def _find_outside(self, window: Window) -> NDArray[np.bool_]:
        """Return which cells of a window are not in the domain: bool[rows, cols]."""
        shape = window.height, window.width
        if window not in self._outside:
            outside = np.isnan(background(self._grid, window))
            self._outside[window] = np.packbits(outside)
        bits = np.unpackbits(self._outside[window], count=prod(shape))
        return bits.view(np.bool_).reshape(shape)


def ends_in(
    grid: Grid, counts: FloatArray, window: Window, band: int, intervals: Intervals
) -> tuple[FloatArray, FloatArray]:
    """Compute intervals of the cells in a window: float64[rows, cols] each, NaN outside the domain.

    Parameters
    ----------
    grid : Grid
    counts : float64[rows, cols]
        Released counts, NaN outside the domain.
    window : Window
    band : int
        Number of the combination of attributes.
    intervals : Intervals
    """
    row = raster_rows(grid.places[0], np.arange(window.height) + window.row_off)
    col = np.arange(window.width) + window.col_off
    high, wide = _block_shape(grid, intervals.alike)
    down, right = np.abs(row // high - row[0] // high), col // wide - col[0] // wide
    # Cells released as 0 share an interval within a block, so that one empty cell stands for all.
    stands = np.full((int(down[-1]) + 1, int(right[-1]) + 1), -1)
    find_empty(counts, down, right, stands)
    blocks = np.flatnonzero(stands.reshape(-1) >= 0)
    value = counts.reshape(-1)
    listed = np.flatnonzero((value != 0) & ~np.isnan(value))
    chosen = np.concatenate([stands.reshape(-1)[blocks], listed])
    index = np.empty((len(grid.shape), chosen.size), np.int64)
    index[0], index[1] = row[chosen // window.width], col[chosen % window.width]
    labels = tuple(len(attribute.labels) for attribute in grid.attributes)
    index[2:] = np.reshape(np.unravel_index(band, labels), (-1, 1)) if labels else 0
    ends = []
    for end in intervals.of(grid.encode(index)):
        shared, values = np.full(stands.shape, np.nan), np.empty(counts.shape)
        shared.reshape(-1)[blocks] = end[: blocks.size]
        spread(counts, down, right, shared, end[blocks.size :], values)
        ends.append(values)
    return ends[0], ends[1]


def _block_shape(grid: Grid, keys: int) -> tuple[int, int]:
    """Return rows and columns of a block of so many keys; 1 if it is not a block of the map."""
    radices = grid.order.radices
    if keys == 1 or any(grid.order.offset):
        return 1, 1
    digits = next(i for i in range(len(radices)) if prod(radices[i:]) == keys)
    row, col, *_ = grid.order.sides(digits, len(grid.shape)).tolist()
    return row, col
