"""Map of units with outlines: real polygons, each coloured by its density."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.lattice import Lattice
from geodp.grid.outlines import Outlines
from geodp.io.write.frame import Frame, cell_size, crs_of
from geodp.io.write.tables import chunks
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray

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
