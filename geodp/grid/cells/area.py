"""Public areas that cells are chosen by: bounds, outlines with a distance, codes; and the choice.

The choice goes from coarse cells to fine ones. Those whose descendants all lie in the area are not
looked at any further, and those with none in it are left out, so that only its edge is refined.
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
from geodp.grid.cells.system import CellSystem, degrees
from geodp.grid.codes.arrays import require
from geodp.typing import FloatArray, IntArray, KeyArray

MOST_CELLS = 1_000_000
"""Of one grid: each of them is a row of the release's table of units, of 2 kB while it is made."""

RADIUS = 6371.0
"""Of the Earth, in kilometres."""

FINE = 0.01
"""Radians: edges that are longer are drawn in parts, as they are straight on the sphere alone."""

Box = tuple[float, float, float, float]
"""West, south, east, north in degrees of WGS 84; a west above the east is across 180 degrees."""


class PublicArea(ABC):
    """A public area of the Earth, which says for cells whether they belong to it."""

    @abstractmethod
    def touches(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Whether a cell within circles may belong to it: centres float64[n, 3], radians [n]."""

    @abstractmethod
    def covers(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Whether every cell within circles belongs to it."""

    @abstractmethod
    def holds(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        """Whether cells, by centres and corners, belong to it."""


@dataclass(frozen=True)
class Bounds(PublicArea):
    """Cells whose centres lie in a box, its edges included."""

    box: Box

    @property
    def _boxes(self) -> list[Box]:
        west, south, east, north = self.box
        if west < east:
            return [self.box]
        return [(west, south, 180.0, north), (-180.0, south, east, north)]

    def touches(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """By the boxes around the circles."""
        found = np.zeros(radius.size, np.bool_)
        for here, (west, south, east, north) in _boxes_around(centre, radius):
            for left, low, right, high in self._boxes:
                across = (west <= right) & (left <= east)
                found[here] |= across & (south <= high) & (low <= north)
        return found

    def covers(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """By the boxes around the circles, of which none may lie outside or across the seam."""
        whole = self.box[0] <= -180 and self.box[2] >= 180
        found = np.zeros(radius.size, np.bool_)
        west, south, east, north = box_around(centre, radius)
        for left, low, right, high in self._boxes:
            across = (left <= west) & (east <= right)
            found |= (across | whole) & (low <= south) & (north <= high)
        return found

    def holds(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        """By the centres alone."""
        x, y = degrees(centre)
        found = np.zeros(x.size, np.bool_)
        for west, south, east, north in self._boxes:
            found |= (west <= x) & (x <= east) & (south <= y) & (y <= north)
        return found


@dataclass(frozen=True)
class Outlines(PublicArea):
    """Cells that shapes in degrees touch, or that lie within a distance of them.

    Attributes
    ----------
    shapes : array of shapely geometry[m]
        Longitudes -180 to 180.
    kilometres : float
        Within this distance, of 1 km or more, all cells belong to it, and some more that are not
        much farther; at 0 those whose own outlines the shapes touch.
    """

    shapes: NDArray[Any]
    kilometres: float = 0.0

    @property
    def _widened(self) -> float:
        return self.kilometres / RADIUS

    def touches(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """By the boxes around the circles."""
        return self._meets(centre, radius + self._widened)

    def covers(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        """Whether a shape covers the box, or touches what is that near to all of it."""
        import shapely

        found = np.zeros(radius.size, np.bool_)
        own = box_around(centre, radius)
        inside = (own[0] >= -180) & (own[2] <= 180)
        at = np.flatnonzero(inside)
        tree = shapely.STRtree(shapely.box(*own[:, at]))
        found[at[np.unique(tree.query(self.shapes, predicate="covers")[1])]] = True
        near = np.flatnonzero(self._widened > radius)
        if near.size:  # the corners of a box are farther than its sides
            room = (self._widened - radius[near]) * np.sqrt(0.5)
            found[near] |= self._meets(centre[near], room)
        return found

    def holds(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        """By the outlines of the cells, or by the boxes around them where there is a distance."""
        radius = radii(centre, corners)
        if self.kilometres:
            return self._meets(centre, radius + self._widened)
        _, y = degrees(centre)
        polar = np.radians(np.abs(y)) + radius * 1.5 >= np.pi / 2
        found = np.zeros(radius.size, np.bool_)
        found[polar] = self._meets(centre[polar], radius[polar])
        plain = np.flatnonzero(~polar)
        found[plain] = self._meets_polygons(centre[plain], corners[plain])
        return found

    def _meets(self, centre: FloatArray, radius: FloatArray) -> NDArray[np.bool_]:
        import shapely

        found = np.zeros(radius.size, np.bool_)
        for here, box in _boxes_around(centre, radius):
            tree = shapely.STRtree(shapely.box(*box))
            met = tree.query(self.shapes, predicate="intersects")[1]
            found[here[np.unique(met)]] = True
        return found

    def _meets_polygons(self, centre: FloatArray, corners: FloatArray) -> NDArray[np.bool_]:
        import shapely

        found = np.zeros(centre.shape[0], np.bool_)
        if not found.size:
            return found
        x, y = degrees(_refine(corners))
        middle = degrees(centre)[0][:, None]
        x = middle + (x - middle + 180) % 360 - 180  # beyond 180 degrees where the cell is
        for turn in (-360.0, 0.0, 360.0):
            here = np.flatnonzero((x.max(axis=1) + turn >= -180) & (x.min(axis=1) + turn <= 180))
            if here.size:
                cells = shapely.polygons(np.stack([x[here] + turn, y[here]], axis=-1))
                tree = shapely.STRtree(cells)
                met = tree.query(self.shapes, predicate="intersects")[1]
                found[here[np.unique(met)]] = True
        return found


def select_cells(
    system: CellSystem,
    level: int,
    regions: Sequence[PublicArea],
    start: Mapping[int, KeyArray] | None = None,
) -> KeyArray:
    """Return the cells of a level that belong to all regions, in the order of their numbers.

    Parameters
    ----------
    system : CellSystem
    level : int
    regions : sequence of PublicArea
    start : mapping of int to uint64[n], optional
        Cells by level, none finer than the last, whose descendants alone are looked at. Default:
        the whole Earth.

    Raises UsageError for more than a million cells.
    """
    given = {0: system.base_cells()} if start is None else start
    edge, kept, certain = np.empty(0, np.uint64), list[KeyArray](), 0
    for depth in range(level + 1):
        edge = np.unique(np.concatenate([edge, given.get(depth, edge[:0])]))
        if not edge.size:
            continue
        whole, near = _judge(system, regions, edge, depth == level)
        certain += int(whole.sum()) * (system.count(level) // system.count(depth))
        if max(certain, edge.size) > MOST_CELLS:
            raise UsageError(
                f"The public area holds more than {MOST_CELLS:,} cells of {system.spec(level)}: "
                f"choose a smaller one (--bounds, --mask; bounds=, mask=) or a coarser "
                f"{system.word} (--grid {system.spec(max(level - 1, 0))}).",
                code="area-has-too-many-cells",
            )
        kept.append(system.children(edge[whole], level))
        edge = system.children(edge[near & ~whole], depth + 1) if depth < level else edge[:0]
    return np.unique(np.concatenate(kept)) if kept else edge


def _judge(
    system: CellSystem, regions: Sequence[PublicArea], cells: KeyArray, last: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which cells belong to all regions with all below them, and which may: bool[n] each."""
    whole, near = np.ones(cells.size, np.bool_), np.ones(cells.size, np.bool_)
    if not regions:
        return whole, near
    centre, corners = system.outline(cells)
    reach = radii(centre, corners) * system.reach
    for region in regions:
        if last:
            whole &= region.holds(centre, corners)
        else:
            near &= region.touches(centre, reach)
            whole &= near & region.covers(centre, reach)
    return whole, near


def radii(centre: FloatArray, corners: FloatArray) -> FloatArray:
    """Return the radians from centres to the farthest of their corners, float64[n]."""
    chord = np.sqrt(((corners - centre[:, None]) ** 2).sum(axis=-1)).max(axis=1, initial=0.0)
    return np.asarray(2 * np.arcsin(np.minimum(chord / 2, 1.0)), np.float64)


def box_around(centre: FloatArray, radius: FloatArray) -> FloatArray:
    """Return west, south, east and north of circles in degrees, float64[4, n].

    They may reach beyond 180 degrees; a circle around a pole has all longitudes.
    """
    x, y = degrees(centre)
    wide = np.minimum(np.degrees(radius), 180.0)
    south, north = y - wide, y + wide
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.degrees(np.arcsin(np.sin(np.radians(wide)) / np.cos(np.radians(y))))
    polar = (south <= -90) | (north >= 90)
    west, east = np.where(polar, -180.0, x - half), np.where(polar, 180.0, x + half)
    return np.stack([west, np.maximum(south, -90.0), east, np.minimum(north, 90.0)])


def _boxes_around(centre: FloatArray, radius: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield numbers of circles and their boxes, moved by whole turns to between -180 and 180."""
    own = box_around(centre, radius)
    for turn in (0.0, -360.0, 360.0):
        moved = own + np.array([[turn], [0.0], [turn], [0.0]])
        here = np.flatnonzero((moved[2] >= -180) & (moved[0] <= 180))
        if here.size:
            yield here, moved[:, here]


def _refine(corners: FloatArray) -> FloatArray:
    """Return corners float64[n, k, 3] with points between those that are far from each other."""
    ahead = np.roll(corners, -1, axis=1)
    parts = max(1, math.ceil(float(np.abs(ahead - corners).max(initial=0.0)) / FINE))
    way = (np.arange(parts) / parts)[:, None]
    points = corners[:, :, None] * (1 - way) + ahead[:, :, None] * way
    points = points.reshape(corners.shape[0], -1, 3)
    return np.asarray(points / np.linalg.norm(points, axis=-1, keepdims=True), np.float64)


@dataclass(frozen=True)
class CellMask:
    """A public mask of cells: a region, or codes of the cells in it.

    Attributes
    ----------
    source : str
        Where it comes from, in words; published with every release. By naming it you vouch that
        it is public and was not made from the data.
    region : PublicArea, optional
    start : mapping of int to uint64[n], optional
        Cells by level, whose descendants it holds.
    """

    source: str
    region: PublicArea | None = None
    start: Mapping[int, KeyArray] | None = None

    @classmethod
    def of_codes(
        cls, system: CellSystem, level: int, codes: Sequence[str] | NDArray[Any], source: str
    ) -> CellMask:
        """Return the mask of the cells that codes name, of a level or coarser.

        Raises CodeError at the first that is no such cell.
        """
        cells, good = system.read(codes)
        levels = system.levels_of(cells)
        rule = Rule(
            "mask-code-no-cell",
            f"the code of the mask is no cell of {system.title}: codes are {system.codes}.",
        )
        require(good, lambda _: rule)
        finer = Rule(
            "mask-code-too-fine", f"the code of the mask is finer than {system.spec(level)}."
        )
        require(levels <= level, lambda _: finer)
        start = {each: cells[levels == each] for each in np.unique(levels).tolist()}
        return cls(source, start=start)


def read_box(bounds: Sequence[float], system: CellSystem) -> Box:
    """Return west, south, east, north; UsageError for what is no box in degrees."""
    box = [float(edge) for edge in bounds]
    if len(box) != 4 or not np.isfinite(box).all():
        raise UsageError(
            "Bounds are four finite numbers: west, south, east, north.", code="bounds-not-finite"
        )
    west, south, east, north = box
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south < north <= 90):
        raise UsageError(
            f"Bounds of cells of {system.title} are west, south, east, north in degrees: "
            "longitudes -180 to 180, latitudes -90 to 90, the south below the north.",
            code="bounds-not-degrees",
        )
    if west == east:
        raise UsageError(
            f"The west and the east of bounds of cells of {system.title} must differ; a west above "
            "the east is a box across 180 degrees.",
            code="bounds-without-width",
        )
    return west, south, east, north
