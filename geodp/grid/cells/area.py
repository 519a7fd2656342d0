"""Public areas that cells are selected by (bounds, outlines with a distance), and the selection.

The selection refines coarse cells. A cell whose descendants all lie in the area is not looked at
any further, and one without any in it is dropped, so that only the edge of the area is refined.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.bounds import Box
from geodp.grid.cells.system import CellSystem, degrees
from geodp.grid.codes.system import require
from geodp.typing import FloatArray, IntArray, KeyArray

MAX_CELLS = 1_000_000
"""Maximal cells of a grid: each is a row of the table of units, which takes 2 kB to make."""

RADIUS = 6371.0
"""Radius of the Earth, in kilometres."""

FINE = 0.01
"""Radians: longer edges are subdivided, as great circles are not straight in degrees."""


class PublicArea(ABC):
    """A public area of the Earth that decides which cells belong to it."""

    @abstractmethod
    def touches(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Whether a cell inside each circle may belong: centres float64[n, 3], radians [n]."""

    @abstractmethod
    def covers(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Whether every cell inside each circle belongs to the area."""

    @abstractmethod
    def holds(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        """Whether cells, given by centres and corners, belong to the area."""


@dataclass(frozen=True)
class BoxArea(PublicArea):
    """Area of the cells whose centres lie in a box, its edges included."""

    box: Box

    @property
    def _boxes(self) -> list[Box]:
        west, south, east, north = self.box
        if west < east:
            return [self.box]
        return [(west, south, 180.0, north), (-180.0, south, east, north)]

    def touches(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Compare the box with the boxes around the circles."""
        touching = np.zeros(radius.size, np.bool_)
        for here, (west, south, east, north) in _boxes_around(centre, radius):
            for left, low, right, high in self._boxes:
                across = (west <= right) & (left <= east)
                touching[here] |= across & (south <= high) & (low <= north)
        return touching

    def covers(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Compare the box with the boxes around the circles, which may not cross 180 degrees."""
        all_longitudes = self.box[0] <= -180 and self.box[2] >= 180
        covered = np.zeros(radius.size, np.bool_)
        west, south, east, north = box_around(centre, radius)
        for left, low, right, high in self._boxes:
            across = (left <= west) & (east <= right)
            covered |= (across | all_longitudes) & (low <= south) & (north <= high)
        return covered

    def holds(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        """Test the centres alone."""
        x, y = degrees(centre)
        inside = np.zeros(x.size, np.bool_)
        for west, south, east, north in self._boxes:
            inside |= (west <= x) & (x <= east) & (south <= y) & (y <= north)
        return inside


@dataclass(frozen=True)
class OutlineArea(PublicArea):
    """Area of the cells that shapes in degrees touch, or that lie within a distance of them.

    Attributes
    ----------
    shapes : array of shapely geometry[m]
        Longitudes -180 to 180.
    kilometres : float
        All cells within this distance, of 1 km or more, belong to the area, and some that are
        slightly farther; at 0, the cells whose outlines the shapes touch.
    """

    shapes: NDArray[Any]
    kilometres: float = 0.0

    @property
    def _widened(self) -> float:
        return self.kilometres / RADIUS

    def touches(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Compare the shapes with the boxes around the widened circles."""
        return self._meets(centre, radius + self._widened)

    def covers(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Whether a shape covers the box around each circle, or the circle is near a shape."""
        import shapely

        covered = np.zeros(radius.size, np.bool_)
        boxes = box_around(centre, radius)
        inside = (boxes[0] >= -180) & (boxes[2] <= 180)
        at = np.flatnonzero(inside)
        tree = shapely.STRtree(shapely.box(*boxes[:, at]))
        covered[at[np.unique(tree.query(self.shapes, predicate="covers")[1])]] = True
        near = np.flatnonzero(self._widened > radius)
        # The box around a circle has its corners at sqrt(2) times the radius: a box that shall
        # lie inside the circle of the remaining distance is smaller by that factor.
        if near.size:
            margin = (self._widened - radius[near]) * np.sqrt(0.5)
            covered[near] |= self._meets(centre[near], margin)
        return covered

    def holds(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        """Test the outlines of the cells, or the boxes around them if there is a distance."""
        radius = radii(centre, corners)
        if self.kilometres:
            return self._meets(centre, radius + self._widened)
        _, y = degrees(centre)
        # A cell that contains a pole has no polygon in degrees: its box is used instead.
        polar = np.radians(np.abs(y)) + radius * 1.5 >= np.pi / 2
        inside = np.zeros(radius.size, np.bool_)
        inside[polar] = self._meets(centre[polar], radius[polar])
        plain = np.flatnonzero(~polar)
        inside[plain] = self._meets_polygons(centre[plain], corners[plain])
        return inside

    def _meets(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        import shapely

        meeting = np.zeros(radius.size, np.bool_)
        for here, box in _boxes_around(centre, radius):
            tree = shapely.STRtree(shapely.box(*box))
            met = tree.query(self.shapes, predicate="intersects")[1]
            meeting[here[np.unique(met)]] = True
        return meeting

    def _meets_polygons(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        import shapely

        meeting = np.zeros(centre.shape[0], np.bool_)
        if not meeting.size:
            return meeting
        x, y = degrees(_refine(corners))
        middle = degrees(centre)[0][:, None]
        # Corners follow their centre across 180 degrees; otherwise a cell there would be drawn as
        # a band around the Earth. The shifted copies below then meet shapes on either side.
        x = middle + (x - middle + 180) % 360 - 180
        for shift in (-360.0, 0.0, 360.0):
            here = np.flatnonzero((x.max(axis=1) + shift >= -180) & (x.min(axis=1) + shift <= 180))
            if here.size:
                cells = shapely.polygons(np.stack([x[here] + shift, y[here]], axis=-1))
                tree = shapely.STRtree(cells)
                met = tree.query(self.shapes, predicate="intersects")[1]
                meeting[here[np.unique(met)]] = True
        return meeting


def select_cells(
    system: CellSystem,
    level: int,
    regions: Sequence[PublicArea],
    start: Mapping[int, KeyArray] | None = None,
) -> KeyArray:
    """Return the cells of a level that belong to all regions, in ascending order.

    Parameters
    ----------
    system : CellSystem
    level : int
    regions : sequence of PublicArea
    start : mapping of int to uint64[n], optional
        Cells by level, none finer than ``level``, whose descendants are considered. Default: the
        whole Earth.

    Raises UsageError for more than a million cells.
    """
    start_cells = {0: system.base_cells()} if start is None else start
    edge, selected, certain = np.empty(0, np.uint64), list[KeyArray](), 0
    for depth in range(level + 1):
        edge = np.unique(np.concatenate([edge, start_cells.get(depth, edge[:0])]))
        if not edge.size:
            continue
        inside, near = _judge(system, regions, edge, depth == level)
        certain += int(inside.sum()) * (system.count(level) // system.count(depth))
        # Counted before the descendants are made: a resolution too fine fails in milliseconds and
        # not after filling the memory.
        if max(certain, edge.size) > MAX_CELLS:
            raise UsageError(
                f"The public area has more than {MAX_CELLS:,} cells of {system.spec(level)}: "
                f"choose a smaller one (--bounds, --mask; bounds=, mask=) or a coarser "
                f"{system.word} (--grid {system.spec(max(level - 1, 0))}).",
                code="area-has-too-many-cells",
            )
        selected.append(system.children(edge[inside], level))
        edge = system.children(edge[near & ~inside], depth + 1) if depth < level else edge[:0]
    return np.unique(np.concatenate(selected)) if selected else edge


def _judge(
    system: CellSystem, regions: Sequence[PublicArea], cells: KeyArray, last: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which cells belong with all their descendants, and which may: bool[n] each."""
    inside, near = np.ones(cells.size, np.bool_), np.ones(cells.size, np.bool_)
    if not regions:
        return inside, near
    centre, corners = system.outline(cells)
    reach = radii(centre, corners) * system.reach
    for region in regions:
        if last:
            inside &= region.holds(centre, corners)
        else:
            # `reach` covers all descendants, not the cell alone: children of H3 stick out of their
            # parents, so a parent outside the area may have a child inside.
            near &= region.touches(centre, reach)
            inside &= near & region.covers(centre, reach)
    return inside, near


def radii(centre: FloatArray, corners: FloatArray) -> FloatArray:
    """Return the angles, in radians, from centres to their farthest corners, float64[n]."""
    # The chord and the arcsine keep their precision at small angles; the arccosine of a scalar
    # product does not.
    chord = np.sqrt(((corners - centre[:, None]) ** 2).sum(axis=-1)).max(axis=1, initial=0.0)
    return np.asarray(2 * np.arcsin(np.minimum(chord / 2, 1.0)), np.float64)


def box_around(centre: FloatArray, radius: FloatArray) -> FloatArray:
    """Return west, south, east and north of the boxes around circles, in degrees, float64[4, n].

    Boxes may extend beyond 180 degrees; a circle around a pole spans all longitudes.
    """
    x, y = degrees(centre)
    wide = np.minimum(np.degrees(radius), 180.0)
    south, north = y - wide, y + wide
    with np.errstate(divide="ignore", invalid="ignore"):
        # Half the longitudes of a circle of radius r around latitude y: sin(half) = sin(r) /
        # cos(y).
        half = np.degrees(np.arcsin(np.sin(np.radians(wide)) / np.cos(np.radians(y))))
    polar = (south <= -90) | (north >= 90)
    west, east = np.where(polar, -180.0, x - half), np.where(polar, 180.0, x + half)
    return np.stack([west, np.maximum(south, -90.0), east, np.minimum(north, 90.0)])


def _boxes_around(centre: FloatArray, radius: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield indices of circles and their boxes, shifted by 360 degrees to meet -180 to 180."""
    boxes = box_around(centre, radius)
    for shift in (0.0, -360.0, 360.0):
        moved = boxes + np.array([[shift], [0.0], [shift], [0.0]])
        here = np.flatnonzero((moved[2] >= -180) & (moved[0] <= 180))
        if here.size:
            yield here, moved[:, here]


def _refine(corners: FloatArray) -> FloatArray:
    """Insert points between corners, float64[n, k, 3], that are far apart."""
    ahead = np.roll(corners, -1, axis=1)
    parts = max(1, math.ceil(float(np.abs(ahead - corners).max(initial=0.0)) / FINE))
    way = (np.arange(parts) / parts)[:, None]
    points = corners[:, :, None] * (1 - way) + ahead[:, :, None] * way
    points = points.reshape(corners.shape[0], -1, 3)
    return np.asarray(points / np.linalg.norm(points, axis=-1, keepdims=True), np.float64)


@dataclass(frozen=True)
class CellMask:
    """A public mask of cells: a region, or the codes of its cells.

    Attributes
    ----------
    source : str
        Where it comes from, as text; published with every release. By naming it you assert that
        it is public and was not made from the data.
    region : PublicArea, optional
    start : mapping of int to uint64[n], optional
        Cells by level, whose descendants the mask contains.
    """

    source: str
    region: PublicArea | None = None
    start: Mapping[int, KeyArray] | None = None

    @classmethod
    def of_codes(
        cls, system: CellSystem, level: int, codes: Sequence[str] | NDArray[Any], source: str
    ) -> CellMask:
        """Create the mask of the cells with the given codes, of a level or coarser.

        Raises CodeError at the first code that is not such a cell.
        """
        cells, good = system.read(codes)
        levels = system.levels_of(cells)
        rule = Rule(
            "mask-code-no-cell",
            f"the code of the mask is not a cell of {system.title}: codes are {system.codes}.",
        )
        require(good, lambda _: rule)
        finer = Rule(
            "mask-code-too-fine", f"the code of the mask is finer than {system.spec(level)}."
        )
        require(levels <= level, lambda _: finer)
        start = {each: cells[levels == each] for each in np.unique(levels).tolist()}
        return cls(source, start=start)
