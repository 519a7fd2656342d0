"""Workloads of areas that are not blocks: random rectangles, polygons, and custom queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Region, boxes_of_polygons, cells_of_polygon, middles_of, shapes_on
from geodp.kernels import rectangles as kernels
from geodp.tools.evaluate.blocks import MAX_KEYS, Keys, sum_blocks

MAX_AXES = 4
"""Maximal axes of a grid on which rectangles are drawn."""

NO_EARTH = Rule("polygons-need-earth", "Polygons need a grid of one map with a place on the Earth.")


@dataclass(frozen=True, eq=False)
class Rectangles:
    """A workload of rectangles: boxes of cells in index order, axis by axis.

    Attributes
    ----------
    low, high : int64[d, r]
        Opposite corners, both inside.
    """

    low: NDArray[np.int64] = field(repr=False)
    high: NDArray[np.int64] = field(repr=False)

    @classmethod
    def random(cls, grid: Grid, n: int, seed: int) -> Rectangles:
        """Draw two uniform corner points for each rectangle, as in DPBench (Hay et al. 2016).

        Rectangles are public, as they depend on the grid and the seed only. Raises UsageError for a
        grid of more than four axes.
        """
        if len(grid.shape) > MAX_AXES:
            raise UsageError(
                f"Rectangles need a grid of at most {MAX_AXES} axes.",
                code="rectangles-of-many-axes",
            )
        size = np.array(grid.shape, np.int64)[:, None, None]
        corners = np.random.default_rng(seed).integers(0, size, (len(grid.shape), n, 2))
        return cls(corners.min(axis=2), corners.max(axis=2))

    def sums(self, grid: Grid, key: Keys, value: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums of cells over every rectangle: float64[r].

        Prefix sums are used if the grid has at most 2**26 cells, otherwise every cell is compared.

        Parameters
        ----------
        key : uint64[n] or None
        value : int64[n] or float64[n]
        """
        if key is None:
            key = np.flatnonzero(value).astype(np.uint64)
            value = value[key.astype(np.int64)]
        index = grid.decode(key)
        # Prefix sums cost as much as the box has cells, direct sums cells times rectangles.
        if prod(grid.shape) <= MAX_KEYS:
            return self._by_prefix_sums(grid.shape, index, value)
        # The kernel finds the cells of a rectangle's rows by binary search.
        order = np.argsort(index[0], kind="stable")
        out = np.empty(self.low.shape[1], value.dtype)
        kernels.sums(index[:, order], value[order], self.low, self.high, out)
        return out.astype(np.float64)

    def _by_prefix_sums(
        self, shape: tuple[int, ...], index: NDArray[np.int64], value: NDArray[Any]
    ) -> NDArray[np.float64]:
        # Entry i holds the sum of all cells below i on every axis.
        below = np.zeros([size + 1 for size in shape], value.dtype)
        below[tuple(index + 1)] = value
        for axis in range(len(shape)):
            np.cumsum(below, axis=axis, out=below)
        out = np.zeros(self.low.shape[1], value.dtype)
        for upper in product((False, True), repeat=len(shape)):
            corner = np.where(np.array(upper)[:, None], self.high + 1, self.low)
            # Inclusion and exclusion over the corners of the box.
            sign = -1 if upper.count(False) % 2 else 1
            out += sign * below[tuple(corner)]
        return out.astype(np.float64)

    def errors(self, grid: Grid, key: Keys, error: NDArray[Any]) -> dict[str, float]:
        """Return mean absolute and squared error, and the L2 norm of errors over their number."""
        sums = self.sums(grid, key, error)
        square = float(np.square(sums).mean())
        return {
            "rectangle_absolute": float(np.abs(sums).mean()),
            "rectangle_square": square,
            "rectangle_norm": (square / sums.size) ** 0.5,
        }


