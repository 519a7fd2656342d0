"""Public outlines of areal units: where on the Earth each unit of a table lies.

Outlines are drawn and written only: neither keys nor noise depend on them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.crs import open_transformer
from geodp.grid.lattice import Lattice, longitude_period
from geodp.grid.order import Order
from geodp.typing import FloatArray, IntArray

POLYGON = 3
"""Shapely's number of the geometry type Polygon."""

HALF = 180.0
"""Half a turn around the Earth, in degrees."""

STEPS = 1 << 16
"""Steps along each side of the box around all units."""

SLIVER = 1e-3
"""Fraction of the smaller area up to which two outlines may overlap, as borders seldom agree."""

COARSE = 3e-3
"""Tolerance of lines by which overlaps are looked for, as a fraction of the root of an area."""

TOLERANCE = 0.1
"""Fraction of a unit's area that may lie on the wrong side of a polygon's edge."""


@dataclass(frozen=True, eq=False)
class Outlines:
    """The outlines of units, one for each.

    Attributes
    ----------
    shapes : object[n]
        Multipolygons of shapely in two dimensions, counter-clockwise, in the order of the columns
        of the grid of units; None of a unit that lies nowhere, such as one for other codes.
    crs : str
        CRS of their coordinates, x (or longitude) first.
    """

    shapes: NDArray[Any] = field(repr=False)
    crs: str

    def __repr__(self) -> str:
        return f"Outlines({self.shapes.size:,} units, crs={self.crs[:30]!r})"

    @classmethod
    def of(cls, shapes: NDArray[Any], crs: str) -> Outlines:
        """Create outlines from polygons and multipolygons, object[n], of any dimension.

        None is of a unit that lies nowhere. UsageError for an empty polygon, and for none at all.
        """
        import shapely

        shapes = np.asarray(shapes, object)
        present = ~shapely.is_missing(shapes)
        empty = np.flatnonzero(present & shapely.is_empty(shapes))
        if empty.size:
            raise UsageError(
                f"Outline {empty[0] + 1} is empty: give each unit a polygon with an area, or None "
                "if it lies nowhere.",
                code="outline-empty",
            )
        if not present.any():
            raise UsageError("No unit has an outline.", code="outlines-none")
        # One orientation and type for all, so that the digest does not depend on the file format.
        flat = shapely.orient_polygons(shapely.force_2d(shapes), exterior_cw=False)
        multipolygons = [
            shapely.MultiPolygon([one]) if isinstance(one, shapely.Polygon) else one for one in flat
        ]
        made = np.empty(flat.size, object)
        made[:] = multipolygons
        return cls(made, crs)

    @classmethod
    def from_wkb(cls, wkb: Any, crs: str) -> Outlines:
        """Create outlines from an array of well-known binary, unchanged.

        Raises UsageError for one that is no well-known binary.
        """
        import shapely

        try:
            return cls(np.asarray(shapely.from_wkb(wkb), object), crs)
        except shapely.errors.ShapelyError:
            raise UsageError(
                "An outline is no well-known binary.", code="outline-not-binary"
            ) from None

    def take(self, at: IntArray) -> Outlines:
        """Return the outlines at positions, int64[k], in this order."""
        return Outlines(self.shapes[at], self.crs)

    @cached_property
    def located(self) -> NDArray[np.bool_]:
        """Whether each unit lies somewhere: bool[n]."""
        import shapely

        return np.asarray(~shapely.is_missing(self.shapes), np.bool_)

    @cached_property
    def wkb(self) -> tuple[bytes | None, ...]:
        """Well-known binary of each outline, little-endian; None of a unit that lies nowhere."""
        import shapely

        return tuple(shapely.to_wkb(self.shapes, output_dimension=2, byte_order=1))

    @cached_property
    def sha256(self) -> str:
        """Digest of the CRS's name and of all outlines in order."""
        digest = hashlib.sha256(self.crs.encode() + b"\0")
        for one in self.wkb:
            digest.update(b"\0" if one is None else one)
        return digest.hexdigest()

    @cached_property
    def boxes(self) -> FloatArray:
        """West, south, east and north of each outline: float64[n, 4]."""
        import shapely

        return np.asarray(shapely.bounds(self.shapes), np.float64)

    @cached_property
    def morton(self) -> NDArray[np.uint64]:
        """Position of each outline along Morton's curve: uint64[n].

        Neighbours are near each other, and a unit that lies nowhere is the last.

        The position is that of the centre of its box in the CRS of the outlines, in 2^16 steps
        along each side of the box around all.
        """
        west, south, east, north = self.bounds
        left, low, right, high = self.boxes.T
        across = ((left + right) / 2 - west) / (east - west)
        up = ((low + high) / 2 - south) / (north - south)
        # Elementary arithmetic only, so that the order of units, and with it their noise, does not
        # depend on the version of a geometry library.
        at = np.where(self.located, np.stack([up, across]), 1.0)
        steps = np.minimum(np.floor(at * STEPS), STEPS - 1).astype(np.int64)
        return Order.morton((STEPS, STEPS)).encode(steps)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north of all outlines."""
        west, south, east, north = self.boxes.T
        edges = np.nanmin(west), np.nanmin(south), np.nanmax(east), np.nanmax(north)
        return edges[0].item(), edges[1].item(), edges[2].item(), edges[3].item()

    @cached_property
    def drawn(self) -> Outlines:
        """Outlines to draw: across 180 degrees, one side is shifted by 360 degrees.

        If the widest gap between units is wider than the rest of the Earth outside them, units east
        of the gap continue west of -180 degrees.
        """
        import shapely
        from pyproj import CRS

        west, _, east, _ = self.bounds
        if not CRS.from_user_input(self.crs).is_geographic or east - west <= HALF:
            return self
        parts, unit = shapely.get_parts(self.shapes, return_index=True)
        left, _, right, _ = shapely.bounds(parts).T
        order = np.argsort(left)
        # Parts overlap in longitude: a gap begins where no earlier part reaches.
        reached = np.maximum.accumulate(right[order])[:-1]
        gaps = left[order][1:] - reached
        if gaps.max(initial=0) <= 2 * HALF - (east - west):
            return self
        at = int(gaps.argmax())
        far = left > reached[at]
        parts[far] = shapely.transform(parts[far], lambda points: points - (2 * HALF, 0))
        return Outlines(shapely.multipolygons(parts, indices=unit), self.crs)

    @property
    def ground(self) -> Lattice:
        """Lattice of a single cell around all units, in their CRS."""
        west, south, east, north = self.bounds
        transform = (east - west, 0.0, west, 0.0, south - north, north)
        return Lattice(1, 1, crs=self.crs, transform=transform)

    @cached_property
    def areas(self) -> FloatArray:
        """Areas in square kilometres on the ellipsoid: float64[n]."""
        import shapely
        from pyproj import CRS

        crs = CRS.from_user_input(self.crs)
        geographic = crs.geodetic_crs
        if geographic is None:
            return np.asarray(shapely.area(self.shapes), np.float64)
        move = open_transformer(crs, geographic)
        degrees = geographic.axis_info[0].unit_conversion_factor * 180 / np.pi
        there = shapely.transform(
            self.shapes, lambda at: np.stack(move.transform(*at.T), axis=1) * degrees
        )
        geod = geographic.get_geod()
        assert geod is not None  # geographic CRSs have an ellipsoid
        areas = [abs(geod.geometry_area_perimeter(one)[0]) / 1e6 for one in there]
        return np.array(areas, np.float64)

    @cached_property
    def line_points(self) -> FloatArray:
        """A point inside each outline as drawn: float64[n, 2]; not a number: nowhere."""
        point = np.full((self.shapes.size, 2), np.nan)
        point[self.located] = self.take(np.flatnonzero(self.located)).drawn.inner_points
        return point

    @cached_property
    def period(self) -> float | None:
        """Period of the longitudes of the CRS; None without one."""
        return longitude_period(self.crs)

    def connect(self, origin: IntArray, destination: IntArray) -> FloatArray:
        """Connect points within units by lines, which go on across 180 degrees where shorter.

        Parameters
        ----------
        origin, destination : int64[n]
            Positions of units.

        Returns
        -------
        float64[n, 2, 2]
            x and y of both ends of each line; not a number: an end lies nowhere.
        """
        point, period = self.line_points, self.period
        ends = np.stack([point[origin], point[destination]], axis=1)
        if period is not None:
            across = ends[:, 1, 0] - ends[:, 0, 0]
            ends[:, 1, 0] -= np.where(np.abs(across) > period / 2, np.copysign(period, across), 0)
        ends[~np.isfinite(ends).all(axis=(1, 2))] = np.nan
        return ends

    @cached_property
    def line_bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north of the points of all lines that may connect two units."""
        west, south = np.nanmin(self.line_points, axis=0).tolist()
        east, north = np.nanmax(self.line_points, axis=0).tolist()
        # A line that goes on across 180 degrees ends at most half a turn from where it begins.
        if self.period is not None and east - west > self.period / 2:
            west, east = west - self.period / 2, east + self.period / 2
        return west, south, east, north

    @cached_property
    def inner_points(self) -> FloatArray:
        """A point inside each outline: float64[n, 2]."""
        import shapely

        return np.asarray(shapely.get_coordinates(shapely.point_on_surface(self.shapes)))

    def lay_on(self, place: Lattice, tolerance: float) -> NDArray[Any]:
        """Return simplified polygons in cells of a lattice, from its upper left corner.

        Borders between two units remain shared. Units are clipped to the lattice.

        Parameters
        ----------
        place : Lattice
            Lattice with a transform in the CRS of the outlines.
        tolerance : float
            Maximal displacement of a line, in cells.
        """
        import shapely

        on = shapely.transform(self.shapes, lambda at: to_cells(at, place))
        # Simplified as a coverage: one by one, outlines would leave gaps and overlaps between
        # neighbours.
        simplified: NDArray[Any] = shapely.coverage_simplify(on, tolerance)
        if shapely.box(0, 0, place.cols, place.rows).covers(shapely.box(*shapely.total_bounds(on))):
            return simplified
        cut: NDArray[Any] = shapely.clip_by_rect(simplified, 0, 0, place.cols, place.rows)
        return cut

    def find_overlap(self) -> tuple[int, int] | None:
        """Find the first two units that overlap by more than a sliver, by position; None: none do.

        Pairs are looked for among simplified outlines, which thousands of detailed municipalities
        have a hundred times fewer points of, and then measured.
        """
        import shapely

        located = np.flatnonzero(self.located)
        shapes = self.shapes[located]
        area, box = shapely.area(shapes), shapely.bounds(shapes)
        one, other = shapely.STRtree(shapes).query(shapes)
        order = np.lexsort((other, one))
        one, other = (at[order][one[order] < other[order]] for at in (one, other))
        low = np.maximum(box[one, :2], box[other, :2])
        high = np.minimum(box[one, 2:], box[other, 2:])
        tolerance = SLIVER * np.minimum(area[one], area[other])
        near = np.prod(high - low, axis=1) > tolerance
        one, other, tolerance = one[near], other[near], tolerance[near]
        rough = _make_valid(
            shapely.simplify(shapes, COARSE * np.sqrt(area), preserve_topology=False)
        )
        shared = shapely.area(shapely.intersection(rough[one], rough[other]))
        for first, second, limit in zip(
            *(at[shared > tolerance / 2] for at in (one, other, tolerance)), strict=True
        ):
            pair = _make_valid(shapes[[first, second]])
            if shapely.area(shapely.intersection(*pair)) > limit:
                return int(located[first]), int(located[second])
        return None

    def describe(self) -> dict[str, Any]:
        """Return plain values for the release card, without the outlines."""
        return {"crs": self.crs, "bounds": list(self.bounds), "sha256": self.sha256}

    def units_in(self, polygon: Any) -> tuple[NDArray[np.bool_], int]:
        """Return which units lie in a polygon, bool[n], and the first that it cuts, or -1.

        A unit is inside or outside as a whole. Up to a tenth of its area on the wrong side is
        ignored, as two files rarely have identical borders: between counties and states of one
        publisher the difference is up to 7 % of the smallest units.
        """
        import shapely

        if not polygon.is_valid:
            polygon = shapely.make_valid(polygon, method="structure", keep_collapsed=False)
        shapely.prepare(polygon)
        share = np.asarray(shapely.covers(polygon, self.shapes), np.float64)
        near = np.flatnonzero(shapely.intersects(polygon, self.shapes) & (share == 0))
        shared = shapely.area(shapely.intersection(self.shapes[near], polygon))
        share[near] = shared / shapely.area(self.shapes[near])
        cut = (share > TOLERANCE) & (share < 1 - TOLERANCE)
        return share >= 1 - TOLERANCE, int(cut.argmax()) if cut.any() else -1


def _make_valid(shapes: NDArray[Any]) -> NDArray[Any]:
    """Return polygons, object[n], of which those that cross themselves are repaired."""
    import shapely

    bad = ~shapely.is_valid(shapes)
    shapes[bad] = shapely.make_valid(shapes[bad], method="structure", keep_collapsed=False)
    return shapes


def to_cells(points: FloatArray, place: Lattice) -> FloatArray:
    """Convert coordinates to cells of a lattice, from its upper left corner: float64[n, 2]."""
    a, _, c, _, e, f = place.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    return np.asarray((points - (c, f)) / (a, e), np.float64)


def rings_of(shapes: Any) -> list[FloatArray]:
    """Return all rings of a polygon, or of polygons object[n]: float64[k, 2] each."""
    import shapely

    parts = shapely.get_parts(shapes)
    rings = shapely.get_rings(parts[shapely.get_type_id(parts) == POLYGON])
    return [shapely.get_coordinates(ring) for ring in rings]
