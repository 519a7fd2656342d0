"""The map of units with outlines: real polygons, each coloured by its density."""

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
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray

MARGIN = 0.01
"""Share of the longer side of what is drawn that is left free around all units."""

FINE = 0.3
"""Pixels: outlines are simplified where they turn by less, shared borders once for both units."""

WIDE = 9.0
"""Pixels along a unit's side, on average, above which borders between units are drawn."""

MOST_TURN = 80.0
"""Degrees of latitude beyond which the middle of a map in degrees does not widen it."""


NO_UNIT = Rule(
    "map-bounds-without-unit", "The bounds hold no unit of the map, which has the bounds {}."
)


@dataclass(frozen=True, eq=False)
class UnitFrame(Frame):
    """Units as they are drawn; ``place`` has a cell for each pixel, in the CRS of the outlines.

    Attributes
    ----------
    shapes : object[n]
        Polygons in pixels from the upper left corner, simplified as one coverage.
    area : float64[n]
        Square kilometres of the units.
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
        """Return the frame whose longer side has so many pixels.

        ``bounds``: west, south, east and north of what is drawn, in the CRS of the outlines.

        Raises UsageError for bounds without a unit.
        """
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
        """How many there are."""
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
        """Return the unit that each pixel lies in, -1 outside of all: int64[rows, cols]."""
        from rasterio.features import rasterize

        there = [(one, n) for n, one in enumerate(self.shapes) if not one.is_empty]
        found = rasterize(there, self.size[::-1], fill=-1, dtype="int32")
        return np.asarray(found, np.int64)


def ground_of(
    outlines: Outlines, side: int, bounds: tuple[float, float, float, float] | None = None
) -> Lattice:
    """Return a lattice over units, or over bounds, with so many square cells on the longer side.

    In degrees a cell is square in the middle of the map.
    """
    west, south, east, north = outlines.bounds if bounds is None else bounds
    stretch = 1.0
    if crs_of(outlines.crs).is_geographic:
        middle = min(abs(south + north) / 2, MOST_TURN)
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
    """Return the sums of units over all labels: float64[n]."""
    total = np.zeros(table.grid.places[0].cols)
    for _, index, count in chunks(table):
        total += np.bincount(index[1], count, total.size)
    return total
