"""Frame of a map, of cells or of units: its size in pixels, its scale bar, its areas.

All of it is public and depends on the grid alone, so it is computed before any noise is drawn.
Lengths and sizes are exact ratios: a round domain has a round frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.outlines import Outlines
from geodp.io.write.tables import chunks
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray

if TYPE_CHECKING:
    from pyproj import CRS


MAX_BLOCKS = 1600
"""Largest number of blocks along one side; more cells are summed first."""

LONG_SIDE = 1100
"""Pixels up to which the longer side of all maps together is enlarged, by integer factors."""

MAX_SUMMED = 1 << 18
"""Largest number of cells of a pixel that are enumerated."""

SEEN = 1 << 5
"""Number of places where a pixel is searched in a masked domain, and of samples along its side."""

MAX_PIXELS = 4096
"""Largest side in pixels of a map whose cells are much wider than high, or higher than wide."""

POLE = 89
"""Latitude in degrees beyond which a cell is drawn as it would be there."""


@dataclass(frozen=True)
class Frame:
    """One map of a grid, as it is drawn.

    Attributes
    ----------
    place : Lattice
    block : int
        Side of the square blocks that are drawn, in cells: a power of 2, so that blocks are nodes
        of the release.
    size : (int, int)
        Width and height in pixels.
    kilometres : Fraction or None
        Width of a cell at the centre of the map, if the map lies on the Earth.
    """

    place: Lattice
    block: int
    size: tuple[int, int]
    kilometres: Fraction | None

    @classmethod
    def of(cls, grid: Grid, number: int) -> Frame:
        """Build the frame of a grid's map; units with outlines are drawn one by one."""
        place = grid.places[number]
        max_blocks = 0 if grid.outlines is None else place.cols
        return cls.of_place(place, grid.maps.share(LONG_SIDE), max_blocks)

    @classmethod
    def of_place(cls, place: Lattice, side: Fraction, max_blocks: int = 0) -> Frame:
        """Build the frame of a map whose longer side is about ``side`` pixels.

        ``max_blocks``: largest number of blocks along a side; 0: as many as a page has.
        """
        # Blocks are nodes of the release's hierarchy, whose errors the card lists.
        block = 1
        while max(place.rows, place.cols) > block * (max_blocks or MAX_BLOCKS):
            block *= 2
        width, height = cell_size(place)
        high, wide = Fraction(place.rows, block), Fraction(place.cols, block) * width / height
        longest = max(high, wide)
        scale = Fraction(max(1, round(side / longest)))
        scale = min(scale, MAX_PIXELS / longest)
        kilometres = None if place.crs is None or place.transform is None else width
        return cls(place, block, (_pixels(wide * scale), _pixels(high * scale)), kilometres)

    @property
    def units(self) -> int | None:
        """Number of units with outlines; None for cells."""
        return None

    @property
    def blocks(self) -> tuple[int, int]:
        """Rows and columns of blocks; the last ones may be cut."""
        return -(-self.place.rows // self.block), -(-self.place.cols // self.block)

    def scale_bar(self, limit: int) -> tuple[Fraction, Fraction] | None:
        """Return length in kilometres, and in pixels, of a bar of at most ``limit`` pixels.

        None if the map has no place on the Earth.

        Examples
        --------
        >>> grid = Grid.regular((50, 50), crs="EPSG:3035", transform=(10000, 0, 0, 0, 10000, 0))
        >>> Frame.of(grid, 0).scale_bar(220)
        (Fraction(100, 1), Fraction(220, 1))
        """
        if self.kilometres is None:
            return None
        each = self.size[0] / (self.place.cols * self.kilometres)
        length = round_length(min(limit, self.size[0]) / each)
        return length, length * each

    def areas(self) -> NDArray[np.float64]:
        """Compute the areas of blocks, in square kilometres, or in cells if these are unknown.

        Returns
        -------
        float64[rows, cols]
            Blocks at the far edges are cut where the lattice ends.
        """
        return np.outer(*self.lengths())

    def lengths(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factors of the areas: float64[rows] and float64[cols] of blocks."""
        place, block = self.place, self.block
        row = np.append(np.arange(0, place.rows, block), place.rows)
        col = np.append(np.arange(0, place.cols, block), place.cols)
        if place.crs is None or place.transform is None:
            return np.diff(row).astype(np.float64), np.diff(col).astype(np.float64)
        crs = crs_of(place.crs)
        x, south, _, north = place.edges_at(row, col)
        y = south if place.northwards else north
        unit = crs.axis_info[0].unit_conversion_factor
        if not crs.is_geographic:
            return np.abs(np.diff(y)) * unit / 1e3, np.diff(x) * unit / 1e3
        # Snyder (1987), equation 3-12: area between two parallels of the ellipsoid.
        major, flattening = _ellipsoid(crs)
        eccentricity = math.sqrt(flattening * (2 - flattening))
        sine = np.sin(y * unit)
        zone = sine / (1 - (eccentricity * sine) ** 2)
        if eccentricity:
            zone = (zone + np.arctanh(eccentricity * sine) / eccentricity) / 2
        minor = major * (1 - flattening)
        return minor**2 * np.abs(np.diff(zone)), np.diff(x) * unit / 1e6


@dataclass(frozen=True, eq=False)
class Pixel:
    """Cells summed by a pixel: a block of its map, all labels, all cells of another map.

    Attributes
    ----------
    cells : int
        Their number.
    keys : uint64[n] or None
        Their keys in order; None for more than 2**18.
    run : (int, int) or None
        If they are one aligned range of keys: its number, and the number of keys it covers.
    """

    cells: int
    keys: NDArray[np.uint64] | None
    run: tuple[int, int] | None = None

    @classmethod
    def of(cls, grid: Grid, number: int) -> Pixel:
        """Choose a pixel at the centre of the domain, complete if possible, on one of the maps.

        Examples
        --------
        >>> Pixel.of(Grid.regular((24, 20)).pairs(), 0).cells
        480
        >>> Pixel.of(Grid.regular((1 << 20, 1 << 20)), 0).run[1] == 1024**2
        True
        """
        block, order = Frame.of(grid, number).block, grid.order
        places = (2 * number, 2 * number + 1)
        at = _middle(grid, number, block)
        sides = [range(size) for size in grid.shape]
        for axis in places:
            first = int(at[axis]) // block * block
            sides[axis] = range(first, min(first + block, grid.shape[axis]))
        cells = math.prod(map(len, sides))
        if cells <= MAX_SUMMED:
            index = np.array(np.meshgrid(*sides, indexing="ij"), np.int64).reshape(len(sides), -1)
            key = np.sort(grid.encode(index[:, grid.contains(index)]))
            return cls(int(key.size), key)
        if not order.follows_map or any(order.offset):
            return cls(cells, None)  # blocks of the map are not contiguous in key order
        wanted = [block if axis in places else size for axis, size in enumerate(grid.shape)]
        for digits in range(len(order.radices)):
            node_sides = order.sides(digits, len(wanted)).tolist()
            exact = all(node_sides[axis] == block for axis in places)
            if exact and all(side >= size for side, size in zip(node_sides, wanted, strict=True)):
                keys = math.prod(order.radices[digits:])
                return cls(cells, None, (int(order.encode(at[:, None])[0]) // keys, keys))
        return cls(cells, None)


def middles(cells: int, block: int) -> NDArray[np.int64]:
    """Return the cell in the middle of each block along a side of a map: int64[blocks].

    The last block may be cut off before its middle: this is then the last cell.
    """
    return np.minimum(np.arange(-(-cells // block)) * block + block // 2, cells - 1)


def _middle(grid: Grid, number: int, block: int) -> NDArray[np.int64]:
    """Find a cell whose block of the map holds the most cells of the domain: int64[d]."""
    samples = 1 if grid.domain.is_box else SEEN
    parts = np.arange(1, 2 * samples, 2) * grid.size // (2 * samples)
    # Nearest to the centre first, so that argmax, which takes the first maximum, prefers the
    # centre.
    nearest = np.argsort(np.abs(parts - grid.size // 2), kind="stable")
    at = grid.decode(grid.domain.keys_of_ranks(parts[nearest]))
    if samples == 1:
        return at[:, 0]
    side = np.arange(0, block, max(1, block // SEEN))
    within = np.array(np.meshgrid(side, side)).reshape(2, -1)
    held = []
    for cell in at.T:
        index = np.repeat(cell[:, None], within.shape[1], axis=1)
        index[2 * number : 2 * number + 2] += within - index[2 * number : 2 * number + 2] % block
        held.append(int(grid.contains(index).sum()))
    return at[:, int(np.argmax(held))]


def pixel_errors(grid: Grid, error_of: Callable[[Pixel], float | None]) -> list[dict[str, Any]]:
    """Compute the number of cells and the error of a pixel of each map, as plain values.

    Parameters
    ----------
    grid : Grid
    error_of : callable
        Computes the closed-form standard error of a pixel's sum; None if there is none.
    """
    errors = []
    for number, _ in enumerate(grid.places):
        pixel = Pixel.of(grid, number)
        error = error_of(pixel)
        rounded = None if error is None else float(f"{error:.6g}")
        errors.append({"cells": pixel.cells, "standard_error": rounded})
    return errors


def round_length(limit: Fraction) -> Fraction:
    """Return the largest of 1, 2, 5, 10 ... (or 1/2, 1/5, 1/10 ...) up to ``limit``, above 0.

    Examples
    --------
    >>> [str(round_length(Fraction(n))) for n in ("100", "99.9", "0.2", "0.19")]
    ['100', '50', '1/5', '1/10']
    """
    if limit <= 0:
        raise ValueError("a scale bar has no room")
    power = Fraction(1)
    while 10 * power <= limit:
        power *= 10
    while power > limit:
        power /= 10
    return max(step * power for step in (1, 2, 5) if step * power <= limit)


def cell_size(place: Lattice) -> tuple[Fraction, Fraction]:
    """Compute width and height of a central cell of the map: kilometres, or units of the CRS."""
    if place.transform is None:
        return Fraction(1), Fraction(1)
    # By the shortest decimal: 0.1 means a tenth, not the nearest binary fraction.
    wide, high = (Fraction(repr(abs(place.transform[i]))) for i in (0, 4))
    if place.crs is None:
        return wide, high
    crs = crs_of(place.crs)
    unit = crs.axis_info[0].unit_conversion_factor
    if not crs.is_geographic:
        kilometre = Fraction(repr(unit)) / 1000
        return wide * kilometre, high * kilometre
    major, flattening = _ellipsoid(crs)
    squared = flattening * (2 - flattening)
    pole = POLE * math.pi / 180
    middle = min(max((place.bounds[1] + place.bounds[3]) / 2 * unit, -pole), pole)
    curve = 1 - squared * math.sin(middle) ** 2
    along_parallel = Fraction(major * math.cos(middle) / math.sqrt(curve) * unit / 1e3)
    along_meridian = Fraction(major * (1 - squared) / curve**1.5 * unit / 1e3)
    return wide * along_parallel, high * along_meridian


def _pixels(length: Fraction) -> int:
    return max(1, round(length))


def crs_of(crs: str) -> CRS:
    """Parse a CRS with pyproj."""
    from pyproj import CRS

    return CRS.from_user_input(crs)


def _ellipsoid(crs: CRS) -> tuple[float, float]:
    """Return the semi-major axis in metres, and the flattening."""
    ellipsoid = crs.ellipsoid
    if ellipsoid is None:
        return 6_371_000.0, 0.0
    inverse = ellipsoid.inverse_flattening
    return ellipsoid.semi_major_metre, 1 / inverse if inverse else 0.0


MARGIN = 0.01
"""Free space around all units, as a share of the map's longer side."""

FINE = 0.3
"""Tolerance of simplification in pixels; shared borders are simplified once for both units."""

WIDE = 9.0
"""Average side of a unit in pixels above which borders between units are drawn."""

MAX_STRETCH_LATITUDE = 80.0
"""Largest latitude, in degrees, by which a map in degrees is stretched."""


NO_UNIT = Rule(
    "map-bounds-without-unit", "The bounds hold no unit of the map, which has the bounds {}."
)


@dataclass(frozen=True, eq=False)
class UnitFrame(Frame):
    """Units for drawing; ``place`` has a cell for each pixel, in the CRS of the outlines.

    Attributes
    ----------
    shapes : object[n]
        Polygons in pixels from the upper left corner, simplified as one coverage.
    area : float64[n]
        Areas of the units in square kilometres.
    """

    shapes: NDArray[Any]
    area: FloatArray

    @classmethod
    def of_units(
        cls,
        outlines: Outlines,
        side: int,
        bounds: tuple[float, float, float, float] | None = None,
    ) -> UnitFrame:
        """Build the frame whose longer side has so many pixels.

        ``bounds``: west, south, east and north of the map, in the CRS of the outlines.

        Raises UsageError for bounds without a unit.
        """
        # Units on both sides of 180 degrees are drawn side by side; given bounds need the original
        # longitudes.
        outlines = outlines if bounds is not None else outlines.drawn
        place = ground_of(outlines, side, bounds)
        shapes = outlines.lay_on(place, FINE)
        if all(shape.is_empty for shape in shapes):
            ends = " ".join(f"{end:.10g}" for end in outlines.bounds)
            raise UsageError(NO_UNIT.format(ends))
        wide = cell_size(place)[0]
        return cls(place, 1, (place.cols, place.rows), wide, shapes, outlines.areas)

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.shapes.size)

    @property
    def blocks(self) -> tuple[int, int]:
        """One row, a column for each unit."""
        return 1, self.units

    def areas(self) -> FloatArray:
        """Area of the units in square kilometres: float64[1, n]."""
        return self.area[None]

    @property
    def has_borders(self) -> bool:
        """Whether units are wide enough for lines between them."""
        wide, high = self.size
        return wide * high > WIDE**2 * self.units

    def number_pixels(self) -> NDArray[np.int64]:
        """Compute the unit of each pixel, -1 outside of all: int64[rows, cols]."""
        from rasterio.features import rasterize

        shapes = [(one, n) for n, one in enumerate(self.shapes) if not one.is_empty]
        numbers = rasterize(shapes, self.size[::-1], fill=-1, dtype="int32")
        return np.asarray(numbers, np.int64)


def ground_of(
    outlines: Outlines, side: int, bounds: tuple[float, float, float, float] | None = None
) -> Lattice:
    """Build a lattice over units, or over bounds, with square cells, ``side`` on the longer side.

    In degrees, a cell is square at the centre of the map.
    """
    west, south, east, north = outlines.bounds if bounds is None else bounds
    stretch = 1.0
    if crs_of(outlines.crs).is_geographic:
        # Near the poles the cosine vanishes, and the map would become infinitely wide.
        middle = min(abs(south + north) / 2, MAX_STRETCH_LATITUDE)
        stretch = float(np.cos(np.radians(middle)))
    free = 0.0 if bounds is not None else MARGIN * max((east - west) * stretch, north - south)
    west, east = west - free / stretch, east + free / stretch
    south, north = south - free, north + free
    wide, high = (east - west) * stretch, north - south
    step = max(wide, high) / side
    cols, rows = max(1, round(wide / step)), max(1, round(high / step))
    transform = ((east - west) / cols, 0.0, west, 0.0, -(north - south) / rows, north)
    return Lattice(rows, cols, crs=outlines.crs, transform=transform)


def count_units(table: ReleasedTable) -> FloatArray:
    """Sum the counts of units over all labels: float64[n]."""
    total = np.zeros(table.grid.places[0].cols)
    for _, index, count in chunks(table):
        total += np.bincount(index[1], count, total.size)
    return total