@dataclass(frozen=True, eq=False)
class Polygons:
    """Named areas of a map: the cells of the domain whose centre lies inside.

    Attributes
    ----------
    names : tuple of str
    place : uint64[n]
        Keys of cells without their attributes' digits.
    polygon : int64[n]
        Number of the polygon that each belongs to; a cell may belong to several.
    stride : int
        Number of keys of a place, one for each combination of labels; a polygon sums over them.
    """

    names: tuple[str, ...]
    place: NDArray[np.uint64] = field(repr=False)
    polygon: NDArray[np.int64] = field(repr=False)
    stride: int

    @classmethod
    def of(cls, grid: Grid, shapes: Mapping[str, Any] | Sequence[Any]) -> Polygons:
        """Find the cells of polygons.

        Parameters
        ----------
        grid : Grid
            One map with a place on the Earth, with attributes, if any, below its places.
        shapes : mapping from name to shapely geometry, or sequence of geometries
            Polygons in the grid's CRS.

        Raises
        ------
        UsageError
            The grid has no map, a shape is not a polygon, or the boxes around the polygons have
            more than 2**26 cells.
        """
        import shapely

        if not isinstance(shapes, Mapping):
            shapes = {str(number): shape for number, shape in enumerate(shapes, start=1)}
        place = grid.require_map(NO_EARTH)
        if place.transform is None:
            raise UsageError(NO_EARTH)
        # With attributes below its places, a place is one run of keys, and a polygon needs no list
        # of labels.
        under = sum(1 for axis in grid.order.axes if axis > 1)
        if any(axis > 1 for axis in grid.order.axes[: len(grid.order.axes) - under]):
            raise UsageError(
                "Polygons need a grid whose attributes come below its places "
                "(--attribute-order below).",
                code="polygons-need-attributes-below",
            )
        stride = prod(grid.order.radices[len(grid.order.axes) - under :])
        for name, shape in shapes.items():
            if not isinstance(shape, shapely.Polygon | shapely.MultiPolygon):
                raise UsageError(
                    f"{name} is not a polygon; give polygons in the grid's CRS.",
                    code="polygon-expected",
                )
        lying = shapes_on(place, [*shapes.values()])
        boxes = boxes_of_polygons(place, lying)
        if sum(prod(max(end.stop - end.start, 0) for end in box) for box in boxes) > MAX_KEYS:
            raise UsageError(
                "The polygons' boxes have more than 2**26 cells; give smaller polygons.",
                code="polygons-too-large",
            )
        members: list[NDArray[np.uint64]] = []
        middles = middles_of(place)
        for shape, box in zip(lying, boxes, strict=True):
            row, col = cells_of_polygon(middles, shape, box)
            index = np.zeros((len(grid.shape), row.size), np.int64)
            index[0], index[1] = row, col
            inside = index[:, grid.contains(index)]
            members.append(grid.order.encode(inside) // np.uint64(stride))
        number = np.repeat(np.arange(len(members)), [part.size for part in members])
        keys = np.concatenate([np.empty(0, np.uint64), *members])
        return cls(tuple(shapes), keys, number.astype(np.int64), stride)

    @property
    def cells(self) -> NDArray[np.int64]:
        """Number of cells of the map's domain in each polygon: int64[p]."""
        return np.bincount(self.polygon, minlength=len(self.names))

    def sums(self, key: Keys, value: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums of cells over every polygon: float64[p]; values: see :func:`coarser`."""
        if key is None:
            key = np.flatnonzero(value).astype(np.uint64)
            value = value[key.astype(np.int64)]
        values = np.zeros(self.place.size)
        if key.size:
            node, sums = sum_blocks(key // np.uint64(self.stride), value)
            at = np.minimum(np.searchsorted(node, self.place), node.size - 1)
            values = np.where(node[at] == self.place, sums[at], 0).astype(np.float64)
        return np.bincount(self.polygon, values, len(self.names)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Queries:
    """A custom workload: named sets of cells.

    Attributes
    ----------
    names : tuple of str
    key : uint64[n]
        Keys of the cells of all queries, one query after the other.
    query : int64[n]
        Number of the query that each belongs to; a cell may belong to several.
    """

    names: tuple[str, ...]
    key: NDArray[np.uint64] = field(repr=False)
    query: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, grid: Grid, queries: Mapping[str, Any] | Sequence[Any]) -> Queries:
        """Create the workload; each query is a region of :meth:`geodp.grid.region.Region.of`.

        Without names they are numbered from 1. Raises its errors, and UsageError without queries.
        """
        if not isinstance(queries, Mapping):
            queries = {str(number): one for number, one in enumerate(queries, start=1)}
        keys = [Region.of(grid, one).key for one in queries.values()]
        if not keys:
            raise UsageError("Give at least one query.", code="queries-missing")
        number = np.repeat(np.arange(len(keys)), [key.size for key in keys])
        return cls(tuple(map(str, queries)), np.concatenate(keys), number.astype(np.int64))

    @property
    def cells(self) -> NDArray[np.int64]:
        """Number of cells of each query: int64[q]."""
        return np.bincount(self.query, minlength=len(self.names))

    def sums(self, key: Keys, value: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums of cells over every query: float64[q].

        Parameters
        ----------
        key : uint64[n], increasing, or None
        value : int64[n] or float64[n]
        """
        if key is None:
            values = value[self.key.astype(np.int64)]
        elif not key.size:
            values = np.zeros(self.key.size)
        else:
            at = np.minimum(np.searchsorted(key, self.key), key.size - 1)
            values = np.where(key[at] == self.key, value[at], 0)
        return np.bincount(self.query, values, len(self.names)).astype(np.float64)
